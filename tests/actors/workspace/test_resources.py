"""The `resource*` requests on a real disk."""

from __future__ import annotations

import os
import re
import shutil
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from actors.workspace.provider import Provider
from actors.workspace.resources import Resources
from ahp import commands, uris
from ahp.jsonrpc import RpcError
from tests.actors.workspace.disk import Disk, code_of

ODD_NAMES = ["sub dir", "100%", "a%20b", "héllo ☃", "line\nbreak", "q?#", "-rf", "'\"`$(x)", "e\u0301", "..."]


async def test_the_reference_transcript_is_answered_alike(disk: Disk) -> None:
    (disk.root / "a.txt").write_text("héllo\n")
    (disk.root / "b.bin").write_bytes(bytes(range(256)))
    (disk.root / "sub dir").mkdir()
    (disk.root / "link").symlink_to(disk.root / "a.txt")

    text = await disk.read("a.txt")
    assert (text.data, text.encoding, text.content_type) == ("héllo\n", "utf-8", "text/plain")
    encoded = await disk.read("a.txt", encoding="base64")
    assert (encoded.data, encoded.encoding, encoded.content_type) == ("aMOpbGxvCg==", "base64", "text/plain")
    assert await code_of(disk.read("none")) == -32008
    assert await code_of(disk.read("")) == -32603
    assert await disk.list("sub dir") == {}
    assert await disk.list("") == {"a.txt": "file", "b.bin": "file", "sub dir": "directory", "link": "file"}
    assert await code_of(disk.list("a.txt")) == -32008
    assert await code_of(disk.read("http://127.0.0.1/x")) == -32603
    assert await code_of(disk.resolve("none")) == -32008

    await disk.write("w.txt", "one")
    await disk.write("w.txt", "two", mode="append")
    assert await code_of(disk.write("w.txt", "x", createOnly=True)) == -32010
    assert await code_of(disk.write("w.txt", "x", ifMatch="bogus")) == -32011
    assert await code_of(disk.write("no/such/w.txt", "x")) == -32008
    assert await disk.text("w.txt") == "onetwo"

    await disk.mkdir("m/n")
    await disk.copy("w.txt", "m/w2.txt")
    await disk.move("m/w2.txt", "m/w3.txt")
    assert await code_of(disk.move("m/w3.txt", "w.txt", failIfExists=True)) == -32010
    assert await code_of(disk.delete("m")) == -32008
    await disk.delete("m", recursive=True)
    assert await code_of(disk.delete("none")) == -32008


async def test_a_uri_without_a_scheme_is_nothing_found() -> None:
    with pytest.raises(RpcError) as caught:
        await Resources().read(commands.ResourceReadParams(uri="not a uri"))
    assert caught.value.code == -32008


@pytest.mark.parametrize(
    "uri", ["file://elsewhere/etc/passwd", "file:///a%00b", "file:relative", "file:///a?b", "file:///a#b"]
)
async def test_what_names_no_file_of_this_machine_is_refused(uri: str) -> None:
    for request in (
        Resources().read(commands.ResourceReadParams(uri=uri)),
        Resources().write(commands.ResourceWriteParams(uri=uri, data="", encoding="utf-8")),
        Resources().delete(commands.ResourceDeleteParams(uri=uri, recursive=True)),
        Resources().mkdir(commands.ResourceMkdirParams(uri=uri)),
    ):
        assert await code_of(request) == -32602


async def test_bytes_that_are_not_utf8_come_as_base64_whatever_was_asked(disk: Disk) -> None:
    (disk.root / "b.bin").write_bytes(bytes(range(256)))
    for asked in ({}, {"encoding": "utf-8"}, {"encoding": "base64"}):
        result = await disk.read("b.bin", **asked)
        assert (result.encoding, result.content_type) == ("base64", "application/octet-stream")


async def test_the_content_type_goes_by_the_name_and_then_by_the_bytes(disk: Disk) -> None:
    expected = {
        "a.md": "text/markdown",
        "a.ts": "text/typescript",
        "a.json": "application/json",
        "a.png": "image/png",
        "Makefile": "text/plain",
        "a.tar.gz": "application/gzip",
        "a.unheard": "text/plain",
    }
    for name, kind in expected.items():
        await disk.write(name, "x")
        assert (await disk.read(name)).content_type == kind
    await disk.write("noname", b"\xff\xfe")
    assert (await disk.read("noname")).content_type == "application/octet-stream"


@pytest.mark.parametrize("name", ODD_NAMES)
async def test_a_name_is_decoded_once_and_survives_the_round_trip(disk: Disk, name: str) -> None:
    await disk.write(name, "first")
    assert [entry.name for entry in disk.root.iterdir()] == [name]
    assert await disk.list("") == {name: "file"}
    assert (await disk.resolve(name)).uri == uris.file_uri(disk.root / name)
    await disk.move(name, "plain")
    await disk.copy("plain", name)
    assert await disk.text(name) == "first"
    await disk.delete(name)
    assert await disk.list("") == {"plain": "file"}


async def test_a_name_that_is_no_utf8_can_be_listed_and_read(disk: Disk) -> None:
    path = disk.root / os.fsdecode(b"bad\xff")
    path.write_text("x")
    assert await disk.list("") == {"bad\ufffd": "file"}
    assert await disk.text(uris.file_uri(path)) == "x"


async def test_only_regular_files_are_read_or_written(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(disk.root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(disk.root)  # A socket's path has to be short.
        server.bind("socket")
        for name in ("pipe", "socket", "file:///dev/null"):
            assert await code_of(disk.read(name)) == -32603
            assert await code_of(disk.write(name, "x")) == -32603
            assert await code_of(disk.write(name, "x", mode="append")) == -32603
            assert await code_of(disk.copy(name, "copied")) == -32603
    assert sorted(await disk.list("")) == ["pipe", "socket"]


async def test_a_file_above_the_limit_is_refused_and_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "big").touch()
    os.truncate(tmp_path / "big", 1 << 40)
    with pytest.raises(RpcError, match="larger than 64 MiB"):
        await Resources().read(commands.ResourceReadParams(uri=uris.file_uri(tmp_path / "big")))


async def test_a_file_that_says_it_is_empty_is_read_to_its_end() -> None:
    result = await Resources().read(commands.ResourceReadParams(uri="file:///proc/self/status"))
    assert "Pid:" in result.data


async def test_resolve_says_what_is_there_and_its_canonical_uri(disk: Disk) -> None:
    await disk.write("a.txt", "héllo\n")
    (disk.root / "link").symlink_to("a.txt")
    found = await disk.resolve("a.txt")
    assert (found.uri, found.type, found.size) == (disk.uri("a.txt"), "file", 7)
    assert found.content_type == "text/plain"
    for time in (found.mtime, found.ctime):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", str(time))
    assert (await disk.resolve("link")).uri == disk.uri("a.txt")
    link = await disk.resolve("link", followSymlinks=False)
    assert (link.uri, link.type) == (disk.uri("link"), "symlink")
    assert (await disk.resolve("")).type == "directory"
    assert (await disk.resolve("file:///")).uri == "file:///"
    (disk.root / "broken").symlink_to("nowhere")
    assert await code_of(disk.resolve("broken")) == -32008
    assert (await disk.resolve("broken", followSymlinks=False)).type == "symlink"


async def test_an_etag_holds_until_the_file_changes(disk: Disk) -> None:
    await disk.write("a", "one")
    first = (await disk.resolve("a")).etag
    await disk.write("a", "two", ifMatch=first)
    assert await code_of(disk.write("a", "three", ifMatch=first)) == -32011
    second = (await disk.resolve("a")).etag
    await disk.write("a", "!", mode="append", ifMatch=second)
    assert await disk.text("a") == "two!"
    assert await code_of(disk.write("new", "x", ifMatch=first)) == -32011
    assert await disk.list("") == {"a": "file"}


async def test_a_listing_types_links_by_their_target(disk: Disk) -> None:
    (disk.root / "folder").mkdir()
    (disk.root / "to-folder").symlink_to("folder")
    (disk.root / "broken").symlink_to("nowhere")
    (disk.root / "round").symlink_to("round")
    listed = await disk.list("")
    assert listed == {"broken": "file", "folder": "directory", "round": "file", "to-folder": "directory"}
    assert list(listed) == sorted(listed)
    assert await code_of(disk.read("round")) == -32008
    assert await code_of(disk.write("round", "x")) == -32008
    assert await code_of(disk.list("none")) == -32008


async def test_a_write_keeps_mode_and_link_and_leaves_no_second_file(disk: Disk) -> None:
    await disk.write("tool", "old")
    os.chmod(disk.root / "tool", 0o751)
    (disk.root / "link").symlink_to("tool")
    await disk.write("link", "new")
    assert (disk.root / "link").is_symlink()
    assert (disk.root / "tool").read_text() == "new"
    assert stat.S_IMODE((disk.root / "tool").stat().st_mode) == 0o751
    assert sorted(await disk.list("")) == ["link", "tool"]


async def test_a_new_file_has_the_mode_the_umask_gives(disk: Disk) -> None:
    before = os.umask(0o027)
    try:
        await disk.write("a", "x")
        await disk.write("b", "x", mode="append")
        await disk.write("c", "x", createOnly=True)
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in disk.root.iterdir()} == {0o640}


async def test_the_names_of_one_file_stay_one_file(disk: Disk) -> None:
    await disk.write("a", "one")
    os.link(disk.root / "a", disk.root / "b")
    await disk.write("a", "twotwo")
    await disk.write("b", "X", mode="insert", position=3)
    assert (disk.root / "a").read_text() == (disk.root / "b").read_text() == "twoXtwo"
    await disk.write("a", "x")
    assert (disk.root / "b").read_text() == "x"
    await disk.move("a", "b")
    assert await disk.list("") == {"b": "file"}


async def test_a_link_that_leads_nowhere_is_filled_at_its_target_but_not_created_over(disk: Disk) -> None:
    (disk.root / "link").symlink_to("target")
    assert await code_of(disk.write("link", "x", createOnly=True)) == -32010
    await disk.write("link", "x")
    assert (disk.root / "target").read_text() == "x"


async def test_what_cannot_be_written_is_refused_and_nothing_changes(disk: Disk) -> None:
    await disk.write("a", "kept")
    (disk.root / "folder").mkdir()
    for body in (
        {"position": -1},
        {"position": -1, "mode": "append"},
        {"encoding": "base64"},
        {"encoding": "base64", "mode": "insert"},
    ):
        assert await code_of(disk.write("a", "not base64!", **body)) == -32602
    assert await code_of(disk.write("folder", "x")) == -32603
    assert await code_of(disk.write("a/b", "x")) == -32008
    assert await code_of(disk.write("n" * 300, "x")) == -32602
    assert await disk.text("a") == "kept"
    assert sorted(await disk.list("")) == ["a", "folder"]


async def test_appenders_at_once_lose_nothing(disk: Disk) -> None:
    lines = [f"{i:04}\n" for i in range(200)]
    async with trio.open_nursery() as nursery:
        for line in lines[:150]:
            nursery.start_soon(lambda line=line: disk.write("log", line, mode="append"))
        for line in lines[150:]:
            nursery.start_soon(lambda line=line: disk.write("log", line, mode="append", position=5))
        for _ in range(50):
            nursery.start_soon(lambda: disk.write("log", "", mode="insert", position=0))
    assert sorted((await disk.text("log")).splitlines(keepends=True)) == lines


async def test_creators_at_once_have_one_winner(disk: Disk) -> None:
    codes: list[int] = []

    async def create(who: str) -> None:
        codes.append(await code_of(disk.write("lock", who, createOnly=True)))

    async with trio.open_nursery() as nursery:
        for i in range(20):
            nursery.start_soon(create, str(i))
    assert sorted(codes) == [-32010] * 19 + [0]


async def test_mkdir_makes_the_way_and_refuses_what_stands_in_it(disk: Disk) -> None:
    await disk.mkdir("a/b/c")
    await disk.mkdir("a/b/c")
    await disk.write("file", "x")
    assert await code_of(disk.mkdir("file")) == -32010
    assert await code_of(disk.mkdir("file/below")) in (-32008, -32010)
    (disk.root / "link").symlink_to("a")
    await disk.mkdir("link/d")
    assert (disk.root / "a/d").is_dir()


async def test_copies_keep_modes_and_links_and_leave_the_source(disk: Disk) -> None:
    await disk.mkdir("tree/inner")
    await disk.write("tree/inner/run", "#!")
    os.chmod(disk.root / "tree/inner/run", 0o755)
    (disk.root / "tree/link").symlink_to("inner/run")
    os.mkfifo(disk.root / "tree/pipe")
    await disk.write("old", "a file is in the way")
    await disk.copy("tree", "old")
    assert sorted(await disk.list("old")) == ["inner", "link"]
    assert os.readlink(disk.root / "old/link") == "inner/run"
    assert stat.S_IMODE((disk.root / "old/inner/run").stat().st_mode) == 0o755
    await disk.write("file", "f")
    await disk.copy("file", "old")
    assert await disk.text("old") == "f"
    await disk.copy("file", "file")
    assert await code_of(disk.copy("file", "old", failIfExists=True)) == -32010
    assert await code_of(disk.copy("none", "x")) == -32008
    assert await code_of(disk.copy("file", "none/x")) == -32008
    assert sorted(await disk.list("")) == ["file", "old", "tree"]


async def test_a_folder_goes_neither_into_itself_nor_over_what_holds_it(disk: Disk) -> None:
    await disk.mkdir("a/b/c")
    for request in (
        disk.copy("a", "a/b/d"),
        disk.move("a", "a/b/d"),
        disk.copy("a/b/c", "a"),
        disk.move("a/b/c", "a"),
    ):
        assert await code_of(request) == -32602
    assert (disk.root / "a/b/c").is_dir()
    assert sorted(await disk.list("a/b")) == ["c"]


async def test_a_move_replaces_and_moves_links_as_links(disk: Disk) -> None:
    await disk.mkdir("full/inner")
    await disk.write("file", "f")
    (disk.root / "link").symlink_to("file")
    await disk.move("link", "moved")
    assert os.readlink(disk.root / "moved") == "file"
    await disk.move("file", "full")
    assert await disk.text("full") == "f"
    await disk.mkdir("folder")
    await disk.move("folder", "full")
    assert sorted(await disk.list("")) == ["full", "moved"]
    assert await code_of(disk.move("none", "x")) == -32008
    assert await code_of(disk.move("full", "none/x")) == -32008
    await disk.move("full", "full")


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Path]:
    """A path on a second device."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK) or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second device to write to")
    path = memory / f"workspace-{os.getpid()}"
    yield path
    shutil.rmtree(path, ignore_errors=True)


async def test_a_move_crosses_devices(disk: Disk, other: Path) -> None:
    await disk.mkdir("tree/inner")
    await disk.write("tree/inner/file", "x")
    (disk.root / "tree/link").symlink_to("inner")
    await disk.move("tree", uris.file_uri(other))
    assert (other / "inner/file").read_text() == "x"
    assert (other / "link").is_symlink()
    assert await disk.list("") == {}


async def test_deleting_a_link_spares_what_it_leads_to(disk: Disk) -> None:
    await disk.mkdir("folder/inner")
    (disk.root / "link").symlink_to("folder")
    (disk.root / "folder/up").symlink_to("..")
    await disk.delete("link", recursive=True)
    assert (disk.root / "folder").is_dir()
    await disk.delete("folder/inner")
    await disk.delete("folder", recursive=True)
    assert await disk.list("") == {}
    assert await code_of(disk.delete("file:///", recursive=True)) == -32602


async def test_other_schemes_are_served_by_who_registered_them(tmp_path: Path) -> None:
    class Greeting(Provider):
        async def read(self, params: commands.ResourceReadParams, confine: object) -> commands.ResourceReadResult:
            return commands.ResourceReadResult(data=params.uri, encoding="utf-8")

    resources = Resources()
    resources.register("Greeting", Greeting())
    assert (await resources.read(commands.ResourceReadParams(uri="greeting:x"))).data == "greeting:x"
    assert await code_of(resources.list(commands.ResourceListParams(uri="greeting:x"))) == -32601
    both = commands.ResourceCopyParams(source="greeting:x", destination=uris.file_uri(tmp_path / "x"))
    assert await code_of(resources.copy(both)) == -32602
    assert resources.schemes == ["file", "greeting"]
    for taken in ("file", "greeting", "ahp-chat", "no scheme", ""):
        with pytest.raises(ValueError):
            resources.register(taken, Greeting())
