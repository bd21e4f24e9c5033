"""The finished turns of the chats: one row each, in the order of `ordinal` (from 0).

Invariant: within a chat no two turns share an ordinal or a turn id, so a turn that is dispatched twice is one.
"""

from __future__ import annotations

import sqlite3

import msgspec

from actors.store.write import Query, Write, statement

__all__ = ["TurnRecord", "append", "copy", "count", "every", "find", "newest", "truncate", "truncate_after"]


class TurnRecord(msgspec.Struct, frozen=True):
    """A turn as it is kept; body: the Turn, JSON."""

    ordinal: int
    turn_id: str
    body: bytes


def append(chat: str, ordinal: int, turn_id: str, body: bytes) -> Write:
    """Keep a turn of `chat` (its URI). A turn of that id which is there keeps its place and gets the new body."""

    def run(connection: sqlite3.Connection) -> None:
        changed = connection.execute(
            "UPDATE turns SET body = ? WHERE chat = ? AND turn_id = ?", (body, chat, turn_id)
        ).rowcount
        if not changed:
            connection.execute(
                "INSERT INTO turns (chat, ordinal, turn_id, body) VALUES (?, ?, ?, ?)", (chat, ordinal, turn_id, body)
            )

    return Write(run)


def truncate(chat: str, keep: int) -> Write:
    """Remove every turn but the first `keep` (those with an ordinal below it)."""
    return statement("DELETE FROM turns WHERE chat = ? AND ordinal >= ?", chat, keep)


def truncate_after(chat: str, turn_id: str) -> Write:
    """Remove the turns behind `turn_id`; nothing where the chat has no such turn."""
    return statement(
        "DELETE FROM turns WHERE chat = ?1 AND ordinal > (SELECT ordinal FROM turns WHERE chat = ?1 AND turn_id = ?2)",
        chat,
        turn_id,
    )


def copy(source: str, target: str, through: str | None = None) -> Write:
    """Give the empty chat `target` the turns of `source`, up to and with the turn id `through` (all without one).

    Ordinals and turn ids stay. Nothing is copied where `source` has no turn `through`.
    """
    return statement(
        """INSERT INTO turns (chat, ordinal, turn_id, body)
           SELECT ?2, ordinal, turn_id, body FROM turns WHERE chat = ?1
             AND (?3 IS NULL OR ordinal <= (SELECT ordinal FROM turns WHERE chat = ?1 AND turn_id = ?3))
           ORDER BY ordinal""",
        source,
        target,
        through,
    )


def every(chat: str) -> Query[list[TurnRecord]]:
    """All turns of the chat, oldest first."""

    def query(connection: sqlite3.Connection) -> list[TurnRecord]:
        rows = connection.execute("SELECT ordinal, turn_id, body FROM turns WHERE chat = ? ORDER BY ordinal", (chat,))
        return [TurnRecord(*row) for row in rows]

    return query


def newest(chat: str, limit: int, before: int | None = None) -> Query[list[TurnRecord]]:
    """The last `limit` turns (those below the ordinal `before`, where given), oldest of them first."""

    def query(connection: sqlite3.Connection) -> list[TurnRecord]:
        rows = connection.execute(
            """SELECT ordinal, turn_id, body FROM turns WHERE chat = ?1 AND (?2 IS NULL OR ordinal < ?2)
               ORDER BY ordinal DESC LIMIT ?3""",
            (chat, before, max(0, limit)),
        ).fetchall()
        return [TurnRecord(*row) for row in reversed(rows)]

    return query


def find(chat: str, turn_id: str) -> Query[TurnRecord | None]:
    def query(connection: sqlite3.Connection) -> TurnRecord | None:
        row = connection.execute(
            "SELECT ordinal, turn_id, body FROM turns WHERE chat = ? AND turn_id = ?", (chat, turn_id)
        ).fetchone()
        return None if row is None else TurnRecord(*row)

    return query


def count(chat: str) -> Query[int]:
    def query(connection: sqlite3.Connection) -> int:
        (number,) = connection.execute("SELECT count(*) FROM turns WHERE chat = ?", (chat,)).fetchone()
        return int(number)

    return query
