"""What a host works out over a session's chats: status, summary, and what waits in them."""

from typing import Any

from ahp import reducers, wire
from ahp.actions import UNIONS
from ahp.reducers import annotations, root, session, terminal
from ahp.state.chat import ChatState, ChatSummary
from ahp.state.common import ChangesSummary, SessionStatus
from ahp.state.customizations import Customization
from ahp.state.session import SessionState
from ahp.state.terminal import TerminalState

IDLE, ERROR, BUSY, ASKS = (
    SessionStatus.IDLE,
    SessionStatus.ERROR,
    SessionStatus.IN_PROGRESS,
    SessionStatus.INPUT_NEEDED,
)
READ, ARCHIVED = SessionStatus.IS_READ, SessionStatus.IS_ARCHIVED
DAY = "2026-01-0{}T00:00:00.000Z"


def chat(name: str, status: int, day: int = 1, **fields: Any) -> ChatSummary:
    return ChatSummary(resource=f"ahp-chat:/{name}", title=name, status=status, modified_at=DAY.format(day), **fields)


def session_of(*chats: ChatSummary, **fields: Any) -> SessionState:
    known = {"provider": "echo", "title": "t", "status": IDLE, "lifecycle": "ready", "active_clients": []}
    return SessionState(**{**known, **fields}, chats=list(chats))


# Aggregation.


def test_the_default_chat_gives_the_activity_and_the_session_keeps_its_flags() -> None:
    chats = [chat("a", BUSY | READ, 1), chat("b", IDLE, 2)]
    assert session.aggregate_status(IDLE | ARCHIVED, chats, "ahp-chat:/a") == BUSY | ARCHIVED


def test_without_a_default_the_newest_chat_gives_the_activity() -> None:
    assert session.aggregate_status(IDLE, [chat("a", IDLE, 1), chat("b", BUSY, 3), chat("c", IDLE, 2)]) == BUSY


def test_a_chat_that_asks_or_has_failed_comes_before_the_default() -> None:
    default = chat("a", BUSY)
    assert session.aggregate_status(IDLE, [default, chat("b", ERROR)], "ahp-chat:/a") == ERROR
    assert session.aggregate_status(IDLE, [default, chat("b", ASKS), chat("c", ERROR)], "ahp-chat:/a") == ASKS
    assert session.aggregate_status(READ, []) == IDLE | READ


def test_the_activity_text_is_of_the_chat_that_drives_the_status_and_counts_are_summed() -> None:
    state = session_of(
        chat("a", BUSY, activity="thinking", changes=ChangesSummary(additions=2, files=1)),
        chat("b", ASKS, activity="waiting", changes=ChangesSummary(additions=3, deletions=1)),
        default_chat="ahp-chat:/a",
    )
    after = session.aggregate(state)
    assert (after.status, after.activity) == (ASKS, "waiting")
    assert after.changes == ChangesSummary(additions=5, deletions=1, files=1)
    assert session.aggregate(after) is after


def test_a_session_without_chats_is_as_it_is() -> None:
    state = session_of(status=ERROR)
    assert session.aggregate(state) is state


# Summaries.


def test_a_summary_has_the_shared_fields_and_a_small_catalogue_of_chats() -> None:
    state = session_of(chat("a", IDLE | ARCHIVED), working_directories=["file:///w"], meta={"big": 1})
    summary = wire.to_builtins(session.summary_of(state, "ahp-session:/s", DAY.format(1), DAY.format(2)))
    assert summary == {
        "resource": "ahp-session:/s",
        "provider": "echo",
        "title": "t",
        "status": IDLE,
        "createdAt": DAY.format(1),
        "modifiedAt": DAY.format(2),
        "workingDirectories": ["file:///w"],
        "chats": [{"resource": "ahp-chat:/a", "title": "a", "status": IDLE | ARCHIVED, "archived": True}],
    }


def test_only_what_changed_is_told_and_what_is_gone_is_told_empty() -> None:
    before = session.summary_of(session_of(activity="busy"), "ahp-session:/s", DAY.format(1), DAY.format(1))
    after = session.summary_of(session_of(title="new"), "ahp-session:/s", DAY.format(1), DAY.format(2))
    assert root.summary_changes(before, after) == {"title": "new", "modifiedAt": DAY.format(2), "activity": ""}
    assert root.summary_changes(after, after) == {}


def test_a_chats_entry_is_updated_and_told_anew_where_a_field_is_gone() -> None:
    before, busy = chat("a", IDLE), chat("a", BUSY, activity="thinking")
    updated = session.chat_change(before, busy)
    cleared = session.chat_change(busy, before)
    assert wire.to_builtins(updated) == {
        "type": "session/chatUpdated",
        "chat": "ahp-chat:/a",
        "changes": {"status": BUSY, "activity": "thinking"},
    }
    assert wire.to_builtins(cleared)["type"] == "session/chatAdded"
    assert session.chat_change(busy, busy) is None
    assert wire.tag_of(session.chat_change(None, busy)) == "session/chatAdded"
    state = session_of(before)
    for action, expected in ((updated, busy), (cleared, before)):
        state = session.apply(state, action)
        assert state.chats == [expected]


def test_annotations_are_counted() -> None:
    note = {"id": "a", "resource": "file:///a", "resolved": False, "entries": [{"id": "e", "text": ""}] * 2}
    state = wire.convert({"annotations": [note, {**note, "entries": []}]}, reducers.STATES["annotations"])
    assert wire.to_builtins(annotations.summary_of(state, "ahp-session:/s/annotations")) == {
        "resource": "ahp-session:/s/annotations",
        "annotationCount": 2,
        "entryCount": 2,
    }


# What waits.


def call(id: str, status: str, **fields: Any) -> dict[str, Any]:
    known = {"toolCallId": id, "toolName": "run", "displayName": "Run", "status": status, "invocationMessage": ""}
    return {"kind": "toolCall", "toolCall": {**known, **fields}}


def test_what_waits_in_a_chat_is_listed_in_the_order_of_the_reply() -> None:
    client = {"kind": "client", "clientId": "me"}
    auth = {"reason": "required", "resource": {"resource": "https://x"}}
    parts = [
        {"kind": "markdown", "id": "m", "content": ""},
        {"kind": "inputRequest", "request": {"id": "q1"}},
        {"kind": "inputRequest", "request": {"id": "q2"}, "response": "accept"},
        call("c1", "pending-confirmation"),
        call("c2", "running", confirmed="not-needed", contributor=client),
        call("c3", "running", confirmed="not-needed"),
        call("c4", "auth-required", confirmed="not-needed", auth=auth),
        call("c5", "fromTheFuture"),
        {"kind": "fromTheFuture"},
    ]
    state = wire.convert(
        {
            "resource": "ahp-chat:/a",
            "title": "",
            "status": ASKS,
            "modifiedAt": DAY.format(1),
            "turns": [],
            "activeTurn": {
                "id": "t",
                "startedAt": DAY.format(1),
                "message": {"text": "", "origin": {"kind": "user"}},
                "responseParts": parts,
            },
        },
        ChatState,
    )
    waiting = [wire.to_builtins(request) for request in session.input_requests("ahp-chat:/a", state)]
    assert [(request["kind"], request["id"]) for request in waiting] == [
        ("chatInput", "ahp-chat:/a#q1"),
        ("toolConfirmation", "ahp-chat:/a#c1"),
        ("toolClientExecution", "ahp-chat:/a#c2"),
        ("toolAuthentication", "ahp-chat:/a#c4"),
    ]
    assert waiting[2] == {
        "kind": "toolClientExecution",
        "id": "ahp-chat:/a#c2",
        "chat": "ahp-chat:/a",
        "turnId": "t",
        "clientId": "me",
        "toolCall": parts[4]["toolCall"],
    }
    assert session.input_requests("ahp-chat:/a", wire.replace(state, active_turn=wire.UNSET)) == []


# Reducers that no case of the reference covers.


def test_chats_are_reordered_by_a_list_of_all_of_them() -> None:
    state = session_of(chat("a", IDLE), chat("b", IDLE))
    reordered = wire.convert(
        {"type": "session/chatsReordered", "chats": ["ahp-chat:/b", "ahp-chat:/a"]}, UNIONS["session"]
    )
    assert [one.title for one in session.apply(state, reordered).chats] == ["b", "a"]
    for chats in (["ahp-chat:/b"], ["ahp-chat:/b", "ahp-chat:/b"], ["ahp-chat:/b", "ahp-chat:/z"]):
        assert session.apply(state, wire.replace(reordered, chats=chats)) is state


def test_a_blocking_server_is_sent_to_the_background_once() -> None:
    server = {"type": "mcpServer", "id": "m", "name": "m", "state": {"kind": "starting", "blocking": True}}
    state = wire.replace(session_of(), customizations=wire.convert([server], list[Customization]))
    request = wire.convert({"type": "session/mcpServerBackgroundRequested", "id": "m"}, UNIONS["session"])
    after = session.apply(state, request)
    assert wire.to_builtins(after)["customizations"] == [{**server, "state": {"kind": "starting", "blocking": False}}]
    assert session.apply(after, request) is after


def terminal_after(*given: dict[str, Any]) -> dict[str, Any]:
    state = TerminalState(title="", content=[])
    for action in given:
        state = terminal.apply(state, wire.convert(action, UNIONS["terminal"]))
    built: dict[str, Any] = wire.to_builtins(state)
    return built


def test_terminal_output_goes_to_the_running_command_else_to_loose_output() -> None:
    def data(text: str) -> dict[str, Any]:
        return {"type": "terminal/data", "data": text}

    ran = {"type": "terminal/commandExecuted", "commandId": "1", "commandLine": "ls", "timestamp": 5}
    done = {"type": "terminal/commandFinished", "commandId": "1", "exitCode": 0, "durationMs": 4}
    after = terminal_after(data("$ "), data("l"), ran, data("a\n"), data("b\n"), done, data("$ "))
    assert after["content"] == [
        {"type": "unclassified", "value": "$ l"},
        {
            "type": "command",
            "commandId": "1",
            "commandLine": "ls",
            "output": "a\nb\n",
            "timestamp": 5,
            "isComplete": True,
            "exitCode": 0,
            "durationMs": 4,
        },
        {"type": "unclassified", "value": "$ "},
    ]
    assert after["supportsCommandDetection"] is True


def test_a_terminal_that_was_killed_exits_without_a_code() -> None:
    assert terminal_after({"type": "terminal/exited"})["lifecycle"] == {"status": "exited"}
    assert terminal_after({"type": "terminal/exited", "exitCode": 3})["lifecycle"] == {
        "status": "exited",
        "exitCode": 3,
    }
    assert terminal_after({"type": "terminal/input", "data": "x"}) == {"title": "", "content": []}
