"""The serverSeq high-water mark: numbers are reserved in blocks, so that none is given out twice, kill -9 or not.

Invariant: the mark only rises, and whoever gives out numbers stays at or below a mark that is committed.
"""

from __future__ import annotations

import sqlite3

from actors.store.database import Store
from actors.store.write import Query, Write, statement

__all__ = ["mark", "raise_to", "reserve"]


async def reserve(store: Store, count: int) -> range:
    """`count` numbers that nobody has had, reserved durably. Raises StoreError where they could not be.

    A block whose reservation was cancelled is skipped, never reused.
    """
    if count < 1:
        raise ValueError(f"reserve at least one number, not {count}")
    reserved: list[int] = []

    def run(connection: sqlite3.Connection) -> None:
        (top,) = connection.execute("UPDATE sequence SET mark = mark + ? RETURNING mark", (count,)).fetchone()
        reserved.append(int(top))

    await store.commit([Write(run)])
    return range(reserved[-1] - count + 1, reserved[-1] + 1)


def raise_to(mark: int) -> Write:
    """Reserve every number up to and with `mark`, as part of a commit that is under way anyhow."""
    return statement("UPDATE sequence SET mark = max(mark, ?)", mark)


def mark() -> Query[int]:
    """The highest number that was ever reserved; 0 in a new store. A restarted host counts on from here."""

    def query(connection: sqlite3.Connection) -> int:
        (top,) = connection.execute("SELECT mark FROM sequence").fetchone()
        return int(top)

    return query
