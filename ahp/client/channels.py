"""What a client knows and has under way: its watched channels, its unanswered actions, the newest serverSeq.

All of it is synchronous: the host's frames are taken in between two frames, with no checkpoint. Owned by the client;
the supervisor asks it what to say on a new connection.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, TypeVar, overload

import msgspec
from msgspec import Raw, Struct

from ahp import wire
from ahp.actions import CLIENT_DISPATCHABLE
from ahp.client.dispatches import Dispatch, Dispatches
from ahp.client.errors import ActionLost, ChannelGone, ClientError
from ahp.client.subscription import Watch
from ahp.commands.connection import (
    ActionEnvelope,
    ActionOrigin,
    ReconnectReplay,
    ReconnectResult,
    Snapshot,
    SubscribeParams,
    SubscribeResult,
)
from ahp.mirror import model_for

__all__ = ["Channels", "read_result"]

log = logging.getLogger("ahp.client")

T = TypeVar("T")

_NONE: list[Watch] = []


class Channels:
    """The watches and dispatches of one client.

    A watch answers to the URI it was subscribed by and to the one the host uses for it (a session has two).
    """

    def __init__(self, client_id: str, first_seq: int) -> None:
        self.last_seq = 0
        self._client_id = client_id
        self._watches: dict[str, Watch] = {}
        self._names: dict[str, list[Watch]] = {}
        self._dispatches = Dispatches(first_seq)

    # Watches.

    def find(self, channel: str) -> list[Watch]:
        """The watches of a channel, under either of its names."""
        return self._names.get(channel, _NONE)

    def live(self) -> list[Watch]:
        """The watches that the host has answered."""
        return [w for w in self._watches.values() if w.live]

    def watch(self, params: SubscribeParams) -> Watch:
        """The watch of a channel, a new one with these params where there is none. Counts one more user."""
        watch = self._watches.get(params.channel)
        if watch is None:
            watch = self._watches[params.channel] = Watch(params)
            self._names[params.channel] = [*self.find(params.channel), watch]
        watch.users += 1
        return watch

    def unwatch(self, watch: Watch) -> bool:
        """One user less. Whether it was the last: then the channel is to be unsubscribed."""
        watch.users -= 1
        if watch.users or self._watches.get(watch.channel) is not watch:
            return False
        self._forget(watch)
        watch.end()
        return True

    def opened(self, watch: Watch, raw: Raw) -> None:
        """Take in the answer to `subscribe`, unless the watch was left meanwhile."""
        result = read_result(raw, SubscribeResult, "subscribe")
        if self._watches.get(watch.channel) is watch:
            self._snapshot(watch, None if isinstance(result.snapshot, wire.UnsetType) else result.snapshot)

    def gone(self, watch: Watch) -> None:
        """The host has no such channel any more, or shows it no more."""
        self._forget(watch)
        for dispatch in self._dispatches.pop_channel(watch.channel):
            dispatch.fail(ChannelGone(watch.channel))
        watch.end()

    def _forget(self, watch: Watch) -> None:
        self._watches.pop(watch.channel, None)
        for name in (watch.channel, watch.resource):
            others = [w for w in self.find(name) if w is not watch]
            if others:
                self._names[name] = others
            else:
                self._names.pop(name, None)

    def _snapshot(self, watch: Watch, snapshot: Snapshot | None) -> None:
        try:
            held = watch.open(snapshot)
        except (msgspec.DecodeError, RecursionError) as e:
            raise ClientError(f"the state of {watch.channel} cannot be read: {e}") from None
        if watch not in self.find(watch.resource):
            self._names[watch.resource] = [*self.find(watch.resource), watch]
        if snapshot is None:
            return
        self.last_seq = max(self.last_seq, snapshot.from_seq)
        for pending in held:
            dispatch = self._dispatches.pop(pending.client_seq)
            if dispatch is not None:
                origin = ActionOrigin(client_id=self._client_id, client_seq=dispatch.client_seq)
                seq = snapshot.from_seq
                dispatch.settle(
                    ActionEnvelope(channel=watch.channel, action=dispatch.action, server_seq=seq, origin=origin)
                )

    # Actions.

    def dispatch(self, channel: str, action: Struct | Mapping[str, object], *, awaited: bool) -> Dispatch:
        """Number an own action and show it at once. Raises ValueError for a type that only a host may dispatch."""
        raw = Raw(wire.encode(action))
        watches = self.find(channel)
        typed = model_for(channel).decode(raw)
        kind = _type_of(typed)
        if not isinstance(typed, wire.Unknown) and kind not in CLIENT_DISPATCHABLE:
            raise ValueError(f"{kind} is for the host to dispatch, not for a client")
        dispatch = self._dispatches.add(channel, raw, kind, awaited=awaited)
        for watch in watches:
            watch.dispatch(dispatch.client_seq, typed)
        return dispatch

    def sent(self, dispatch: Dispatch) -> None:
        """The action is on its way. It is kept only where its answer will be seen or is awaited."""
        dispatch.sent = True
        if not dispatch.awaited and not self.find(dispatch.channel):
            self._dispatches.pop(dispatch.client_seq)

    def unanswered(self) -> list[Dispatch]:
        """What to send (again) on a new connection, in order."""
        return self._dispatches.all()

    def take(self, envelope: ActionEnvelope) -> None:
        """An action of the host's order, or a refusal."""
        origin = envelope.origin
        own: int | None = None
        if not isinstance(origin, wire.UnsetType) and origin.client_id == self._client_id:
            own = origin.client_seq
        if isinstance(envelope.rejection_reason, wire.UnsetType):
            self.last_seq = max(self.last_seq, envelope.server_seq)
        for watch in self.find(envelope.channel):
            watch.receive(envelope, own)
        dispatch = None if own is None else self._dispatches.pop(own)
        if dispatch is not None:
            dispatch.settle(envelope)

    # A lost connection.

    def resume(self, raw: Raw) -> None:
        """Take in what was missed: the answer to `reconnect`."""
        result = read_result(raw, ReconnectResult, "reconnect")
        if isinstance(result, ReconnectReplay):
            for envelope in result.actions:
                self.take(envelope)
            missing = set(result.missing)
            for watch in self.live():
                if watch.channel in missing or watch.resource in missing:
                    self.gone(watch)
            return
        snapshots = {s.resource: s for s in result.snapshots}
        for watch in self.live():
            snapshot = snapshots.get(watch.channel) or snapshots.get(watch.resource)
            if snapshot is not None:
                try:
                    self._snapshot(watch, snapshot)
                except ClientError as e:
                    log.warning("%s", e)
                    self.gone(watch)
            elif watch.mirror is not None:
                self.gone(watch)
        self.drop_unsafe()

    def drop_unsafe(self) -> None:
        """After a gap: give up what may have been done and must not be done twice."""
        self._lose(self._dispatches.pop_unsafe(), "the connection was lost before the host answered")

    def drop_all(self, why: str) -> None:
        """Give up every action under way."""
        self._lose(self._dispatches.pop_all(), why)

    def _lose(self, dispatches: list[Dispatch], why: str) -> None:
        for dispatch in dispatches:
            for watch in self.find(dispatch.channel):
                watch.drop(dispatch.client_seq)
            dispatch.fail(ActionLost(why))

    def end(self, waiting: Exception, reading: Exception | None) -> None:
        """The client is closed: what waits raises `waiting`, what reads raises `reading` or just ends."""
        for watch in list(self._watches.values()):
            watch.end(waiting, reading)
        for dispatch in self._dispatches.pop_all():
            dispatch.fail(waiting)


def _type_of(action: Struct) -> str:
    tag = action.__struct_config__.tag
    return tag if isinstance(tag, str) else str(getattr(action, "type", ""))


@overload
def read_result(raw: Raw, kind: type[T], method: str) -> T: ...
@overload
def read_result(raw: Raw, kind: object, method: str) -> Any: ...
def read_result(raw: Raw, kind: Any, method: str) -> Any:
    """A host's answer, typed. Raises `ClientError` for one that is not of the shape."""
    try:
        return wire.decode(raw, kind)
    except (msgspec.DecodeError, RecursionError) as e:
        raise ClientError(f"the host's answer to {method} cannot be read: {e}") from None
