"""The open store: one writer thread with group commit, a small pool of readers, and the lock of the file.

Invariant: nothing but this process has the store open, and nothing but the writer thread changes it. Whoever has a
`Store` may commit and read; who may write which record is said by the repositories' owners.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import queue
import sqlite3
import threading
from collections.abc import AsyncIterator, Hashable, Iterable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

import trio

from actors.store import connection as connections
from actors.store.connection import Durability
from actors.store.errors import StoreClosed, StoreError, disk_failure, os_failure
from actors.store.group import Committer, Job, coalesce
from actors.store.lock import StoreLock
from actors.store.write import Query, Write

__all__ = ["Durability", "Store", "Threads", "open_store"]

T = TypeVar("T")

Threads: TypeAlias = Literal["own", "none"]
"""`own`: SQLite runs in threads of the store. `none`: in the caller's, for tests on a mock clock, which would jump
while a thread works."""

READERS = 4
CLOSE_SECONDS = 10.0
"""How long closing waits, in real seconds, for a disk that does not answer."""

_log = logging.getLogger("actors.store")


@contextlib.asynccontextmanager
async def open_store(path: Path, *, durability: Durability = "full", threads: Threads = "own") -> AsyncIterator[Store]:
    """Open the store in the file `path`, made with its folder where they are missing, and close it at the end.

    A new folder gets mode 0700; a folder that is there is left as it is. The file has mode 0600 at most.

    Raises StoreLocked where another process has it, StoreFromTheFuture, StoreUnreadable, and StoreError for what
    the disk says. Closing writes what was handed over and saved soon, cancelled or not.
    """
    prepare = functools.partial(_prepare, path)
    lock = prepare() if threads == "none" else await trio.to_thread.run_sync(prepare)
    store = Store(path, lock, durability, threads)
    try:
        yield store
    finally:
        await store._close()


class Store:
    """Made by `open_store`. Its methods are called from the trio thread that opened it."""

    def __init__(self, path: Path, lock: StoreLock, durability: Durability, threads: Threads) -> None:
        self.path = path
        self._lock = lock
        self._is_closed = False
        self._saves: dict[Hashable, Write] = {}
        self._committer = Committer(path, durability)
        self._readers = _Readers(path)
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._token = trio.lowlevel.current_trio_token()
        # A daemon thread: a disk that hangs must not keep the process from ending.
        self._thread = None if threads == "none" else threading.Thread(target=self._write, name="store", daemon=True)
        if self._thread is not None:
            self._thread.start()

    async def commit(self, writes: Sequence[Write]) -> None:
        """Keep `writes`, all or none, behind everything handed over before; durable on return.

        What waits while the writer is busy shares one transaction. Raises WriteFailed where these writes are at
        fault, StoreError where the disk is (then nothing of the group was kept, and the next commit tries the disk
        anew), StoreClosed.

        On cancellation: cancelled before the call, nothing is written. Otherwise the writes are handed over before
        the first wait and will be committed or fail as a whole, in their order, before the store closes; a
        cancelled wait ends at once and only means that this caller does not learn which (a failure is logged).
        """
        if self._is_closed:
            raise StoreClosed(self.path)
        await trio.lowlevel.checkpoint_if_cancelled()
        job = self._hand_over(writes)
        try:
            await job.done.wait()
        except trio.Cancelled:
            job.is_abandoned = True
            raise
        if job.error is not None:
            raise job.error

    def save_soon(self, writes: Iterable[Write]) -> None:
        """Keep keyed `writes` with the next commit, each in place of an earlier one with its key. Never waits.

        For what may be lost with the process, such as the tail of a streaming reply: there is no timer here, so
        whoever wants a bound calls `flush` at an interval. A save that the disk refuses is tried with the next
        commit; one that fails by itself (its session is gone) is logged and dropped. Raises ValueError for a write
        without a key, StoreClosed.
        """
        if self._is_closed:
            raise StoreClosed(self.path)
        keyed = list(writes)
        if any(write.key is None for write in keyed):
            raise ValueError("only a write with a key can be saved soon: commit the others")
        coalesce(self._saves, keyed)

    async def flush(self) -> None:
        """Keep what was saved soon. Durable on return; raises and is cancelled like `commit`."""
        await self.commit(())

    async def read(self, query: Query[T]) -> T:
        """The answer of `query`, on one consistent view that has every commit that returned before.

        Runs in a worker thread, a few at a time; cancellation waits for it. Raises StoreError where the file cannot
        be read, StoreClosed, and whatever else the query raises.
        """
        if self._is_closed:
            raise StoreClosed(self.path)
        if self._thread is None:
            await trio.lowlevel.checkpoint()
            return self._readers.read(query)
        return await trio.to_thread.run_sync(self._readers.read, query, limiter=self._readers.limiter)

    def _hand_over(self, writes: Sequence[Write]) -> Job:
        job = Job(tuple(self._saves.values()), writes)
        self._saves.clear()
        if self._thread is None:
            self._committer.run((job,))
            self._deliver((job,))
        else:
            self._queue.put(job)
        return job

    def _write(self) -> None:
        """The writer thread: takes all that waits, commits it, tells the waiters; ends at a None, closing its side."""
        is_last = False
        while not is_last:
            jobs = [self._queue.get()]
            with contextlib.suppress(queue.Empty):
                while True:
                    jobs.append(self._queue.get_nowait())
            is_last = None in jobs
            group = [job for job in jobs if job is not None]
            if group:
                self._committer.run(group)
                with contextlib.suppress(trio.RunFinishedError):
                    self._token.run_sync_soon(self._deliver, group)
        self._committer.close()

    def _deliver(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            if job.error is not None and job.is_abandoned:
                _log.error("not kept, and nobody waits for it: %s", job.error)
            job.done.set()

    async def _close(self) -> None:
        """End the threads' work and let the lock go; not before, so that nobody else writes beside a late commit."""
        self._is_closed = True
        if self._saves:
            self._hand_over(()).is_abandoned = True
        self._readers.close()
        if self._thread is None:
            self._committer.close()
            self._lock.release()
            return
        self._queue.put(None)
        # Real seconds, not trio's: a mock clock would jump over them.
        join = functools.partial(self._thread.join, CLOSE_SECONDS)
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(join)
        if self._thread.is_alive():
            _log.error("%s: the disk did not answer in %g s; what waits may be lost", self.path, CLOSE_SECONDS)
        else:
            self._lock.release()


class _Readers:
    """Connections that read, made when needed and kept for the next reader; at most one a thread of the `limiter`."""

    def __init__(self, path: Path) -> None:
        self.limiter = trio.CapacityLimiter(READERS)
        self._path = path
        self._mutex = threading.Lock()
        self._free: list[sqlite3.Connection] = []
        self._is_closed = False

    def read(self, query: Query[T]) -> T:
        connection: sqlite3.Connection | None = None
        try:
            connection = self._take()
            connection.execute("BEGIN")
            answer = query(connection)
            connection.execute("COMMIT")
        except BaseException as error:
            # What went wrong may be the connection, so the next reader gets a new one.
            if connection is not None:
                connections.close(connection)
            if isinstance(error, sqlite3.Error):
                raise disk_failure(self._path, error) from error
            raise
        self._give_back(connection)
        return answer

    def close(self) -> None:
        """Close what is free; a reader at work closes its own when it is done."""
        with self._mutex:
            self._is_closed = True
            for connection in self._free:
                connections.close(connection)
            self._free.clear()

    def _take(self) -> sqlite3.Connection:
        with self._mutex:
            if self._free:
                return self._free.pop()
        return connections.open_reader(self._path)

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._mutex:
            if not self._is_closed:
                self._free.append(connection)
                return
        connections.close(connection)


def _prepare(path: Path) -> StoreLock:
    """Make the folder, take the lock, and make the file ready. Raises StoreError."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = StoreLock(path)
        try:
            connections.prepare(path)
        except BaseException:
            lock.release()
            raise
    except StoreError:
        raise
    except OSError as error:
        raise os_failure(path, error) from error
    return lock
