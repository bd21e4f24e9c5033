"""Ways to a host: frames over a WebSocket (on TCP or a Unix socket), or as lines over any pair of byte streams.

A transport carries whole frames and knows nothing of what is in them. One that has failed or was closed stays so; a new
connection is a new transport, which is why a client is given a `Connector` and not a transport.
"""

from __future__ import annotations

import ssl
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeAlias
from urllib.parse import urlsplit, urlunsplit

import trio
import trio_websocket
from trio.abc import ReceiveStream, SendStream

from ahp.client.errors import ConnectFailed, TransportClosed

__all__ = [
    "Connector",
    "LineTransport",
    "Transport",
    "connector_for",
    "line_connector",
    "unix_connector",
    "websocket_connector",
]

MAX_FRAME = 256 * 1024 * 1024
"""The largest frame (bytes) taken from a host, which is trusted more than a host trusts its clients."""
_OPENING = 20.0
_QUEUE = 1024
_CHUNK = 65536


class Transport(ABC):
    """A connection that carries frames (one JSON text each) both ways. One task sends, one receives."""

    @abstractmethod
    async def send(self, frames: Sequence[bytes]) -> None:
        """Send frames in order. If cancelled, the transport is unusable. Raises `TransportClosed`."""

    @abstractmethod
    async def receive(self) -> str | bytes:
        """The next frame. Raises `TransportClosed` once the peer has closed or the connection broke."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close, telling the peer if that can be done without waiting long. Idempotent."""


Connector: TypeAlias = Callable[[], AbstractAsyncContextManager[Transport]]
"""Opens one connection each time it is called, as a context that closes it. Entering raises `ConnectFailed`."""


class LineTransport(Transport):
    """One frame a line, over any trio streams (a child's pipes, memory): how a host speaks on stdio."""

    def __init__(self, outgoing: SendStream, incoming: ReceiveStream, max_frame: int = MAX_FRAME) -> None:
        self._outgoing = outgoing
        self._incoming = incoming
        self._max_frame = max_frame
        self._lines: deque[bytes] = deque()
        self._tail = bytearray()

    async def send(self, frames: Sequence[bytes]) -> None:
        try:
            await self._outgoing.send_all(b"".join(frame + b"\n" for frame in frames))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise TransportClosed(None, "the stream broke") from None

    async def receive(self) -> bytes:
        while not self._lines:
            try:
                chunk = await self._incoming.receive_some()
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                raise TransportClosed(None, "the stream broke") from None
            if not chunk:
                raise TransportClosed(None, "the host closed the stream")
            first, *more = bytes(chunk).split(b"\n")
            self._tail += first
            if len(self._tail) > self._max_frame:
                raise TransportClosed(1009, "a frame is too long")
            if more:
                self._lines.append(bytes(self._tail))
                self._lines.extend(more[:-1])
                self._tail = bytearray(more[-1])
        return self._lines.popleft()

    async def aclose(self) -> None:
        # There is nothing to wait for: a stream says goodbye by ending.
        await trio.aclose_forcefully(self._outgoing)
        await trio.aclose_forcefully(self._incoming)


class WebSocketTransport(Transport):
    """One frame a text message, over trio-websocket."""

    def __init__(self, socket: trio_websocket.WebSocketConnection) -> None:
        self._socket = socket

    async def send(self, frames: Sequence[bytes]) -> None:
        try:
            for frame in frames:
                await self._socket.send_message(frame.decode())
        except trio_websocket.ConnectionClosed as e:
            raise _closed(e) from None

    async def receive(self) -> str | bytes:
        try:
            return await self._socket.get_message()
        except trio_websocket.ConnectionClosed as e:
            raise _closed(e) from None

    async def aclose(self) -> None:
        with trio.move_on_after(1):
            await self._socket.aclose()


def _closed(error: trio_websocket.ConnectionClosed) -> TransportClosed:
    reason = error.reason
    if reason is None:
        return TransportClosed(None, "the connection broke")
    return TransportClosed(reason.code, reason.reason)


def connector_for(url: str, token: str | None = None) -> Connector:
    """The connector for a URL: `ws:` and `wss:`, or `unix:/path` (a WebSocket over a Unix socket).

    `token` is the host's connection token, sent as a bearer token. Raises ValueError for another scheme.
    """
    scheme = url.partition(":")[0].lower()
    if scheme in ("ws", "wss"):
        return websocket_connector(url, token)
    if scheme == "unix":
        return unix_connector(url.partition(":")[2], token)
    raise ValueError(f"{url!r} is no address of a host: ws://…, wss://… or unix:/path is wanted")


def websocket_connector(url: str, token: str | None = None, tls: ssl.SSLContext | None = None) -> Connector:
    """Connects to `url` by WebSocket. `tls` replaces the default context of `wss:`."""
    parts = urlsplit(url)
    address = urlunsplit(parts._replace(path=parts.path or "/", fragment=""))

    @asynccontextmanager
    async def open_one() -> AsyncIterator[Transport]:
        opening = trio_websocket.open_websocket_url(
            address,
            tls,
            extra_headers=_headers(token),
            message_queue_size=_QUEUE,
            max_message_size=MAX_FRAME,
            connect_timeout=_OPENING,
            disconnect_timeout=1,
            receive_buffer_size=_CHUNK,
        )
        opened = False
        try:
            async with opening as socket:
                opened = True
                yield WebSocketTransport(socket)
        except trio_websocket.ConnectionRejected as e:
            raise ConnectFailed(f"{address} refused the connection: HTTP {e.status_code}", status=e.status_code) from e
        except (trio_websocket.HandshakeError, OSError) as e:
            if opened and isinstance(e, trio_websocket.HandshakeError):
                return  # Only the goodbye failed.
            if opened:
                raise
            raise ConnectFailed(f"cannot connect to {address}: {_why(e)}") from e

    return open_one


def unix_connector(path: str, token: str | None = None) -> Connector:
    """Connects by WebSocket over the Unix socket at `path`."""

    @asynccontextmanager
    async def open_one() -> AsyncIterator[Transport]:
        try:
            stream = await trio.open_unix_socket(path)
        except OSError as e:
            raise ConnectFailed(f"cannot connect to {path}: {_why(e)}") from e
        failed: ConnectFailed | None = None
        try:
            async with stream, trio.open_nursery() as nursery:
                with trio.move_on_after(_OPENING) as opening:
                    socket = await trio_websocket.wrap_client_stream(
                        nursery,
                        stream,
                        "localhost",
                        "/",
                        extra_headers=_headers(token),
                        message_queue_size=_QUEUE,
                        max_message_size=MAX_FRAME,
                        receive_buffer_size=_CHUNK,
                    )
                if opening.cancelled_caught:
                    failed = ConnectFailed(f"{path} did not take the connection within {_OPENING:g} seconds")
                else:
                    transport = WebSocketTransport(socket)
                    try:
                        yield transport
                    finally:
                        await transport.aclose()
                nursery.cancel_scope.cancel()
        except* (trio_websocket.HandshakeError, trio_websocket.ConnectionClosed) as group:
            # The library's reader task raises its refusal beside us.
            refusal: BaseException = group
            while isinstance(refusal, BaseExceptionGroup):
                refusal = refusal.exceptions[0]
            status = refusal.status_code if isinstance(refusal, trio_websocket.ConnectionRejected) else None
            failed = ConnectFailed(f"{path} refused the connection: HTTP {status}", status=status)
        if failed is not None:
            raise failed

    return open_one


def _headers(token: str | None) -> list[tuple[bytes, bytes]]:
    return [(b"Authorization", b"Bearer " + token.encode())] if token else []


StreamPair: TypeAlias = tuple[SendStream, ReceiveStream]


def line_connector(open_streams: Callable[[], AbstractAsyncContextManager[StreamPair]]) -> Connector:
    """Lines over streams that `open_streams` opens anew for each connection (a child process's pipes, say)."""

    @asynccontextmanager
    async def open_one() -> AsyncIterator[Transport]:
        async with open_streams() as (outgoing, incoming):
            yield LineTransport(outgoing, incoming)

    return open_one


def _why(error: BaseException) -> str:
    cause = error.__cause__ or error
    return str(cause) or type(cause).__name__
