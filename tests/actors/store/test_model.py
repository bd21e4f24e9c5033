"""The store against a model of dicts: whatever is done in whatever order, and closed and opened between, they agree."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
import trio
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from actors.store import (
    ChatRecord,
    DocumentRecord,
    SessionRecord,
    Store,
    TurnRecord,
    Write,
    WriteFailed,
    chats,
    clients,
    documents,
    open_store,
    sequence,
    sessions,
    turns,
)
from tests.actors.store.samples import chat, date, session

SESSIONS = st.sampled_from(["s1", "s2", "s3"])
CHATS = st.sampled_from(["c1", "c2", "c3", "c4"])
TURNS = st.sampled_from([f"t{number}" for number in range(6)])
MINUTES = st.integers(0, 5)
BODIES = st.binary(max_size=8)
STATES = st.sampled_from([b"{}", b'{"activeTurn":{"id":"t"}}', b'{"title":"x"}'])


class OpenStore:
    """A store open in a trio of its own, so that plain functions can use it one call after the other."""

    def __init__(self, path: Path) -> None:
        self._opened = threading.Event()
        self._thread = threading.Thread(target=trio.run, args=(self._hold, path))
        self._thread.start()
        assert self._opened.wait(10)

    async def _hold(self, path: Path) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._closing = trio.Event()
        async with open_store(path, durability="process") as self.store:
            self._opened.set()
            await self._closing.wait()

    def call(self, function: Any, *arguments: Any) -> Any:
        return trio.from_thread.run(function, *arguments, trio_token=self._token)

    def close(self) -> None:
        self._token.run_sync_soon(self._closing.set)
        self._thread.join()


class StoreAndModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.opened = OpenStore(self.folder / "host.db")
        self.sessions: dict[str, SessionRecord] = {}
        self.chats: dict[str, ChatRecord] = {}
        self.turns: dict[str, dict[str, TurnRecord]] = {}
        self.documents: dict[tuple[str, str], DocumentRecord] = {}
        self.clients: dict[str, str] = {}
        self.mark = 0
        self.pending: dict[Hashable, tuple[str, int, bytes]] = {}

    @property
    def store(self) -> Store:
        return self.opened.store

    def teardown(self) -> None:
        self.opened.close()
        shutil.rmtree(self.folder)

    def commit(self, *writes: Write) -> None:
        """What was saved soon takes effect with any commit, and before it."""
        self._apply_pending()
        self.opened.call(self.store.commit, writes)

    def commit_in_vain(self, *writes: Write) -> None:
        with pytest.raises(WriteFailed):
            self.commit(*writes)

    def _apply_pending(self) -> None:
        for session_id, minute, summary in self.pending.values():
            self._change_summary(session_id, minute, summary)
        self.pending.clear()

    def _change_summary(self, session_id: str, minute: int, summary: bytes) -> None:
        old = self.sessions.get(session_id)
        if old is not None:
            self.sessions[session_id] = session(
                session_id, minute, summary=summary, state=old.state, provider=old.provider
            )

    @initialize()
    def begin_with_a_conversation(self) -> None:
        self.put_session("s1", 0, b"{}", "echo")
        self.put_chat("c1", "s1", 0, b"{}", None)
        self.append_turns("c1", ["t0", "t1", "t2", "t3"], b"{}")

    @rule(session_id=SESSIONS, minute=MINUTES, state=BODIES, provider=st.sampled_from(["echo", "other"]))
    def put_session(self, session_id: str, minute: int, state: bytes, provider: str) -> None:
        record = session(session_id, minute, state=state, provider=provider)
        self.commit(sessions.put(record))
        self.sessions[session_id] = record

    @rule(session_id=SESSIONS, minute=MINUTES, summary=BODIES)
    def put_summary(self, session_id: str, minute: int, summary: bytes) -> None:
        self.commit(sessions.put_summary(session_id, date(minute), summary))
        self._change_summary(session_id, minute, summary)

    @rule(session_id=SESSIONS, minute=MINUTES, summary=BODIES)
    def save_summary_soon(self, session_id: str, minute: int, summary: bytes) -> None:
        self.store.save_soon([sessions.put_summary(session_id, date(minute), summary)])
        self.pending[session_id] = (session_id, minute, summary)

    @rule()
    def flush(self) -> None:
        self._apply_pending()
        self.opened.call(self.store.flush)

    @rule(session_id=SESSIONS)
    def delete_session(self, session_id: str) -> None:
        self.commit(sessions.delete(session_id))
        self.sessions.pop(session_id, None)
        for uri in [uri for uri, record in self.chats.items() if record.session_id == session_id]:
            self._forget_chat(uri)
        self.documents = {key: kept for key, kept in self.documents.items() if kept.session_id != session_id}

    @rule(uri=CHATS, session_id=SESSIONS, position=MINUTES, state=STATES, wake=st.none() | MINUTES)
    def put_chat(self, uri: str, session_id: str, position: int, state: bytes, wake: int | None) -> None:
        record = chat(uri, session_id, position, state, None if wake is None else date(wake))
        if session_id not in self.sessions:
            self.commit_in_vain(sessions.put_summary("s1", date(0), b"undone"), chats.put(record))
            return
        self.commit(chats.put(record))
        self.chats[uri] = record
        self.turns.setdefault(uri, {})

    @rule(uri=CHATS, session_id=SESSIONS, position=MINUTES)
    def move_chat(self, uri: str, session_id: str, position: int) -> None:
        old = self.chats.get(uri)
        if old is not None and session_id not in self.sessions:
            self.commit_in_vain(chats.move(uri, session_id, position))
            return
        self.commit(chats.move(uri, session_id, position))
        if old is not None:
            self.chats[uri] = chat(uri, session_id, position, old.state, old.wake_at)

    @rule(uri=CHATS)
    def delete_chat(self, uri: str) -> None:
        self.commit(chats.delete(uri))
        self._forget_chat(uri)

    @rule(uri=CHATS, turn_ids=st.lists(TURNS, min_size=1), body=BODIES)
    def append_turns(self, uri: str, turn_ids: list[str], body: bytes) -> None:
        for turn_id in turn_ids:
            kept = self.turns.get(uri)
            write = turns.append(uri, len(kept or ()), turn_id, body)
            if kept is None:
                self.commit_in_vain(write)
                return
            self.commit(write)
            ordinal = kept[turn_id].ordinal if turn_id in kept else len(kept)
            kept[turn_id] = TurnRecord(ordinal, turn_id, body)

    @rule(uri=CHATS, keep=st.integers(0, 6))
    def truncate(self, uri: str, keep: int) -> None:
        self.commit(turns.truncate(uri, keep))
        self._keep_below(uri, keep)

    @rule(uri=CHATS, turn_id=TURNS)
    def truncate_after(self, uri: str, turn_id: str) -> None:
        self.commit(turns.truncate_after(uri, turn_id))
        if turn_id in self.turns.get(uri, {}):
            self._keep_below(uri, self.turns[uri][turn_id].ordinal + 1)

    @rule(source=CHATS, fork=CHATS, through=st.none() | TURNS)
    def fork_chat(self, source: str, fork: str, through: str | None) -> None:
        if self.turns.get(fork) != {}:
            return
        self.commit(turns.copy(source, fork, through))
        kept = self.turns.get(source, {})
        if through is None or through in kept:
            self.turns[fork] = dict(kept)
            if through is not None:
                self._keep_below(fork, kept[through].ordinal + 1)

    @rule(kind=st.sampled_from("ab"), key=st.sampled_from("xy"), body=BODIES, session_id=st.none() | SESSIONS)
    def put_document(self, kind: str, key: str, body: bytes, session_id: str | None) -> None:
        write = documents.put(kind, key, body, session_id)
        if session_id is not None and session_id not in self.sessions:
            self.commit_in_vain(write)
            return
        self.commit(write)
        self.documents[kind, key] = DocumentRecord(kind=kind, key=key, body=body, session_id=session_id)

    @rule(kind=st.sampled_from("ab"), key=st.sampled_from("xy"))
    def delete_document(self, kind: str, key: str) -> None:
        self.commit(documents.delete(kind, key))
        self.documents.pop((kind, key), None)

    @rule(client=st.sampled_from("ABC"), minute=MINUTES)
    def see_client(self, client: str, minute: int) -> None:
        self.commit(clients.seen(client, date(minute)))
        self.clients[client] = date(minute)

    @rule(minute=MINUTES)
    def prune_clients(self, minute: int) -> None:
        self.commit(clients.prune(date(minute)))
        self.clients = {client: seen for client, seen in self.clients.items() if seen >= date(minute)}

    @rule(count=st.integers(1, 5))
    def reserve(self, count: int) -> None:
        self._apply_pending()
        numbers = self.opened.call(sequence.reserve, self.store, count)
        assert list(numbers) == list(range(self.mark + 1, self.mark + count + 1))
        self.mark += count

    @rule()
    def reopen(self) -> None:
        self.opened.close()
        self._apply_pending()
        self.opened = OpenStore(self.folder / "host.db")

    @invariant()
    def they_agree(self) -> None:
        self.opened.call(self.store.read, self._compare)

    def _compare(self, connection: Any) -> None:
        catalogue = sorted(self.sessions.values(), key=lambda record: record.id)
        catalogue.sort(key=lambda record: record.modified_at, reverse=True)
        listed = sessions.catalogue()(connection)
        assert [entry.id for entry in listed] == [record.id for record in catalogue]
        for number in range(len(listed)):
            assert sessions.page(1, listed[number].place)(connection) == listed[number + 1 : number + 2]
        for record in catalogue:
            assert sessions.load(record.id)(connection) == record
        by_place = sorted(self.chats.values(), key=lambda record: (record.position, record.uri))
        for session_id in ("s1", "s2", "s3"):
            mine = [record for record in by_place if record.session_id == session_id]
            assert chats.of_session(session_id)(connection) == mine
        active = {record.uri for record in by_place if b"activeTurn" in record.state}
        assert {record.uri for record in chats.with_active_turn()(connection)} == active
        woken = sorted((record.wake_at, record.uri) for record in by_place if record.wake_at is not None)
        assert [(record.wake_at, record.uri) for record in chats.with_wakeups()(connection)] == woken
        for uri in ("c1", "c2", "c3", "c4"):
            kept = sorted(self.turns.get(uri, {}).values(), key=lambda turn: turn.ordinal)
            assert turns.every(uri)(connection) == kept
            assert turns.newest(uri, 2)(connection) == kept[-2:]
        for kind in "ab":
            mine_too = [self.documents[key] for key in sorted(self.documents) if key[0] == kind]
            assert documents.of_kind(kind)(connection) == mine_too
        assert {record.client_id: record.last_seen for record in clients.known()(connection)} == self.clients
        assert sequence.mark()(connection) == self.mark

    def _forget_chat(self, uri: str) -> None:
        self.chats.pop(uri, None)
        self.turns.pop(uri, None)

    def _keep_below(self, uri: str, ordinal: int) -> None:
        if uri in self.turns:
            self.turns[uri] = {key: turn for key, turn in self.turns[uri].items() if turn.ordinal < ordinal}


TestStoreAndModel = StoreAndModel.TestCase
TestStoreAndModel.settings = settings(max_examples=30, stateful_step_count=40, deadline=None)
