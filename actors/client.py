"""The client actor: one for each client id, over all its connections, and for a while after the last has closed.

It knows in which sessions the client is active and what its connections watch, and gives up the client's place in a
session when it unsubscribes, comes back without resubscribing, or stays away longer than its grace
(`clientToolCallDisconnectTimeoutMs`; tools page, A client's tools). One that is back inside the grace never left.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable

from actors.actor import Actor, ActorGone, Message
from actors.environment import Environment
from actors.session import ClientLeft

Tell = Callable[[str, Message], Awaitable[None]]
"""Tells the owner of a channel that is awake; a channel that sleeps or is gone is not woken for it."""


class Watching(Message, frozen=True):
    """A connection of the client subscribed to `channel`."""

    channel: str


class Unwatched(Message, frozen=True):
    """A connection of the client unsubscribed from `channel`."""

    channel: str


class BecameActive(Message, frozen=True):
    """The client set itself active in `session`."""

    session: str


class ConnectionOpened(Message, frozen=True):
    """One more connection."""


class ConnectionClosed(Message, frozen=True):
    """A connection that watched these channels is gone."""

    watched: frozenset[str]


class Resumed(Message, frozen=True):
    """A connection reconnected and resubscribed to these channels: it has left every other session at once."""

    channels: frozenset[str]


class GraceOver(Message, frozen=True):
    """The client stayed away from `session` for too long."""

    session: str


class Client(Actor):
    """`connections` counts the open ones. The host drops the actor when `is_gone`."""

    def __init__(self, env: Environment, client_id: str, tell: Tell) -> None:
        super().__init__(f"client {client_id}")
        self.client_id = client_id
        self.connections = 0
        self._env = env
        self._tell = tell
        self._watched: Counter[str] = Counter()
        self._active: set[str] = set()

    @property
    def is_gone(self) -> bool:
        return self.connections == 0 and not self._active and not self.has_mail()

    async def on_connection_opened(self, _: ConnectionOpened) -> None:
        self.connections += 1

    async def on_connection_closed(self, message: ConnectionClosed) -> None:
        self.connections -= 1
        self._watched.subtract(message.watched)
        for session in tuple(self._active):
            if self._watched[session] <= 0 and (session in message.watched or self.connections == 0):
                await self._begin_grace(session)

    async def on_watching(self, message: Watching) -> None:
        self._watched[message.channel] += 1
        self.cancel_timer(message.channel)

    async def on_unwatched(self, message: Unwatched) -> None:
        self._watched[message.channel] -= 1
        if self._watched[message.channel] <= 0:
            del self._watched[message.channel]
            if message.channel in self._active:
                await self._leave(message.channel)

    async def on_became_active(self, message: BecameActive) -> None:
        self._active.add(message.session)

    async def on_resumed(self, message: Resumed) -> None:
        for session in tuple(self._active):
            if session not in message.channels and self._watched[session] <= 0:
                await self._leave(session)

    async def on_grace_over(self, message: GraceOver) -> None:
        if self._watched[message.session] <= 0:
            await self._leave(message.session)

    async def _begin_grace(self, session: str) -> None:
        grace = self._env.config.client_tool_call_disconnect_timeout_ms / 1000
        if grace <= 0:
            await self._leave(session)
        else:
            self.set_timer(session, grace, GraceOver(session))

    async def _leave(self, session: str) -> None:
        self._active.discard(session)
        self.cancel_timer(session)
        await self._say(session, ClientLeft(self.client_id))

    async def _say(self, channel: str, message: Message) -> None:
        with contextlib.suppress(ActorGone):  # Asleep or gone: nobody is active there any more.
            await self._tell(channel, message)
