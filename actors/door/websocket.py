"""One WebSocket connection from its upgrade request to its end, on trio-websocket over a `Wire`.

`serve_websocket` owns the connection's tasks: trio-websocket's reader, the drain of the outbox, the pump of what came
through trio-websocket, the keepalive, and the one that closes a peer that fell behind or sent too much. They end with
the handler, and nothing that goes wrong among them leaves the connection.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
import trio
import trio_websocket

from actors.door.connection import Connection, Inbox, Peer
from actors.door.lane import Lane
from actors.door.outbox import Outbox
from actors.door.wire import Wire

__all__ = ["ConnectionLimits", "WebSocketConnection", "serve_websocket"]

_INBOX_BYTES = 1024 * 1024
_REASON_BYTES = 123
_GOODBYE_SECONDS = 1.0
_PROTOCOL_ERRORS = (1002, 1007)


class ConnectionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one connection may cost. Sizes in bytes, times in seconds."""

    max_message_bytes: int = 64 * 1024 * 1024
    """The longest message taken; a longer one closes the connection with 1009."""
    outbox_bytes: int = 32 * 1024 * 1024
    """What may wait for a peer that does not read, before it is closed with 1013."""
    ping_after: float = 30.0
    """The silence after which the peer is asked for a sign of life."""
    pong_within: float = 30.0
    """The further silence after which it counts as gone."""
    handshake_within: float = 10.0
    close_within: float = 5.0
    """How long a closing handshake may take, with the sending of what waits."""
    catch_up_within: float = 30.0
    """The same for a peer that fell behind: how long it has to read up to its close frame."""


async def serve_websocket(
    transport: trio.abc.Stream,
    head: bytes,
    surplus: bytes,
    peer: Peer,
    handler: Callable[[Connection], Awaitable[None]],
    limits: ConnectionLimits,
) -> None:
    """Upgrade `transport` and run `handler` with it; close it when the handler returns (1000) or raises (1011).

    `head` is the upgrade request as it came, `surplus` what came behind it. Returns without calling `handler` if the
    handshake fails. What `handler` raises comes out in an exception group. When cancelled, closes
    with 1001, within a second.
    """
    outbox = Outbox(limits.outbox_bytes)
    inbox = Inbox(_INBOX_BYTES)
    wire = Wire(transport, head, surplus, outbox, inbox, Lane(limits.max_message_bytes))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(wire.drain)
        try:
            websocket = await _handshake(nursery, wire, limits)
            if websocket is not None:
                connection = WebSocketConnection(peer, outbox, inbox, wire, websocket, limits)
                nursery.start_soon(connection.run)
                await _handle(connection, handler)
        finally:
            # Also when cancelled: a host that stops says so, and what it said before arrives.
            with trio.CancelScope(shield=True, deadline=trio.current_time() + _GOODBYE_SECONDS):
                await wire.aclose()
        nursery.cancel_scope.cancel()


async def _handle(connection: WebSocketConnection, handler: Callable[[Connection], Awaitable[None]]) -> None:
    try:
        await handler(connection)
    except Exception:
        await connection.aclose(1011, "internal error")
        raise
    await connection.aclose()


async def _handshake(
    nursery: trio.Nursery, wire: Wire, limits: ConnectionLimits
) -> trio_websocket.WebSocketConnection | None:
    """The accepted connection; None if trio-websocket refused the request (and said so) or it took too long."""
    websocket: trio_websocket.WebSocketConnection | None = None
    async with trio.open_nursery() as racing:

        async def give_up_when_closed() -> None:
            await wire.closed.wait()
            racing.cancel_scope.cancel()

        # A request that trio-websocket refuses closes the stream and never becomes a proposal.
        racing.start_soon(give_up_when_closed)
        racing.cancel_scope.deadline = trio.current_time() + limits.handshake_within
        proposal = await trio_websocket.wrap_server_stream(
            nursery, wire, max_message_size=limits.max_message_bytes, receive_buffer_size=None
        )
        websocket = await proposal.accept()
        racing.cancel_scope.cancel()
    if websocket is not None:
        wire.accept()
    return websocket


class WebSocketConnection(Connection):
    """See `Connection`. Made by `serve_websocket`."""

    def __init__(
        self,
        peer: Peer,
        outbox: Outbox,
        inbox: Inbox,
        wire: Wire,
        websocket: trio_websocket.WebSocketConnection,
        limits: ConnectionLimits,
    ) -> None:
        super().__init__(peer, outbox, inbox)
        self._wire = wire
        self._websocket = websocket
        self._limits = limits
        self._closing = False
        self._closed = trio.Event()
        wire.last_words = self._last_words

    async def run(self) -> None:
        """Keep the connection going until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._pump)
            nursery.start_soon(self._keep_alive)
            nursery.start_soon(self._close_when, self.outbox.fallen_behind, 1013, "falling behind; reconnect")
            longest = self._limits.max_message_bytes
            nursery.start_soon(self._close_when, self._wire.too_big, 1009, f"a message may have {longest} bytes")

    async def aclose(self, code: int = 1000, reason: str = "") -> None:
        if self._closing:
            await self._closed.wait()
            return
        self._closing = True
        behind = self.outbox.fallen_behind.is_set()
        seconds = self._limits.catch_up_within if behind else self._limits.close_within
        self._wire.only_close()
        try:
            with trio.move_on_after(seconds):
                await self._websocket.aclose(code, _cut(reason))
                await self._wire.aclose()
        finally:
            self._closed.set()
            with trio.CancelScope() as at_once:
                at_once.cancel()
                await self._wire.aclose()

    async def _pump(self) -> None:
        """Take what trio-websocket decoded, until the connection is closed by either side."""
        try:
            while True:
                self._wire.deliver(await self._websocket.get_message())
        except trio_websocket.ConnectionClosed:
            self._inbox.end()

    async def _keep_alive(self) -> None:
        limits = self._limits
        while True:
            silence = trio.current_time() - self._wire.last_received
            if silence < limits.ping_after or self._wire.is_held_up:
                await trio.sleep(max(limits.ping_after - silence, 1.0))
                continue
            with trio.move_on_after(limits.pong_within) as waiting:
                try:
                    await self._websocket.ping()
                except trio_websocket.ConnectionClosed:
                    return
            heard = trio.current_time() - self._wire.last_received < limits.pong_within
            if waiting.cancelled_caught and not heard and not self._wire.is_held_up:
                await self.aclose(1011, "no answer to a ping")
                return

    async def _close_when(self, event: trio.Event, code: int, reason: str) -> None:
        await event.wait()
        await self.aclose(code, reason)

    def _last_words(self) -> bytes:
        """The close frame for an end without one: trio-websocket drops a peer that broke the protocol, or we stop."""
        closed = self._websocket.closed
        if closed is None:
            return _close_frame(1001, "the host is stopping")
        return _close_frame(closed.code, closed.reason or "") if closed.code in _PROTOCOL_ERRORS else b""


def _close_frame(code: int, reason: str) -> bytes:
    body = code.to_bytes(2, "big") + _cut(reason).encode()
    return bytes((0x88, len(body))) + body


def _cut(reason: str) -> str:
    """`reason` in the length a close frame has room for."""
    return reason.encode()[:_REASON_BYTES].decode(errors="ignore")
