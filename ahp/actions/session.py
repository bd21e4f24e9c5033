"""The session channel's actions (digest 2, Actions). Pure data."""

from __future__ import annotations

from typing import TypeAlias

from ahp.state.chat import ChatSummary
from ahp.state.common import Changeset, ErrorInfo, ToolDefinition
from ahp.state.customizations import Customization, CustomizationEnablement, McpServerState
from ahp.state.session import ChatSummaryChanges, SessionActiveClient, SessionInputRequest
from ahp.wire import JSON, UNSET, Meta, UnsetType, Wire


class SessionReady(Wire, frozen=True, kw_only=True, tag_field="type", tag="session/ready"):
    pass


class SessionCreationFailed(Wire, frozen=True, kw_only=True, tag_field="type", tag="session/creationFailed"):
    error: ErrorInfo


class SessionChatAdded(Wire, frozen=True, kw_only=True, tag_field="type", tag="session/chatAdded"):
    summary: ChatSummary


class SessionChatRemoved(Wire, frozen=True, kw_only=True, tag_field="type", tag="session/chatRemoved"):
    chat: str


class SessionChatUpdated(Wire, frozen=True, kw_only=True, tag_field="type", tag="session/chatUpdated"):
    """What `changes` does not name stays. Nothing can be cleared by it: that takes a `SessionChatAdded`."""

    chat: str
    changes: ChatSummaryChanges


class SessionChatsReordered(Wire, frozen=True, kw_only=True, tag_field="type", tag="session/chatsReordered"):
    """`chats`: every chat of the session once, in the new order of the catalogue."""

    chats: list[str]


class SessionDefaultChatChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="session/defaultChatChanged"):
    default_chat: str | UnsetType = UNSET


class SessionTitleChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="session/titleChanged"):
    title: str


class SessionServerToolsChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="session/serverToolsChanged"):
    tools: list[ToolDefinition]


class SessionActiveClientSet(Wire, frozen=True, kw_only=True, tag_field="type", tag="session/activeClientSet"):
    active_client: SessionActiveClient


class SessionActiveClientRemoved(Wire, frozen=True, kw_only=True, tag_field="type", tag="session/activeClientRemoved"):
    client_id: str


class SessionWorkingDirectorySet(Wire, frozen=True, kw_only=True, tag_field="type", tag="session/workingDirectorySet"):
    directory: str


class SessionWorkingDirectoryRemoved(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="session/workingDirectoryRemoved"
):
    directory: str


class SessionWorkingDirectoryReplaced(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="session/workingDirectoryReplaced"
):
    directory: str
    replacement: str


class SessionInputNeededSet(Wire, frozen=True, kw_only=True, tag_field="type", tag="session/inputNeededSet"):
    request: SessionInputRequest


class SessionInputNeededRemoved(Wire, frozen=True, kw_only=True, tag_field="type", tag="session/inputNeededRemoved"):
    id: str


class SessionCustomizationsChanged(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="session/customizationsChanged"
):
    customizations: list[Customization]


class SessionCustomizationToggled(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="session/customizationToggled"
):
    """`enablement`: all decisions there are from now on, the most specific first."""

    id: str
    enablement: list[CustomizationEnablement] | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET


class SessionCustomizationUpdated(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="session/customizationUpdated"
):
    customization: Customization


class SessionCustomizationRemoved(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="session/customizationRemoved"
):
    id: str


class SessionMcpServerStateChanged(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="session/mcpServerStateChanged"
):
    id: str
    state: McpServerState
    channel: str | UnsetType = UNSET


class SessionMcpServerStartRequested(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="session/mcpServerStartRequested"
):
    id: str


class SessionMcpServerStopRequested(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="session/mcpServerStopRequested"
):
    id: str


class SessionMcpServerBackgroundRequested(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="session/mcpServerBackgroundRequested"
):
    id: str


class SessionIsReadChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="session/isReadChanged"):
    is_read: bool


class SessionIsArchivedChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="session/isArchivedChanged"):
    is_archived: bool


class SessionActivityChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="session/activityChanged"):
    activity: str | UnsetType = UNSET


class SessionChangesetsChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="session/changesetsChanged"):
    changesets: list[Changeset] | UnsetType = UNSET


class SessionConfigChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="session/configChanged"):
    """`config` is merged into the values, or with `replace` takes their place."""

    config: dict[str, JSON]
    replace: bool | UnsetType = UNSET


class SessionMetaChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="session/metaChanged"):
    meta: Meta = UNSET


SessionAction: TypeAlias = (
    SessionReady
    | SessionCreationFailed
    | SessionChatAdded
    | SessionChatRemoved
    | SessionChatUpdated
    | SessionChatsReordered
    | SessionDefaultChatChanged
    | SessionTitleChanged
    | SessionServerToolsChanged
    | SessionActiveClientSet
    | SessionActiveClientRemoved
    | SessionWorkingDirectorySet
    | SessionWorkingDirectoryRemoved
    | SessionWorkingDirectoryReplaced
    | SessionInputNeededSet
    | SessionInputNeededRemoved
    | SessionCustomizationsChanged
    | SessionCustomizationToggled
    | SessionCustomizationUpdated
    | SessionCustomizationRemoved
    | SessionMcpServerStateChanged
    | SessionMcpServerStartRequested
    | SessionMcpServerStopRequested
    | SessionMcpServerBackgroundRequested
    | SessionIsReadChanged
    | SessionIsArchivedChanged
    | SessionActivityChanged
    | SessionChangesetsChanged
    | SessionConfigChanged
    | SessionMetaChanged
)
