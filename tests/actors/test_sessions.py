"""Sessions: made, listed, shared, asleep and gone; and what of them outlives the host."""

from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from actors.agents.interface import TurnInput, TurnPort
from actors.store import StoreError
from tests.actors.hosting import ROOT, Parrot, Refused, hosting
from tests.actors.test_turns import Held, ended, message, text_of


async def refused(call: Any) -> Refused:
    with pytest.raises(Refused) as error:
        await call
    return error.value


async def test_what_cannot_be_made_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        await talk.open_session("ahp-session:/s")
        assert (await refused(talk.ask("createSession", "ahp-session:/s"))).code == -32003
        assert (await refused(talk.ask("createSession", "parrot:/s"))).code == -32003
        assert (await refused(talk.ask("createSession", "ahp-session:/n", provider="nope"))).code == -32002
        folder = await refused(talk.ask("createSession", "ahp-session:/n", workingDirectories=["file:///no/such"]))
        assert "no folder" in str(folder)
        assert (await refused(talk.ask("createSession", "ahp-chat:/n"))).code == -32602
        foreign = {"clientId": "other", "tools": []}
        assert "activeClient" in str(await refused(talk.ask("createSession", "ahp-session:/n", activeClient=foreign)))
        assert len((await talk.ask("listSessions"))["items"]) == 1


async def test_everybody_hears_of_a_session_and_of_its_end(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk, other = await host.connect("c1"), await host.connect("c2")
        chat = await talk.open_session()
        added = await other.wait_for(lambda m: m.get("method") == "root/sessionAdded")
        assert added["params"]["summary"]["resource"] == "ahp-session:/s"
        await talk.say(chat, "hello")
        changed = await other.wait_for(
            lambda m: m.get("method") == "root/sessionSummaryChanged" and m["params"]["changes"].get("title") == "hello"
        )
        assert "createdAt" not in changed["params"]["changes"]
        assert await talk.ask("disposeSession", "ahp-session:/unknown") is None
        await talk.ask("disposeSession", "ahp-session:/s")
        await other.wait_for(lambda m: m.get("method") == "root/sessionRemoved")
        assert (await refused(talk.ask("subscribe", chat))).code == -32008
        assert (await refused(talk.ask("subscribe", "ahp-session:/s"))).code == -32001
    async with hosting(tmp_path) as host:
        assert (await (await host.connect()).ask("listSessions"))["items"] == []


async def test_a_session_disposed_while_its_turn_runs_takes_the_turn_along(tmp_path: Path) -> None:
    held = Held()
    agent = Parrot(held)
    async with hosting(tmp_path, agent) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "x")
        await talk.action(chat, "chat/responsePart")
        await talk.ask("disposeSession", "ahp-session:/s")
        assert held.cancelled == ["t1"]
        assert agent.closed == 1
        await talk.wait_for(lambda m: m.get("method") == "action" and m["params"]["action"].get("activeSessions") == 0)
        assert await talk.ask("createSession", "ahp-session:/s") is None


async def test_the_catalogue_is_listed_in_pages_newest_first(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        for number in range(5):
            await talk.ask("createSession", f"ahp-session:/s{number}")
            await trio.sleep(0.002)
        seen: list[str] = []
        cursor: dict[str, Any] = {}
        while True:
            page = await talk.ask("listSessions", limit=2, **cursor)
            seen += [item["resource"][-2:] for item in page["items"]]
            if "nextCursor" not in page:
                break
            cursor = {"cursor": page["nextCursor"]}
        assert seen == ["s4", "s3", "s2", "s1", "s0"]
        for wrong in ({"cursor": "zzz"}, {"limit": 0}):
            assert (await refused(talk.ask("listSessions", **wrong))).code == -32602


async def test_settings_fixed_at_creation_stay(tmp_path: Path) -> None:
    from actors.agents.echo import Echo

    async with hosting(tmp_path, Echo()) as host:
        talk = await host.connect()
        await talk.open_session(config={"pace": 0, "voice": "plain"})
        fine = await talk.do("ahp-session:/s", "session/configChanged", config={"shout": True})
        assert "rejectionReason" not in fine
        for wrong in ({"voice": "parrot"}, {"shout": "loud"}, {"unknown": 1}):
            assert "rejectionReason" in await talk.do("ahp-session:/s", "session/configChanged", config=wrong)
        loud = talk.ask("createSession", "ahp-session:/n", config={"shout": "loud"})
        assert "shout" in str(await refused(loud))
        resolved = await talk.ask("resolveSessionConfig", provider="echo", config={"shout": True})
        assert resolved["values"]["shout"] is True
        assert resolved["schema"]["properties"]["voice"]["sessionMutable"] is False


async def test_chats_are_made_forked_and_disposed(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "one")
        await ended(talk, chat, "t1")
        await talk.say(chat, "two", "t2")
        await ended(talk, chat, "t2")
        fork = {"kind": "fork", "chat": chat, "turnId": "t1"}
        await talk.ask("createChat", "ahp-session:/s", chat="ahp-chat:/fork", source=fork, title="Forked")
        state = await talk.state("ahp-chat:/fork")
        assert [turn["id"] for turn in state["turns"]] == ["t1"]
        assert (state["title"], state["origin"]) == ("Forked", fork)
        await talk.ask("createChat", "ahp-session:/s", chat="ahp-chat:/new", initialMessage=message("go"))
        await talk.state("ahp-chat:/new")
        await talk.wait_for(
            lambda m: m.get("method") == "action" and m["params"]["action"].get("chat") == "ahp-chat:/new"
        )
        for wrong in (
            {"chat": "ahp-chat:/new"},
            {"chat": "ahp-session:/x"},
            {"chat": "ahp-chat:/y", "source": {**fork, "turnId": "nope"}},
            {"chat": "ahp-chat:/y", "source": {**fork, "chat": "ahp-chat:/nope"}},
            {"chat": "ahp-chat:/y", "source": {**fork, "chat": "ahp-chat:/y"}},
            {"chat": "ahp-chat:/y", "workingDirectories": ["file:///elsewhere"]},
        ):
            await refused(talk.ask("createChat", "ahp-session:/s", **wrong))
        await talk.ask("disposeChat", "ahp-chat:/new")
        await talk.ask("disposeChat", chat)
        assert (await talk.state("ahp-session:/s"))["defaultChat"] == "ahp-chat:/fork"
        assert "only chat" in str(await refused(talk.ask("disposeChat", "ahp-chat:/fork")))
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        assert [turn["id"] for turn in (await talk.state("ahp-chat:/fork"))["turns"]] == ["t1"]


async def test_a_chat_moves_with_what_hangs_on_it_once(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        await talk.open_session("ahp-session:/a")
        await talk.open_session("ahp-session:/b")
        await talk.ask("createChat", "ahp-session:/a", chat="ahp-chat:/m")
        await talk.state("ahp-chat:/m")
        await talk.say("ahp-chat:/m", "kept")
        await ended(talk, "ahp-chat:/m", "t1")
        into = {"kind": "session", "session": "ahp-session:/b"}
        moved = await talk.ask("moveChat", "ahp-chat:/m", destination=into, requestId="r1")
        assert (moved["previousSession"], moved["session"]) == ("ahp-session:/a", "ahp-session:/b")
        await talk.wait_for(lambda m: m.get("method") == "chat/moved")
        assert await talk.ask("moveChat", "ahp-chat:/m", destination=into, requestId="r1") == moved
        other = {"kind": "newSession"}
        assert "another move" in str(
            await refused(talk.ask("moveChat", "ahp-chat:/m", destination=other, requestId="r1"))
        )
        assert len((await talk.state("ahp-session:/a"))["chats"]) == 1
        default = (await talk.state("ahp-session:/b"))["defaultChat"]
        assert "default chat" in str(await refused(talk.ask("moveChat", default, destination=other, requestId="r2")))
        await talk.say("ahp-chat:/m", "more", "t2")
        await ended(talk, "ahp-chat:/m", "t2")
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        assert [chat["resource"] for chat in (await talk.state("ahp-session:/b"))["chats"]][1] == "ahp-chat:/m"
        assert len((await talk.state("ahp-chat:/m"))["turns"]) == 2


async def test_chats_take_another_place_and_keep_it(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        first = await talk.open_session()
        for name in "abc":
            await talk.ask("createChat", "ahp-session:/s", chat=f"ahp-chat:/{name}")
        behind = {"kind": "after", "anchor": "ahp-chat:/c"}
        answer = await talk.ask("reorderChat", "ahp-chat:/a", destination=behind, requestId="r")
        assert answer == {"session": "ahp-session:/s", "chats": ["ahp-chat:/a"]}
        order = [first, "ahp-chat:/b", "ahp-chat:/c", "ahp-chat:/a"]
        assert (await talk.action("ahp-session:/s", "session/chatsReordered"))["chats"] == order
        assert await talk.ask("reorderChat", "ahp-chat:/a", destination=behind, requestId="r") == answer
        nowhere = {"kind": "before", "anchor": "ahp-chat:/nope"}
        assert (
            await refused(talk.ask("reorderChat", "ahp-chat:/a", destination=nowhere, requestId="x"))
        ).code == -32008
    async with hosting(tmp_path) as host:
        state = await (await host.connect()).state("ahp-session:/s")
        assert [chat["resource"] for chat in state["chats"]] == order


async def test_a_session_nobody_needs_sleeps_and_wakes_with_everything(tmp_path: Path, autojump_clock: Any) -> None:
    async with hosting(tmp_path, config="sessionIdleMs = 60000\n") as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "hello")
        await ended(talk, chat, "t1")
        await trio.sleep(600)
        assert host.host.sessions
        for channel in (chat, "ahp-session:/s"):
            talk.send({"jsonrpc": "2.0", "method": "unsubscribe", "params": {"channel": channel}})
        await trio.sleep(61)
        assert (host.host.sessions, host.host.chats) == ({}, {})
        await talk.say(chat, "wake", "t2")
        await trio.testing.wait_all_tasks_blocked()
        assert [turn["id"] for turn in (await talk.state(chat))["turns"]] == ["t1", "t2"]
        assert (await talk.state("ahp-session:/s"))["title"] == "hello"


async def test_annotations_are_shared_counted_and_kept(tmp_path: Path) -> None:
    channel = "ahp-session:/s/annotations"
    async with hosting(tmp_path) as host:
        talk, other = await host.connect("c1"), await host.connect("c2")
        await talk.open_session()
        await other.state(channel)
        note = {"id": "a1", "resource": "file:///x", "resolved": False, "entries": [{"id": "e1", "text": "look"}]}
        await talk.do(channel, "annotations/set", annotation=note)
        await other.action(channel, "annotations/set")
        await other.do(channel, "annotations/entrySet", annotationId="a1", entry={"id": "e2", "text": "seen"})
        counts = (await talk.state("ahp-session:/s"))["annotations"]
        assert (counts["annotationCount"], counts["entryCount"]) == (1, 2)
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        assert len((await talk.state(channel))["annotations"][0]["entries"]) == 2


async def test_a_chat_that_breaks_comes_back_from_the_store(tmp_path: Path, monkeypatch: Any) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        quiet = await talk.open_session("ahp-session:/quiet")
        await talk.say(chat, "before")
        await ended(talk, chat, "t1")
        broken = host.host.chats[chat]

        def boom(*_: object) -> None:
            raise RuntimeError("a bug")

        monkeypatch.setattr("actors.history.Window.page", boom)
        with pytest.raises(Refused):
            await talk.ask("fetchTurns", chat)
        await trio.testing.wait_all_tasks_blocked()
        assert host.host.chats[chat] is not broken
        await talk.say(chat, "after", "t2")
        assert text_of(await ended(talk, chat, "t2")) == "after "
        await talk.say(quiet, "unhurt", "q1")
        await ended(talk, quiet, "q1")


async def test_a_store_that_cannot_write_refuses_turns_and_recovers(tmp_path: Path, monkeypatch: Any) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        store = host.host.env.store

        async def full(_: object) -> None:
            raise StoreError(Path("x"), "the disk is full, so nothing more can be kept")

        monkeypatch.setattr(type(store), "commit", lambda self, writes: full(writes))
        assert "disk is full" in (await talk.say(chat, "x"))["rejectionReason"]
        assert "activeTurn" not in await talk.state(chat)
        with pytest.raises(Refused, match="cannot be kept"):
            await talk.ask("createSession", "ahp-session:/n")
        monkeypatch.undo()
        await talk.say(chat, "y", "t2")
        await ended(talk, chat, "t2")
        assert [turn["id"] for turn in (await talk.state(chat))["turns"]] == ["t2"]
        assert len((await talk.ask("listSessions"))["items"]) == 1


async def test_a_host_that_loses_its_disk_in_mid_turn_keeps_what_the_model_said(
    tmp_path: Path, monkeypatch: Any
) -> None:
    held = Held()
    async with hosting(tmp_path, Parrot(held)) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "x")
        store = host.host.env.store

        async def full(_: object) -> None:
            raise StoreError(Path("x"), "the disk is full")

        monkeypatch.setattr(type(store), "commit", lambda self, writes: full(writes))
        held.go("x")
        assert text_of(await ended(talk, chat, "t1")) == "began ended"
        monkeypatch.undo()
        await talk.do(chat, "chat/draftChanged", draft=message("d"))
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        assert text_of((await talk.state(chat))["turns"][0]) == "began ended"


async def test_snapshots_and_what_follows_add_up_while_a_reply_streams(tmp_path: Path) -> None:
    async def turn(turn: TurnInput, port: TurnPort) -> None:
        for number in range(300):
            await port.text(f"{number} ")

    async with hosting(tmp_path, Parrot(turn)) as host:
        talk = await host.connect("c0")
        chat = await talk.open_session()
        await talk.say(chat, "go")
        expected = "".join(f"{number} " for number in range(300))
        texts: list[str] = []

        async def watch(number: int) -> None:
            other = await host.connect(f"w{number}")
            snapshot = (await other.ask("subscribe", chat))["snapshot"]
            after = snapshot["fromSeq"]
            active = snapshot["state"].get("activeTurn")
            text = text_of(active) if active else text_of(snapshot["state"]["turns"][0])
            if active:
                await other.action(chat, "chat/turnComplete")
            for m in other.got:
                params = m.get("params", {})
                if m.get("method") == "action" and params["channel"] == chat:
                    assert params["serverSeq"] > after
                    after = params["serverSeq"]
                    action = params["action"]
                    text += action.get("content", "") if action["type"] == "chat/delta" else ""
                    text += action["part"]["content"] if action["type"] == "chat/responsePart" else ""
            texts.append(text)

        async with trio.open_nursery() as nursery:
            for number in range(12):
                nursery.start_soon(watch, number)
                await trio.sleep(0.001)
        assert texts == [expected] * 12
        assert (await talk.state(ROOT))["activeSessions"] == 0
