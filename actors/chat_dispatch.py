"""What clients dispatch to a chat: refused with a reason, or applied, kept, published, and followed up.

`ChatDispatch` is the half of the chat actor that takes clients' actions; `actors.chat` is the half that runs turns.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from actors.agents.interface import Agent, Confirmation, InputOutcome, TurnInput
from actors.channel import Dispatch
from actors.chat_orders import ChatOrders
from actors.turn import RunningTurn
from ahp import wire
from ahp.actions import chat as actions
from ahp.reducers import chat as reducer
from ahp.reducers.chat_rules import refusal
from ahp.state.chat import ChatState, PendingMessage, ToolCallPendingResultConfirmation
from ahp.state.session import SessionState
from ahp.wire import UNSET, present

TRANSIENT = frozenset({"chat/inputAnswerChanged"})
"""Client actions that are published before they are kept: nobody misses half an answer."""


_MESSAGES = frozenset({"chat/turnStarted", "chat/turnResume", "chat/pendingMessageSet", "chat/steeringMessageSet"})


_NEVER_MADE = "the session could not be created, so it takes no turns: dispose it and create another"


class Owner(Protocol):
    """What is needed of the chat's session here."""

    @property
    def state(self) -> SessionState: ...


class ChatDispatch(ChatOrders):
    """Mixed into the chat actor, whose fields these are."""

    running: RunningTurn | None

    @property
    @abstractmethod
    def agent(self) -> Agent: ...
    @property
    @abstractmethod
    def owner(self) -> Owner: ...
    @abstractmethod
    def start_turn(self, turn: TurnInput, *, first: bool, principal: str | None = None) -> None:
        """Run a turn whose start is kept and public."""

    @abstractmethod
    def cancel_running(self) -> None: ...
    @abstractmethod
    def rewind_backend(self) -> None: ...
    @abstractmethod
    def load_through(self, turn_id: str) -> None: ...
    @abstractmethod
    async def begin_queued(self) -> None: ...

    async def on_dispatch(self, message: Dispatch) -> None:
        action = message.action
        tag = wire.tag_of(action)
        state = self.channel.next
        reason = refusal(state, action, message.origin.client_id) or self._refusal(tag, action)
        if reason is not None:
            self.channel.reject(message, reason)
            return
        if isinstance(action, actions.ChatTruncated):
            self.load_through(present(action.turn_id, ""))
        self.channel.apply(action, keep=tag not in TRANSIENT, dispatch=message)
        follow = _FOLLOW.get(tag)
        if follow is not None and await self.channel.flush():
            await follow(self, action, state)

    # What follows an accepted client action, once it is kept and public.

    async def _turn_started(self, action: actions.ChatTurnStarted, before: ChatState) -> None:
        self.start_turn(TurnInput(turn_id=action.turn_id, message=action.message), first=not before.turns)

    async def _turn_resumed(self, action: actions.ChatTurnResume, _: ChatState) -> None:
        active = present(self.channel.state.active_turn, None)
        if active is not None:
            self.start_turn(TurnInput(turn_id=active.id, message=active.message, resumed=True), first=False)

    async def _turn_cancelled(self, _: actions.ChatTurnCancelled, __: ChatState) -> None:
        self.cancel_running()

    async def _truncated(self, _: actions.ChatTruncated, __: ChatState) -> None:
        self.cancel_running()
        self.rewind_backend()

    async def _steering_changed(self, _: wire.Wire, __: ChatState) -> None:
        if self.running is not None:
            self.running.offer_steering(waiting_steering(self.channel.state))

    async def _queue_changed(self, _: wire.Wire, __: ChatState) -> None:
        await self.begin_queued()

    async def _pending_changed(
        self, action: actions.ChatPendingMessageSet | actions.ChatPendingMessageRemoved, before: ChatState
    ) -> None:
        follow = self._steering_changed if action.kind == "steering" else self._queue_changed
        await follow(action, before)

    async def _confirmed(self, action: actions.ChatToolCallConfirmed, before: ChatState) -> None:
        if self.running is None:
            return
        call = reducer.find_tool_call(self.channel.state, action.turn_id, action.tool_call_id)
        selected = None if call is None else getattr(call, "selected_option", UNSET)
        edited = present(action.edited_tool_input, None)
        self.running.confirmed(
            action.tool_call_id,
            Confirmation(
                approved=action.approved,
                reason=present(action.reason, None),
                reason_message=present(action.reason_message, None),
                suggestion=present(action.user_suggestion, None),
                selected_option=present(selected, None),
                tool_input=edited,
            ),
        )

    async def _call_completed(self, action: actions.ChatToolCallComplete, _: ChatState) -> None:
        if self.running is None:
            return
        call = reducer.find_tool_call(self.channel.state, action.turn_id, action.tool_call_id)
        if isinstance(call, ToolCallPendingResultConfirmation):
            self.running.delivered(action.tool_call_id, action.result)
        else:
            self.running.completed(action.tool_call_id, action.result)

    async def _result_confirmed(self, action: actions.ChatToolCallResultConfirmed, _: ChatState) -> None:
        if self.running is not None:
            self.running.result_confirmed(action.tool_call_id, approved=action.approved)

    async def _input_completed(self, action: actions.ChatInputCompleted, before: ChatState) -> None:
        request = reducer.find_input_request(before, action.request_id)
        if self.running is not None and request is not None:
            answers = {**present(request.answers, {}), **present(action.answers, {})}
            self.running.answered(action.request_id, InputOutcome(response=action.response, answers=answers))

    # Helpers in the order they are used.

    def _refusal(self, tag: str, action: wire.Wire) -> str | None:
        """What the host adds to the rules that depend on the chat alone."""
        if tag in _MESSAGES and self.owner.state.lifecycle == "failed":
            return _NEVER_MADE
        if tag in ("chat/workingDirectorySet", "chat/workingDirectoryRemoved"):
            if not self.agent.multiple_directories:
                return f"{self.agent.display_name} works in one folder, so a chat's folders cannot be changed"
            if isinstance(action, actions.ChatWorkingDirectorySet):
                return self._not_a_folder(action.directory)
        return None

    def takes_no_messages(self) -> str | None:
        kind = present(self.channel.next.interactivity, "full")
        if kind != "full":
            return f"this chat is {kind}: it takes no messages"
        return _NEVER_MADE if self.owner.state.lifecycle == "failed" else None

    def _not_a_folder(self, directory: str) -> str | None:
        if directory in present(self.owner.state.working_directories, []):
            return None
        return f"{directory} is no working directory of the session"


def waiting_steering(state: ChatState) -> list[PendingMessage]:
    """The messages that wait to steer: the slot's, then the list's."""
    slot = present(state.steering_message, None)
    return ([] if slot is None else [slot]) + present(state.steering_messages, [])


_FOLLOW: dict[str, Callable[[ChatDispatch, Any, ChatState], Awaitable[None]]] = {
    "chat/turnStarted": ChatDispatch._turn_started,
    "chat/turnResume": ChatDispatch._turn_resumed,
    "chat/turnCancelled": ChatDispatch._turn_cancelled,
    "chat/truncated": ChatDispatch._truncated,
    "chat/pendingMessageSet": ChatDispatch._pending_changed,
    "chat/pendingMessageRemoved": ChatDispatch._pending_changed,
    "chat/queuedMessagesReordered": ChatDispatch._queue_changed,
    "chat/steeringMessageSet": ChatDispatch._steering_changed,
    "chat/steeringMessageRemoved": ChatDispatch._steering_changed,
    "chat/toolCallConfirmed": ChatDispatch._confirmed,
    "chat/toolCallComplete": ChatDispatch._call_completed,
    "chat/toolCallResultConfirmed": ChatDispatch._result_confirmed,
    "chat/inputCompleted": ChatDispatch._input_completed,
}
"""What happens after a client's action is kept and public; the third argument is the state before it."""
