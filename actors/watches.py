"""The resource watches of this host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actors.actor import Actor
from ahp.commands import CreateResourceWatchParams

if TYPE_CHECKING:
    from actors.host import Host


class Watches:
    def __init__(self, host: Host) -> None:
        self._host = host

    def find(self, channel: str) -> Actor | None:
        return None

    async def create(self, params: CreateResourceWatchParams) -> str:
        raise NotImplementedError
