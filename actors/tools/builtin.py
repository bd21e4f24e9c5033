"""The host's own set of tools, in the order they are reported."""

from __future__ import annotations

from actors.tools import (
    artifacts,
    comments,
    reaching,
    session_context,
    session_reading,
    session_starting,
    session_writing,
    wakeup,
)
from actors.tools.tool import Tool

_SESSION_ORDER = (
    "list_sessions",
    "list_agents",
    "list_models",
    "get_current_session",
    "get_session_context",
    "send_message",
    "create_session",
    "create_chat",
    "rename_chat",
    "archive_chat",
    "set_workspace",
    "isolate_session",
    "delete_session",
    "move_session",
)
"""The order of the tools page."""


def host_tools() -> list[Tool]:
    """Every tool that comes with the host."""
    session = [*session_reading.TOOLS, *session_context.TOOLS, *session_starting.TOOLS, *session_writing.TOOLS]
    session.sort(key=lambda tool: _SESSION_ORDER.index(tool.name))
    return [*session, *artifacts.TOOLS, *comments.TOOLS, *reaching.TOOLS, *wakeup.TOOLS]
