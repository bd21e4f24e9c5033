"""The chats: one row each, owned by the session it names; a chat moves by changing that name.

Invariant: a chat belongs to exactly one session and goes with it. Its finished turns are rows of their own
(`turns`); what is still streaming is in `state`, so a chat with an active turn is one that a crash interrupted.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from actors.store.write import Query, Write, statement

__all__ = [
    "ChatRecord",
    "delete",
    "find",
    "load",
    "move",
    "of_session",
    "privates",
    "put",
    "update",
    "with_active_turn",
    "with_wakeups",
]


class ChatRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A chat as it is kept.

    position: its place among the chats of `session_id`. state: its ChatState without finished turns but with the
    active one, private: what the host alone knows of it (backend resume data, the wakeup); both JSON.
    wake_at: when a wakeup is due (ISO date, UTC, milliseconds, `Z`), so that the due ones are found by an index.
    """

    uri: str
    session_id: str
    position: int
    state: bytes
    private: bytes = b"{}"
    wake_at: str | None = None


class _Active(msgspec.Struct, rename="camel"):
    active_turn: msgspec.Raw = msgspec.Raw(b"null")


_active = msgspec.json.Decoder(_Active)


def put(record: ChatRecord) -> Write:
    """Keep `record`, new or changed. Its session must be kept already."""
    return _write(
        record,
        """INSERT INTO chats (uri, session_id, position, wake_at, is_active, private, state)
           VALUES (:uri, :session_id, :position, :wake_at, :is_active, :private, :state)
           ON CONFLICT (uri) DO UPDATE SET session_id = excluded.session_id, position = excluded.position,
             wake_at = excluded.wake_at, is_active = excluded.is_active, private = excluded.private,
             state = excluded.state""",
    )


def update(record: ChatRecord) -> Write:
    """Keep a changed `record`; nothing where the chat is gone, so that a late save brings no deleted chat back."""
    return _write(
        record,
        """UPDATE chats SET session_id = :session_id, position = :position, wake_at = :wake_at, is_active = :is_active,
             private = :private, state = :state WHERE uri = :uri""",
    )


def _write(record: ChatRecord, sql: str) -> Write:
    def run(connection: sqlite3.Connection) -> None:
        # The state is looked into here, not where the write is made: this is the thread that may take its time.
        is_active = bytes(_active.decode(record.state).active_turn) != b"null"
        connection.execute(sql, {**msgspec.structs.asdict(record), "is_active": int(is_active)})

    return Write(run, ("chat", record.uri))


def delete(uri: str) -> Write:
    """Remove the chat with its turns."""
    return statement("DELETE FROM chats WHERE uri = ?", uri)


def move(uri: str, session_id: str, position: int) -> Write:
    """Give the chat, with its turns, to another session (or another position in its own)."""
    return statement("UPDATE chats SET session_id = ?, position = ? WHERE uri = ?", session_id, position, uri)


def load(uri: str) -> Query[ChatRecord | None]:
    def query(connection: sqlite3.Connection) -> ChatRecord | None:
        row = connection.execute(f"{_CHATS} WHERE uri = ?", (uri,)).fetchone()
        return None if row is None else _record(row)

    return query


def find(uri: str) -> Query[str | None]:
    """The id of the session that the chat belongs to; None where there is no such chat."""

    def query(connection: sqlite3.Connection) -> str | None:
        row = connection.execute("SELECT session_id FROM chats WHERE uri = ?", (uri,)).fetchone()
        return None if row is None else str(row[0])

    return query


def of_session(session_id: str) -> Query[list[ChatRecord]]:
    """The session's chats by position."""
    return _many("WHERE session_id = ? ORDER BY position, uri", session_id)


def privates(session_ids: Sequence[str]) -> Query[dict[str, bytes]]:
    """What the host alone knows of the chats of those sessions, by chat; the states are not read for it."""

    def query(connection: sqlite3.Connection) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for session_id in session_ids:
            found.update(connection.execute("SELECT uri, private FROM chats WHERE session_id = ?", (session_id,)))
        return found

    return query


def with_active_turn() -> Query[list[ChatRecord]]:
    """The chats whose last kept state has an active turn: after a start, those that a crash interrupted."""
    return _many("WHERE is_active ORDER BY uri")


def with_wakeups() -> Query[list[ChatRecord]]:
    """The chats that have a wakeup, the one due first first."""
    return _many("WHERE wake_at IS NOT NULL ORDER BY wake_at, uri")


_CHATS = "SELECT uri, session_id, position, state, private, wake_at FROM chats"


def _many(rest: str, *values: str) -> Query[list[ChatRecord]]:
    def query(connection: sqlite3.Connection) -> list[ChatRecord]:
        return [_record(row) for row in connection.execute(f"{_CHATS} {rest}", values)]

    return query


def _record(row: tuple[str, str, int, bytes, bytes, str | None]) -> ChatRecord:
    uri, session_id, position, state, private, wake_at = row
    return ChatRecord(uri=uri, session_id=session_id, position=position, state=state, private=private, wake_at=wake_at)
