"""The chat channel's actions (digest 3, Actions and what the reducer does). Pure data.

Who may dispatch what is `ahp.actions.CLIENT_DISPATCHABLE`; what each does is `ahp.reducers.chat`.
"""

from __future__ import annotations

from typing import TypeAlias

from ahp.state.chat import (
    BackgroundWork,
    CanvasInstance,
    ChatInputAnswer,
    ChatInputRequest,
    ConfirmationOption,
    ErrorPart,
    McpAuthRequirement,
    Message,
    PendingMessage,
    ResponsePart,
    RiskAssessment,
    ToolCallContributor,
    ToolCallResult,
    ToolResultContent,
    Turn,
)
from ahp.state.common import Changeset, ContentRef, FileEdits, StringOrMarkdown, UsageInfo
from ahp.wire import UNSET, Meta, UnsetType, Wire

# Turns.


class ChatTurnStarted(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/turnStarted"):
    turn_id: str
    started_at: str
    message: Message
    queued_message_id: str | UnsetType = UNSET
    meta: Meta = UNSET


class ChatDelta(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/delta"):
    turn_id: str
    part_id: str
    content: str
    meta: Meta = UNSET


class ChatReasoning(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/reasoning"):
    turn_id: str
    part_id: str
    content: str
    meta: Meta = UNSET


class ChatResponsePart(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/responsePart"):
    turn_id: str
    part: ResponsePart
    meta: Meta = UNSET


class ChatUsage(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/usage"):
    turn_id: str
    usage: UsageInfo
    meta: Meta = UNSET


class ChatTurnComplete(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/turnComplete"):
    turn_id: str
    duration: int | float
    meta: Meta = UNSET


class ChatTurnCancelled(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/turnCancelled"):
    turn_id: str
    duration: int | float
    meta: Meta = UNSET


class ChatError(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/error"):
    turn_id: str
    duration: int | float
    part: ErrorPart
    meta: Meta = UNSET


class ChatTurnResume(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/turnResume"):
    turn_id: str
    meta: Meta = UNSET


class ChatActivityChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/activityChanged"):
    activity: str | UnsetType = UNSET


# Tool calls.


class ChatToolCallStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/toolCallStart"):
    turn_id: str
    tool_call_id: str
    tool_name: str
    display_name: str
    intention: str | UnsetType = UNSET
    contributor: ToolCallContributor | UnsetType = UNSET
    meta: Meta = UNSET


class ChatToolCallDelta(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/toolCallDelta"):
    turn_id: str
    tool_call_id: str
    content: str | UnsetType = UNSET
    invocation_message: StringOrMarkdown | UnsetType = UNSET
    meta: Meta = UNSET


class ChatToolCallReady(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/toolCallReady"):
    """With `confirmed` the call runs, without it a person is asked."""

    turn_id: str
    tool_call_id: str
    invocation_message: StringOrMarkdown
    contributor: ToolCallContributor | UnsetType = UNSET
    intention: str | UnsetType = UNSET
    tool_input: str | ContentRef | UnsetType = UNSET
    confirmation_title: StringOrMarkdown | UnsetType = UNSET
    risk_assessment: RiskAssessment | UnsetType = UNSET
    edits: FileEdits | UnsetType = UNSET
    editable: bool | UnsetType = UNSET
    confirmed: str | UnsetType = UNSET
    options: list[ConfirmationOption] | UnsetType = UNSET
    started_at: str | UnsetType = UNSET
    meta: Meta = UNSET


class ChatToolCallConfirmed(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/toolCallConfirmed"):
    """`confirmed` and `edited_tool_input` go with an approval, `reason` and what follows it with a denial."""

    turn_id: str
    tool_call_id: str
    approved: bool
    confirmed: str | UnsetType = UNSET
    edited_tool_input: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    reason_message: StringOrMarkdown | UnsetType = UNSET
    user_suggestion: Message | UnsetType = UNSET
    selected_option_id: str | UnsetType = UNSET
    started_at: str | UnsetType = UNSET
    meta: Meta = UNSET


class ChatToolCallContentChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/toolCallContentChanged"):
    turn_id: str
    tool_call_id: str
    content: list[ToolResultContent]
    meta: Meta = UNSET


class ChatToolCallAuthRequired(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/toolCallAuthRequired"):
    turn_id: str
    tool_call_id: str
    auth: McpAuthRequirement
    meta: Meta = UNSET


class ChatToolCallAuthResolved(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/toolCallAuthResolved"):
    turn_id: str
    tool_call_id: str
    meta: Meta = UNSET


class ChatToolCallComplete(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/toolCallComplete"):
    turn_id: str
    tool_call_id: str
    result: ToolCallResult
    requires_result_confirmation: bool | UnsetType = UNSET
    duration: int | float | UnsetType = UNSET
    meta: Meta = UNSET


class ChatToolCallResultConfirmed(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/toolCallResultConfirmed"
):
    turn_id: str
    tool_call_id: str
    approved: bool
    meta: Meta = UNSET


# Questions: they name no turn, they are the active one's.


class ChatInputRequested(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/inputRequested"):
    request: ChatInputRequest
    meta: Meta = UNSET


class ChatInputAnswerChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/inputAnswerChanged"):
    request_id: str
    question_id: str
    answer: ChatInputAnswer | UnsetType = UNSET
    meta: Meta = UNSET


class ChatInputCompleted(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/inputCompleted"):
    request_id: str
    response: str
    answers: dict[str, ChatInputAnswer] | UnsetType = UNSET
    meta: Meta = UNSET


# Pending messages, draft, flags, history, catalogues.


class ChatSteeringMessageSet(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/steeringMessageSet"):
    steering_message: PendingMessage


class ChatSteeringMessageRemoved(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/steeringMessageRemoved"):
    id: str


class ChatPendingMessageSet(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/pendingMessageSet"):
    """`kind`: steering (the one slot) or queued."""

    kind: str
    id: str
    message: Message


class ChatPendingMessageRemoved(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/pendingMessageRemoved"):
    kind: str
    id: str


class ChatQueuedMessagesReordered(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/queuedMessagesReordered"
):
    order: list[str]


class ChatDraftChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/draftChanged"):
    draft: Message | UnsetType = UNSET


class ChatIsReadChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/isReadChanged"):
    is_read: bool


class ChatIsArchivedChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/isArchivedChanged"):
    is_archived: bool


class ChatTruncated(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/truncated"):
    """Keeps the turns up to and with `turn_id`; none without it."""

    turn_id: str | UnsetType = UNSET


class ChatTurnsLoaded(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/turnsLoaded"):
    turns: list[Turn]
    turns_next_cursor: str | UnsetType = UNSET


class ChatBackgroundWorkSet(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/backgroundWorkSet"):
    work: BackgroundWork


class ChatBackgroundWorkRemoved(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/backgroundWorkRemoved"):
    id: str


class ChatMovableChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/movableChanged"):
    movable: bool


class ChatChangesetsChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/changesetsChanged"):
    changesets: list[Changeset] | UnsetType = UNSET


class ChatCanvasesChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/canvasesChanged"):
    canvases: list[CanvasInstance] | UnsetType = UNSET


class ChatWorkingDirectorySet(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/workingDirectorySet"):
    directory: str


class ChatWorkingDirectoryRemoved(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="chat/workingDirectoryRemoved"
):
    directory: str


ChatAction: TypeAlias = (
    ChatTurnStarted
    | ChatDelta
    | ChatReasoning
    | ChatResponsePart
    | ChatUsage
    | ChatTurnComplete
    | ChatTurnCancelled
    | ChatError
    | ChatTurnResume
    | ChatActivityChanged
    | ChatToolCallStart
    | ChatToolCallDelta
    | ChatToolCallReady
    | ChatToolCallConfirmed
    | ChatToolCallContentChanged
    | ChatToolCallAuthRequired
    | ChatToolCallAuthResolved
    | ChatToolCallComplete
    | ChatToolCallResultConfirmed
    | ChatInputRequested
    | ChatInputAnswerChanged
    | ChatInputCompleted
    | ChatSteeringMessageSet
    | ChatSteeringMessageRemoved
    | ChatPendingMessageSet
    | ChatPendingMessageRemoved
    | ChatQueuedMessagesReordered
    | ChatDraftChanged
    | ChatIsReadChanged
    | ChatIsArchivedChanged
    | ChatTruncated
    | ChatTurnsLoaded
    | ChatBackgroundWorkSet
    | ChatBackgroundWorkRemoved
    | ChatMovableChanged
    | ChatChangesetsChanged
    | ChatCanvasesChanged
    | ChatWorkingDirectorySet
    | ChatWorkingDirectoryRemoved
)
