"""The chat actor: owns one ChatState, runs its turns on the chat's backend, and keeps both.

A turn begins by a client's `chat/turnStarted` or from the queue, and ends when the backend's coroutine does, or when
a client cancels it. Backend work is a line of jobs that one task takes in order, so a cancelled turn has unwound
before the next one starts, and a rewind falls between turns.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
import trio

from actors import history, log
from actors.actor import Message, alone
from actors.agents.interface import (
    Agent,
    AgentChat,
    AgentError,
    Start,
    TurnInput,
    WorkerPort,
)
from actors.channel import Channel, Subscribe, WatchersChanged
from actors.chat_dispatch import ChatDispatch, waiting_steering
from actors.chat_messages import (
    BeginHostTurn,
    BeginWorkerTurn,
    CancelWorkerTurn,
    ChatChanged,
    ClientReleased,
    FetchTurns,
    FirstMessage,
    LoadTurn,
    RestartBackend,
    SaveTail,
    SetPosition,
    SetTitle,
    ToolsChanged,
)
from actors.clock import parse_iso
from actors.environment import Environment
from actors.session_record import KeptChat, SessionPrivate, chat_record
from actors.store import Write
from actors.store import chats as chat_records
from actors.tools.offered import OfferedTool
from actors.turn import Emit, RunningTurn, SteeringTaken, TurnEnded, disconnected, failure
from ahp import wire
from ahp.actions import chat as actions
from ahp.reducers import chat as reducer
from ahp.state.chat import ChatState, ErrorPart, TextContent
from ahp.state.chat import Message as ChatMessage
from ahp.state.common import ErrorInfo
from ahp.state.session import SessionState
from ahp.wire import JSON, UNSET, present

_log = log.get("chat")

_TEXT = (actions.ChatDelta, actions.ChatReasoning, actions.ChatToolCallDelta, actions.ChatUsage)
"""What streams by the thousand and is none of the session's business."""

INTERRUPTED = "interrupted"


class SessionView(Protocol):
    """What a chat sees of its session: immutable state, and where to leave facts."""

    uri: str
    agent: Agent
    env: Environment
    private: SessionPrivate

    @property
    def state(self) -> SessionState: ...
    def folders(self, chat: ChatState | None) -> Sequence[Path]: ...
    def offered(self, chat: Chat | None = None) -> Sequence[OfferedTool]: ...
    def instructions(self, chat: Chat | None = None) -> str: ...
    def post(self, key: object, fact: Message) -> None: ...
    def wakeup_moved(self, chat: str, due: str | None) -> None: ...
    async def wait_ready(self) -> None: ...
    async def open_worker(
        self, parent: str, running: RunningTurn, title: str, call: str, prompt: str
    ) -> WorkerPort: ...


class Chat(ChatDispatch):
    """`kept` is the chat as it was kept; its `position` is its place in the session's catalogue."""

    def __init__(self, session: SessionView, kept: KeptChat) -> None:
        super().__init__(kept.state.resource)
        self.session = session
        self.env = session.env
        self.private = kept.private
        self.position = kept.position
        self.channel: Channel[ChatState] = Channel(
            self.name, kept.state, hub=self.env.hub, store=self.env.store, reduce=reducer.apply, save=self._writes
        )
        self.running: RunningTurn | None = None
        self._began = 0.0
        self._backend: AgentChat | None = None
        self._tools_stale = False
        self._jobs_in, self._jobs = trio.open_memory_channel[Callable[[], Awaitable[None]]](float("inf"))
        self._reported: ChatState | None = None
        """What the session knows of: this state, but for text that came since."""
        self._owed = False
        self._window = history.Window()
        self.after_turn: dict[str, Message] = {}
        self.senders: dict[str, str | None] = {}

    # Life.

    @property
    def state(self) -> ChatState:
        """The public state: immutable, for anybody to hold."""
        return self.channel.state

    @property
    def agent(self) -> Agent:
        """The backend of this chat: its session's, unless it was started on another."""
        own = self.private.agent
        return self.session.agent if own is None else self.env.agents.of_kept(own)

    @property
    def owner(self) -> SessionView:
        return self.session

    def settings(self) -> Mapping[str, JSON]:
        """The settings its backend runs with: its own where it has another agent, else the session's."""
        if self.private.config is not None:
            return self.private.config
        config = present(self.session.state.config, None)
        return {} if config is None else config.values

    async def prepare(self) -> None:
        self.nursery.start_soon(self._work, name=f"{self.name} backend")
        self._settle_interrupted()
        await self.settle()

    async def settle(self) -> None:
        await self.channel.flush()
        if self.channel.owes:
            self._save_later()
        elif self._owed:
            self.session.post("settled", WatchersChanged(self.name))  # It may sleep now.
        self._owed = self.channel.owes
        if self.channel.state is not self._reported:
            self._reported = self.channel.state
            self.session.post(("chat", self.name), ChatChanged(self.name, self._reported))

    async def _work(self) -> None:
        """Take the backend's jobs in order; at the end close the backend, whatever ended us."""
        try:
            async for job in self._jobs:
                await job()
        finally:
            with trio.move_on_after(5, shield=True):
                await self._close_backend()

    def teardown(self) -> None:
        """Stopped in the middle of a turn: what has arrived is kept all the same."""
        if self.is_busy():
            self.channel.save_soon()

    def is_busy(self) -> bool:
        return self.running is not None or present(self.channel.state.active_turn, None) is not None

    # Messages.

    async def on_subscribe(self, message: Subscribe) -> bytes:
        await self.channel.flush()
        return self.channel.subscribe(message, self._window.tail(self.channel.state, message.view_turns))

    async def on_watchers_changed(self, message: WatchersChanged) -> None:
        self.session.post("watchers", message)

    async def on_emit(self, message: Emit) -> None:
        active = present(self.channel.next.active_turn, None)
        if active is None or active.id != message.turn_id:
            return
        reported = self.channel.next is self._reported
        self.channel.apply(message.action, keep=isinstance(message.action, actions.ChatInputRequested))
        if reported and isinstance(message.action, _TEXT):
            self._reported = self.channel.next
        self._save_later()

    async def on_save_tail(self, _: SaveTail) -> None:
        if self.is_busy() or self.channel.owes:
            self.channel.write()

    def _save_later(self) -> None:
        if not self.has_timer("save"):
            self.set_timer("save", self.env.config.stream_save_interval_ms / 1000, SaveTail())

    async def on_turn_ended(self, message: TurnEnded) -> None:
        running = self.running
        if running is not None and running.turn_id == message.turn_id:
            self.running = None
        active = present(self.channel.next.active_turn, None)
        if active is None or active.id != message.turn_id:
            return
        self.cancel_timer("save")
        duration = self._elapsed()
        if self._backend is not None:
            self.private = msgspec.structs.replace(self.private, resume=self._backend.resume_token())
        if message.error is None:
            self.channel.apply(actions.ChatTurnComplete(turn_id=active.id, duration=duration), keep=True)
            await self.channel.flush()
            self.carry_out()
            await self.begin_queued()
        else:
            self.after_turn.clear()
            for stop in running.workers if running is not None else ():
                stop()
            self._close_open_questions(cancel=message.error.resumable)
            self.channel.apply(_error(active.id, duration, message.error), keep=True)

    async def on_steering_taken(self, message: SteeringTaken) -> None:
        state = self.channel.next
        slot = present(state.steering_message, None)
        if slot is not None and slot.id == message.id:
            self.channel.apply(actions.ChatPendingMessageRemoved(kind="steering", id=message.id), keep=True)
        elif any(pending.id == message.id for pending in present(state.steering_messages, [])):
            self.channel.apply(actions.ChatSteeringMessageRemoved(id=message.id), keep=True)

    async def on_fetch_turns(self, message: FetchTurns) -> None:
        self.channel.announce(self._window.page(self.channel.next.turns, message.cursor))
        await self.channel.flush()

    async def on_load_turn(self, message: LoadTurn) -> None:
        self.load_through(message.turn_id)
        await self.channel.flush()

    async def on_set_title(self, message: SetTitle) -> None:
        self.channel.amend(lambda state: wire.replace(state, title=message.title), keep=True)

    async def on_set_position(self, message: SetPosition) -> None:
        self.position = message.position

    async def on_tools_changed(self, _: ToolsChanged) -> None:
        self._tools_stale = True

    async def on_client_released(self, message: ClientReleased) -> None:
        """Tools page, A client's tools: each call the client still owes is completed as failed, in its words."""
        if self.running is None:
            return
        self.running.gone.add(message.client_id)
        owed = [call for call, client in self.running.owed.items() if client == message.client_id]
        for call_id in owed:
            await self._fail_owed(self.running, call_id, message.client_id)

    async def on_restart_backend(self, _: RestartBackend) -> None:
        self.restart_backend()

    async def on_begin_host_turn(self, message: BeginHostTurn) -> None:
        if self.is_busy():
            await self.queue(message.message, message.principal)
        else:
            await self.begin_turn(message.message, message.principal)

    async def on_begin_worker_turn(self, message: BeginWorkerTurn) -> RunningTurn:
        turn, started = self._new_turn(message.message)
        self.channel.apply(started, keep=True)
        self.running = self._new_running(turn)
        return self.running

    async def on_cancel_worker_turn(self, message: CancelWorkerTurn) -> None:
        active = present(self.channel.next.active_turn, None)
        if active is not None and active.id == message.turn_id:
            self.channel.apply(actions.ChatTurnCancelled(turn_id=active.id, duration=self._elapsed()), keep=True)
            self.cancel_running()

    # What `ChatOrders` builds on.

    async def begin_turn(self, message: ChatMessage, principal: str | None) -> bool:
        fresh = not self.channel.next.turns
        turn, started = self._new_turn(message)
        self.channel.apply(started, keep=True)
        if not await self.channel.flush():
            self._give_up(turn.turn_id)
            return False
        self.start_turn(turn, first=fresh, principal=principal)
        return True

    def load_through(self, turn_id: str) -> None:
        """Before anything names a turn: whoever has only the tail of the history gets it (digest 3)."""
        loaded = self._window.through(self.channel.next.turns, turn_id)
        if loaded is not None:
            self.channel.announce(loaded)

    def leave(self, key: str, fact: Message) -> None:
        self.session.post((key, self.name), fact)

    def restart_backend(self) -> None:
        """Close the backend between turns: the next one opens it with what is true then."""
        self._jobs_in.send_nowait(self._close_backend)

    def wakeup_moved(self, due: str | None) -> None:
        self.session.wakeup_moved(self.name, due)

    # Turns.

    def start_turn(self, turn: TurnInput, *, first: bool, principal: str | None = None) -> None:
        self.running = running = self._new_running(turn)
        running.principal = principal
        running.offer_steering(waiting_steering(self.channel.state))
        if first:
            self.session.post(("title", self.name), FirstMessage(self.name, turn.message.text))
        self._jobs_in.send_nowait(lambda: self._run_turn(running))

    def _new_running(self, turn: TurnInput) -> RunningTurn:
        self._began = trio.current_time()
        timeout = self.env.config.client_tool_timeout_ms / 1000
        return RunningTurn(
            turn,
            tell=self.tell,
            offered=self._find_offered,
            open_worker=lambda running, title, call, prompt: self.session.open_worker(
                self.name, running, title, call, prompt
            ),
            client_tool_timeout=timeout or None,
        )

    async def _run_turn(self, running: RunningTurn) -> None:
        """Run one turn on the backend, opening it first; always ends in `TurnEnded` unless cancelled."""
        error: AgentError | None = None
        with running.scope:
            try:
                await self.session.wait_ready()
                backend = await self._open_backend()
                await backend.run_turn(running.turn, running)
            except Exception as raised:
                error = self._agent_error(raised)
        if not running.scope.cancel_called:
            await self.tell(TurnEnded(running.turn_id, error))

    def _agent_error(self, raised: Exception) -> AgentError:
        raised = alone(raised)
        if isinstance(raised, AgentError):
            return raised
        _log.error("agent raised", channel=self.name, exc=raised)
        return AgentError(
            f"The agent failed unexpectedly: {type(raised).__name__}: {raised}", error_type="agentCrashed"
        )

    async def _open_backend(self) -> AgentChat:
        if self._backend is None:
            state = self.channel.state
            self._backend = await self.agent.open_chat(
                Start(
                    session=self.session.uri,
                    chat=self.name,
                    folders=self.session.folders(state),
                    config=self.settings(),
                    model=self.session.private.model,
                    history=state.turns,
                    resume=self.private.resume,
                    tools=[offered.definition for offered in self.session.offered(self)],
                    instructions=self.session.instructions(self),
                    client_tool_timeout=(self.env.config.client_tool_timeout_ms / 1000) or None,
                )
            )
        elif self._tools_stale:
            await self._backend.tools_changed([offered.definition for offered in self.session.offered(self)])
        self._tools_stale = False
        return self._backend

    def rewind_backend(self) -> None:
        """Between turns: tell the backend what is left of the history."""
        turns = self.channel.state.turns

        async def rewind() -> None:
            if self._backend is not None:
                await self._backend.rewind(turns)

        self._jobs_in.send_nowait(rewind)

    async def _close_backend(self) -> None:
        backend, self._backend = self._backend, None
        if backend is not None:
            await backend.close()

    def cancel_running(self) -> None:
        self.after_turn.clear()
        if self.running is not None:
            for stop in self.running.workers:
                stop()
            self.running.scope.cancel()
            self.running = None
        self.cancel_timer("save")

    async def begin_queued(self) -> None:
        """The first queued message becomes a turn (digest 3, Pending messages)."""
        queued = present(self.channel.next.queued_messages, [])
        if not queued or self.is_busy():
            return
        first = queued[0]
        fresh = not self.channel.next.turns
        turn, started = self._new_turn(first.message, queued=first.id)
        self.channel.apply_if_kept(actions.ChatPendingMessageRemoved(kind="queued", id=first.id))
        self.channel.apply_if_kept(started)
        if await self.channel.flush():
            self.start_turn(turn, first=fresh, principal=self.senders.pop(first.id, None))

    def _new_turn(self, message: ChatMessage, queued: str | None = None) -> tuple[TurnInput, actions.ChatTurnStarted]:
        """A turn that this host begins, under an id of its own."""
        turn = TurnInput(turn_id=str(uuid.uuid4()), message=message)
        started_at = self.env.clock.iso()
        return turn, actions.ChatTurnStarted(
            turn_id=turn.turn_id, started_at=started_at, message=message, queued_message_id=queued or UNSET
        )

    def _give_up(self, turn_id: str) -> None:
        error = AgentError("The store cannot keep this turn, so it was not begun.", error_type="store")
        self.channel.apply(_error(turn_id, 0, error), keep=False)

    def _settle_interrupted(self) -> None:
        """A turn that was active when the daemon died ends as interrupted, with what had arrived (design, Store)."""
        active = present(self.channel.state.active_turn, None)
        if active is None:
            return
        agent = self.agent
        error = AgentError(
            "The host stopped while this turn was running. What had arrived is kept.",
            error_type=INTERRUPTED,
            resumable=agent.resumes_turns,
        )
        self._close_open_questions(cancel=error.resumable)
        self.channel.apply(_error(active.id, self._duration(active.started_at), error), keep=True)

    def _close_open_questions(self, *, cancel: bool) -> None:
        """Before a resumable error: a question left open would be open again on resume (digest 3, Reducer traps 6)."""
        active = present(self.channel.next.active_turn, None)
        if not cancel or active is None:
            return
        for request in reducer.open_input_requests(self.channel.next):
            self.channel.apply(actions.ChatInputCompleted(request_id=request.id, response="cancel"), keep=True)

    async def _fail_owed(self, running: RunningTurn, call_id: str, client_id: str) -> None:
        call = reducer.find_tool_call(self.channel.next, running.turn_id, call_id)
        if call is None:
            return
        name = call.display_name
        others = [o for o in self.session.offered(self) if o.client_id not in (None, client_id) and o.title == name]
        hint = f"Another client provides {name}: you may try the call again." if others else ""
        result = failure(
            f"{name} failed",
            disconnected(client_id, name),
            [TextContent(text=hint)] if hint else (),
        )
        if wire.tag_of(call) == "streaming":
            ready = actions.ChatToolCallReady(
                turn_id=running.turn_id, tool_call_id=call_id, invocation_message=name, confirmed="not-needed"
            )
            self.channel.apply(ready, keep=False)
        complete = actions.ChatToolCallComplete(turn_id=running.turn_id, tool_call_id=call_id, result=result)
        self.channel.apply(complete, keep=True)
        running.completed(call_id, result)

    def _find_offered(self, name: str) -> OfferedTool | None:
        return next((offered for offered in self.session.offered(self) if offered.definition.name == name), None)

    def _elapsed(self) -> int:
        """Milliseconds that the running turn has taken, by the one clock that does not jump."""
        return round((trio.current_time() - self._began) * 1000)

    def _duration(self, started_at: str) -> int:
        """Milliseconds since `started_at`, for a turn of an earlier process. Clocks differ; it is never negative."""
        try:
            started = parse_iso(started_at)
        except ValueError:
            return 0
        return max(0, round((self.env.clock.now() - started).total_seconds() * 1000))

    # Keeping.

    def _writes(self, before: ChatState, after: ChatState) -> list[Write]:
        return [
            chat_records.update(chat_record(self.session.uri, after, self.private, self.position)),
            *history.writes(self.name, before.turns, after.turns),
        ]


def _error(turn_id: str, duration: int, error: AgentError) -> actions.ChatError:
    info = ErrorInfo(error_type=error.error_type, message=error.message, stack=error.detail or UNSET)
    part = ErrorPart(error=info, resumable=True if error.resumable else UNSET)
    return actions.ChatError(turn_id=turn_id, duration=duration, part=part)
