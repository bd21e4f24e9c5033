"""What a host refuses of a chat's clients (digest 3, Host validation of client actions): the rules that depend on the
chat alone.

`refusal(state, action, client_id)` is pure: a sentence that says what was wrong and what was expected, or None. The
reducer is the same for everybody, so whatever must not happen is refused here and never reduced (Reducer traps 1).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ahp import wire
from ahp.actions import chat as a
from ahp.reducers.chat_views import active_turn, find_input_request, find_tool_call, is_resumable
from ahp.state.chat import (
    ChatInputAnswer,
    ChatInputRequest,
    ChatState,
    ClientContributor,
    Message,
    SubmittedAnswer,
    ToolCallAuthRequired,
    ToolCallPendingConfirmation,
    ToolCallPendingResultConfirmation,
    ToolCallState,
)
from ahp.wire import UnsetType, Wire, present


def refusal(state: ChatState, action: Wire, client_id: str) -> str | None:
    """Why `action` of `client_id` may not be applied to `state`; None when it may."""
    rule = _RULES.get(wire.tag_of(action))
    return None if rule is None else rule(state, action, client_id)


# Turns.


def _turn_started(state: ChatState, action: a.ChatTurnStarted, _: str) -> str | None:
    """One turn at a time, each id once: a turn that a client dispatches again is the one there is (traps 2)."""
    active = active_turn(state)
    if active is not None and active.id == action.turn_id:
        return f"turn {action.turn_id} is running already"
    if any(turn.id == action.turn_id for turn in state.turns):
        return f"turn {action.turn_id} has been already: a new turn needs an id of its own"
    if active is not None:
        return f"turn {active.id} is running: cancel it, or queue the message (chat/pendingMessageSet)"
    return _takes_no_messages(state) or _authored(action.message)


def _takes_no_messages(state: ChatState) -> str | None:
    kind = present(state.interactivity, "full")
    return None if kind == "full" else f"this chat is {kind}: it takes no messages"


def _authored(message: Message) -> str | None:
    kind = message.origin.kind
    return None if kind == "user" else f"message.origin.kind is {kind}: a client may author user messages only"


def _turn_cancelled(state: ChatState, action: a.ChatTurnCancelled, _: str) -> str | None:
    active = active_turn(state)
    if active is None:
        return "no turn is running"
    return None if active.id == action.turn_id else f"turn {active.id} is running, not {action.turn_id}"


def _turn_resume(state: ChatState, action: a.ChatTurnResume, _: str) -> str | None:
    active = active_turn(state)
    if active is not None:
        return f"turn {active.id} is running"
    if not state.turns or state.turns[-1].id != action.turn_id:
        return f"{action.turn_id} is not the latest turn"
    return None if is_resumable(state.turns[-1]) else f"turn {action.turn_id} did not end in a resumable error"


def _truncated(state: ChatState, action: a.ChatTruncated, _: str) -> str | None:
    if isinstance(action.turn_id, UnsetType) or any(turn.id == action.turn_id for turn in state.turns):
        return None
    return f"there is no completed turn {action.turn_id}"


# Tool calls.

# The reducer lays a result over its call, so these would make another call of it (digest 3, toolCallComplete).
_THE_CALLS_OWN = frozenset(
    {
        "status",
        "toolCallId",
        "toolName",
        "displayName",
        "intention",
        "contributor",
        "invocationMessage",
        "toolInput",
        "confirmed",
        "selectedOption",
    }
)


def _confirmed(state: ChatState, action: a.ChatToolCallConfirmed, _: str) -> str | None:
    call = find_tool_call(state, action.turn_id, action.tool_call_id)
    if not isinstance(call, ToolCallPendingConfirmation):
        return _not(call, action.tool_call_id, "pending-confirmation")
    if not isinstance(action.edited_tool_input, UnsetType) and call.editable is not True:
        return f"the input of call {action.tool_call_id} is not editable"
    if not action.approved and present(action.reason, "denied") not in ("denied", "skipped"):
        return f"reason is {action.reason}: denied or skipped is expected"
    return None


def _result_confirmed(state: ChatState, action: a.ChatToolCallResultConfirmed, _: str) -> str | None:
    call = find_tool_call(state, action.turn_id, action.tool_call_id)
    if isinstance(call, ToolCallPendingResultConfirmation):
        return None
    return _not(call, action.tool_call_id, "pending-result-confirmation")


def _completed(state: ChatState, action: a.ChatToolCallComplete, client_id: str) -> str | None:
    """Its owner's alone; but any client may fail a call that waits for authority."""
    call = find_tool_call(state, action.turn_id, action.tool_call_id)
    overlaid = sorted(_THE_CALLS_OWN & wire.extras(action.result).keys())
    if overlaid:
        return f"result has {', '.join(overlaid)}: what the call is is not its result's to say"
    if isinstance(call, ToolCallAuthRequired):
        return "a call that waits for authority can only be failed" if action.result.success else None
    return _owned(call, action.tool_call_id, client_id, ("running", "pending-confirmation"))


def _content_changed(state: ChatState, action: a.ChatToolCallContentChanged, client_id: str) -> str | None:
    call = find_tool_call(state, action.turn_id, action.tool_call_id)
    return _owned(call, action.tool_call_id, client_id, ("running",))


def _owned(call: ToolCallState | None, call_id: str, client_id: str, when: tuple[str, ...]) -> str | None:
    if call is None or wire.tag_of(call) not in when:
        return _not(call, call_id, " or ".join(when))
    owner = call.contributor
    if not isinstance(owner, ClientContributor):
        return f"call {call_id} is the host's to complete"
    return None if owner.client_id == client_id else f"call {call_id} is client {owner.client_id}'s to complete"


def _not(call: ToolCallState | None, call_id: str, wanted: str) -> str:
    if call is None:
        return f"the running turn has no call {call_id}"
    return f"call {call_id} is {wire.tag_of(call)}, not {wanted}"


# Questions.

_VALUE_KINDS = {
    "text": "text",
    "number": "number",
    "integer": "number",
    "boolean": "boolean",
    "single-select": "selected",
    "multi-select": "selected-many",
}


def _answer_changed(state: ChatState, action: a.ChatInputAnswerChanged, _: str) -> str | None:
    request = find_input_request(state, action.request_id)
    if request is None:
        return f"no question {action.request_id} waits"
    if isinstance(action.answer, UnsetType):
        return None
    return _mismatch(request, action.question_id, action.answer)


def _input_completed(state: ChatState, action: a.ChatInputCompleted, _: str) -> str | None:
    request = find_input_request(state, action.request_id)
    if request is None:
        return f"no question {action.request_id} waits"
    if action.response not in ("accept", "decline", "cancel"):
        return f"response is {action.response}: accept, decline or cancel is expected"
    given = present(action.answers, {})
    for question_id, answer in given.items():
        wrong = _mismatch(request, question_id, answer)
        if wrong is not None:
            return wrong
    if action.response != "accept":
        return None
    answers = {**present(request.answers, {}), **given}
    for question in present(request.questions, []):
        if question.required is True and not isinstance(answers.get(question.id), SubmittedAnswer):
            return f"question {question.id} needs an answer before the request can be accepted"
    return None


def _mismatch(request: ChatInputRequest, question_id: str, answer: ChatInputAnswer) -> str | None:
    """A value of another kind than its question's; kinds from the future are let through."""
    question = next((known for known in present(request.questions, []) if known.id == question_id), None)
    if question is None:
        return None if not present(request.questions, []) else f"request {request.id} has no question {question_id}"
    value = getattr(answer, "value", None)
    wanted = _VALUE_KINDS.get(question.kind)
    if value is None or wanted is None or wire.tag_of(value) == wanted:
        return None
    return f"question {question_id} is answered by {wanted}, not {wire.tag_of(value)}"


# Pending messages.


def _pending_set(state: ChatState, action: a.ChatPendingMessageSet, _: str) -> str | None:
    if action.kind not in ("steering", "queued"):
        return f"kind is {action.kind}: steering or queued is expected"
    return _takes_no_messages(state) or _authored(action.message)


def _pending_removed(state: ChatState, action: a.ChatPendingMessageRemoved, _: str) -> str | None:
    if action.kind == "steering":
        slot = present(state.steering_message, None)
        found = slot is not None and slot.id == action.id
    else:
        found = any(message.id == action.id for message in present(state.queued_messages, []))
    return None if found else f"no {action.kind} message {action.id} waits"


def _steering_set(state: ChatState, action: a.ChatSteeringMessageSet, _: str) -> str | None:
    return _takes_no_messages(state) or _authored(action.steering_message.message)


def _draft_changed(_: ChatState, action: a.ChatDraftChanged, __: str) -> str | None:
    return None if isinstance(action.draft, UnsetType) else _authored(action.draft)


_RULES: dict[str, Callable[[ChatState, Any, str], str | None]] = {
    "chat/turnStarted": _turn_started,
    "chat/turnCancelled": _turn_cancelled,
    "chat/turnResume": _turn_resume,
    "chat/truncated": _truncated,
    "chat/toolCallConfirmed": _confirmed,
    "chat/toolCallResultConfirmed": _result_confirmed,
    "chat/toolCallComplete": _completed,
    "chat/toolCallContentChanged": _content_changed,
    "chat/inputAnswerChanged": _answer_changed,
    "chat/inputCompleted": _input_completed,
    "chat/pendingMessageSet": _pending_set,
    "chat/pendingMessageRemoved": _pending_removed,
    "chat/steeringMessageSet": _steering_set,
    "chat/draftChanged": _draft_changed,
}
