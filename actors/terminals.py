"""The terminals of this host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actors.actor import Actor
from ahp.commands import CreateTerminalParams
from ahp.state.terminal import TerminalInfo

if TYPE_CHECKING:
    from actors.host import Host


class Terminals:
    def __init__(self, host: Host) -> None:
        self._host = host

    def find(self, channel: str) -> Actor | None:
        return None

    def infos(self) -> list[TerminalInfo]:
        return []

    async def create(self, params: CreateTerminalParams) -> None:
        raise NotImplementedError

    async def dispose(self, channel: str) -> None:
        raise NotImplementedError
