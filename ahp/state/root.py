"""The root channel's state: the agents, terminals and settings of the host (digest 1, Root channel). Pure data."""

from __future__ import annotations

from ahp.state.common import ConfigSchema, ConfigState, ProtectedResource
from ahp.state.terminal import TerminalInfo
from ahp.wire import JSON, UNSET, Meta, UnsetType, Wire


class SessionModelInfo(Wire, frozen=True, kw_only=True):
    """A model an agent offers. `policy_state`: enabled, disabled or unconfigured; sizes are in tokens."""

    id: str
    name: str
    provider: str | UnsetType = UNSET
    max_context_window: int | UnsetType = UNSET
    max_output_tokens: int | UnsetType = UNSET
    max_prompt_tokens: int | UnsetType = UNSET
    supports_vision: bool | UnsetType = UNSET
    policy_state: str | UnsetType = UNSET
    config_schema: ConfigSchema | UnsetType = UNSET
    meta: Meta = UNSET


class MultipleChats(Wire, frozen=True, kw_only=True):
    """A session may have several chats; from which sources."""

    fork: bool | UnsetType = UNSET
    side_chat: bool | UnsetType = UNSET


class MultipleWorkingDirectories(Wire, frozen=True, kw_only=True):
    """A session may have several folders. Index 0 is fixed, or replaced only as a replacement."""

    immutable_primary: bool | UnsetType = UNSET
    primary_replacement: bool | UnsetType = UNSET


class AgentCapabilities(Wire, frozen=True, kw_only=True):
    """What an agent can; what is absent it cannot."""

    multiple_chats: MultipleChats | UnsetType = UNSET
    multiple_working_directories: MultipleWorkingDirectories | UnsetType = UNSET


class AgentInfo(Wire, frozen=True, kw_only=True):
    """An agent the host offers, by its provider id."""

    provider: str
    display_name: str
    models: list[SessionModelInfo]
    description: str | UnsetType = UNSET
    protected_resources: list[ProtectedResource] | UnsetType = UNSET
    customizations: list[dict[str, JSON]] | UnsetType = UNSET
    capabilities: AgentCapabilities | UnsetType = UNSET
    meta: Meta = UNSET


class RootState(Wire, frozen=True, kw_only=True):
    """The host as every client sees it. `active_sessions` counts sessions with a turn under way."""

    agents: list[AgentInfo]
    active_sessions: int | UnsetType = UNSET
    terminals: list[TerminalInfo] | UnsetType = UNSET
    config: ConfigState | UnsetType = UNSET
    meta: Meta = UNSET
