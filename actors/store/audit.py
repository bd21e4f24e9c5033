"""The audit lines: one for every call of a host tool, oldest first by id. The newest `KEPT` are kept.

They outlive the session they name. No input and no result is in them.
"""

from __future__ import annotations

import sqlite3

import msgspec

from actors.store.write import Query, Write

__all__ = ["KEPT", "AuditRecord", "put", "recent"]

KEPT = 100_000


class AuditRecord(msgspec.Struct, frozen=True, kw_only=True):
    """at: when the call began (ISO 8601). person: who is behind it, None for nobody's. ms: how long it took.

    outcome: ok; refused, with a sentence for the model; failed, by a fault in the host; or cancelled with its turn.
    """

    at: str
    tool: str
    session: str | None = None
    chat: str | None = None
    person: str | None = None
    outcome: str
    ms: int


def put(record: AuditRecord, slot: int) -> Write:
    """Keep a line, and drop the one that is `KEPT` before it.

    It can be saved soon: of the lines that wait for the disk, it takes the place of the one with its `slot`.
    """
    values = msgspec.structs.astuple(record)

    def run(connection: sqlite3.Connection) -> None:
        cursor = connection.execute(
            "INSERT INTO audit (at, tool, session, chat, person, outcome, ms) VALUES (?, ?, ?, ?, ?, ?, ?)", values
        )
        connection.execute("DELETE FROM audit WHERE id <= ?", ((cursor.lastrowid or 0) - KEPT,))

    return Write(run, key=("audit", slot))


def recent(limit: int, *, session: str | None = None, tool: str | None = None) -> Query[list[AuditRecord]]:
    """The last `limit` lines, oldest first; of a session's URI, of a tool's name, where given."""

    def query(connection: sqlite3.Connection) -> list[AuditRecord]:
        rows = connection.execute(
            """SELECT at, tool, session, chat, person, outcome, ms FROM audit
               WHERE (?1 IS NULL OR session = ?1) AND (?2 IS NULL OR tool = ?2) ORDER BY id DESC LIMIT ?3""",
            (session, tool, limit),
        ).fetchall()
        names = AuditRecord.__struct_fields__
        return [AuditRecord(**dict(zip(names, row, strict=True))) for row in reversed(rows)]

    return query
