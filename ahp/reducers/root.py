"""The root channel's reducer. `apply` is pure; the very same state comes back when nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ahp import wire
from ahp.actions import root as a
from ahp.state.root import RootState
from ahp.wire import Wire, present, replace


def apply(state: RootState, action: Wire) -> RootState:
    """`state` after `action`; an action of an unknown type changes nothing."""
    reduce = _REDUCERS.get(wire.tag_of(action))
    return state if reduce is None else reduce(state, action)


def _agents_changed(state: RootState, action: a.RootAgentsChanged) -> RootState:
    return replace(state, agents=action.agents)


def _active_sessions_changed(state: RootState, action: a.RootActiveSessionsChanged) -> RootState:
    return replace(state, active_sessions=action.active_sessions)


def _terminals_changed(state: RootState, action: a.RootTerminalsChanged) -> RootState:
    return replace(state, terminals=action.terminals)


def _config_changed(state: RootState, action: a.RootConfigChanged) -> RootState:
    """Nothing to change where the host has no settings."""
    config = present(state.config, None)
    if config is None:
        return state
    values = action.config if action.replace is True else {**config.values, **action.config}
    return replace(state, config=replace(config, values=values))


_REDUCERS: dict[str, Callable[[RootState, Any], RootState]] = {
    "root/agentsChanged": _agents_changed,
    "root/activeSessionsChanged": _active_sessions_changed,
    "root/terminalsChanged": _terminals_changed,
    "root/configChanged": _config_changed,
}
