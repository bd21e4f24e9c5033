"""A folder on the disk, seen through the `resource*` requests."""

from __future__ import annotations

import base64
from pathlib import Path

from actors.workspace.places import Confine
from actors.workspace.resources import Resources
from ahp import commands, uris, wire
from ahp.jsonrpc import RpcError


class Disk:
    """The requests in few words; names are relative to `root`."""

    def __init__(self, root: Path, confine: Confine | None = None) -> None:
        self.root = root
        self.confine = confine
        self.resources = Resources()

    def uri(self, name: str) -> str:
        return name if ":" in name else uris.file_uri(self.root / name)

    async def read(self, name: str, **more: object) -> commands.ResourceReadResult:
        params = wire.convert({"uri": self.uri(name), **more}, commands.ResourceReadParams)
        return await self.resources.read(params, self.confine)

    async def text(self, name: str) -> str:
        return (await self.read(name)).data

    async def write(self, name: str, data: str | bytes, **more: object) -> None:
        body = {"data": data, "encoding": "utf-8"}
        if isinstance(data, bytes):
            body = {"data": base64.b64encode(data).decode(), "encoding": "base64"}
        params = wire.convert({"uri": self.uri(name), **body, **more}, commands.ResourceWriteParams)
        await self.resources.write(params, self.confine)

    async def list(self, name: str) -> dict[str, str]:
        result = await self.resources.list(commands.ResourceListParams(uri=self.uri(name)), self.confine)
        return {entry.name: entry.type for entry in result.entries}

    async def resolve(self, name: str, **more: object) -> commands.ResourceResolveResult:
        params = wire.convert({"uri": self.uri(name), **more}, commands.ResourceResolveParams)
        return await self.resources.resolve(params, self.confine)

    async def mkdir(self, name: str) -> None:
        await self.resources.mkdir(commands.ResourceMkdirParams(uri=self.uri(name)), self.confine)

    async def copy(self, source: str, destination: str, **more: object) -> None:
        both = {"source": self.uri(source), "destination": self.uri(destination), **more}
        await self.resources.copy(wire.convert(both, commands.ResourceCopyParams), self.confine)

    async def move(self, source: str, destination: str, **more: object) -> None:
        both = {"source": self.uri(source), "destination": self.uri(destination), **more}
        await self.resources.move(wire.convert(both, commands.ResourceMoveParams), self.confine)

    async def delete(self, name: str, **more: object) -> None:
        params = wire.convert({"uri": self.uri(name), **more}, commands.ResourceDeleteParams)
        await self.resources.delete(params, self.confine)


async def code_of(awaitable: object) -> int:
    """The code with which a request is refused; 0 where it is not."""
    try:
        await awaitable  # type: ignore[misc]
    except RpcError as error:
        return error.code
    return 0
