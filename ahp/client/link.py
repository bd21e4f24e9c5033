"""One connection's JSON-RPC: requests matched with their answers, host requests served, frames in order both ways.

The reader handles each frame to its end before the next one, in the order of the wire: the answer to a subscribe is
taken in before the actions behind it. Owned by the client, which makes one for each connection.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import trio
from msgspec import Raw, Struct, UnsetType

from ahp import jsonrpc
from ahp.client.errors import Disconnected, TransportClosed
from ahp.client.transport import Transport
from ahp.commands import METHODS, Direction
from ahp.jsonrpc import Notification, Request, Response, RpcError

__all__ = ["Call", "Handler", "Link"]

log = logging.getLogger("ahp.client")

Handler: TypeAlias = Callable[[Any], Awaitable[object]]
"""Serves a method: from its typed params to its result. Raise an `RpcError` to refuse."""


class Call:
    """A request under way. `on_result` runs inside the reader, so that what it takes in is in the order of the wire."""

    def __init__(self, method: str, on_result: Callable[[Raw], None] | None = None) -> None:
        self.method = method
        self.result: Raw | None = None
        self.error: Exception | None = None
        self._on_result = on_result
        self._done = trio.Event()

    def settle(self, result: Raw | None, error: Exception | None) -> None:
        """Finish the call. What `on_result` raises becomes the call's error."""
        if result is not None and self._on_result is not None:
            try:
                self._on_result(result)
            except Exception as e:
                error = e
        self.result, self.error = result, error
        self._done.set()

    @property
    def is_settled(self) -> bool:
        """Whether the call has its result or its error."""
        return self._done.is_set()

    async def settled(self) -> None:
        """Wait for the end, whichever it is."""
        await self._done.wait()

    async def wait(self) -> Raw:
        """The raw result. Raises the host's `RpcError`, or `Disconnected`."""
        await self._done.wait()
        if self.error is not None:
            raise self.error
        assert self.result is not None
        return self.result


class Link:
    """JSON-RPC over one transport. `run` must be running for anything to move; it returns when the connection ends."""

    def __init__(
        self,
        transport: Transport,
        handlers: Mapping[str, Handler],
        on_notification: Callable[[Notification], None],
    ) -> None:
        self._transport = transport
        self._handlers = handlers
        self._on_notification = on_notification
        self._calls: dict[int, Call] = {}
        self._last_id = 0
        self._outgoing: deque[bytes] = deque()
        self._more = trio.Event()
        self._drained = trio.Event()
        self._drained.set()
        self.closed: TransportClosed | None = None

    def call(self, method: str, params: object, on_result: Callable[[Raw], None] | None = None) -> Call:
        """Send a request. Never blocks: the frame is queued."""
        call = Call(method, on_result)
        if self.closed is not None:
            call.settle(None, Disconnected(str(self.closed)))
            return call
        self._last_id += 1
        self._calls[self._last_id] = call
        self.push(jsonrpc.encode_request(self._last_id, method, params))
        return call

    def push(self, frame: bytes) -> None:
        """Queue a frame to be sent. Dropped when the connection has ended."""
        if self.closed is None:
            self._outgoing.append(frame)
            self._more.set()
            if self._drained.is_set():
                self._drained = trio.Event()

    async def flush(self) -> None:
        """Wait until everything queued was sent, or the connection has ended."""
        await self._drained.wait()

    async def close(self) -> None:
        """Close the connection; `run` returns soon after."""
        await self._transport.aclose()

    async def run(self) -> None:
        """Move frames until the connection ends; then fail every call that is left. Never raises for the connection."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._write, nursery.cancel_scope)
                await self._read(nursery)
                nursery.cancel_scope.cancel()
        finally:
            self._end(TransportClosed(None, "closed by this side"))

    async def _read(self, nursery: trio.Nursery) -> None:
        try:
            while True:
                self._take(await self._transport.receive(), nursery)
        except TransportClosed as e:
            self._end(e)

    async def _write(self, scope: trio.CancelScope) -> None:
        try:
            while True:
                await self._more.wait()
                frames = list(self._outgoing)
                self._outgoing.clear()
                self._more = trio.Event()
                await self._transport.send(frames)
                if not self._outgoing:
                    self._drained.set()
        except TransportClosed as e:
            # What the host said last (a close code) is still to be read, if it said anything.
            with trio.move_on_after(1):
                await trio.sleep_forever()
            self._end(e)
            scope.cancel()

    def _end(self, reason: TransportClosed) -> None:
        if self.closed is None:
            self.closed = reason
        self._drained.set()
        calls, self._calls = self._calls, {}
        for call in calls.values():
            call.settle(None, Disconnected(f"{call.method}: {self.closed}"))

    def _take(self, frame: str | bytes, nursery: trio.Nursery) -> None:
        try:
            message = jsonrpc.parse(frame)
        except jsonrpc.ProtocolError as e:
            log.warning("the host sent a frame that is no message: %s", e)
            return
        if isinstance(message, Notification):
            self._on_notification(message)
        elif isinstance(message, Response):
            self._answer(message)
        else:
            nursery.start_soon(self._serve, message)

    def _answer(self, response: Response) -> None:
        call = self._calls.pop(response.id, None) if isinstance(response.id, int) else None
        if call is None:
            log.warning("the host answered %r, which nobody asked: %s", response.id, response.error)
        elif isinstance(response.result, UnsetType):
            error = response.error
            assert not isinstance(error, UnsetType)
            call.settle(None, jsonrpc.error_from(error))
        else:
            call.settle(response.result, None)

    async def _serve(self, request: Request) -> None:
        try:
            result = await self._handle(request)
        except RpcError as e:
            self.push(jsonrpc.encode_error(request.id, e.code, e.message, e.data))
        except Exception:
            # The border of foreign code: its failure is the host's answer, not the end of the connection.
            log.exception("the handler of %s failed", request.method)
            self.push(jsonrpc.encode_error(request.id, jsonrpc.InternalError.default_code, f"{request.method} failed"))
        else:
            self.push(jsonrpc.encode_result(request.id, result))

    async def _handle(self, request: Request) -> object:
        handler = self._handlers.get(request.method)
        if handler is None:
            raise jsonrpc.MethodNotFound(f"Method not found: {request.method}")
        method = METHODS.get(request.method)
        if method is None or method.direction is Direction.TO_HOST:
            return await handler(request.params)
        params: Struct = jsonrpc.decode_params(request.params, method.params)
        return await handler(params)
