"""The client ids this host knows, with the date each was last seen: a client may reconnect after a restart.

Dates are ISO in one format (UTC, milliseconds, `Z`), because they are compared as text.
"""

from __future__ import annotations

import sqlite3

import msgspec

from actors.store.write import Query, Write, statement

__all__ = ["ClientRecord", "find", "forget", "known", "prune", "seen"]


class ClientRecord(msgspec.Struct, frozen=True):
    client_id: str
    last_seen: str


def seen(client_id: str, last_seen: str) -> Write:
    """Know the client, and when it was last here."""
    return statement(
        """INSERT INTO clients (client_id, last_seen) VALUES (?, ?)
           ON CONFLICT (client_id) DO UPDATE SET last_seen = excluded.last_seen""",
        client_id,
        last_seen,
        key=("client", client_id),
    )


def forget(client_id: str) -> Write:
    return statement("DELETE FROM clients WHERE client_id = ?", client_id)


def prune(before: str) -> Write:
    """Forget every client last seen before that date."""
    return statement("DELETE FROM clients WHERE last_seen < ?", before)


def find(client_id: str) -> Query[ClientRecord | None]:
    def query(connection: sqlite3.Connection) -> ClientRecord | None:
        row = connection.execute(
            "SELECT client_id, last_seen FROM clients WHERE client_id = ?", (client_id,)
        ).fetchone()
        return None if row is None else ClientRecord(*row)

    return query


def known() -> Query[list[ClientRecord]]:
    """All known clients, last seen first."""

    def query(connection: sqlite3.Connection) -> list[ClientRecord]:
        rows = connection.execute("SELECT client_id, last_seen FROM clients ORDER BY last_seen DESC, client_id")
        return [ClientRecord(*row) for row in rows]

    return query
