"""Watches on a real disk: what they report, what they keep quiet about, and that they end."""

from __future__ import annotations

import base64
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import trio

from actors.workspace.places import under
from actors.workspace.watch import WatchSpec, watch
from ahp import commands, uris, wire
from ahp.jsonrpc import NotFound, PermissionDenied
from ahp.state.resource_watch import ResourceChange
from tests.actors.workspace.disk import Disk


class Seen:
    """What a watch reported, and a way to wait for more."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._in, self._out = trio.open_memory_channel[list[ResourceChange]](1000)

    def send(self, changes: list[ResourceChange]) -> None:
        self._in.send_nowait(changes)

    async def until(self, name: str, kind: str) -> list[tuple[str, str]]:
        """Everything up to and with that change, as (relative name, type)."""
        found: list[tuple[str, str]] = []
        with trio.fail_after(20):
            while (name, kind) not in found:
                found += [(self._name(change), change.type) for change in await self._out.receive()]
        return found

    def _name(self, change: ResourceChange) -> str:
        return str(uris.path_of(change.uri).relative_to(self.root))


@asynccontextmanager
async def watching(root: Path, confined: Path | None = None, **more: object) -> AsyncIterator[Seen]:
    seen = Seen(root)
    params = wire.convert({"uri": uris.file_uri(root), **more}, commands.CreateResourceWatchParams)
    confine = None if confined is None else under([confined])
    async with trio.open_nursery() as nursery:
        await nursery.start(watch, WatchSpec.of(params), seen.send, confine)
        yield seen
        nursery.cancel_scope.cancel()


def test_a_watch_has_the_channel_the_reference_host_gives_it() -> None:
    params = commands.CreateResourceWatchParams(uri="file:///tmp/ahp_transcript", recursive=True)
    channel = "ahp-resource-watch://r/eyJyb290IjoiZmlsZTovLy90bXAvYWhwX3RyYW5zY3JpcHQiLCJyZWN1cnNpdmUiOnRydWV9"
    assert WatchSpec.of(params).channel == channel
    assert WatchSpec.parse(channel) == WatchSpec("file:///tmp/ahp_transcript", recursive=True)


def test_a_channel_can_be_made_again_by_anybody() -> None:
    whole = WatchSpec("file:///ü%20x", True, ("**/node_modules/**",), ("*.py", "☃?>"))
    for spec in (whole, WatchSpec("file:///a"), WatchSpec("file:///a", includes=())):
        assert WatchSpec.parse(spec.channel) == spec
    padded = base64.urlsafe_b64encode(b'{"root":"file:///a","future":1}').decode()
    assert WatchSpec.parse(f"ahp-resource-watch://r/{padded}").root == "file:///a"
    not_recursive = commands.CreateResourceWatchParams(uri="file:///a", recursive=False)
    assert WatchSpec.of(not_recursive).channel == WatchSpec("file:///a").channel


@pytest.mark.parametrize("channel", ["ahp-resource-watch:/1", "ahp-resource-watch://r/bm9wZQ", "ahp-chat:/r/e30", "x"])
def test_other_channels_are_no_watches(channel: str) -> None:
    with pytest.raises(NotFound):
        WatchSpec.parse(channel)


async def test_changes_of_every_kind_are_seen(disk: Disk) -> None:
    (disk.root / "old").write_text("x")
    (disk.root / "sub dir").mkdir()
    async with watching(disk.root, recursive=True) as seen:
        (disk.root / "new").write_text("x")
        await seen.until("new", "added")
        (disk.root / "old").write_text("y")
        await seen.until("old", "updated")
        (disk.root / "sub dir/ü%").write_text("y")
        await seen.until("sub dir/ü%", "added")
        (disk.root / "old").rename(disk.root / "moved")
        assert ("old", "deleted") in await seen.until("moved", "added") + [("old", "deleted")]
        (disk.root / "new").unlink()
        await seen.until("new", "deleted")


async def test_a_file_replaced_by_a_write_was_updated_and_nothing_else_happened(disk: Disk) -> None:
    await disk.write("a", "one")
    async with watching(disk.root, recursive=True) as seen:
        await disk.write("a", "two")
        await disk.write("last", "x")
        assert await seen.until("last", "added") == [("a", "updated"), ("last", "added")]


async def test_excludes_and_includes_hold(disk: Disk) -> None:
    (disk.root / "node_modules").mkdir()
    patterns = {"excludes": {"items": ["node_modules", "**/*.log"]}, "includes": {"items": ["**/*.py", "node_modules"]}}
    async with watching(disk.root, recursive=True, **patterns) as seen:
        for name in ("node_modules/a.py", "a.log", "a.txt", "z.py"):
            (disk.root / name).write_text("x")
        assert await seen.until("z.py", "added") == [("z.py", "added")]


async def test_a_flat_watch_sees_no_deeper(disk: Disk) -> None:
    (disk.root / "sub").mkdir()
    async with watching(disk.root) as seen:
        (disk.root / "sub/deep").write_text("x")
        (disk.root / "z").write_text("x")
        assert {name for name, _ in await seen.until("z", "added")} <= {"sub", "z"}


async def test_one_file_is_watched_through_its_replacements(disk: Disk) -> None:
    path = disk.root / "settings.json"
    async with watching(path) as seen:
        await disk.write("settings.json", "1")
        await seen.until(".", "added")
        await disk.write("other", "1")
        for _ in range(2):
            await disk.write("settings.json", "2")
            assert await seen.until(".", "updated") == [(".", "updated")]
        path.unlink()
        assert await seen.until(".", "deleted") == [(".", "deleted")]


async def test_what_cannot_be_watched_is_refused_before_it_starts(disk: Disk) -> None:
    for root, error in ((disk.root / "no/such", NotFound), (disk.root.parent, PermissionDenied)):
        spec = WatchSpec(uris.file_uri(root))
        with pytest.raises(error):
            await watch(spec, lambda changes: None, under([disk.root]) if error is PermissionDenied else None)


async def test_a_link_out_of_the_granted_folder_reports_nothing(disk: Disk) -> None:
    outside = disk.root.parent / "outside"
    outside.mkdir()
    (disk.root / "link").symlink_to(outside)
    async with watching(disk.root, confined=disk.root, recursive=True) as seen:
        (outside / "secret").write_text("x")
        (disk.root / "z").write_text("x")
        assert await seen.until("z", "added") == [("z", "added")]


def watcher_threads() -> int:
    count = 0
    for task in os.listdir("/proc/self/task"):
        with suppress(OSError):  # It may have ended since.
            count += "notify" in Path(f"/proc/self/task/{task}/comm").read_text()
    return count


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads cannot be counted here")
async def test_a_cancelled_watch_leaves_nothing_behind(disk: Disk) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        async with watching(disk.root, recursive=True):
            with trio.fail_after(20):
                while not watcher_threads():
                    await trio.lowlevel.checkpoint()
    with trio.fail_after(20):
        while watcher_threads() or len(os.listdir("/proc/self/fd")) > before:
            await trio.lowlevel.checkpoint()
