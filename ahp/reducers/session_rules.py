"""What a host refuses of a session's clients (digest 2, Host checks before accepting).

`refusal(…)` is pure: a sentence that says what was wrong and what was expected, or None. The reducer is the same for
everybody, so whatever must not happen is refused here and never reduced. Who the person is, is asked elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ahp import config_schema, wire
from ahp.actions import session as a
from ahp.reducers.customizations import find
from ahp.state.customizations import McpServerCustomization
from ahp.state.root import AgentCapabilities, MultipleWorkingDirectories
from ahp.state.session import SessionState
from ahp.wire import UnsetType, Wire, present


def refusal(
    state: SessionState, action: Wire, client_id: str, *, capabilities: AgentCapabilities | None = None
) -> str | None:
    """Why `action` of `client_id` may not be applied to `state`; None when it may. `capabilities` are the agent's."""
    kind = wire.tag_of(action)
    rule = _RULES.get(kind)
    if rule is not None:
        return rule(state, action, client_id)
    folder_rule = _FOLDER_RULES.get(kind)
    if folder_rule is None:
        return None
    several = None if capabilities is None else present(capabilities.multiple_working_directories, None)
    if several is None:
        return f"agent {state.provider} works in the folder it was started in: it does not take several"
    return folder_rule(state, action, several)


# Active clients.


def _active_client_set(_: SessionState, action: a.SessionActiveClientSet, client_id: str) -> str | None:
    named = action.active_client.client_id
    return None if named == client_id else f"activeClient.clientId is {named}: a client sets itself only ({client_id})"


def _active_client_removed(_: SessionState, action: a.SessionActiveClientRemoved, client_id: str) -> str | None:
    if action.client_id == client_id:
        return None
    return f"clientId is {action.client_id}: a client removes itself only ({client_id}), the host removes who is gone"


# Settings.


def _config_changed(state: SessionState, action: a.SessionConfigChanged, _: str) -> str | None:
    config = present(state.config, None)
    if config is None:
        return "the session has no settings to change"
    replace = action.replace is True
    found = config_schema.change_problems(config.schema, config.values, action.config, replace=replace)
    return "; ".join(found) or None


# Customizations.


def _customization_toggled(state: SessionState, action: a.SessionCustomizationToggled, _: str) -> str | None:
    if find(state, action.id) is None:
        return f"there is no customization {action.id}"
    if isinstance(action.enablement, UnsetType):
        return "enablement is missing: the complete list of decisions is expected"
    return None


def _mcp_server_requested(state: SessionState, action: a.SessionMcpServerStartRequested, _: str) -> str | None:
    found = find(state, action.id)
    if found is None:
        return f"there is no MCP server {action.id}"
    return None if isinstance(found, McpServerCustomization) else f"customization {action.id} is not an MCP server"


# Folders (capability `multipleWorkingDirectories`).


def _directory_set(_: SessionState, action: a.SessionWorkingDirectorySet, __: MultipleWorkingDirectories) -> str | None:
    return _not_a_uri("directory", action.directory)


def _directory_removed(
    state: SessionState, action: a.SessionWorkingDirectoryRemoved, several: MultipleWorkingDirectories
) -> str | None:
    if not _is_primary(state, action.directory):
        return None
    if several.primary_replacement is True:
        return f"{action.directory} is the primary folder: it can be replaced (workingDirectoryReplaced), not removed"
    if several.immutable_primary is True:
        return f"{action.directory} is the primary folder: it is fixed"
    return None


def _directory_replaced(
    state: SessionState, action: a.SessionWorkingDirectoryReplaced, several: MultipleWorkingDirectories
) -> str | None:
    if action.directory not in present(state.working_directories, []):
        return f"{action.directory} is not a folder of the session"
    fixed = several.immutable_primary is True and several.primary_replacement is not True
    if fixed and _is_primary(state, action.directory):
        return f"{action.directory} is the primary folder: it is fixed"
    return _not_a_uri("replacement", action.replacement)


def _is_primary(state: SessionState, directory: str) -> bool:
    return present(state.working_directories, [])[:1] == [directory]


def _not_a_uri(name: str, value: str) -> str | None:
    return None if ":/" in value else f"{name} is {value!r}: a URI such as file:///home/me/project is expected"


_RULES: dict[str, Callable[[SessionState, Any, str], str | None]] = {
    "session/activeClientSet": _active_client_set,
    "session/activeClientRemoved": _active_client_removed,
    "session/configChanged": _config_changed,
    "session/customizationToggled": _customization_toggled,
    "session/mcpServerStartRequested": _mcp_server_requested,
    "session/mcpServerStopRequested": _mcp_server_requested,
    "session/mcpServerBackgroundRequested": _mcp_server_requested,
}

_FOLDER_RULES: dict[str, Callable[[SessionState, Any, MultipleWorkingDirectories], str | None]] = {
    "session/workingDirectorySet": _directory_set,
    "session/workingDirectoryRemoved": _directory_removed,
    "session/workingDirectoryReplaced": _directory_replaced,
}
