"""The host's tools, and the one place that decides what a session is offered (design, Tools).

Two sources so far: this host's own tools (`set_tools`, `register_tool`), reported as `serverTools`, and those that the
session's active clients announced (tools page, A client's tools).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from actors.tools.offered import OfferedTool
from ahp.state.chat import ToolCallResult
from ahp.state.common import ToolDefinition
from ahp.state.session import SessionActiveClient, SessionState
from ahp.wire import JSON, present, replace

if TYPE_CHECKING:
    from actors.turn import RunningTurn

_NAME = re.compile(r"[A-Za-z0-9_-]+")


class Tools:
    """`on_change` is called after the host's own set has changed."""

    def __init__(self, tools: Iterable[OfferedTool] = ()) -> None:
        self._tools: list[OfferedTool] = list(tools)
        self.on_change: Callable[[], None] = lambda: None

    def set_tools(self, tools: Iterable[OfferedTool]) -> None:
        """Replace the host's own set whole (tools page, Commands)."""
        self._tools = list(tools)
        self.on_change()

    def register_tool(self, tool: OfferedTool) -> None:
        """Append one to the host's own set, before or while the host runs."""
        self._tools.append(tool)
        self.on_change()

    def server_tools(self) -> list[ToolDefinition]:
        return [tool.definition for tool in self._tools]

    def offered(self, state: SessionState) -> Sequence[OfferedTool]:
        """All that the session's model is offered: the host's tools, then the clients'."""
        return [*self._tools, *(tool for client in state.active_clients for tool in client_tools(client))]


def client_tools(client: SessionActiveClient) -> list[OfferedTool]:
    """A client's tools as `<clientId>__<name>`; one with a name no model could call is dropped (tools page)."""
    if not _NAME.fullmatch(client.client_id):
        return []
    return [
        OfferedTool(
            definition=replace(tool, name=f"{client.client_id}__{tool.name}"),
            name=tool.name,
            title=present(tool.title, "") or tool.name,
            client_id=client.client_id,
            run=_never,
        )
        for tool in client.tools
        if _NAME.fullmatch(tool.name)
    ]


async def _never(_: RunningTurn, __: str, ___: JSON) -> ToolCallResult:
    raise AssertionError("a client's tool runs at its client")
