"""Turns: how they begin, stream, wait, end and are kept."""

from pathlib import Path
from typing import Any

import pytest
import trio

from actors.agents.interface import AgentError, TurnInput, TurnPort
from tests.actors.hosting import Parrot, Talk, hosting


def message(text: str, **more: Any) -> dict[str, Any]:
    return {"text": text, "origin": {"kind": "user"}, **more}


def text_of(turn: dict[str, Any]) -> str:
    return "".join(part["content"] for part in turn["responseParts"] if part["kind"] == "markdown")


async def ended(talk: Talk, chat: str, turn: str) -> dict[str, Any]:
    await talk.wait_for(
        lambda m: (
            m.get("method") == "action"
            and m["params"]["action"].get("turnId") == turn
            and m["params"]["action"]["type"] in ("chat/turnComplete", "chat/error", "chat/turnCancelled")
            and "rejectionReason" not in m["params"]
        )
    )
    turns = (await talk.state(chat))["turns"]
    found: dict[str, Any] = next(known for known in turns if known["id"] == turn)
    return found


class Held:
    """An agent whose turns wait until they are let go."""

    def __init__(self) -> None:
        self.gates: dict[str, trio.Event] = {}
        self.cancelled: list[str] = []
        self.unwinding = trio.Event()

    async def __call__(self, turn: TurnInput, port: TurnPort) -> None:
        gate = self.gates.setdefault(turn.message.text, trio.Event())
        await port.text("began ")
        try:
            await gate.wait()
        except trio.Cancelled:
            self.cancelled.append(turn.turn_id)
            raise
        await port.text("ended")

    def go(self, text: str) -> None:
        self.gates.setdefault(text, trio.Event()).set()


async def test_a_second_client_sees_the_reply_as_it_streams(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk, other = await host.connect("c1"), await host.connect("c2")
        chat = await talk.open_session()
        state = await other.state(chat)
        await talk.say(chat, "one two three")
        await other.action(chat, "chat/turnComplete")
        streamed = [a for a in other.actions(chat) if a["type"] in ("chat/delta", "chat/responsePart")]
        assert len(streamed) == 3
        assert state["turns"] == []
        assert text_of((await other.state(chat))["turns"][0]) == "one two three "


async def test_a_turn_dispatched_twice_is_one_turn(tmp_path: Path) -> None:
    held = Held()
    async with hosting(tmp_path, Parrot(held)) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "x")
        assert "running already" in (await talk.say(chat, "x"))["rejectionReason"]
        assert "queue the message" in (await talk.say(chat, "y", "t2"))["rejectionReason"]
        held.go("x")
        await ended(talk, chat, "t1")
        assert "has been already" in (await talk.say(chat, "x"))["rejectionReason"]
        assert len((await talk.state(chat))["turns"]) == 1


async def test_cancelling_unwinds_the_agent_before_the_next_turn(tmp_path: Path) -> None:
    held = Held()
    async with hosting(tmp_path, Parrot(held)) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "x")
        await talk.action(chat, "chat/responsePart")
        assert "rejectionReason" in await talk.do(chat, "chat/turnCancelled", turnId="other", duration=1)
        await talk.do(chat, "chat/turnCancelled", turnId="t1", duration=1)
        held.go("y")
        await talk.say(chat, "y", "t2")
        assert text_of(await ended(talk, chat, "t2")) == "began ended"
        assert held.cancelled == ["t1"]
        first = (await talk.state(chat))["turns"][0]
        assert (first["state"], text_of(first)) == ("cancelled", "began ")


@pytest.mark.parametrize("resumable", [True, False])
async def test_an_agent_that_fails_leaves_the_session_usable(tmp_path: Path, resumable: bool) -> None:
    async def turn(turn: TurnInput, port: TurnPort) -> None:
        if not turn.resumed and turn.message.text == "fail":
            raise AgentError("no luck", error_type="luck", resumable=resumable)
        await port.text("fine")

    async with hosting(tmp_path, Parrot(turn)) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "fail")
        failed = await ended(talk, chat, "t1")
        assert failed["state"] == "error"
        assert failed["responseParts"][-1]["error"] == {"errorType": "luck", "message": "no luck"}
        assert (await talk.state(chat))["status"] & 31 == 2
        resumed = await talk.do(chat, "chat/turnResume", turnId="t1")
        assert ("rejectionReason" in resumed) is not resumable
        if resumable:
            assert (await ended(talk, chat, "t1"))["state"] == "complete"
        await talk.say(chat, "ok", "t2")
        assert text_of(await ended(talk, chat, "t2")) == "fine"


async def test_a_bug_in_a_backend_is_an_error_of_the_turn(tmp_path: Path) -> None:
    async def turn(turn: TurnInput, port: TurnPort) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(port.text, "x")
            raise ZeroDivisionError("oops")

    async with hosting(tmp_path, Parrot(turn)) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "a")
        assert "ZeroDivisionError" in (await ended(talk, chat, "t1"))["responseParts"][-1]["error"]["message"]


async def test_queued_messages_become_turns_in_order_and_wait_after_a_cancel(tmp_path: Path) -> None:
    held = Held()
    async with hosting(tmp_path, Parrot(held)) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "first")
        for name in ("a", "b", "c"):
            await talk.do(chat, "chat/pendingMessageSet", kind="queued", id=name, message=message(name))
        await talk.do(chat, "chat/queuedMessagesReordered", order=["b", "a"])
        held.go("first")
        await talk.action(chat, "chat/turnStarted", queuedMessageId="b")
        started = await talk.action(chat, "chat/turnStarted", queuedMessageId="b")
        await talk.do(chat, "chat/turnCancelled", turnId=started["turnId"], duration=1)
        assert [m["id"] for m in (await talk.state(chat))["queuedMessages"]] == ["a", "c"]
        held.go("a")
        held.go("c")
        await talk.do(chat, "chat/pendingMessageRemoved", kind="queued", id="c")
        await talk.action(chat, "chat/turnStarted", queuedMessageId="a")
        assert "rejectionReason" in await talk.do(chat, "chat/pendingMessageRemoved", kind="queued", id="zzz")


async def test_a_queued_message_of_an_idle_chat_is_a_turn_at_once(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.do(chat, "chat/pendingMessageSet", kind="queued", id="q", message=message("now"))
        started = await talk.action(chat, "chat/turnStarted", queuedMessageId="q")
        assert text_of(await ended(talk, chat, started["turnId"])) == "now "
        assert "queuedMessages" not in await talk.state(chat)


async def test_drafts_marks_and_titles_are_seen_and_kept(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk, other = await host.connect("c1"), await host.connect("c2")
        chat = await talk.open_session()
        await other.state(chat)
        await talk.do(chat, "chat/draftChanged", draft=message("half"))
        await other.action(chat, "chat/draftChanged")
        await talk.say(chat, "  What is\n this?")
        await talk.action("ahp-session:/s", "session/titleChanged", title="What is")
        await talk.action(chat, "chat/turnComplete")
        await talk.do("ahp-session:/s", "session/isArchivedChanged", isArchived=True)
        await talk.do(chat, "chat/isReadChanged", isRead=True)
        envelope = await talk.do(chat, "chat/draftChanged", draft={"text": "x", "origin": {"kind": "agent"}})
        assert "rejectionReason" in envelope
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        state, session = await talk.state(chat), await talk.state("ahp-session:/s")
        assert state["draft"]["text"] == "half"
        assert (state["title"], session["title"], session["chats"][0]["title"]) == ("What is",) * 3
        assert state["status"] & 32
        assert session["status"] & 64
        row = (await talk.ask("listSessions"))["items"][0]
        assert (row["title"], row["status"] & 64) == ("What is", 64)


async def test_truncation_cuts_history_for_everybody_and_for_the_agent(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        for number in (1, 2, 3):
            await talk.say(chat, f"m{number}", f"t{number}")
            await ended(talk, chat, f"t{number}")
        assert "rejectionReason" in await talk.do(chat, "chat/truncated", turnId="nope")
        await talk.do(chat, "chat/truncated", turnId="t1")
        await talk.say(chat, "edited", "t9")
        await ended(talk, chat, "t9")
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        assert [turn["id"] for turn in (await talk.state(chat))["turns"]] == ["t1", "t9"]


async def test_history_comes_in_pages_to_everybody_who_watches(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk, other = await host.connect("c1"), await host.connect("c2")
        chat = await talk.open_session()
        for number in range(5):
            await talk.say(chat, "x", f"t{number}")
            await ended(talk, chat, f"t{number}")
        tail = await other.state(chat, view={"turns": 2})
        assert [turn["id"] for turn in tail["turns"]] == ["t3", "t4"]
        assert await other.ask("fetchTurns", chat, cursor=tail["turnsNextCursor"]) == {}
        loaded = await talk.action(chat, "chat/turnsLoaded")
        assert [turn["id"] for turn in loaded["turns"]] == ["t0", "t1", "t2"]
        assert "turnsNextCursor" not in loaded
        with pytest.raises(Exception, match="unknown cursor"):
            await other.ask("fetchTurns", chat, cursor="zzz")


async def test_fields_from_the_future_come_back_and_stay(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        talk, other = await host.connect("c1"), await host.connect("c2")
        chat = await talk.open_session()
        await other.state(chat)
        sent = message("hi", fromTheFuture={"a": [1, None]})
        await talk.do(
            chat, "chat/turnStarted", turnId="t1", startedAt="2026-01-01T00:00:00.000Z", message=sent, alsoNew=True
        )
        seen = await other.action(chat, "chat/turnStarted")
        assert seen["alsoNew"] is True
        await ended(talk, chat, "t1")
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        assert (await talk.state(chat))["turns"][0]["message"] == sent


async def test_a_turn_that_was_running_when_the_host_ended_is_interrupted(tmp_path: Path) -> None:
    held = Held()
    async with hosting(tmp_path, Parrot(held)) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "x")
        await talk.action(chat, "chat/responsePart")
    async with hosting(tmp_path) as host:
        talk = await host.connect()
        state = await talk.state(chat)
        assert "activeTurn" not in state
        assert state["turns"][0]["state"] == "error"
        assert state["turns"][0]["responseParts"][-1]["error"]["errorType"] == "interrupted"
        assert (await talk.state("ahp-root://"))["activeSessions"] == 0
        await talk.say(chat, "next", "t2")
        assert text_of(await ended(talk, chat, "t2")) == "next "


@pytest.mark.parametrize("approve", [True, False])
async def test_of_two_who_answer_a_confirmation_the_first_counts(tmp_path: Path, approve: bool) -> None:
    answers: list[Any] = []

    async def turn(turn: TurnInput, port: TurnPort) -> None:
        call = await port.tool_call("rm", display_name="Remove")
        answers.append(await call.confirm("rm x", "Remove x", title="Remove?"))

    async with hosting(tmp_path, Parrot(turn)) as host:
        talk, other = await host.connect("c1"), await host.connect("c2")
        chat = await talk.open_session()
        await other.state(chat)
        await talk.say(chat, "go")
        call = (await talk.action(chat, "chat/toolCallReady"))["toolCallId"]
        needed = (await talk.action("ahp-session:/s", "session/inputNeededSet"))["request"]
        assert (needed["kind"], needed["chat"]) == ("toolConfirmation", chat)
        assert (await talk.state("ahp-session:/s"))["status"] & 31 == 24
        said: dict[str, Any] = (
            {"approved": True, "confirmed": "user-action"} if approve else {"approved": False, "reason": "denied"}
        )
        first = await other.do(chat, "chat/toolCallConfirmed", turnId="t1", toolCallId=call, **said)
        second = await talk.do(chat, "chat/toolCallConfirmed", turnId="t1", toolCallId=call, **said)
        assert "rejectionReason" not in first
        assert "rejectionReason" in second
        await ended(talk, chat, "t1")
        await talk.action("ahp-session:/s", "session/inputNeededRemoved")
        assert answers[0].approved is approve
