"""The lines of `ahpd chat` that are not for the agent: `/help`, `/tools`, `/call`. Pure; `chat` does what they say."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ahp.state.session import SessionState
from ahp.wire import present

__all__ = ["HELP", "Call", "Command", "ShowHelp", "ShowTools", "ToolRow", "call_message", "heard", "rows_of", "table"]

HELP = """\
/tools            the tools this session's agent is offered: the host's, then those of connected clients
/call NAME JSON   have the echo agent call one, with this input ({} where it is left out)
/help             this
Every other line goes to the agent as it is; //tools says /tools to it.
A tool is called by the agent's model: of another agent than echo, ask in your own words."""

ECHO = "echo"


@dataclass(frozen=True)
class ShowHelp:
    """/help"""


@dataclass(frozen=True)
class ShowTools:
    """/tools"""


@dataclass(frozen=True)
class Call:
    """/call NAME JSON"""

    name: str
    tool_input: str


Command: TypeAlias = ShowHelp | ShowTools | Call

_NAMES = ("/help", "/tools", "/call")


def heard(line: str) -> Command | str:
    """What was typed: a command, or what the agent is told."""
    word, _, rest = line.strip().partition(" ")
    if "\n" in line.strip():
        return line
    if word not in _NAMES:
        return line.strip().removeprefix("/") if word.removeprefix("/") in _NAMES else line
    if word == "/call":
        name, _, tool_input = rest.strip().partition(" ")
        return Call(name, tool_input.strip() or "{}")
    return ShowHelp() if word == "/help" else ShowTools()


def call_message(call: Call, agent: str) -> str:
    """The message that has `agent` make the call. Raises ValueError with a sentence."""
    if not call.name:
        raise ValueError('/call wants a tool and its input: /call list_sessions {"limit": 5}; /tools lists them')
    if agent != ECHO:
        raise ValueError(
            f"only a model calls tools, and here it is {agent}'s: ask it for {call.name} in your own words"
        )
    try:
        given = json.loads(call.tool_input)
    except ValueError as error:
        raise ValueError(f"the input of {call.name} is no JSON: {error}") from None
    if not isinstance(given, dict):
        raise ValueError(f"the input of {call.name} is a JSON object, not {call.tool_input}")
    return f"/tool {call.name} {call.tool_input}"


@dataclass(frozen=True)
class ToolRow:
    """name: as the agent calls it. title: as a chat draws it. client: who runs it, None for the host."""

    name: str
    title: str
    client: str | None = None


def rows_of(state: SessionState) -> list[ToolRow]:
    """What a session's agent is offered: the host's tools, then its clients' under the names they have there."""
    rows = [ToolRow(tool.name, present(tool.title, "")) for tool in present(state.server_tools, [])]
    for client in state.active_clients:
        shown = present(client.display_name, "") or client.client_id
        for tool in client.tools:
            rows.append(ToolRow(f"{client.client_id}__{tool.name}", present(tool.title, "") or tool.name, shown))
    return rows


def table(rows: Sequence[ToolRow]) -> str:
    """A line a tool."""
    width = max((len(row.name) for row in rows), default=0)
    lines = [f"{row.name:<{width}}  {row.title}{f' (run by {row.client})' if row.client else ''}" for row in rows]
    return "\n".join(line.rstrip() for line in lines) or "no tool is offered here"
