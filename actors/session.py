"""The session actor: owns one SessionState and its annotations, and is the parent of the session's chats.

It hears from its chats by facts (`ChatChanged`), keeps the catalogue entry of each, aggregates status, activity and
questions over them (digest 2, Aggregation over chats), and tells the host when the session's summary has moved.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec
import trio

from actors import history, log
from actors.actor import ActorGone, Message, Order, supervise
from actors.agents.interface import Agent, AgentError, WorkerPort
from actors.channel import Channel, Dispatch, KeepOwed, Subscribe, WatchersChanged
from actors.chat import Chat
from actors.chat_messages import (
    BeginHostTurn,
    BeginWorkerTurn,
    CancelWorkerTurn,
    ChatChanged,
    ClientReleased,
    FirstMessage,
    RestartBackend,
    SetTitle,
    ToolsChanged,
)
from actors.environment import Environment
from actors.session_orders import SessionOrders
from actors.session_record import (
    ANNOTATIONS,
    ChatPrivate,
    KeptChat,
    SessionPrivate,
    chat_record,
    load_chat,
    new_chat,
    session_record,
    with_titles,
)
from actors.store import StoreError, Write, documents
from actors.store import chats as chat_records
from actors.store import sessions as session_records
from actors.titles import title_from
from actors.tools.offered import OfferedTool
from actors.turn import RunningTurn, TurnEnded
from actors.workspace.folders import paths_of
from ahp import uris, wire
from ahp.actions import session as actions
from ahp.jsonrpc import InternalError, InvalidParams, NotFound, RpcError
from ahp.reducers import annotations as annotations_reducer
from ahp.reducers import annotations_rules, session_rules, session_views
from ahp.reducers import chat as chat_reducer
from ahp.reducers import session as reducer
from ahp.state.annotations import AnnotationsState
from ahp.state.chat import ChatState, ChatSummary, MessageOrigin, ToolOrigin
from ahp.state.chat import Message as ChatMessage
from ahp.state.common import AnnotationsSummary, ErrorInfo, SessionStatus
from ahp.state.session import ChatSummaryChanges, SessionState, SessionSummary
from ahp.wire import present

_log = log.get("session")

_TRY_AGAIN = 5.0
"""Seconds after which the store is asked again for what it refused."""


class SessionChanged(Message, frozen=True):
    """A fact for the host: this session's summary now."""

    session: str
    summary: SessionSummary


class SessionIdle(Message, frozen=True):
    """A fact for the host: nobody needs this session awake."""

    session: str


class TrySleep(Order[bool], frozen=True):
    """Fall asleep if nobody needs the session; answered with whether it did."""


class Back(Order[None], frozen=True):
    """Answered when a chat that has died is back."""


class CreateChat(Order[None], frozen=True):
    """`createChat`, checked against the protocol's params already; `private` says what backend it runs on."""

    state: ChatState
    initial: ChatMessage | None = None
    private: ChatPrivate = ChatPrivate()


class DisposeChat(Order[None], frozen=True):
    """`disposeChat`: refused for the last one."""

    chat: str


class ClientLeft(Message, frozen=True):
    """The client lost its place here: unsubscribed, or its grace ran out (digest 1, reconnect)."""

    client_id: str


class Created(Message, frozen=True):
    """What creating the session came to: the state to go on with and the worktree made for it, or why it failed."""

    state: SessionState | None = None
    worktree: str | None = None
    error: ErrorInfo | None = None


class SleepCheck(Message, frozen=True):
    """The idle time has passed."""


class ChatFailed(Message, frozen=True):
    """A chat actor has died; it is brought back from the store."""

    chat: str


class Shelter(Protocol):
    """What a session sees of the host."""

    chats: dict[str, Chat]

    def post(self, key: object, fact: Message) -> None: ...
    def wakeup_moved(self, chat: str, due: str | None) -> None: ...


class Session(SessionOrders):
    """`uri` is the URI its client chose. `chats` are the running chat actors by URI, in catalogue order."""

    def __init__(
        self,
        env: Environment,
        host: Shelter,
        uri: str,
        agent: Agent,
        state: SessionState,
        private: SessionPrivate,
        chats: Sequence[KeptChat],
        annotations: AnnotationsState,
        *,
        created_at: str,
        modified_at: str,
        create: Callable[[], Awaitable[tuple[SessionState, str | None]]] | None = None,
    ) -> None:
        super().__init__(uri)
        self.uri = uri
        self.env = env
        self.agent = agent
        self.private = private
        self.created_at = created_at
        self.modified_at = modified_at
        self.chats: dict[str, Chat] = {}
        self._host = host
        self._create = create
        self._loaded = chats
        self._reported: SessionSummary | None = None
        self._ready = trio.Event()
        self.channel: Channel[SessionState] = Channel(
            uri, state, hub=env.hub, store=env.store, reduce=reducer.apply, save=self._writes
        )
        self.annotations: Channel[AnnotationsState] = Channel(
            uris.annotations(uri),
            annotations,
            hub=env.hub,
            store=env.store,
            reduce=annotations_reducer.apply,
            save=self._annotation_writes,
        )

    @property
    def state(self) -> SessionState:
        """The public state: immutable, for anybody to hold."""
        return self.channel.state

    # Life.

    async def prepare(self) -> None:
        names = self._names()
        self.env.hub.set_aliases(self.uri, names)
        self.env.hub.set_aliases(uris.annotations(self.uri), [uris.annotations(name) for name in names])
        for kept in self._loaded:
            await self.start_chat(kept)
        self._loaded = ()
        if self._create is not None:
            self.nursery.start_soon(self._run_create, self._create)
        elif self.state.lifecycle != "creating":
            self._ready.set()
        self._offer()
        self.count_annotations()  # They may have been kept, and their number not.
        await self.settle()

    async def settle(self) -> None:
        if not await self.annotations.flush():
            self.count_annotations()
        await self.channel.flush()
        if (self.channel.owes or self.annotations.owes) and not self.has_timer("owed"):
            self.set_timer("owed", _TRY_AGAIN, KeepOwed())
        summary = self.summary()
        if summary != self._reported:
            self._reported = summary
            self._host.post(("session", self.uri), SessionChanged(self.uri, summary))
        idle = self.env.config.session_idle_ms / 1000
        if not idle or not self._is_idle():
            self.cancel_timer("sleep")
        elif not self.has_timer("sleep"):
            self.set_timer("sleep", idle, SleepCheck())

    def teardown(self) -> None:
        for uri in self.chats:
            self._host.chats.pop(uri, None)

    async def wait_ready(self) -> None:
        """Wait until turns may run. Raises `AgentError` where the session could not be created."""
        await self._ready.wait()
        failed = present(self.state.creation_error, None)
        if failed is not None:
            raise AgentError(f"The session could not be created: {failed.message}", error_type=failed.error_type)

    async def _run_create(self, create: Callable[[], Awaitable[tuple[SessionState, str | None]]]) -> None:
        try:
            state, worktree = await create()
            await self.tell(Created(state=state, worktree=worktree))
        except RpcError as error:
            await self.tell(Created(error=ErrorInfo(error_type="creationFailed", message=error.message)))
        except Exception as error:
            _log.error("creation failed", channel=self.uri, exc=error)
            await self.tell(
                Created(error=ErrorInfo(error_type="creationFailed", message=f"{type(error).__name__}: {error}"))
            )

    # Messages.

    async def on_created(self, message: Created) -> None:
        if message.state is not None:
            if message.worktree is not None:
                self.private = msgspec.structs.replace(self.private, worktrees=(message.worktree,))
            folders = message.state.working_directories
            self.channel.amend(lambda state: wire.replace(state, working_directories=folders), keep=True)
            self.channel.apply(actions.SessionReady(), keep=True)
        elif message.error is not None:
            self.channel.apply(actions.SessionCreationFailed(error=message.error), keep=True)
        await self.channel.flush()
        self._ready.set()

    async def on_keep_owed(self, _: KeepOwed) -> None:
        for channel in (self.channel, self.annotations):
            if channel.owes:
                channel.write()

    async def on_subscribe(self, message: Subscribe) -> bytes:
        await self.settle()
        self.cancel_timer("sleep")
        channel = self.channel if message.channel == self.uri else self.annotations
        return channel.subscribe(message)

    async def on_watchers_changed(self, _: WatchersChanged) -> None:
        """Nothing to do but to settle, which sees whether anybody still needs this session."""

    async def on_dispatch(self, message: Dispatch) -> None:
        if message.channel == self.annotations.uri:
            self._dispatch_annotation(message, self.annotations)
            return
        reason = session_rules.refusal(
            self.channel.next, message.action, message.origin.client_id, capabilities=self.agent.capabilities()
        )
        if reason is not None:
            self.channel.reject(message, reason)
            return
        self.channel.apply(message.action, keep=True, dispatch=message)
        default = present(self.channel.next.default_chat, None)
        if isinstance(message.action, actions.SessionTitleChanged) and default is not None:
            self.channel.apply_if_kept(_titled(default, message.action.title))
        follow = _FOLLOW.get(wire.tag_of(message.action))
        if follow is not None and await self.channel.flush():
            await follow(self, message.action)

    async def on_client_left(self, message: ClientLeft) -> None:
        if any(client.client_id == message.client_id for client in self.channel.next.active_clients):
            for chat in self.chats.values():
                await chat.tell(ClientReleased(message.client_id))
            self.channel.apply(actions.SessionActiveClientRemoved(client_id=message.client_id), keep=True)
            await self._tools_moved()

    async def on_chat_changed(self, message: ChatChanged) -> None:
        before = next((chat for chat in self.channel.next.chats if chat.resource == message.chat), None)
        if before is None:
            return
        # The title is this actor's to give; a chat hears of it later.
        after = wire.replace(chat_reducer.summary_of(message.state), title=before.title)
        change = session_views.chat_change(before, after)
        if change is not None:
            self.channel.apply(change, keep=True)
            self._mark_unread(before, after)
        self._sync_inputs(message.chat, message.state)
        self.modified_at = max(self.modified_at, after.modified_at)
        self.aggregate()

    async def on_first_message(self, message: FirstMessage) -> None:
        """The deferred title strategy (tools page, The wording a session is given): the first message names a chat."""
        summary = next((chat for chat in self.channel.next.chats if chat.resource == message.chat), None)
        title = title_from(message.text)
        if summary is None or summary.title or not title or self.env.config.title_strategy != "deferred":
            return
        await self.title_chat(message.chat, title)

    async def on_create_chat(self, message: CreateChat) -> None:
        uri = message.state.resource
        if uri in self._host.chats or await self.env.store.read(chat_records.find(uri)) is not None:
            raise InvalidParams(f"{uri} is in use: choose another URI for the new chat")
        position = 1 + max((chat.position for chat in self.chats.values()), default=-1)
        kept = KeptChat(message.state, message.private, position)
        record = chat_record(self.uri, kept.state, kept.private, position)
        try:
            await self.env.store.commit([chat_records.put(record), *history.writes(uri, [], kept.state.turns)])
        except StoreError as error:
            raise InternalError(f"{uri} cannot be kept, so it was not made: {error}") from None
        self.channel.apply(actions.SessionChatAdded(summary=chat_reducer.summary_of(kept.state)), keep=True)
        await self.channel.flush()
        chat = await self.start_chat(kept)
        if message.initial is not None:
            await chat.tell(BeginHostTurn(message.initial))

    async def on_dispose_chat(self, message: DisposeChat) -> None:
        if message.chat not in self.chats:
            raise NotFound(f"{message.chat} is no chat of {self.uri}")
        if len(self.chats) == 1:
            raise InvalidParams(f"{message.chat} is the session's only chat: dispose the session instead")
        if present(self.channel.next.default_chat, None) == message.chat:
            following = next(uri for uri in self.chats if uri != message.chat)
            self.channel.apply_if_kept(actions.SessionDefaultChatChanged(default_chat=following))
        for request in present(self.channel.next.input_needed, []):
            if request.chat == message.chat:
                self.channel.apply_if_kept(actions.SessionInputNeededRemoved(id=request.id))
        self.channel.apply_if_kept(actions.SessionChatRemoved(chat=message.chat), chat_records.delete(message.chat))
        if not await self.channel.flush():
            raise InternalError(
                f"{message.chat} cannot be deleted, so it is still there; the host's log has the reason"
            )
        self.stop_chat(message.chat)
        self.env.hub.drop_channel(message.chat)
        self.aggregate()

    async def on_chat_failed(self, message: ChatFailed) -> None:
        """Bring the chat back from the store; the turn that died in it ends as interrupted."""
        self.chats.pop(message.chat, None)
        loaded = await load_chat(self.env.store, message.chat)
        if loaded is not None:
            await self.start_chat(with_titles([loaded], self.channel.next.chats)[0])

    async def on_back(self, _: Back) -> None:
        """Facts come first: it is."""

    async def on_tools_changed(self, _: ToolsChanged) -> None:
        await self._tools_moved()

    async def on_sleep_check(self, _: SleepCheck) -> None:
        if self._is_idle():
            self._host.post(("idle", self.uri), SessionIdle(self.uri))

    async def on_try_sleep(self, _: TrySleep) -> bool:
        """Fall asleep if nobody needs the session: true, and every later message meets `ActorGone`.

        From the look at the mailboxes to closing them there is no checkpoint, so no message is lost between.
        """
        await self.settle()
        if not self._is_idle() or self.has_mail() or not all(chat.is_at_rest() for chat in self.chats.values()):
            return False
        for actor in (*self.chats.values(), self):
            actor.stop()
        return True

    # Chats.

    async def start_chat(self, kept: KeptChat) -> Chat:
        chat = Chat(self, kept)
        self.chats[chat.name] = self._host.chats[chat.name] = chat

        def failed(_: BaseException) -> None:
            self._host.chats.pop(chat.name, None)
            self.post(("failed", chat.name), ChatFailed(chat.name))

        await self.nursery.start(supervise, chat, failed, name=chat.name)
        return chat

    def stop_chat(self, uri: str) -> None:
        self._host.chats.pop(uri, None)
        self.chats.pop(uri).stop()

    async def open_worker(self, parent: str, running: RunningTurn, title: str, call: str, prompt: str) -> WorkerPort:
        """Open the chat of a subagent (digest 3, Worker chat). Called by the parent's turn, not by its mailbox."""
        uri = uris.chat(str(uuid.uuid4()))
        state = new_chat(uri, self.env.clock.iso(), title, origin=ToolOrigin(chat=parent, tool_call_id=call))
        await self.ask(CreateChat(wire.replace(state, interactivity="read-only")))
        chat = self.chats[uri]
        port = await chat.ask(BeginWorkerTurn(ChatMessage(text=prompt, origin=MessageOrigin(kind="tool"))))
        running.workers.append(lambda: chat.post("cancel", CancelWorkerTurn(port.turn_id)))
        return _Worker(chat, port)

    async def title_chat(self, uri: str, title: str) -> None:
        """Title a chat; the default chat's title is the session's too (tools page, rename_chat)."""
        self.channel.apply(_titled(uri, title), keep=True)
        if present(self.channel.next.default_chat, None) == uri and self.channel.next.title != title:
            self.channel.apply(actions.SessionTitleChanged(title=title), keep=True)
        await self.chats[uri].tell(SetTitle(title))

    # Annotations.

    def _dispatch_annotation(self, message: Dispatch, channel: Channel[AnnotationsState]) -> None:
        reason = annotations_rules.refusal(channel.next, message.action, message.origin.client_id)
        if reason is not None:
            channel.reject(message, reason)
            return
        channel.apply(message.action, keep=True, dispatch=message)
        self.count_annotations()

    def count_annotations(self) -> None:
        counts = self._annotation_counts(self.annotations.next)
        before = present(self.channel.next.annotations, None)
        if before != counts and (before is not None or counts.annotation_count):
            self.channel.amend(lambda state: wire.replace(state, annotations=counts), keep=True)

    def _annotation_counts(self, state: AnnotationsState) -> AnnotationsSummary:
        entries = sum(len(annotation.entries) for annotation in state.annotations)
        return AnnotationsSummary(
            resource=self.annotations.uri, annotation_count=len(state.annotations), entry_count=entries
        )

    # Aggregation.

    def _mark_unread(self, before: ChatSummary, after: ChatSummary) -> None:
        """A turn that starts and a question make the session unread (digest 2, State)."""
        stirred = after.status & ~before.status & SessionStatus.INPUT_NEEDED
        if stirred and self.channel.next.status & SessionStatus.IS_READ:
            self.channel.apply(actions.SessionIsReadChanged(is_read=False), keep=True)

    def aggregate(self) -> None:
        """Status, activity and changes over the chats. No action carries them: they reach clients by the summary."""
        if session_views.aggregate(self.channel.next) is not self.channel.next:
            self.channel.amend(session_views.aggregate, keep=True)

    def _sync_inputs(self, chat: str, state: ChatState) -> None:
        """`inputNeeded` mirrors what waits for a person in every chat (digest 3, Client-provided tools)."""
        waiting = {request.id: request for request in session_views.input_requests(chat, state)}
        for request in present(self.channel.next.input_needed, []):
            if request.chat == chat and request.id not in waiting:
                self.channel.apply(actions.SessionInputNeededRemoved(id=request.id), keep=False)
        known = {request.id: request for request in present(self.channel.next.input_needed, [])}
        for request in waiting.values():
            if known.get(request.id) != request:
                self.channel.apply(actions.SessionInputNeededSet(request=request), keep=False)

    def summary(self) -> SessionSummary:
        return session_views.summary_of(self.channel.state, self.uri, self.created_at, self.modified_at)

    # Tools and folders.

    def offered(self, chat: Chat | None = None) -> Sequence[OfferedTool]:
        """What the model of `chat` is offered now."""
        return self.env.tools.offered(self, chat)

    def instructions(self, chat: Chat | None = None) -> str:
        """What a system prompt says beside its own words: of the tools on offer."""
        return self.env.tools.instructions(self, chat)

    def folders(self, chat: ChatState | None) -> Sequence[Path]:
        """Where a chat works: its own folders, else the session's (digest 3, ChatState)."""
        shared = present(self.state.working_directories, [])
        return paths_of(shared if chat is None else present(chat.working_directories, shared))

    def _offer(self) -> None:
        tools = self.env.tools.server_tools(self)
        if present(self.channel.next.server_tools, []) != tools:
            self.channel.apply(actions.SessionServerToolsChanged(tools=tools), keep=False)

    async def _tools_moved(self) -> None:
        self._offer()
        for chat in self.chats.values():
            await chat.tell(ToolsChanged())

    async def _restart_chats(self) -> None:
        for chat in self.chats.values():
            await chat.tell(RestartBackend())

    # What follows an accepted client action.

    async def _client_set(self, _: actions.SessionActiveClientSet) -> None:
        await self._tools_moved()

    async def _client_removed(self, action: actions.SessionActiveClientRemoved) -> None:
        for chat in self.chats.values():
            await chat.tell(ClientReleased(action.client_id))
        await self._tools_moved()

    async def _title_changed(self, action: actions.SessionTitleChanged) -> None:
        chat = present(self.channel.next.default_chat, None)
        if chat in self.chats:
            await self.chats[chat].tell(SetTitle(action.title))

    async def _settings_moved(self, _: wire.Wire) -> None:
        self._offer()
        await self._restart_chats()

    def wakeup_moved(self, chat: str, due: str | None) -> None:
        self._host.wakeup_moved(chat, due)

    # Sleeping.

    def _is_idle(self) -> bool:
        """Nobody watches, nobody is active, nothing runs (issue: sessions sleep when nobody needs them)."""
        hub = self.env.hub
        channels = [self.uri, uris.annotations(self.uri), *self.chats]
        return (
            self._ready.is_set()
            and not (self.channel.owes or self.annotations.owes)
            and not any(chat.channel.owes for chat in self.chats.values())
            and not self.channel.next.active_clients
            and not any(hub.subscribers(channel) for channel in channels)
            and not any(chat.is_busy() for chat in self.chats.values())
        )

    # Keeping.

    def _writes(self, _: SessionState, after: SessionState) -> list[Write]:
        summary = session_views.summary_of(after, self.uri, self.created_at, self.modified_at)
        return [session_records.put(session_record(self.uri, after, summary, self.private))]

    def first_writes(self) -> list[Write]:
        """What keeps a new session, before anybody hears of it."""
        writes = self._writes(self.state, self.state)
        for kept in self._loaded:
            uri = kept.state.resource
            writes.append(chat_records.put(chat_record(self.uri, kept.state, kept.private, kept.position)))
            writes.extend(history.writes(uri, [], kept.state.turns))
        return writes

    def _annotation_writes(self, _: AnnotationsState, after: AnnotationsState) -> list[Write]:
        return [documents.put(ANNOTATIONS, self.uri, wire.encode(after), self.uri)]

    def _names(self) -> list[str]:
        """Every URI this session answers under: the one its client chose, its id's own, and `<provider>:/<id>`."""
        id = uris.parse(self.uri).id
        return [self.uri, uris.session(id), uris.session_alias(self.agent.provider, id)]


def _titled(chat: str, title: str) -> actions.SessionChatUpdated:
    return actions.SessionChatUpdated(chat=chat, changes=ChatSummaryChanges(title=title))


class _Worker:
    """Implements `WorkerPort`."""

    def __init__(self, chat: Chat, port: RunningTurn) -> None:
        self.chat = chat.name
        self.port = port
        self._chat = chat

    async def finish(self, error: AgentError | None = None) -> None:
        with contextlib.suppress(ActorGone):  # Somebody has disposed of the chat.
            await self._chat.tell(TurnEnded(self.port.turn_id, error))


_FOLLOW: dict[str, Callable[[Session, Any], Awaitable[None]]] = {
    "session/activeClientSet": Session._client_set,
    "session/activeClientRemoved": Session._client_removed,
    "session/titleChanged": Session._title_changed,
    "session/configChanged": Session._settings_moved,
    "session/workingDirectorySet": Session._settings_moved,
    "session/workingDirectoryRemoved": Session._settings_moved,
    "session/workingDirectoryReplaced": Session._settings_moved,
}
"""What happens after a client's action is kept and public."""
