"""The repositories: what each keeps, in which order it gives it back, and what goes with what."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from actors.store import Store, WriteFailed, chats, clients, documents, open_store, sequence, sessions, turns
from actors.store.sessions import Filters, Place
from tests.actors.store.samples import chat, date, session


@pytest.fixture
async def store(store_path: Path) -> AsyncIterator[Store]:
    async with open_store(store_path, durability="process") as opened:
        yield opened


async def test_a_session_comes_back_as_it_was_put(store: Store) -> None:
    record = session("s1", 3, summary=b'{"a":1}', state=b'{"b":2}', private=b'{"c":3}')
    await store.commit([sessions.put(record)])
    assert await store.read(sessions.load("s1")) == record
    assert await store.read(sessions.load("other")) is None


async def test_putting_a_session_again_keeps_its_chats(store: Store) -> None:
    await store.commit([sessions.put(session()), chats.put(chat()), sessions.put(session(state=b'{"new":1}'))])
    loaded = await store.read(sessions.load("s1"))
    assert loaded is not None
    assert loaded.state == b'{"new":1}'
    assert await store.read(chats.of_session("s1")) == [chat()]


async def test_states_and_private_parts_are_read_for_many_sessions_at_once(store: Store) -> None:
    first, second = session("s1", state=b'{"n":1}'), session("s2", state=b'{"n":2}')
    hidden = msgspec.structs.replace(chat("c2", "s2"), private=b'{"p":2}')
    await store.commit([sessions.put(first), sessions.put(second), chats.put(chat("c1", "s1")), chats.put(hidden)])
    assert await store.read(sessions.states(["s2", "gone", "s1"])) == {"s1": b'{"n":1}', "s2": b'{"n":2}'}
    assert await store.read(chats.privates(["s2", "gone"])) == {"c2": b'{"p":2}'}
    assert await store.read(chats.privates([])) == {}


async def test_a_summary_changes_alone_and_never_brings_a_session_back(store: Store) -> None:
    await store.commit([sessions.put(session(state=b'{"kept":1}'))])
    await store.commit([sessions.put_summary("s1", date(9), b'{"title":"Two"}')])
    assert await store.read(sessions.load("s1")) == session("s1", 9, summary=b'{"title":"Two"}', state=b'{"kept":1}')
    await store.commit([sessions.delete("s1"), sessions.put_summary("s1", date(10), b"{}")])
    assert await store.read(sessions.count()) == 0


async def test_a_deleted_session_takes_its_chats_turns_and_documents_along(store: Store) -> None:
    await store.commit(
        [
            sessions.put(session("s1")),
            sessions.put(session("s2")),
            chats.put(chat("c1", "s1")),
            chats.put(chat("c2", "s2")),
            turns.append("c1", 0, "t", b"1"),
            turns.append("c2", 0, "t", b"2"),
            documents.put("annotations", "s1", b"1", "s1"),
            documents.put("annotations", "s2", b"2", "s2"),
            documents.put("root", "config", b"3"),
        ]
    )
    await store.commit([sessions.delete("s1")])
    assert await store.read(chats.load("c1")) is None
    assert await store.read(turns.every("c1")) == []
    assert await store.read(documents.get("annotations", "s1")) is None
    assert len(await store.read(turns.every("c2"))) == 1
    assert await store.read(documents.get("annotations", "s2")) == b"2"
    assert await store.read(documents.get("root", "config")) == b"3"


async def test_what_comes_late_for_a_deleted_session_is_refused(store: Store) -> None:
    await store.commit([sessions.put(session()), chats.put(chat())])
    await store.commit([sessions.delete("s1")])
    for late in (chats.put(chat()), turns.append("c1", 0, "t", b"1"), documents.put("k", "k", b"1", "s1")):
        with pytest.raises(WriteFailed):
            await store.commit([late])


async def test_the_catalogue_has_the_newest_first_and_ids_in_order(store: Store) -> None:
    await store.commit(
        [sessions.put(session(name, minute)) for name, minute in (("b", 1), ("a", 1), ("c", 2), ("d", 0))]
    )
    assert [entry.id for entry in await store.read(sessions.catalogue())] == ["c", "a", "b", "d"]


async def test_pages_of_ten_thousand_sessions_are_the_catalogue(store: Store) -> None:
    total = 10_000
    await store.commit([sessions.put(session(f"s{number:05d}", number // 7)) for number in range(total)])
    assert await store.read(sessions.count()) == total
    paged = []
    after: Place | None = None
    while page := await store.read(sessions.page(499, after)):
        paged += page
        after = page[-1].place
    assert paged == await store.read(sessions.catalogue())
    assert len(paged) == total


async def test_a_page_goes_on_behind_a_session_that_changed_or_went_meanwhile(store: Store) -> None:
    await store.commit([sessions.put(session(f"s{number}", number)) for number in range(6)])
    first = await store.read(sessions.page(2))
    await store.commit([sessions.delete(first[-1].id), sessions.put_summary("s0", date(99), b"{}")])
    second = await store.read(sessions.page(9, first[-1].place))
    assert [entry.id for entry in second] == ["s3", "s2", "s1"]


async def test_filters_are_counted_before_the_limit(store: Store) -> None:
    await store.commit([sessions.put(session(f"s{n}", n, provider="echo" if n % 2 else "other")) for n in range(10)])
    echo = await store.read(sessions.page(3, None, Filters(provider="echo")))
    assert [entry.id for entry in echo] == ["s9", "s7", "s5"]
    both = Filters(provider="echo", matches=lambda entry: entry.id < "s6")
    found = await store.read(sessions.page(3, echo[0].place, both))
    assert [entry.id for entry in found] == ["s5", "s3", "s1"]
    assert await store.read(sessions.page(0)) == []


def test_a_place_in_the_catalogue_travels_as_json() -> None:
    place = Place(date(1), "s1")
    assert msgspec.json.decode(msgspec.json.encode(place), type=Place) == place


async def test_chats_come_back_by_position_and_say_whose_they_are(store: Store) -> None:
    await store.commit(
        [
            sessions.put(session("s1")),
            sessions.put(session("s2")),
            chats.put(chat("late", "s1", 2)),
            chats.put(chat("early", "s1", 1)),
            chats.put(chat("other", "s2", 0)),
        ]
    )
    assert [record.uri for record in await store.read(chats.of_session("s1"))] == ["early", "late"]
    assert await store.read(chats.find("other")) == "s2"
    assert await store.read(chats.find("nobody")) is None


async def test_a_chat_that_moved_lives_and_dies_with_its_new_session(store: Store) -> None:
    await store.commit([sessions.put(session("s1")), sessions.put(session("s2")), chats.put(chat("c", "s1"))])
    await store.commit([turns.append("c", 0, "t", b"1"), chats.move("c", "s2", 5)])
    await store.commit([sessions.delete("s1")])
    assert await store.read(chats.load("c")) == chat("c", "s2", 5)
    assert len(await store.read(turns.every("c"))) == 1
    with pytest.raises(WriteFailed):
        await store.commit([chats.move("c", "s1", 0)])
    await store.commit([sessions.delete("s2")])
    assert await store.read(turns.every("c")) == []


async def test_the_chats_a_crash_interrupted_are_found(store: Store) -> None:
    await store.commit(
        [
            sessions.put(session()),
            chats.put(chat("busy", state=b'{"title":"x","activeTurn":{"id":"t"}}')),
            chats.put(chat("idle", state=b'{"title":"x"}')),
            chats.put(chat("null", state=b'{"activeTurn":null}')),
        ]
    )
    assert [record.uri for record in await store.read(chats.with_active_turn())] == ["busy"]
    await store.commit([chats.put(chat("busy"))])
    assert await store.read(chats.with_active_turn()) == []


async def test_a_chat_whose_state_is_no_json_is_refused(store: Store) -> None:
    await store.commit([sessions.put(session())])
    with pytest.raises(WriteFailed):
        await store.commit([chats.put(chat(state=b"{half"))])


async def test_wakeups_come_in_the_order_they_are_due(store: Store) -> None:
    await store.commit(
        [
            sessions.put(session()),
            chats.put(chat("later", wake_at=date(2))),
            chats.put(chat("never")),
            chats.put(chat("sooner", wake_at=date(1))),
        ]
    )
    assert [record.uri for record in await store.read(chats.with_wakeups())] == ["sooner", "later"]


async def test_a_turn_appended_twice_is_one_with_the_newest_body(store: Store) -> None:
    await store.commit([sessions.put(session()), chats.put(chat()), turns.append("c1", 0, "t", b"1")])
    await store.commit([turns.append("c1", 0, "t", b"2")])
    await store.commit([turns.append("c1", 1, "t", b"3")])
    assert await store.read(turns.every("c1")) == [turns.TurnRecord(0, "t", b"3")]
    with pytest.raises(WriteFailed):
        await store.commit([turns.append("c1", 0, "another turn in its place", b"4")])


async def test_turns_are_paged_from_the_newest(store: Store) -> None:
    await _with_turns(store, "c1", 5)
    newest = await store.read(turns.newest("c1", 2))
    assert [turn.turn_id for turn in newest] == ["t3", "t4"]
    older = await store.read(turns.newest("c1", 2, before=newest[0].ordinal))
    assert [turn.turn_id for turn in older] == ["t1", "t2"]
    found = await store.read(turns.find("c1", "t1"))
    assert found is not None
    assert [turn.turn_id for turn in await store.read(turns.newest("c1", 9, before=found.ordinal))] == ["t0"]


async def test_turns_are_truncated_by_count_and_by_turn(store: Store) -> None:
    await _with_turns(store, "c1", 5)
    await store.commit([turns.truncate("c1", 4)])
    assert await store.read(turns.count("c1")) == 4
    await store.commit([turns.truncate_after("c1", "unknown")])
    assert await store.read(turns.count("c1")) == 4
    await store.commit([turns.truncate_after("c1", "t1")])
    assert [turn.turn_id for turn in await store.read(turns.every("c1"))] == ["t0", "t1"]


async def test_a_fork_gets_the_turns_up_to_where_it_forks(store: Store) -> None:
    await _with_turns(store, "c1", 4)
    await store.commit([chats.put(chat("fork")), chats.put(chat("whole")), chats.put(chat("nothing"))])
    await store.commit(
        [turns.copy("c1", "fork", "t1"), turns.copy("c1", "whole"), turns.copy("c1", "nothing", "unknown")]
    )
    await store.commit([turns.truncate("c1", 0)])
    assert [turn.turn_id for turn in await store.read(turns.every("fork"))] == ["t0", "t1"]
    assert await store.read(turns.count("whole")) == 4
    assert await store.read(turns.count("nothing")) == 0


async def test_documents_are_kept_by_kind_and_key(store: Store) -> None:
    await store.commit([sessions.put(session())])
    await store.commit(
        [documents.put("a", "2", b"22"), documents.put("a", "1", b"1", "s1"), documents.put("b", "1", b"other")]
    )
    assert [record.body for record in await store.read(documents.of_kind("a"))] == [b"1", b"22"]
    assert [record.kind for record in await store.read(documents.of_session("s1"))] == ["a"]
    await store.commit([documents.put("a", "1", b"changed"), documents.delete("a", "2")])
    assert await store.read(documents.of_kind("a")) == [documents.DocumentRecord(kind="a", key="1", body=b"changed")]


async def test_clients_are_known_until_they_were_away_too_long(store: Store) -> None:
    await store.commit([clients.seen("old", date(1)), clients.seen("new", date(2)), clients.seen("gone", date(3))])
    await store.commit([clients.seen("new", date(5)), clients.prune(date(2)), clients.forget("gone")])
    assert await store.read(clients.known()) == [clients.ClientRecord("new", date(5))]
    assert await store.read(clients.find("old")) is None


async def test_no_number_is_reserved_twice_even_across_a_restart(store_path: Path) -> None:
    async with open_store(store_path) as store:
        assert await store.read(sequence.mark()) == 0
        assert await sequence.reserve(store, 100) == range(1, 101)
        await store.commit([sequence.raise_to(150), sequence.raise_to(120)])
    async with open_store(store_path) as store:
        assert await store.read(sequence.mark()) == 150
        assert await sequence.reserve(store, 1) == range(151, 152)
        with pytest.raises(ValueError, match="at least one"):
            await sequence.reserve(store, 0)


async def _with_turns(store: Store, uri: str, count: int) -> None:
    appended = [turns.append(uri, number, f"t{number}", b"{}") for number in range(count)]
    await store.commit([sessions.put(session()), chats.put(chat(uri)), *appended])


async def test_a_late_save_brings_no_deleted_chat_back(tmp_path: Path) -> None:
    async with open_store(tmp_path / "ahpd.db") as store:
        await store.commit([sessions.put(session()), chats.put(chat("c1"))])
        await store.commit([chats.update(chat("c1", state=b'{"title":"new"}'))])
        kept = await store.read(chats.load("c1"))
        assert kept is not None
        assert kept.state == b'{"title":"new"}'
        await store.commit([chats.delete("c1")])
        await store.commit([chats.update(chat("c1"))])
        assert await store.read(chats.load("c1")) is None
