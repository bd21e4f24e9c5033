"""A watched channel: its mirrored state, and the ways to follow it.

The client owns one `Watch` a channel and feeds it; any number of `Subscription` handles share it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import msgspec
import trio
from msgspec import Struct

from ahp.client.errors import ChannelGone
from ahp.client.feed import Feed, Reader
from ahp.commands.connection import ActionEnvelope, Snapshot, SubscribeParams
from ahp.mirror import Mirror, Pending
from ahp.wire import UnsetType, Wire

__all__ = ["Cause", "Change", "Subscription", "Watch"]

log = logging.getLogger("ahp.client")

S = TypeVar("S")
Cause: TypeAlias = Literal["action", "dispatched", "rejected", "snapshot"]


class Change(Struct, Generic[S], frozen=True):
    """One step of a channel.

    `cause` is `action` (the host's, own ones that it confirmed included), `dispatched` (an own one, ahead of the
    host), `rejected` (an own one that the host refused) or `snapshot` (the state was replaced after a gap).
    `state` is the channel's state after it, own pending actions included. `envelope` is absent for what did not
    come as one, `action` for a snapshot.
    """

    cause: Cause
    state: S
    action: Wire | None = None
    envelope: ActionEnvelope | None = None


class _Waiter:
    def __init__(self, predicate: Callable[[Any], bool]) -> None:
        self._predicate = predicate
        self.done = trio.Event()
        self.state: Any = None
        self.error: Exception | None = None

    def look(self, state: Any) -> bool:
        """Whether the wait is over. What the predicate raises is raised where it is awaited."""
        try:
            if not self._predicate(state):
                return False
            self.state = state
        except Exception as e:
            self.error = e
        self.done.set()
        return True

    def fail(self, error: Exception) -> None:
        self.error = error
        self.done.set()


class Watch:
    """One channel of one client. Everything but `look_for` is synchronous and called by the client."""

    def __init__(self, params: SubscribeParams) -> None:
        self.params = params
        self.channel = params.channel
        self.resource = params.channel
        self.users = 0
        self.asked = False
        self.live = False
        self.mirror: Mirror | None = None
        self.feed: Feed[Change[Any]] = Feed()
        self.opening = trio.Lock()
        self.error: Exception | None = None
        self._waiters: list[_Waiter] = []

    def open(self, snapshot: Snapshot | None) -> list[Pending]:
        """Subscribed (again): the state as of now, None for a channel without state. Answers what it already holds."""
        self.live = True
        if snapshot is None:
            return []
        self.resource = snapshot.resource
        if self.mirror is None:
            self.mirror = Mirror(self.channel, snapshot)
            return []
        held = self.mirror.reset(snapshot)
        self._changed("snapshot", None, None)
        return held

    def dispatch(self, client_seq: int, action: Wire) -> None:
        """An own action, ahead of the host."""
        if self.mirror is not None:
            self.mirror.dispatch(client_seq, action)
            self._changed("dispatched", action, None)

    def receive(self, envelope: ActionEnvelope, own: int | None) -> None:
        """An envelope of this channel."""
        if self.mirror is None:
            return
        try:
            receipt = self.mirror.receive(envelope, own)
        except (msgspec.DecodeError, RecursionError) as e:
            log.warning("%s: an action of the host cannot be read and was left out: %s", self.channel, e)
            return
        if not isinstance(envelope.rejection_reason, UnsetType):
            self._changed("rejected", receipt.action, envelope)
        elif receipt.applied:
            self._changed("action", receipt.action, envelope)

    def drop(self, client_seq: int) -> None:
        """An own action that will get no answer."""
        if self.mirror is not None and self.mirror.drop(client_seq) is not None:
            self._changed("rejected", None, None)

    def end(self, waiting: Exception | None = None, reading: Exception | None = None) -> None:
        """Nothing more will come: waiters raise `waiting` (that the channel is gone), readers `reading` or just end."""
        self.live = False
        self.error = waiting or ChannelGone(self.channel)
        self.feed.end(reading)
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.fail(self.error)

    async def look_for(self, predicate: Callable[[Any], bool]) -> Any:
        """The first state, from the present one on, that satisfies `predicate`."""
        waiter = _Waiter(predicate)
        if self.mirror is not None and waiter.look(self.mirror.state):
            await trio.lowlevel.checkpoint()
        elif self.error is not None:
            raise self.error
        else:
            self._waiters.append(waiter)
            try:
                await waiter.done.wait()
            finally:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)
        if waiter.error is not None:
            raise waiter.error
        return waiter.state

    def _changed(self, cause: Cause, action: Wire | None, envelope: ActionEnvelope | None) -> None:
        assert self.mirror is not None
        state = self.mirror.state
        if self.feed.readers:
            self.feed.publish(Change(cause, state, action, envelope))
        if self._waiters:
            self._waiters = [w for w in self._waiters if not w.look(state)]


class Subscription(Generic[S]):
    """A handle on a watched channel, valid inside `async with client.subscribe(…)`. It outlives reconnects."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    @property
    def channel(self) -> str:
        """The channel's URI, as it was subscribed."""
        return self._watch.channel

    @property
    def state(self) -> S:
        """The state as the person should see it: what the host confirmed, own pending actions on top.

        An immutable value. Raises `ChannelGone` for a channel that has no state.
        """
        return self._mirror().state  # type: ignore[no-any-return]

    @property
    def confirmed(self) -> S:
        """The state as the host has it, up to `seq`."""
        return self._mirror().confirmed  # type: ignore[no-any-return]

    @property
    def seq(self) -> int:
        """The serverSeq up to which `confirmed` is exact."""
        return self._mirror().seq

    @property
    def pending(self) -> list[Wire]:
        """Own actions that the host has not answered, oldest first."""
        return [p.action for p in self._mirror().pending]

    @property
    def gone(self) -> bool:
        """Whether the channel ended while it was watched."""
        return self._watch.error is not None

    def changes(self) -> Reader[Change[S]]:
        """An async iterator over every change from now on, across reconnects. Ends when the channel is gone.

        Collecting begins with this call, not with the first step: call it before what it should see.
        """
        return self._watch.feed.reader()

    def __aiter__(self) -> Reader[Change[S]]:
        return self.changes()

    async def wait_for(self, predicate: Callable[[S], bool]) -> S:
        """Wait until `predicate(state)` holds, and answer that state. The present state counts.

        Each state is looked at, also one that lasts only until the next frame. Raises what the predicate raises,
        `ChannelGone`, or `Disconnected` when the client is closed or gives up.
        """
        state: S = await self._watch.look_for(predicate)
        return state

    def _mirror(self) -> Mirror:
        if self._watch.mirror is None:
            raise ChannelGone(self._watch.channel)
        return self._watch.mirror
