"""The sessions: one row each, with its catalogue entry (summary) beside its whole state.

Invariant: a session's chats, turns and documents exist only while its row does. `modified_at` and `created_at` are
ISO dates in one format (UTC, milliseconds, `Z`), because they are compared as text.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

import msgspec

from actors.store.write import Query, Write, statement

__all__ = [
    "CatalogueEntry",
    "Filters",
    "Place",
    "SessionRecord",
    "catalogue",
    "count",
    "delete",
    "load",
    "page",
    "put",
    "put_summary",
    "states",
]


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A session as it is kept.

    id: what the session is known by, opaque to the store. summary: its SessionSummary, state: its SessionState
    without the chats, private: what the host alone knows of it (parent, spawn depth, owner, backend resume data);
    all three JSON.
    """

    id: str
    provider: str
    created_at: str
    modified_at: str
    summary: bytes
    state: bytes
    private: bytes = b"{}"


class CatalogueEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A session as a list of sessions needs it."""

    id: str
    provider: str
    created_at: str
    modified_at: str
    summary: bytes

    @property
    def place(self) -> Place:
        return Place(self.modified_at, self.id)


class Place(msgspec.Struct, frozen=True, array_like=True):
    """A place in the catalogue: just behind the session it names."""

    modified_at: str
    id: str


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which sessions a page shows: those of `provider`, and those that `matches` says yes to (in a worker thread)."""

    provider: str | None = None
    matches: Callable[[CatalogueEntry], bool] | None = None


def put(record: SessionRecord) -> Write:
    """Keep `record`, new or changed."""
    return statement(
        """INSERT INTO sessions (id, provider, created_at, modified_at, summary, private, state)
           VALUES (?, ?, ?, ?, ?, ?, ?)
           ON CONFLICT (id) DO UPDATE SET provider = excluded.provider, created_at = excluded.created_at,
             modified_at = excluded.modified_at, summary = excluded.summary, private = excluded.private,
             state = excluded.state""",
        record.id,
        record.provider,
        record.created_at,
        record.modified_at,
        record.summary,
        record.private,
        record.state,
        key=("session", record.id),
    )


def put_summary(session_id: str, modified_at: str, summary: bytes) -> Write:
    """Change a session's catalogue entry alone. A session that is gone stays gone."""
    return statement(
        "UPDATE sessions SET modified_at = ?, summary = ? WHERE id = ?",
        modified_at,
        summary,
        session_id,
        key=("session summary", session_id),
    )


def delete(session_id: str) -> Write:
    """Remove the session with its chats, turns and documents."""
    return statement("DELETE FROM sessions WHERE id = ?", session_id)


def load(session_id: str) -> Query[SessionRecord | None]:
    def query(connection: sqlite3.Connection) -> SessionRecord | None:
        row = connection.execute(
            "SELECT id, provider, created_at, modified_at, summary, state, private FROM sessions WHERE id = ?",
            (session_id,),
        ).fetchone()
        if row is None:
            return None
        found, provider, created_at, modified_at, summary, state, private = row
        return SessionRecord(
            id=found,
            provider=provider,
            created_at=created_at,
            modified_at=modified_at,
            summary=summary,
            state=state,
            private=private,
        )

    return query


def states(session_ids: Sequence[str]) -> Query[dict[str, bytes]]:
    """The kept states of those sessions that there are, by id."""

    def query(connection: sqlite3.Connection) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for session_id in session_ids:
            row = connection.execute("SELECT state FROM sessions WHERE id = ?", (session_id,)).fetchone()
            if row is not None:
                found[session_id] = row[0]
        return found

    return query


def count() -> Query[int]:
    def query(connection: sqlite3.Connection) -> int:
        (number,) = connection.execute("SELECT count(*) FROM sessions").fetchone()
        return int(number)

    return query


def catalogue() -> Query[list[CatalogueEntry]]:
    """Every session, newest modified first (and by id where two dates are the same)."""

    def query(connection: sqlite3.Connection) -> list[CatalogueEntry]:
        return [_entry(row) for row in connection.execute(f"{_ENTRIES} {_ORDER}")]

    return query


def page(limit: int, after: Place | None = None, filters: Filters | None = None) -> Query[list[CatalogueEntry]]:
    """At most `limit` sessions behind `after` in the order of `catalogue`.

    A place stays good when its session changes or goes: what lies behind it is found by value, not by counting.
    """
    wanted = filters or Filters()
    matches = wanted.matches
    conditions: list[str] = []
    values: list[str | int] = []
    if after is not None:
        conditions.append("(modified_at < ? OR (modified_at = ? AND id > ?))")
        values += [after.modified_at, after.modified_at, after.id]
    if wanted.provider is not None:
        conditions.append("provider = ?")
        values.append(wanted.provider)
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""

    def query(connection: sqlite3.Connection) -> list[CatalogueEntry]:
        found: list[CatalogueEntry] = []
        if limit <= 0:
            return found
        for row in connection.execute(f"{_ENTRIES} {where} {_ORDER}", values):
            entry = _entry(row)
            if matches is None or matches(entry):
                found.append(entry)
                if len(found) == limit:
                    break
        return found

    return query


_ENTRIES = "SELECT id, provider, created_at, modified_at, summary FROM sessions"
_ORDER = "ORDER BY modified_at DESC, id"


def _entry(row: tuple[str, str, str, str, bytes]) -> CatalogueEntry:
    session_id, provider, created_at, modified_at, summary = row
    return CatalogueEntry(
        id=session_id, provider=provider, created_at=created_at, modified_at=modified_at, summary=summary
    )
