"""The chat channel's reducer (digest 3, Actions and what the reducer does).

`apply(state, action)` is pure: it returns a new state, or the very same one when the action changes nothing. Host and
clients run it on the same actions, so its quirks are the protocol's (digest 3, Reducer traps). What can be read off a
state is in `ahp.reducers.chat_views` and can be had from here; pending messages are in `chat_pending`, calls in
`tool_calls`, lists in `chat_catalogues`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from ahp import wire
from ahp.actions.chat import (
    ChatActivityChanged,
    ChatDelta,
    ChatError,
    ChatInputAnswerChanged,
    ChatInputCompleted,
    ChatInputRequested,
    ChatIsArchivedChanged,
    ChatIsReadChanged,
    ChatReasoning,
    ChatResponsePart,
    ChatToolCallStart,
    ChatTruncated,
    ChatTurnCancelled,
    ChatTurnComplete,
    ChatTurnResume,
    ChatTurnsLoaded,
    ChatTurnStarted,
    ChatUsage,
)
from ahp.reducers import chat_catalogues, chat_pending, tool_calls
from ahp.reducers.chat_views import (
    active_turn,
    find_input_request,
    find_tool_call,
    is_open,
    is_resumable,
    needs_input,
    open_input_requests,
    recomputed,
    summary_of,
    unread,
    with_activity,
    with_flag,
)
from ahp.reducers.lists import id_of
from ahp.state.chat import (
    ActiveTurn,
    ChatState,
    ErrorPart,
    InputRequestPart,
    MarkdownPart,
    ReasoningPart,
    ResponsePart,
    ToolCallPart,
    ToolCallStreaming,
    Turn,
)
from ahp.state.common import SessionStatus
from ahp.wire import UNSET, UnsetType, Wire, present, replace

__all__ = [
    "active_turn",
    "apply",
    "find_input_request",
    "find_tool_call",
    "is_resumable",
    "needs_input",
    "open_input_requests",
    "summary_of",
    "with_activity",
    "with_flag",
]


def apply(state: ChatState, action: Wire) -> ChatState:
    """`state` after `action`; an action of an unknown type changes nothing."""
    reduce = _REDUCERS.get(wire.tag_of(action))
    return state if reduce is None else reduce(state, action)


# Turns.


def _turn_started(state: ChatState, action: ChatTurnStarted) -> ChatState:
    """A new active turn takes the place of any other; the pending message it came from is gone."""
    active = ActiveTurn(
        id=action.turn_id, started_at=action.started_at, message=action.message, response_parts=[], usage=UNSET
    )
    state = unread(recomputed(replace(state, active_turn=active, modified_at=action.started_at)))
    queued = present(action.queued_message_id, "")
    return chat_pending.taken(state, queued) if queued else state


def _delta(state: ChatState, action: ChatDelta) -> ChatState:
    """More text of a markdown part."""
    return _append(state, action.turn_id, action.part_id, action.content, MarkdownPart)


def _reasoning(state: ChatState, action: ChatReasoning) -> ChatState:
    """More text of a reasoning part."""
    return _append(state, action.turn_id, action.part_id, action.content, ReasoningPart)


def _append(
    state: ChatState, turn_id: str, part_id: str, content: str, kind: type[MarkdownPart] | type[ReasoningPart]
) -> ChatState:
    """The first part of that id grows, if it is of the kind."""
    active = active_turn(state, turn_id)
    if active is None:
        return state
    parts = active.response_parts
    for index, part in enumerate(parts):
        if _part_id(part) == part_id:
            if not isinstance(part, kind):
                return state
            grown = parts.copy()
            grown[index] = replace(part, content=part.content + content)
            return replace(state, active_turn=replace(active, response_parts=grown))
    return state


def _part_id(part: ResponsePart) -> object:
    if isinstance(part, ToolCallPart):
        return tool_calls.id_of(part.tool_call)
    return id_of(part)


def _response_part(state: ChatState, action: ChatResponsePart) -> ChatState:
    """Appended as it is, without a look at the status; an error part comes by `chat/error` alone."""
    active = active_turn(state, action.turn_id)
    if active is None or isinstance(action.part, ErrorPart):
        return state
    return replace(state, active_turn=replace(active, response_parts=[*active.response_parts, action.part]))


def _usage(state: ChatState, action: ChatUsage) -> ChatState:
    """The tokens of the turn so far, in place of what was said before."""
    active = active_turn(state, action.turn_id)
    return state if active is None else replace(state, active_turn=replace(active, usage=action.usage))


def _turn_complete(state: ChatState, action: ChatTurnComplete) -> ChatState:
    """The turn has come to its natural end."""
    return _end_turn(state, action.turn_id, action.duration, "complete")


def _turn_cancelled(state: ChatState, action: ChatTurnCancelled) -> ChatState:
    """Somebody stopped the turn."""
    return _end_turn(state, action.turn_id, action.duration, "cancelled")


def _error(state: ChatState, action: ChatError) -> ChatState:
    """The turn failed, and says why in its last part."""
    return _end_turn(state, action.turn_id, action.duration, "error", action.part)


def _end_turn(
    state: ChatState, turn_id: str, duration: float, outcome: str, error: ErrorPart | None = None
) -> ChatState:
    """The active turn becomes a completed one: calls that had not ended are skipped, open questions stay open."""
    active = active_turn(state, turn_id)
    if active is None:
        return state
    parts = [tool_calls.skipped(part) if isinstance(part, ToolCallPart) else part for part in active.response_parts]
    if error is not None:
        parts.append(error)
    duration = max(0, duration)
    turn = Turn(
        id=active.id,
        started_at=active.started_at,
        duration=duration,
        message=active.message,
        response_parts=parts,
        usage=active.usage,
        state=outcome,
    )
    ended = replace(
        state,
        turns=[*state.turns, turn],
        active_turn=UNSET,
        modified_at=_later(active.started_at, duration, state.modified_at),
    )
    if error is not None:
        return replace(ended, status=with_activity(ended.status, SessionStatus.ERROR))
    return recomputed(ended)


def _later(start: str, milliseconds: float, otherwise: str) -> str:
    """`start` plus a duration, in UTC as the wire has dates; `otherwise` where `start` is no date."""
    try:
        begun = datetime.fromisoformat(start)
        begun = begun.replace(tzinfo=UTC) if begun.tzinfo is None else begun.astimezone(UTC)
        moment = begun + timedelta(milliseconds=milliseconds)
    except (ValueError, OverflowError):
        return otherwise
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def _turn_resume(state: ChatState, action: ChatTurnResume) -> ChatState:
    """The latest turn, if it failed resumably and nothing runs, is the active one again, with all it had."""
    if active_turn(state) is not None or not state.turns:
        return state
    last = state.turns[-1]
    if last.id != action.turn_id or not is_resumable(last):
        return state
    active = ActiveTurn(
        id=last.id,
        started_at=present(last.started_at, state.modified_at),
        message=last.message,
        response_parts=last.response_parts,
        usage=last.usage,
    )
    return unread(recomputed(replace(state, turns=state.turns[:-1], active_turn=active)))


def _activity_changed(state: ChatState, action: ChatActivityChanged) -> ChatState:
    """What the chat is doing right now; absent when there is nothing to say."""
    return replace(state, activity=action.activity)


# Tool calls.


def _tool_call_start(state: ChatState, action: ChatToolCallStart) -> ChatState:
    """A call whose input streams is appended."""
    active = active_turn(state, action.turn_id)
    if active is None:
        return state
    call = ToolCallStreaming(
        tool_call_id=action.tool_call_id,
        tool_name=action.tool_name,
        display_name=action.display_name,
        intention=action.intention,
        contributor=action.contributor,
        meta=action.meta,
    )
    parts = [*active.response_parts, ToolCallPart(tool_call=call)]
    return replace(state, active_turn=replace(active, response_parts=parts))


def _tool_call(change: tool_calls.Change, *, recompute: bool) -> Callable[[ChatState, Any], ChatState]:
    """A reducer that changes the named calls of the named active turn; most look at the status even if none matched."""

    def reduce(state: ChatState, action: Any) -> ChatState:
        active = active_turn(state, action.turn_id)
        if active is not None:
            parts = [_changed(part, change, action) for part in active.response_parts]
            if any(new is not old for new, old in zip(parts, active.response_parts, strict=True)):
                state = replace(state, active_turn=replace(active, response_parts=parts))
        return recomputed(state) if recompute else state

    return reduce


def _changed(part: ResponsePart, change: tool_calls.Change, action: Any) -> ResponsePart:
    if not isinstance(part, ToolCallPart) or tool_calls.id_of(part.tool_call) != action.tool_call_id:
        return part
    call = change(part.tool_call, action)
    return part if call is part.tool_call else replace(part, tool_call=call)


# Questions.


def _input_requested(state: ChatState, action: ChatInputRequested) -> ChatState:
    """An open question of that id is replaced in its place and keeps its answers; else the question is appended."""
    active = active_turn(state)
    if active is None:
        return state
    request = action.request
    parts = active.response_parts.copy()
    for index, part in enumerate(parts):
        if isinstance(part, InputRequestPart) and is_open(part) and part.request.id == request.id:
            if isinstance(request.answers, UnsetType):
                request = replace(request, answers=part.request.answers)
            parts[index] = replace(part, request=request)
            break
    else:
        parts.append(InputRequestPart(request=request))
    return unread(recomputed(replace(state, active_turn=replace(active, response_parts=parts))))


def _input_answer_changed(state: ChatState, action: ChatInputAnswerChanged) -> ChatState:
    """A shared draft of one answer is set, or taken back."""

    def change(part: InputRequestPart) -> InputRequestPart:
        answers = dict(present(part.request.answers, {}))
        if isinstance(action.answer, UnsetType):
            answers.pop(action.question_id, None)
        else:
            answers[action.question_id] = action.answer
        return replace(part, request=replace(part.request, answers=answers or UNSET))

    return _change_input(state, action.request_id, change)


def _input_completed(state: ChatState, action: ChatInputCompleted) -> ChatState:
    """The answers given now are laid over the drafts, and the question is closed in its place."""

    def change(part: InputRequestPart) -> InputRequestPart:
        answers = {**present(part.request.answers, {}), **present(action.answers, {})}
        return replace(part, request=replace(part.request, answers=answers or UNSET), response=action.response)

    after = _change_input(state, action.request_id, change)
    return state if after is state else recomputed(after)


def _change_input(
    state: ChatState, request_id: str, change: Callable[[InputRequestPart], InputRequestPart]
) -> ChatState:
    active = active_turn(state)
    for index, part in enumerate([] if active is None else active.response_parts):
        if isinstance(part, InputRequestPart) and is_open(part) and part.request.id == request_id:
            assert active is not None
            parts = active.response_parts.copy()
            parts[index] = change(part)
            return replace(state, active_turn=replace(active, response_parts=parts))
    return state


# Flags, history.


def _is_read_changed(state: ChatState, action: ChatIsReadChanged) -> ChatState:
    """A person has read it, or wants to read it again."""
    return replace(state, status=with_flag(state.status, SessionStatus.IS_READ, on=action.is_read))


def _is_archived_changed(state: ChatState, action: ChatIsArchivedChanged) -> ChatState:
    """Put away, or taken out again."""
    return replace(state, status=with_flag(state.status, SessionStatus.IS_ARCHIVED, on=action.is_archived))


def _truncated(state: ChatState, action: ChatTruncated) -> ChatState:
    """The turns behind the named one go (all without a name), and the active one with them, unrecorded."""
    if isinstance(action.turn_id, UnsetType):
        return recomputed(replace(state, turns=[], turns_next_cursor=UNSET, active_turn=UNSET))
    for index, turn in enumerate(state.turns):
        if turn.id == action.turn_id:
            return recomputed(replace(state, turns=state.turns[: index + 1], active_turn=UNSET))
    return state


def _turns_loaded(state: ChatState, action: ChatTurnsLoaded) -> ChatState:
    """Older turns come before the known ones, each once; the cursor is what the host says now."""
    known = {turn.id for turn in state.turns}
    older = [turn for turn in action.turns if turn.id not in known]
    return replace(state, turns=[*older, *state.turns], turns_next_cursor=action.turns_next_cursor)


_REDUCERS: dict[str, Callable[[ChatState, Any], ChatState]] = {
    "chat/turnStarted": _turn_started,
    "chat/delta": _delta,
    "chat/reasoning": _reasoning,
    "chat/responsePart": _response_part,
    "chat/usage": _usage,
    "chat/turnComplete": _turn_complete,
    "chat/turnCancelled": _turn_cancelled,
    "chat/error": _error,
    "chat/turnResume": _turn_resume,
    "chat/activityChanged": _activity_changed,
    "chat/toolCallStart": _tool_call_start,
    "chat/toolCallDelta": _tool_call(tool_calls.delta, recompute=False),
    "chat/toolCallReady": _tool_call(tool_calls.ready, recompute=True),
    "chat/toolCallConfirmed": _tool_call(tool_calls.confirmed, recompute=True),
    "chat/toolCallContentChanged": _tool_call(tool_calls.content_changed, recompute=False),
    "chat/toolCallAuthRequired": _tool_call(tool_calls.auth_required, recompute=True),
    "chat/toolCallAuthResolved": _tool_call(tool_calls.auth_resolved, recompute=True),
    "chat/toolCallComplete": _tool_call(tool_calls.complete, recompute=True),
    "chat/toolCallResultConfirmed": _tool_call(tool_calls.result_confirmed, recompute=True),
    "chat/inputRequested": _input_requested,
    "chat/inputAnswerChanged": _input_answer_changed,
    "chat/inputCompleted": _input_completed,
    "chat/steeringMessageSet": chat_pending.steering_message_set,
    "chat/steeringMessageRemoved": chat_pending.steering_message_removed,
    "chat/pendingMessageSet": chat_pending.pending_message_set,
    "chat/pendingMessageRemoved": chat_pending.pending_message_removed,
    "chat/queuedMessagesReordered": chat_pending.queued_messages_reordered,
    "chat/draftChanged": chat_pending.draft_changed,
    "chat/isReadChanged": _is_read_changed,
    "chat/isArchivedChanged": _is_archived_changed,
    "chat/truncated": _truncated,
    "chat/turnsLoaded": _turns_loaded,
    "chat/backgroundWorkSet": chat_catalogues.background_work_set,
    "chat/backgroundWorkRemoved": chat_catalogues.background_work_removed,
    "chat/movableChanged": chat_catalogues.movable_changed,
    "chat/changesetsChanged": chat_catalogues.changesets_changed,
    "chat/canvasesChanged": chat_catalogues.canvases_changed,
    "chat/workingDirectorySet": chat_catalogues.working_directory_set,
    "chat/workingDirectoryRemoved": chat_catalogues.working_directory_removed,
}
