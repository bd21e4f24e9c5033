"""Committing, saving soon, reading and closing, in one process with a well disk."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest
import trio

from actors.store import StoreClosed, StoreError, Write, WriteFailed, chats, documents, open_store, sessions
from tests.actors.store.samples import chat, look, session


class Gate:
    """A write that holds the writer thread until it is let go, so that what comes after it waits and is one group."""

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._open = threading.Event()
        self.write = Write(self._hold)

    def _hold(self, _: sqlite3.Connection) -> None:
        self._reached.set()
        assert self._open.wait(10)

    async def reached(self) -> None:
        await trio.to_thread.run_sync(self._reached.wait)

    def let_go(self) -> None:
        self._open.set()


def transactions(into: list[str]) -> Write:
    """A write that has the writer's connection note what it executes from now on."""
    return Write(lambda connection: connection.set_trace_callback(into.append))


async def test_a_commit_that_returned_is_seen_by_a_stranger(store_path: Path) -> None:
    async with open_store(store_path) as store:
        await store.commit([sessions.put(session("s1"))])
        assert look(store_path, "SELECT id FROM sessions") == [("s1",)]


async def test_commits_that_wait_share_one_transaction(store_path: Path) -> None:
    executed: list[str] = []
    gate = Gate()
    async with open_store(store_path) as store:
        await store.commit([transactions(executed)])
        executed.clear()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.commit, [gate.write])
            await gate.reached()
            for number in range(20):
                nursery.start_soon(store.commit, [sessions.put(session(f"s{number}"))])
            await trio.testing.wait_all_tasks_blocked()
            gate.let_go()
        assert executed.count("COMMIT") == 2
        assert await store.read(sessions.count()) == 20


async def test_in_a_group_only_the_commit_at_fault_fails(store_path: Path) -> None:
    gate = Gate()
    failures: list[StoreError] = []

    async def commit_badly(*writes: Write) -> None:
        with pytest.raises(WriteFailed) as caught:
            await store.commit(writes)
        failures.append(caught.value)

    def bug(_: sqlite3.Connection) -> None:
        raise KeyError("a bug")

    async with open_store(store_path) as store:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.commit, [gate.write])
            await gate.reached()
            nursery.start_soon(store.commit, [sessions.put(session("first"))])
            nursery.start_soon(commit_badly, sessions.put(session("undone")), chats.put(chat("c", "no such session")))
            nursery.start_soon(commit_badly, sessions.put(session("undone too")), Write(bug))
            nursery.start_soon(store.commit, [sessions.put(session("last"))])
            await trio.testing.wait_all_tasks_blocked()
            gate.let_go()
        kept = {entry.id for entry in await store.read(sessions.catalogue())}
    assert kept == {"first", "last"}
    assert {type(failure.__cause__) for failure in failures} == {sqlite3.IntegrityError, KeyError}
    assert all(str(store_path) in str(failure) for failure in failures)


async def test_a_commit_alone_that_fails_leaves_nothing_and_the_next_one_works(store_path: Path) -> None:
    async with open_store(store_path) as store:
        with pytest.raises(WriteFailed, match="FOREIGN KEY"):
            await store.commit([sessions.put(session("half")), chats.put(chat("c", "no such session"))])
        await store.commit([sessions.put(session("whole"))])
        assert [entry.id for entry in await store.read(sessions.catalogue())] == ["whole"]


async def test_writes_are_kept_in_the_order_they_were_handed_over(store_path: Path) -> None:
    async with open_store(store_path) as store:
        async with trio.open_nursery() as nursery:

            async def write_next(number: int) -> None:
                await store.commit([documents.put("count", "last", str(number).encode())])

            for number in range(100):
                nursery.start_soon(write_next, number)
                await trio.testing.wait_all_tasks_blocked()
        assert await store.read(documents.get("count", "last")) == b"99"


async def test_cancelled_before_the_call_nothing_is_written(store_path: Path) -> None:
    async with open_store(store_path) as store:
        with trio.CancelScope() as scope:
            scope.cancel()
            await store.commit([sessions.put(session())])
        assert scope.cancelled_caught
        await store.flush()
        assert await store.read(sessions.count()) == 0


async def test_cancelled_while_it_waits_the_commit_happens_all_the_same(store_path: Path) -> None:
    gate = Gate()
    async with open_store(store_path) as store:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.commit, [gate.write])
            await gate.reached()
            with trio.CancelScope() as scope:
                nursery.start_soon(_cancel_when_blocked, scope)
                await store.commit([sessions.put(session())])
            assert scope.cancelled_caught
            gate.let_go()
        await store.flush()
        assert await store.read(sessions.count()) == 1


async def test_a_failure_nobody_waits_for_is_logged(store_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate()
    async with open_store(store_path) as store, trio.open_nursery() as nursery:
        nursery.start_soon(store.commit, [gate.write])
        await gate.reached()
        with trio.CancelScope() as scope:
            nursery.start_soon(_cancel_when_blocked, scope)
            await store.commit([chats.put(chat("c", "no such session"))])
        gate.let_go()
    assert "nobody waits for it" in caplog.text


async def test_closing_finishes_what_was_handed_over(store_path: Path) -> None:
    gate = Gate()
    async with trio.open_nursery() as nursery:
        with trio.CancelScope() as scope:
            async with open_store(store_path) as store:
                nursery.start_soon(store.commit, [gate.write])
                await gate.reached()
                nursery.start_soon(store.commit, [sessions.put(session("late"))])
                await trio.testing.wait_all_tasks_blocked()
                store.save_soon([documents.put("tail", "t", b"1")])
                scope.cancel()
                gate.let_go()
    assert look(store_path, "SELECT id FROM sessions") == [("late",)]
    assert look(store_path, "SELECT key FROM documents") == [("t",)]


async def test_a_closed_store_is_one_file_and_says_that_it_is_closed(store_path: Path) -> None:
    async with open_store(store_path) as store:
        await store.commit([sessions.put(session())])
        await store.read(sessions.count())
    assert sorted(file.name for file in store_path.parent.iterdir()) == ["host.db", "host.db.lock"]
    with pytest.raises(StoreClosed):
        await store.commit([])
    with pytest.raises(StoreClosed):
        await store.read(sessions.count())
    with pytest.raises(StoreClosed):
        store.save_soon([])


async def test_saves_wait_for_the_next_commit_and_only_the_last_of_a_key_is_run(store_path: Path) -> None:
    ran: list[str] = []

    def save(key: str, name: str) -> Write:
        return Write(lambda _: ran.append(name), key)

    async with open_store(store_path) as store:
        store.save_soon([save("a", "a1"), save("b", "b1")])
        store.save_soon([save("a", "a2")])
        assert ran == []
        await store.commit([Write(lambda _: ran.append("commit"))])
        assert ran == ["b1", "a2", "commit"]
        store.save_soon([save("a", "a3")])
        await store.flush()
        await store.flush()
    assert ran == ["b1", "a2", "commit", "a3"]


async def test_a_save_of_what_is_gone_is_dropped_and_hurts_nobody(
    store_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_store(store_path) as store:
        store.save_soon([chats.put(chat("c", "no such session"))])
        await store.commit([sessions.put(session())])
        assert await store.read(chats.load("c")) is None
    assert "saved soon" in caplog.text


async def test_only_what_has_a_key_can_be_saved_soon(store_path: Path) -> None:
    async with open_store(store_path) as store:
        with pytest.raises(ValueError, match="key"):
            store.save_soon([sessions.delete("s1")])


async def test_a_query_sees_one_moment(store_path: Path) -> None:
    """A commit that falls between two selects of one query is not seen by the second."""
    between = threading.Event()
    committed = threading.Event()

    def twice(connection: sqlite3.Connection) -> tuple[int, int]:
        before = sessions.count()(connection)
        between.set()
        assert committed.wait(10)
        return before, sessions.count()(connection)

    async with open_store(store_path) as store, trio.open_nursery() as nursery:

        async def commit_between() -> None:
            await trio.to_thread.run_sync(between.wait)
            await store.commit([sessions.put(session())])
            committed.set()

        nursery.start_soon(commit_between)
        assert await store.read(twice) == (0, 0)
        assert await store.read(sessions.count()) == 1


async def test_a_query_cannot_write_and_a_bug_in_it_reaches_the_caller(store_path: Path) -> None:
    def bug(_: sqlite3.Connection) -> None:
        raise KeyError("a bug")

    async with open_store(store_path) as store:
        with pytest.raises(StoreError, match="readonly"):
            await store.read(lambda connection: connection.execute("DELETE FROM sessions"))
        with pytest.raises(KeyError):
            await store.read(bug)
        assert await store.read(sessions.count()) == 0


async def test_many_readers_at_once_use_a_few_connections(store_path: Path) -> None:
    used: set[int] = set()
    async with open_store(store_path) as store, trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(store.read, lambda connection: used.add(id(connection)))
    assert 1 <= len(used) <= 4


async def test_without_threads_a_mock_clock_stands_still_over_a_commit(
    store_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_store(store_path, threads="none") as store:
        before = trio.current_time()
        with trio.fail_after(1):
            await store.commit([sessions.put(session())])
            store.save_soon([documents.put("k", "k", b"1")])
            assert await store.read(sessions.count()) == 1
        assert trio.current_time() == before
    assert look(store_path, "SELECT key FROM documents") == [("k",)]


async def _cancel_when_blocked(scope: trio.CancelScope) -> None:
    await trio.testing.wait_all_tasks_blocked()
    scope.cancel()
