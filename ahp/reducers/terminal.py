"""The terminal channel's reducer. `apply` is pure; the very same state comes back when nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ahp import wire
from ahp.actions import terminal as a
from ahp.state.terminal import (
    CommandContent,
    TerminalContentPart,
    TerminalLifecycle,
    TerminalState,
    UnclassifiedContent,
)
from ahp.wire import Text, Wire, replace


def apply(state: TerminalState, action: Wire) -> TerminalState:
    """`state` after `action`; input, and an action of an unknown type, change nothing."""
    reduce = _REDUCERS.get(wire.tag_of(action))
    return state if reduce is None else reduce(state, action)


def _data(state: TerminalState, action: a.TerminalData) -> TerminalState:
    """The running command's output grows, else the loose output at the end, else a new piece of it is opened."""
    tail = state.content[-1] if state.content else None
    if isinstance(tail, CommandContent) and not tail.is_complete:
        return replace(state, content=[*state.content[:-1], replace(tail, output=tail.output + action.data)])
    if isinstance(tail, UnclassifiedContent):
        return replace(state, content=[*state.content[:-1], replace(tail, value=tail.value + action.data)])
    return replace(state, content=[*state.content, UnclassifiedContent(value=Text(action.data))])


def _resized(state: TerminalState, action: a.TerminalResized) -> TerminalState:
    return replace(state, cols=action.cols, rows=action.rows)


def _claimed(state: TerminalState, action: a.TerminalClaimed) -> TerminalState:
    return replace(state, claim=action.claim)


def _title_changed(state: TerminalState, action: a.TerminalTitleChanged) -> TerminalState:
    return replace(state, title=action.title)


def _cwd_changed(state: TerminalState, action: a.TerminalCwdChanged) -> TerminalState:
    return replace(state, cwd=action.cwd)


def _exited(state: TerminalState, action: a.TerminalExited) -> TerminalState:
    return replace(state, lifecycle=TerminalLifecycle(status="exited", exit_code=action.exit_code))


def _cleared(state: TerminalState, _: a.TerminalCleared) -> TerminalState:
    return replace(state, content=[]) if state.content else state


def _command_detection_available(state: TerminalState, _: a.TerminalCommandDetectionAvailable) -> TerminalState:
    return state if state.supports_command_detection is True else replace(state, supports_command_detection=True)


def _command_executed(state: TerminalState, action: a.TerminalCommandExecuted) -> TerminalState:
    command = CommandContent(
        command_id=action.command_id,
        command_line=action.command_line,
        output=Text(),
        timestamp=action.timestamp,
        is_complete=False,
    )
    return replace(state, content=[*state.content, command], supports_command_detection=True)


def _command_finished(state: TerminalState, action: a.TerminalCommandFinished) -> TerminalState:
    """Every part of that command; there is one."""

    def finished(part: TerminalContentPart) -> TerminalContentPart:
        if not isinstance(part, CommandContent) or part.command_id != action.command_id:
            return part
        return replace(part, is_complete=True, exit_code=action.exit_code, duration_ms=action.duration_ms)

    content = [finished(part) for part in state.content]
    same = all(new is old for new, old in zip(content, state.content, strict=True))
    return state if same else replace(state, content=content)


_REDUCERS: dict[str, Callable[[TerminalState, Any], TerminalState]] = {
    "terminal/data": _data,
    "terminal/resized": _resized,
    "terminal/claimed": _claimed,
    "terminal/titleChanged": _title_changed,
    "terminal/cwdChanged": _cwd_changed,
    "terminal/exited": _exited,
    "terminal/cleared": _cleared,
    "terminal/commandDetectionAvailable": _command_detection_available,
    "terminal/commandExecuted": _command_executed,
    "terminal/commandFinished": _command_finished,
}
