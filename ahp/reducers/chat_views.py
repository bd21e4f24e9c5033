"""What can be read off a chat's state: its summary, what waits for a person, its status (digest 3, ChatState).

Pure functions for the reducer, the rules, the host and clients; a call whose status is from the future is found too.
"""

from __future__ import annotations

from ahp import wire
from ahp.reducers import tool_calls
from ahp.state.chat import (
    ActiveTurn,
    ChatInputRequest,
    ChatState,
    ChatSummary,
    ErrorPart,
    InputRequestPart,
    ResponsePart,
    ToolCallPart,
    ToolCallState,
    Turn,
)
from ahp.state.common import SessionStatus
from ahp.wire import UnsetType, present, replace

_WAITING = ("pending-confirmation", "pending-result-confirmation", "auth-required")


def summary_of(state: ChatState) -> ChatSummary:
    """The chat as its session's catalogue shows it."""
    return ChatSummary(**{name: getattr(state, name) for name in ChatSummary.__struct_fields__})


def active_turn(state: ChatState, turn_id: str | None = None) -> ActiveTurn | None:
    """The running turn, if there is one (and it is `turn_id`, where given)."""
    active = present(state.active_turn, None)
    return active if active is not None and turn_id in (None, active.id) else None


def find_tool_call(state: ChatState, turn_id: str, tool_call_id: str) -> ToolCallState | None:
    """The call of the active turn `turn_id`."""
    active = active_turn(state, turn_id)
    for part in () if active is None else active.response_parts:
        if isinstance(part, ToolCallPart) and tool_calls.id_of(part.tool_call) == tool_call_id:
            return part.tool_call
    return None


def open_input_requests(state: ChatState) -> list[ChatInputRequest]:
    """The questions of the active turn that nobody has answered."""
    active = active_turn(state)
    parts = [] if active is None else active.response_parts
    return [part.request for part in parts if isinstance(part, InputRequestPart) and is_open(part)]


def find_input_request(state: ChatState, request_id: str) -> ChatInputRequest | None:
    """The open question `request_id`."""
    return next((request for request in open_input_requests(state) if request.id == request_id), None)


def needs_input(state: ChatState) -> bool:
    """Whether the active turn waits for a person."""
    active = active_turn(state)
    return active is not None and any(is_open(part) or _waits(part) for part in active.response_parts)


def is_open(part: ResponsePart) -> bool:
    """Whether the part is a question that nobody has answered."""
    return isinstance(part, InputRequestPart) and isinstance(part.response, UnsetType)


def _waits(part: ResponsePart) -> bool:
    return isinstance(part, ToolCallPart) and wire.tag_of(part.tool_call) in _WAITING


def is_resumable(turn: Turn) -> bool:
    """Whether a failed turn may be taken up again: its last part is an error that says so."""
    last = turn.response_parts[-1] if turn.response_parts else None
    return turn.state == "error" and isinstance(last, ErrorPart) and last.resumable is True


# Status.


def with_activity(status: int, activity: int) -> int:
    """The bits of `status` with another activity; the flags stay."""
    return status & ~SessionStatus.ACTIVITY | activity


def with_flag(status: int, flag: int, *, on: bool) -> int:
    """The bits of `status` with that flag set or cleared; the activity stays."""
    return status | flag if on else status & ~flag


def recomputed(state: ChatState) -> ChatState:
    """The activity bits follow from the active turn: input needed, in progress or idle."""
    if needs_input(state):
        activity = SessionStatus.INPUT_NEEDED
    else:
        activity = SessionStatus.IN_PROGRESS if active_turn(state) is not None else SessionStatus.IDLE
    status = with_activity(state.status, activity)
    return state if status == state.status else replace(state, status=status)


def unread(state: ChatState) -> ChatState:
    """Nobody has read what comes now."""
    return replace(state, status=with_flag(state.status, SessionStatus.IS_READ, on=False))
