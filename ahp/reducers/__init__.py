"""Every channel's reducer by the channel's kind: state and action in, state out, nothing else (digests 2 and 3)."""

from collections.abc import Callable
from typing import Any, Final

from ahp import wire
from ahp.reducers import annotations, automation, changeset, chat, resource_watch, root, session, terminal
from ahp.state.annotations import AnnotationsState
from ahp.state.automation import AutomationRunState, AutomationState
from ahp.state.changeset import ChangesetState
from ahp.state.chat import ChatState
from ahp.state.resource_watch import ResourceWatchState
from ahp.state.root import RootState
from ahp.state.session import SessionState
from ahp.state.terminal import TerminalState

__all__ = ["REDUCERS", "STATES", "reduce"]

STATES: Final[dict[str, type[wire.Wire]]] = {
    "root": RootState,
    "session": SessionState,
    "chat": ChatState,
    "changeset": ChangesetState,
    "annotations": AnnotationsState,
    "terminal": TerminalState,
    "resourceWatch": ResourceWatchState,
    "automation": AutomationState,
    "automationRun": AutomationRunState,
}
"""The type of a channel kind's state."""

REDUCERS: Final[dict[str, Callable[[Any, wire.Wire], Any]]] = {
    "root": root.apply,
    "session": session.apply,
    "chat": chat.apply,
    "changeset": changeset.apply,
    "annotations": annotations.apply,
    "terminal": terminal.apply,
    "resourceWatch": resource_watch.apply,
    "automation": automation.apply,
    "automationRun": automation.apply_run,
}


def reduce(kind: str, state: Any, action: wire.Wire) -> Any:
    """The state of a channel of that kind after `action`; the very same state where the action changes nothing.

    Pure. Raises `KeyError` for a kind there is none of.
    """
    return REDUCERS[kind](state, action)
