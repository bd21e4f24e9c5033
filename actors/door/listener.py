"""One listener for WebSocket and HTTP: the first request head of a connection decides which it is.

`serve` owns every connection from its first byte to its last. A peer has a few seconds to send its head, and the policy
sees it before anything else does; an upgrade goes to trio-websocket, everything else to Hypercorn. What goes wrong in
one connection stays in it.
"""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import msgspec
import trio

from actors import log
from actors.door.backend import Backend, open_backend
from actors.door.connection import Connection, Peer
from actors.door.gentle import close_gently
from actors.door.http import AsgiApp, Guarded
from actors.door.policy import Arrival, Policy, Refusal
from actors.door.requests import BadHead, Head, plain_answer, read_head
from actors.door.sockets import Bound, Endpoint, Listening, open_listeners
from actors.door.websocket import ConnectionLimits, serve_websocket

__all__ = ["DoorLimits", "serve"]

_log = log.get("door")

Handler = Callable[[Connection], Awaitable[None]]


class DoorLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What the door takes on. Times in seconds."""

    connections: int = 1000
    head_within: float = 10.0
    """How long a peer may take for TLS and its first request head."""
    answer_within: float = 5.0
    connection: ConnectionLimits = ConnectionLimits()


DEFAULT_LIMITS = DoorLimits()


async def serve(
    endpoints: Sequence[Endpoint],
    handle_connection: Handler,
    asgi_app: AsgiApp,
    policy: Policy,
    *,
    runtime: Path,
    limits: DoorLimits = DEFAULT_LIMITS,
    task_status: trio.TaskStatus[list[Bound]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Let people in until cancelled; started with the places that are listened at.

    `handle_connection` gets each WebSocket connection and is done with it when it returns; what it raises is logged and
    closes the connection with 1011. `runtime` is a folder for a private socket. Raises `DoorError` when an endpoint
    cannot be opened.
    """
    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(open_listeners(tuple(endpoints)))
        backends: dict[Arrival, Backend] = {}
        for kind in {_kind(listening).kept for listening in opened}:
            guarded = Guarded(asgi_app, policy, kind)
            backends[kind] = await stack.enter_async_context(open_backend(guarded, runtime))
        door = _Door(handle_connection, policy, backends, limits)
        nursery = await stack.enter_async_context(trio.open_nursery())
        for listening in opened:
            await nursery.start(trio.serve_listeners, partial(door.welcome, listening), [listening.listener])
        task_status.started([listening.bound for listening in opened])
        await trio.sleep_forever()


class _Door:
    """`welcome` is called with each new connection."""

    def __init__(self, handle: Handler, policy: Policy, backends: dict[Arrival, Backend], limits: DoorLimits) -> None:
        self._handle = handle
        self._policy = policy
        self._backends = backends
        self._limits = limits
        self._open = 0

    async def welcome(self, listening: Listening, stream: trio.SocketStream) -> None:
        full = self._open >= self._limits.connections
        self._open += not full
        try:
            if full:
                await self._turn_away_full(listening, stream)
            else:
                await self._serve(listening, stream)
        except* (trio.BrokenResourceError, trio.ClosedResourceError, ssl.SSLError):
            pass  # The peer is gone.
        except* Exception as group:
            _log.error("connection failed", where=listening.bound.websocket, exc=_only(group))
        finally:
            self._open -= not full
            await trio.aclose_forcefully(stream)

    async def _turn_away_full(self, listening: Listening, stream: trio.SocketStream) -> None:
        _log.warning("connection refused: there are too many", limit=self._limits.connections)
        if listening.tls is None:
            await self._refuse(stream, 503, "This host has as many connections as it takes; try again later.")

    async def _serve(self, listening: Listening, socket: trio.SocketStream) -> None:
        arrival = _arrival(listening, socket)
        if arrival is None:
            return
        tls = listening.tls
        stream = socket if tls is None else trio.SSLStream(socket, tls, server_side=True, https_compatible=True)
        head: Head | None = None
        try:
            with trio.move_on_after(self._limits.head_within) as reading:
                if isinstance(stream, trio.SSLStream):
                    await stream.do_handshake()
                head = await read_head(stream)
        except BadHead as error:
            await self._refuse(stream, error.status, str(error))
            return
        if reading.cancelled_caught:
            await self._refuse(stream, 408, f"The request took longer than {self._limits.head_within:g} seconds.")
        elif head is not None:
            await self._admit(listening, arrival, stream, head)

    async def _admit(self, listening: Listening, arrival: Arrival, stream: trio.abc.Stream, head: Head) -> None:
        request = head.request
        decision = self._policy.check(request, arrival)
        if isinstance(decision, Refusal):
            _log.info("request refused", address=arrival.address, status=decision.status, reason=decision.message)
            await self._refuse(stream, decision.status, decision.message, decision.headers)
        elif request.is_websocket:
            peer = Peer(
                transport="ws" if listening.bound.path is None else "unix",
                address=arrival.address,
                token=decision.token,
                principal=decision.principal,
            )
            limits = self._limits.connection
            await serve_websocket(stream, head.raw, head.surplus, peer, self._handle, limits)
        else:
            await self._backends[arrival.kept].splice(stream, head.raw + head.surplus)
            with trio.move_on_after(self._limits.answer_within):
                await close_gently(stream)

    async def _refuse(
        self, stream: trio.abc.Stream, status: int, message: str, headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        with trio.move_on_after(self._limits.answer_within):
            await stream.send_all(plain_answer(status, message, headers))
            await close_gently(stream)


def _kind(listening: Listening) -> Arrival:
    """An arrival at this place, by whomever."""
    path = listening.bound.path
    return Arrival(address=str(path or ""), tls=listening.tls is not None, trusted=path is not None)


def _arrival(listening: Listening, stream: trio.SocketStream) -> Arrival | None:
    """None for a peer that is gone already."""
    kind = _kind(listening)
    if kind.trusted:
        return kind
    try:
        address, local = stream.socket.getpeername()[0], stream.socket.getsockname()[0]
    except OSError:
        return None
    return msgspec.structs.replace(kind, address=address, local=local)


def _only(group: BaseExceptionGroup[Exception]) -> BaseException:
    """The exception itself, if `group` is nothing but the nurseries it came through."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
