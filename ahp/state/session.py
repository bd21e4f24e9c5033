"""The session channel's state (`ahp-session:/<id>`), flat: the summary's fields sit on the state itself (digest 2).

Pure data. What a session can be customized with is in `ahp.state.customizations`.
"""

from __future__ import annotations

from typing import TypeAlias

from ahp.state.chat import ChatInputRequest, ChatOrigin, ChatSummary, ToolCallState
from ahp.state.common import (
    AnnotationsSummary,
    Changeset,
    ChangesSummary,
    ConfigPropertySchema,
    ConfigSchema,
    ConfigState,
    ErrorInfo,
    ToolDefinition,
)
from ahp.state.customizations import Customization, PluginCustomization
from ahp.wire import UNSET, Meta, UnsetType, Wire

SessionConfigPropertySchema: TypeAlias = ConfigPropertySchema
SessionConfigSchema: TypeAlias = ConfigSchema
SessionConfigState: TypeAlias = ConfigState


class ProjectInfo(Wire, frozen=True, kw_only=True):
    """The project a session belongs to, as the host sees it."""

    uri: str
    display_name: str


class AutomationOrigin(Wire, frozen=True, kw_only=True, tag_field="kind", tag="automation"):
    """An automation's run created the session; both are URIs."""

    automation: str
    run: str


class RepositorySource(Wire, frozen=True, kw_only=True):
    """A repository that was asked for at creation, without credentials; no revision means the host's default."""

    source: str
    revision: str | UnsetType = UNSET


class SessionActiveClient(Wire, frozen=True, kw_only=True):
    """A client that gives the session its tools and plugins, keyed by the id of its `initialize`."""

    client_id: str
    tools: list[ToolDefinition]
    display_name: str | UnsetType = UNSET
    customizations: list[PluginCustomization] | UnsetType = UNSET
    meta: Meta = UNSET


class SessionChatInput(Wire, frozen=True, kw_only=True, tag_field="kind", tag="chatInput"):
    """A question that waits in `chat`; answered there by `chat/inputCompleted`."""

    id: str
    chat: str
    request: ChatInputRequest


class SessionToolConfirmation(Wire, frozen=True, kw_only=True, tag_field="kind", tag="toolConfirmation"):
    """A call that waits for a person to let it run, or to let its result through."""

    id: str
    chat: str
    turn_id: str | UnsetType = UNSET
    tool_call: ToolCallState | UnsetType = UNSET


class SessionToolClientExecution(Wire, frozen=True, kw_only=True, tag_field="kind", tag="toolClientExecution"):
    """A running call that the client `client_id` is to execute. It does not raise InputNeeded."""

    id: str
    chat: str
    turn_id: str | UnsetType = UNSET
    client_id: str | UnsetType = UNSET
    tool_call: ToolCallState | UnsetType = UNSET


class SessionToolAuthentication(Wire, frozen=True, kw_only=True, tag_field="kind", tag="toolAuthentication"):
    """A call that waits for a token; answered by `authenticate`."""

    id: str
    chat: str
    turn_id: str | UnsetType = UNSET
    tool_call: ToolCallState | UnsetType = UNSET


class SessionInputRequested(Wire, frozen=True, kw_only=True, tag_field="kind", tag="inputRequest"):
    """The older name of `chatInput`, still sent by hosts at 0.9.0."""

    id: str
    chat: str
    request: ChatInputRequest | UnsetType = UNSET


SessionInputRequest: TypeAlias = (
    SessionChatInput
    | SessionToolConfirmation
    | SessionToolClientExecution
    | SessionToolAuthentication
    | SessionInputRequested
)


class SessionMetadata(Wire, frozen=True, kw_only=True):
    """What the state and the summary share. `status` is a bitset (`SessionStatus`)."""

    provider: str
    title: str
    status: int
    activity: str | UnsetType = UNSET
    origin: AutomationOrigin | UnsetType = UNSET
    project: ProjectInfo | UnsetType = UNSET
    working_directories: list[str] | UnsetType = UNSET
    repositories: list[RepositorySource] | UnsetType = UNSET
    annotations: AnnotationsSummary | UnsetType = UNSET
    changes: ChangesSummary | UnsetType = UNSET
    default_chat: str | UnsetType = UNSET
    meta: Meta = UNSET


class SessionState(SessionMetadata, frozen=True, kw_only=True):
    """A session as its subscribers see it. `lifecycle`: creating, ready or failed; chats are in catalogue order."""

    lifecycle: str
    active_clients: list[SessionActiveClient]
    chats: list[ChatSummary]
    creation_error: ErrorInfo | UnsetType = UNSET
    server_tools: list[ToolDefinition] | UnsetType = UNSET
    config: ConfigState | UnsetType = UNSET
    customizations: list[Customization] | UnsetType = UNSET
    changesets: list[Changeset] | UnsetType = UNSET
    input_needed: list[SessionInputRequest] | UnsetType = UNSET


class SessionChatSummary(Wire, frozen=True, kw_only=True):
    """A chat as the catalogue of sessions shows it."""

    resource: str
    title: str
    status: int | UnsetType = UNSET
    origin: ChatOrigin | UnsetType = UNSET
    interactivity: str | UnsetType = UNSET
    archived: bool | UnsetType = UNSET
    changes: ChangesSummary | UnsetType = UNSET


class SessionSummary(SessionMetadata, frozen=True, kw_only=True):
    """A session in the catalogue of the root channel. `chats` and `default_chat` are for clients from 1.0 on."""

    resource: str
    created_at: str
    modified_at: str
    chats: list[SessionChatSummary] | UnsetType = UNSET


class ChatSummaryChanges(Wire, frozen=True, kw_only=True):
    """The fields of a `ChatSummary` that have new values; what is absent has not changed. `resource` is ignored."""

    resource: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    status: int | UnsetType = UNSET
    modified_at: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    activity: str | UnsetType = UNSET
    changes: ChangesSummary | UnsetType = UNSET
    origin: ChatOrigin | UnsetType = UNSET
    movable: bool | UnsetType = UNSET
    interactivity: str | UnsetType = UNSET
    working_directories: list[str] | UnsetType = UNSET
