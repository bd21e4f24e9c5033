"""A running turn: the backend's `TurnPort`, on the chat it runs in.

It changes no state. What the backend says becomes an `Emit` in the chat's mailbox (and waits there: backpressure);
what it waits for (a confirmation, an answer, a client's result) is a `Reply` that the chat's handlers put here.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import trio

from actors.actor import Message, Reply
from actors.agents.interface import AgentError, Confirmation, InputOutcome, TurnInput, WorkerPort
from ahp import wire
from ahp.actions.chat import (
    ChatAction,
    ChatDelta,
    ChatInputRequested,
    ChatReasoning,
    ChatResponsePart,
    ChatToolCallComplete,
    ChatToolCallContentChanged,
    ChatToolCallDelta,
    ChatToolCallReady,
    ChatToolCallStart,
    ChatUsage,
)
from ahp.state.chat import (
    ChatInputRequest,
    ClientContributor,
    ConfirmationOption,
    MarkdownPart,
    PendingMessage,
    ReasoningPart,
    ToolCallContributor,
    ToolCallError,
    ToolCallResult,
    ToolResultContent,
)
from ahp.state.common import FileEdits, StringOrMarkdown, UsageInfo
from ahp.wire import JSON, UNSET, Text

if TYPE_CHECKING:
    from actors.tools.offered import OfferedTool


T = TypeVar("T")


class Emit(Message, frozen=True):
    """The backend of `turn_id` publishes a host action. Dropped when that turn is no longer active."""

    turn_id: str
    action: ChatAction


class TurnEnded(Message, frozen=True):
    """The backend's coroutine for `turn_id` has returned, or raised `error`."""

    turn_id: str
    error: AgentError | None = None


class RunningTurn:
    """Implements `TurnPort`. `tell` is the chat's mailbox; `offered` finds a tool by the name the model knows."""

    def __init__(
        self,
        turn: TurnInput,
        *,
        tell: Callable[[Message], Awaitable[None]],
        offered: Callable[[str], OfferedTool | None],
        open_worker: Callable[[RunningTurn, str, str, str], Awaitable[WorkerPort]],
        client_tool_timeout: float | None,
    ) -> None:
        self.turn = turn
        self.turn_id = turn.turn_id
        self.scope = trio.CancelScope()
        self.principal: str | None = None
        """The person whose turn it is; None for nobody's."""
        self.owed: dict[str, str] = {}
        """Tool calls a client owes: toolCallId to clientId."""
        self.gone: set[str] = set()
        """Clients that lost their place in the session while this turn runs."""
        self.workers: list[Callable[[], None]] = []
        """Stop what subagents of this turn are doing."""
        self._tell = tell
        self._offered = offered
        self._open_worker = open_worker
        self._client_tool_timeout = client_tool_timeout
        self._part: tuple[str, str] | None = None
        self._confirmations: dict[str, Reply[Confirmation]] = {}
        self._answers: dict[str, Reply[InputOutcome]] = {}
        self._results: dict[str, Reply[ToolCallResult]] = {}
        self._limits: dict[str, trio.CancelScope] = {}
        self._delivered: dict[str, ToolCallResult] = {}
        self._steering: dict[str, PendingMessage] = {}
        self._steering_changed = trio.Event()

    # What the backend calls.

    async def text(self, content: str) -> None:
        part_id = await self._open_part("markdown", content)
        if part_id is not None:
            await self.emit(ChatDelta(turn_id=self.turn_id, part_id=part_id, content=content))

    async def reasoning(self, content: str) -> None:
        part_id = await self._open_part("reasoning", content)
        if part_id is not None:
            await self.emit(ChatReasoning(turn_id=self.turn_id, part_id=part_id, content=content))

    async def tool_call(
        self,
        name: str,
        *,
        display_name: str | None = None,
        intention: str | None = None,
        tool_call_id: str | None = None,
        contributor: ToolCallContributor | None = None,
    ) -> PortToolCall:
        call = PortToolCall(self, tool_call_id or f"call-{uuid.uuid4()}")
        await self.emit(
            ChatToolCallStart(
                turn_id=self.turn_id,
                tool_call_id=call.tool_call_id,
                tool_name=name,
                display_name=display_name or name,
                intention=intention or UNSET,
                contributor=contributor or UNSET,
            )
        )
        return call

    async def call_tool(self, name: str, tool_input: JSON, *, tool_call_id: str | None = None) -> ToolCallResult:
        offered = self._offered(name)
        if offered is None:
            call = await self.tool_call(name, tool_call_id=tool_call_id)
            await call.ready(_input_text(tool_input), f"Call {name}")
            result = failure(f"{name} failed", f"There is no tool {name!r} in this session.")
            await call.complete(result)
            return result
        if offered.client_id is not None:
            return await self._call_client_tool(offered, tool_input, tool_call_id)
        call = await self.tool_call(name, display_name=offered.title, tool_call_id=tool_call_id)
        await call.ready(_input_text(tool_input), offered.title)
        result = await offered.run(self, call.tool_call_id, tool_input)
        await call.complete(result)
        return result

    async def ask(self, request: ChatInputRequest) -> InputOutcome:
        reply = self._answers[request.id] = Reply()
        try:
            await self.emit(ChatInputRequested(request=request))
            return await reply.wait()
        finally:
            del self._answers[request.id]

    async def usage(self, *, input_tokens: int, output_tokens: int, model: str | None = None) -> None:
        usage = UsageInfo(input_tokens=input_tokens, output_tokens=output_tokens, model=model or UNSET)
        await self.emit(ChatUsage(turn_id=self.turn_id, usage=usage))

    async def emit(self, action: ChatAction) -> None:
        if self.scope.cancel_called:
            # It has ended for everybody, and its id may be another turn's already.
            await trio.lowlevel.checkpoint()
            return
        if not isinstance(action, ChatDelta | ChatReasoning | ChatUsage):
            self._part = None
        await self._tell(Emit(self.turn_id, action))

    async def worker(self, title: str, tool_call_id: str, prompt: str) -> WorkerPort:
        return await self._open_worker(self, title, tool_call_id, prompt)

    async def next_steering(self) -> PendingMessage:
        while not self._steering:
            await self._steering_changed.wait()
        first = next(iter(self._steering))
        message = self._steering.pop(first)
        await self._tell(SteeringTaken(self.turn_id, message.id))
        return message

    # What the chat's handlers call.

    def offer_steering(self, waiting: Sequence[PendingMessage]) -> None:
        """The steering messages that wait now, each to be taken once."""
        self._steering = {message.id: message for message in waiting}
        self._steering_changed.set()
        self._steering_changed = trio.Event()

    def confirmed(self, tool_call_id: str, confirmation: Confirmation) -> None:
        _put(self._confirmations, tool_call_id, confirmation)

    def answered(self, request_id: str, outcome: InputOutcome) -> None:
        _put(self._answers, request_id, outcome)

    def delivered(self, tool_call_id: str, result: ToolCallResult) -> None:
        """The client has done its part of the call; a person looks at the result first, and takes any time."""
        self.owed.pop(tool_call_id, None)
        self._delivered[tool_call_id] = result
        limit = self._limits.get(tool_call_id)
        if limit is not None:
            limit.deadline = math.inf

    def result_confirmed(self, tool_call_id: str, *, approved: bool) -> None:
        result = self._delivered.pop(tool_call_id, None)
        if result is not None and not approved:
            result = failure("The result was denied", "A person did not let the result of the call through.")
        if result is not None:
            self.completed(tool_call_id, result)

    def completed(self, tool_call_id: str, result: ToolCallResult) -> None:
        self.owed.pop(tool_call_id, None)
        _put(self._results, tool_call_id, result)

    # Helpers in the order they are used.

    async def _open_part(self, kind: str, content: str) -> str | None:
        """The id of the open part of `kind`, or None when a new one was opened with `content` in it."""
        if self._part is not None and self._part[0] == kind:
            return self._part[1]
        part_id = f"part-{uuid.uuid4()}"
        make = MarkdownPart if kind == "markdown" else ReasoningPart
        await self.emit(ChatResponsePart(turn_id=self.turn_id, part=make(id=part_id, content=Text(content))))
        self._part = (kind, part_id)
        return None

    async def _call_client_tool(
        self, offered: OfferedTool, tool_input: JSON, tool_call_id: str | None
    ) -> ToolCallResult:
        """Tools page, A client's tools: drawn under the name its client gave, completed by that client alone."""
        assert offered.client_id is not None
        self.gone.discard(offered.client_id)
        call = await self.tool_call(
            offered.name,
            display_name=offered.title,
            tool_call_id=tool_call_id,
            contributor=ClientContributor(client_id=offered.client_id),
        )
        reply = self._results[call.tool_call_id] = Reply()
        self.owed[call.tool_call_id] = offered.client_id
        try:
            await call.ready(_input_text(tool_input), offered.title)
            if offered.client_id in self.gone:
                # It left between the offer and the call: nobody will be told to fail it.
                result = failure(f"{offered.title} failed", disconnected(offered.client_id, offered.title))
                await call.complete(result)
                return result
            with trio.move_on_after(trio_seconds(self._client_tool_timeout)) as limit:
                self._limits[call.tool_call_id] = limit
                return await reply.wait()
            result = failure(
                f"{offered.name} failed",
                f"Client {offered.client_id} did not complete {offered.name} in {self._client_tool_timeout:g} seconds",
            )
            await call.complete(result)
            return result
        finally:
            self._results.pop(call.tool_call_id, None)
            self._limits.pop(call.tool_call_id, None)
            self.owed.pop(call.tool_call_id, None)

    async def wait_confirmation(self, tool_call_id: str, ready: ChatToolCallReady) -> Confirmation:
        reply = self._confirmations[tool_call_id] = Reply()
        try:
            await self.emit(ready)
            return await reply.wait()
        finally:
            del self._confirmations[tool_call_id]


class SteeringTaken(Message, frozen=True):
    """The backend of `turn_id` has taken the steering message `id`."""

    turn_id: str
    id: str


class PortToolCall:
    """Implements `ToolCall` on a running turn."""

    def __init__(self, running: RunningTurn, tool_call_id: str) -> None:
        self.tool_call_id = tool_call_id
        self._running = running

    async def delta(self, content: str) -> None:
        await self._running.emit(
            ChatToolCallDelta(turn_id=self._running.turn_id, tool_call_id=self.tool_call_id, content=content)
        )

    async def ready(self, tool_input: str, invocation_message: StringOrMarkdown) -> None:
        await self._running.emit(
            ChatToolCallReady(
                turn_id=self._running.turn_id,
                tool_call_id=self.tool_call_id,
                invocation_message=invocation_message,
                tool_input=tool_input,
                confirmed="not-needed",
            )
        )

    async def confirm(
        self,
        tool_input: str,
        invocation_message: StringOrMarkdown,
        *,
        title: StringOrMarkdown | None = None,
        options: Sequence[ConfirmationOption] = (),
        edits: Sequence[JSON] = (),
        editable: bool = False,
    ) -> Confirmation:
        ready = ChatToolCallReady(
            turn_id=self._running.turn_id,
            tool_call_id=self.tool_call_id,
            invocation_message=invocation_message,
            tool_input=tool_input,
            confirmation_title=title or UNSET,
            options=list(options) or UNSET,
            edits=wire.convert({"items": list(edits)}, FileEdits) if edits else UNSET,
            editable=True if editable else UNSET,
        )
        return await self._running.wait_confirmation(self.tool_call_id, ready)

    async def content(self, content: Sequence[ToolResultContent]) -> None:
        await self._running.emit(
            ChatToolCallContentChanged(
                turn_id=self._running.turn_id, tool_call_id=self.tool_call_id, content=list(content)
            )
        )

    async def complete(self, result: ToolCallResult) -> None:
        await self._running.emit(
            ChatToolCallComplete(turn_id=self._running.turn_id, tool_call_id=self.tool_call_id, result=result)
        )


def failure(past_tense: str, message: str, content: Sequence[ToolResultContent] = ()) -> ToolCallResult:
    """A failed call's result, with the sentence a model can act on."""
    return ToolCallResult(
        success=False,
        past_tense_message=past_tense,
        error=ToolCallError(message=message),
        content=list(content) or UNSET,
    )


def disconnected(client_id: str, name: str) -> str:
    """Why a call that a client owed has failed, in the tools page's words."""
    return f"Client {client_id} disconnected before completing {name}"


def trio_seconds(timeout: float | None) -> float:
    """`timeout` as Trio wants it: None is for ever."""
    return float("inf") if timeout is None else timeout


def _input_text(tool_input: JSON) -> str:
    return tool_input if isinstance(tool_input, str) else wire.encode(tool_input).decode()


def _put(waiting: dict[str, Reply[T]], key: str, value: T) -> None:
    reply = waiting.get(key)
    if reply is not None and not reply.is_set:
        reply.set(value)
