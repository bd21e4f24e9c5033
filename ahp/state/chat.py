"""The chat channel's state: turns, what a reply is made of, tool calls, questions, pending messages (digest 3).

Pure data. Times are ISO 8601 UTC, durations milliseconds. Text that grows is `Text`.
"""

from __future__ import annotations

from typing import TypeAlias

from ahp.state.common import (
    AgentSelection,
    Changeset,
    ChangesSummary,
    ContentRef,
    ErrorInfo,
    FileDiff,
    FileEdits,
    FileEditSide,
    ModelSelection,
    StringOrMarkdown,
    TextRange,
    TextSelection,
    UsageInfo,
)
from ahp.wire import JSON, UNSET, Meta, Text, UnsetType, Wire

# Messages.


class MessageOrigin(Wire, frozen=True, kw_only=True):
    """Who wrote it: `user`, `agent`, `tool`, `automation` or `systemNotification`. Clients may only author `user`."""

    kind: str


class SimpleAttachment(Wire, frozen=True, kw_only=True, tag_field="type", tag="simple"):
    """Something the client names; `model_representation` is what the model reads of it."""

    label: str
    model_representation: str | UnsetType = UNSET
    range: TextRange | UnsetType = UNSET
    display_kind: str | UnsetType = UNSET
    meta: Meta = UNSET


class EmbeddedAttachment(Wire, frozen=True, kw_only=True, tag_field="type", tag="embeddedResource"):
    """Small content inline: `data` is base64."""

    label: str
    data: str
    content_type: str
    selection: TextSelection | UnsetType = UNSET
    range: TextRange | UnsetType = UNSET
    display_kind: str | UnsetType = UNSET
    meta: Meta = UNSET


class ResourceAttachment(Wire, frozen=True, kw_only=True, tag_field="type", tag="resource"):
    """A resource the host reads when it needs it; it may live at the client."""

    label: str
    uri: str
    size_hint: int | UnsetType = UNSET
    content_type: str | UnsetType = UNSET
    nonce: str | UnsetType = UNSET
    selection: TextSelection | UnsetType = UNSET
    range: TextRange | UnsetType = UNSET
    display_kind: str | UnsetType = UNSET
    meta: Meta = UNSET


class AnnotationsAttachment(Wire, frozen=True, kw_only=True, tag_field="type", tag="annotations"):
    """Annotations of the channel `resource`; without ids all of them."""

    label: str
    resource: str
    annotation_ids: list[str] | UnsetType = UNSET
    range: TextRange | UnsetType = UNSET
    display_kind: str | UnsetType = UNSET
    meta: Meta = UNSET


class ChatAttachment(Wire, frozen=True, kw_only=True, tag_field="type", tag="chat"):
    """The transcript of the chat `resource` through `end_turn` (the latest completed one without it)."""

    label: str
    resource: str
    end_turn: str | UnsetType = UNSET
    range: TextRange | UnsetType = UNSET
    display_kind: str | UnsetType = UNSET
    meta: Meta = UNSET


MessageAttachment: TypeAlias = (
    SimpleAttachment | EmbeddedAttachment | ResourceAttachment | AnnotationsAttachment | ChatAttachment
)


class Message(Wire, frozen=True, kw_only=True):
    """What somebody says. Without `model` the host's default answers, without `agent` the provider's."""

    text: str
    origin: MessageOrigin
    attachments: list[MessageAttachment] | UnsetType = UNSET
    model: ModelSelection | UnsetType = UNSET
    agent: AgentSelection | UnsetType = UNSET
    meta: Meta = UNSET


class PendingMessage(Wire, frozen=True, kw_only=True):
    """A message that waits: queued for a turn of its own, or to steer the running one."""

    id: str
    message: Message


# Questions.


class TextAnswer(Wire, frozen=True, kw_only=True, tag_field="kind", tag="text"):
    value: str


class NumberAnswer(Wire, frozen=True, kw_only=True, tag_field="kind", tag="number"):
    value: int | float


class BooleanAnswer(Wire, frozen=True, kw_only=True, tag_field="kind", tag="boolean"):
    value: bool


class SelectedAnswer(Wire, frozen=True, kw_only=True, tag_field="kind", tag="selected"):
    """`value` is an option's id."""

    value: str
    freeform_values: list[str] | UnsetType = UNSET


class SelectedManyAnswer(Wire, frozen=True, kw_only=True, tag_field="kind", tag="selected-many"):
    value: list[str]
    freeform_values: list[str] | UnsetType = UNSET


AnswerValue: TypeAlias = TextAnswer | NumberAnswer | BooleanAnswer | SelectedAnswer | SelectedManyAnswer


class DraftAnswer(Wire, frozen=True, kw_only=True, tag_field="state", tag="draft"):
    value: AnswerValue


class SubmittedAnswer(Wire, frozen=True, kw_only=True, tag_field="state", tag="submitted"):
    value: AnswerValue


class SkippedAnswer(Wire, frozen=True, kw_only=True, tag_field="state", tag="skipped"):
    freeform_values: list[str] | UnsetType = UNSET


ChatInputAnswer: TypeAlias = DraftAnswer | SubmittedAnswer | SkippedAnswer


class ChatInputOption(Wire, frozen=True, kw_only=True):
    id: str
    label: str
    description: str | UnsetType = UNSET
    recommended: bool | UnsetType = UNSET


class ChatInputQuestion(Wire, frozen=True, kw_only=True):
    """`kind`: text, number, integer, boolean, single-select or multi-select; which other fields count depends on it."""

    kind: str
    id: str
    message: str
    title: str | UnsetType = UNSET
    required: bool | UnsetType = UNSET
    format: str | UnsetType = UNSET
    min: int | float | UnsetType = UNSET
    max: int | float | UnsetType = UNSET
    default_value: JSON | UnsetType = UNSET
    options: list[ChatInputOption] | UnsetType = UNSET
    allow_freeform_input: bool | UnsetType = UNSET


class ChatInputRequest(Wire, frozen=True, kw_only=True):
    """What a person is asked; answers are shared drafts until the request is completed."""

    id: str
    message: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    questions: list[ChatInputQuestion] | UnsetType = UNSET
    answers: dict[str, ChatInputAnswer] | UnsetType = UNSET


# Tool calls.


class ClientContributor(Wire, frozen=True, kw_only=True, tag_field="kind", tag="client"):
    """The client that runs the call and reports its result."""

    client_id: str


class McpContributor(Wire, frozen=True, kw_only=True, tag_field="kind", tag="mcp"):
    """The MCP server (by its customization's id) that runs the call."""

    customization_id: str


ToolCallContributor: TypeAlias = ClientContributor | McpContributor


class ConfirmationOption(Wire, frozen=True, kw_only=True):
    """A way to answer: `kind` is `approve` or `deny`; where `group` changes a divider may stand."""

    id: str
    label: str
    kind: str
    group: int | UnsetType = UNSET


class RiskAssessment(Wire, frozen=True, kw_only=True):
    """A judge's view: `status` loading or complete; `safety` from 0 (unsafe) to 1."""

    kind: str
    status: str | UnsetType = UNSET
    reason: StringOrMarkdown | UnsetType = UNSET
    safety: int | float | UnsetType = UNSET


class TextContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="text"):
    text: str


class EmbeddedContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="embeddedResource"):
    """`data` is base64."""

    data: str
    content_type: str


class ResourceContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="resource"):
    uri: str
    size_hint: int | UnsetType = UNSET
    content_type: str | UnsetType = UNSET
    nonce: str | UnsetType = UNSET


class FileEditContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="fileEdit"):
    """A FileEdit as content."""

    before: FileEditSide | UnsetType = UNSET
    after: FileEditSide | UnsetType = UNSET
    diff: FileDiff | UnsetType = UNSET


class TerminalResult(Wire, frozen=True, kw_only=True):
    """Set when the command has exited; the terminal may live on."""

    exit_code: int | UnsetType = UNSET
    preview: str | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET


class TerminalContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="terminal"):
    """A terminal to subscribe to; `is_pty` false means plain text."""

    resource: str
    title: str
    is_pty: bool | UnsetType = UNSET
    result: TerminalResult | UnsetType = UNSET


class SubagentContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="subagent"):
    """The chat of a worker that the call spawned."""

    resource: str
    title: str
    agent_name: str | UnsetType = UNSET
    description: str | UnsetType = UNSET


ToolResultContent: TypeAlias = (
    TextContent | EmbeddedContent | ResourceContent | FileEditContent | TerminalContent | SubagentContent
)


class ToolCallError(Wire, frozen=True, kw_only=True):
    message: str
    code: str | UnsetType = UNSET


class ToolCallResult(Wire, frozen=True, kw_only=True):
    """What a call came to."""

    success: bool
    past_tense_message: StringOrMarkdown
    content: list[ToolResultContent] | UnsetType = UNSET
    structured_content: dict[str, JSON] | UnsetType = UNSET
    error: ToolCallError | UnsetType = UNSET


class McpAuthRequirement(Wire, frozen=True, kw_only=True):
    """Why an MCP server wants more authority, never a token."""

    reason: str | UnsetType = UNSET
    resource: JSON | UnsetType = UNSET
    required_scopes: list[str] | UnsetType = UNSET
    description: str | UnsetType = UNSET


class ToolCallBase(Wire, frozen=True, kw_only=True):
    """What every state of a call has."""

    tool_call_id: str
    tool_name: str
    display_name: str
    intention: str | UnsetType = UNSET
    contributor: ToolCallContributor | UnsetType = UNSET
    meta: Meta = UNSET


class ToolCallStreaming(ToolCallBase, frozen=True, kw_only=True, tag_field="status", tag="streaming"):
    partial_input: Text | UnsetType = UNSET
    invocation_message: StringOrMarkdown | UnsetType = UNSET


class ToolCallPendingConfirmation(
    ToolCallBase, frozen=True, kw_only=True, tag_field="status", tag="pending-confirmation"
):
    invocation_message: StringOrMarkdown
    tool_input: str | ContentRef | UnsetType = UNSET
    confirmation_title: StringOrMarkdown | UnsetType = UNSET
    risk_assessment: RiskAssessment | UnsetType = UNSET
    edits: FileEdits | UnsetType = UNSET
    editable: bool | UnsetType = UNSET
    options: list[ConfirmationOption] | UnsetType = UNSET


class ToolCallRunning(ToolCallBase, frozen=True, kw_only=True, tag_field="status", tag="running"):
    """`confirmed`: not-needed, user-action or setting."""

    invocation_message: StringOrMarkdown
    confirmed: str
    tool_input: str | ContentRef | UnsetType = UNSET
    selected_option: ConfirmationOption | UnsetType = UNSET
    started_at: str | UnsetType = UNSET
    content: list[ToolResultContent] | UnsetType = UNSET


class ToolCallAuthRequired(ToolCallBase, frozen=True, kw_only=True, tag_field="status", tag="auth-required"):
    invocation_message: StringOrMarkdown
    confirmed: str
    auth: McpAuthRequirement
    tool_input: str | ContentRef | UnsetType = UNSET
    selected_option: ConfirmationOption | UnsetType = UNSET
    started_at: str | UnsetType = UNSET
    content: list[ToolResultContent] | UnsetType = UNSET


class ToolCallPendingResultConfirmation(
    ToolCallBase, frozen=True, kw_only=True, tag_field="status", tag="pending-result-confirmation"
):
    invocation_message: StringOrMarkdown
    confirmed: str
    success: bool
    past_tense_message: StringOrMarkdown
    tool_input: str | ContentRef | UnsetType = UNSET
    selected_option: ConfirmationOption | UnsetType = UNSET
    started_at: str | UnsetType = UNSET
    duration: int | float | UnsetType = UNSET
    content: list[ToolResultContent] | UnsetType = UNSET
    structured_content: dict[str, JSON] | UnsetType = UNSET
    error: ToolCallError | UnsetType = UNSET


class ToolCallCompleted(ToolCallBase, frozen=True, kw_only=True, tag_field="status", tag="completed"):
    invocation_message: StringOrMarkdown
    confirmed: str
    success: bool
    past_tense_message: StringOrMarkdown
    tool_input: str | ContentRef | UnsetType = UNSET
    selected_option: ConfirmationOption | UnsetType = UNSET
    started_at: str | UnsetType = UNSET
    duration: int | float | UnsetType = UNSET
    content: list[ToolResultContent] | UnsetType = UNSET
    structured_content: dict[str, JSON] | UnsetType = UNSET
    error: ToolCallError | UnsetType = UNSET


class ToolCallCancelled(ToolCallBase, frozen=True, kw_only=True, tag_field="status", tag="cancelled"):
    """`reason`: denied, skipped or result-denied."""

    invocation_message: StringOrMarkdown
    reason: str
    tool_input: str | ContentRef | UnsetType = UNSET
    reason_message: StringOrMarkdown | UnsetType = UNSET
    user_suggestion: Message | UnsetType = UNSET
    selected_option: ConfirmationOption | UnsetType = UNSET


ToolCallState: TypeAlias = (
    ToolCallStreaming
    | ToolCallPendingConfirmation
    | ToolCallRunning
    | ToolCallAuthRequired
    | ToolCallPendingResultConfirmation
    | ToolCallCompleted
    | ToolCallCancelled
)


# Replies.


class MarkdownPart(Wire, frozen=True, kw_only=True, tag_field="kind", tag="markdown"):
    id: str
    content: Text


class ReasoningPart(Wire, frozen=True, kw_only=True, tag_field="kind", tag="reasoning"):
    id: str
    content: Text


class ToolCallPart(Wire, frozen=True, kw_only=True, tag_field="kind", tag="toolCall"):
    tool_call: ToolCallState


class ContentRefPart(Wire, frozen=True, kw_only=True, tag_field="kind", tag="contentRef"):
    uri: str
    size_hint: int | UnsetType = UNSET
    content_type: str | UnsetType = UNSET
    nonce: str | UnsetType = UNSET


class SystemNotificationPart(Wire, frozen=True, kw_only=True, tag_field="kind", tag="systemNotification"):
    """A notice of the harness; clients render it from `content` alone."""

    content: StringOrMarkdown
    meta: Meta = UNSET


class InputRequestPart(Wire, frozen=True, kw_only=True, tag_field="kind", tag="inputRequest"):
    """A question and, once there is one, how it was answered: accept, decline or cancel."""

    request: ChatInputRequest
    response: str | UnsetType = UNSET


class ErrorPart(Wire, frozen=True, kw_only=True, tag_field="kind", tag="error"):
    """The last part of a turn that failed; only `resumable` true lets it be taken up again."""

    error: ErrorInfo
    resumable: bool | UnsetType = UNSET


class AttributionSource(Wire, frozen=True, kw_only=True):
    id: str
    title: str | UnsetType = UNSET
    uri: str | UnsetType = UNSET
    content_type: str | UnsetType = UNSET
    excerpt: str | UnsetType = UNSET
    location: dict[str, JSON] | UnsetType = UNSET


class AttributionSpan(Wire, frozen=True, kw_only=True):
    range: TextRange
    source_ids: list[str]


class AttributionPart(Wire, frozen=True, kw_only=True, tag_field="kind", tag="attribution"):
    """Where an earlier part of the turn has its content from."""

    id: str
    target_part_id: str
    sources: list[AttributionSource]
    spans: list[AttributionSpan]


ResponsePart: TypeAlias = (
    MarkdownPart
    | ReasoningPart
    | ToolCallPart
    | ContentRefPart
    | SystemNotificationPart
    | InputRequestPart
    | ErrorPart
    | AttributionPart
)


class ActiveTurn(Wire, frozen=True, kw_only=True):
    """The turn that runs now."""

    id: str
    started_at: str
    message: Message
    response_parts: list[ResponsePart]
    usage: UsageInfo | UnsetType = UNSET


class Turn(Wire, frozen=True, kw_only=True):
    """A turn that is over: `state` is complete, cancelled or error."""

    id: str
    message: Message
    response_parts: list[ResponsePart]
    state: str
    started_at: str | UnsetType = UNSET
    duration: int | float | UnsetType = UNSET
    usage: UsageInfo | UnsetType = UNSET


# The chat.


class SideChatSelection(Wire, frozen=True, kw_only=True):
    """The text that was selected, verbatim; the part id is advisory."""

    text: str
    response_part_id: str | UnsetType = UNSET


class UserOrigin(Wire, frozen=True, kw_only=True, tag_field="kind", tag="user"):
    """A person opened it."""


class ForkOrigin(Wire, frozen=True, kw_only=True, tag_field="kind", tag="fork"):
    chat: str
    turn_id: str


class SideChatOrigin(Wire, frozen=True, kw_only=True, tag_field="kind", tag="sideChat"):
    chat: str
    turn_id: str
    selection: SideChatSelection | UnsetType = UNSET


class ToolOrigin(Wire, frozen=True, kw_only=True, tag_field="kind", tag="tool"):
    """A worker that a tool call in `chat` spawned."""

    chat: str
    tool_call_id: str


ChatOrigin: TypeAlias = UserOrigin | ForkOrigin | SideChatOrigin | ToolOrigin


class ShellWork(Wire, frozen=True, kw_only=True, tag_field="kind", tag="shell"):
    id: str
    label: str
    started_at: str
    command: str
    terminal: str | UnsetType = UNSET
    meta: Meta = UNSET


class SubagentWork(Wire, frozen=True, kw_only=True, tag_field="kind", tag="subagent"):
    id: str
    label: str
    started_at: str
    chat: str
    meta: Meta = UNSET


BackgroundWork: TypeAlias = ShellWork | SubagentWork


class CanvasInstance(Wire, frozen=True, kw_only=True):
    instance_id: str
    extension_id: str
    canvas_id: str
    revision: int
    availability: str
    extension_name: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    status: str | UnsetType = UNSET


class ChatSummary(Wire, frozen=True, kw_only=True):
    """A chat as its session's catalogue shows it."""

    resource: str
    title: str
    status: int
    modified_at: str
    description: str | UnsetType = UNSET
    activity: str | UnsetType = UNSET
    changes: ChangesSummary | UnsetType = UNSET
    origin: ChatOrigin | UnsetType = UNSET
    movable: bool | UnsetType = UNSET
    interactivity: str | UnsetType = UNSET
    working_directories: list[str] | UnsetType = UNSET


class ChatState(ChatSummary, frozen=True, kw_only=True):
    """The summary fields, and what only the chat's own channel shows. `turns` are the completed ones, oldest first."""

    turns: list[Turn]
    turns_next_cursor: str | UnsetType = UNSET
    active_turn: ActiveTurn | UnsetType = UNSET
    steering_message: PendingMessage | UnsetType = UNSET
    steering_messages: list[PendingMessage] | UnsetType = UNSET
    queued_messages: list[PendingMessage] | UnsetType = UNSET
    draft: Message | UnsetType = UNSET
    background_work: list[BackgroundWork] | UnsetType = UNSET
    changesets: list[Changeset] | UnsetType = UNSET
    canvases: list[CanvasInstance] | UnsetType = UNSET
    meta: Meta = UNSET
