"""The documents: JSON by (kind, key), for what is kept whole and has no table of its own.

The root configuration, a session's annotations, terminals, client state. Invariant: a document that names a
session goes with it. Whoever owns a kind is the only one to write it.
"""

from __future__ import annotations

import sqlite3

import msgspec

from actors.store.write import Query, Write, statement

__all__ = ["DocumentRecord", "delete", "get", "of_kind", "of_session", "put"]


class DocumentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A document as it is kept; body: JSON."""

    kind: str
    key: str
    body: bytes
    session_id: str | None = None


def put(kind: str, key: str, body: bytes, session_id: str | None = None) -> Write:
    """Keep a document, new or changed; with a `session_id` (which must be kept already) it goes with that session."""
    return statement(
        """INSERT INTO documents (kind, key, session_id, body) VALUES (?, ?, ?, ?)
           ON CONFLICT (kind, key) DO UPDATE SET session_id = excluded.session_id, body = excluded.body""",
        kind,
        key,
        session_id,
        body,
        key=("document", kind, key),
    )


def delete(kind: str, key: str) -> Write:
    return statement("DELETE FROM documents WHERE kind = ? AND key = ?", kind, key)


def get(kind: str, key: str) -> Query[bytes | None]:
    """The document's body; None where there is none."""

    def query(connection: sqlite3.Connection) -> bytes | None:
        row = connection.execute("SELECT body FROM documents WHERE kind = ? AND key = ?", (kind, key)).fetchone()
        return None if row is None else bytes(row[0])

    return query


def of_kind(kind: str) -> Query[list[DocumentRecord]]:
    """All documents of the kind, by key."""
    return _many("WHERE kind = ? ORDER BY key", kind)


def of_session(session_id: str) -> Query[list[DocumentRecord]]:
    """All documents that go with the session, by kind and key."""
    return _many("WHERE session_id = ? ORDER BY kind, key", session_id)


def _many(rest: str, value: str) -> Query[list[DocumentRecord]]:
    def query(connection: sqlite3.Connection) -> list[DocumentRecord]:
        rows = connection.execute(f"SELECT kind, key, body, session_id FROM documents {rest}", (value,))
        return [DocumentRecord(kind=kind, key=key, body=body, session_id=session) for kind, key, body, session in rows]

    return query
