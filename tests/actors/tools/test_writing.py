"""The writing tools as a second client sees what they do: messages, titles, marks, deletions, moves (tools page)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from actors.chat_orders import SendMessage
from actors.session import DisposeChat
from actors.store import StoreError
from ahp.state.chat import Message, MessageOrigin
from tests.actors.hosting import Talk
from tests.actors.tools.calling import Calling, Model, calling

OTHER = "ahp-session:/other"


async def watching(at: Calling, *channels: str) -> Talk:
    """A second client that sees `channels`."""
    second = await at.connect("c2")
    for channel in channels:
        await second.state(channel)
    return second


def link(model: Model, chat: bool = True) -> str:
    provider, id = "echo", model.session.rpartition("/")[2]
    return f"agent-host-session://{provider}/{id}" + (f"?chat={model.chat.rpartition('/')[2]}" if chat else "")


def texts(state: dict[str, Any]) -> list[str]:
    return [turn["message"]["text"] for turn in state["turns"]]


# send_message.


async def test_a_message_to_a_free_chat_is_a_turn_that_says_where_it_came_from(tmp_path: Path) -> None:
    async with calling(tmp_path) as at:
        model, other = await at.model(), await at.model(OTHER)
        second = await watching(at, other.chat)
        said = await model.call("send_message", session=link(other, chat=False), message="hello you")
        assert said == "The message is sent: a turn has begun. agent-host-session://echo/other"
        message = (await second.action(other.chat, "chat/turnStarted"))["message"]
        assert (message["text"], message["origin"]) == ("hello you", {"kind": "agent"})
        delegated = message["_meta"]["vscode.chat.delegation"]
        assert (delegated["sourceSession"], delegated["sourceChat"]) == (model.session, model.chat)
        assert delegated["sourceTurnId"].startswith("call-")
        await second.action(other.chat, "chat/turnComplete")


async def test_a_message_to_a_busy_chat_waits_until_its_turn_is_over(tmp_path: Path, autojump_clock: Any) -> None:
    async with calling(tmp_path) as at:
        model, other = await at.model(), await at.model(OTHER)
        second = await watching(at, other.chat)
        busy = await other.say("/slow 3 1000")
        said = await model.call("send_message", session=other.chat, message="and then this")
        assert "queued: its turn begins when what is before it is done" in said
        await second.action(other.chat, "chat/pendingMessageSet", kind="queued")
        assert texts(await second.state(other.chat)) == []
        await second.action(other.chat, "chat/turnComplete", turnId=busy)
        begun = await second.wait_for(
            lambda m: (
                m.get("params", {}).get("action", {}).get("message", {}).get("text") == "and then this"
                and m["params"]["action"]["type"] == "chat/turnStarted"
            )
        )
        await second.action(other.chat, "chat/turnComplete", turnId=begun["params"]["action"]["turnId"])


async def test_messages_that_are_no_messages_are_refused(tmp_path: Path, autojump_clock: Any) -> None:
    async with calling(tmp_path) as at:
        model, other = await at.model(), await at.model(OTHER)
        nested = await at.chat(model, "nested")
        send = "send_message"
        assert "the chat you are in" in await model.refusal(send, session=model.session, message="x")
        assert await model.refusal(send, session="nonsense", message="x") == (
            "Invalid send_message input: session must be a session URI or an open link from list_sessions."
        )
        for unknown in ("ahp-session:/none", "agent-host-session://echo/none", "ahp-chat:/none"):
            assert await model.refusal(send, session=unknown, message="x") == (
                f"Invalid send_message input: session {unknown!r} is no session of this host; list_sessions has the"
                " ones there are."
            )
        assert await model.refusal(send, session=f"{link(other, chat=False)}?chat=nested", message="x") == (
            "Invalid send_message input: session names the chat 'nested', which is no chat of ahp-session:/other;"
            " list_sessions has the session's chats."
        )
        assert "send_message: message: 5 is not of type 'string'" in await model.refusal(send, session=OTHER, message=5)
        assert "message must be a non-empty string" in await model.refusal(send, session=OTHER, message="  ")
        assert "'message' is a required property" in await model.refusal(send, session=OTHER)
        assert "message is sent" in await model.call(send, session=link(nested), message="x")


async def test_a_chat_that_sleeps_is_woken_for_its_message(tmp_path: Path, autojump_clock: Any) -> None:
    async with calling(tmp_path) as at:
        await at.model(OTHER)
        await at.sleep(OTHER)
        model = await at.model()
        await model.call("send_message", session=OTHER, message="wake up")
        await trio.sleep(0.1)
        chat = (await at.talk.state(OTHER))["defaultChat"]
        assert texts(await at.talk.state(chat)) == ["wake up"]


async def test_a_message_that_cannot_be_kept_is_not_called_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: Any
) -> None:
    async with calling(tmp_path) as at:
        model, other = await at.model(), await at.model(OTHER)
        chat = at.host.chats[other.chat]

        async def full(_: Any) -> None:
            raise StoreError(tmp_path, "the disk is full")

        monkeypatch.setattr(chat.channel, "_store", type("Full", (), {"commit": staticmethod(full)})())
        assert "cannot keep the message" in await model.refusal("send_message", session=OTHER, message="x")
        monkeypatch.undo()


async def test_a_queued_message_keeps_the_person_behind_it(tmp_path: Path, autojump_clock: Any) -> None:
    async with calling(tmp_path) as at:
        other = await at.model(OTHER)
        await other.say("/slow 2 1000", "first")
        chat = at.host.chats[other.chat]
        asked = SendMessage(Message(text="/slow 2 1000", origin=MessageOrigin(kind="agent")), "ada")
        assert await chat.ask(asked) == "queued"
        await at.talk.action(other.chat, "chat/turnComplete", turnId="first")
        await trio.testing.wait_all_tasks_blocked()
        assert chat.running is not None
        assert chat.running.principal == "ada"
        assert chat.senders == {}


# rename_chat, archive_chat.


async def test_titles_reach_everybody_and_the_first_chats_is_the_sessions(tmp_path: Path) -> None:
    async with calling(tmp_path) as at:
        model, other = await at.model(), await at.model(OTHER)
        nested = await at.chat(model, "nested")
        second = await watching(at, model.session, other.session)
        assert await model.call("rename_chat", title=" Fix &amp;  ship ") == "The chat is now 'Fix & ship'."
        await second.action(model.session, "session/titleChanged", title="Fix & ship")
        await model.call("rename_chat", chat=link(nested), title="Side job")
        await second.action(model.session, "session/chatUpdated", chat=nested.chat, changes={"title": "Side job"})
        await other.call("rename_chat", chat=link(nested), session=model.session, title="From afar")
        await second.action(model.session, "session/chatUpdated", chat=nested.chat, changes={"title": "From afar"})
        await model.call("rename_chat", session=OTHER, title="Their title")
        await second.action(OTHER, "session/titleChanged", title="Their title")
        assert (await second.state(model.session))["title"] == "Fix & ship"


async def test_a_folders_session_loses_what_wraps_its_title(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    async with calling(tmp_path) as at:
        model = await at.model(workingDirectories=[(tmp_path / "work").as_uri()])
        assert await model.call("rename_chat", title='"feature/fix-the-parser".') == (
            "The chat is now 'Feature fix the parser'."
        )
        assert "nothing left" in await model.refusal("rename_chat", title='"."')


async def test_titles_that_are_none_are_refused(tmp_path: Path) -> None:
    async with calling(tmp_path) as at:
        model, other = await at.model(), await at.model(OTHER)
        for title in ("", " \n", 7, "x" * 201):
            assert "title" in await model.refusal("rename_chat", title=title)
        assert "chat is no chat of ahp-session:/other" in await model.refusal(
            "rename_chat", chat=model.chat, session=other.session, title="x"
        )


async def test_archiving_a_nested_chat_and_a_session(tmp_path: Path) -> None:
    async with calling(tmp_path) as at:
        model, other = await at.model(), await at.model(OTHER)
        nested, more = await at.chat(other, "nested"), await at.chat(model, "more")
        second = await watching(at, other.session, nested.chat)
        assert "The chat is archived." in await model.call("archive_chat", chat=link(nested))
        await second.action(nested.chat, "chat/isArchivedChanged", isArchived=True)
        assert not (await second.state(other.session))["status"] & 64
        await model.call("archive_chat", chat=other.chat)  # The main chat: the whole session.
        await second.action(other.session, "session/isArchivedChanged", isArchived=True)
        own = "archive_chat: this would archive the session that calls it"
        for itself in (model.session, model.chat, link(model, chat=False)):
            assert await model.refusal("archive_chat", chat=itself) == own
            assert await more.refusal("archive_chat", chat=itself) == own
        assert await more.refusal("archive_chat", chat=more.chat) == "archive_chat: this is the chat you are in"
        assert "no session of this host" in await model.refusal("archive_chat", chat="ahp-chat:/none")
        assert "archive_chat: chat: [] is not of type 'string'" in await model.refusal("archive_chat", chat=[])


# delete_session.


async def test_a_deleted_session_is_gone_for_everybody_also_in_mid_turn(tmp_path: Path, autojump_clock: Any) -> None:
    async with calling(tmp_path) as at:
        model, other = await at.model(), await at.model(OTHER)
        second = await watching(at)
        await other.say("/slow 100 1000")
        assert "is deleted" in await model.call("delete_session", session=OTHER)
        gone = await second.wait_for(lambda m: m.get("method") == "root/sessionRemoved")
        assert gone["params"]["session"] == OTHER
        assert len((await second.ask("listSessions"))["items"]) == 1
        assert "no session of this host" in await model.refusal("delete_session", session=OTHER)
        assert "cannot delete itself" in await model.refusal("delete_session", session=link(model))
        assert "cannot delete itself" in await model.refusal("delete_session", session=model.chat)


async def test_two_that_delete_one_session_delete_it_once(tmp_path: Path, autojump_clock: Any) -> None:
    async with calling(tmp_path) as at:
        one, two = await at.model(), await at.model("ahp-session:/two")
        await at.model(OTHER)
        second = await watching(at)
        call = f'/tool delete_session {{"session": "{OTHER}"}}'
        turns = [await one.say(call), await two.say(call)]
        for model, turn in zip((one, two), turns, strict=True):
            await at.talk.action(model.chat, "chat/turnComplete", turnId=turn)
        await trio.testing.wait_all_tasks_blocked()
        assert len([m for m in second.got if m.get("method") == "root/sessionRemoved"]) == 1


async def test_two_sessions_that_delete_each_other_leave_no_ruin(tmp_path: Path, autojump_clock: Any) -> None:
    async with calling(tmp_path) as at:
        one, two = await at.model(), await at.model(OTHER)
        at.talk.send(_turn(one.chat, f'/tool delete_session {{"session": "{OTHER}"}}'))
        at.talk.send(_turn(two.chat, f'/tool delete_session {{"session": "{one.session}"}}'))
        await trio.sleep(1)
        left = [row["resource"] for row in (await at.talk.ask("listSessions"))["items"]]
        assert len(left) <= 1
        for uri in left:
            assert (await at.talk.state(uri))["lifecycle"] == "ready"


def _turn(chat: str, text: str) -> dict[str, Any]:
    message = {"text": text, "origin": {"kind": "user"}}
    start = {"type": "chat/turnStarted", "turnId": f"t-{chat}", "startedAt": "2026-01-01T00:00:00Z", "message": message}
    params = {"channel": chat, "clientSeq": 1000 + len(chat), "action": start}
    return {"jsonrpc": "2.0", "method": "dispatchAction", "params": params}


# Races: what was looked up has gone when it is ordered.


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("send_message", {"session": "ahp-chat:/nested", "message": "x"}),
        ("rename_chat", {"chat": "ahp-chat:/nested", "title": "x"}),
        ("archive_chat", {"chat": "ahp-chat:/nested"}),
        ("move_session", {"session": "ahp-chat:/nested", "relationship": "independent"}),
    ],
)
async def test_a_chat_that_vanishes_between_call_and_effect_is_said_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, given: dict[str, Any]
) -> None:
    async with calling(tmp_path) as at:
        model, other = await at.model(), await at.model(OTHER)
        await at.chat(other, "nested")
        host, opened = at.host, at.host.open

        async def open_late(named: str) -> Any:
            if "ahp-chat:/nested" in host.chats and named in ("ahp-chat:/nested", OTHER):
                await host.sessions[OTHER].ask(DisposeChat("ahp-chat:/nested"))
            return await opened(named)

        monkeypatch.setattr(host, "open", open_late)
        said = await model.refusal(tool, **given)
        assert "ahp-chat:/nested" in said
        assert "failed in the host" not in said


async def test_a_session_that_falls_asleep_between_look_up_and_order_is_woken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: Any
) -> None:
    async with calling(tmp_path) as at:
        await at.model(OTHER)
        await at.sleep(OTHER)
        model = await at.model()
        host, opened, times = at.host, at.host.open, []

        async def asleep_again(named: str) -> Any:
            found = await opened(named)
            times.append(named)
            if len(times) == 1:
                await trio.sleep(5)
            return found

        monkeypatch.setattr(host, "open", asleep_again)
        assert "message is sent" in await model.call("send_message", session=OTHER, message="x")
        assert len(times) == 2


# move_session.


async def test_a_nested_chat_is_reordered_moved_and_made_a_session_of_its_own(tmp_path: Path) -> None:
    async with calling(tmp_path) as at:
        model, other = await at.model(), await at.model(OTHER)
        a, b = await at.chat(model, "a"), await at.chat(model, "b")
        second = await watching(at, model.session, other.session)
        assert "It is reordered." in await model.call("move_session", session=link(a), after=link(b))
        await second.action(model.session, "session/chatsReordered", chats=[model.chat, b.chat, a.chat])
        said = await model.call("move_session", session=link(a), into=OTHER)
        assert said == "It is moved. agent-host-session://echo/other?chat=a"
        await second.action(model.session, "session/chatRemoved", chat=a.chat)
        await second.action(OTHER, "session/chatAdded")
        await model.call("move_session", session=b.chat, relationship="independent")
        await second.action(model.session, "session/chatRemoved", chat=b.chat)
        added = await second.wait_for(lambda m: m.get("method") == "root/sessionAdded")
        assert added["params"]["summary"]["provider"] == "echo"
        assert len((await second.ask("listSessions"))["items"]) == 3


async def test_moves_that_make_no_sense_are_refused_and_move_nothing(tmp_path: Path, autojump_clock: Any) -> None:
    async with calling(tmp_path) as at:
        model, other = await at.model(), await at.model(OTHER)
        parrot = await at.model("ahp-session:/parrot", provider="parrot")
        a = await at.chat(model, "a")
        move = "move_session"
        assert "is expected" in await model.refusal(move, session=a.chat)
        assert "goes with neither" in await model.refusal(move, session=a.chat, relationship="independent", into=OTHER)
        assert "is not one of" in await model.refusal(move, session=a.chat, relationship="currentSession")
        assert "which stays with it" in await model.refusal(move, session=model.session, into=OTHER)
        assert "no chat of this session" in await model.refusal(move, session=a.chat, after=other.chat)
        wrong = await model.refusal(move, session=a.chat, into=OTHER, after=parrot.chat)
        assert "after names a chat of ahp-session:/parrot, and into names ahp-session:/other" in wrong
        assert "runs Parrot, not Echo" in await model.refusal(move, session=a.chat, into=parrot.session)
        assert "a turn is running" in await a.refusal(move, session=a.chat, into=OTHER)
        await a.talk.state(a.chat)
        assert [chat["resource"] for chat in (await at.talk.state(model.session))["chats"]] == [model.chat, a.chat]


async def test_moving_is_refused_in_one_sentence_while_it_is_turned_off(tmp_path: Path) -> None:
    async with calling(tmp_path, config="[chatMoves]\nenabled = false\n") as at:
        model = await at.model()
        a = await at.chat(model, "a")
        off = "moving chats is turned off (chatMoves.enabled)"
        assert await model.refusal("move_session", session=a.chat, relationship="independent") == off


async def test_two_that_move_one_chat_move_it_once(tmp_path: Path, autojump_clock: Any) -> None:
    async with calling(tmp_path) as at:
        model, other, third = await at.model(), await at.model(OTHER), await at.model("ahp-session:/third")
        a = await at.chat(model, "a")
        turns = [
            await model.say(f'/tool move_session {{"session": "{a.chat}", "into": "{OTHER}"}}'),
            await other.say(f'/tool move_session {{"session": "{a.chat}", "into": "{third.session}"}}'),
        ]
        for mover, turn in zip((model, other), turns, strict=True):
            await at.talk.action(mover.chat, "chat/turnComplete", turnId=turn)
        homes = [
            uri
            for uri in (model.session, OTHER, third.session)
            if a.chat in [chat["resource"] for chat in (await at.talk.state(uri))["chats"]]
        ]
        assert len(homes) == 1
        assert homes != [model.session]
