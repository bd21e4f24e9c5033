"""A policy that grants one folder, and everything that might lead out of it."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from actors.workspace.places import Access, Confined, under
from actors.workspace.resources import Resources
from ahp import commands, uris
from ahp.jsonrpc import NotFound, PermissionDenied
from ahp.wire import UNSET
from tests.actors.workspace.disk import Disk, code_of

DENIED = -32009


@pytest.fixture
def inside(tmp_path: Path) -> Disk:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/secret").write_text("secret")
    (tmp_path / "in/folder-out").symlink_to("../out")
    (tmp_path / "in/file-out").symlink_to("../out/secret")
    (tmp_path / "in/new-out").symlink_to("../out/new")
    (tmp_path / "in/file").write_text("mine")
    return Disk(tmp_path / "in", under([tmp_path / "in"]))


async def test_links_and_dots_lead_nowhere_else(inside: Disk) -> None:
    base = uris.file_uri(inside.root)
    for way in ("folder-out/secret", "file-out", f"{base}/../out/secret", f"{base}/folder-out/../out/secret"):
        assert await code_of(inside.read(way)) == DENIED
        assert await code_of(inside.resolve(way)) == DENIED
        assert await code_of(inside.write(way, "x")) == DENIED
        assert await code_of(inside.write(way, "x", mode="append")) == DENIED
        assert await code_of(inside.copy(way, "stolen")) == DENIED
        assert await code_of(inside.copy("file", f"{base}/../out/new")) == DENIED
    for way in ("folder-out/secret", f"{base}/../out/secret"):
        assert await code_of(inside.move(way, "stolen")) == DENIED
        assert await code_of(inside.delete(way)) == DENIED
        assert await code_of(inside.move("file", way)) == DENIED
    assert await code_of(inside.write("new-out", "x")) == DENIED
    assert await code_of(inside.mkdir("folder-out/new")) == DENIED
    assert await code_of(inside.list("folder-out")) == DENIED
    assert await code_of(inside.list("..")) == DENIED
    assert (inside.root.parent / "out/secret").read_text() == "secret"
    assert sorted(os.listdir(inside.root.parent / "out")) == ["secret"]


async def test_the_links_themselves_may_be_handled(inside: Disk) -> None:
    assert (await inside.resolve("file-out", followSymlinks=False)).type == "symlink"
    await inside.move("file-out", "moved")
    await inside.delete("moved")
    await inside.delete("folder-out", recursive=True)
    await inside.write("file", "still mine")
    assert await inside.text("file") == "still mine"
    await inside.mkdir("a/b")
    await inside.copy("file", "a/b/file")
    assert (inside.root.parent / "out/secret").exists()


async def test_a_refusal_says_what_to_ask_for(inside: Disk) -> None:
    with pytest.raises(PermissionDenied) as caught:
        await inside.read("file-out")
    assert caught.value.data.request == commands.ResourceRequestParams(uri=inside.uri("file-out"), read=True)
    ask = commands.ResourceRequestParams(uri=inside.uri("../out/secret"), write=True)
    with pytest.raises(PermissionDenied) as caught:
        await inside.resources.request(ask, inside.confine)
    assert caught.value.data.request.read is UNSET
    for fine in (inside.uri("file"), inside.uri("to be made")):
        both = commands.ResourceRequestParams(uri=fine, read=True, write=True)
        await inside.resources.request(both, inside.confine)


async def test_who_asks_without_a_policy_has_the_one_that_all_share(inside: Disk) -> None:
    shared = Resources(confine=inside.confine)
    assert (await shared.read(commands.ResourceReadParams(uri=inside.uri("file")))).data == "mine"
    assert await code_of(shared.read(commands.ResourceReadParams(uri=inside.uri("file-out")))) == DENIED
    assert await code_of(shared.list(commands.ResourceListParams(uri="file:///"))) == DENIED


@pytest.fixture
def foreign() -> Iterator[Disk]:
    """A folder of somebody else with one file of ours in it."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "ours").write_text("old")
        (folder / "theirs").write_text("secret")
        (folder / "theirs").chmod(0o600)
        os.chown(folder / "ours", 65534, 65534)
        os.seteuid(65534)
        try:
            yield Disk(folder)
        finally:
            os.seteuid(0)


async def test_what_the_system_forbids_is_denied(foreign: Disk) -> None:
    assert await code_of(foreign.read("theirs")) == DENIED
    assert await code_of(foreign.write("theirs", "x")) == DENIED
    assert await code_of(foreign.write("new", "x")) == DENIED
    assert await code_of(foreign.mkdir("new")) == DENIED
    assert await code_of(foreign.move("ours", "new")) == DENIED
    assert await code_of(foreign.copy("ours", "new")) == DENIED
    assert await code_of(foreign.delete("ours")) == DENIED
    assert (await foreign.resolve("theirs")).size == 6
    assert await foreign.list("") == {"ours": "file", "theirs": "file"}


async def test_a_file_is_changed_in_place_where_none_can_be_put_beside_it(foreign: Disk) -> None:
    await foreign.write("ours", "one")
    await foreign.write("ours", "X", mode="insert", position=1)
    await foreign.write("ours", "!", mode="append")
    assert await foreign.text("ours") == "oXne!"


async def test_a_folder_goes_only_whole(inside: Disk) -> None:
    await inside.mkdir("tree/kept")

    def confine(path: Path, access: Access) -> None:
        if path.name == "kept":
            raise Confined(path, access)

    guarded = Disk(inside.root, confine)
    assert await code_of(guarded.delete("tree", recursive=True)) == DENIED
    assert await code_of(guarded.move("tree", "elsewhere")) == DENIED
    assert await code_of(guarded.copy("tree", "elsewhere")) == DENIED
    assert (inside.root / "tree/kept").is_dir()
    assert not (inside.root / "elsewhere").exists()


async def test_links_that_are_swapped_all_the_time_let_nothing_through(inside: Disk) -> None:
    """One thread swaps a folder and a file for links out while they are read, written and deleted."""
    root = inside.root
    (root / "real").mkdir()
    (root / "real/secret").write_text("mine")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for target in ("real", "../out"):
                os.symlink(target, root / "next")
                os.replace(root / "next", root / "way")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for i in range(300):
            # What is refused on one turn of the swap is granted on the next; the secret is never touched.
            with suppress(PermissionDenied, NotFound):
                assert await inside.text("way/secret") != "secret"
                await inside.write("way/secret", "mine")
                await inside.write("way/secret", "", mode="append")
                await inside.write(f"way/new{i}", "x")
                await inside.delete(f"way/new{i}")
    finally:
        stop.set()
        thread.join()
    assert (root.parent / "out/secret").read_text() == "secret"
    assert os.listdir(root.parent / "out") == ["secret"]
