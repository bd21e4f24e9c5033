"""The root channel's reducer, and what `root/sessionSummaryChanged` carries (digest 1, Root channel).

`apply` is pure; the very same state comes back when nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ahp import wire
from ahp.actions import root as a
from ahp.state.root import RootState
from ahp.state.session import SessionSummary
from ahp.wire import JSON, UnsetType, Wire, present, replace

_IDENTITY = ("resource", "provider", "created_at")
_EMPTY: dict[str, JSON] = {"activity": "", "working_directories": [], "changes": {}, "chats": [], "meta": {}}


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


def summary_changes(before: SessionSummary, after: SessionSummary) -> dict[str, JSON]:
    """The `changes` of `root/sessionSummaryChanged` as on the wire: the fields with new values, never the identity.

    What the notification does not name stays as it was at a client, so a field that is gone is sent empty where its
    type has an empty value, and else not at all.
    """
    changes: dict[str, JSON] = {}
    for name, wire_name in zip(SessionSummary.__struct_fields__, SessionSummary.__struct_encode_fields__, strict=True):
        value = getattr(after, name)
        if name in _IDENTITY or value == getattr(before, name):
            continue
        if not isinstance(value, UnsetType):
            changes[wire_name] = wire.to_builtins(value)
        elif name in _EMPTY:
            changes[wire_name] = _EMPTY[name]
    return changes


_REDUCERS: dict[str, Callable[[RootState, Any], RootState]] = {
    "root/agentsChanged": _agents_changed,
    "root/activeSessionsChanged": _active_sessions_changed,
    "root/terminalsChanged": _terminals_changed,
    "root/configChanged": _config_changed,
}
