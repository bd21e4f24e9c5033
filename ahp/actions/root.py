"""The root channel's actions. Pure data."""

from __future__ import annotations

from typing import TypeAlias

from ahp.state.root import AgentInfo
from ahp.state.terminal import TerminalInfo
from ahp.wire import JSON, UNSET, UnsetType, Wire


class RootAgentsChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="root/agentsChanged"):
    agents: list[AgentInfo]


class RootActiveSessionsChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="root/activeSessionsChanged"):
    active_sessions: int


class RootTerminalsChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="root/terminalsChanged"):
    terminals: list[TerminalInfo]


class RootConfigChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="root/configChanged"):
    """`config` is merged into the values, or with `replace` takes their place. Clients may dispatch it."""

    config: dict[str, JSON]
    replace: bool | UnsetType = UNSET


RootAction: TypeAlias = RootAgentsChanged | RootActiveSessionsChanged | RootTerminalsChanged | RootConfigChanged
