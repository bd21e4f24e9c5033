"""Turns: how they begin, stream, wait, end and are kept."""

from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from actors.agents.interface import AgentError, TurnInput, TurnPort
from ahp.state.chat import ChatInputQuestion, ChatInputRequest, ConfirmationOption, ToolCallResult
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


async def test_a_result_that_a_person_must_see_first_waits_for_them(tmp_path: Path) -> None:
    results: list[Any] = []

    async def turn(turn: TurnInput, port: TurnPort) -> None:
        results.append(await port.call_tool("c1__look", {}))

    async with hosting(tmp_path, Parrot(turn)) as host:
        talk = await host.connect("c1")
        chat = await talk.open_session()
        tools = {"clientId": "c1", "tools": [{"name": "look"}]}
        await talk.do("ahp-session:/s", "session/activeClientSet", activeClient=tools)
        for number, approved in enumerate((True, False)):
            await talk.say(chat, "go", f"t{number}")
            call = (await talk.action(chat, "chat/toolCallReady", turnId=f"t{number}"))["toolCallId"]
            said = {"turnId": f"t{number}", "toolCallId": call}
            result = {"success": True, "pastTenseMessage": "looked"}
            await talk.do(chat, "chat/toolCallComplete", **said, result=result, requiresResultConfirmation=True)
            assert len(results) == number
            assert (await talk.state("ahp-session:/s"))["status"] & 31 == 24
            await talk.do(chat, "chat/toolCallResultConfirmed", **said, approved=approved)
            await ended(talk, chat, f"t{number}")
        assert [result.success for result in results] == [True, False]


async def test_what_a_stopped_turn_had_set_to_work_is_stopped_with_it(tmp_path: Path) -> None:
    async def turn(turn: TurnInput, port: TurnPort) -> None:
        call = await port.tool_call("task")
        worker = await port.worker("Worker", call.tool_call_id, "look around")
        await worker.port.text("looking")
        await trio.sleep_forever()

    async with hosting(tmp_path, Parrot(turn)) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "go")
        added = (await talk.action("ahp-session:/s", "session/chatAdded"))["summary"]
        assert (added["interactivity"], added["origin"]["chat"]) == ("read-only", chat)
        worker = added["resource"]
        await talk.state(worker)
        refused = await talk.do(worker, "chat/pendingMessageSet", kind="queued", id="x", message=message("hi"))
        assert "read-only" in refused["rejectionReason"]
        await talk.do(chat, "chat/turnCancelled", turnId="t1", duration=1)
        await talk.action(worker, "chat/turnCancelled")
        state = await talk.state(worker)
        assert (state["turns"][0]["state"], text_of(state["turns"][0])) == ("cancelled", "looking")
        await talk.say(chat, "next", "t2")
        await talk.do(chat, "chat/turnCancelled", turnId="t2", duration=1)


async def test_a_subagent_that_finishes_completes_its_own_turn(tmp_path: Path) -> None:
    async def turn(turn: TurnInput, port: TurnPort) -> None:
        worker = await port.worker("Worker", "call-1", "look around")
        await worker.port.text("done")
        await worker.finish()

    async with hosting(tmp_path, Parrot(turn)) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "go")
        await ended(talk, chat, "t1")
        worker = (await talk.action("ahp-session:/s", "session/chatAdded"))["summary"]["resource"]
        state = await talk.state(worker)
        assert [(turn["state"], text_of(turn)) for turn in state["turns"]] == [("complete", "done")]


async def test_steering_in_both_forms_is_taken_once_and_waits_where_nobody_takes_it(tmp_path: Path) -> None:
    taken: list[str] = []

    async def turn(turn: TurnInput, port: TurnPort) -> None:
        await port.text("began")
        while "stop" not in taken:
            taken.append((await port.next_steering()).message.text)

    async with hosting(tmp_path, Parrot(turn)) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        slot = {"kind": "steering", "id": "s0", "message": message("early")}
        await talk.do(chat, "chat/pendingMessageSet", **slot)
        await talk.do(chat, "chat/steeringMessageSet", steeringMessage={"id": "l0", "message": message("listed")})
        assert (await talk.state(chat))["turns"] == []
        await talk.say(chat, "go")
        await talk.action(chat, "chat/pendingMessageRemoved", id="s0")
        await talk.action(chat, "chat/steeringMessageRemoved", id="l0")
        await talk.do(chat, "chat/steeringMessageSet", steeringMessage={"id": "l1", "message": message("stop")})
        await ended(talk, chat, "t1")
        assert taken == ["early", "listed", "stop"]
        state = await talk.state(chat)
        assert not state.keys() & {"steeringMessage", "steeringMessages"}


async def test_a_queue_that_a_stop_left_waits_for_the_next_turn_to_end(tmp_path: Path) -> None:
    held = Held()
    async with hosting(tmp_path, Parrot(held)) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "x")
        for name in ("a", "b"):
            await talk.do(chat, "chat/pendingMessageSet", kind="queued", id=name, message=message(name))
        await talk.do(chat, "chat/queuedMessagesReordered", order=["b", "a"])
        await talk.do(chat, "chat/turnCancelled", turnId="t1", duration=1)
        await talk.do(chat, "chat/steeringMessageSet", steeringMessage={"id": "s", "message": message("s")})
        state = await talk.state(chat)
        assert [pending["id"] for pending in state["queuedMessages"]] == ["b", "a"]
        assert "activeTurn" not in state
        for name in ("y", "a", "b"):
            held.go(name)
        await talk.say(chat, "y", "t2")
        await ended(talk, chat, "t2")
        for name in ("b", "a"):
            started = await talk.action(chat, "chat/turnStarted", queuedMessageId=name)
            await ended(talk, chat, started["turnId"])
        texts = [turn["message"]["text"] for turn in (await talk.state(chat))["turns"]]
        assert texts == ["x", "y", "b", "a"]


async def test_a_question_is_answered_together_and_resumes_the_turn(tmp_path: Path) -> None:
    outcomes: list[Any] = []

    async def turn(turn: TurnInput, port: TurnPort) -> None:
        question = ChatInputQuestion(kind="text", id="name", message="Your name?", required=True)
        outcomes.append(await port.ask(ChatInputRequest(id="q", message="Who?", questions=[question])))

    async with hosting(tmp_path, Parrot(turn)) as host:
        talk, other = await host.connect("c1"), await host.connect("c2")
        chat = await talk.open_session()
        await other.state(chat)
        await talk.say(chat, "go")
        await talk.action("ahp-session:/s", "session/inputNeededSet")
        state = await talk.state(chat)
        assert state["status"] & 63 == 24
        draft = {"state": "draft", "value": {"kind": "text", "value": "An"}}
        await talk.do(chat, "chat/inputAnswerChanged", requestId="q", questionId="name", answer=draft)
        assert (await other.action(chat, "chat/inputAnswerChanged"))["answer"] == draft
        early = await other.do(chat, "chat/inputCompleted", requestId="q", response="accept")
        assert "needs an answer" in early["rejectionReason"]
        wrong = {"name": {"state": "submitted", "value": {"kind": "number", "value": 3}}}
        refused = await other.do(chat, "chat/inputCompleted", requestId="q", response="accept", answers=wrong)
        assert "rejectionReason" in refused
        full = {"name": {"state": "submitted", "value": {"kind": "text", "value": "Ann"}}}
        await other.do(chat, "chat/inputCompleted", requestId="q", response="accept", answers=full)
        late = await talk.do(chat, "chat/inputCompleted", requestId="q", response="cancel")
        assert "rejectionReason" in late
        turn_ = await ended(talk, chat, "t1")
        assert (outcomes[0].response, outcomes[0].answers["name"].value.value) == ("accept", "Ann")
        assert turn_["responseParts"][0]["response"] == "accept"
        await talk.action("ahp-session:/s", "session/inputNeededRemoved")


@pytest.mark.parametrize("how", ["approved", "edited", "denied"])
async def test_a_confirmation_carries_the_choice_and_the_edit_to_the_agent(tmp_path: Path, how: str) -> None:
    answers: list[Any] = []

    async def turn(turn: TurnInput, port: TurnPort) -> None:
        call = await port.tool_call("rm")
        options = [
            ConfirmationOption(id="once", label="Once", kind="approve"),
            ConfirmationOption(id="no", label="No", kind="deny"),
        ]
        answers.append(await call.confirm("rm x", "Remove x", options=options, editable=how == "edited"))
        if answers[0].approved:
            await call.complete(ToolCallResult(success=True, past_tense_message="removed"))

    async with hosting(tmp_path, Parrot(turn)) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "go")
        call = (await talk.action(chat, "chat/toolCallReady"))["toolCallId"]
        said: dict[str, Any] = {"turnId": "t1", "toolCallId": call, "approved": True, "confirmed": "user-action"}
        if how == "approved":
            refused = await talk.do(chat, "chat/toolCallConfirmed", **said, editedToolInput="rm y")
            assert "not editable" in refused["rejectionReason"]
            await talk.do(chat, "chat/toolCallConfirmed", **said, selectedOptionId="once")
        elif how == "edited":
            await talk.do(chat, "chat/toolCallConfirmed", **said, editedToolInput="rm y")
        else:
            said = {"turnId": "t1", "toolCallId": call, "approved": False, "reason": "denied"}
            await talk.do(chat, "chat/toolCallConfirmed", **said, reasonMessage="not x", selectedOptionId="no")
        part = (await ended(talk, chat, "t1"))["responseParts"][0]["toolCall"]
        answer = answers[0]
        if how == "denied":
            assert (part["status"], part["reason"], part["reasonMessage"]) == ("cancelled", "denied", "not x")
            assert (answer.approved, answer.reason_message, answer.selected_option.id) == (False, "not x", "no")
        else:
            assert (part["status"], part["toolInput"]) == ("completed", "rm y" if how == "edited" else "rm x")
            assert answer.tool_input == ("rm y" if how == "edited" else None)
            assert (answer.selected_option.id if how == "approved" else None) == ("once" if how == "approved" else None)


async def test_an_agent_that_breaks_is_an_error_of_its_turn_and_no_more(tmp_path: Path) -> None:
    async def turn(turn: TurnInput, port: TurnPort) -> None:
        await port.text("so far")
        if turn.message.text == "break":
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep_forever)
                raise KeyError("a bug of the agent's")

    async with hosting(tmp_path, Parrot(turn)) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.say(chat, "break")
        failed = await ended(talk, chat, "t1")
        assert [part["kind"] for part in failed["responseParts"]] == ["markdown", "error"]
        error = failed["responseParts"][-1]
        assert (error["error"]["errorType"], "resumable" in error) == ("agentCrashed", False)
        await talk.say(chat, "fine", "t2")
        assert (await ended(talk, chat, "t2"))["state"] == "complete"


async def test_the_busiest_chat_speaks_for_its_session(tmp_path: Path) -> None:
    held = Held()
    async with hosting(tmp_path, Parrot(held)) as host:
        talk = await host.connect()
        chat = await talk.open_session()
        await talk.ask("createChat", "ahp-session:/s", chat="ahp-chat:/two")
        await talk.state("ahp-chat:/two")

        async def row() -> int:
            await trio.testing.wait_all_tasks_blocked()
            return int((await talk.ask("listSessions"))["items"][0]["status"])

        assert await row() == 1 | 32
        await talk.say(chat, "x")
        await talk.action(chat, "chat/responsePart")
        assert await row() == 8
        assert (await talk.state("ahp-root://"))["activeSessions"] == 1
        await talk.do("ahp-session:/s", "session/isReadChanged", isRead=True)
        assert await row() == 8 | 32
        held.go("x")
        await ended(talk, chat, "t1")
        assert await row() == 1 | 32
        assert (await talk.state("ahp-root://"))["activeSessions"] == 0
