"""The stream that trio-websocket runs over: its sends go to the outbox, its receives come through the lane.

Invariant: all bytes to the peer pass the outbox, so control frames and data never interleave inside a frame; messages
reach the inbox in the order the peer sent them, whichever way they took. Used by `websocket` alone.
"""

from __future__ import annotations

from collections.abc import Callable

import trio

from actors.door.connection import Inbox
from actors.door.gentle import close_gently
from actors.door.lane import Lane
from actors.door.outbox import Outbox

__all__ = ["Wire"]

_CLOSE_FRAME = 0x88
_CHUNK = 64 * 1024
_FLUSH_SECONDS = 5.0


class Wire(trio.abc.Stream):
    """`head` is the upgrade request as it came, `surplus` what came behind it."""

    def __init__(
        self, transport: trio.abc.Stream, head: bytes, surplus: bytes, outbox: Outbox, inbox: Inbox, lane: Lane
    ) -> None:
        self.last_received = trio.current_time()
        self.too_big = trio.Event()
        """Set when the peer announced a message longer than the lane allows."""
        self.closed = trio.Event()
        self.last_words: Callable[[], bytes] = bytes
        """Asked at closing for a close frame, if none was sent."""
        self._finished = trio.Event()
        self._transport = transport
        self._head = head
        self._outbox = outbox
        self._inbox = inbox
        self._lane = lane
        self._lane.feed(surplus)
        self._accepted = trio.Event()
        self._delivered = 0
        self._changed = trio.lowlevel.ParkingLot()
        self._receiving = False
        self._sent_close = False

    # What trio-websocket calls.

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await trio.lowlevel.checkpoint()
        if self.closed.is_set():
            raise trio.ClosedResourceError
        self._put(bytes(data))

    async def wait_send_all_might_not_block(self) -> None:
        await trio.lowlevel.checkpoint()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        if self._head:
            head, self._head = self._head, b""
            await trio.lowlevel.checkpoint()
            return head
        await self._accepted.wait()
        while True:
            # What trio-websocket still owes comes before what the lane would deliver next.
            while self._delivered < self._lane.completed and not self.closed.is_set():
                await self._changed.park()
            await self._inbox.wait_for_room()
            if self.closed.is_set():
                raise trio.ClosedResourceError
            data = self._lane.take(self._inbox.put)
            if data:
                return data
            if self._lane.too_big:
                self.too_big.set()
            data = await self._receive()
            if not data:
                return b""
            self._lane.feed(data)

    async def aclose(self) -> None:
        """Send what waits, for a few seconds, then close the transport. When cancelled, closes at once."""
        if self.closed.is_set():
            await self._finished.wait()
            return
        if not self._sent_close:
            self._put(self.last_words())
        self.closed.set()
        self._changed.unpark_all()
        self._inbox.end()
        try:
            with trio.move_on_after(_FLUSH_SECONDS):
                await self._outbox.wait_below(0)
                if not self._receiving:
                    await close_gently(self._transport)
        finally:
            self._outbox.close()
            self._finished.set()
            await trio.aclose_forcefully(self._transport)

    # What the connection calls.

    def accept(self) -> None:
        """The handshake is done: let the peer's frames in."""
        self._accepted.set()

    def only_close(self) -> None:
        """This side is closing: drop what the peer still sends, but for its close frame."""
        self._lane.only_close()
        self._inbox.discard()

    def deliver(self, message: str | bytes) -> None:
        """Put a message that came through trio-websocket in the inbox."""
        self._inbox.put(message)
        self._delivered += 1
        self._changed.unpark_all()

    @property
    def is_held_up(self) -> bool:
        """Whether nothing is read because the messages that are there wait to be taken."""
        return self._inbox.is_full

    async def drain(self) -> None:
        """Send the outbox to the transport until either is closed. Not cancelled: `aclose` ends it."""
        try:
            with trio.CancelScope(shield=True):
                await self._outbox.drain(self._transport.send_all)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            await trio.aclose_forcefully(self._transport)

    def _put(self, data: bytes) -> None:
        self._outbox.push_raw(data)
        if data[:1] == bytes((_CLOSE_FRAME,)):
            self._sent_close = True
            self._outbox.stop_accepting()

    async def _receive(self) -> bytes:
        self._receiving = True
        try:
            data = bytes(await self._transport.receive_some(_CHUNK))
        finally:
            self._receiving = False
        self.last_received = trio.current_time()
        return data
