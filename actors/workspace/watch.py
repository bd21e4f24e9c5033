"""Resource watches: what to watch as a channel URI that anybody can make again, and the watching itself.

`WatchSpec` is the watch as data: equal watches have equal channels, so the owner of a channel shares one `watch` among
its subscribers. `watch` owns one watcher of the operating system and one thread while it runs, and neither a moment
longer.
"""

from __future__ import annotations

import base64
import binascii
import errno
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import trio
from msgspec import DecodeError, Struct
from watchfiles._rust_notify import RustNotify  # The documented way to use the watcher without its asyncio loop.

from actors.workspace.file_write import TEMPORARY
from actors.workspace.globs import Globs
from actors.workspace.places import Confine, Confined, open_folder, place
from actors.workspace.refusals import named, refusing
from ahp import uris, wire
from ahp.commands import CreateResourceWatchParams
from ahp.commands import Globs as WireGlobs
from ahp.jsonrpc import InternalError, NotFound
from ahp.state.resource_watch import ResourceChange
from ahp.wire import UNSET, UnsetType, Wire

__all__ = ["WatchSpec", "watch"]

_ADDED, _UPDATED, _DELETED = 1, 2, 3

QUIET = 50
"""Milliseconds without a change that end a batch, and within which a cancelled watch ends its thread."""
LONGEST = 1000
"""Milliseconds after which a batch is sent though changes go on."""
BATCH = 1000
"""Changes in one action at most."""
_INVENTORY = 20_000


class _Coded(Wire, frozen=True, kw_only=True):
    """What a watch's channel carries, as the reference host writes it."""

    root: str
    recursive: bool | UnsetType = UNSET
    excludes: WireGlobs | UnsetType = UNSET
    includes: WireGlobs | UnsetType = UNSET


class WatchSpec(Struct, frozen=True):
    """What is watched. `includes` None: everything; `root` is a URI."""

    root: str
    recursive: bool = False
    excludes: tuple[str, ...] = ()
    includes: tuple[str, ...] | None = None

    @classmethod
    def of(cls, params: CreateResourceWatchParams | _Coded) -> WatchSpec:
        """The watch that `createResourceWatch` asks for."""
        root = params.root if isinstance(params, _Coded) else params.uri
        excludes, includes = params.excludes, params.includes
        return cls(
            root=root,
            recursive=params.recursive is True,
            excludes=() if isinstance(excludes, UnsetType) else tuple(excludes.items),
            includes=None if isinstance(includes, UnsetType) else tuple(includes.items),
        )

    @classmethod
    def parse(cls, channel: str) -> WatchSpec:
        """The watch that a channel's URI spells out. Raises `NotFound` for any other URI."""
        try:
            marker, _, coded = uris.parse(channel).id.lstrip("/").partition("/")
            if marker == "r":
                return cls.of(wire.decode(base64.b64decode(coded + "=" * (-len(coded) % 4), b"-_", True), _Coded))
        except (uris.BadUri, binascii.Error, ValueError, DecodeError):
            pass
        raise NotFound(f"There is no watch {channel}")

    @property
    def channel(self) -> str:
        """The watch's channel: `ahp-resource-watch://r/<base64url of the watch as JSON>`."""
        coded = _Coded(
            root=self.root,
            recursive=self.recursive or UNSET,
            excludes=WireGlobs(items=list(self.excludes)) if self.excludes else UNSET,
            includes=UNSET if self.includes is None else WireGlobs(items=list(self.includes)),
        )
        return uris.resource_watch("/r/" + base64.urlsafe_b64encode(wire.encode(coded)).decode().rstrip("="))


async def watch(
    spec: WatchSpec,
    send: Callable[[list[ResourceChange]], None],
    confine: Confine | None = None,
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Sends the changes under `spec.root`, in batches, until cancelled.

    Started when every later change would be seen. A file that is watched need not exist yet, only its folder. Raises
    `NotFound`, `PermissionDenied`, `InvalidParams` before that, and `InternalError` when the system has no watches
    left. Cancelling ends the thread within `QUIET` milliseconds.
    """
    watcher = _Watcher(spec, confine)
    threads = trio.CapacityLimiter(1)  # A watch holds its thread for as long as it lives: not one of the shared ones.
    with refusing(named(spec.root, "Resource not found"), "watch", "Resource not found"):
        await trio.to_thread.run_sync(watcher.open, limiter=threads)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_pump, watcher, send, threads)
            task_status.started()
            try:
                await trio.sleep_forever()
            finally:
                watcher.stop.set()  # The pump cannot be cancelled in its thread; it looks at this.
    finally:
        watcher.close()


async def _pump(watcher: _Watcher, send: Callable[[list[ResourceChange]], None], threads: trio.CapacityLimiter) -> None:
    while not watcher.stop.is_set():
        changes = await trio.to_thread.run_sync(watcher.next, limiter=threads)
        for start in range(0, len(changes), BATCH):
            send(changes[start : start + BATCH])


class _Watcher:
    """The blocking half. `open` and `next` are called by one thread at a time, `close` after the last of them."""

    def __init__(self, spec: WatchSpec, confine: Confine | None) -> None:
        self.stop = threading.Event()
        self._root = named(spec.root, "Resource not found").path
        self._recursive = spec.recursive
        self._excludes = Globs(self._relative(one) for one in spec.excludes)
        self._includes = None if spec.includes is None else Globs(self._relative(one) for one in spec.includes)
        self._confine = confine
        self._single = False
        self._real = self._root
        self._notify: RustNotify | None = None
        self._inventory: set[str] | None = set()

    def open(self) -> None:
        """Takes the inventory and starts watching."""
        try:
            fd, self._real = open_folder(self._root, "read", self._confine)
            os.close(fd)
        except (FileNotFoundError, NotADirectoryError):
            # One file: its folder is watched, for a file that is replaced is another file to the system.
            with place(self._root, "read", self._confine) as at:
                self._real, self._single = at.path, True
        self._inventory = self._take_inventory()
        folder = self._real.parent if self._single else self._real
        try:
            self._notify = RustNotify([str(folder)], False, False, 0, self._recursive and not self._single, True)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EMFILE) or "limit" in str(error):
                raise InternalError(
                    f"Failed to watch {self._root}: the system has no watches left (fs.inotify.max_user_watches)"
                ) from error
            raise

    def close(self) -> None:
        if self._notify is not None:
            self._notify.close()

    def next(self) -> list[ResourceChange]:
        """Waits for the next batch; an empty one when `stop` was set, or when nothing in it is of interest."""
        assert self._notify is not None
        raw = self._notify.watch(LONGEST, QUIET, 0, self.stop)
        if isinstance(raw, str):
            return []
        kinds: dict[str, set[int]] = {}
        for kind, path in raw:
            kinds.setdefault(path, set()).add(kind)
        changes: list[ResourceChange] = []
        for path in sorted(kinds):
            relative = self._interesting(path)
            happened = None if relative is None else self._happened(path, kinds[path])
            if happened is not None:
                uri = uris.file_uri(self._root / relative if relative else self._root)
                changes.append(ResourceChange(uri=uri, type=happened))
        return changes

    def _relative(self, pattern: str) -> str:
        """Patterns are relative to the root; an absolute one is made so."""
        return pattern.removeprefix(f"{self._root}/")

    def _interesting(self, path: str) -> str | None:
        """The path relative to the root (empty for the root itself), None where nobody asked for it."""
        if path == str(self._real):
            return ""
        relative = path.removeprefix(str(self._real).rstrip("/") + "/")
        if self._single or relative == path or relative.rpartition("/")[2].startswith(TEMPORARY):
            return None
        if not self._wanted(relative):
            return None
        if self._confine is not None:
            # The system's watcher follows links, which may lead to where the policy does not.
            try:
                self._confine(Path(os.path.realpath(path)), "read")
            except Confined:
                return None
        return relative

    def _wanted(self, relative: str) -> bool:
        if self._excludes.match(relative):
            return False
        return self._includes is None or self._includes.match(relative)

    def _happened(self, path: str, kinds: set[int]) -> Literal["added", "updated", "deleted"] | None:
        """What a batch's events come to, seen from before and after it: a file replaced by renaming was updated, one
        that came and went did not happen.
        """
        inventory = self._inventory
        known = inventory is not None and path in inventory
        if os.path.lexists(path):
            if inventory is not None and len(inventory) < _INVENTORY:
                inventory.add(path)
            if known or _ADDED not in kinds or (inventory is None and _DELETED in kinds):
                return "updated"
            return "added"
        if inventory is not None:
            inventory.discard(path)
        return None if inventory is not None and not known and _ADDED in kinds else "deleted"

    def _take_inventory(self) -> set[str] | None:
        """The paths there are, as the system's events will name them; None where they are too many to keep."""
        found: set[str] = set()
        for path in self._walk():
            found.add(path)
            if len(found) > _INVENTORY:
                return None
        return found

    def _walk(self) -> Iterator[str]:
        if os.path.lexists(self._real):
            yield str(self._real)
        if self._single:
            return
        base = str(self._real).rstrip("/") + "/"
        for folder, folders, files in os.walk(self._real):
            inside = folder.rstrip("/") + "/"
            folders[:] = [one for one in folders if not self._excludes.match((inside + one).removeprefix(base))]
            yield from (inside + one for one in (*folders, *files))
            if not self._recursive:
                return
