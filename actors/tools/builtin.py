"""The host's own set of tools, in the order they are reported."""

from __future__ import annotations

from actors.tools import session_starting, session_writing, wakeup
from actors.tools.tool import Tool


def host_tools() -> list[Tool]:
    """Every tool that comes with the host."""
    return [*session_starting.TOOLS, *session_writing.TOOLS, *wakeup.TOOLS]
