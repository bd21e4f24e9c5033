"""What is handed to the store: a `Write` changes it, a `Query` reads it. Both are data until the store runs them.

The repositories beside this module make them; their users hand them to `Store.commit` and `Store.read`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Hashable
from typing import TypeAlias, TypeVar

import msgspec

__all__ = ["Query", "Write"]

T = TypeVar("T")

Query: TypeAlias = Callable[[sqlite3.Connection], T]
"""Reads on the given connection and returns plain records. Runs in a worker thread: it touches nothing else.

All of one query sees one moment of the store. Queries compose:
`lambda connection: (sessions.load(id)(connection), chats.of_session(id)(connection))`.
"""


class Write(msgspec.Struct, frozen=True):
    """One change. `run` executes SQL on the given connection, inside a transaction that the store began.

    It runs in the writer thread, touches nothing but the connection, and neither begins nor ends a transaction.
    key: names the record that this write replaces as a whole, so that of several writes saved soon with one key
    only the last is run; None where a write does not stand for the ones before it.
    """

    run: Callable[[sqlite3.Connection], None]
    key: Hashable | None = None


def statement(sql: str, *values: str | bytes | int | None, key: Hashable | None = None) -> Write:
    """The write that executes one SQL statement."""

    def run(connection: sqlite3.Connection) -> None:
        connection.execute(sql, values)

    return Write(run, key)
