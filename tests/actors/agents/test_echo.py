"""The echo agent through a client's eyes: every command of docs/echo.md."""

import base64
from pathlib import Path
from typing import Any

import pytest
import trio

from actors.agents.echo import COMMANDS, Echo
from tests.actors.hosting import Talk, hosting

DOCS = Path(__file__).parents[3] / "docs" / "echo.md"


def text_of(turn: dict[str, Any]) -> str:
    return "".join(part["content"] for part in turn["responseParts"] if part["kind"] == "markdown")


async def turn_of(talk: Talk, chat: str, text: str, turn: str = "t1") -> dict[str, Any]:
    """The turn that `text` becomes, once it is over."""
    await talk.say(chat, text, turn)
    await talk.wait_for(
        lambda m: (
            m.get("method") == "action"
            and m["params"]["action"].get("turnId") == turn
            and m["params"]["action"]["type"] in ("chat/turnComplete", "chat/error", "chat/turnCancelled")
        )
    )
    ended: dict[str, Any] = (await talk.state(chat))["turns"][-1]
    return ended


async def test_words_are_said_back_in_pieces(tmp_path: Path) -> None:
    async with hosting(tmp_path, Echo()) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        turn = await turn_of(talk, chat, "one  two\nthree")
        assert text_of(turn) == "one  two\nthree"
        assert len([a for a in talk.actions(chat) if a["type"] == "chat/delta"]) >= 2


async def test_it_thinks_reports_usage_and_repeats(tmp_path: Path) -> None:
    async with hosting(tmp_path, Echo()) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        turn = await turn_of(talk, chat, "/think deep thought\n/usage 12 34\n/repeat 5 ha\ndone")
        assert [part["kind"] for part in turn["responseParts"]] == ["reasoning", "markdown"]
        assert turn["usage"] == {"inputTokens": 12, "outputTokens": 34, "model": "echo-1"}
        assert text_of(turn) == "ha ha ha ha ha done"


async def test_the_model_and_the_settings_change_its_voice(tmp_path: Path) -> None:
    async with hosting(tmp_path, Echo()) as host:
        talk = await host.connect()
        chat = await talk.open_session(config={"voice": "parrot", "shout": True})
        assert text_of(await turn_of(talk, chat, "hello")) == "Squawk! HELLO"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"approved": True, "confirmed": "user-action", "selectedOptionId": "once"}, "ran ls [once]"),
        ({"approved": True, "confirmed": "user-action", "editedToolInput": "ls -l"}, "ran ls -l"),
        ({"approved": False, "reason": "denied"}, "not run (denied)"),
    ],
)
async def test_it_asks_for_confirmation(tmp_path: Path, answer: dict[str, Any], said: str) -> None:
    async with hosting(tmp_path, Echo()) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "/confirm ls")
        ready = await talk.action(chat, "chat/toolCallReady")
        assert ready["editable"] is True
        envelope = await talk.do(chat, "chat/toolCallConfirmed", turnId="t1", toolCallId=ready["toolCallId"], **answer)
        assert "rejectionReason" not in envelope
        await talk.action(chat, "chat/turnComplete")
        assert text_of((await talk.state(chat))["turns"][0]) == said


async def test_it_asks_a_question(tmp_path: Path) -> None:
    async with hosting(tmp_path, Echo()) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "/ask Which one? | red | blue")
        request = (await talk.action(chat, "chat/inputRequested"))["request"]
        answers = {"answer": {"state": "submitted", "value": {"kind": "selected", "value": "blue"}}}
        await talk.do(chat, "chat/inputCompleted", requestId=request["id"], response="accept", answers=answers)
        await talk.action(chat, "chat/turnComplete")
        assert text_of((await talk.state(chat))["turns"][0]) == "accept: blue"


async def test_it_edits_a_file_of_the_session(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("old\n")
    async with hosting(tmp_path, Echo()) as host:
        talk = await host.connect()
        chat = await talk.open_session(workingDirectories=[folder.as_uri()])
        turn = await turn_of(talk, chat, "/edit a.txt new text")
        call = next(part["toolCall"] for part in turn["responseParts"] if part["kind"] == "toolCall")
        assert call["status"] == "completed"
        assert call["content"][0]["diff"] == {"added": 1, "removed": 1}
        assert (folder / "a.txt").read_text() == "new text\n"


async def test_it_edits_in_each_of_the_sessions_folders_and_nowhere_else(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    (two / "b.bin").write_bytes(b"\xff\x00old\n")
    (one / "out").symlink_to(tmp_path)
    async with hosting(tmp_path, Echo()) as host:
        talk = await host.connect()
        chat = await talk.open_session(workingDirectories=[one.as_uri(), two.as_uri()])
        turn = await turn_of(talk, chat, f"/edit {two}/b.bin new")
        edit = next(part["toolCall"] for part in turn["responseParts"] if part["kind"] == "toolCall")["content"][0]
        assert base64.b64decode(edit["before"]["content"]["uri"].partition(",")[2]) == b"\xff\x00old\n"
        assert (two / "b.bin").read_text() == "new\n"
        for number, name in enumerate(("../c.txt", str(tmp_path / "c.txt"), "out/c.txt", ".")):
            refused = await turn_of(talk, chat, f"/edit {name} text", f"r{number}")
            assert "no file in the session's folders" in refused["responseParts"][-1]["error"]["message"]
        assert not (tmp_path / "c.txt").exists()
        failed = await turn_of(talk, chat, "/edit no/such/folder text", "t2")
        call = next(part["toolCall"] for part in failed["responseParts"] if part["kind"] == "toolCall")
        assert (call["success"], failed["state"]) == (False, "complete")


async def test_it_remembers_the_chats_turns_after_a_restart_and_in_a_fork(tmp_path: Path) -> None:
    async with hosting(tmp_path, Echo()) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        assert text_of(await turn_of(talk, chat, "/history", "t1")) == "nothing yet"
        await turn_of(talk, chat, "second", "t2")
    async with hosting(tmp_path, Echo()) as host:
        talk = await host.connect()
        await talk.state(chat)
        assert text_of(await turn_of(talk, chat, "/history", "t3")) == "1. /history\n2. second"
        fork = {"kind": "fork", "chat": chat, "turnId": "t1"}
        await talk.ask("createChat", "ahp-session:/s", chat="ahp-chat:/fork", source=fork)
        await talk.state("ahp-chat:/fork")
        assert text_of(await turn_of(talk, "ahp-chat:/fork", "/history", "f1")) == "1. /history"


async def test_it_names_its_chat(tmp_path: Path) -> None:
    async with hosting(tmp_path, Echo()) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        assert "A new name" in text_of(await turn_of(talk, chat, "/title A new name"))
        assert (await talk.state(chat))["title"] == "A new name"


@pytest.mark.parametrize("line", ["/slow", "/slow x y", "/repeat inf x", "/usage -1 2", "/slow ' 1", "/tool x {"])
async def test_a_command_that_is_wrong_says_what_it_wants(tmp_path: Path, line: str) -> None:
    async with hosting(tmp_path, Echo()) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        turn = await turn_of(talk, chat, line)
        message = turn["responseParts"][-1]["error"]["message"]
        assert "is expected, not" in message or "is no JSON" in message


async def test_it_fails_and_takes_the_turn_up_again(tmp_path: Path) -> None:
    async with hosting(tmp_path, Echo()) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        turn = await turn_of(talk, chat, "before\n/fail no luck\nafter")
        assert turn["state"] == "error"
        assert turn["responseParts"][-1]["error"]["message"] == "no luck"
        await talk.do(chat, "chat/turnResume", turnId="t1")
        await talk.action(chat, "chat/turnComplete")
        assert text_of((await talk.state(chat))["turns"][0]) == "before\nafter"


async def test_it_hangs_until_it_is_cancelled(tmp_path: Path, autojump_clock: object) -> None:
    async with hosting(tmp_path, Echo()) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "/hang")
        await trio.sleep(3600)
        await talk.do(chat, "chat/turnCancelled", turnId="t1", duration=10)
        assert (await talk.state(chat))["turns"][0]["state"] == "cancelled"
        assert text_of(await turn_of(talk, chat, "again", "t2")) == "again"


async def test_a_worker_chat_works_and_is_shown_in_the_call(tmp_path: Path) -> None:
    async with hosting(tmp_path, Echo()) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        turn = await turn_of(talk, chat, "/subagent dig here")
        call = next(part["toolCall"] for part in turn["responseParts"] if part["kind"] == "toolCall")
        worker = call["content"][0]["resource"]
        state = await talk.state(worker)
        assert state["origin"] == {"kind": "tool", "chat": chat, "toolCallId": call["toolCallId"]}
        assert state["interactivity"] == "read-only"
        assert text_of(state["turns"][0]) == "dig here"


async def test_a_steering_message_reaches_the_running_turn(tmp_path: Path) -> None:
    async with hosting(tmp_path, Echo()) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "/wait-steering")
        message = {"text": "left", "origin": {"kind": "user"}}
        await talk.do(chat, "chat/pendingMessageSet", kind="steering", id="m1", message=message)
        await talk.action(chat, "chat/turnComplete")
        state = await talk.state(chat)
        assert text_of(state["turns"][0]) == "steered: left"
        assert "steeringMessage" not in state


async def test_a_client_runs_its_own_tool(tmp_path: Path) -> None:
    async with hosting(tmp_path, Echo()) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        client = {"clientId": "c1", "tools": [{"name": "openFile", "title": "Open a file"}]}
        await talk.do("ahp-session:/s", "session/activeClientSet", activeClient=client)
        await talk.say(chat, '/client-tool openFile {"path": "x"}')
        start = await talk.action(chat, "chat/toolCallStart")
        assert (start["toolName"], start["contributor"]) == ("openFile", {"kind": "client", "clientId": "c1"})
        await talk.action(chat, "chat/toolCallReady")
        result = {"success": True, "pastTenseMessage": "opened", "content": [{"type": "text", "text": "it is open"}]}
        await talk.do(chat, "chat/toolCallComplete", turnId="t1", toolCallId=start["toolCallId"], result=result)
        await talk.action(chat, "chat/turnComplete")
        assert text_of((await talk.state(chat))["turns"][0]) == "it is open"


async def test_an_unknown_tool_and_a_bug_are_told(tmp_path: Path) -> None:
    async with hosting(tmp_path, Echo()) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        assert "no tool 'nope'" in text_of(await turn_of(talk, chat, "/tool nope {}"))
        crashed = await turn_of(talk, chat, "/raise oh", "t2")
        assert "oh" in crashed["responseParts"][-1]["error"]["message"]
        assert text_of(await turn_of(talk, chat, "still here", "t3")) == "still here"


def test_every_command_is_documented() -> None:
    text = DOCS.read_text()
    assert [name for name in COMMANDS if f"`{name}" not in text] == []
