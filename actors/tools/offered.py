"""A tool as one session's model is offered it: its definition, and who runs it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from ahp.state.chat import ToolCallResult
from ahp.state.common import ToolDefinition
from ahp.wire import JSON

if TYPE_CHECKING:
    from actors.turn import RunningTurn

Run = Callable[["RunningTurn | None", str, JSON], Awaitable[ToolCallResult]]
"""Runs a call: (the turn it is made in, None where none is running; toolCallId, input)."""


class OfferedTool(msgspec.Struct, frozen=True, kw_only=True):
    """definition: as the model sees it. name, title: as its contributor named it and as a chat draws it.

    client_id: the client that runs it, None for the host's own, whose `run` it is.
    """

    definition: ToolDefinition
    name: str
    title: str
    client_id: str | None = None
    run: Run
