"""The session channel's reducer (digest 2).

`apply(state, action)` is pure: it returns a new state, or the very same one when the action changes nothing. Host and
clients run it on the same actions. What the host works out over a session's chats is in `ahp.reducers.session_views`,
whose names can be had from here too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ahp import wire
from ahp.actions import session as actions
from ahp.reducers import customizations
from ahp.reducers.lists import id_of, removed, upserted
from ahp.reducers.session_views import (
    aggregate,
    aggregate_status,
    chat_change,
    chat_changes,
    input_requests,
    summary_of,
)
from ahp.state.chat import ChatSummary
from ahp.state.common import SessionStatus
from ahp.state.session import ChatSummaryChanges, SessionState
from ahp.wire import UNSET, UnsetType, Wire, present, replace

__all__ = [
    "aggregate",
    "aggregate_status",
    "apply",
    "chat_change",
    "chat_changes",
    "input_requests",
    "summary_of",
]


def apply(state: SessionState, action: Wire) -> SessionState:
    """`state` after `action`; an action of an unknown type changes nothing."""
    reduce = _REDUCERS.get(wire.tag_of(action))
    return state if reduce is None else reduce(state, action)


# Life.


def _ready(state: SessionState, _: actions.SessionReady) -> SessionState:
    return replace(state, lifecycle="ready")


def _creation_failed(state: SessionState, action: actions.SessionCreationFailed) -> SessionState:
    return replace(state, lifecycle="failed", creation_error=action.error)


# The catalogue of chats.


def _chat_added(state: SessionState, action: actions.SessionChatAdded) -> SessionState:
    """In its place if it is there, else at the end."""
    return replace(state, chats=upserted(state.chats, action.summary, lambda chat: chat.resource))


def _chat_removed(state: SessionState, action: actions.SessionChatRemoved) -> SessionState:
    """A default chat that is gone is no default any more."""
    chats = removed(state.chats, action.chat, lambda chat: chat.resource)
    if chats is state.chats:
        return state
    default = UNSET if state.default_chat == action.chat else state.default_chat
    return replace(state, chats=chats, default_chat=default)


def _chat_updated(state: SessionState, action: actions.SessionChatUpdated) -> SessionState:
    """The given fields are laid over the chat's; its resource stays."""
    for index, chat in enumerate(state.chats):
        if chat.resource == action.chat:
            chats = [*state.chats[:index], _overlaid(chat, action.changes), *state.chats[index + 1 :]]
            return replace(state, chats=chats)
    return state


def _overlaid(chat: ChatSummary, changes: ChatSummaryChanges) -> ChatSummary:
    given = {
        name: value
        for name in ChatSummaryChanges.__struct_fields__
        if name != "resource" and not isinstance(value := getattr(changes, name), UnsetType)
    }
    return wire.with_extras(replace(chat, **given), wire.extras(changes))


def _chats_reordered(state: SessionState, action: actions.SessionChatsReordered) -> SessionState:
    """Only an order that names every chat exactly once is one."""
    known = {chat.resource: chat for chat in state.chats}
    if len(action.chats) != len(known) or set(action.chats) != set(known):
        return state
    return replace(state, chats=[known[uri] for uri in action.chats])


def _default_chat_changed(state: SessionState, action: actions.SessionDefaultChatChanged) -> SessionState:
    return replace(state, default_chat=action.default_chat)


# What the session is called and offers, and who is there.


def _title_changed(state: SessionState, action: actions.SessionTitleChanged) -> SessionState:
    return replace(state, title=action.title)


def _server_tools_changed(state: SessionState, action: actions.SessionServerToolsChanged) -> SessionState:
    return replace(state, server_tools=action.tools)


def _active_client_set(state: SessionState, action: actions.SessionActiveClientSet) -> SessionState:
    clients = upserted(state.active_clients, action.active_client, lambda client: client.client_id)
    return replace(state, active_clients=clients)


def _active_client_removed(state: SessionState, action: actions.SessionActiveClientRemoved) -> SessionState:
    clients = removed(state.active_clients, action.client_id, lambda client: client.client_id)
    return state if clients is state.active_clients else replace(state, active_clients=clients)


# Folders.


def _working_directory_set(state: SessionState, action: actions.SessionWorkingDirectorySet) -> SessionState:
    folders = present(state.working_directories, [])
    return state if action.directory in folders else replace(state, working_directories=[*folders, action.directory])


def _working_directory_removed(state: SessionState, action: actions.SessionWorkingDirectoryRemoved) -> SessionState:
    folders = present(state.working_directories, [])
    rest = removed(folders, action.directory, lambda folder: folder)
    return state if rest is folders else replace(state, working_directories=rest)


def _working_directory_replaced(state: SessionState, action: actions.SessionWorkingDirectoryReplaced) -> SessionState:
    """In its place, and there only; where the replacement stands earlier already, that is its place."""
    folders = present(state.working_directories, [])
    if action.directory not in folders:
        return state
    index = folders.index(action.directory)
    if action.replacement in folders[:index]:
        return replace(state, working_directories=[*folders[:index], *folders[index + 1 :]])
    before = [folder for folder in folders[:index] if folder != action.replacement]
    after = [folder for folder in folders[index + 1 :] if folder != action.replacement]
    return replace(state, working_directories=[*before, action.replacement, *after])


# What waits for somebody.


def _input_needed_set(state: SessionState, action: actions.SessionInputNeededSet) -> SessionState:
    needed = upserted(present(state.input_needed, []), action.request, id_of)
    return _with_needs(replace(state, input_needed=needed))


def _input_needed_removed(state: SessionState, action: actions.SessionInputNeededRemoved) -> SessionState:
    needed = present(state.input_needed, [])
    rest = removed(needed, action.id, id_of)
    return state if rest is needed else _with_needs(replace(state, input_needed=rest or UNSET))


def _with_needs(state: SessionState) -> SessionState:
    """A request raises InputNeeded, except one that a client executes; without any a turn goes on being in progress."""
    if any(wire.tag_of(request) != "toolClientExecution" for request in present(state.input_needed, [])):
        return replace(state, status=state.status & ~SessionStatus.ACTIVITY | SessionStatus.INPUT_NEEDED)
    waiting_bit = SessionStatus.INPUT_NEEDED & ~SessionStatus.IN_PROGRESS
    return replace(state, status=state.status & ~waiting_bit)


# Marks, activity, catalogues, settings.


def _is_read_changed(state: SessionState, action: actions.SessionIsReadChanged) -> SessionState:
    return _flagged(state, SessionStatus.IS_READ, on=action.is_read)


def _is_archived_changed(state: SessionState, action: actions.SessionIsArchivedChanged) -> SessionState:
    return _flagged(state, SessionStatus.IS_ARCHIVED, on=action.is_archived)


def _flagged(state: SessionState, flag: int, *, on: bool) -> SessionState:
    return replace(state, status=state.status | flag if on else state.status & ~flag)


def _activity_changed(state: SessionState, action: actions.SessionActivityChanged) -> SessionState:
    return replace(state, activity=action.activity)


def _changesets_changed(state: SessionState, action: actions.SessionChangesetsChanged) -> SessionState:
    return replace(state, changesets=action.changesets)


def _config_changed(state: SessionState, action: actions.SessionConfigChanged) -> SessionState:
    """Merged into the values, or in their place; nothing where the session has no settings."""
    config = present(state.config, None)
    if config is None:
        return state
    values = action.config if action.replace is True else {**config.values, **action.config}
    return replace(state, config=replace(config, values=values))


def _meta_changed(state: SessionState, action: actions.SessionMetaChanged) -> SessionState:
    return replace(state, meta=action.meta)


_REDUCERS: dict[str, Callable[[SessionState, Any], SessionState]] = {
    "session/ready": _ready,
    "session/creationFailed": _creation_failed,
    "session/chatAdded": _chat_added,
    "session/chatRemoved": _chat_removed,
    "session/chatUpdated": _chat_updated,
    "session/chatsReordered": _chats_reordered,
    "session/defaultChatChanged": _default_chat_changed,
    "session/titleChanged": _title_changed,
    "session/serverToolsChanged": _server_tools_changed,
    "session/activeClientSet": _active_client_set,
    "session/activeClientRemoved": _active_client_removed,
    "session/workingDirectorySet": _working_directory_set,
    "session/workingDirectoryRemoved": _working_directory_removed,
    "session/workingDirectoryReplaced": _working_directory_replaced,
    "session/inputNeededSet": _input_needed_set,
    "session/inputNeededRemoved": _input_needed_removed,
    "session/customizationsChanged": customizations.changed,
    "session/customizationToggled": customizations.toggled,
    "session/customizationUpdated": customizations.updated,
    "session/customizationRemoved": customizations.remove,
    "session/mcpServerStateChanged": customizations.mcp_state_changed,
    "session/mcpServerStartRequested": customizations.mcp_start_requested,
    "session/mcpServerStopRequested": customizations.mcp_stop_requested,
    "session/mcpServerBackgroundRequested": customizations.mcp_background_requested,
    "session/isReadChanged": _is_read_changed,
    "session/isArchivedChanged": _is_archived_changed,
    "session/activityChanged": _activity_changed,
    "session/changesetsChanged": _changesets_changed,
    "session/configChanged": _config_changed,
    "session/metaChanged": _meta_changed,
}
