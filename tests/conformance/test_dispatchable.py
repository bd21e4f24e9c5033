"""Who may dispatch what: the reference host's table, and what later versions add to it."""

import json

from ahp import actions, wire
from tests.conformance.data import path_of

TABLE: dict[str, bool] = json.loads(path_of("client-dispatchable.json").read_bytes())

LATER = {
    "session/chatsReordered": False,
    "session/mcpServerBackgroundRequested": True,
    "chat/backgroundWorkSet": False,
    "chat/backgroundWorkRemoved": False,
    "chat/movableChanged": False,
    "chat/changesetsChanged": False,
    "chat/canvasesChanged": False,
    "chat/isReadChanged": True,
    "chat/isArchivedChanged": True,
    "chat/steeringMessageSet": True,
    "chat/steeringMessageRemoved": True,
    "canvas/stateChanged": False,
}


def test_the_table_is_the_references() -> None:
    assert {name: name in actions.CLIENT_DISPATCHABLE for name in TABLE} == TABLE


def test_later_versions_add_these_and_no_others() -> None:
    assert set(actions.INTRODUCED_IN) - set(TABLE) == set(LATER)
    assert {name: name in actions.CLIENT_DISPATCHABLE for name in LATER} == LATER


def test_every_action_is_of_a_channel_that_reads_it() -> None:
    for name in actions.INTRODUCED_IN:
        kind = actions.channel_of(name)
        if name == "canvas/stateChanged":
            assert kind is None
            continue
        assert kind is not None
        members = getattr(actions.UNIONS[kind], "__args__", (actions.UNIONS[kind],))
        assert name in {member.__struct_config__.tag for member in members}


def test_every_action_a_channel_reads_is_in_the_table() -> None:
    for union in actions.UNIONS.values():
        tags = {member.__struct_config__.tag for member in union.__args__} - {""}
        assert tags <= set(actions.INTRODUCED_IN)


def test_an_unknown_action_of_a_channel_keeps_its_fields() -> None:
    for kind in actions.UNIONS:
        raw = b'{"type":"%s/fromTheFuture","x":{"y":[1,null]}}' % kind.encode()
        action = actions.decode(kind, raw)
        assert actions.type_of(action) == f"{kind}/fromTheFuture"
        assert json.loads(wire.encode(action)) == json.loads(raw)
