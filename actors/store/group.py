"""Group commit: all commits that wait are one transaction, and each still succeeds or fails alone.

`Committer` owns the one connection that writes. Invariant: a job's writes are kept all or none, in the order the
jobs were handed over. Used by `database`, from one thread.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path

import trio

from actors.store import connection as connections
from actors.store.connection import Durability
from actors.store.errors import StoreError, WriteFailed, breaks_the_group, disk_failure
from actors.store.write import Write

__all__ = ["Committer", "Job", "coalesce"]

_log = logging.getLogger("actors.store")


class Job:
    """A commit on its way. `saves` were saved soon before it, and go first; `error` is set before `done`."""

    __slots__ = ("done", "error", "is_abandoned", "saves", "writes")

    def __init__(self, saves: Sequence[Write], writes: Sequence[Write]) -> None:
        self.saves = saves
        self.writes = writes
        self.done = trio.Event()
        self.error: StoreError | None = None
        self.is_abandoned = False


def coalesce(pending: dict[Hashable, Write], writes: Iterable[Write]) -> None:
    """Add keyed `writes` to `pending`, each in place of the one before it with its key and behind all others."""
    for write in writes:
        pending.pop(write.key, None)
        pending[write.key] = write


class Committer:
    """Holds the writing connection, opened when first needed and anew after the disk failed."""

    def __init__(self, path: Path, durability: Durability) -> None:
        self.path = path
        self._durability = durability
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._carried: dict[Hashable, Write] = {}
        """Saves whose group the disk refused: they go first in the next one."""

    def run(self, jobs: Sequence[Job]) -> None:
        """Commit `jobs` in one transaction and set the `error` of each that failed. Raises nothing."""
        try:
            if self._connection is None:
                self._connection = connections.open_writer(self.path, self._durability)
                self._file = connections.identity(self.path)
            elif connections.identity(self.path) != self._file:
                raise StoreError(self.path, f"{self.path} was moved or deleted while it was in use. Put it back.")
            self._transact(self._connection, jobs)
        except BaseException as error:
            self._reset()
            for job in jobs:
                job.error = self._explain(error)
                coalesce(self._carried, job.saves)
        else:
            self._carried.clear()

    def close(self) -> None:
        """Checkpoint the WAL into the database and close. A disk that fails now costs nothing: the WAL stays."""
        if self._connection is not None:
            try:
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.Error as error:
                _log.warning("%s: no checkpoint at the end: %s", self.path, error)
            self._reset()
        if self._carried:
            _log.error("%s: %d changes could not be kept", self.path, len(self._carried))

    def _transact(self, connection: sqlite3.Connection, jobs: Sequence[Job]) -> None:
        connection.execute("BEGIN IMMEDIATE")
        if len(jobs) == 1 and not jobs[0].saves and not self._carried:
            (job,) = jobs
            job.error = self._apply(connection, job.writes, undo="ROLLBACK")
            if job.error is not None:
                return
        else:
            self._save(connection, self._carried.values())
            for job in jobs:
                self._save(connection, job.saves)
                if job.writes:
                    job.error = self._apply_alone(connection, job.writes)
        connection.execute("COMMIT")

    def _save(self, connection: sqlite3.Connection, saves: Iterable[Write]) -> None:
        for write in saves:
            error = self._apply_alone(connection, (write,))
            if error is not None:
                _log.warning("%s (saved soon, key %r)", error, write.key)

    def _apply_alone(self, connection: sqlite3.Connection, writes: Sequence[Write]) -> WriteFailed | None:
        connection.execute("SAVEPOINT alone")
        error = self._apply(connection, writes, undo="ROLLBACK TO alone")
        connection.execute("RELEASE alone")
        return error

    def _apply(self, connection: sqlite3.Connection, writes: Sequence[Write], undo: str) -> WriteFailed | None:
        """Run `writes`; what is wrong with them is returned, what is wrong with the disk is raised."""
        try:
            for write in writes:
                write.run(connection)
        except Exception as error:
            # SQLite ends the whole transaction itself on some failures: then nobody's writes are there any more.
            if breaks_the_group(error) or not connection.in_transaction:
                raise
            connection.execute(undo)
            return WriteFailed(self.path, error)
        return None

    def _explain(self, error: BaseException) -> StoreError:
        """A new error for each waiter, because each will carry a traceback of its own."""
        if isinstance(error, StoreError):
            return StoreError(self.path, str(error))
        if isinstance(error, sqlite3.Error):
            return disk_failure(self.path, error)
        return StoreError(self.path, f"{self.path} could not be written: {type(error).__name__}: {error}")

    def _reset(self) -> None:
        """Close the connection, which undoes what it had begun; the next group opens a new one."""
        if self._connection is not None:
            connections.close(self._connection)
            self._connection = None
