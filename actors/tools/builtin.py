"""The host's own set of tools, in the order they are reported."""

from __future__ import annotations

from actors.tools import wakeup
from actors.tools.tool import Tool


def host_tools() -> list[Tool]:
    """Every tool that comes with the host."""
    return [*wakeup.TOOLS]
