"""The states of one tool call, and how an action moves it between them (digest 3, Tool-call transition table).

Each function takes a call and an action and returns the call in its next state, or the very same call where the table
says the action is ignored. `ahp.reducers.chat` finds the calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ahp import wire
from ahp.actions.chat import (
    ChatToolCallAuthRequired,
    ChatToolCallAuthResolved,
    ChatToolCallComplete,
    ChatToolCallConfirmed,
    ChatToolCallContentChanged,
    ChatToolCallDelta,
    ChatToolCallReady,
    ChatToolCallResultConfirmed,
)
from ahp.state.chat import (
    ClientContributor,
    ConfirmationOption,
    McpContributor,
    ToolCallAuthRequired,
    ToolCallCancelled,
    ToolCallCompleted,
    ToolCallContributor,
    ToolCallPart,
    ToolCallPendingConfirmation,
    ToolCallPendingResultConfirmation,
    ToolCallRunning,
    ToolCallState,
    ToolCallStreaming,
)
from ahp.wire import UNSET, Meta, Text, UnsetType, present, replace

Change: TypeAlias = Callable[[ToolCallState, Any], ToolCallState]

_NO_OPTION: ConfirmationOption | UnsetType = UNSET
_NO_TIME: str | UnsetType = UNSET
_Waiting: TypeAlias = ToolCallPendingConfirmation | ToolCallRunning | ToolCallAuthRequired
_ENDED = ("completed", "cancelled")
_KEPT_WHEN_SKIPPED = (
    "toolCallId",
    "toolName",
    "displayName",
    "intention",
    "contributor",
    "_meta",
    "invocationMessage",
    "toolInput",
)


def id_of(call: ToolCallState) -> object:
    """The call's id, also in a status from the future."""
    found = getattr(call, "tool_call_id", None)
    return wire.extras(call).get("toolCallId") if found is None else found


def skipped(part: ToolCallPart) -> ToolCallPart:
    """The part at the end of its turn: a call that had not ended is cancelled as skipped."""
    call = part.tool_call
    if wire.tag_of(call) in _ENDED:
        return part
    if isinstance(call, wire.Unknown):
        return _skipped_unknown(part, call)
    streaming = isinstance(call, ToolCallStreaming)
    cancelled = ToolCallCancelled(
        **_base(call, UNSET),
        invocation_message="" if isinstance(call.invocation_message, UnsetType) else call.invocation_message,
        tool_input=UNSET if streaming else getattr(call, "tool_input", UNSET),
        reason="skipped",
    )
    return ToolCallPart(tool_call=cancelled)


def _skipped_unknown(part: ToolCallPart, call: wire.Unknown) -> ToolCallPart:
    """A call whose status is from the future is skipped like any other, if it has what every call has."""
    given = wire.extras(call)
    kept = {name: given[name] for name in _KEPT_WHEN_SKIPPED if name in given}
    ended = {"invocationMessage": "", **kept, "status": "cancelled", "reason": "skipped"}
    try:
        return ToolCallPart(tool_call=wire.convert(ended, ToolCallCancelled))
    except wire.ValidationError:
        return part


def delta(call: ToolCallState, action: ChatToolCallDelta) -> ToolCallState:
    """More of the input while it streams."""
    if not isinstance(call, ToolCallStreaming):
        return call
    more = present(action.content, "")
    written = call.partial_input
    if not isinstance(action.content, UnsetType):
        written = present(written, Text()) + more
    message = call.invocation_message if isinstance(action.invocation_message, UnsetType) else action.invocation_message
    return replace(call, partial_input=written, invocation_message=message, meta=_meta(call, action.meta))


def ready(call: ToolCallState, action: ChatToolCallReady) -> ToolCallState:
    """The input is whole: with `confirmed` the call runs, without it a person is asked (again)."""
    if not isinstance(call, ToolCallStreaming | ToolCallRunning | ToolCallPendingConfirmation):
        return call
    base = _base(call, action.meta)
    base["contributor"] = _refined(call.contributor, action.contributor)
    base["intention"] = call.intention if isinstance(action.intention, UnsetType) else action.intention
    tool_input = action.tool_input
    if isinstance(tool_input, UnsetType) and not isinstance(call, ToolCallStreaming):
        tool_input = call.tool_input
    if present(action.confirmed, ""):
        return ToolCallRunning(
            **base,
            invocation_message=action.invocation_message,
            tool_input=tool_input,
            confirmed=present(action.confirmed, ""),
            started_at=action.started_at,
        )
    before = call if isinstance(call, ToolCallPendingConfirmation) else None
    asked: dict[str, Any] = {
        name: getattr(before, name, UNSET) if isinstance(getattr(action, name), UnsetType) else getattr(action, name)
        for name in ("confirmation_title", "risk_assessment", "edits", "editable", "options")
    }
    return ToolCallPendingConfirmation(
        **base, invocation_message=action.invocation_message, tool_input=tool_input, **asked
    )


def _refined(known: ToolCallContributor | UnsetType, given: ToolCallContributor | UnsetType) -> Any:
    """A client's call stays that client's, and no other call becomes a client's."""
    if isinstance(given, UnsetType):
        return known
    if isinstance(known, ClientContributor):
        same = isinstance(given, ClientContributor) and given.client_id == known.client_id
        return given if same else known
    return known if isinstance(given, ClientContributor) else given


def confirmed(call: ToolCallState, action: ChatToolCallConfirmed) -> ToolCallState:
    """A person's answer: approved, the call runs; denied, it is over."""
    if not isinstance(call, ToolCallPendingConfirmation):
        return call
    base = _base(call, action.meta)
    option = _selected(call, present(action.selected_option_id, ""))
    if action.approved:
        tool_input = call.tool_input
        if isinstance(tool_input, str) and not isinstance(action.edited_tool_input, UnsetType):
            tool_input = action.edited_tool_input
        return ToolCallRunning(
            **base,
            invocation_message=call.invocation_message,
            tool_input=tool_input,
            confirmed=present(action.confirmed, "user-action"),
            selected_option=option,
            started_at=action.started_at,
        )
    return ToolCallCancelled(
        **base,
        invocation_message=call.invocation_message,
        tool_input=call.tool_input,
        reason=present(action.reason, "denied"),
        reason_message=action.reason_message,
        user_suggestion=action.user_suggestion,
        selected_option=option,
    )


def _selected(call: ToolCallPendingConfirmation, id: str) -> ConfirmationOption | UnsetType:
    return next((option for option in present(call.options, []) if id and option.id == id), UNSET)


def content_changed(call: ToolCallState, action: ChatToolCallContentChanged) -> ToolCallState:
    """What a running call has produced so far, all of it anew."""
    if not isinstance(call, ToolCallRunning):
        return call
    return replace(call, content=action.content, meta=_meta(call, action.meta))


def auth_required(call: ToolCallState, action: ChatToolCallAuthRequired) -> ToolCallState:
    """An MCP server's call waits for more authority."""
    if not isinstance(call, ToolCallRunning) or not isinstance(call.contributor, McpContributor):
        return call
    return ToolCallAuthRequired(
        **_base(call, action.meta),
        invocation_message=call.invocation_message,
        tool_input=call.tool_input,
        confirmed=call.confirmed,
        selected_option=call.selected_option,
        started_at=call.started_at,
        content=call.content,
        auth=action.auth,
    )


def auth_resolved(call: ToolCallState, action: ChatToolCallAuthResolved) -> ToolCallState:
    """The authority is there: the call runs on with all it had."""
    if not isinstance(call, ToolCallAuthRequired):
        return call
    return ToolCallRunning(
        **_base(call, action.meta),
        invocation_message=call.invocation_message,
        tool_input=call.tool_input,
        confirmed=call.confirmed,
        selected_option=call.selected_option,
        started_at=call.started_at,
        content=call.content,
    )


def complete(call: ToolCallState, action: ChatToolCallComplete) -> ToolCallState:
    """The result is there; a person may have to accept it. A call that waits for authority can only fail."""
    if not isinstance(call, _Waiting):
        return call
    result = action.result
    content = result.content
    needs_person = action.requires_result_confirmation is True
    if isinstance(call, ToolCallAuthRequired):
        if result.success:
            return call
        content = call.content if isinstance(content, UnsetType) else content
        needs_person = False
    if isinstance(call, ToolCallPendingConfirmation):
        reason, option, started_at = "not-needed", _NO_OPTION, _NO_TIME
    else:
        reason, option, started_at = call.confirmed, call.selected_option, call.started_at
    kind = ToolCallPendingResultConfirmation if needs_person else ToolCallCompleted
    done = kind(
        **_base(call, action.meta),
        invocation_message=call.invocation_message,
        tool_input=call.tool_input,
        confirmed=reason,
        selected_option=option,
        started_at=started_at,
        duration=action.duration,
        success=result.success,
        past_tense_message=result.past_tense_message,
        content=content,
        structured_content=result.structured_content,
        error=result.error,
    )
    return wire.with_extras(done, wire.extras(result))


def result_confirmed(call: ToolCallState, action: ChatToolCallResultConfirmed) -> ToolCallState:
    """A person's word on a result: kept whole, or the call is cancelled and the result gone."""
    if not isinstance(call, ToolCallPendingResultConfirmation):
        return call
    base = _base(call, action.meta)
    if not action.approved:
        return ToolCallCancelled(
            **base,
            invocation_message=call.invocation_message,
            tool_input=call.tool_input,
            reason="result-denied",
            selected_option=call.selected_option,
        )
    return ToolCallCompleted(
        **base,
        invocation_message=call.invocation_message,
        tool_input=call.tool_input,
        confirmed=call.confirmed,
        selected_option=call.selected_option,
        started_at=call.started_at,
        duration=call.duration,
        success=call.success,
        past_tense_message=call.past_tense_message,
        content=call.content,
        structured_content=call.structured_content,
        error=call.error,
    )


def _base(call: ToolCallState, meta: Meta) -> dict[str, Any]:
    return {
        "tool_call_id": call.tool_call_id,
        "tool_name": call.tool_name,
        "display_name": call.display_name,
        "intention": call.intention,
        "contributor": call.contributor,
        "meta": _meta(call, meta),
    }


def _meta(call: ToolCallState, given: Meta) -> Meta:
    """An action's `_meta` takes the place of the call's."""
    return call.meta if isinstance(given, UnsetType) else given
