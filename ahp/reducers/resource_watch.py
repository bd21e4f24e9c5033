"""The resource watch channel's reducer: its actions are news, and change nothing."""

from __future__ import annotations

from ahp.state.resource_watch import ResourceWatchState
from ahp.wire import Wire


def apply(state: ResourceWatchState, _: Wire) -> ResourceWatchState:
    """`state`, always."""
    return state
