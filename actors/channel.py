"""A channel: the state that one actor owns, and the one road on which it changes.

The owner stages actions while it handles messages; `flush` commits what must not be lost, then makes them public:
new state, serverSeq and frames in the outboxes, with no checkpoint in between (design, "Actors" 2). Until then
nobody has seen anything, so a store that cannot write costs a clear refusal and leaves nothing half done.

State is immutable; `state` is what is public, `next` is what the owner is building on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from actors import log
from actors.actor import Message, Order
from actors.hub import Hub, Subscriber
from actors.store import Store, StoreError, Write
from ahp import wire
from ahp.commands import ActionOrigin
from ahp.wire import Wire

S = TypeVar("S")
_log = log.get("channel")


class Dispatch(Message, frozen=True):
    """A client's action on its way to the owner of `channel`. `named` is the URI the client knows the channel by,
    `raw` the action as it was sent."""

    channel: str
    named: str
    action: Wire
    raw: bytes
    origin: ActionOrigin
    sender: Subscriber


class Subscribe(Order[bytes], frozen=True):
    """Answered with the snapshot (JSON) that `subscriber` sees everything after; `named` is the URI it asked by.

    quiet: it has the state already and gets a replay, so the answer is empty.
    """

    channel: str
    named: str
    subscriber: Subscriber
    view_turns: int | None = None
    quiet: bool = False


class WatchersChanged(Message, frozen=True):
    """A fact: somebody stopped watching `channel`."""

    channel: str


class KeepOwed(Message, frozen=True):
    """Try once more to keep what the store refused (`Channel.owes`)."""


class _Staged(msgspec.Struct):
    """One step: how it changes the state, the state it leads to, and what is published of it (None: nothing).

    refusal: why the client's action in `dispatch` is refused. falls: it is dropped where it cannot be kept.
    """

    change: Callable[[Any], Any]
    state: Any
    raw: bytes | None
    dispatch: Dispatch | None = None
    refusal: str | None = None
    falls: bool = False


class Channel(Generic[S]):
    """`reduce(state, action)` is the channel's reducer; `save(before, after)` makes the writes that bring what is kept
    from one state to the other. `state` is kept already when the channel is made.
    """

    def __init__(
        self,
        uri: str,
        state: S,
        *,
        hub: Hub,
        store: Store,
        reduce: Callable[[S, Wire], S],
        save: Callable[[S, S], Sequence[Write]],
    ) -> None:
        self.uri = uri
        self.state = state
        self.next = state
        self._hub = hub
        self._store = store
        self._reduce = reduce
        self._save = save
        self._staged: list[_Staged] = []
        self._kept = state
        self._keep = False
        self._owed = False
        self._writes: list[Write] = []
        self._writes_that_fall: list[Write] = []

    def apply(self, action: Wire, *, keep: bool, dispatch: Dispatch | None = None) -> None:
        """Stage `action`. `keep`: it is committed before it is published. `dispatch`: the client's, echoed as sent."""
        self._keep |= keep
        raw = wire.encode(action) if dispatch is None else dispatch.raw
        self._stage(lambda state: self._reduce(state, action), raw, dispatch)

    def apply_if_kept(self, action: Wire, *writes: Write) -> None:
        """Stage `action`, committed with `writes`: kept, or dropped as if it had never been.

        For what follows from the client's action before it, which is refused then, and for what `flush` answers to.
        """
        self._keep = True
        self._writes_that_fall.extend(writes)
        self._stage(lambda state: self._reduce(state, action), wire.encode(action))
        self._staged[-1].falls = True

    def amend(self, change: Callable[[S], S], *, keep: bool) -> None:
        """Change what no action carries (a chat's title, a session's status bits): for snapshots to come."""
        self._keep |= keep
        self._stage(change, None)

    def write(self, *writes: Write) -> None:
        """Commit `writes` together with what is staged."""
        self._writes.extend(writes)
        self._keep = True

    def announce(self, action: Wire) -> None:
        """Publish `action` without applying it: paging that other clients need and this state already has."""
        self._stage(_same, wire.encode(action))

    def reject(self, dispatch: Dispatch, reason: str) -> None:
        """Tell the dispatcher that its action was refused. What was staged before it goes out first."""
        self._stage(_same, dispatch.raw, dispatch)
        self._staged[-1].refusal = reason

    def _stage(self, change: Callable[[S], S], raw: bytes | None, dispatch: Dispatch | None = None) -> None:
        self.next = change(self.next)
        self._staged.append(_Staged(change, self.next, raw, dispatch))

    @property
    def has_staged(self) -> bool:
        return bool(self._staged) or self._keep

    @property
    def owes(self) -> bool:
        """Whether something public is not kept, since the store refused it; the next commit keeps it."""
        return self._owed

    async def flush(self) -> bool:
        """Commit and publish all that is staged. False when the store could not keep it.

        Then clients' actions are refused with the reason and undone, with what falls with them; the host's own stand
        (the model has said what it said), and what was to be kept of them goes with the next commit.
        """
        if not self.has_staged:
            return True
        kept = True
        if self._keep:
            writes = [*self._writes, *self._writes_that_fall, *self._save(self._kept, self.next)]
            try:
                await self._store.commit(writes)
            except StoreError as error:
                _log.error("not kept", channel=self.uri, error=str(error))
                self._refuse(str(error))
                kept = False
            else:
                self._writes.clear()
                self._kept = self.next
            self._writes_that_fall.clear()
            self._owed = not kept
            self._keep = False
        self._publish()
        return kept

    def save_soon(self) -> None:
        """Keep what is public with the store's next commit, its last at the latest; for an owner that ends."""
        self._store.save_soon(write for write in self._save(self._kept, self.state) if write.key is not None)

    def _refuse(self, reason: str) -> None:
        self.next = self.state
        self._staged = [staged for staged in self._staged if not staged.falls]
        for staged in self._staged:
            if staged.dispatch is not None:
                staged.refusal = staged.refusal or reason
            else:
                staged.state = self.next = staged.change(self.next)

    def _publish(self) -> None:
        if len(self._staged) > 1:
            with self._hub.together():
                self._publish_each()
        else:
            self._publish_each()
        self._staged.clear()
        self.state = self.next

    def _publish_each(self) -> None:
        for staged in self._staged:
            dispatch = staged.dispatch
            if dispatch is not None and staged.refusal is not None:
                self._hub.reject(dispatch.sender, dispatch.named, dispatch.raw, dispatch.origin, staged.refusal)
                continue
            self.state = staged.state
            if dispatch is not None:
                self._hub.publish(self.uri, dispatch.raw, dispatch.origin, (dispatch.sender, dispatch.named))
            elif staged.raw is not None:
                self._hub.publish(self.uri, staged.raw)

    def subscribe(self, message: Subscribe, state: object | None = None) -> bytes:
        """Subscribe and take the Snapshot (JSON) of the public state, or of `state` in its place, in one step."""
        self._hub.subscribe(message.named, message.subscriber)
        if message.quiet:
            return b""
        body = wire.encode(self.state if state is None else state)
        head = b'{"resource":' + wire.encode(message.named) + b',"state":' + body
        return head + b',"fromSeq":' + str(self._hub.server_seq).encode() + b"}"


def _same(state: S) -> S:
    return state
