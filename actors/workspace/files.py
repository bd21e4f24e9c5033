"""The provider of `file:`: the disk of this machine as the daemon's user sees it, or as far as a policy lets.

Every operation runs in a worker thread. Files have their own pool of those, so a disk that hangs cannot take the
threads from the store.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import trio

from actors.workspace import file_read, file_tree, file_write
from actors.workspace.places import Access, Confine, locate, place
from actors.workspace.provider import Provider
from actors.workspace.refusals import named, refusing
from ahp.commands import (
    Empty,
    ResourceCopyParams,
    ResourceDeleteParams,
    ResourceListParams,
    ResourceListResult,
    ResourceMkdirParams,
    ResourceMoveParams,
    ResourceReadParams,
    ResourceReadResult,
    ResourceRequestParams,
    ResourceResolveParams,
    ResourceResolveResult,
    ResourceWriteParams,
)
from ahp.jsonrpc import InvalidParams
from ahp.wire import present

__all__ = ["READ_LIMIT", "Files"]

T = TypeVar("T")

READ_LIMIT = 64 << 20
"""Bytes of the largest file that one read answers, unless configured."""

_THREADS = 16
_MISSING = "Resource not found"


class Files(Provider):
    """Every URI must be a `file:` URI of this machine (`InvalidParams` otherwise)."""

    def __init__(self, read_limit: int = READ_LIMIT) -> None:
        self._read_limit = read_limit
        self._threads = trio.CapacityLimiter(_THREADS)

    async def read(self, params: ResourceReadParams, confine: Confine | None) -> ResourceReadResult:
        target = named(params.uri, "Content not found")
        encoding = present(params.encoding, None)
        return await self._look(lambda: file_read.read_file(target, encoding, self._read_limit, confine))

    async def write(self, params: ResourceWriteParams, confine: Confine | None) -> Empty:
        target, change = named(params.uri, "Parent directory not found"), _change(params)
        return await self._act(lambda: file_write.write_file(target, change, confine))

    async def list(self, params: ResourceListParams, confine: Confine | None) -> ResourceListResult:
        target = named(params.uri, "Directory not found")
        return await self._look(lambda: file_read.list_folder(target, confine))

    async def resolve(self, params: ResourceResolveParams, confine: Confine | None) -> ResourceResolveResult:
        target, follow = named(params.uri, _MISSING), present(params.follow_symlinks, True)
        return await self._look(lambda: file_read.resolve(target, follow, confine))

    async def mkdir(self, params: ResourceMkdirParams, confine: Confine | None) -> Empty:
        target = named(params.uri, _MISSING)
        return await self._act(lambda: file_tree.make_folder(target, confine))

    async def copy(self, params: ResourceCopyParams, confine: Confine | None) -> Empty:
        source, destination = named(params.source, _MISSING), named(params.destination, _MISSING)
        keep = present(params.fail_if_exists, False)
        return await self._act(lambda: file_tree.copy(source, destination, keep, confine))

    async def move(self, params: ResourceMoveParams, confine: Confine | None) -> Empty:
        source, destination = named(params.source, _MISSING), named(params.destination, _MISSING)
        keep = present(params.fail_if_exists, False)
        return await self._act(lambda: file_tree.move(source, destination, keep, confine))

    async def delete(self, params: ResourceDeleteParams, confine: Confine | None) -> Empty:
        target, recursive = named(params.uri, _MISSING), present(params.recursive, False)
        return await self._act(lambda: file_tree.delete(target, recursive, confine))

    async def request(self, params: ResourceRequestParams, confine: Confine | None) -> Empty:
        target = named(params.uri, _MISSING)
        if confine is None:
            return Empty()
        asked: list[Access] = ["write"] if present(params.write, False) else []
        if present(params.read, False) or not asked:
            asked.append("read")

        def ask() -> None:
            with refusing(target, "grant access", _MISSING):
                for access in asked:
                    _ask(target.path, access, confine)

        return await self._act(ask)

    async def _look(self, work: Callable[[], T]) -> T:
        """Who is cancelled leaves at once; the thread ends by itself, having changed nothing."""
        return await trio.to_thread.run_sync(work, limiter=self._threads, abandon_on_cancel=True)

    async def _act(self, work: Callable[[], None]) -> Empty:
        """A change that began is finished before a cancellation is heard."""
        await trio.to_thread.run_sync(work, limiter=self._threads)
        return Empty()


def _ask(path: Path, access: Access, confine: Confine) -> None:
    """What does not exist yet is asked for by the folder it would be in."""
    try:
        locate(path, access, confine)
    except FileNotFoundError:
        with place(path, access, confine):
            pass


def _change(params: ResourceWriteParams) -> file_write.Change:
    position = present(params.position, 0)
    if position < 0:
        raise InvalidParams(f"position is {position}: a number of bytes, 0 or more, is wanted")
    return file_write.Change(
        data=_bytes(params),
        mode=present(params.mode, "truncate"),
        position=position,
        create_only=present(params.create_only, False),
        if_match=present(params.if_match, None),
    )


def _bytes(params: ResourceWriteParams) -> bytes:
    try:
        if params.encoding == "base64":
            return base64.b64decode(params.data, validate=True)
        return params.data.encode()
    except (binascii.Error, ValueError) as error:
        raise InvalidParams(f"data is not {params.encoding}: {error}") from None
