"""Sequencing and fan-out: one serverSeq over the whole host, the replay window, and who is subscribed to what.

Invariant (design, "Actors" 2): `publish` takes the next serverSeq, encodes the envelope once and puts the same
frame into each subscriber's outbox without a checkpoint. Only the owner of a channel publishes on it. Nothing here
waits, so a slow connection cannot hold anybody up.

A channel may be known under other URIs too (a session under `<provider>:/<id>`): who subscribes under an alias gets
envelopes that name the alias, with the same serverSeq.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from actors.door.outbox import Frame, Frames
from ahp import wire
from ahp.commands import ActionOrigin

_HEAD = b'{"jsonrpc":"2.0","method":"action","params":{"channel":'
_TAIL = b"}"


class Subscriber(Protocol):
    """A connection as the hub sees it."""

    def deliver(self, channel: str, frame: Frame) -> None:
        """Take `frame` for sending. Must not wait and must not raise.

        channel: "" for what no snapshot makes up for: notifications, rejections.
        """

    def refreshed(self, channel: str) -> None:
        """A snapshot of `channel` is being taken: what was delivered of it before is in there."""


class Published:
    """One sequenced action as the replay window keeps it: `rest` is its envelope from behind the channel on."""

    __slots__ = ("channel", "rest", "seq")

    def __init__(self, seq: int, channel: str, rest: bytes) -> None:
        self.seq = seq
        self.channel = channel
        self.rest = rest

    def envelope(self, channel: str) -> bytes:
        return b'{"channel":' + wire.encode(channel) + self.rest


class Hub:
    """`server_seq` is the last number given out. `window` and `window_bytes` bound the replay window."""

    def __init__(self, server_seq: int = 0, *, window: int = 10_000, window_bytes: int = 16 << 20) -> None:
        self.server_seq = server_seq
        self.reserved = server_seq
        """Up to where numbers may be given out; the host raises it in time."""
        self.low_at = -1
        """The number at which `on_low` is called."""
        self.on_low: Callable[[], None] = lambda: None
        self._window = window
        self._window_bytes = window_bytes
        self._kept: deque[Published] = deque()
        self._kept_bytes = 0
        self._oldest_replayable = server_seq
        self._subscribers: dict[str, dict[Subscriber, None]] = {}
        self._aliases: dict[str, tuple[str, ...]] = {}
        self._alias_of: dict[str, str] = {}
        self._gathered: dict[str, list[Frame]] | None = None
        self._dropped: dict[str, int] = {}
        """Channels that are gone, and the number at which they went: one may be made again under the same URI."""

    def next_seq(self) -> int:
        self.server_seq += 1
        if self.server_seq == self.low_at:
            self.on_low()
        return self.server_seq

    def publish(
        self,
        channel: str,
        action: bytes,
        origin: ActionOrigin | None = None,
        dispatcher: tuple[Subscriber, str] | None = None,
    ) -> int:
        """Give `action` (JSON) the next serverSeq and send it to everybody subscribed to `channel`.

        dispatcher: who sent it and the URI it knows the channel by; it gets its action back though it does not watch.
        """
        seq = self.next_seq()
        rest = _rest(action, seq, origin)
        self._keep(Published(seq, channel, rest))
        self._fan_out(channel, rest)
        for alias in self._aliases.get(channel, ()):
            self._fan_out(alias, rest)
        if dispatcher is not None and not self.is_subscribed(dispatcher[1], dispatcher[0]):
            subscriber, named = dispatcher
            self._deliver_gathered()
            subscriber.deliver(named, Frame(_HEAD + wire.encode(named) + rest + _TAIL))
        return seq

    @contextmanager
    def together(self) -> Iterator[None]:
        """Put what is published in this block (which must not wait) into each outbox as one."""
        self._gathered = {}
        try:
            yield
        finally:
            self._deliver_gathered()
            self._gathered = None

    def reject(self, to: Subscriber, channel: str, action: bytes, origin: ActionOrigin, reason: str) -> None:
        """Send a refused action back to its dispatcher alone; no state changed and it is never replayed."""
        rest = _rest(action, self.next_seq(), origin, reason)
        self._deliver_gathered()
        to.deliver("", Frame(_HEAD + wire.encode(channel) + rest + _TAIL))

    def notify(self, channel: str, payload: bytes) -> None:
        """Send a ready notification to everybody subscribed to `channel`; ephemeral, never replayed."""
        subscribers = self._subscribers.get(channel)
        if subscribers:
            frame = Frame(payload)
            for subscriber in tuple(subscribers):
                subscriber.deliver("", frame)

    def subscribe(self, channel: str, subscriber: Subscriber) -> None:
        """From now on deliver what is published on `channel`. Call it in the step that takes the snapshot."""
        subscriber.refreshed(channel)
        self._subscribers.setdefault(channel, {})[subscriber] = None

    def unsubscribe(self, channel: str, subscriber: Subscriber) -> None:
        subscribers = self._subscribers.get(channel)
        if subscribers is not None:
            subscribers.pop(subscriber, None)
            if not subscribers:
                del self._subscribers[channel]

    def is_subscribed(self, channel: str, subscriber: Subscriber) -> bool:
        return subscriber in self._subscribers.get(channel, ())

    def subscribers(self, channel: str) -> Sequence[Subscriber]:
        """Who gets what is published on `channel`, under its own URI or an alias."""
        names = (channel, *self._aliases.get(channel, ()))
        return [subscriber for name in names for subscriber in self._subscribers.get(name, ())]

    def drop_channel(self, channel: str) -> None:
        """Forget a channel that is gone: its subscribers, its alias, and what could be replayed of it."""
        self._subscribers.pop(channel, None)
        for alias in self._aliases.pop(channel, ()):
            self._alias_of.pop(alias, None)
            self._subscribers.pop(alias, None)
        self._kept = deque(kept for kept in self._kept if kept.channel != channel)
        self._kept_bytes = sum(len(kept.rest) for kept in self._kept)
        self._dropped = {gone: seq for gone, seq in self._dropped.items() if seq > self._oldest_replayable}
        self._dropped[channel] = self.server_seq

    def set_aliases(self, channel: str, aliases: Iterable[str]) -> None:
        """The other URIs under which `channel` may be subscribed to."""
        self._aliases[channel] = tuple(alias for alias in aliases if alias != channel)
        self._alias_of.update(dict.fromkeys(self._aliases[channel], channel))

    def canonical(self, channel: str) -> str:
        """The URI that `channel` is published under."""
        return self._alias_of.get(channel, channel)

    def can_replay(self, after: int) -> bool:
        """Whether the window still holds everything behind serverSeq `after`: nothing, behind one from the future
        (reference-transcript, reconnect-future-seq)."""
        return self._oldest_replayable <= after

    def replay(self, channels: Iterable[str], after: int) -> list[bytes] | None:
        """The envelopes of `channels` behind serverSeq `after`, in order; None when the window no longer holds all, or
        a channel has gone meanwhile and is another one now.
        """
        if not self.can_replay(after):
            return None
        wanted: dict[str, list[str]] = {}
        for channel in channels:
            wanted.setdefault(self.canonical(channel), []).append(channel)
        if any(self._dropped.get(channel, -1) >= after for channel in wanted):
            return None
        return [
            kept.envelope(channel)
            for kept in self._kept
            if kept.seq > after and kept.channel in wanted
            for channel in wanted[kept.channel]
        ]

    def _fan_out(self, channel: str, rest: bytes) -> None:
        subscribers = self._subscribers.get(channel)
        if subscribers:
            frame = Frame(_HEAD + wire.encode(channel) + rest + _TAIL)
            if self._gathered is not None:
                self._gathered.setdefault(channel, []).append(frame)
                return
            for subscriber in tuple(subscribers):
                subscriber.deliver(channel, frame)

    def _deliver_gathered(self) -> None:
        """What one owner publishes in one go is of one channel (and its aliases), so no order is lost."""
        for channel, frames in (self._gathered or {}).items():
            together = frames[0] if len(frames) == 1 else Frames(frames)
            for subscriber in tuple(self._subscribers.get(channel, ())):
                subscriber.deliver(channel, together)
        if self._gathered:
            self._gathered.clear()

    def _keep(self, published: Published) -> None:
        self._kept.append(published)
        self._kept_bytes += len(published.rest)
        while self._kept and (len(self._kept) > self._window or self._kept_bytes > self._window_bytes):
            dropped = self._kept.popleft()
            self._kept_bytes -= len(dropped.rest)
            self._oldest_replayable = dropped.seq


def _rest(action: bytes, seq: int, origin: ActionOrigin | None, reason: str | None = None) -> bytes:
    rest = b',"action":' + action + b',"serverSeq":' + str(seq).encode()
    if origin is not None:
        rest += b',"origin":' + wire.encode(origin)
    if reason is not None:
        rest += b',"rejectionReason":' + wire.encode(reason)
    return rest + b"}"
