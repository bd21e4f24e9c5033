"""The client: one identity at one host, over as many connections as it takes.

The public face: requests, watched channels, actions, notifications. Everything is for one trio task tree; nothing
here is thread-safe.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar, overload

import msgspec
import trio
from msgspec import Struct

from ahp import jsonrpc, wire
from ahp.client.channels import Channels, read_result
from ahp.client.dispatches import Dispatch
from ahp.client.errors import Disconnected
from ahp.client.feed import Feed, Reader
from ahp.client.link import Handler
from ahp.client.subscription import Subscription, Watch
from ahp.client.supervisor import DEFAULT_BACKOFF, Backoff, Identity, Patience, Status, Supervisor
from ahp.client.transport import Connector, connector_for
from ahp.commands import METHODS
from ahp.commands.connection import (
    ActionEnvelope,
    ClientCapabilities,
    Implementation,
    InitializeResult,
    PingParams,
    SubscribeParams,
    SubscribeView,
    SubscriptionDelivery,
    UnsubscribeParams,
)
from ahp.jsonrpc import RpcError
from ahp.uris import ROOT
from ahp.versions import SUPPORTED
from ahp.wire import UNSET

__all__ = ["Client", "HostNotification", "connect"]

log = logging.getLogger("ahp.client")

T = TypeVar("T")


class HostNotification(Struct, frozen=True):
    """A notification of the host other than `action`, its params typed (plain data for an unknown method)."""

    method: str
    params: Any


@asynccontextmanager
async def connect(
    url: str | Connector,
    *,
    client_id: str | None = None,
    token: str | None = None,
    versions: list[str] | None = None,
    client_info: Implementation | None = None,
    capabilities: ClientCapabilities | None = None,
    locale: str | None = None,
    handlers: Mapping[str, Handler] | None = None,
    reconnect: Backoff | None = DEFAULT_BACKOFF,
    keepalive: float | None = 30.0,
    timeout: float = 30.0,
) -> AsyncIterator[Client]:
    """Connect to a host and introduce the client; inside the block it stays connected.

    `url` is `ws://…`, `wss://…` or `unix:/path` (or a `Connector`); `token` the host's connection token; `versions` the
    protocol versions to offer, best first (default: all this library speaks). With the same `client_id` a later
    process continues where an earlier one was; by default every client is a new one. `handlers` serve the host's
    requests, by method. A lost connection is made anew after `reconnect`'s delays (None: never). Every `keepalive`
    seconds a ping shows a dead connection (None: never), `timeout` is how long a host may take to answer the handshake.

    Raises `ConnectFailed` when the first connection does not come about, `RpcError` (such as
    `UnsupportedProtocolVersion`) when the host refuses the introduction. An exception of the block comes out as it is,
    in no group. Reaching the end of the block sends what was dispatched, if that takes no longer than a second.
    """
    connector = connector_for(url, token) if isinstance(url, str) else url
    me = Identity(
        client_id=client_id or str(uuid.uuid4()),
        versions=versions or list(SUPPORTED),
        client_info=client_info,
        capabilities=capabilities,
        locale=locale,
    )
    # An earlier process under the same name may have used any number up to its own last.
    first_seq = 1 if client_id is None else int(time.time() * 1000)
    patience = Patience(reconnect=reconnect, keepalive=keepalive, handshake=timeout)
    client = Client(connector, me, patience, dict(handlers or {}), first_seq)
    async with _living(client):
        yield client


@asynccontextmanager
async def _living(client: Client) -> AsyncIterator[None]:
    """The client's tasks around a block. What the block raises comes out alone, not in the nursery's group."""
    error: BaseException | None = None
    group: BaseExceptionGroup[BaseException] | None = None
    try:
        async with trio.open_nursery() as nursery:
            try:
                await nursery.start(client._supervisor.run)
                yield
                await client._supervisor.leave()
            except BaseException as e:
                error = e
                raise
            finally:
                client._end()
                nursery.cancel_scope.cancel()
    except BaseExceptionGroup as e:
        group = e
    if group is not None:
        raise error if error is not None and group.exceptions == (error,) else group


class Client:
    """A client of one host; made by `connect`.

    Requests wait while the connection is being made anew. Watched channels and dispatched actions survive it; a
    request that was under way raises `Disconnected`, because nobody knows whether it was done.
    """

    def __init__(
        self, connector: Connector, me: Identity, patience: Patience, handlers: dict[str, Handler], first_seq: int
    ) -> None:
        self.client_id = me.client_id
        self._handlers = handlers
        self._channels = Channels(me.client_id, first_seq)
        self._notifications: Feed[HostNotification] = Feed()
        self._supervisor = Supervisor(connector, me, patience, self._channels, handlers, self._notified)

    @property
    def status(self) -> Status:
        """Where the connection stands."""
        return self._supervisor.status

    def statuses(self) -> Reader[Status]:
        """An async iterator over changes of `status` from now on; ends after CLOSED."""
        return self._supervisor.statuses.reader()

    async def wait_connected(self) -> None:
        """Wait until the client is connected. Raises `Disconnected` if it is closed."""
        await self._supervisor.connected()

    @property
    def failure(self) -> Exception | None:
        """Why the client gave up, when it did."""
        return self._supervisor.failure

    @property
    def server(self) -> InitializeResult:
        """The host's introduction, of the latest initialize."""
        assert self._supervisor.server is not None
        return self._supervisor.server

    @property
    def protocol_version(self) -> str:
        """The version that is spoken."""
        return self.server.protocol_version

    @property
    def initializations(self) -> int:
        """How often it introduced itself. When this grows, the host had forgotten it: what it had claimed is void."""
        return self._supervisor.initializations

    @property
    def last_seen_seq(self) -> int:
        """The newest serverSeq seen on any channel."""
        return self._channels.last_seq

    def notifications(self) -> Reader[HostNotification]:
        """An async iterator over the host's notifications from now on; ends when the client is closed.

        They are not repeated after a lost connection: when `statuses` shows one, ask again (`listSessions`).
        """
        return self._notifications.reader()

    def handle(self, method: str, handler: Handler) -> None:
        """Serve the host's requests of `method` (`resourceRead` of this client's own scheme, say)."""
        self._handlers[method] = handler

    @overload
    async def request(self, method: str, params: object = None) -> Any: ...
    @overload
    async def request(self, method: str, params: object, result: type[T]) -> T: ...
    async def request(self, method: str, params: object = None, result: Any = None) -> Any:
        """Ask the host, and answer its result: typed by `ahp.commands.METHODS`, or as `result` where given.

        `params` is the method's struct or plain data. Raises the host's `RpcError`; `Disconnected` when the connection
        was lost before the answer. Cancelled, it stops waiting; the host may still do it.
        """
        link = await self._supervisor.connected()
        raw = await link.call(method, {"channel": ROOT} if params is None else params).wait()
        known = METHODS.get(method)
        kind = result if result is not None else Any if known is None else known.result
        return None if kind is None else read_result(raw, kind, method)

    async def ping(self) -> float:
        """Seconds until the host answered. Errors as `request`."""
        start = trio.current_time()
        await self.request("ping", PingParams())
        return trio.current_time() - start

    @asynccontextmanager
    async def subscribe(
        self,
        channel: str,
        of: type[T] | None = None,
        *,
        view_turns: int | None = None,
        max_latency_ms: int | None = None,
    ) -> AsyncIterator[Subscription[T]]:
        """Watch a channel, with its state mirrored, while inside the block; across lost connections too.

        `of` is the state's type, for the type checker (`ChatState` …). `view_turns` asks for that many latest turns of
        a chat, `max_latency_ms` allows the host to hold updates back. Subscribing a channel twice shares one mirror,
        and the first one's wishes. Raises the host's `RpcError` (`SessionNotFound`, `NotFound`), `Disconnected`.
        """
        watch = self._channels.watch(
            SubscribeParams(
                channel=channel,
                view=UNSET if view_turns is None else SubscribeView(turns=view_turns),
                delivery=UNSET if max_latency_ms is None else SubscriptionDelivery(max_latency_ms=max_latency_ms),
            )
        )
        try:
            await self._open(watch)
            yield Subscription(watch)
        finally:
            if self._channels.unwatch(watch) and watch.asked:
                # Also where the answer to subscribe is still on its way: the host has it by then.
                self._supervisor.push("unsubscribe", UnsubscribeParams(channel=channel))

    async def _open(self, watch: Watch) -> None:
        async with watch.opening:
            while not watch.live:
                if watch.error is not None:
                    raise watch.error
                link = await self._supervisor.connected()
                call = link.call("subscribe", watch.params, partial(self._channels.opened, watch))
                watch.asked = True
                try:
                    await call.wait()
                except Disconnected:
                    continue
                except RpcError:
                    watch.asked = False
                    raise

    def dispatch(self, channel: str, action: Struct | Mapping[str, object]) -> int:
        """Dispatch an action and answer its clientSeq. Never blocks.

        A watched channel shows it at once; the host's answer confirms it or takes it back. While there is no connection
        it waits, and what a lost connection left unanswered is dispatched again. Raises ValueError for a type that
        only a host may dispatch, `msgspec.ValidationError` for a malformed action, `Disconnected` on a closed client.
        """
        return self._dispatch(channel, action, awaited=False).client_seq

    async def dispatch_and_wait(self, channel: str, action: Struct | Mapping[str, object]) -> ActionEnvelope:
        """Dispatch an action and wait for the host's answer, which is the envelope all subscribers get.

        Raises `ActionRejected` with the host's reason; `ActionLost` where the connection was lost and repeating it is
        not safe; `ChannelGone`; else as `dispatch`. Cancelled, it stops waiting; the action stays dispatched. A host
        answers nothing on a channel that does not exist: watch the channel first, or wait with a time limit.
        """
        dispatch = self._dispatch(channel, action, awaited=True)
        try:
            return await dispatch.wait()
        finally:
            dispatch.awaited = False

    def _dispatch(self, channel: str, action: Struct | Mapping[str, object], *, awaited: bool) -> Dispatch:
        if self.status is Status.CLOSED:
            raise Disconnected("the client is closed")
        dispatch = self._channels.dispatch(channel, action, awaited=awaited)
        self._supervisor.send(dispatch)
        return dispatch

    def _notified(self, note: jsonrpc.Notification) -> None:
        known = METHODS.get(note.method)
        try:
            params = wire.decode(note.params, Any if known is None else known.params)
        except (msgspec.DecodeError, RecursionError) as e:
            log.warning("a notification %s of the host cannot be read and was left out: %s", note.method, e)
            return
        if isinstance(params, ActionEnvelope):
            self._channels.take(params)
        else:
            self._notifications.publish(HostNotification(note.method, params))

    def _end(self) -> None:
        self._supervisor.end(None)
        self._notifications.end()
