"""The daemon's side of `ahpd chat`: one watched chat, in a thread of its own.

Reading a line belongs to the main thread, because there Ctrl-C arrives and readline works; trio runs in the other one.
Between them: `events`, a queue to the main thread, and `dispatch`, which may be called from it.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import trio
from msgspec import Struct

from actors.cli.chat_commands import ToolRow, rows_of
from actors.cli.context import Context, Failure
from actors.cli.reach import all_sessions, failure_of, find_session, reach
from ahp import uris
from ahp.client import Change, Client, Status
from ahp.client.supervisor import DEFAULT_BACKOFF
from ahp.commands.session import CreateSessionParams, DisposeSessionParams
from ahp.state.chat import ChatState
from ahp.state.session import SessionState
from ahp.wire import UNSET, present

__all__ = ["Conversation", "Ended", "Event", "Moved", "Opened", "StatusMoved", "ToolsListed", "Wishes"]

_TURNS = 10
_LEAVE_SECONDS = 3.0
_MADE_SECONDS = 120.0


@dataclass(frozen=True)
class Wishes:
    """Which chat is wanted. `session`: one that exists; `last`: the one used last; else a new one."""

    session: str | None
    last: bool
    agent: str | None
    folder: Path


@dataclass(frozen=True)
class Opened:
    """The chat is watched. `fresh`: it was made for this."""

    session: str
    agent: str
    state: ChatState
    fresh: bool


@dataclass(frozen=True)
class Moved:
    """The chat has changed."""

    change: Change[ChatState]


@dataclass(frozen=True)
class StatusMoved:
    """The connection was lost, or is there again."""

    status: Status


@dataclass(frozen=True)
class Ended:
    """Nothing more will come. `error` says why, where nobody asked for it."""

    error: BaseException | None


@dataclass(frozen=True)
class ToolsListed:
    """What the session's agent is offered now: the answer to `list_tools`."""

    rows: Sequence[ToolRow]


Event: TypeAlias = Opened | Moved | StatusMoved | Ended | ToolsListed


class Conversation:
    """Made and used by the main thread: `start`, then `events` and `dispatch`, then `leave`."""

    def __init__(self, context: Context, wishes: Wishes) -> None:
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._context = context
        self._wishes = wishes
        self._session = ""
        self._chat = ""
        self._client: Client | None = None
        self._nursery: trio.Nursery | None = None
        self._leaving = trio.Event()
        self._token: trio.lowlevel.TrioToken | None = None
        self._thread = threading.Thread(target=self._run, name="chat", daemon=True)

    def start(self) -> None:
        """Begin to connect; `Opened` or `Ended` follows."""
        self._thread.start()

    def dispatch(self, action: Struct) -> None:
        """Dispatch an action on the chat. Its fate comes as `Moved`."""
        self._soon(lambda: self._dispatch(action))

    def list_tools(self) -> None:
        """Ask what tools the session has; `ToolsListed` follows."""
        self._soon(self._begin_listing)

    def leave(self) -> None:
        """Close the connection, and wait for that a little."""
        with contextlib.suppress(trio.RunFinishedError):
            if self._token is not None:
                self._token.run_sync_soon(self._leaving.set)
        self._thread.join(_LEAVE_SECONDS)

    def _soon(self, step: Callable[[], None]) -> None:
        with contextlib.suppress(trio.RunFinishedError):
            if self._token is not None:
                self._token.run_sync_soon(step)

    def _dispatch(self, action: Struct) -> None:
        assert self._client is not None
        try:
            self._client.dispatch(self._chat, action)
        except Exception as error:
            self.events.put(Ended(error))

    def _begin_listing(self) -> None:
        if self._nursery is not None:
            self._nursery.start_soon(self._list_tools)

    # The trio thread.

    def _run(self) -> None:
        try:
            trio.run(self._main)
        except BaseException as error:
            self.events.put(Ended(failure_of(error)))
        else:
            self.events.put(Ended(None))

    async def _main(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        async with reach(self._context, reconnect=DEFAULT_BACKOFF) as client, trio.open_nursery() as nursery:
            self._client, self._nursery = client, nursery
            nursery.start_soon(self._watch_status, client)
            nursery.start_soon(self._talk, client)
            await self._leaving.wait()
            nursery.cancel_scope.cancel()

    async def _watch_status(self, client: Client) -> None:
        async for status in client.statuses():
            self.events.put(StatusMoved(status))

    async def _list_tools(self) -> None:
        assert self._client is not None
        async with self._client.subscribe(self._session, SessionState) as session:
            self.events.put(ToolsListed(rows_of(session.state)))

    async def _talk(self, client: Client) -> None:
        session, fresh = await self._choose(client)
        self._session = session
        state = await _made(client, session)
        if state.lifecycle == "failed":
            error = present(state.creation_error, None)
            raise Failure(f"the session was not made: {error.message if error is not None else 'no reason given'}")
        self._chat = present(state.default_chat, state.chats[0].resource)
        talked = not fresh
        try:
            async with client.subscribe(self._chat, ChatState, view_turns=_TURNS) as chat:
                with chat.changes() as changes:
                    self.events.put(Opened(session, state.provider, chat.state, fresh))
                    async for change in changes:
                        talked = talked or bool(change.state.turns) or bool(change.state.active_turn)
                        self.events.put(Moved(change))
            raise Failure("the chat is gone: somebody deleted it")
        finally:
            if not talked:
                await _forget(client, session)

    async def _choose(self, client: Client) -> tuple[str, bool]:
        """The session's URI, and whether it is new."""
        wishes = self._wishes
        if wishes.session is not None:
            return (await find_session(client, wishes.session)).resource, False
        if wishes.last:
            catalogue = await all_sessions(client)
            if not catalogue:
                raise Failure("there is no session yet")
            return max(catalogue, key=lambda session: session.modified_at).resource, False
        made = uris.session(str(uuid.uuid4()))
        params = CreateSessionParams(
            channel=made,
            provider=wishes.agent or UNSET,
            working_directories=[uris.file_uri(wishes.folder)],
        )
        await client.request("createSession", params)
        return made, True


async def _made(client: Client, session: str) -> SessionState:
    """The session once it is made; whether that went well its `lifecycle` says."""
    async with client.subscribe(session, SessionState) as watched:
        with trio.move_on_after(_MADE_SECONDS):
            return await watched.wait_for(lambda state: state.lifecycle != "creating")
    raise Failure(f"the session is still being made after {_MADE_SECONDS:g} s: {session}")


async def _forget(client: Client, session: str) -> None:
    """Nothing was said in it: it would only be in everybody's way."""
    with trio.move_on_after(1, shield=True), contextlib.suppress(Exception):
        await client.request("disposeSession", DisposeSessionParams(channel=session))
