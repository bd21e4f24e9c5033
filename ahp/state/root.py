"""The root channel's state: the agents, terminals and settings of the host (digest 1, Root channel). Pure data."""

from __future__ import annotations

from ahp.state.common import ConfigSchema, ConfigState, ProtectedResource
from ahp.state.customizations import Customization
from ahp.state.terminal import TerminalInfo
from ahp.wire import UNSET, Meta, UnsetType, Wire

__all__ = [
    "AgentCapabilities",
    "AgentInfo",
    "MultipleChats",
    "MultipleWorkingDirectories",
    "ProtectedResource",
    "RootState",
    "SessionModelInfo",
    "TerminalInfo",
]


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

    @classmethod
    def of(
        cls, *, multiple_chats: bool, fork: bool, side_chat: bool, multiple_directories: bool
    ) -> AgentCapabilities | None:
        """The capabilities that say this; None where there is nothing to say. A fork or side chat takes many chats."""
        chats = MultipleChats(fork=fork or UNSET, side_chat=side_chat or UNSET)
        folders = MultipleWorkingDirectories(immutable_primary=True, primary_replacement=UNSET)
        if not (multiple_chats or fork or side_chat or multiple_directories):
            return None
        return cls(
            multiple_chats=chats if multiple_chats or fork or side_chat else UNSET,
            multiple_working_directories=folders if multiple_directories else UNSET,
        )


class AgentInfo(Wire, frozen=True, kw_only=True):
    """An agent the host offers, by its provider id."""

    provider: str
    display_name: str
    models: list[SessionModelInfo]
    description: str | UnsetType = UNSET
    protected_resources: list[ProtectedResource] | UnsetType = UNSET
    customizations: list[Customization] | UnsetType = UNSET
    capabilities: AgentCapabilities | UnsetType = UNSET
    meta: Meta = UNSET


class RootState(Wire, frozen=True, kw_only=True):
    """The host as every client sees it. `active_sessions` counts sessions with a turn under way."""

    agents: list[AgentInfo]
    active_sessions: int | UnsetType = UNSET
    terminals: list[TerminalInfo] | UnsetType = UNSET
    config: ConfigState | UnsetType = UNSET
    meta: Meta = UNSET
