"""get_session_context, as a model calls it (tools page): levels, tool calls, pages of a reply, what still waits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from trio.testing import MockClock

from actors.store import chats as chat_records
from actors.store import turns as turn_records
from ahp import wire
from ahp.state.chat import MarkdownPart, Message, MessageOrigin, Turn
from ahp.wire import Text
from tests.actors.tools.calling import Calling, Model, calling

WORDS = "one two three"


async def two(host: Calling) -> tuple[Model, Model]:
    """A model that reads, and the one it reads about."""
    return await host.model("ahp-session:/reader"), await host.model("ahp-session:/s")


async def read(reader: Model, session: str = "ahp-session:/s", **given: Any) -> dict[str, Any]:
    answer: dict[str, Any] = await reader.call("get_session_context", session=session, **given)
    return answer


# The transcript.


async def test_a_chat_that_holds_nothing_has_an_empty_transcript(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        reader, _ = await two(host)
        assert await read(reader) == {
            "session": "ahp-session:/s",
            "openLink": "agent-host-session://echo/s",
            "detail": "summary",
            "transcript": [],
            "hasMoreHistory": False,
            "truncated": False,
            "messagesSentByMe": [],
        }


async def test_turns_are_numbered_from_the_oldest_and_the_running_one_is_last(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        reader, model = await two(host)
        await model.tell("hello")
        failed = await model.say("/fail no luck")
        await host.talk.action(model.chat, "chat/error", turnId=failed)
        stopped = await model.say("/hang")
        await host.talk.do(model.chat, "chat/turnCancelled", turnId=stopped, duration=1)
        await model.say("first words\n/hang")
        await host.talk.action(model.chat, "chat/delta", content="words\n")
        assert (await read(reader))["transcript"] == [
            {"turn": 1, "state": "complete", "user": "hello", "assistant": "hello"},
            {"turn": 2, "state": "error", "user": "/fail no luck"},
            {"turn": 3, "state": "cancelled", "user": "/hang"},
            {"turn": 4, "state": "inProgress", "user": "first words\n/hang", "assistant": "first words"},
        ]


async def test_a_model_may_read_its_own_chat(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        model = await host.model("ahp-session:/s")
        await model.tell("hello")
        first, second = (await read(model))["transcript"]
        assert first["assistant"] == "hello"
        assert second["state"] == "inProgress"


async def test_transcript_limit_counts_the_running_turn_and_older_ones_are_history(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        reader, model = await two(host)
        for number in range(1, 13):
            await model.tell(f"turn {number}")

        async def numbers(**given: Any) -> tuple[list[int], bool, bool]:
            answer = await read(reader, **given)
            return [turn["turn"] for turn in answer["transcript"]], answer["hasMoreHistory"], answer["truncated"]

        assert await numbers() == (list(range(3, 13)), True, True)
        assert await numbers(transcriptLimit=2) == ([11, 12], True, True)
        assert await numbers(transcriptLimit=2.9) == ([11, 12], True, True)
        assert await numbers(transcriptLimit=12) == (list(range(1, 13)), False, False)
        await model.say("/hang")
        assert await numbers(transcriptLimit=1) == ([13], True, True)
        assert await numbers(transcriptLimit=2) == ([12, 13], True, True)
        assert await numbers(transcriptLimit=1000) == (list(range(1, 14)), False, False)


@pytest.mark.parametrize(
    ("detail", "user", "assistant"), [("summary", 160, 140), ("digest", 300, 800), ("full", 1000, 2000)]
)
async def test_each_level_has_its_caps(tmp_path: Path, detail: str, user: int, assistant: int) -> None:
    async with calling(tmp_path) as host:
        reader, model = await two(host)
        turn = await model.tell(f"  {'u' * user}  ")
        await model.tell("u" * (user + 1))
        await model.tell(f"/repeat {assistant // 2} x")
        long = await model.tell(f"/repeat {assistant} x")
        answer = await read(reader, detail=detail)
        assert answer["truncated"]
        exact, cut, fits, over = answer["transcript"]
        assert exact["user"] == "u" * user
        assert cut["user"] == "u" * (user - 1) + "…"
        assert fits["assistant"] == ("x " * (assistant // 2)).strip()
        assert "assistantTruncated" not in fits
        assert "responseTurnId" not in fits
        assert len(over["assistant"]) == assistant
        assert over["assistant"].endswith("…")
        assert over["assistantTruncated"] is True
        assert over["responseTurnId"] == long
        assert exact.get("responseTurnId") in (None, turn)


async def test_nothing_cut_is_not_truncated(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        reader, model = await two(host)
        await model.tell("short")
        assert not (await read(reader))["truncated"]


# Tool calls.


async def a_day_of_calls(host: Calling, model: Model) -> None:
    """A call that is done, one that failed, one that is denied, one that is skipped, one that runs."""
    await model.tell('/tool list_models {"agent": "echo"}')
    await model.tell("/tool list_models " + json.dumps({"agent": "x" * 400}))
    turn = await model.say("/confirm rm -rf")
    ready = await host.talk.action(model.chat, "chat/toolCallReady", turnId=turn)
    confirmed = {"turnId": turn, "toolCallId": ready["toolCallId"], "approved": False, "reason": "denied"}
    await host.talk.do(model.chat, "chat/toolCallConfirmed", **confirmed)
    await host.talk.action(model.chat, "chat/turnComplete", turnId=turn)
    turn = await model.say("/confirm again")
    await host.talk.action(model.chat, "chat/toolCallReady", turnId=turn)
    await host.talk.do(model.chat, "chat/turnCancelled", turnId=turn, duration=1)
    turn = await model.say("/confirm once more")
    await host.talk.action(model.chat, "chat/toolCallReady", turnId=turn)


async def test_digest_and_full_tell_the_tool_calls_and_how_they_ended(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        reader, model = await two(host)
        await a_day_of_calls(host, model)
        assert all("toolCalls" not in turn for turn in (await read(reader))["transcript"])
        answer = await read(reader, detail="digest")
        done, failed, denied, skipped, waits = [turn["toolCalls"] for turn in answer["transcript"]]
        assert done == [{"name": "list_models", "status": "completed", "ok": True}]
        error = failed[0].pop("error")
        assert failed == [{"name": "list_models", "status": "completed", "ok": False}]
        assert len(error) == 200
        assert error.startswith("Invalid list_models input: agent 'xxx")
        assert error.endswith("…")
        assert answer["truncated"]
        assert denied == [{"name": "run", "status": "cancelled", "reason": "denied"}]
        assert skipped == [{"name": "run", "status": "cancelled", "reason": "skipped"}]
        assert waits == [{"name": "run", "status": "pending-confirmation"}]


async def test_only_full_has_the_inputs_cut_to_two_hundred(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        reader, model = await two(host)
        await a_day_of_calls(host, model)
        turns = (await read(reader, detail="full"))["transcript"]
        inputs = [turn["toolCalls"][0]["input"] for turn in turns]
        assert json.loads(inputs[0]) == {"agent": "echo"}
        assert len(inputs[1]) == 200
        assert inputs[1].endswith("…")
        assert inputs[2:] == ["rm -rf", "again", "once more"]


# One reply, page by page.


async def test_a_long_reply_is_read_to_its_end_in_pages_of_eight_thousand(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        reader, model = await two(host)
        turn = await model.tell("/repeat 5000 äbc")
        whole = ("äbc " * 5000).strip()
        pages: list[dict[str, Any]] = []
        given: dict[str, Any] = {}
        while not pages or pages[-1]["truncated"]:
            pages.append(await read(reader, responseTurnId=turn, **given))
            given = {"responseOffset": pages[-1].get("nextResponseOffset")}
        assert [len(page["response"]) for page in pages] == [8000, 8000, len(whole) - 16_000]
        assert "".join(page["response"] for page in pages) == whole
        assert {page["responseLength"] for page in pages} == {len(whole)}
        assert [page.get("nextResponseOffset") for page in pages] == [8000, 16_000, None]
        assert [page["truncated"] for page in pages] == [True, True, False]
        assert all("transcript" not in page for page in pages)
        assert pages[0]["session"] == "ahp-session:/s"


async def test_a_page_starts_where_it_is_told_to(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        reader, model = await two(host)
        turn = await model.tell("hello there")
        page = await read(reader, responseTurnId=turn, responseOffset=6)
        assert page == {
            "session": "ahp-session:/s",
            "openLink": "agent-host-session://echo/s",
            "responseTurnId": turn,
            "responseOffset": 6,
            "response": "there",
            "responseLength": 11,
            "truncated": False,
        }
        assert (await read(reader, responseTurnId=turn, responseOffset=11))["response"] == ""


async def test_the_reply_of_a_running_turn_is_read_as_far_as_it_is(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        reader, model = await two(host)
        turn = await model.say(f"{WORDS}\n/hang")
        await host.talk.action(model.chat, "chat/delta", content="three\n")
        page = await read(reader, responseTurnId=turn)
        assert (page["response"], page["truncated"]) == (WORDS, False)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "get_session_context: 'session' is a required property"),
        ({"session": " "}, "Invalid get_session_context input: session must be a non-empty string."),
        ({"session": 7}, "get_session_context: session: 7 is not of type 'string'"),
        (
            {"session": "ahp-session:/none"},
            (
                "Invalid get_session_context input: session 'ahp-session:/none' is no session of this host;"
                " list_sessions has the ones there are."
            ),
        ),
        (
            {"session": "agent-host-session://echo/s?chat=nothing"},
            (
                "Invalid get_session_context input: session names the chat 'nothing', which is no chat of"
                " ahp-session:/s; list_sessions has the session's chats."
            ),
        ),
        ({"detail": "all"}, "get_session_context: detail: 'all' is not one of ['summary', 'digest', 'full']"),
        ({"transcriptLimit": "3"}, "get_session_context: transcriptLimit: '3' is not of type 'number'"),
        (
            {"transcriptLimit": 0.5},
            "Invalid get_session_context input: transcriptLimit must be a number of at least 1.",
        ),
        (
            {"responseOffset": 0},
            "Invalid get_session_context input: responseOffset needs the responseTurnId of the reply to read.",
        ),
        (
            {"responseTurnId": "no-turn"},
            (
                "Invalid get_session_context input: responseTurnId 'no-turn' is no turn of this chat; take it from the"
                " chat's own transcript."
            ),
        ),
        (
            {"responseTurnId": "t", "responseOffset": -1},
            "get_session_context: responseOffset: -1 is less than the minimum of 0",
        ),
        (
            {"responseTurnId": "t", "responseOffset": 6},
            "Invalid get_session_context input: responseOffset 6 is behind the end of the reply, which has 5.",
        ),
    ],
)
async def test_what_it_cannot_read_is_refused_by_name(tmp_path: Path, given: dict[str, Any], said: str) -> None:
    async with calling(tmp_path) as host:
        reader, model = await two(host)
        await model.talk.say(model.chat, "hello", "t")
        await model.talk.action(model.chat, "chat/turnComplete", turnId="t")
        if given and "session" not in given:
            given = {"session": "ahp-session:/s", **given}
        assert await reader.refusal("get_session_context", **given) == said


# Which chat.


async def test_a_link_of_a_chat_reads_that_chat(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        reader, model = await two(host)
        await model.tell("in the main chat")
        second = await host.chat(model, "second")
        await second.tell("in the second chat")
        row = (await reader.call("list_sessions", session="ahp-session:/s"))["sessions"][0]
        for chat, said in zip(row["chats"], ("main", "second"), strict=True):
            answer = await read(reader, chat["openLink"])
            assert answer["openLink"] == chat["openLink"]
            assert [turn["user"] for turn in answer["transcript"]] == [f"in the {said} chat"]
        assert (await read(reader, second.chat))["transcript"][0]["user"] == "in the second chat"
        assert (await read(reader, model.chat))["openLink"] == "agent-host-session://echo/s"


@pytest.mark.parametrize("uri", ["ahp-chat://mine/YWhwLXNlc3Npb246L3M", "ahp-chat:/a%20b+c&d", "ahp-chat:/a/b"])
async def test_a_chat_of_any_shape_is_found_by_its_own_link(tmp_path: Path, uri: str) -> None:
    async with calling(tmp_path) as host:
        reader, model = await two(host)
        await host.talk.ask("createChat", model.session, chat=uri)
        await host.talk.state(uri)
        await Model(host.talk, model.session, uri).tell("in here")
        _, link = [
            chat["openLink"] for chat in (await reader.call("list_sessions", session=uri))["sessions"][0]["chats"]
        ]
        answer = await read(reader, link)
        assert answer["openLink"] == link
        assert answer["transcript"][0]["user"] == "in here"


async def test_the_agent_of_a_chat_that_runs_another_is_named(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        reader, model = await two(host)
        second = await host.chat(model, "second")
        chat = host.host.chats[second.chat]
        chat.private = msgspec.structs.replace(chat.private, agent="parrot")
        assert (await read(reader, second.chat))["harness"] == "parrot"
        assert "harness" not in await read(reader)


# Asleep.


async def test_a_sleeping_chat_is_read_without_waking_it(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with calling(tmp_path) as host:
        _, model = await two(host)
        for number in range(1, 5):
            turn = await model.tell(f"/repeat 90 w{number}")
        awake = await read(await host.model("ahp-session:/looker"), transcriptLimit=3)
        await host.sleep("ahp-session:/s")
        reader = await host.model("ahp-session:/other")
        asleep = await read(reader, transcriptLimit=3)
        assert asleep == awake
        assert [one["turn"] for one in asleep["transcript"]] == [2, 3, 4]
        page = await read(reader, responseTurnId=turn)
        assert page["response"] == ("w4 " * 90).strip()
        assert await reader.refusal("get_session_context", session="ahp-session:/s", responseTurnId="none") == (
            "Invalid get_session_context input: responseTurnId 'none' is no turn of this chat; take it from the chat's"
            " own transcript."
        )
        assert "ahp-session:/s" not in host.host.sessions


async def test_two_thousand_turns_are_never_loaded_for_it(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with calling(tmp_path) as host:
        _, model = await two(host)
        await model.tell("the first")
        await host.sleep("ahp-session:/s")

        def body(number: int) -> bytes:
            message = Message(text=f"turn {number}", origin=MessageOrigin(kind="user"))
            part = MarkdownPart(id="p", content=Text(f"reply {number}"))
            return wire.encode(Turn(id=f"t{number}", message=message, response_parts=[part], state="complete"))

        more = [turn_records.append(model.chat, number, f"t{number}", body(number)) for number in range(1, 2000)]
        await host.host.env.store.commit(more)
        reader = await host.model("ahp-session:/other")
        monkeypatch.setattr(turn_records, "every", None)
        answer = await read(reader, transcriptLimit=50)
        assert [turn["turn"] for turn in answer["transcript"]] == list(range(1951, 2001))
        assert answer["transcript"][-1] == {
            "turn": 2000,
            "state": "complete",
            "user": "turn 1999",
            "assistant": "reply 1999",
        }
        assert answer["hasMoreHistory"]
        assert (await read(reader, responseTurnId="t7"))["response"] == "reply 7"


async def test_a_chat_that_vanished_after_it_was_found_is_said_to_be_gone(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with calling(tmp_path) as host:
        _, model = await two(host)
        await host.sleep("ahp-session:/s")
        await host.host.env.store.commit([chat_records.delete(model.chat)])
        reader = await host.model("ahp-session:/other")
        assert await reader.refusal("get_session_context", session="ahp-session:/s") == (
            "Invalid get_session_context input: session names a chat of ahp-session:/s that has just gone; use"
            " list_sessions."
        )


# What the calling chat left there.


async def test_messages_that_the_calling_chat_left_are_told(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        reader, model = await two(host)
        await model.say("/hang")
        assert "queued" in await reader.call("send_message", session="ahp-session:/s", message="when you can")
        (sent,) = (await read(reader))["messagesSentByMe"]
        waiting = (await host.talk.state(model.chat))["queuedMessages"]
        assert sent == {
            "messageId": sent["messageId"],
            "revision": 1,
            "delivery": "queue",
            "status": "pending",
            "message": "when you can",
        }
        assert sent["messageId"] in (
            waiting[0]["id"],
            waiting[0]["message"]["_meta"]["vscode.chat.delegation"].get("messageId"),
        )
        other = await host.chat(Model(host.talk, "ahp-session:/reader", reader.chat), "second")
        assert (await read(other))["messagesSentByMe"] == []


async def test_a_steering_message_is_told_and_what_others_left_is_not(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        reader, model = await two(host)
        await model.say("/hang")

        async def leave(kind: str, id: str, text: str, **delegation: Any) -> None:
            meta = {"_meta": {"vscode.chat.delegation": delegation}} if delegation else {}
            message = {"text": text, "origin": {"kind": "user"}, **meta}
            await host.talk.do(model.chat, "chat/pendingMessageSet", kind=kind, id=id, message=message)

        mine = {"sourceSession": reader.session, "sourceChat": reader.chat}
        await leave("steering", "s1", "turn left", **mine, messageId="m1", revision=2)
        await leave("queued", "q1", "mine", **mine)
        await leave("queued", "q2", "another chat's", sourceSession=reader.session, sourceChat="ahp-chat:/else")
        await leave("queued", "q3", "a person's")
        rest = {"status": "pending"}
        assert (await read(reader))["messagesSentByMe"] == [
            {"messageId": "m1", "revision": 2, "delivery": "steer", "message": "turn left"} | rest,
            {"messageId": "q1", "revision": 1, "delivery": "queue", "message": "mine"} | rest,
        ]


async def test_a_call_with_no_session_reads_but_has_left_no_messages(tmp_path: Path) -> None:
    async with calling(tmp_path) as host:
        _, model = await two(host)
        await model.tell("hello")
        result = await host.sessionless("get_session_context", session="ahp-session:/s")
        answer = json.loads(result["content"][0]["text"])
        assert answer["transcript"][0]["user"] == "hello"
        assert "messagesSentByMe" not in answer
        refused = await host.sessionless("get_session_context")
        assert refused["error"]["message"] == "get_session_context: 'session' is a required property"
