"""What a host refuses of a terminal's clients: who types and who hands the terminal on is said by its claim.

`refusal(…)` is pure: a sentence that says what was wrong and what was expected, or None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ahp import wire
from ahp.actions import terminal as a
from ahp.state.terminal import ClientClaim, SessionClaim, TerminalState
from ahp.wire import Wire, present

MAX_SIZE = 65535
"""The largest number of columns or rows a pty knows."""


def refusal(state: TerminalState, action: Wire, client_id: str) -> str | None:
    """Why `action` of `client_id` may not be applied to `state`; None when it may."""
    rule = _RULES.get(wire.tag_of(action))
    return None if rule is None else rule(state, action, client_id)


def _input(state: TerminalState, _: a.TerminalInput, client_id: str) -> str | None:
    return _has_exited(state) or _held_by_other(state, client_id)


def _resized(state: TerminalState, action: a.TerminalResized, _: str) -> str | None:
    if not (0 < action.cols <= MAX_SIZE and 0 < action.rows <= MAX_SIZE):
        return f"{action.cols} by {action.rows} is no size: columns and rows from 1 to {MAX_SIZE} are expected"
    return _has_exited(state)


def _claimed(state: TerminalState, _: a.TerminalClaimed, client_id: str) -> str | None:
    """Only who holds a terminal hands it on (terminal/claimed); what nobody holds anybody may take."""
    return _held_by_other(state, client_id)


def _held_by_other(state: TerminalState, client_id: str) -> str | None:
    claim = present(state.claim, None)
    if isinstance(claim, ClientClaim) and claim.client_id != client_id:
        return f"the terminal is held by client {claim.client_id}, not by {client_id}"
    if isinstance(claim, SessionClaim):
        return f"the terminal is held by session {claim.session}, not by {client_id}"
    return None


def _has_exited(state: TerminalState) -> str | None:
    lifecycle = present(state.lifecycle, None)
    return "the terminal's process has exited" if lifecycle is not None and lifecycle.status == "exited" else None


_RULES: dict[str, Callable[[TerminalState, Any, str], str | None]] = {
    "terminal/input": _input,
    "terminal/resized": _resized,
    "terminal/claimed": _claimed,
}
