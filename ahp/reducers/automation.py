"""The reducers of the automation catalogue (`apply`) and of an automation's run (`apply_run`).

Pure; the very same state comes back when nothing changes. Requests of clients change nothing: the host's answer does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ahp import wire
from ahp.actions import automation as actions
from ahp.reducers.lists import removed, upserted
from ahp.state.automation import AutomationRunState, AutomationState
from ahp.wire import UNSET, Wire, replace


def apply(state: AutomationState, action: Wire) -> AutomationState:
    """The catalogue after `action`; an action of an unknown type changes nothing."""
    reduce = _REDUCERS.get(wire.tag_of(action))
    return state if reduce is None else reduce(state, action)


def apply_run(state: AutomationRunState, action: Wire) -> AutomationRunState:
    """The run after `action`; an action of an unknown type changes nothing."""
    reduce = _RUN_REDUCERS.get(wire.tag_of(action))
    return state if reduce is None else reduce(state, action)


def _set(state: AutomationState, action: actions.AutomationSet) -> AutomationState:
    """In its place if it is there, else at the end."""
    return replace(state, entries=upserted(state.entries, action.automation, lambda entry: entry.resource))


def _removed(state: AutomationState, action: actions.AutomationRemoved) -> AutomationState:
    entries = removed(state.entries, action.resource, lambda entry: entry.resource)
    return state if entries is state.entries else replace(state, entries=entries)


def _lifecycle_changed(state: AutomationRunState, action: actions.AutomationRunLifecycleChanged) -> AutomationRunState:
    return replace(state, lifecycle=action.lifecycle, operations=action.operations)


def _session_set(state: AutomationRunState, action: actions.AutomationRunSessionSet) -> AutomationRunState:
    return state if action.session in state.sessions else replace(state, sessions=[*state.sessions, action.session])


def _session_removed(state: AutomationRunState, action: actions.AutomationRunSessionRemoved) -> AutomationRunState:
    """A primary session that is gone is no primary one any more."""
    sessions = removed(state.sessions, action.session, lambda session: session)
    if sessions is state.sessions:
        return state
    primary = UNSET if state.primary_session == action.session else state.primary_session
    return replace(state, sessions=sessions, primary_session=primary)


def _primary_session_changed(
    state: AutomationRunState, action: actions.AutomationRunPrimarySessionChanged
) -> AutomationRunState:
    return replace(state, primary_session=action.primary_session)


_REDUCERS: dict[str, Callable[[AutomationState, Any], AutomationState]] = {
    "automation/set": _set,
    "automation/removed": _removed,
}

_RUN_REDUCERS: dict[str, Callable[[AutomationRunState, Any], AutomationRunState]] = {
    "automationRun/lifecycleChanged": _lifecycle_changed,
    "automationRun/sessionSet": _session_set,
    "automationRun/sessionRemoved": _session_removed,
    "automationRun/primarySessionChanged": _primary_session_changed,
}
