"""Fan-out of events to any number of readers in one task tree, without a checkpoint where they are published.

A reader sees what is published after it was made. It is bounded: one that falls too far behind is told so.
"""

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import Generic, TypeVar
from weakref import WeakSet

import trio

from ahp.client.errors import ChangesLost

__all__ = ["Feed", "Reader"]

T = TypeVar("T")


class Reader(Generic[T]):
    """An async iterator over what a feed publishes from now on.

    Iteration ends when the feed ends, after what came before. Raises `ChangesLost` once if events had to be dropped,
    then continues with the newest. Use it as a context (`with`), or `close` it, to stop collecting.
    """

    def __init__(self, feed: Feed[T], limit: int) -> None:
        self._feed = feed
        self._waiting: deque[T] = deque()
        self._limit = limit
        self._lost = 0
        self._closed = False
        self._wake = trio.Event()

    def __aiter__(self) -> Reader[T]:
        return self

    async def __anext__(self) -> T:
        await trio.lowlevel.checkpoint_if_cancelled()
        while not self._waiting and not self._lost:
            if self._closed:
                raise StopAsyncIteration
            if self._feed.ended:
                raise self._feed.error or StopAsyncIteration
            self._wake = trio.Event()
            await self._wake.wait()
        await trio.lowlevel.cancel_shielded_checkpoint()
        if self._lost:
            lost, self._lost = self._lost, 0
            raise ChangesLost(f"{lost} changes were dropped: the reader was too slow")
        return self._waiting.popleft()

    def __enter__(self) -> Reader[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop collecting; a waiting `__anext__` ends. Idempotent."""
        self._closed = True
        self._feed.readers.discard(self)
        self._waiting.clear()
        self._wake.set()

    def _push(self, event: T) -> None:
        if len(self._waiting) >= self._limit:
            self._lost += len(self._waiting)
            self._waiting.clear()
        self._waiting.append(event)
        self._wake.set()


class Feed(Generic[T]):
    """The publishing end. `publish` and `end` never block."""

    def __init__(self, limit: int = 100_000) -> None:
        # Weak: a loop over an unnamed reader that is left by `break` must not collect for ever.
        self.readers: WeakSet[Reader[T]] = WeakSet()
        self.ended = False
        self.error: Exception | None = None
        self._limit = limit

    def reader(self) -> Reader[T]:
        """A new reader, which sees everything published from now on."""
        reader = Reader(self, self._limit)
        self.readers.add(reader)
        return reader

    def publish(self, event: T) -> None:
        """Hand `event` to every reader."""
        for reader in self.readers:
            reader._push(event)

    def end(self, error: Exception | None = None) -> None:
        """No more events: readers stop after what they have, raising `error` if there is one."""
        self.ended = True
        self.error = error
        for reader in self.readers:
            reader._wake.set()
