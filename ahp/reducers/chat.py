"""The chat channel's reducer, and what can be read off a chat's state (digest 3, Actions and what the reducer does).

`apply(state, action)` is pure: it returns a new state, or the very same one when the action changes nothing. Host and
clients run it on the same actions, so its quirks are the protocol's (digest 3, Reducer traps).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from ahp import wire
from ahp.actions.chat import (
    ChatActivityChanged,
    ChatBackgroundWorkRemoved,
    ChatBackgroundWorkSet,
    ChatCanvasesChanged,
    ChatChangesetsChanged,
    ChatDelta,
    ChatDraftChanged,
    ChatError,
    ChatInputAnswerChanged,
    ChatInputCompleted,
    ChatInputRequested,
    ChatIsArchivedChanged,
    ChatIsReadChanged,
    ChatMovableChanged,
    ChatPendingMessageRemoved,
    ChatPendingMessageSet,
    ChatQueuedMessagesReordered,
    ChatReasoning,
    ChatResponsePart,
    ChatSteeringMessageRemoved,
    ChatSteeringMessageSet,
    ChatToolCallStart,
    ChatTruncated,
    ChatTurnCancelled,
    ChatTurnComplete,
    ChatTurnResume,
    ChatTurnsLoaded,
    ChatTurnStarted,
    ChatUsage,
    ChatWorkingDirectoryRemoved,
    ChatWorkingDirectorySet,
)
from ahp.reducers import tool_calls
from ahp.state.chat import (
    ActiveTurn,
    ChatInputRequest,
    ChatState,
    ChatSummary,
    ErrorPart,
    InputRequestPart,
    MarkdownPart,
    PendingMessage,
    ReasoningPart,
    ResponsePart,
    ToolCallPart,
    ToolCallState,
    ToolCallStreaming,
    Turn,
)
from ahp.state.common import SessionStatus
from ahp.wire import UNSET, UnsetType, Wire, present, replace

_WAITING = ("pending-confirmation", "pending-result-confirmation", "auth-required")


def apply(state: ChatState, action: Wire) -> ChatState:
    """`state` after `action`; an action of an unknown type changes nothing."""
    reduce = _REDUCERS.get(wire.tag_of(action))
    return state if reduce is None else reduce(state, action)


# What can be read off a state.


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
        if isinstance(part, ToolCallPart) and part.tool_call.tool_call_id == tool_call_id:
            return part.tool_call
    return None


def open_input_requests(state: ChatState) -> list[ChatInputRequest]:
    """The questions of the active turn that nobody has answered."""
    active = active_turn(state)
    parts = [] if active is None else active.response_parts
    return [part.request for part in parts if isinstance(part, InputRequestPart) and _is_open(part)]


def find_input_request(state: ChatState, request_id: str) -> ChatInputRequest | None:
    """The open question `request_id`."""
    return next((request for request in open_input_requests(state) if request.id == request_id), None)


def needs_input(state: ChatState) -> bool:
    """Whether the active turn waits for a person."""
    active = active_turn(state)
    return active is not None and any(_is_open(part) or _waits(part) for part in active.response_parts)


def _is_open(part: ResponsePart) -> bool:
    return isinstance(part, InputRequestPart) and isinstance(part.response, UnsetType)


def _waits(part: ResponsePart) -> bool:
    return isinstance(part, ToolCallPart) and wire.tag_of(part.tool_call) in _WAITING


# Status.


def with_activity(status: int, activity: int) -> int:
    return status & ~SessionStatus.ACTIVITY | activity


def with_flag(status: int, flag: int, *, on: bool) -> int:
    return status | flag if on else status & ~flag


def _recompute(state: ChatState) -> ChatState:
    """The activity bits follow from the active turn; the flags stay."""
    if needs_input(state):
        activity = SessionStatus.INPUT_NEEDED
    else:
        activity = SessionStatus.IN_PROGRESS if active_turn(state) is not None else SessionStatus.IDLE
    status = with_activity(state.status, activity)
    return state if status == state.status else replace(state, status=status)


def _unread(state: ChatState) -> ChatState:
    return replace(state, status=with_flag(state.status, SessionStatus.IS_READ, on=False))


# Turns.


def _turn_started(state: ChatState, action: ChatTurnStarted) -> ChatState:
    """A new active turn takes the place of any other; the pending message it came from is gone."""
    active = ActiveTurn(
        id=action.turn_id, started_at=action.started_at, message=action.message, response_parts=[], usage=UNSET
    )
    state = _unread(_recompute(replace(state, active_turn=active, modified_at=action.started_at)))
    queued = present(action.queued_message_id, "")
    if not queued:
        return state
    slot = present(state.steering_message, None)
    return replace(
        state,
        steering_message=UNSET if slot is not None and slot.id == queued else state.steering_message,
        steering_messages=_without(state.steering_messages, queued),
        queued_messages=_without(state.queued_messages, queued),
    )


def _delta(state: ChatState, action: ChatDelta) -> ChatState:
    return _append(state, action.turn_id, action.part_id, action.content, MarkdownPart)


def _reasoning(state: ChatState, action: ChatReasoning) -> ChatState:
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


def _part_id(part: ResponsePart) -> str | None:
    if isinstance(part, ToolCallPart):
        return part.tool_call.tool_call_id
    found = getattr(part, "id", None)
    return found if isinstance(found, str) else wire.extras(part).get("id")


def _response_part(state: ChatState, action: ChatResponsePart) -> ChatState:
    """Appended as it is, without a look at the status; an error part comes by `chat/error` alone."""
    active = active_turn(state, action.turn_id)
    if active is None or isinstance(action.part, ErrorPart):
        return state
    return replace(state, active_turn=replace(active, response_parts=[*active.response_parts, action.part]))


def _usage(state: ChatState, action: ChatUsage) -> ChatState:
    active = active_turn(state, action.turn_id)
    return state if active is None else replace(state, active_turn=replace(active, usage=action.usage))


def _turn_complete(state: ChatState, action: ChatTurnComplete) -> ChatState:
    return _end_turn(state, action.turn_id, action.duration, "complete")


def _turn_cancelled(state: ChatState, action: ChatTurnCancelled) -> ChatState:
    return _end_turn(state, action.turn_id, action.duration, "cancelled")


def _error(state: ChatState, action: ChatError) -> ChatState:
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
    return _recompute(ended)


def _later(start: str, milliseconds: float, otherwise: str) -> str:
    """`start` plus a duration, as the wire has dates; `otherwise` where `start` is no date."""
    try:
        moment = datetime.fromisoformat(start) + timedelta(milliseconds=milliseconds)
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
    return _unread(_recompute(replace(state, turns=state.turns[:-1], active_turn=active)))


def is_resumable(turn: Turn) -> bool:
    """Whether a failed turn may be taken up again: its last part is an error that says so."""
    last = turn.response_parts[-1] if turn.response_parts else None
    return turn.state == "error" and isinstance(last, ErrorPart) and last.resumable is True


def _activity_changed(state: ChatState, action: ChatActivityChanged) -> ChatState:
    return replace(state, activity=action.activity)


# Tool calls.


def _tool_call_start(state: ChatState, action: ChatToolCallStart) -> ChatState:
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
        return _recompute(state) if recompute else state

    return reduce


def _changed(part: ResponsePart, change: tool_calls.Change, action: Any) -> ResponsePart:
    if not isinstance(part, ToolCallPart) or part.tool_call.tool_call_id != action.tool_call_id:
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
        if isinstance(part, InputRequestPart) and _is_open(part) and part.request.id == request.id:
            if isinstance(request.answers, UnsetType):
                request = replace(request, answers=part.request.answers)
            parts[index] = replace(part, request=request)
            break
    else:
        parts.append(InputRequestPart(request=request))
    return _unread(_recompute(replace(state, active_turn=replace(active, response_parts=parts))))


def _input_answer_changed(state: ChatState, action: ChatInputAnswerChanged) -> ChatState:
    def change(part: InputRequestPart) -> InputRequestPart:
        answers = dict(present(part.request.answers, {}))
        if isinstance(action.answer, UnsetType):
            answers.pop(action.question_id, None)
        else:
            answers[action.question_id] = action.answer
        return replace(part, request=replace(part.request, answers=answers or UNSET))

    return _change_input(state, action.request_id, change)


def _input_completed(state: ChatState, action: ChatInputCompleted) -> ChatState:
    def change(part: InputRequestPart) -> InputRequestPart:
        answers = {**present(part.request.answers, {}), **present(action.answers, {})}
        return replace(part, request=replace(part.request, answers=answers or UNSET), response=action.response)

    after = _change_input(state, action.request_id, change)
    return state if after is state else _recompute(after)


def _change_input(
    state: ChatState, request_id: str, change: Callable[[InputRequestPart], InputRequestPart]
) -> ChatState:
    active = active_turn(state)
    for index, part in enumerate([] if active is None else active.response_parts):
        if isinstance(part, InputRequestPart) and _is_open(part) and part.request.id == request_id:
            assert active is not None
            parts = active.response_parts.copy()
            parts[index] = change(part)
            return replace(state, active_turn=replace(active, response_parts=parts))
    return state


# Pending messages.


def _upsert(waiting: list[PendingMessage] | UnsetType, message: PendingMessage) -> list[PendingMessage]:
    found = present(waiting, [])
    if any(known.id == message.id for known in found):
        return [message if known.id == message.id else known for known in found]
    return [*found, message]


def _without(waiting: list[PendingMessage] | UnsetType, id: str) -> list[PendingMessage] | UnsetType:
    """The list without that message; an emptied list is absent."""
    if isinstance(waiting, UnsetType):
        return UNSET
    return [message for message in waiting if message.id != id] or UNSET


def _steering_message_set(state: ChatState, action: ChatSteeringMessageSet) -> ChatState:
    return replace(state, steering_messages=_upsert(state.steering_messages, action.steering_message))


def _steering_message_removed(state: ChatState, action: ChatSteeringMessageRemoved) -> ChatState:
    if all(message.id != action.id for message in present(state.steering_messages, [])):
        return state
    return replace(state, steering_messages=_without(state.steering_messages, action.id))


def _pending_message_set(state: ChatState, action: ChatPendingMessageSet) -> ChatState:
    """Steering: the slot is replaced. Queued: in its place, else at the end."""
    message = PendingMessage(id=action.id, message=action.message)
    if action.kind == "steering":
        return replace(state, steering_message=message)
    return replace(state, queued_messages=_upsert(state.queued_messages, message))


def _pending_message_removed(state: ChatState, action: ChatPendingMessageRemoved) -> ChatState:
    if action.kind == "steering":
        slot = present(state.steering_message, None)
        return replace(state, steering_message=UNSET) if slot is not None and slot.id == action.id else state
    if all(message.id != action.id for message in present(state.queued_messages, [])):
        return state
    return replace(state, queued_messages=_without(state.queued_messages, action.id))


def _queued_messages_reordered(state: ChatState, action: ChatQueuedMessagesReordered) -> ChatState:
    """The named ones first, in the named order; the others after them as they were."""
    if isinstance(state.queued_messages, UnsetType):
        return state
    known = {message.id: message for message in state.queued_messages}
    named = [known[id] for id in dict.fromkeys(action.order) if id in known]
    rest = [message for message in state.queued_messages if message.id not in action.order]
    return replace(state, queued_messages=[*named, *rest])


# Draft, flags, history, catalogues.


def _draft_changed(state: ChatState, action: ChatDraftChanged) -> ChatState:
    return replace(state, draft=action.draft)


def _is_read_changed(state: ChatState, action: ChatIsReadChanged) -> ChatState:
    return replace(state, status=with_flag(state.status, SessionStatus.IS_READ, on=action.is_read))


def _is_archived_changed(state: ChatState, action: ChatIsArchivedChanged) -> ChatState:
    return replace(state, status=with_flag(state.status, SessionStatus.IS_ARCHIVED, on=action.is_archived))


def _truncated(state: ChatState, action: ChatTruncated) -> ChatState:
    """The turns behind the named one go (all without a name), and the active one with them, unrecorded."""
    if isinstance(action.turn_id, UnsetType):
        return _recompute(replace(state, turns=[], turns_next_cursor=UNSET, active_turn=UNSET))
    for index, turn in enumerate(state.turns):
        if turn.id == action.turn_id:
            return _recompute(replace(state, turns=state.turns[: index + 1], active_turn=UNSET))
    return state


def _turns_loaded(state: ChatState, action: ChatTurnsLoaded) -> ChatState:
    known = {turn.id for turn in state.turns}
    older = [turn for turn in action.turns if turn.id not in known]
    return replace(state, turns=[*older, *state.turns], turns_next_cursor=action.turns_next_cursor)


def _background_work_set(state: ChatState, action: ChatBackgroundWorkSet) -> ChatState:
    work = present(state.background_work, [])
    id = getattr(action.work, "id", None)
    if any(getattr(known, "id", None) == id for known in work):
        return replace(
            state, background_work=[action.work if getattr(known, "id", None) == id else known for known in work]
        )
    return replace(state, background_work=[*work, action.work])


def _background_work_removed(state: ChatState, action: ChatBackgroundWorkRemoved) -> ChatState:
    work = present(state.background_work, [])
    rest = [known for known in work if getattr(known, "id", None) != action.id]
    return state if len(rest) == len(work) else replace(state, background_work=rest)


def _movable_changed(state: ChatState, action: ChatMovableChanged) -> ChatState:
    return replace(state, movable=action.movable)


def _changesets_changed(state: ChatState, action: ChatChangesetsChanged) -> ChatState:
    return replace(state, changesets=action.changesets)


def _canvases_changed(state: ChatState, action: ChatCanvasesChanged) -> ChatState:
    return replace(state, canvases=action.canvases)


def _working_directory_set(state: ChatState, action: ChatWorkingDirectorySet) -> ChatState:
    """On a chat that had all of the session's folders, this narrows it to the one."""
    folders = present(state.working_directories, [])
    return state if action.directory in folders else replace(state, working_directories=[*folders, action.directory])


def _working_directory_removed(state: ChatState, action: ChatWorkingDirectoryRemoved) -> ChatState:
    folders = present(state.working_directories, [])
    rest = [folder for folder in folders if folder != action.directory]
    return state if len(rest) == len(folders) else replace(state, working_directories=rest)


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
    "chat/steeringMessageSet": _steering_message_set,
    "chat/steeringMessageRemoved": _steering_message_removed,
    "chat/pendingMessageSet": _pending_message_set,
    "chat/pendingMessageRemoved": _pending_message_removed,
    "chat/queuedMessagesReordered": _queued_messages_reordered,
    "chat/draftChanged": _draft_changed,
    "chat/isReadChanged": _is_read_changed,
    "chat/isArchivedChanged": _is_archived_changed,
    "chat/truncated": _truncated,
    "chat/turnsLoaded": _turns_loaded,
    "chat/backgroundWorkSet": _background_work_set,
    "chat/backgroundWorkRemoved": _background_work_removed,
    "chat/movableChanged": _movable_changed,
    "chat/changesetsChanged": _changesets_changed,
    "chat/canvasesChanged": _canvases_changed,
    "chat/workingDirectorySet": _working_directory_set,
    "chat/workingDirectoryRemoved": _working_directory_removed,
}
