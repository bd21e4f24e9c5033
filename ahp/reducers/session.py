"""The session channel's reducer, and the session's view over its chats (digest 2).

`apply(state, action)` is pure and returns the very same state when the action changes nothing. `aggregate` and
`input_requests` are the host's alone: no action carries what they work out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ahp import wire
from ahp.actions import session as a
from ahp.state.chat import ChatSummary
from ahp.state.common import SessionStatus
from ahp.state.session import (
    CREATION_FAILED,
    READY,
    Customization,
    DirectoryCustomization,
    Enablement,
    McpServerCustomization,
    McpServerState,
    PluginCustomization,
    SessionState,
)
from ahp.wire import UNSET, Wire, present, replace


def apply(state: SessionState, action: Wire) -> SessionState:
    """`state` after `action`; an action of an unknown type changes nothing."""
    reduce = _REDUCERS.get(wire.tag_of(action))
    return state if reduce is None else reduce(state, action)


# Lifecycle and catalogue of chats.


def _ready(state: SessionState, _: a.SessionReady) -> SessionState:
    return replace(state, lifecycle=READY)


def _creation_failed(state: SessionState, action: a.SessionCreationFailed) -> SessionState:
    return replace(state, lifecycle=CREATION_FAILED, creation_error=action.error)


def _chat_added(state: SessionState, action: a.SessionChatAdded) -> SessionState:
    """In its place if it is there, else at the end."""
    return replace(state, chats=_upsert(state.chats, action.summary, lambda chat: chat.resource))


def _chat_removed(state: SessionState, action: a.SessionChatRemoved) -> SessionState:
    """A default chat that is gone is no default any more."""
    chats = [chat for chat in state.chats if chat.resource != action.chat]
    if len(chats) == len(state.chats):
        return state
    return replace(state, chats=chats, default_chat=UNSET if state.default_chat == action.chat else state.default_chat)


def _chat_updated(state: SessionState, action: a.SessionChatUpdated) -> SessionState:
    """The given fields are laid over the chat's; its resource stays."""
    changes = {name: value for name, value in action.changes.items() if name != "resource"}
    for index, chat in enumerate(state.chats):
        if chat.resource == action.chat:
            chats = state.chats.copy()
            chats[index] = _overlaid(chat, changes)
            return replace(state, chats=chats)
    return state


def _overlaid(chat: ChatSummary, changes: dict[str, Any]) -> ChatSummary:
    merged = {**wire.to_builtins(chat), **changes}
    return wire.convert({name: value for name, value in merged.items() if value is not None}, ChatSummary)


def _chats_reordered(state: SessionState, action: a.SessionChatsReordered) -> SessionState:
    """The named chats take, in their new order, the places that they have among all."""
    known = {chat.resource: chat for chat in state.chats}
    block = [known[uri] for uri in dict.fromkeys(action.chats) if uri in known]
    moved = {chat.resource for chat in block}
    order = iter(block)
    return replace(state, chats=[next(order) if chat.resource in moved else chat for chat in state.chats])


def _default_chat_changed(state: SessionState, action: a.SessionDefaultChatChanged) -> SessionState:
    return replace(state, default_chat=action.default_chat)


# What the session is and offers.


def _title_changed(state: SessionState, action: a.SessionTitleChanged) -> SessionState:
    return replace(state, title=action.title)


def _server_tools_changed(state: SessionState, action: a.SessionServerToolsChanged) -> SessionState:
    return replace(state, server_tools=action.tools)


def _active_client_set(state: SessionState, action: a.SessionActiveClientSet) -> SessionState:
    clients = _upsert(state.active_clients, action.active_client, lambda client: client.client_id)
    return replace(state, active_clients=clients)


def _active_client_removed(state: SessionState, action: a.SessionActiveClientRemoved) -> SessionState:
    clients = [client for client in state.active_clients if client.client_id != action.client_id]
    return state if len(clients) == len(state.active_clients) else replace(state, active_clients=clients)


def _working_directory_set(state: SessionState, action: a.SessionWorkingDirectorySet) -> SessionState:
    folders = present(state.working_directories, [])
    return state if action.directory in folders else replace(state, working_directories=[*folders, action.directory])


def _working_directory_removed(state: SessionState, action: a.SessionWorkingDirectoryRemoved) -> SessionState:
    folders = present(state.working_directories, [])
    rest = [folder for folder in folders if folder != action.directory]
    return state if len(rest) == len(folders) else replace(state, working_directories=rest)


def _working_directory_replaced(state: SessionState, action: a.SessionWorkingDirectoryReplaced) -> SessionState:
    """In its place; where the replacement is there already, the two become one."""
    folders = present(state.working_directories, [])
    if action.directory not in folders:
        return state
    swapped = [action.replacement if folder == action.directory else folder for folder in folders]
    return replace(state, working_directories=list(dict.fromkeys(swapped)))


# What waits for somebody.


def _input_needed_set(state: SessionState, action: a.SessionInputNeededSet) -> SessionState:
    needed = _upsert(present(state.input_needed, []), action.request, _request_id)
    return _status_of_needs(replace(state, input_needed=needed))


def _input_needed_removed(state: SessionState, action: a.SessionInputNeededRemoved) -> SessionState:
    needed = present(state.input_needed, [])
    rest = [request for request in needed if _request_id(request) != action.id]
    if len(rest) == len(needed):
        return state
    return _status_of_needs(replace(state, input_needed=rest or UNSET))


def _request_id(request: Any) -> str | None:
    found = getattr(request, "id", None)
    return found if isinstance(found, str) else wire.extras(request).get("id")


def _status_of_needs(state: SessionState) -> SessionState:
    """A question raises InputNeeded; without one the session goes on as it was."""
    needed = any(wire.tag_of(request) != "toolClientExecution" for request in present(state.input_needed, []))
    activity = state.status & SessionStatus.ACTIVITY
    if needed:
        status = state.status & ~SessionStatus.ACTIVITY | SessionStatus.INPUT_NEEDED
    elif activity == SessionStatus.INPUT_NEEDED:
        status = state.status & ~SessionStatus.ACTIVITY | SessionStatus.IN_PROGRESS
    else:
        status = state.status
    return replace(state, status=status)


# Customizations.


def _customizations_changed(state: SessionState, action: a.SessionCustomizationsChanged) -> SessionState:
    return replace(state, customizations=action.customizations)


def _customization_toggled(state: SessionState, action: a.SessionCustomizationToggled) -> SessionState:
    """A plugin and a server keep the decision of each scope, everything else the one that is in force."""

    def toggle(found: Any) -> Any:
        decisions = present(action.enablement, [])
        if isinstance(found, PluginCustomization | McpServerCustomization):
            return replace(found, enablement=decisions or UNSET)
        return replace(found, enabled=_in_force(decisions))

    return _change_customization(state, action.id, toggle)


def _in_force(decisions: list[Enablement]) -> bool:
    """The decision of the narrowest scope; without any it is enabled."""
    by_scope = {decision.scope: decision.enabled for decision in decisions}
    return next((by_scope[scope] for scope in ("session", "workspace", "global") if scope in by_scope), True)


def _customization_updated(state: SessionState, action: a.SessionCustomizationUpdated) -> SessionState:
    """A container (or top-level server) in its place, else at the end; a child is none."""
    known = present(state.customizations, [])
    return replace(state, customizations=_upsert(known, action.customization, _request_id))


def _customization_removed(state: SessionState, action: a.SessionCustomizationRemoved) -> SessionState:
    """With its children when it is at the top; else the child, in whichever containers it is."""
    known = present(state.customizations, [])
    rest = [item for item in known if _request_id(item) != action.id]
    if len(rest) < len(known):
        return replace(state, customizations=rest)
    changed = [_without_child(item, action.id) for item in known]
    same = all(new is old for new, old in zip(changed, known, strict=True))
    return state if same else replace(state, customizations=changed)


def _without_child(item: Customization, id: str) -> Customization:
    children = _children(item)
    left = [child for child in children if _request_id(child) != id]
    return item if len(left) == len(children) else replace(item, children=left)


def _mcp_server_state_changed(state: SessionState, action: a.SessionMcpServerStateChanged) -> SessionState:
    def change(found: Customization) -> Customization:
        if not isinstance(found, McpServerCustomization):
            return found
        return replace(found, state=action.state, channel=action.channel)

    return _change_customization(state, action.id, change)


def _mcp_server_start_requested(state: SessionState, action: a.SessionMcpServerStartRequested) -> SessionState:
    return _mcp_server_state(state, action.id, "starting")


def _mcp_server_stop_requested(state: SessionState, action: a.SessionMcpServerStopRequested) -> SessionState:
    return _mcp_server_state(state, action.id, "stopped")


def _mcp_server_state(state: SessionState, id: str, kind: str) -> SessionState:
    def change(found: Customization) -> Customization:
        if not isinstance(found, McpServerCustomization):
            return found
        return replace(found, state=McpServerState(kind=kind), channel=UNSET)

    return _change_customization(state, id, change)


def _change_customization(state: SessionState, id: str, change: Callable[[Any], Any]) -> SessionState:
    """The first of that id, top level before children."""
    known = present(state.customizations, [])
    for index, item in enumerate(known):
        if _request_id(item) == id:
            changed = known.copy()
            changed[index] = change(item)
            return replace(state, customizations=changed)
    for index, item in enumerate(known):
        children = _children(item)
        for place, child in enumerate(children):
            if _request_id(child) == id:
                within = children.copy()
                within[place] = change(child)
                changed = known.copy()
                changed[index] = replace(item, children=within)
                return replace(state, customizations=changed)
    return state


def _children(item: Customization) -> list[Any]:
    return present(item.children, []) if isinstance(item, PluginCustomization | DirectoryCustomization) else []


# Flags, activity, settings.


def _is_read_changed(state: SessionState, action: a.SessionIsReadChanged) -> SessionState:
    return _flag(state, SessionStatus.IS_READ, on=action.is_read)


def _is_archived_changed(state: SessionState, action: a.SessionIsArchivedChanged) -> SessionState:
    return _flag(state, SessionStatus.IS_ARCHIVED, on=action.is_archived)


def _flag(state: SessionState, flag: int, *, on: bool) -> SessionState:
    return replace(state, status=state.status | flag if on else state.status & ~flag)


def _activity_changed(state: SessionState, action: a.SessionActivityChanged) -> SessionState:
    return replace(state, activity=action.activity)


def _changesets_changed(state: SessionState, action: a.SessionChangesetsChanged) -> SessionState:
    return replace(state, changesets=action.changesets)


def _config_changed(state: SessionState, action: a.SessionConfigChanged) -> SessionState:
    """Nothing to change where the session has no settings."""
    config = present(state.config, None)
    if config is None:
        return state
    values = action.config if action.replace is True else {**config.values, **action.config}
    return replace(state, config=replace(config, values=values))


def _meta_changed(state: SessionState, action: a.SessionMetaChanged) -> SessionState:
    return replace(state, meta=action.meta)


def _upsert(items: list[Any], item: Any, key: Callable[[Any], object]) -> list[Any]:
    """`items` with `item` in the place of the one with its key, else at the end."""
    wanted = key(item)
    for index, known in enumerate(items):
        if key(known) == wanted:
            changed = items.copy()
            changed[index] = item
            return changed
    return [*items, item]


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
    "session/customizationsChanged": _customizations_changed,
    "session/customizationToggled": _customization_toggled,
    "session/customizationUpdated": _customization_updated,
    "session/customizationRemoved": _customization_removed,
    "session/mcpServerStateChanged": _mcp_server_state_changed,
    "session/mcpServerStartRequested": _mcp_server_start_requested,
    "session/mcpServerStopRequested": _mcp_server_stop_requested,
    "session/isReadChanged": _is_read_changed,
    "session/isArchivedChanged": _is_archived_changed,
    "session/activityChanged": _activity_changed,
    "session/changesetsChanged": _changesets_changed,
    "session/configChanged": _config_changed,
    "session/metaChanged": _meta_changed,
}
