"""The interface of a connection, whatever it runs over: messages in by iteration, frames out by its outbox.

Whoever serves a connection iterates it from one task and pushes to `outbox` from anywhere. The transport behind it
(`websocket`, `stdio`) owns the reading and sending tasks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import Literal

import msgspec
import trio

from actors.door.outbox import Outbox

__all__ = ["Connection", "Inbox", "Peer"]


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """Who is at the other end.

    `address`: the IP address, or the path of the Unix socket, or "stdio". `token`: what it showed, checked by the
    policy, or None. `principal`: who the policy says it is; "" for the owner of the daemon.
    """

    transport: Literal["ws", "unix", "stdio"]
    address: str
    token: str | None = None
    principal: str = ""

    def __repr__(self) -> str:
        """Without the token: peers are logged."""
        return f"Peer({self.transport} {self.address} {self.principal!r})"


class Inbox:
    """Messages that arrived and were not taken yet. One reader task puts in, one task takes.

    Taking does not wait while messages are there, but for one checkpoint every `_TURN` messages: what a peer
    pipelines is handled in one go, and what it causes is sent in one go.
    """

    _TURN = 64

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._messages: deque[str | bytes] = deque()
        self._bytes = 0
        self._taken = 0
        self._ended = False
        self._changed = trio.lowlevel.ParkingLot()

    @property
    def is_full(self) -> bool:
        return self._bytes > self._limit_bytes and not self._ended

    def put(self, message: str | bytes) -> None:
        """Add `message`; never waits. After the end, does nothing."""
        if not self._ended:
            self._messages.append(message)
            self._bytes += len(message) + 64
            if self._changed:
                self._changed.unpark_all()

    async def wait_for_room(self) -> None:
        """Wait until the inbox is not full. Not a checkpoint when it is not."""
        while self.is_full:
            await self._changed.park()

    def end(self) -> None:
        """No more messages come; those that are there can be taken. Idempotent."""
        self._ended = True
        self._changed.unpark_all()

    def discard(self) -> None:
        """End, and drop what is there."""
        self._messages.clear()
        self._bytes = 0
        self.end()

    async def take(self) -> str | bytes | None:
        """The next message, or None after the last."""
        self._taken += 1
        if self._taken % self._TURN == 0:
            await trio.lowlevel.checkpoint()
        while not self._messages:
            if self._ended:
                await trio.lowlevel.checkpoint()
                return None
            await self._changed.park()
        message = self._messages.popleft()
        self._bytes -= len(message) + 64
        if self._changed:
            self._changed.unpark_all()
        return message


class Connection(ABC):
    """`outbox` takes what is to be sent; iteration yields what arrives: `str` for text, `bytes` for binary messages.

    Iteration ends when the peer closes or vanishes (after what it sent before), and at once when this side closes.
    While much of what was answered still waits in the outbox, iteration holds back: a peer that does not read its
    answers is not served further requests.
    """

    outbox: Outbox
    peer: Peer

    def __init__(self, peer: Peer, outbox: Outbox, inbox: Inbox) -> None:
        self.peer = peer
        self.outbox = outbox
        self._inbox = inbox

    def __aiter__(self) -> Connection:
        return self

    async def __anext__(self) -> str | bytes:
        await self.outbox.wait_below(self.outbox.limit_bytes // 2)
        message = await self._inbox.take()
        if message is None:
            raise StopAsyncIteration
        return message

    @abstractmethod
    async def aclose(self, code: int = 1000, reason: str = "") -> None:
        """Send what waits in the outbox and close, within a few seconds. Idempotent.

        `code` and `reason` (at most 123 bytes of UTF-8) are a WebSocket's close status; a transport without one
        only ends. When cancelled, closes at once.
        """
