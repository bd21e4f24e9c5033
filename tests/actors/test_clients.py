"""Clients in a session: their tools, their place, and the grace of one that has lost its connection."""

from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from actors.agents.echo import Echo
from tests.actors.hosting import Talk, hosting
from tests.actors.test_turns import ended, text_of

S = "ahp-session:/s"
TOOL = {"name": "openFile", "description": "Open a file"}


async def become_active(talk: Talk, session: str = S, **more: Any) -> None:
    client = {"clientId": talk.client_id, "tools": [TOOL], **more}
    assert "rejectionReason" not in await talk.do(session, "session/activeClientSet", activeClient=client)


async def start_call(watcher: Talk, chat: str, turn: str = "t1") -> str:
    await watcher.say(chat, "/client-tool openFile {}", turn)
    await watcher.action(chat, "chat/toolCallReady", turnId=turn)
    call: str = (await watcher.action(chat, "chat/toolCallStart", turnId=turn))["toolCallId"]
    return call


async def test_only_the_owner_completes_its_call(tmp_path: Path) -> None:
    async with hosting(tmp_path, Echo()) as host:
        watcher, tools = await host.connect("watcher"), await host.connect("tools")
        chat = await watcher.open_session()
        await tools.state(S)
        await become_active(tools)
        call = await start_call(watcher, chat)
        result = {"success": True, "pastTenseMessage": "done", "content": [{"type": "text", "text": "opened"}]}
        complete = {"turnId": "t1", "toolCallId": call, "result": result}
        foreign = await watcher.do(chat, "chat/toolCallComplete", **complete)
        assert "client tools's to complete" in foreign["rejectionReason"]
        await tools.do(chat, "chat/toolCallComplete", **complete)
        assert text_of(await ended(watcher, chat, "t1")) == "opened"
        assert "rejectionReason" in await tools.do(chat, "chat/toolCallComplete", **complete)


async def test_a_client_sets_itself_only(tmp_path: Path) -> None:
    async with hosting(tmp_path, Echo()) as host:
        talk = await host.connect("c1")
        await talk.open_session()
        client = {"clientId": "other", "tools": []}
        assert "other" in (await talk.do(S, "session/activeClientSet", activeClient=client))["rejectionReason"]


@pytest.mark.parametrize("away", [29.9, 30.1])
async def test_a_client_back_within_the_grace_never_left(tmp_path: Path, autojump_clock: Any, away: float) -> None:
    async with hosting(tmp_path, Echo()) as host:
        watcher, tools = await host.connect("watcher"), await host.connect("tools")
        chat = await watcher.open_session()
        await tools.state(S)
        await become_active(tools)
        call = await start_call(watcher, chat)
        await host.drop(tools)
        await trio.sleep(away)
        back = await host.attach()
        back.client_id = "tools"
        await back.ask("reconnect", clientId="tools", lastSeenServerSeq=0, subscriptions=[S, chat])
        await trio.sleep(5)
        result = {"success": True, "pastTenseMessage": "done", "content": [{"type": "text", "text": "opened"}]}
        envelope = await back.do(chat, "chat/toolCallComplete", turnId="t1", toolCallId=call, result=result)
        said = text_of(await ended(watcher, chat, "t1"))
        if away < 30:
            assert "rejectionReason" not in envelope
            assert said == "opened"
            assert (await watcher.state(S))["activeClients"][0]["clientId"] == "tools"
        else:
            assert "rejectionReason" in envelope
            assert said == "Client tools disconnected before completing openFile"
            assert (await watcher.state(S))["activeClients"] == []


async def test_unsubscribing_fails_what_is_owed_and_names_another_with_the_tool(tmp_path: Path) -> None:
    async with hosting(tmp_path, Echo()) as host:
        watcher, tools, spare = [await host.connect(name) for name in ("watcher", "tools", "spare")]
        chat = await watcher.open_session()
        for talk in (tools, spare):
            await talk.state(S)
            await become_active(talk)
        call = await start_call(watcher, chat)
        tools.send({"jsonrpc": "2.0", "method": "unsubscribe", "params": {"channel": S}})
        done = (await watcher.action(chat, "chat/toolCallComplete", toolCallId=call))["result"]
        assert (done["success"], done["pastTenseMessage"]) == (False, "openFile failed")
        assert done["error"]["message"] == "Client tools disconnected before completing openFile"
        assert "try the call again" in done["content"][0]["text"]
        await watcher.action(S, "session/activeClientRemoved", clientId="tools")


async def test_one_of_two_connections_lost_is_no_loss(tmp_path: Path, autojump_clock: Any) -> None:
    async with hosting(tmp_path, Echo()) as host:
        one, two = await host.connect("c1"), await host.connect("c1")
        await one.open_session()
        await two.state(S)
        await become_active(one)
        await host.drop(one)
        await trio.sleep(100)
        assert (await two.state(S))["activeClients"][0]["clientId"] == "c1"
        await host.drop(two)
        await trio.sleep(100)
        watcher = await host.connect("w")
        assert (await watcher.state(S))["activeClients"] == []


async def test_calls_owed_in_two_sessions_fail_in_both(tmp_path: Path, autojump_clock: Any) -> None:
    async with hosting(tmp_path, Echo()) as host:
        watcher, tools = await host.connect("watcher"), await host.connect("tools")
        chats = [await watcher.open_session(f"ahp-session:/{name}") for name in "ab"]
        for name in "ab":
            await tools.state(f"ahp-session:/{name}")
            await become_active(tools, f"ahp-session:/{name}")
        for chat in chats:
            await start_call(watcher, chat)
        await host.drop(tools)
        await trio.sleep(31)
        for chat in chats:
            assert "disconnected" in text_of(await ended(watcher, chat, "t1"))


async def test_a_reloaded_window_gets_the_later_calls_under_its_new_id(tmp_path: Path) -> None:
    async with hosting(tmp_path, Echo()) as host:
        watcher, old = await host.connect("watcher"), await host.connect("old")
        chat = await watcher.open_session()
        await old.state(S)
        await become_active(old)
        await host.drop(old)
        new = await host.connect("new")
        await new.state(S)
        await become_active(new)
        await watcher.say(chat, "/tool new__openFile {}")
        start = await watcher.action(chat, "chat/toolCallStart")
        assert start["contributor"]["clientId"] == "new"


async def test_a_client_that_never_answers_is_failed_after_the_time_limit(tmp_path: Path, autojump_clock: Any) -> None:
    async with hosting(tmp_path, Echo()) as host:
        talk = await host.connect("c1")
        chat = await talk.open_session()
        await become_active(talk)
        await start_call(talk, chat)
        await trio.sleep(599)
        assert "activeTurn" in await talk.state(chat)
        await trio.sleep(2)
        assert "did not complete openFile in 600 seconds" in text_of(await ended(talk, chat, "t1"))


async def test_names_no_model_could_call_are_not_offered(tmp_path: Path) -> None:
    async with hosting(tmp_path, Echo()) as host:
        talk = await host.connect("c1")
        chat = await talk.open_session()
        await talk.do(S, "session/activeClientSet", activeClient={"clientId": "c1", "tools": [{"name": "a b"}]})
        await talk.say(chat, "/tool c1__a {}")
        assert "no tool" in text_of(await ended(talk, chat, "t1"))
