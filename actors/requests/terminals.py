"""createTerminal and disposeTerminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actors.requests.handler import Handler
from ahp.commands import CreateTerminalParams, DisposeTerminalParams

if TYPE_CHECKING:
    from actors.connection import ClientConnection


async def create(connection: ClientConnection, params: CreateTerminalParams) -> None:
    await connection.host.terminals.create(params)


async def dispose(connection: ClientConnection, params: DisposeTerminalParams) -> None:
    await connection.host.terminals.dispose(params.channel)


HANDLERS = {
    "createTerminal": Handler(CreateTerminalParams, create),
    "disposeTerminal": Handler(DisposeTerminalParams, dispose),
}
