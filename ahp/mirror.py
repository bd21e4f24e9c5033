"""A channel's state as a client sees it: what the host confirmed, and on top of it what the client has dispatched.

Sans-I/O. The rules are the protocol's: an own action is applied at once; when the host's copy comes (recognized by its
clientSeq) the pending one is dropped, the host's is applied in the host's order, and what is still pending is applied
again on top; a refusal only drops. Owned by `ahp.client`; anybody may use it who holds a snapshot.
"""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Raw, Struct

from ahp import actions, reducers, uris, wire
from ahp.actions.chat import ChatTurnStarted
from ahp.commands.connection import ActionEnvelope, Snapshot
from ahp.state.chat import ChatState

__all__ = ["Mirror", "Model", "Pending", "Receipt", "model_for"]


class Model(Protocol):
    """What a kind of channel is: how its state and actions are read, and what an action does to a state."""

    def load(self, state: Raw) -> Any:
        """A snapshot's state, typed."""

    def decode(self, action: Raw) -> wire.Wire:
        """An action, typed; of an unknown type, `wire.Unknown`."""

    def apply(self, state: Any, action: wire.Wire) -> Any:
        """The state after the action; the same object when nothing changed."""


class _Typed:
    def __init__(self, kind: uris.Kind) -> None:
        self._kind: uris.Kind = kind
        self._state = reducers.STATES[kind]
        self._apply = reducers.REDUCERS[kind]

    def load(self, state: Raw) -> Any:
        return wire.decode(state, self._state)

    def decode(self, action: Raw) -> wire.Wire:
        return actions.decode(self._kind, action)

    def apply(self, state: Any, action: wire.Wire) -> Any:
        return self._apply(state, action)


class _Untyped:
    """A channel of a kind this version does not know: its snapshot is plain data, and its actions change nothing."""

    def load(self, state: Raw) -> Any:
        return wire.decode(state, Any)

    def decode(self, action: Raw) -> wire.Wire:
        return wire.decode(action, _AnyAction)

    def apply(self, state: Any, action: wire.Wire) -> Any:
        return state


class _AnyAction(wire.Wire, frozen=True):
    type: str


def model_for(channel: str) -> Model:
    """The model of a channel's kind, by its URI."""
    try:
        return _Typed(uris.parse(channel).kind)
    except uris.BadUri:
        return _Untyped()


class Pending(Struct, frozen=True):
    """An own action that the host has not answered."""

    client_seq: int
    action: wire.Wire


class Receipt(Struct, frozen=True):
    """What an envelope did: its action, typed; whether the confirmed state took it; the own action it settles."""

    action: wire.Wire
    applied: bool
    settled: Pending | None


class Mirror:
    """The mirrored state of one channel.

    `confirmed` is the host's state at `seq`; `state` is `confirmed` with `pending` on top. Both are immutable values:
    a reference held elsewhere stays as it was.
    """

    def __init__(self, channel: str, snapshot: Snapshot, model: Model | None = None) -> None:
        self.channel = channel
        self.model = model or model_for(channel)
        self.pending: list[Pending] = []
        self.confirmed: Any = self.model.load(snapshot.state)
        self.state: Any = self.confirmed
        self.seq = snapshot.from_seq

    def dispatch(self, client_seq: int, action: wire.Wire) -> None:
        """Apply an own action ahead of the host's answer."""
        self.pending.append(Pending(client_seq, action))
        self.state = self.model.apply(self.state, action)

    def receive(self, envelope: ActionEnvelope, own: int | None) -> Receipt:
        """Take an envelope of this channel. `own` is its clientSeq where this client dispatched it.

        An envelope that the state already holds (a replay that overlaps) settles its pending action and is not applied
        again. Raises `msgspec.DecodeError` for an action that cannot be read; nothing has changed then.
        """
        action = self.model.decode(envelope.action)
        settled = self.forget(own)
        applied = isinstance(envelope.rejection_reason, wire.UnsetType) and envelope.server_seq > self.seq
        if applied:
            self.seq = envelope.server_seq
            self.confirmed = self.model.apply(self.confirmed, action)
        if applied or settled is not None:
            self._rebase()
        return Receipt(action, applied, settled)

    def reset(self, snapshot: Snapshot) -> list[Pending]:
        """Start again from a snapshot. Answers the pending actions that it already holds; the others stay on top.

        A turn that the host had begun before the gap must not be begun again on top of its own reply.
        """
        self.confirmed = self.model.load(snapshot.state)
        self.seq = snapshot.from_seq
        held = [p for p in self.pending if _holds(self.confirmed, p.action)]
        self.pending = [p for p in self.pending if p not in held]
        self._rebase()
        return held

    def forget(self, client_seq: int | None) -> Pending | None:
        """Drop a pending action and answer it. `state` is rebased by the caller's next step, or by `rebase`."""
        for i, pending in enumerate(self.pending):
            if pending.client_seq == client_seq:
                self.pending = self.pending[:i] + self.pending[i + 1 :]
                return pending
        return None

    def drop(self, client_seq: int) -> Pending | None:
        """Take back an own action that will get no answer."""
        pending = self.forget(client_seq)
        if pending is not None:
            self._rebase()
        return pending

    def _rebase(self) -> None:
        state = self.confirmed
        for pending in self.pending:
            state = self.model.apply(state, pending.action)
        self.state = state


def _holds(state: Any, action: wire.Wire) -> bool:
    if not isinstance(action, ChatTurnStarted) or not isinstance(state, ChatState):
        return False
    active = state.active_turn
    if not isinstance(active, wire.UnsetType) and active.id == action.turn_id:
        return True
    return any(turn.id == action.turn_id for turn in state.turns)
