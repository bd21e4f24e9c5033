"""Opening: modes, the lock between processes, old and future versions, and files that are no store of ours."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from actors.store import (
    Store,
    StoreError,
    StoreFromTheFuture,
    StoreLocked,
    StoreUnreadable,
    open_store,
    schema,
    sequence,
    sessions,
)
from actors.store.lock import Holder, holder, lock_path
from tests.actors.store.samples import child, look, session

HOLD = """
import sys, trio
from pathlib import Path
from actors.store import open_store
async def main():
    async with open_store(Path(sys.argv[1])):
        print("open", flush=True)
        await trio.to_thread.run_sync(sys.stdin.readline)
trio.run(main)
"""

FUTURE_IN_THE_WAL = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA wal_autocheckpoint = 0")
connection.execute("PRAGMA user_version = 99")
os._exit(0)
"""


async def test_the_folder_and_every_file_are_private(store_path: Path) -> None:
    old = os.umask(0)
    try:
        async with open_store(store_path) as store:
            await store.commit([sessions.put(session())])
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in store_path.parent.iterdir()}
    finally:
        os.umask(old)
    assert modes == dict.fromkeys(["host.db", "host.db-wal", "host.db-shm", "host.db.lock"], 0o600)
    assert stat.S_IMODE(store_path.parent.stat().st_mode) == 0o700


async def test_a_file_that_others_could_read_is_made_private(store_path: Path) -> None:
    await _make(store_path)
    store_path.chmod(0o644)
    async with open_store(store_path):
        assert stat.S_IMODE(store_path.stat().st_mode) == 0o600


async def test_a_second_process_is_told_who_has_the_store(store_path: Path) -> None:
    with child(HOLD, str(store_path)) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(StoreLocked, match=f"used by process {other.pid}") as caught:
            async with open_store(store_path):
                pass
        assert caught.value.pid == other.pid
        found = holder(store_path)
        assert found is not None
        assert found.pid == other.pid
        other.communicate("\n")
    assert holder(store_path) is None
    async with open_store(store_path):
        assert holder(store_path) == Holder(os.getpid(), _read_since(store_path))


async def test_the_lock_of_a_process_that_was_killed_is_no_obstacle(store_path: Path) -> None:
    with child(HOLD, str(store_path)) as other:
        assert other.stdout is not None
        other.stdout.readline()
        other.send_signal(signal.SIGKILL)
    assert lock_path(store_path).read_text().startswith(str(other.pid))
    async with open_store(store_path):
        pass


async def test_one_process_does_not_open_a_store_twice(store_path: Path) -> None:
    async with open_store(store_path):
        with pytest.raises(StoreLocked):
            async with open_store(store_path):
                pass


async def test_a_refused_opening_lets_the_lock_go(store_path: Path) -> None:
    store_path.parent.mkdir()
    store_path.write_bytes(b"garbage " * 100)
    for _ in range(2):
        with pytest.raises(StoreUnreadable):
            async with open_store(store_path):
                pass
    assert holder(store_path) is None


@pytest.mark.parametrize(
    "content", [b"x", b"garbage " * 100, b"SQLite format 3\0" + b"x" * 20, b"SQLite format 3\0" + b"\xff" * 4080]
)
async def test_a_file_that_is_no_database_is_left_as_it_is(store_path: Path, content: bytes) -> None:
    store_path.parent.mkdir()
    store_path.write_bytes(content)
    with pytest.raises(StoreUnreadable, match=r"not a database|another program"):
        async with open_store(store_path):
            pass
    assert store_path.read_bytes() == content


async def test_a_database_of_another_program_is_left_as_it_is(store_path: Path) -> None:
    store_path.parent.mkdir()
    with closing(sqlite3.connect(store_path)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    before = store_path.read_bytes()
    with pytest.raises(StoreUnreadable, match="another program"):
        async with open_store(store_path):
            pass
    assert store_path.read_bytes() == before


async def test_a_folder_in_the_place_of_the_file_is_refused(store_path: Path) -> None:
    store_path.mkdir(parents=True)
    with pytest.raises(StoreUnreadable, match="is a folder"):
        async with open_store(store_path):
            pass


async def test_a_file_in_the_place_of_the_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("not a folder")
    with pytest.raises(StoreError, match="cannot be opened"):
        async with open_store(tmp_path / "store" / "host.db"):
            pass


async def test_an_empty_file_is_a_new_store(store_path: Path) -> None:
    store_path.parent.mkdir()
    store_path.touch(0o600)
    async with open_store(store_path) as store:
        assert await store.read(sessions.count()) == 0


async def test_a_database_from_the_future_is_refused_and_left_as_it_is(store_path: Path) -> None:
    await _make(store_path)
    with closing(sqlite3.connect(store_path, isolation_level=None)) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = store_path.read_bytes()
    with pytest.raises(StoreFromTheFuture, match="schema 99") as caught:
        async with open_store(store_path):
            pass
    assert (caught.value.found, caught.value.known) == (99, len(schema.MIGRATIONS))
    assert store_path.read_bytes() == before


async def test_a_future_that_is_still_in_the_wal_is_seen_and_left_there(store_path: Path) -> None:
    await _make(store_path)
    child(FUTURE_IN_THE_WAL, str(store_path)).communicate()
    wal = store_path.with_name("host.db-wal")
    before = store_path.read_bytes(), wal.read_bytes()
    assert before[1]
    with pytest.raises(StoreFromTheFuture):
        async with open_store(store_path):
            pass
    assert (store_path.read_bytes(), wal.read_bytes()) == before


@pytest.mark.parametrize("had", range(len(schema.MIGRATIONS) + 1))
async def test_a_store_of_each_earlier_version_is_brought_forward(store_path: Path, had: int) -> None:
    """The tables end as those of a new store, and what the old one held is there."""
    store_path.parent.mkdir()
    with closing(sqlite3.connect(store_path, isolation_level=None)) as connection:
        schema.migrate(connection, store_path, schema.MIGRATIONS[:had])
        if had >= 1:
            connection.execute("INSERT INTO sessions VALUES ('old', 'echo', '1', '2', '{}', '{}', '{}')")
            connection.execute("UPDATE sequence SET mark = 7")
    async with open_store(store_path) as store:
        assert await store.read(sessions.count()) == (1 if had else 0)
        assert await store.read(sequence.mark()) == (7 if had else 0)
        await store.commit([sessions.put(session("new"))])
    fresh = store_path.with_name("fresh.db")
    await _make(fresh)
    tables = "SELECT type, name, sql FROM sqlite_schema ORDER BY name"
    assert look(store_path, tables) == look(fresh, tables)
    assert look(store_path, "PRAGMA user_version") == [(len(schema.MIGRATIONS),)]


def test_a_migration_that_fails_half_way_never_was(tmp_path: Path) -> None:
    path = tmp_path / "host.db"
    first, second = ("CREATE TABLE one (x)",), ("CREATE TABLE two (x)", "INSERT INTO nowhere VALUES (1)")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        with pytest.raises(sqlite3.OperationalError, match="nowhere"):
            schema.migrate(connection, path, [first, second])
        assert schema.version(connection) == 1
        schema.migrate(connection, path, [first, second[:1]])
        assert schema.version(connection) == 2
        schema.migrate(connection, path, [first, second[:1]])
    assert look(path, "SELECT name FROM sqlite_schema ORDER BY name") == [("one",), ("two",)]


def test_a_migration_that_orphans_a_row_is_undone(tmp_path: Path) -> None:
    path = tmp_path / "host.db"
    tables = ("CREATE TABLE p (id INTEGER PRIMARY KEY)", "CREATE TABLE c (p REFERENCES p)", "INSERT INTO p VALUES (1)")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        schema.migrate(connection, path, [(*tables, "INSERT INTO c VALUES (1)")])
        with pytest.raises(sqlite3.IntegrityError, match="migration 2 left a row of c without its p"):
            schema.migrate(connection, path, [tables, ("DELETE FROM p",)])
        assert connection.execute("SELECT count(*) FROM p").fetchone() == (1,)


async def _make(path: Path) -> None:
    async with open_store(path) as store:
        assert isinstance(store, Store)


def _read_since(path: Path) -> str:
    return lock_path(path).read_text().split()[1]
