"""The part of the session reducer that changes customizations: found by id, the top level before what is inside.

Pure functions for `ahp.reducers.session` alone; each returns the very same state when nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ahp import wire
from ahp.actions import session as actions
from ahp.reducers.lists import id_of, removed, upserted
from ahp.state.customizations import (
    ContainerCustomization,
    CustomizationBase,
    CustomizationEnablement,
    McpServerCustomization,
    McpServerState,
    PluginCustomization,
)
from ahp.state.session import SessionState
from ahp.wire import UNSET, UnsetType, present, replace

Change: TypeAlias = Callable[[Any], Any]


def find(state: SessionState, id: str) -> Any | None:
    """The customization of that id, the top level before what is inside; None where there is none."""
    known = present(state.customizations, [])
    everything = [*known, *(child for item in known for child in _children(item))]
    return next((item for item in everything if id_of(item) == id), None)


def changed(state: SessionState, action: actions.SessionCustomizationsChanged) -> SessionState:
    """All of them anew."""
    return replace(state, customizations=action.customizations)


def updated(state: SessionState, action: actions.SessionCustomizationUpdated) -> SessionState:
    """A top-level one with its children: in its place, else at the end."""
    known = present(state.customizations, [])
    return replace(state, customizations=upserted(known, action.customization, id_of))


def toggled(state: SessionState, action: actions.SessionCustomizationToggled) -> SessionState:
    """Plugins and MCP servers keep every decision, everything else the one in force. The first of that id."""
    if isinstance(action.enablement, UnsetType):
        return state
    decisions = action.enablement

    def toggle(item: Any) -> Any:
        if isinstance(item, PluginCustomization | McpServerCustomization):
            return replace(item, enablement=decisions or UNSET)
        if isinstance(item, CustomizationBase):
            return replace(item, enabled=_in_force(decisions))
        return wire.with_extras(item, {"enabled": _in_force(decisions)})

    known = present(state.customizations, [])
    index = _index(known, action.id)
    if index is not None:
        return replace(state, customizations=_with(known, index, toggle(known[index])))
    for index, item in enumerate(known):
        children = _children(item)
        place = _index(children, action.id)
        if place is not None:
            inside = replace(item, children=_with(children, place, toggle(children[place])))
            return replace(state, customizations=_with(known, index, inside))
    return state


def _in_force(decisions: list[CustomizationEnablement]) -> bool:
    """The first is the most specific; without any it is enabled."""
    return decisions[0].enabled if decisions else True


def remove(state: SessionState, action: actions.SessionCustomizationRemoved) -> SessionState:
    """A top-level one with its children, else the child in every container that has it."""
    known = present(state.customizations, [])
    rest = removed(known, action.id, id_of)
    if rest is not known:
        return replace(state, customizations=rest)
    return _replaced(state, [_without_child(item, action.id) for item in known])


def _without_child(item: Any, id: str) -> Any:
    children = _children(item)
    left = removed(children, id, id_of)
    return item if left is children else replace(item, children=left)


def mcp_state_changed(state: SessionState, action: actions.SessionMcpServerStateChanged) -> SessionState:
    """State and channel together: no channel in the action is none from now on."""
    return _change_server(state, action.id, lambda item: replace(item, state=action.state, channel=action.channel))


def mcp_start_requested(state: SessionState, action: actions.SessionMcpServerStartRequested) -> SessionState:
    """Seen as starting at once; the host says later how it went."""
    return _change_server(state, action.id, lambda item: _moved(item, "starting"))


def mcp_stop_requested(state: SessionState, action: actions.SessionMcpServerStopRequested) -> SessionState:
    """Seen as stopped at once."""
    return _change_server(state, action.id, lambda item: _moved(item, "stopped"))


def mcp_background_requested(state: SessionState, action: actions.SessionMcpServerBackgroundRequested) -> SessionState:
    """A start that holds messages back does not hold them back any more."""

    def unblock(item: McpServerCustomization) -> McpServerCustomization:
        if item.state.kind != "starting" or item.state.blocking is not True:
            return item
        return replace(item, state=replace(item.state, blocking=False))

    return _change_server(state, action.id, unblock)


def _moved(item: McpServerCustomization, kind: str) -> McpServerCustomization:
    return replace(item, state=McpServerState(kind=kind), channel=UNSET)


def _change_server(
    state: SessionState, id: str, change: Callable[[McpServerCustomization], McpServerCustomization]
) -> SessionState:
    """At the top level, else in every container that has it. Something else of that id at the top ends the search."""
    known = present(state.customizations, [])
    index = _index(known, id)
    if index is not None:
        return _replaced(state, _changed_at(known, index, change))
    return _replaced(state, [_changed_inside(item, id, change) for item in known])


def _replaced(state: SessionState, customizations: list[Any]) -> SessionState:
    known = present(state.customizations, [])
    same = all(new is old for new, old in zip(customizations, known, strict=True))
    return state if same else replace(state, customizations=customizations)


def _changed_inside(item: Any, id: str, change: Change) -> Any:
    children = _children(item)
    place = _index(children, id)
    if place is None:
        return item
    changed = _changed_at(children, place, change)
    return item if changed[place] is children[place] else replace(item, children=changed)


def _changed_at(items: list[Any], index: int, change: Change) -> list[Any]:
    item = items[index]
    return _with(items, index, change(item)) if isinstance(item, McpServerCustomization) else items


def _index(items: list[Any], id: str) -> int | None:
    return next((index for index, item in enumerate(items) if id_of(item) == id), None)


def _children(item: Any) -> list[Any]:
    return present(item.children, []) if isinstance(item, ContainerCustomization) else []


def _with(items: list[Any], index: int, item: Any) -> list[Any]:
    return [*items[:index], item, *items[index + 1 :]]
