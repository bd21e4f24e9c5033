"""What breaks stays where it broke: sessions that die, agents that are gone, clients that hang up halfway."""

from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from actors.agents.echo import Echo
from actors.agents.interface import AgentChat, Start, TurnInput, TurnPort
from actors.store import StoreError
from tests.actors.hosting import Parrot, Refused, hosting
from tests.actors.test_turns import Held, ended, message, text_of

S = "ahp-session:/s"


async def full(self: object, writes: object) -> None:
    raise StoreError(Path("x"), "the disk is full")


async def test_a_session_that_dies_comes_back_for_its_watchers_and_others_are_unhurt(
    tmp_path: Path, monkeypatch: Any
) -> None:
    held = Held()
    async with hosting(tmp_path, Parrot(held)) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        quiet = await talk.open_session("ahp-session:/quiet")
        await talk.say(quiet, "q", "q1")
        await talk.say(chat, "x")
        await talk.action(chat, "chat/responsePart")
        dead = host.host.sessions[S]

        def boom(*_: object, **__: object) -> None:
            raise RuntimeError("a bug")

        with monkeypatch.context() as patched:
            patched.setattr("ahp.reducers.session_rules.refusal", boom)
            talk.dispatch(S, {"type": "session/titleChanged", "title": "boom"})
            await trio.testing.wait_all_tasks_blocked()
        assert host.host.sessions[S] is not dead
        interrupted = await talk.action(chat, "chat/error", turnId="t1")
        assert interrupted["part"]["error"]["errorType"] == "interrupted"
        held.go("next")
        await talk.say(chat, "next", "t2")
        assert text_of(await ended(talk, chat, "t2")) == "began ended"
        held.go("q")
        assert (await ended(talk, quiet, "q1"))["state"] == "complete"


async def test_a_session_whose_agent_is_gone_can_be_read_and_says_so(tmp_path: Path) -> None:
    async with hosting(tmp_path, Echo(), Parrot(Held())) as host:
        talk = await host.connect()
        chat = await talk.open_session(provider="echo")
        await talk.say(chat, "hello")
        await ended(talk, chat, "t1")
        held = await talk.open_session("ahp-session:/held", provider="parrot")
        await talk.say(held, "x", "h1")
        await talk.action(held, "chat/responsePart")
    # Neither is there now; one was in the middle of a turn.
    other = Parrot()
    other.provider = "other"
    async with hosting(tmp_path, other) as host:
        talk = await host.connect()
        assert len((await talk.ask("listSessions"))["items"]) == 2
        assert text_of((await talk.state(chat))["turns"][0]) == "hello"
        assert (await talk.state(held))["turns"][0]["state"] == "error"
        await talk.say(chat, "more", "t2")
        error = (await ended(talk, chat, "t2"))["responseParts"][-1]["error"]
        assert (error["errorType"], "echo" in error["message"], "other" in error["message"]) == (
            "agentMissing",
            True,
            True,
        )
        await talk.ask("disposeSession", S)


async def test_a_session_is_deleted_though_its_client_hangs_up(tmp_path: Path) -> None:
    gate = trio.Event()

    class Slow(AgentChat):
        async def run_turn(self, turn: TurnInput, port: TurnPort) -> None:
            await port.text("x")
            try:
                await trio.sleep_forever()
            finally:
                with trio.CancelScope(shield=True):
                    await gate.wait()

    class SlowAgent(Parrot):
        async def open_chat(self, start: Start) -> AgentChat:
            return Slow()

    async with hosting(tmp_path, SlowAgent()) as host:
        talk, other = await host.connect("c1"), await host.connect("c2")
        chat = await talk.open_session()
        await talk.say(chat, "x")
        await talk.action(chat, "chat/responsePart")
        talk.send({"jsonrpc": "2.0", "id": 99, "method": "disposeSession", "params": {"channel": S}})
        await trio.testing.wait_all_tasks_blocked()
        await host.drop(talk)
        gate.set()
        await other.wait_for(lambda m: m.get("method") == "root/sessionRemoved")
        assert await other.ask("createSession", S) is None
        await other.ask("disposeSession", S)
    async with hosting(tmp_path) as host:
        assert (await (await host.connect()).ask("listSessions"))["items"] == []


async def test_a_backend_that_fails_as_it_is_closed_brings_nothing_back(tmp_path: Path) -> None:
    class Rude(AgentChat):
        async def run_turn(self, turn: TurnInput, port: TurnPort) -> None:
            await port.text("x")
            try:
                await trio.sleep_forever()
            finally:
                raise OSError("the pipe is gone")

        async def close(self) -> None:
            raise OSError("nothing to close")

    class RudeAgent(Parrot):
        async def open_chat(self, start: Start) -> AgentChat:
            return Rude()

    async with hosting(tmp_path, RudeAgent()) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.ask("createChat", S, chat="ahp-chat:/second", initialMessage=message("go"))
        await talk.state("ahp-chat:/second")
        await talk.say(chat, "x")
        await talk.action(chat, "chat/responsePart")
        await talk.ask("disposeChat", chat)
        await trio.testing.wait_all_tasks_blocked()
        assert list(host.host.chats) == ["ahp-chat:/second"]
        with pytest.raises(Refused):
            await talk.ask("subscribe", chat)
    async with hosting(tmp_path) as host:
        state = await (await host.connect()).state(S)
        assert [each["resource"] for each in state["chats"]] == ["ahp-chat:/second"]


async def test_what_the_disk_refuses_is_not_there_for_anybody(tmp_path: Path, monkeypatch: Any) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.ask("createChat", S, chat="ahp-chat:/second")
        store = type(host.host.env.store)
        with monkeypatch.context() as patched:
            patched.setattr(store, "commit", full)
            for call in (
                talk.ask("createChat", S, chat="ahp-chat:/third"),
                talk.ask("disposeChat", "ahp-chat:/second"),
                talk.ask("disposeSession", S),
            ):
                with pytest.raises(Refused):
                    await call
            for type_, fields in (
                ("session/titleChanged", {"title": "lost"}),
                ("session/isArchivedChanged", {"isArchived": True}),
            ):
                assert "disk is full" in (await talk.do(S, type_, **fields))["rejectionReason"]
        seen = [action["type"] for action in talk.actions(S)]
        assert "session/chatRemoved" not in seen
        state = await talk.state(S)
        assert [each["resource"] for each in state["chats"]] == [chat, "ahp-chat:/second"]
        assert (state["title"], state["status"] & 64) == ("", 0)
        await talk.state("ahp-chat:/second")
        await talk.say("ahp-chat:/second", "still here")
        await ended(talk, "ahp-chat:/second", "t1")
    async with hosting(tmp_path) as host:
        state = await (await host.connect()).state(S)
        assert [each["resource"] for each in state["chats"]] == [chat, "ahp-chat:/second"]


async def test_a_queued_message_stays_queued_where_its_turn_cannot_be_kept(tmp_path: Path, monkeypatch: Any) -> None:
    held = Held()
    async with hosting(tmp_path, Parrot(held)) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "x")
        await talk.do(chat, "chat/pendingMessageSet", kind="queued", id="q1", message=message("later"))
        with monkeypatch.context() as patched:
            patched.setattr(type(host.host.env.store), "commit", full)
            held.go("x")
            await ended(talk, chat, "t1")
            state = await talk.state(chat)
            assert [pending["id"] for pending in state["queuedMessages"]] == ["q1"]
            assert "activeTurn" not in state
        held.go("later")
        await talk.do(chat, "chat/queuedMessagesReordered", order=["q1"])
        started = await talk.action(chat, "chat/turnStarted", queuedMessageId="q1")
        await ended(talk, chat, started["turnId"])
        assert [text_of(turn) for turn in (await talk.state(chat))["turns"]] == ["began ended"] * 2


async def test_what_was_owed_to_a_full_disk_is_kept_before_the_session_sleeps(
    tmp_path: Path, monkeypatch: Any, autojump_clock: Any
) -> None:
    held = Held()
    async with hosting(tmp_path, Parrot(held), config="sessionIdleMs = 1000\n") as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "x")
        with monkeypatch.context() as patched:
            patched.setattr(type(host.host.env.store), "commit", full)
            held.go("x")
            await ended(talk, chat, "t1")
            for channel in (S, chat):
                talk.send({"jsonrpc": "2.0", "method": "unsubscribe", "params": {"channel": channel}})
            await trio.sleep(10)
            assert S in host.host.sessions
        await trio.sleep(10)
        assert S not in host.host.sessions
        assert text_of((await talk.state(chat))["turns"][0]) == "began ended"


async def test_a_chat_of_another_session_is_not_taken_though_it_sleeps(tmp_path: Path, autojump_clock: Any) -> None:
    async with hosting(tmp_path, config="sessionIdleMs = 1000\n") as host:
        talk = await host.connect()
        await talk.ask("createSession", "ahp-session:/asleep")
        await talk.ask("createChat", "ahp-session:/asleep", chat="ahp-chat:/mine")
        await trio.sleep(10)
        assert host.host.sessions == {}
        await talk.open_session()
        with pytest.raises(Refused, match="in use"):
            await talk.ask("createChat", S, chat="ahp-chat:/mine")
        assert len((await talk.state("ahp-session:/asleep"))["chats"]) == 2


async def test_a_message_told_as_a_session_falls_asleep_is_not_lost(tmp_path: Path, autojump_clock: Any) -> None:
    async with hosting(tmp_path, config="sessionIdleMs = 1000\n") as host:
        talk = await host.connect()
        chat = await talk.open_session()
        for number in range(20):
            for channel in (S, chat):
                talk.send({"jsonrpc": "2.0", "method": "unsubscribe", "params": {"channel": channel}})
            await trio.sleep(1)  # To the instant at which it is about to sleep.
            for _ in range(number):
                await trio.lowlevel.checkpoint()
            assert "rejectionReason" not in await talk.say(chat, "x", f"t{number}")
            await trio.testing.wait_all_tasks_blocked()
        turns = (await talk.state(chat))["turns"]
        assert [turn["id"] for turn in turns] == [f"t{number}" for number in range(20)]
