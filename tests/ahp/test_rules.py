"""What a host refuses of the clients of sessions, annotations and terminals, and with which sentence."""

from typing import Any

import pytest

from ahp import actions, reducers, wire
from ahp.reducers import annotations_rules, session_rules, terminal_rules
from ahp.state.root import AgentCapabilities, MultipleWorkingDirectories

ME = "me"
PEERS = AgentCapabilities(multiple_working_directories=MultipleWorkingDirectories())
FIXED = AgentCapabilities(multiple_working_directories=MultipleWorkingDirectories(immutable_primary=True))
SLOT = AgentCapabilities(
    multiple_working_directories=MultipleWorkingDirectories(immutable_primary=True, primary_replacement=True)
)

SESSION = {
    "provider": "echo",
    "title": "",
    "status": 1,
    "lifecycle": "ready",
    "activeClients": [],
    "chats": [],
    "workingDirectories": ["file:///w/a", "file:///w/b"],
    "config": {
        "schema": {
            "type": "object",
            "properties": {
                "mode": {"type": "string", "enum": ["ask", "auto"]},
                "branch": {"type": "string", "sessionMutable": False},
            },
        },
        "values": {"branch": "main"},
    },
    "customizations": [
        {"type": "plugin", "id": "p", "name": "p", "children": [{"type": "skill", "id": "s", "name": "s"}]},
        {"type": "mcpServer", "id": "m", "name": "m", "state": {"kind": "ready"}},
    ],
}


def action(**fields: Any) -> wire.Wire:
    kind = actions.channel_of(fields["type"])
    assert kind is not None
    return wire.convert(fields, actions.UNIONS[kind])


def session_refusal(capabilities: AgentCapabilities | None = None, without: str = "", **fields: Any) -> str | None:
    initial = {name: value for name, value in SESSION.items() if name != without}
    state = wire.convert(initial, reducers.STATES["session"])
    return session_rules.refusal(state, action(**fields), ME, capabilities=capabilities)


# Sessions.


def test_a_client_sets_and_removes_itself_only() -> None:
    mine, other = {"clientId": ME, "tools": []}, {"clientId": "other", "tools": []}
    assert session_refusal(type="session/activeClientSet", activeClient=mine) is None
    assert (
        session_refusal(type="session/activeClientSet", activeClient=other)
        == "activeClient.clientId is other: a client sets itself only (me)"
    )
    assert session_refusal(type="session/activeClientRemoved", clientId=ME) is None
    assert "a client removes itself only" in str(session_refusal(type="session/activeClientRemoved", clientId="other"))


def test_a_title_is_anybodys() -> None:
    assert session_refusal(type="session/titleChanged", title="new") is None


def test_settings_are_checked_against_the_schema() -> None:
    change = {"type": "session/configChanged"}
    assert session_refusal(**change, config={"mode": "auto"}) is None
    assert session_refusal(**change, config={"mode": "loud"}) == "mode is 'loud': one of 'ask', 'auto' is expected"
    assert session_refusal(**change, config={"branch": "dev", "speed": 1}) == (
        "speed is not a setting here: mode, branch; branch is fixed when the session is created: it stays 'main'"
    )
    assert session_refusal(**change, config={"mode": "ask"}, replace=True) == (
        "branch is fixed when the session is created: it stays 'main'"
    )
    assert session_refusal(without="config", **change, config={}) == "the session has no settings to change"


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "session/workingDirectorySet", "directory": "file:///w/c"},
        {"type": "session/workingDirectoryRemoved", "directory": "file:///w/b"},
        {"type": "session/workingDirectoryReplaced", "directory": "file:///w/b", "replacement": "file:///w/c"},
    ],
)
def test_folders_change_only_where_the_agent_takes_several(fields: dict[str, str]) -> None:
    assert "does not take several" in str(session_refusal(None, **fields))
    assert "does not take several" in str(session_refusal(AgentCapabilities(), **fields))
    assert [session_refusal(capabilities, **fields) for capabilities in (PEERS, FIXED, SLOT)] == [None, None, None]


def test_the_primary_folder_is_as_free_as_the_agent_says() -> None:
    remove = {"type": "session/workingDirectoryRemoved", "directory": "file:///w/a"}
    replace = {"type": "session/workingDirectoryReplaced", "directory": "file:///w/a", "replacement": "file:///w/c"}
    assert session_refusal(PEERS, **remove) is None
    assert session_refusal(PEERS, **replace) is None
    assert session_refusal(FIXED, **remove) == "file:///w/a is the primary folder: it is fixed"
    assert session_refusal(FIXED, **replace) == "file:///w/a is the primary folder: it is fixed"
    assert "it can be replaced (workingDirectoryReplaced), not removed" in str(session_refusal(SLOT, **remove))
    assert session_refusal(SLOT, **replace) is None


def test_a_folder_is_a_uri_and_a_replaced_one_is_there() -> None:
    assert "directory is '/w/c': a URI" in str(
        session_refusal(PEERS, type="session/workingDirectorySet", directory="/w/c")
    )
    swap = {"type": "session/workingDirectoryReplaced", "directory": "file:///x", "replacement": "file:///w/c"}
    assert session_refusal(PEERS, **swap) == "file:///x is not a folder of the session"


def test_customizations_are_toggled_by_an_id_there_is() -> None:
    toggle = {"type": "session/customizationToggled"}
    assert session_refusal(**toggle, id="s", enablement=[]) is None
    assert session_refusal(**toggle, id="x", enablement=[]) == "there is no customization x"
    assert "enablement is missing" in str(session_refusal(**toggle, id="s"))
    assert session_refusal(type="session/mcpServerStartRequested", id="m") is None
    assert session_refusal(type="session/mcpServerStopRequested", id="p") == "customization p is not an MCP server"
    assert session_refusal(type="session/mcpServerBackgroundRequested", id="x") == "there is no MCP server x"


# Annotations.

PLACE = {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 5}}
NOTE = {"id": "a", "resource": "file:///a", "turnId": "t", "resolved": False, "entries": [{"id": "e", "text": "hm"}]}


def annotation_refusal(**fields: Any) -> str | None:
    state = wire.convert({"annotations": [NOTE]}, reducers.STATES["annotations"])
    return annotations_rules.refusal(state, action(**fields), ME)


def test_an_annotation_has_at_least_one_entry() -> None:
    assert annotation_refusal(type="annotations/set", annotation={**NOTE, "id": "b", "range": PLACE}) is None
    assert annotation_refusal(type="annotations/set", annotation={**NOTE, "entries": []}) == (
        "annotation a has no entries: at least one is expected"
    )
    assert "remove the annotation" in str(
        annotation_refusal(type="annotations/entryRemoved", annotationId="a", entryId="e")
    )


def test_an_annotation_is_well_formed() -> None:
    twice = {**NOTE, "entries": [*NOTE["entries"], *NOTE["entries"]]}
    backwards = {"start": PLACE["end"], "end": PLACE["start"]}
    negative = {"start": {"line": -1, "character": 0}, "end": PLACE["end"]}
    assert "two entries of one id" in str(annotation_refusal(type="annotations/set", annotation=twice))
    assert "id is empty" in str(annotation_refusal(type="annotations/set", annotation={**NOTE, "id": ""}))
    assert annotation_refusal(type="annotations/updated", annotationId="a", range=backwards) == (
        "range ends before it starts"
    )
    assert "negative" in str(annotation_refusal(type="annotations/updated", annotationId="a", range=negative))


def test_what_is_said_of_an_annotation_that_is_gone_is_refused_and_removing_it_again_is_not() -> None:
    entry = {"id": "f", "text": "more"}
    assert annotation_refusal(type="annotations/entrySet", annotationId="a", entry=entry) is None
    assert annotation_refusal(type="annotations/entrySet", annotationId="z", entry=entry) == "there is no annotation z"
    assert annotation_refusal(type="annotations/updated", annotationId="z", resolved=True) == "there is no annotation z"
    assert annotation_refusal(type="annotations/removed", annotationId="z") is None
    assert annotation_refusal(type="annotations/entryRemoved", annotationId="z", entryId="e") is None


# Terminals.

MINE = {"kind": "client", "clientId": ME}
THEIRS = {"kind": "client", "clientId": "other"}
SESSIONS = {"kind": "session", "session": "ahp-session:/s"}


def terminal_refusal(held_by: dict[str, str] | None, status: str = "running", **fields: Any) -> str | None:
    initial: dict[str, Any] = {"title": "", "content": [], "lifecycle": {"status": status}}
    if held_by is not None:
        initial["claim"] = held_by
    state = wire.convert(initial, reducers.STATES["terminal"])
    return terminal_rules.refusal(state, action(**fields), ME)


@pytest.mark.parametrize(
    "fields", [{"type": "terminal/input", "data": "x"}, {"type": "terminal/claimed", "claim": MINE}]
)
def test_who_holds_a_terminal_types_and_hands_it_on(fields: dict[str, Any]) -> None:
    assert terminal_refusal(MINE, **fields) is None
    assert terminal_refusal(None, **fields) is None
    assert terminal_refusal(THEIRS, **fields) == "the terminal is held by client other, not by me"
    assert terminal_refusal(SESSIONS, **fields) == "the terminal is held by session ahp-session:/s, not by me"


def test_a_dead_terminal_takes_no_input() -> None:
    assert terminal_refusal(MINE, "exited", type="terminal/input", data="x") == "the terminal's process has exited"
    assert terminal_refusal(MINE, "exited", type="terminal/cleared") is None


def test_a_terminal_has_a_size() -> None:
    assert terminal_refusal(THEIRS, type="terminal/resized", cols=80, rows=24) is None
    assert terminal_refusal(MINE, type="terminal/resized", cols=0, rows=24) == (
        "0 by 24 is no size: columns and rows from 1 to 65535 are expected"
    )
    assert terminal_refusal(MINE, type="terminal/resized", cols=80, rows=70000) is not None
