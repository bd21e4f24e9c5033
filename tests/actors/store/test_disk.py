"""A disk that fails: nothing is half written, the sentence helps, and the disk is used again when it is well."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
import trio.testing

from actors.store import StoreError, Write, WriteFailed, documents, open_store, sessions
from tests.actors.store.samples import child, look, session
from tests.actors.store.test_commit import Gate

BIG = b"x" * 200_000


def limit_pages(pages: int) -> Write:
    """A write that makes the disk look full to the writer's connection (until it is opened anew)."""

    def run(connection: sqlite3.Connection) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages}")

    return Write(run)


async def test_a_full_disk_fails_everybody_in_the_group_and_the_next_group_works(store_path: Path) -> None:
    gate = Gate()
    sentences: list[str] = []

    async def commit_in_vain(key: str, body: bytes) -> None:
        with pytest.raises(StoreError) as caught:
            await store.commit([documents.put("k", key, body)])
        assert not isinstance(caught.value, WriteFailed)
        sentences.append(str(caught.value))

    async with open_store(store_path) as store:
        await store.commit([documents.put("k", "before", b"1"), limit_pages(30)])
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.commit, [gate.write])
            await gate.reached()
            nursery.start_soon(commit_in_vain, "small", b"2")
            nursery.start_soon(commit_in_vain, "big", BIG)
            await trio.testing.wait_all_tasks_blocked()
            gate.let_go()
        assert [record.key for record in await store.read(documents.of_kind("k"))] == ["before"]
        await store.commit([documents.put("k", "after", BIG)])
        assert [record.key for record in await store.read(documents.of_kind("k"))] == ["after", "before"]
    assert len(sentences) == 2
    for sentence in sentences:
        assert sentence.startswith(f"{store_path} has no room: the disk is full. Free some space there")


async def test_what_was_saved_soon_outlives_a_full_disk(store_path: Path) -> None:
    async with open_store(store_path) as store:
        await store.commit([sessions.put(session()), limit_pages(30)])
        store.save_soon([documents.put("tail", "a", b"old"), documents.put("tail", "b", b"kept")])
        with pytest.raises(StoreError):
            await store.commit([documents.put("k", "big", BIG)])
        assert await store.read(documents.of_kind("tail")) == []
        store.save_soon([documents.put("tail", "a", b"new")])
        await store.flush()
        assert [record.body for record in await store.read(documents.of_kind("tail"))] == [b"new", b"kept"]
        await store.commit([documents.put("tail", "a", b"newest")])
        await store.flush()
        assert await store.read(documents.get("tail", "a")) == b"newest"


async def test_a_save_the_disk_refused_does_not_undo_a_later_commit(store_path: Path) -> None:
    gate = Gate()
    async with open_store(store_path) as store:
        await store.commit([limit_pages(30)])
        async with trio.open_nursery() as nursery:
            store.save_soon([documents.put("k", "k", b"early")])

            async def commit_in_vain() -> None:
                with pytest.raises(StoreError):
                    await store.commit([gate.write, documents.put("k", "big", BIG)])

            nursery.start_soon(commit_in_vain)
            await gate.reached()
            nursery.start_soon(store.commit, [documents.put("k", "k", b"late")])
            await trio.testing.wait_all_tasks_blocked()
            gate.let_go()
        assert await store.read(documents.get("k", "k")) == b"late"


FILE_LIMIT = """
import resource, sys, trio
from pathlib import Path
from actors.store import StoreError, documents, open_store
async def main():
    async with open_store(Path(sys.argv[1])) as store:
        await store.commit([documents.put("k", "before", b"1")])
        unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, unlimited[1]))
        kept = 0
        try:
            while True:
                await store.commit([documents.put("k", f"n{kept:03}", b"x" * 10_000), documents.put("other", "n", b"")])
                kept += 1
        except StoreError as error:
            print(error)
        for _ in range(3):
            try:
                await store.commit([documents.put("k", "in vain", b"x" * 400_000)])
            except StoreError as error:
                print(error)
        found = [record.key for record in await store.read(documents.of_kind("k"))]
        assert found == ["before", *(f"n{number:03}" for number in range(kept))], found
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        await store.commit([documents.put("k", "after", b"x" * 400_000)])
    print("kept", kept)
trio.run(main)
"""


async def test_a_disk_without_room_keeps_what_it_acknowledged_and_is_used_again_when_it_has_room(
    store_path: Path,
) -> None:
    with child(FILE_LIMIT, str(store_path)) as process:
        output, _ = process.communicate()
    lines = output.splitlines()
    assert process.returncode == 0
    assert len(lines) == 5
    assert all(line.startswith(f"{store_path} ") and "disk" in line for line in lines[:4])
    kept = int(lines[4].split()[1])
    assert look(store_path, "SELECT count(*) FROM documents WHERE kind = 'k'") == [(kept + 2,)]
    assert look(store_path, "PRAGMA integrity_check") == [("ok",)]


READ_ONLY = """
import os, sys, trio
from pathlib import Path
from actors.store import StoreError, documents, open_store
path = Path(sys.argv[1])
async def main():
    async with open_store(path) as store:
        await store.commit([documents.put("k", "k", b"1")])
    before = path.read_bytes()
    for file, folder in ((0o400, 0o700), (0o600, 0o500), (0o000, 0o700)):
        path.chmod(file)
        path.parent.chmod(folder)
        try:
            async with open_store(path) as store:
                await store.commit([documents.put("k", "k", b"2")])
            print("opened")
        except StoreError as error:
            print(error)
        path.parent.chmod(0o700)
        path.chmod(0o600)
        assert path.read_bytes() == before
    async with open_store(path) as store:
        await store.commit([documents.put("k", "k", b"2")])
if os.geteuid() == 0:  # to whom nothing is read-only
    os.chown(path.parent.parent, 65534, 65534)
    os.setgid(65534)
    os.setuid(65534)
trio.run(main)
print("well again")
"""


@pytest.fixture
def reachable_path() -> Iterator[Path]:
    """A path that a user without rights can get to."""
    folder = Path(tempfile.mkdtemp())
    yield folder / "store" / "host.db"
    shutil.rmtree(folder)


async def test_a_read_only_store_is_refused_with_a_sentence_and_left_as_it_is(reachable_path: Path) -> None:
    with child(READ_ONLY, str(reachable_path)) as process:
        output, _ = process.communicate()
    *refused, last = output.splitlines()
    assert (last, len(refused)) == ("well again", 3)
    assert "Permission denied. Make the file and its folder readable and writable" in refused[0]
    assert all(line.startswith(f"{reachable_path} ") and "writ" in line for line in refused)


async def test_a_file_deleted_under_the_store_is_no_place_to_write_to(store_path: Path) -> None:
    away = store_path.with_name("away.db")
    async with open_store(store_path) as store:
        await store.commit([documents.put("k", "k", b"1")])
        os.rename(store_path, away)
        for _ in range(2):
            with pytest.raises(StoreError, match=r"moved or deleted|cannot be opened"):
                await store.commit([documents.put("k", "k", b"2")])
        os.rename(away, store_path)
        await store.commit([documents.put("k", "k", b"3")])
        assert await store.read(documents.get("k", "k")) == b"3"


async def test_a_stranger_who_holds_the_file_is_waited_for_and_then_named(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.store.connection._BUSY_SECONDS", 0.01)
    async with open_store(store_path) as store:
        stranger = sqlite3.connect(store_path, isolation_level=None)
        stranger.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="held by another program"):
            await store.commit([sessions.put(session())])
        stranger.execute("ROLLBACK")
        stranger.close()
        await store.commit([sessions.put(session())])
