"""The scheme `git-blob:`: a file as it was in a commit, so that a client can show what a change was made from.

`git-blob://<id of a commit or tree>/<absolute path of the file in its checkout>`: whoever may read the path may read
what was there. The file, and even its folder, need not exist any more.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import trio

from actors.workspace import git
from actors.workspace.content_type import content_type
from actors.workspace.file_read import content_of
from actors.workspace.files import READ_LIMIT
from actors.workspace.git import GitError
from actors.workspace.places import Access, Confine, Confined
from actors.workspace.provider import Provider
from actors.workspace.refusals import Named, denied
from ahp import uris
from ahp.commands import (
    Empty,
    ResourceReadParams,
    ResourceReadResult,
    ResourceRequestParams,
    ResourceResolveParams,
    ResourceResolveResult,
)
from ahp.jsonrpc import InternalError, InvalidParams, NotFound
from ahp.wire import UNSET, present

__all__ = ["SCHEME", "GitBlobs", "blob_uri"]

SCHEME = "git-blob"

_URI = re.compile(r"git-blob://([0-9a-f]{40}|[0-9a-f]{64})(/.+)", re.DOTALL)


def blob_uri(commit: str, path: Path) -> str:
    """The URI of the file at the absolute `path` as it was in `commit` (a full id)."""
    return f"{SCHEME}://{commit}{uris.file_uri(path).removeprefix('file://')}"


class GitBlobs(Provider):
    """Registered under `SCHEME`; everything is read-only. `read_limit` as for files."""

    def __init__(self, read_limit: int = READ_LIMIT) -> None:
        self._read_limit = read_limit

    async def read(self, params: ResourceReadParams, confine: Confine | None) -> ResourceReadResult:
        folder, revision, target = await self._find(params.uri, "read", confine)
        size = await self._size(folder, revision, target)
        if size > self._read_limit:
            limit = self._read_limit // (1 << 20)
            raise InternalError(f"Failed to read content: {target.uri}: it is larger than {limit} MiB")
        data = await git.run(folder, "cat-file", "blob", revision, limit=self._read_limit)
        return content_of(data, target.path.name, present(params.encoding, None))

    async def resolve(self, params: ResourceResolveParams, confine: Confine | None) -> ResourceResolveResult:
        folder, revision, target = await self._find(params.uri, "read", confine)
        size = await self._size(folder, revision, target)
        kind = content_type(target.path.name) or UNSET
        return ResourceResolveResult(
            uri=params.uri, type="file", size=size, content_type=kind, etag=revision.partition(":")[0]
        )

    async def request(self, params: ResourceRequestParams, confine: Confine | None) -> Empty:
        await self._find(params.uri, "write" if present(params.write, False) else "read", confine)
        return Empty()

    async def _find(self, uri: str, access: Access, confine: Confine | None) -> tuple[Path, str, Named]:
        """A folder to ask Git in, what to ask it for, and the file."""
        parts = _URI.fullmatch(uri)
        if parts is None:
            raise InvalidParams(f"{uri} is no blob: {SCHEME}://<commit>/<absolute path> is wanted")
        try:
            path = uris.path_of(f"file://{parts[2]}")
        except uris.BadUri as error:
            raise InvalidParams(str(error)) from None
        real, folder = await trio.to_thread.run_sync(_locate, path)
        if access == "write":
            raise denied(uri, access)
        try:
            if confine is not None:
                await trio.to_thread.run_sync(confine, real, access)
        except Confined:
            raise denied(uri, access) from None
        found = await git.repository(folder)
        if found is None or not real.is_relative_to(found.root):
            raise NotFound(f"Content not found: {uri}")
        return folder, f"{parts[1]}:{real.relative_to(found.root)}", Named(uri, real)

    async def _size(self, folder: Path, revision: str, target: Named) -> int:
        try:
            if await git.run(folder, "cat-file", "-t", revision) != b"blob\n":
                raise NotFound(f"Content not found: {target.uri}")
            return int(await git.run(folder, "cat-file", "-s", revision))
        except GitError:
            raise NotFound(f"Content not found: {target.uri}") from None


def _locate(path: Path) -> tuple[Path, Path]:
    """The path with the links of its folder resolved, and the nearest folder on the way to it that exists."""
    real = Path(os.path.realpath(path.parent)) / path.name
    return real, next((parent for parent in real.parents if parent.is_dir()), Path("/"))
