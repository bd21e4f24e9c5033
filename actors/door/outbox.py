"""What waits to be sent on one connection, as bytes, and the one task that sends it.

Invariant: bytes leave in the order they were put in, whole messages at a time, and never more than the limit plus one
message wait. Anybody may `push`; only the connection that owns the outbox calls the rest. An outbox that its peer does
not empty falls behind: it drops what waits, takes nothing more but the connection's last words, and says so once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, TypeAlias

import trio

__all__ = ["Frame", "Frames", "Framing", "Outbox"]

Framing: TypeAlias = Literal["websocket", "line"]
"""How an outbox writes a `Frame`: as an unmasked WebSocket text frame, or as a line."""

_BATCH_BYTES = 128 * 1024
"""What is joined for one `send_all`; a message as long as this is sent by itself, without a copy."""
_LAST_WORDS_BYTES = 4096
"""What a connection may still put in after falling behind: its close frame."""


class Frame:
    """One message, encoded once and shared by every outbox it goes to. `payload` is JSON in UTF-8 without newlines."""

    __slots__ = ("_line", "_websocket", "payload")

    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        self._websocket: bytes | None = None
        self._line: bytes | None = None

    @property
    def websocket(self) -> bytes:
        """An unmasked, final text frame (RFC 6455, 5.2)."""
        if self._websocket is None:
            self._websocket = _text_frame_head(len(self.payload)) + self.payload
        return self._websocket

    @property
    def line(self) -> bytes:
        """The payload and a newline."""
        if self._line is None:
            self._line = self.payload + b"\n"
        return self._line


class Frames(Frame):
    """Several messages that go out one behind the other, put in as one."""

    __slots__ = ("_frames",)

    def __init__(self, frames: Sequence[Frame]) -> None:
        super().__init__(b"")
        self._frames = frames

    @property
    def websocket(self) -> bytes:
        if self._websocket is None:
            self._websocket = b"".join([frame.websocket for frame in self._frames])
        return self._websocket

    @property
    def line(self) -> bytes:
        if self._line is None:
            self._line = b"".join([frame.line for frame in self._frames])
        return self._line


def _text_frame_head(size: int) -> bytes:
    if size < 126:
        return bytes((0x81, size))
    if size < 1 << 16:
        return b"\x81\x7e" + size.to_bytes(2, "big")
    return b"\x81\x7f" + size.to_bytes(8, "big")


class Outbox:
    """`limit_bytes`: with more than this waiting, the next `push` finds the peer fallen behind.

    The limit is on what waited before a push, so one message longer than the limit still reaches a peer that reads.
    """

    def __init__(self, limit_bytes: int, framing: Framing = "websocket") -> None:
        self.limit_bytes = limit_bytes
        self.pending_bytes = 0
        """Bytes put in and not yet taken by the socket."""
        self.fallen_behind = trio.Event()
        """Set, once, when the peer has fallen behind; the connection closes it with 1013 then."""
        self._as_lines = framing == "line"
        self._waiting: deque[bytes] = deque()
        self._accepting = True
        self._closed = False
        self._idle = trio.lowlevel.ParkingLot()
        self._moved = trio.lowlevel.ParkingLot()

    def push(self, frame: Frame) -> None:
        """Put `frame` in. Never waits and never raises; after the outbox fell behind or closed, does nothing."""
        if not self._accepting:
            return
        if self.pending_bytes > self.limit_bytes:
            self._fall_behind()
            return
        data = frame.line if self._as_lines else frame.websocket
        self._waiting.append(data)
        self.pending_bytes += len(data)
        if self._idle:
            self._idle.unpark()

    def push_raw(self, data: bytes) -> None:
        """Put in bytes that need no framing: a whole control frame, a handshake. Like `push` otherwise."""
        if self._closed or not data:
            return
        if self.fallen_behind.is_set():
            if sum(map(len, self._waiting)) + len(data) > _LAST_WORDS_BYTES:
                return
        elif not self._accepting:
            return
        elif self.pending_bytes > self.limit_bytes:
            self._fall_behind()
            return
        self._waiting.append(data)
        self.pending_bytes += len(data)
        if self._idle:
            self._idle.unpark()

    def stop_accepting(self) -> None:
        """What is put in from now on is dropped, what waits is still sent."""
        self._accepting = False

    def close(self) -> None:
        """Drop what waits and end `drain` and every wait. Idempotent."""
        self._accepting = False
        self._closed = True
        self._drop_waiting()
        self._idle.unpark_all()
        self._moved.unpark_all()

    async def drain(self, send_all: Callable[[bytes], Awaitable[None]]) -> None:
        """Send what is put in until the outbox is closed; lets pass what `send_all` raises, after closing."""
        try:
            while True:
                while self._waiting:
                    batch = self._take_batch()
                    await send_all(batch)
                    self.pending_bytes -= len(batch)
                    if self._moved:
                        self._moved.unpark_all()
                if self._closed:
                    return
                await self._idle.park()
        finally:
            self.close()

    async def wait_below(self, pending_bytes: int) -> None:
        """Wait until at most `pending_bytes` wait, or the outbox is closed. Not a checkpoint when that is so now."""
        while self.pending_bytes > pending_bytes and not self._closed:
            await self._moved.park()

    def _take_batch(self) -> bytes:
        """The next bytes to send, at message boundaries: small messages together, a long one alone and uncopied."""
        waiting = self._waiting
        first = waiting.popleft()
        size = len(first)
        if not waiting or size + len(waiting[0]) > _BATCH_BYTES:
            return first
        batch = [first]
        while waiting and size + len(waiting[0]) <= _BATCH_BYTES:
            batch.append(waiting.popleft())
            size += len(batch[-1])
        return b"".join(batch)

    def _fall_behind(self) -> None:
        self._accepting = False
        self._drop_waiting()
        self.fallen_behind.set()

    def _drop_waiting(self) -> None:
        self.pending_bytes -= sum(map(len, self._waiting))
        self._waiting.clear()
