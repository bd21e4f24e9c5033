"""The connection of a client: made, introduced, kept alive, and made again when it is lost.

One task runs it for the life of the client. It says where the connection stands; everybody else waits on that.
"""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial

import trio
from msgspec import Raw, Struct

from ahp import jsonrpc
from ahp.client.channels import Channels, read_result
from ahp.client.dispatches import Dispatch
from ahp.client.errors import ClientError, ConnectFailed, Disconnected, TransportClosed
from ahp.client.feed import Feed
from ahp.client.link import Handler, Link
from ahp.client.transport import Connector, Transport
from ahp.commands.connection import (
    ClientCapabilities,
    DispatchActionParams,
    Implementation,
    InitializeParams,
    InitializeResult,
    PingParams,
    ReconnectParams,
)
from ahp.jsonrpc import RpcError
from ahp.wire import UNSET

__all__ = ["DEFAULT_BACKOFF", "Backoff", "Identity", "Patience", "Status", "Supervisor"]

log = logging.getLogger("ahp.client")

# Closed for a reason that a new connection would meet again: protocol error, bad data, policy.
_FATAL_CLOSE = frozenset({1002, 1003, 1007, 1008})
_FATAL_STATUS = frozenset({400, 401, 403, 404})
_FATAL_ERRORS = (jsonrpc.UnsupportedProtocolVersion, jsonrpc.AuthRequired, jsonrpc.PermissionDenied)
_TOO_BIG = 1009
_STEADY = 5.0
"""Seconds after which a connection counts as good, and the next loss is the first one again."""


class Status(Enum):
    """Where a client stands. CLOSED is final: it was left, or gave up (see `Client.failure`)."""

    CONNECTING = "connecting"
    CONNECTED = "connected"
    RECONNECTING = "reconnecting"
    CLOSED = "closed"


class Backoff(Struct, frozen=True, kw_only=True):
    """How long to wait before the n-th attempt: exponential up to `longest` seconds, shortened at random by up to
    `jitter` (a share) so that many clients do not come back in step. Gives up after `attempts` in a row, never if None.
    """

    first: float = 0.25
    factor: float = 2.0
    longest: float = 30.0
    jitter: float = 0.5
    attempts: int | None = None

    def delay(self, attempt: int) -> float:
        """Seconds before attempt 1, 2, …"""
        full = min(self.longest, self.first * self.factor ** min(attempt - 1, 64))
        return full * (1 - self.jitter * random.random())


DEFAULT_BACKOFF = Backoff()


class Patience(Struct, frozen=True, kw_only=True):
    """Times, in seconds: `reconnect` between attempts (None: no second one), `keepalive` between pings (None: none),
    `handshake` for the host to answer one.
    """

    reconnect: Backoff | None
    keepalive: float | None
    handshake: float


class Identity(Struct, frozen=True, kw_only=True):
    """What a client says about itself when it introduces itself."""

    client_id: str
    versions: list[str]
    client_info: Implementation | None = None
    capabilities: ClientCapabilities | None = None
    locale: str | None = None


class Supervisor:
    """Keeps one client connected. `run` is its life; `end` closes it for good."""

    def __init__(
        self,
        connector: Connector,
        me: Identity,
        patience: Patience,
        channels: Channels,
        handlers: Mapping[str, Handler],
        on_notification: Callable[[jsonrpc.Notification], None],
    ) -> None:
        self.status = Status.CONNECTING
        self.statuses: Feed[Status] = Feed()
        self.failure: Exception | None = None
        self.server: InitializeResult | None = None
        self.initializations = 0
        self._connector = connector
        self._me = me
        self._patience = patience
        self._channels = channels
        self._handlers = handlers
        self._on_notification = on_notification
        self._link: Link | None = None
        self._since = math.inf
        self._moved = trio.Event()

    async def connected(self) -> Link:
        """The link, as soon as there is one. Raises `Disconnected` once closed."""
        while True:
            if self.status is Status.CLOSED:
                raise Disconnected("the client is closed") from self.failure
            if self._link is not None and self._link.closed is None:
                await trio.lowlevel.checkpoint()
                return self._link
            await self._moved.wait()

    def send(self, dispatch: Dispatch) -> None:
        """Send an action, if there is a connection; else it is sent with the unanswered ones on the next."""
        if self._link is not None and self._link.closed is None:
            params = DispatchActionParams(
                channel=dispatch.channel, client_seq=dispatch.client_seq, action=dispatch.action
            )
            self.push("dispatchAction", params)
            self._channels.sent(dispatch)

    def push(self, method: str, params: object) -> None:
        """Send a notification, if there is a connection."""
        if self._link is not None:
            self._link.push(jsonrpc.encode_notification(method, params))

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Stay connected until cancelled, ended or out of hope. Started once introduced; raises only before that."""
        attempt = 0
        while True:
            self._since = math.inf
            try:
                async with self._connector() as transport:
                    why = await self._use(transport, task_status)
            except ConnectFailed as e:
                why = e
            if self.status is Status.CLOSED:
                return
            if self.server is None:
                known = isinstance(why, ConnectFailed | RpcError)
                raise why if known else ConnectFailed(f"the host did not take the connection: {why}")
            attempt = 1 if trio.current_time() - self._since > _STEADY else attempt + 1
            backoff = self._patience.reconnect
            if backoff is None or _hopeless(why) or (backoff.attempts is not None and attempt > backoff.attempts):
                self.end(why)
                return
            if isinstance(why, TransportClosed) and why.code == _TOO_BIG:
                # Sent again, it would end the next connection too.
                self._channels.drop_all(f"the host takes no frame as large: {why}")
            log.info("the connection was lost (%s), attempt %d to come back", why, attempt)
            self._set(Status.RECONNECTING)
            await trio.sleep(backoff.delay(attempt))

    async def _use(self, transport: Transport, task_status: trio.TaskStatus[None]) -> Exception:
        """One connection, from handshake to loss. Answers why it ended."""
        link = Link(transport, self._handlers, self._on_notification)
        why: Exception | None = None

        async def read(scope: trio.CancelScope) -> None:
            await link.run()
            scope.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read, nursery.cancel_scope)
            try:
                with trio.fail_after(self._patience.handshake):
                    await self._introduce(link)
            except (RpcError, ClientError) as e:
                why = e
            except trio.TooSlowError:
                why = ConnectFailed(f"the host did not answer the handshake in {self._patience.handshake} s")
            else:
                self._link = link
                self._since = trio.current_time()
                for dispatch in self._channels.unanswered():
                    self.send(dispatch)
                first = self.status is Status.CONNECTING
                self._set(Status.CONNECTED)
                if first:
                    task_status.started()
                await self._keep_alive(link)
                why = TransportClosed(None, "the host stopped answering")
            nursery.cancel_scope.cancel()
        self._link = None
        # A call that was cut off says less than the end of the connection does.
        return link.closed or Disconnected("cut off") if why is None or isinstance(why, Disconnected) else why

    async def _keep_alive(self, link: Link) -> None:
        """Returns when the host leaves a ping unanswered."""
        every = self._patience.keepalive
        while every is not None:
            await trio.sleep(every)
            call = link.call("ping", PingParams())
            with trio.move_on_after(every):
                await call.settled()
            if not call.is_settled:
                return
        await trio.sleep_forever()

    async def _introduce(self, link: Link) -> None:
        """Continue the earlier connection if there was one and the host remembers it, else start anew."""
        me = self._me
        if self.server is not None:
            again = ReconnectParams(
                client_id=me.client_id,
                last_seen_server_seq=self._channels.last_seq,
                subscriptions=[w.channel for w in self._channels.live()],
            )
            try:
                await link.call("reconnect", again, self._channels.resume).wait()
                return
            except jsonrpc.NotFound:
                log.info("the host does not know this client any more, which introduces itself anew")
        hello = InitializeParams(
            protocol_versions=me.versions,
            client_id=me.client_id,
            client_info=me.client_info or UNSET,
            capabilities=me.capabilities or UNSET,
            locale=me.locale or UNSET,
        )
        await link.call("initialize", hello, self._introduced).wait()
        calls = [
            (watch, link.call("subscribe", watch.params, partial(self._channels.opened, watch)))
            for watch in self._channels.live()
        ]
        for watch, call in calls:
            try:
                await call.wait()
            except RpcError:
                self._channels.gone(watch)
        self._channels.drop_unsafe()

    def _introduced(self, raw: Raw) -> None:
        self.server = read_result(raw, InitializeResult, "initialize")
        self._channels.last_seq = self.server.server_seq
        self.initializations += 1

    async def leave(self) -> None:
        """Send what is queued and say goodbye, briefly."""
        link = self._link
        if link is not None:
            with trio.move_on_after(1):
                await link.flush()
                self.end(None)
                await link.close()

    def end(self, why: Exception | None) -> None:
        """Closed for good: everything that waits fails, everything that reads ends. Idempotent."""
        if self.status is Status.CLOSED:
            return
        self.failure = why
        self._set(Status.CLOSED)
        if why is None:
            self._channels.end(waiting=Disconnected("the client is closed"), reading=None)
        else:
            lost = Disconnected(f"the client gave up: {why}")
            self._channels.end(waiting=lost, reading=lost)
        self.statuses.end()

    def _set(self, status: Status) -> None:
        if self.status is not status:
            self.status = status
            self.statuses.publish(status)
        moved, self._moved = self._moved, trio.Event()
        moved.set()


def _hopeless(why: Exception) -> bool:
    """Whether a new connection would end the same way."""
    if isinstance(why, ConnectFailed):
        return why.status in _FATAL_STATUS
    if isinstance(why, TransportClosed):
        return why.code in _FATAL_CLOSE
    return isinstance(why, _FATAL_ERRORS)
