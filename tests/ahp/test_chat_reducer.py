"""What actions make of a chat: what is newer than the reference's data, and the quirks that replicas share.

The reference host's own cases are in tests/conformance.
"""

from typing import Any

import pytest

from ahp import wire
from ahp.reducers import chat
from ahp.state.chat import ToolCallPart
from tests.ahp.chatting import (
    CALL,
    DONE,
    FAILED,
    HELLO,
    KNOWN,
    MCP,
    OPTIONS,
    PENDING,
    RESULT,
    RUNNING,
    START,
    STREAMING,
    a_chat,
    a_turn,
    action,
    applied,
    call_of,
    in_turn,
    shown,
    tool,
    waiting,
    with_call,
)

IDLE, ERROR, BUSY, ASKING, READ, ARCHIVED = 1, 2, 8, 24, 32, 64
OF_THE_CALL = {"turnId": "t", "toolCallId": "c"}
TEXT = {"kind": "markdown", "id": "p", "content": "a"}
QUESTION = {"kind": "inputRequest", "request": {"id": "r"}}


# Turns.


def test_a_turn_begins_and_ends_at_the_times_its_actions_say() -> None:
    state = applied(a_chat(status=IDLE | READ), "turnStarted", turnId="t", startedAt=START, message=HELLO)
    assert state.status == BUSY
    state = applied(state, "turnComplete", turnId="t", duration=1500.9)
    assert shown(state)["turns"] == [a_turn("t", startedAt=START, duration=1500.9)]
    assert (state.status, state.modified_at) == (IDLE, "2026-01-01T00:00:01.500Z")


@pytest.mark.parametrize(
    ("started", "ended"),
    [
        ("2026-01-01T02:00:00+02:00", "2026-01-01T00:00:00.250Z"),
        ("2026-01-01T00:00:00", "2026-01-01T00:00:00.250Z"),
        ("2026-01-01", "2026-01-01T00:00:00.250Z"),
        ("yesterday", "yesterday"),
    ],
)
def test_the_end_of_a_turn_is_in_utc_whatever_its_start_was(started: str, ended: str) -> None:
    state = applied(a_chat(), "turnStarted", turnId="t", startedAt=started, message=HELLO)
    assert applied(state, "turnCancelled", turnId="t", duration=250).modified_at == ended


def test_a_duration_is_never_negative() -> None:
    assert shown(applied(in_turn(), "turnComplete", turnId="t", duration=-5))["turns"][0]["duration"] == 0


def test_a_second_start_takes_the_place_of_the_turn() -> None:
    state = applied(in_turn(TEXT), "turnStarted", turnId="u", startedAt=START, message=HELLO)
    assert shown(state)["activeTurn"] == {"id": "u", "startedAt": START, "message": HELLO, "responseParts": []}
    assert state.turns == []


def test_a_delta_changes_its_part_alone_and_leaves_the_state_before_it() -> None:
    before = in_turn(TEXT, {"kind": "reasoning", "id": "q", "content": "b"})
    after = applied(before, "delta", turnId="t", partId="p", content="!")
    assert [part["content"] for part in shown(after)["activeTurn"]["responseParts"]] == ["a!", "b"]
    assert [part["content"] for part in shown(before)["activeTurn"]["responseParts"]] == ["a", "b"]
    assert wire.present(after.active_turn, None).response_parts[1] is before.active_turn.response_parts[1]


@pytest.mark.parametrize(
    ("name", "part_id"), [("delta", "q"), ("reasoning", "p"), ("delta", "c"), ("delta", "nobody"), ("delta", "star")]
)
def test_text_for_a_part_of_another_kind_is_lost(name: str, part_id: str) -> None:
    parts = [
        TEXT,
        {"kind": "reasoning", "id": "q", "content": "b"},
        tool(RUNNING),
        {"kind": "odd", "id": "star"},
        {"kind": "contentRef", "uri": "file:///a"},
    ]
    state = in_turn(*parts)
    assert applied(state, name, turnId="t", partId=part_id, content="!") is state


def test_an_error_part_comes_by_its_own_action_alone() -> None:
    part = {"kind": "error", "error": {"errorType": "x", "message": "no"}, "resumable": True}
    state = in_turn(TEXT)
    assert applied(state, "responsePart", turnId="t", part=part) is state
    state = applied(state, "error", turnId="t", duration=1, part=part)
    assert state.status == ERROR
    assert shown(state)["turns"] == [a_turn("t", TEXT, part, state="error", startedAt=START, duration=1)]


def test_a_turn_that_failed_resumably_goes_on_with_all_it_had() -> None:
    part = {"kind": "error", "error": {"errorType": "x", "message": "no"}, "resumable": True}
    usage = {"inputTokens": 1}
    failed = a_turn("t", TEXT, QUESTION, part, state="error", usage=usage)
    state = applied(a_chat(status=ERROR | READ, turns=[failed]), "turnResume", turnId="t")
    assert (state.status, state.turns, state.modified_at) == (ASKING, [], START)
    assert shown(state)["activeTurn"]["responseParts"] == [TEXT, QUESTION, part]
    assert shown(state)["activeTurn"]["usage"] == usage
    assert shown(state)["activeTurn"]["startedAt"] == START


@pytest.mark.parametrize(
    "last",
    [
        a_turn("t"),
        a_turn("t", {"kind": "error", "error": {"errorType": "x", "message": ""}}, state="error"),
        a_turn("u", {"kind": "error", "error": {"errorType": "x", "message": ""}, "resumable": True}, state="error"),
        a_turn("t", {"kind": "error", "error": {"errorType": "x", "message": ""}, "resumable": True}, TEXT),
    ],
)
def test_no_other_turn_is_resumed(last: dict[str, Any]) -> None:
    state = a_chat(turns=[last])
    assert applied(state, "turnResume", turnId="t") is state


def test_truncation_of_an_unknown_turn_leaves_the_running_one() -> None:
    state = in_turn(TEXT, turns=[a_turn("a"), a_turn("b")])
    assert applied(state, "truncated", turnId="z") is state
    cut = applied(state, "truncated", turnId="a")
    assert [turn.id for turn in cut.turns] == ["a"]
    assert (cut.status, shown(cut).get("activeTurn")) == (IDLE, None)


def test_older_turns_come_before_the_known_ones_each_once() -> None:
    state = a_chat(turns=[a_turn("b"), a_turn("c")], turnsNextCursor="1")
    state = applied(state, "turnsLoaded", turns=[a_turn("a"), a_turn("b")], turnsNextCursor="2")
    assert ([turn.id for turn in state.turns], state.turns_next_cursor) == (["a", "b", "c"], "2")
    assert "turnsNextCursor" not in shown(applied(state, "turnsLoaded", turns=[]))


def test_an_attribution_is_a_part_like_any_other_and_gets_no_text() -> None:
    spot = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
    source = {"id": "s", "title": "Page", "location": {"kind": "page", "startPage": 1, "endPage": 2}}
    spans = [{"range": spot, "sourceIds": ["s"]}]
    part = {"kind": "attribution", "id": "x", "targetPartId": "p", "sources": [source], "spans": spans}
    state = applied(in_turn(TEXT), "responsePart", turnId="t", part=part)
    assert shown(state)["activeTurn"]["responseParts"] == [TEXT, part]
    assert applied(state, "delta", turnId="t", partId="x", content="!") is state


# Tool calls.

ACTIONS: dict[str, dict[str, Any]] = {
    "toolCallDelta": {"content": "x"},
    "toolCallReady": {"invocationMessage": "Runs"},
    "toolCallConfirmed": {"approved": True, "confirmed": "user-action"},
    "toolCallContentChanged": {"content": []},
    "toolCallAuthRequired": {"auth": {"reason": "insufficientScope"}},
    "toolCallAuthResolved": {},
    "toolCallComplete": {"result": FAILED},
    "toolCallResultConfirmed": {"approved": True},
}
BY_MCP = {**RUNNING, "contributor": MCP}
STATES = {
    "streaming": STREAMING,
    "pending-confirmation": PENDING,
    "running": BY_MCP,
    "auth-required": {**BY_MCP, "status": "auth-required", "auth": {"reason": "x"}},
    "pending-result-confirmation": {**DONE, "status": "pending-result-confirmation"},
    "completed": DONE,
    "cancelled": {**KNOWN, "status": "cancelled", "reason": "denied"},
    "odd": {**KNOWN, "status": "odd", "more": 1},
}
MOVES = {
    ("streaming", "toolCallDelta"): "streaming",
    ("streaming", "toolCallReady"): "pending-confirmation",
    ("pending-confirmation", "toolCallReady"): "pending-confirmation",
    ("running", "toolCallReady"): "pending-confirmation",
    ("pending-confirmation", "toolCallConfirmed"): "running",
    ("running", "toolCallContentChanged"): "running",
    ("running", "toolCallAuthRequired"): "auth-required",
    ("auth-required", "toolCallAuthResolved"): "running",
    ("pending-confirmation", "toolCallComplete"): "completed",
    ("running", "toolCallComplete"): "completed",
    ("auth-required", "toolCallComplete"): "completed",
    ("pending-result-confirmation", "toolCallResultConfirmed"): "completed",
}


@pytest.mark.parametrize("name", ACTIONS)
@pytest.mark.parametrize("status", STATES)
def test_a_call_moves_as_the_table_says_and_no_other_way(status: str, name: str) -> None:
    asking = status in ("pending-confirmation", "pending-result-confirmation", "auth-required")
    before = with_call(STATES[status], ASKING if asking else BUSY)
    after = applied(before, name, **OF_THE_CALL, **ACTIONS[name])
    if (status, name) not in MOVES:
        assert after is before
    else:
        assert call_of(after)["status"] == MOVES[status, name]


@pytest.mark.parametrize("status", STATES)
def test_a_call_that_had_not_ended_is_skipped_with_its_turn(status: str) -> None:
    state = applied(with_call(STATES[status]), "turnComplete", turnId="t", duration=1)
    call = shown(state)["turns"][0]["responseParts"][0]["toolCall"]
    if status in ("completed", "cancelled"):
        assert call == STATES[status]
        return
    contributor = {"contributor": MCP} if "contributor" in STATES[status] else {}
    said = "" if status == "streaming" else "Runs"
    assert call == {**CALL, **contributor, "invocationMessage": said, "status": "cancelled", "reason": "skipped"}


def test_a_call_of_the_future_that_is_no_call_stays_as_it_is() -> None:
    part = tool({"status": "odd", "toolCallId": "c"})
    state = applied(in_turn(part), "turnComplete", turnId="t", duration=1)
    assert shown(state)["turns"][0]["responseParts"] == [part]


def test_a_call_of_the_future_is_in_nobodys_way() -> None:
    state = in_turn(tool(STATES["odd"]), TEXT)
    assert call_of(applied(state, "delta", turnId="t", partId="p", content="!")) == STATES["odd"]
    assert applied(state, "delta", turnId="t", partId="c", content="!") is state
    assert shown(chat.find_tool_call(state, "t", "c")) == STATES["odd"]


def test_the_chosen_option_is_the_whole_one_of_the_call() -> None:
    state = with_call({**PENDING, "options": OPTIONS}, ASKING)
    confirm = {"approved": True, "confirmed": "user-action"}
    chosen = applied(state, "toolCallConfirmed", **OF_THE_CALL, **confirm, selectedOptionId="o")
    assert call_of(chosen)["selectedOption"] == OPTIONS[0]
    unknown = applied(state, "toolCallConfirmed", **OF_THE_CALL, **confirm, selectedOptionId="z")
    assert "selectedOption" not in call_of(unknown)


def test_edited_input_takes_the_place_of_inline_input_only() -> None:
    edit = {"approved": True, "confirmed": "user-action", "editedToolInput": "new"}
    inline = with_call({**PENDING, "toolInput": "old"}, ASKING)
    assert call_of(applied(inline, "toolCallConfirmed", **OF_THE_CALL, **edit))["toolInput"] == "new"
    elsewhere = with_call({**PENDING, "toolInput": {"uri": "file:///i"}}, ASKING)
    assert call_of(applied(elsewhere, "toolCallConfirmed", **OF_THE_CALL, **edit))["toolInput"] == {"uri": "file:///i"}


def test_a_judges_word_comes_while_the_rest_of_the_question_stays() -> None:
    asked = {"confirmationTitle": "Sure?", "editable": True, "options": OPTIONS, "toolInput": "ls"}
    state = with_call({**PENDING, **asked, "riskAssessment": {"kind": "judge", "status": "loading"}}, ASKING)
    judged = {"kind": "judge", "status": "complete", "reason": "fine", "safety": 0.9}
    state = applied(state, "toolCallReady", **OF_THE_CALL, invocationMessage="Runs", riskAssessment=judged)
    assert call_of(state) == {**PENDING, **asked, "riskAssessment": judged}


def test_a_call_keeps_its_times() -> None:
    timed = {"confirmed": "not-needed", "startedAt": START}
    state = applied(with_call({**STREAMING, "contributor": MCP}), "toolCallReady", **OF_THE_CALL, **timed,
                    invocationMessage="Runs")  # fmt: skip
    state = applied(state, "toolCallAuthRequired", **OF_THE_CALL, auth={"reason": "insufficientScope"})
    state = applied(state, "toolCallAuthResolved", **OF_THE_CALL)
    assert call_of(state)["startedAt"] == START
    state = applied(
        state, "toolCallComplete", **OF_THE_CALL, result=RESULT, duration=7, requiresResultConfirmation=True
    )
    state = applied(state, "toolCallResultConfirmed", **OF_THE_CALL, approved=True)
    assert call_of(state) == {**DONE, "contributor": MCP, "startedAt": START, "duration": 7}


def test_a_call_that_is_confirmed_again_starts_when_the_confirmation_says() -> None:
    state = with_call({**RUNNING, "startedAt": START})
    state = applied(state, "toolCallReady", **OF_THE_CALL, invocationMessage="Runs")
    assert "startedAt" not in call_of(state)
    confirm = {"approved": True, "confirmed": "user-action", "startedAt": START}
    assert call_of(applied(state, "toolCallConfirmed", **OF_THE_CALL, **confirm))["startedAt"] == START


def test_a_result_is_laid_over_its_call_with_all_it_has() -> None:
    result = {**RESULT, "_meta": {"a": 1}, "toolName": "other", "status": "running", "future": [1], "toolInput": 5}
    call = call_of(applied(with_call({**RUNNING, "toolInput": "ls"}), "toolCallComplete", **OF_THE_CALL, result=result))
    assert call == {**DONE, "toolInput": "ls", "_meta": {"a": 1}, "toolName": "other", "future": [1]}


def test_only_a_failure_ends_a_call_that_waits_for_authority() -> None:
    content = [{"type": "text", "text": "half"}]
    state = with_call({**STATES["auth-required"], "content": content}, ASKING)
    assert applied(state, "toolCallComplete", **OF_THE_CALL, result=RESULT) is state
    ended = applied(state, "toolCallComplete", **OF_THE_CALL, result=FAILED, requiresResultConfirmation=True)
    assert call_of(ended) == {**BY_MCP, **FAILED, "status": "completed", "content": content}


def test_a_stray_action_on_a_call_makes_a_failed_chat_idle() -> None:
    state = a_chat(status=ERROR | ARCHIVED)
    assert applied(state, "toolCallComplete", **OF_THE_CALL, result=RESULT).status == IDLE | ARCHIVED
    assert applied(state, "toolCallDelta", **OF_THE_CALL, content="x") is state


# Questions.


def test_an_open_question_is_changed_in_its_place_and_keeps_its_answers() -> None:
    answers = {"q": {"state": "draft", "value": {"kind": "text", "value": "a"}}}
    state = in_turn({"kind": "inputRequest", "request": {"id": "r", "answers": answers}}, TEXT, status=ASKING | READ)
    state = applied(state, "inputRequested", request={"id": "r", "message": "again"})
    assert shown(state)["activeTurn"]["responseParts"] == [
        {"kind": "inputRequest", "request": {"id": "r", "message": "again", "answers": answers}},
        TEXT,
    ]
    assert state.status == ASKING


def test_a_closed_question_does_not_open_again() -> None:
    state = applied(in_turn(QUESTION, status=ASKING), "inputCompleted", requestId="r", response="decline")
    assert state.status == BUSY
    assert applied(state, "inputAnswerChanged", requestId="r", questionId="q") is state
    state = applied(state, "inputRequested", request={"id": "r"})
    assert shown(state)["activeTurn"]["responseParts"] == [{**QUESTION, "response": "decline"}, QUESTION]


def test_answers_are_drafts_for_everybody_until_the_end() -> None:
    one, two = ({"state": "submitted", "value": {"kind": "text", "value": text}} for text in "ab")
    state = applied(in_turn(QUESTION), "inputAnswerChanged", requestId="r", questionId="q", answer=one)
    assert shown(chat.find_input_request(state, "r")) == {"id": "r", "answers": {"q": one}}
    assert shown(chat.find_input_request(applied(state, "inputAnswerChanged", requestId="r", questionId="q"), "r")) == {
        "id": "r"
    }
    state = applied(state, "inputCompleted", requestId="r", response="accept", answers={"p": two})
    part = shown(state)["activeTurn"]["responseParts"][0]
    assert part == {
        "kind": "inputRequest",
        "request": {"id": "r", "answers": {"q": one, "p": two}},
        "response": "accept",
    }


# Messages that wait.


def test_steering_messages_are_entries_of_their_own() -> None:
    state = applied(a_chat(), "steeringMessageSet", steeringMessage=waiting("a"))
    state = applied(state, "steeringMessageSet", steeringMessage=waiting("b"))
    state = applied(state, "steeringMessageSet", steeringMessage=waiting("a", "changed"))
    assert shown(state)["steeringMessages"] == [waiting("a", "changed"), waiting("b")]
    assert applied(state, "steeringMessageRemoved", id="z") is state
    state = applied(applied(state, "steeringMessageRemoved", id="a"), "steeringMessageRemoved", id="b")
    assert "steeringMessages" not in shown(state)


def test_the_slot_and_the_list_of_steering_do_not_know_each_other() -> None:
    state = a_chat(steeringMessage=waiting("a"), steeringMessages=[waiting("a")])
    assert shown(applied(state, "pendingMessageRemoved", kind="steering", id="a"))["steeringMessages"] == [waiting("a")]
    assert shown(applied(state, "steeringMessageRemoved", id="a"))["steeringMessage"] == waiting("a")


def test_a_turn_takes_its_message_from_wherever_it_waits() -> None:
    state = a_chat(
        steeringMessage=waiting("a"), steeringMessages=[waiting("a"), waiting("b")], queuedMessages=[waiting("a")]
    )
    began = {"turnId": "t", "startedAt": START, "message": HELLO}
    after = shown(applied(state, "turnStarted", **began, queuedMessageId="a"))
    assert after["steeringMessages"] == [waiting("b")]
    assert not {"steeringMessage", "queuedMessages"} & after.keys()
    assert shown(applied(state, "turnStarted", **began))["queuedMessages"] == [waiting("a")]


def test_the_queue_is_put_in_the_named_order() -> None:
    state = a_chat(queuedMessages=[waiting(id) for id in "abcd"])
    after = applied(state, "queuedMessagesReordered", order=["d", "z", "b", "d"])
    assert [message["id"] for message in shown(after)["queuedMessages"]] == ["d", "b", "a", "c"]
    assert applied(a_chat(), "queuedMessagesReordered", order=["a"]) == a_chat()


def test_a_draft_is_not_cleared_by_sending() -> None:
    state = applied(a_chat(), "draftChanged", draft=HELLO)
    state = applied(state, "turnStarted", turnId="t", startedAt=START, message=HELLO)
    assert shown(state)["draft"] == HELLO
    assert "draft" not in shown(applied(state, "draftChanged"))


# Flags and lists.


@pytest.mark.parametrize(
    ("name", "field", "flag"), [("isReadChanged", "isRead", READ), ("isArchivedChanged", "isArchived", ARCHIVED)]
)
def test_a_mark_is_one_bit(name: str, field: str, flag: int) -> None:
    other = READ + ARCHIVED - flag
    marked = applied(a_chat(status=ASKING | other), name, **{field: True})
    assert marked.status == ASKING | other | flag
    assert applied(marked, name, **{field: False}).status == ASKING | other


SHELL = {"kind": "shell", "id": "s", "label": "make", "startedAt": START, "command": "make", "_meta": {"a": 1}}
WORKER = {"kind": "subagent", "id": "w", "label": "find", "startedAt": START, "chat": "ahp-chat:/w"}
ODD = {"kind": "odd", "id": "o", "label": "?", "power": 1}


def test_background_work_is_listed_while_it_lives() -> None:
    state = a_chat()
    for work in (SHELL, WORKER, ODD, {**ODD, "id": "p"}, {**SHELL, "label": "make test"}):
        state = applied(state, "backgroundWorkSet", work=work)
    assert shown(state)["backgroundWork"] == [{**SHELL, "label": "make test"}, WORKER, ODD, {**ODD, "id": "p"}]
    assert applied(state, "backgroundWorkRemoved", id="z") is state
    for id in "sowp":
        state = applied(state, "backgroundWorkRemoved", id=id)
    assert shown(state)["backgroundWork"] == []


def test_background_work_outlives_its_turn() -> None:
    state = applied(in_turn(backgroundWork=[SHELL]), "turnCancelled", turnId="t", duration=1)
    assert shown(applied(state, "truncated"))["backgroundWork"] == [SHELL]


@pytest.mark.parametrize(
    ("name", "field", "item"),
    [
        ("changesetsChanged", "changesets", {"label": "Chat", "uriTemplate": "ahp-changeset:/a", "files": 1, "odd": 1}),
        (
            "canvasesChanged",
            "canvases",
            {"instanceId": "i", "extensionId": "e", "canvasId": "c", "revision": 1, "availability": "ready"},
        ),
    ],
)
def test_a_catalogue_is_replaced_whole_or_gone(name: str, field: str, item: dict[str, Any]) -> None:
    state = applied(a_chat(), name, **{field: [item]})
    assert shown(state)[field] == [item]
    assert shown(applied(state, name, **{field: []}))[field] == []
    assert field not in shown(applied(state, name))
    assert not hasattr(chat.summary_of(state), field)


def test_whether_it_may_be_moved_is_in_the_summary_too() -> None:
    state = applied(a_chat(), "movableChanged", movable=True)
    assert shown(chat.summary_of(state))["movable"] is True


def test_a_folder_narrows_a_chat_that_had_them_all() -> None:
    state = applied(a_chat(), "workingDirectorySet", directory="file:///a")
    assert state.working_directories == ["file:///a"]
    assert applied(state, "workingDirectorySet", directory="file:///a") is state
    assert applied(state, "workingDirectoryRemoved", directory="file:///a").working_directories == []
    assert applied(a_chat(), "workingDirectoryRemoved", directory="file:///a") == a_chat()


# What is not known.


def test_an_action_of_the_future_changes_nothing() -> None:
    state = in_turn(TEXT)
    assert applied(state, "sparkled", turnId="t") is state


def test_an_action_with_fields_of_the_future_does_what_it_always_did() -> None:
    state = in_turn(TEXT)
    wider = action("delta", turnId="t", partId="p", content="!", later=True)
    assert shown(chat.apply(state, wider))["activeTurn"]["responseParts"] == [{**TEXT, "content": "a!"}]


def test_the_summary_is_the_states_own_fields() -> None:
    fields = {
        "description": "why",
        "activity": "thinking",
        "interactivity": "read-only",
        "origin": {"kind": "odd", "x": 1},
    }
    state = in_turn(TEXT, **fields, changes={"files": 1})
    summary = shown(chat.summary_of(state))
    assert summary == {
        "resource": "ahp-chat:/a", "title": "", "status": BUSY, "modifiedAt": START, **fields, "changes": {"files": 1}
    }  # fmt: skip


@pytest.mark.parametrize(
    ("part", "waits"),
    [
        (QUESTION, True),
        ({**QUESTION, "response": "accept"}, False),
        *((tool(call), status.startswith(("pending", "auth"))) for status, call in STATES.items()),
    ],
)
def test_what_waits_for_a_person(part: dict[str, Any], waits: bool) -> None:
    assert chat.needs_input(in_turn(part)) is waits
    assert chat.needs_input(a_chat(turns=[a_turn("t", part)])) is False


def test_a_call_is_found_in_the_turn_that_is_named() -> None:
    state = with_call(RUNNING)
    part = wire.present(state.active_turn, None).response_parts[0]
    assert isinstance(part, ToolCallPart)
    assert chat.find_tool_call(state, "t", "c") is part.tool_call
    assert chat.find_tool_call(state, "u", "c") is None
    assert chat.find_tool_call(state, "t", "d") is None
