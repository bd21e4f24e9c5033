"""The own actions a client has under way: numbered, sent, answered, and sent again after a lost connection.

Sans-I/O but for the event a waiter waits on. Owned by the client.
"""

from __future__ import annotations

from collections.abc import Callable

import trio
from msgspec import Raw

from ahp.client.errors import ActionRejected
from ahp.commands.connection import ActionEnvelope
from ahp.wire import UnsetType

__all__ = ["Dispatch", "Dispatches"]

# Typing the same keys twice is worse than asking the person again.
_NOT_TWICE = frozenset({"terminal/input"})


class Dispatch:
    """One own action. `awaited` says that somebody waits for its answer."""

    def __init__(self, client_seq: int, channel: str, action: Raw, kind: str, *, awaited: bool) -> None:
        self.client_seq = client_seq
        self.channel = channel
        self.action = action
        self.awaited = awaited
        self.sent = False
        self.repeatable = kind not in _NOT_TWICE
        self._envelope: ActionEnvelope | None = None
        self._error: Exception | None = None
        self._done = trio.Event()

    def settle(self, envelope: ActionEnvelope) -> None:
        """The host answered."""
        reason = envelope.rejection_reason
        if not isinstance(reason, UnsetType):
            self._error = ActionRejected(reason, envelope)
        self._envelope = envelope
        self._done.set()

    def fail(self, error: Exception) -> None:
        """No answer will come."""
        self._error = error
        self._done.set()

    async def wait(self) -> ActionEnvelope:
        """The host's envelope. Raises `ActionRejected`, or what `fail` was given."""
        await self._done.wait()
        if self._error is not None:
            raise self._error
        assert self._envelope is not None
        return self._envelope


class Dispatches:
    """All actions under way, by clientSeq, oldest first."""

    def __init__(self, first_seq: int) -> None:
        self._next = first_seq
        self._open: dict[int, Dispatch] = {}

    def add(self, channel: str, action: Raw, kind: str, *, awaited: bool) -> Dispatch:
        """Number a new action and keep it."""
        dispatch = Dispatch(self._next, channel, action, kind, awaited=awaited)
        self._next += 1
        self._open[dispatch.client_seq] = dispatch
        return dispatch

    def pop(self, client_seq: int) -> Dispatch | None:
        """Take out what was answered, or must not be kept."""
        return self._open.pop(client_seq, None)

    def pop_channel(self, channel: str) -> list[Dispatch]:
        """Take out everything of a channel."""
        return self._take(lambda d: d.channel == channel)

    def pop_all(self) -> list[Dispatch]:
        """Take out everything."""
        return self._take(lambda d: True)

    def pop_unsafe(self) -> list[Dispatch]:
        """After a gap: take out what was sent, may have been done, and must not be done twice."""
        return self._take(lambda d: d.sent and not d.repeatable)

    def all(self) -> list[Dispatch]:
        """Everything under way, in order."""
        return list(self._open.values())

    def _take(self, which: Callable[[Dispatch], bool]) -> list[Dispatch]:
        taken = [d for d in self._open.values() if which(d)]
        for dispatch in taken:
            del self._open[dispatch.client_seq]
        return taken
