"""The terminal channel's actions. Pure data."""

from __future__ import annotations

from typing import TypeAlias

from ahp.state.terminal import TerminalClaim
from ahp.wire import UNSET, UnsetType, Wire


class TerminalData(Wire, frozen=True, kw_only=True, tag_field="type", tag="terminal/data"):
    data: str


class TerminalInput(Wire, frozen=True, kw_only=True, tag_field="type", tag="terminal/input"):
    data: str


class TerminalResized(Wire, frozen=True, kw_only=True, tag_field="type", tag="terminal/resized"):
    cols: int
    rows: int


class TerminalClaimed(Wire, frozen=True, kw_only=True, tag_field="type", tag="terminal/claimed"):
    claim: TerminalClaim


class TerminalTitleChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="terminal/titleChanged"):
    title: str


class TerminalCwdChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="terminal/cwdChanged"):
    cwd: str


class TerminalExited(Wire, frozen=True, kw_only=True, tag_field="type", tag="terminal/exited"):
    exit_code: int | UnsetType = UNSET


class TerminalCleared(Wire, frozen=True, kw_only=True, tag_field="type", tag="terminal/cleared"):
    pass


class TerminalCommandDetectionAvailable(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="terminal/commandDetectionAvailable"
):
    pass


class TerminalCommandExecuted(Wire, frozen=True, kw_only=True, tag_field="type", tag="terminal/commandExecuted"):
    """`timestamp`: epoch milliseconds."""

    command_id: str
    command_line: str
    timestamp: int | float


class TerminalCommandFinished(Wire, frozen=True, kw_only=True, tag_field="type", tag="terminal/commandFinished"):
    command_id: str
    exit_code: int | UnsetType = UNSET
    duration_ms: int | float | UnsetType = UNSET


TerminalAction: TypeAlias = (
    TerminalData
    | TerminalInput
    | TerminalResized
    | TerminalClaimed
    | TerminalTitleChanged
    | TerminalCwdChanged
    | TerminalExited
    | TerminalCleared
    | TerminalCommandDetectionAvailable
    | TerminalCommandExecuted
    | TerminalCommandFinished
)
