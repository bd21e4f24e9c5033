"""One connection's end of the protocol: frames in, requests answered, actions routed, frames out by the outbox.

Messages are taken in the order they came, so what a client pipelines happens in that order; only requests that touch
no channel (files, completions) run beside the others. While a handshake or a subscribe is answered, what is published
meanwhile is held and follows the answer: a client never gets an action before the snapshot it builds on.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import trio

from actors import log
from actors.actor import ActorGone
from actors.channel import Dispatch
from actors.client import BecameActive, Client, ConnectionClosed, Unwatched
from actors.door import Connection, Frame
from ahp import actions, jsonrpc, uris
from ahp.commands import ActionOrigin, ClientCapabilities, DispatchActionParams, UnsubscribeParams
from ahp.jsonrpc import Id, InternalError, MethodNotFound, Notification, ProtocolError, Request, Response, RpcError
from ahp.wire import Raw

if TYPE_CHECKING:
    from actors.host import Host

_log = log.get("connection")

CONCURRENT_REQUESTS = 32
"""Requests of one connection that run beside each other; further ones wait, and with them the connection."""


class ClientConnection:
    """Implements `Subscriber`. `client` is set by the handshake."""

    def __init__(self, host: Host, connection: Connection) -> None:
        self.host = host
        self.client: Client | None = None
        self.version = ""
        self.capabilities = ClientCapabilities()
        self.subscriptions: set[str] = set()
        self.greeted = False
        """Whether the handshake is over."""
        self._connection = connection
        self._held: list[tuple[str, Frame]] | None = None
        self._limit = trio.Semaphore(CONCURRENT_REQUESTS)
        self._next_id = 0
        self._waiting: dict[int, trio.MemorySendChannel[Response]] = {}
        self._nursery: trio.Nursery

    @property
    def client_id(self) -> str:
        return "" if self.client is None else self.client.client_id

    async def run(self) -> None:
        """Serve the connection until it closes."""
        try:
            async with trio.open_nursery() as self._nursery:
                async for message in self._connection:
                    await self._take(message)
                self._nursery.cancel_scope.cancel()
        finally:
            self._leave()

    # Subscriber.

    def deliver(self, channel: str, frame: Frame) -> None:
        if self._held is None:
            self._connection.outbox.push(frame)
        else:
            self._held.append((channel, frame))

    def refreshed(self, channel: str) -> None:
        """What came before the snapshot goes out before it: the client's own actions may be coming back there. In a
        handshake there are none, and nothing may come before the answer.
        """
        if self._held is None:
            return
        before = [frame for held, frame in self._held if held == channel]
        self._held = [(held, frame) for held, frame in self._held if held != channel]
        if self.greeted:
            for frame in before:
                self._connection.outbox.push(frame)

    def hold(self) -> None:
        """From now on keep what is delivered; `release` sends it on."""
        self._held = []

    def release(self) -> None:
        held, self._held = self._held or [], None
        for _, frame in held:
            self._connection.outbox.push(frame)

    def send(self, payload: bytes) -> None:
        """Send a frame now, before anything held."""
        self._connection.outbox.push(Frame(payload))

    async def close(self, code: int, reason: str) -> None:
        await self._connection.aclose(code, reason)

    # Requests of ours.

    async def request(self, method: str, params: object, timeout: float = math.inf) -> Raw:
        """Ask the client. Raises the `RpcError` it answers, `NotFound` when it is gone or does not answer in time."""
        self._next_id += 1
        request_id = self._next_id
        send, receive = trio.open_memory_channel[Response](1)
        self._waiting[request_id] = send
        try:
            self.send(jsonrpc.encode_request(request_id, method, params))
            with trio.move_on_after(timeout):
                response = await receive.receive()
                if isinstance(response.error, jsonrpc.ErrorObject):
                    raise jsonrpc.error_from(response.error)
                return response.result if isinstance(response.result, Raw) else Raw(b"null")
            raise jsonrpc.NotFound(f"the client did not answer {method} in {timeout:g} seconds")
        except (trio.EndOfChannel, trio.ClosedResourceError):
            raise jsonrpc.NotFound(f"the client closed its connection before it answered {method}") from None
        finally:
            del self._waiting[request_id]

    # What comes in.

    async def _take(self, message: str | bytes) -> None:
        if isinstance(message, bytes):
            self.send(jsonrpc.encode_error(None, jsonrpc.ParseError.default_code, "Parse error: send text frames"))
            return
        try:
            parsed = jsonrpc.parse(message)
        except ProtocolError as error:
            self.send(error.answer)
            return
        if isinstance(parsed, Request):
            await self._take_request(parsed)
        elif isinstance(parsed, Notification):
            await self._take_notification(parsed)
        else:
            waiting = self._waiting.get(parsed.id) if isinstance(parsed.id, int) else None
            if waiting is not None:
                waiting.send_nowait(parsed)

    async def _take_request(self, request: Request) -> None:
        if request.method == "ping":
            self.send(jsonrpc.encode_result(request.id, None))
            return
        handler = self.host.requests.get(request.method)
        handshake = request.method in ("initialize", "reconnect")
        if handler is None or (handshake and self.client is not None):
            self._refuse(request.id, MethodNotFound(f"Method not found: {request.method}"))
        elif self.client is None and not handshake:
            self._refuse(request.id, jsonrpc.InvalidRequest(f"{request.method} before initialize: initialize first"))
        elif handler.beside:
            await self._limit.acquire()
            self._nursery.start_soon(self._answer_beside, request)
        else:
            await self._answer(request)

    async def _answer_beside(self, request: Request) -> None:
        try:
            await self._answer(request)
        finally:
            self._limit.release()

    async def _answer(self, request: Request) -> None:
        handler = self.host.requests[request.method]
        if handler.holds:
            self.hold()
        try:
            params = jsonrpc.decode_params(request.params, handler.params)
            result = await handler.run(self, params)
            self.send(jsonrpc.encode_result(request.id, result))
        except RpcError as error:
            self._refuse(request.id, error)
        except ActorGone:
            self._refuse(request.id, InternalError(f"{request.method}: what it is about has just gone; try again"))
        except Exception as error:
            _log.error("request failed", method=request.method, client=self.client_id, exc=error)
            self._refuse(request.id, InternalError(f"{request.method} failed in the host; its log has the reason"))
        finally:
            if handler.holds:
                self.release()

    def _refuse(self, request_id: Id, error: RpcError) -> None:
        self.send(jsonrpc.encode_error(request_id, error.code, error.message, error.data))

    async def _take_notification(self, notification: Notification) -> None:
        if self.client is None:
            return
        try:
            if notification.method == "dispatchAction":
                await self._dispatch(jsonrpc.decode_params(notification.params, DispatchActionParams))
            elif notification.method == "unsubscribe":
                await self._unsubscribe(jsonrpc.decode_params(notification.params, UnsubscribeParams).channel)
        except RpcError as error:
            _log.info("notification ignored", method=notification.method, client=self.client_id, error=error.message)

    async def _dispatch(self, params: DispatchActionParams) -> None:
        origin = ActionOrigin(client_id=self.client_id, client_seq=params.client_seq)
        named = params.channel
        try:
            kind = uris.parse(named).kind
            action = actions.decode(kind, params.action)
        except (uris.BadUri, msgspec.DecodeError) as error:
            self.host.env.hub.reject(self, named, bytes(params.action), origin, f"not dispatched: {error}")
            return
        tag = actions.type_of(action)
        if tag not in actions.CLIENT_DISPATCHABLE:
            known = tag in actions.INTRODUCED_IN
            reason = f"{tag} is the host's to dispatch" if known else f"{tag} is not an action of this protocol"
            self.host.env.hub.reject(self, named, bytes(params.action), origin, reason)
            return
        raw = bytes(params.action)
        if b"\n" in raw:
            raw = msgspec.json.format(raw, indent=-1)  # A frame is a line on some transports.
        routed = await self.host.route(named, lambda channel: Dispatch(channel, named, action, raw, origin, self))
        # An action on a channel that is not there gets no echo (digest 3, Host validation of client actions).
        if routed and tag == "session/activeClientSet" and self.client is not None:
            await self.client.tell(BecameActive(self.host.env.hub.canonical(named)))

    async def _unsubscribe(self, named: str) -> None:
        if named in self.subscriptions:
            self.subscriptions.discard(named)
            self.host.env.hub.unsubscribe(named, self)
            if self.client is not None:
                await self.client.tell(Unwatched(self.host.env.hub.canonical(named)))
            self.host.watchers_changed(self.host.env.hub.canonical(named))

    def _leave(self) -> None:
        """The connection is gone: forget it without waiting."""
        hub = self.host.env.hub
        for channel in self.subscriptions:
            hub.unsubscribe(channel, self)
        for waiting in tuple(self._waiting.values()):
            waiting.close()
        if self.client is not None:
            watched = frozenset(hub.canonical(channel) for channel in self.subscriptions)
            # An order, not a fact: it must not overtake what this connection told before.
            self.host.tell_later(self.client, ConnectionClosed(watched))
            for channel in watched:
                self.host.watchers_changed(channel)
        self.host.left(self)
