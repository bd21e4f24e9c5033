"""A terminal channel's state (`ahp-terminal:/<id>`): its screen so far, who holds it, how it ended. Pure data."""

from __future__ import annotations

from typing import TypeAlias

from ahp.wire import UNSET, Meta, Text, UnsetType, Wire


class ClientClaim(Wire, frozen=True, kw_only=True, tag_field="kind", tag="client"):
    """A client holds the terminal."""

    client_id: str


class SessionClaim(Wire, frozen=True, kw_only=True, tag_field="kind", tag="session"):
    """A session holds it, for a tool call where one is named."""

    session: str
    turn_id: str | UnsetType = UNSET
    tool_call_id: str | UnsetType = UNSET


TerminalClaim: TypeAlias = ClientClaim | SessionClaim


class TerminalLifecycle(Wire, frozen=True, kw_only=True):
    """`status`: running or exited; `exit_code` is absent when it was killed."""

    status: str
    exit_code: int | UnsetType = UNSET


class TerminalInfo(Wire, frozen=True, kw_only=True):
    """A terminal in the host's list."""

    resource: str
    title: str
    claim: TerminalClaim | UnsetType = UNSET
    lifecycle: TerminalLifecycle | UnsetType = UNSET
    exit_code: int | UnsetType = UNSET


class UnclassifiedContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="unclassified"):
    """Output outside any detected command."""

    value: Text


class CommandContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="command"):
    """One detected command and its output; `timestamp` is epoch milliseconds, durations are milliseconds."""

    command_id: str
    command_line: str
    output: Text
    timestamp: int | float
    is_complete: bool
    exit_code: int | UnsetType = UNSET
    duration_ms: int | float | UnsetType = UNSET


TerminalContentPart: TypeAlias = UnclassifiedContent | CommandContent


class TerminalState(Wire, frozen=True, kw_only=True):
    """The terminal as a subscriber sees it; `cwd` is a path or URI as the shell reported it."""

    title: str
    content: list[TerminalContentPart]
    claim: TerminalClaim | UnsetType = UNSET
    lifecycle: TerminalLifecycle | UnsetType = UNSET
    cwd: str | UnsetType = UNSET
    cols: int | UnsetType = UNSET
    rows: int | UnsetType = UNSET
    exit_code: int | UnsetType = UNSET
    supports_command_detection: bool | UnsetType = UNSET
    is_pty: bool | UnsetType = UNSET
    meta: Meta = UNSET
