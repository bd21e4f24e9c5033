"""What a host refuses of a chat's clients, and with which sentence."""

from typing import Any

import pytest

from ahp.actions import CLIENT_DISPATCHABLE
from ahp.reducers.chat import apply
from ahp.reducers.chat_rules import refusal
from ahp.state.chat import ChatState
from tests.ahp.chatting import (
    DONE,
    FAILED,
    FROM_AGENT,
    HELLO,
    MCP,
    MINE,
    PENDING,
    RESULT,
    RUNNING,
    START,
    STREAMING,
    a_chat,
    a_turn,
    action,
    in_turn,
    waiting,
    with_call,
)

OF_THE_CALL = {"turnId": "t", "toolCallId": "c"}
BEGIN = {"turnId": "t", "startedAt": START, "message": HELLO}
APPROVE = {**OF_THE_CALL, "approved": True, "confirmed": "user-action"}
DENY = {**OF_THE_CALL, "approved": False, "reason": "denied"}
RESUMABLE = {"kind": "error", "error": {"errorType": "x", "message": "no"}, "resumable": True}
FATAL = {"kind": "error", "error": {"errorType": "x", "message": "no"}}
BY_ME = {**RUNNING, "contributor": MINE}
AUTH = {**RUNNING, "contributor": MCP, "status": "auth-required", "auth": {"reason": "x"}}


def refused(state: ChatState, name: str, **fields: Any) -> str | None:
    return refusal(state, action(name, **fields), "me")


# Turns.


def test_a_turn_may_begin_in_a_chat_at_rest() -> None:
    assert refused(a_chat(turns=[a_turn("a")]), "turnStarted", **BEGIN) is None
    assert refused(a_chat(interactivity="full"), "turnStarted", **BEGIN) is None


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (in_turn(), "turn t is running already"),
        (a_chat(turns=[a_turn("t")]), "turn t has been already: a new turn needs an id of its own"),
        (a_chat(interactivity="read-only"), "this chat is read-only: it takes no messages"),
        (a_chat(interactivity="hidden"), "this chat is hidden: it takes no messages"),
    ],
)
def test_a_turn_begins_once_and_where_it_may(state: ChatState, reason: str) -> None:
    assert refused(state, "turnStarted", **BEGIN) == reason


def test_one_turn_runs_at_a_time() -> None:
    assert refused(in_turn(), "turnStarted", **{**BEGIN, "turnId": "u"}) == (
        "turn t is running: cancel it, or queue the message (chat/pendingMessageSet)"
    )


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("turnStarted", {**BEGIN, "message": FROM_AGENT}),
        ("pendingMessageSet", {"kind": "queued", "id": "a", "message": FROM_AGENT}),
        ("pendingMessageSet", {"kind": "steering", "id": "a", "message": FROM_AGENT}),
        ("steeringMessageSet", {"steeringMessage": {"id": "a", "message": FROM_AGENT}}),
        ("draftChanged", {"draft": FROM_AGENT}),
    ],
)
def test_a_client_speaks_for_its_user_only(name: str, fields: dict[str, Any]) -> None:
    assert refused(a_chat(), name, **fields) == ("message.origin.kind is agent: a client may author user messages only")


def test_the_turn_that_runs_is_the_one_to_cancel() -> None:
    assert refused(in_turn(), "turnCancelled", turnId="t", duration=1) is None
    assert refused(in_turn(), "turnCancelled", turnId="u", duration=1) == "turn t is running, not u"
    assert refused(a_chat(), "turnCancelled", turnId="t", duration=1) == "no turn is running"


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (a_chat(turns=[a_turn("a"), a_turn("t", RESUMABLE, state="error")]), None),
        (in_turn(turns=[a_turn("t", RESUMABLE, state="error")]), "turn t is running"),
        (a_chat(), "t is not the latest turn"),
        (a_chat(turns=[a_turn("t", RESUMABLE, state="error"), a_turn("a")]), "t is not the latest turn"),
        (a_chat(turns=[a_turn("t", FATAL, state="error")]), "turn t did not end in a resumable error"),
        (a_chat(turns=[a_turn("t")]), "turn t did not end in a resumable error"),
    ],
)
def test_only_the_latest_turn_and_a_resumable_one_is_resumed(state: ChatState, reason: str | None) -> None:
    assert refused(state, "turnResume", turnId="t") == reason


def test_a_chat_is_cut_behind_a_turn_it_has() -> None:
    assert refused(a_chat(turns=[a_turn("a")]), "truncated", turnId="a") is None
    assert refused(a_chat(), "truncated") is None
    assert refused(in_turn(), "truncated", turnId="t") == "there is no completed turn t"


# Tool calls.


@pytest.mark.parametrize("answer", [APPROVE, DENY, {**DENY, "reason": "skipped"}])
def test_a_call_is_confirmed_while_it_waits_for_it(answer: dict[str, Any]) -> None:
    assert refused(with_call(PENDING), "toolCallConfirmed", **answer) is None
    assert refused(with_call(RUNNING), "toolCallConfirmed", **answer) == "call c is running, not pending-confirmation"
    assert refused(with_call(DONE), "toolCallConfirmed", **answer) == "call c is completed, not pending-confirmation"
    assert refused(in_turn(), "toolCallConfirmed", **answer) == "the running turn has no call c"
    assert refused(a_chat(), "toolCallConfirmed", **answer) == "the running turn has no call c"


def test_of_two_who_confirm_at_once_the_second_is_refused() -> None:
    state = apply(with_call(PENDING), action("toolCallConfirmed", **APPROVE))
    assert refused(state, "toolCallConfirmed", **DENY) == "call c is running, not pending-confirmation"


def test_input_is_edited_where_the_host_lets_it_be() -> None:
    edit = {**APPROVE, "editedToolInput": "new"}
    assert refused(with_call({**PENDING, "editable": True}), "toolCallConfirmed", **edit) is None
    assert refused(with_call(PENDING), "toolCallConfirmed", **edit) == "the input of call c is not editable"


def test_a_call_is_denied_for_a_reason_there_is() -> None:
    assert refused(with_call(PENDING), "toolCallConfirmed", **{**DENY, "reason": "result-denied"}) == (
        "reason is result-denied: denied or skipped is expected"
    )


def test_a_result_is_confirmed_while_it_waits_for_it() -> None:
    answer = {**OF_THE_CALL, "approved": True}
    assert (
        refused(with_call({**DONE, "status": "pending-result-confirmation"}), "toolCallResultConfirmed", **answer)
        is None
    )
    assert refused(with_call(DONE), "toolCallResultConfirmed", **answer) == (
        "call c is completed, not pending-result-confirmation"
    )


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (BY_ME, None),
        ({**PENDING, "contributor": MINE}, None),
        (
            {**RUNNING, "contributor": {"kind": "client", "clientId": "other"}},
            "call c is client other's to complete",
        ),
        (RUNNING, "call c is the host's to complete"),
        ({**RUNNING, "contributor": MCP}, "call c is the host's to complete"),
        ({**RUNNING, "contributor": {"kind": "odd", "clientId": "me"}}, "call c is the host's to complete"),
        ({**STREAMING, "contributor": MINE}, "call c is streaming, not running or pending-confirmation"),
        ({**DONE, "contributor": MINE}, "call c is completed, not running or pending-confirmation"),
        ({**BY_ME, "status": "odd"}, "call c is odd, not running or pending-confirmation"),
    ],
)
def test_a_call_is_its_clients_to_complete(call: dict[str, Any], reason: str | None) -> None:
    assert refused(with_call(call), "toolCallComplete", **OF_THE_CALL, result=RESULT) == reason


def test_any_client_may_fail_a_call_that_waits_for_authority() -> None:
    assert refused(with_call(AUTH), "toolCallComplete", **OF_THE_CALL, result=FAILED) is None
    assert refused(with_call(AUTH), "toolCallComplete", **OF_THE_CALL, result=RESULT) == (
        "a call that waits for authority can only be failed"
    )


def test_a_result_does_not_say_what_its_call_is() -> None:
    state = with_call(BY_ME)
    future = {**RESULT, "_meta": {}, "future": 1, "duration": 5}
    assert refused(state, "toolCallComplete", **OF_THE_CALL, result=future) is None
    other = {**RESULT, "toolCallId": "d", "status": "running"}
    assert refused(state, "toolCallComplete", **OF_THE_CALL, result=other) == (
        "result has status, toolCallId: what the call is is not its result's to say"
    )


def test_a_call_is_its_clients_to_show_while_it_runs() -> None:
    content = {**OF_THE_CALL, "content": []}
    assert refused(with_call(BY_ME), "toolCallContentChanged", **content) is None
    assert refused(with_call(RUNNING), "toolCallContentChanged", **content) == "call c is the host's to complete"
    assert refused(with_call({**PENDING, "contributor": MINE}), "toolCallContentChanged", **content) == (
        "call c is pending-confirmation, not running"
    )


# Questions.

QUESTIONS = [
    {"kind": "text", "id": "name", "message": "Name?", "required": True},
    {"kind": "integer", "id": "age", "message": "Age?"},
    {"kind": "multi-select", "id": "likes", "message": "Likes?", "options": []},
    {"kind": "odd", "id": "odd", "message": "?"},
]
NAMED = {"state": "submitted", "value": {"kind": "text", "value": "Ann"}}


def asked(response: str | None = None, **request: Any) -> ChatState:
    part = {"kind": "inputRequest", "request": {"id": "r", "questions": QUESTIONS, **request}}
    return in_turn(part if response is None else {**part, "response": response})


def answered(question: str, answer: Any, state: ChatState | None = None) -> str | None:
    return refused(state or asked(), "inputAnswerChanged", requestId="r", questionId=question, answer=answer)


def test_an_answer_fits_its_question() -> None:
    assert answered("name", NAMED) is None
    assert answered("name", {"state": "skipped"}) is None
    assert answered("age", {"state": "draft", "value": {"kind": "number", "value": 1.5}}) is None
    assert answered("likes", {"state": "draft", "value": {"kind": "selected-many", "value": []}}) is None
    assert answered("age", NAMED) == "question age is answered by number, not text"
    assert answered("nobody", NAMED) == "request r has no question nobody"


def test_an_answer_to_a_question_of_the_future_is_let_through() -> None:
    assert answered("odd", NAMED) is None
    assert answered("name", {"state": "odd", "more": 1}) is None
    assert answered("any", NAMED, asked(questions=[])) is None


@pytest.mark.parametrize("state", [a_chat(), in_turn(), asked("accept")])
def test_only_an_open_question_is_answered(state: ChatState) -> None:
    assert answered("name", NAMED, state) == "no question r waits"
    assert refused(state, "inputCompleted", requestId="r", response="cancel") == "no question r waits"


def test_an_answer_may_be_taken_back() -> None:
    assert refused(asked(), "inputAnswerChanged", requestId="r", questionId="name") is None


@pytest.mark.parametrize(
    ("drafts", "given", "reason"),
    [
        ({}, {"name": NAMED}, None),
        ({"name": NAMED}, {}, None),
        ({}, {}, "question name needs an answer before the request can be accepted"),
        (
            {"name": {**NAMED, "state": "draft"}},
            {},
            "question name needs an answer before the request can be accepted",
        ),
        (
            {"name": NAMED},
            {"name": {"state": "skipped"}},
            "question name needs an answer before the request can be accepted",
        ),
        ({"name": NAMED}, {"age": NAMED}, "question age is answered by number, not text"),
    ],
)
def test_a_request_is_accepted_with_every_required_answer(
    drafts: dict[str, Any], given: dict[str, Any], reason: str | None
) -> None:
    state = asked(answers=drafts)
    assert refused(state, "inputCompleted", requestId="r", response="accept", answers=given) == reason


@pytest.mark.parametrize("response", ["decline", "cancel"])
def test_a_request_is_declined_without_answers(response: str) -> None:
    assert refused(asked(), "inputCompleted", requestId="r", response=response) is None


def test_a_request_ends_in_one_of_three_ways() -> None:
    assert refused(asked(), "inputCompleted", requestId="r", response="maybe") == (
        "response is maybe: accept, decline or cancel is expected"
    )


# Messages that wait.


def test_a_message_waits_in_one_of_two_ways() -> None:
    for kind in ("queued", "steering"):
        assert refused(in_turn(), "pendingMessageSet", kind=kind, id="a", message=HELLO) is None
    assert refused(a_chat(), "pendingMessageSet", kind="odd", id="a", message=HELLO) == (
        "kind is odd: steering or queued is expected"
    )


def test_a_chat_that_takes_no_messages_takes_none_to_wait_either() -> None:
    state = a_chat(interactivity="read-only")
    reason = "this chat is read-only: it takes no messages"
    assert refused(state, "pendingMessageSet", kind="queued", id="a", message=HELLO) == reason
    assert refused(state, "steeringMessageSet", steeringMessage=waiting("a")) == reason


@pytest.mark.parametrize(("kind", "field"), [("queued", "queuedMessages"), ("steering", "steeringMessage")])
def test_only_a_message_that_waits_is_taken_back(kind: str, field: str) -> None:
    state = a_chat(**{field: [waiting("a")] if kind == "queued" else waiting("a")})
    assert refused(state, "pendingMessageRemoved", kind=kind, id="a") is None
    assert refused(state, "pendingMessageRemoved", kind=kind, id="b") == f"no {kind} message b waits"
    other = "queued" if kind == "steering" else "steering"
    assert refused(state, "pendingMessageRemoved", kind=other, id="a") == f"no {other} message a waits"


# The rest.


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("isReadChanged", {"isRead": True}),
        ("isArchivedChanged", {"isArchived": True}),
        ("draftChanged", {}),
        ("queuedMessagesReordered", {"order": ["z"]}),
        ("steeringMessageRemoved", {"id": "z"}),
        ("workingDirectorySet", {"directory": "file:///a"}),
    ],
)
def test_the_rest_is_anybodys_as_far_as_the_chat_knows(name: str, fields: dict[str, Any]) -> None:
    assert f"chat/{name}" in CLIENT_DISPATCHABLE
    assert refused(a_chat(), name, **fields) is None
