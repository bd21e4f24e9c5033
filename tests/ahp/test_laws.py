"""The reducers' own laws, over random logs of plausible actions on all channels of a session at once."""

import copy
import json
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ahp import actions, reducers, wire
from ahp.state.chat import ChatState
from ahp.state.common import SessionStatus
from tests.ahp.plausible import INITIAL, KINDS, JSONObject, actions_of, ids

kinds = st.sampled_from(KINDS)
names = st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters='"\\'), max_size=4)
some_actions = kinds.flatmap(
    lambda kind: st.lists(actions_of(kind), min_size=1, max_size=8).map(
        lambda given: [(kind, action) for action in given]
    )
)
some_action = kinds.flatmap(lambda kind: st.tuples(st.just(kind), actions_of(kind)))

OF_A_TURN = ("delta", "reasoning", "usage", "turnComplete", "turnCancelled", "responsePart", "error", "turnResume")


def start(kind: str) -> Any:
    return wire.convert(copy.deepcopy(INITIAL[kind]), reducers.STATES[kind])


def applied(kind: str, state: Any, action: JSONObject) -> Any:
    return reducers.reduce(kind, state, actions.decode(kind, json.dumps(action)))


def as_json(state: Any) -> Any:
    return json.loads(wire.encode(state))


class Channels(RuleBasedStateMachine):
    """`live` is what the actions of `log` made of each channel; a snapshot is its JSON and how long the log was."""

    @initialize()
    def begin(self) -> None:
        self.live = {kind: start(kind) for kind in KINDS}
        self.log: list[tuple[str, JSONObject]] = []
        self.snapshots: list[tuple[str, bytes, int]] = []

    @rule(given=some_actions)
    def actions_come(self, given: list[tuple[str, JSONObject]]) -> None:
        for kind, action in given:
            before = self.live[kind]
            was = wire.encode(before)
            self.live[kind] = applied(kind, before, action)
            self.log.append((kind, action))
            assert wire.encode(before) == was, "a held state must stay as it was"

    @rule(kind=kinds, name=st.text(min_size=1, max_size=5), extra=st.dictionaries(names, st.integers()))
    def an_unknown_action_changes_nothing_and_is_kept_whole(self, kind: str, name: str, extra: dict[str, int]) -> None:
        raw = {**extra, "type": f"{kind}/future{name}"}
        action = actions.decode(kind, json.dumps(raw))
        assert reducers.reduce(kind, self.live[kind], action) is self.live[kind]
        assert as_json(action) == raw

    @rule(given=some_action, extra=st.dictionaries(names.map("y".__add__), st.integers(), min_size=1))
    def an_unknown_field_of_an_action_is_kept_and_does_not_matter(
        self, given: tuple[str, JSONObject], extra: dict[str, int]
    ) -> None:
        kind, action = given
        wider = actions.decode(kind, json.dumps({**action, **extra}))
        assert as_json(wider) == {**action, **extra}
        assert as_json(reducers.reduce(kind, self.live[kind], wider)) == as_json(applied(kind, self.live[kind], action))

    @rule(name=st.sampled_from(OF_A_TURN), data=st.data())
    def an_unknown_turn_changes_nothing(self, name: str, data: st.DataObject) -> None:
        action = data.draw(actions_of("chat").filter(lambda action: action["type"] == f"chat/{name}"))
        self.changes_nothing({**action, "turnId": "never-was"})

    @rule(turn=ids["t"], data=st.data())
    def an_unknown_tool_call_changes_nothing(self, turn: str, data: st.DataObject) -> None:
        about_a_call = actions_of("chat").filter(lambda a: "toolCallId" in a and a["type"] != "chat/toolCallStart")
        action = data.draw(about_a_call)
        self.changes_nothing({**action, "turnId": turn, "toolCallId": "never-was"})

    def changes_nothing(self, action: JSONObject) -> None:
        """Nothing but, for a tool call's action, the activity of a chat whose turn failed (digest 3, traps 3)."""
        before: ChatState = self.live["chat"]
        after: ChatState = applied("chat", before, action)
        if before.status & SessionStatus.ACTIVITY == SessionStatus.ERROR:
            assert after.status in (before.status, before.status & ~SessionStatus.ACTIVITY | SessionStatus.IDLE)
            after = wire.replace(after, status=before.status)
        assert after == before

    @rule(kind=kinds)
    def take_a_snapshot(self, kind: str) -> None:
        self.snapshots.append((kind, wire.encode(self.live[kind]), len(self.log)))

    @rule()
    def two_replays_of_the_log_are_the_live_state(self) -> None:
        for _ in range(2):
            replayed = {kind: start(kind) for kind in KINDS}
            for kind, action in self.log:
                replayed[kind] = applied(kind, replayed[kind], action)
            assert replayed == self.live
            assert [*map(as_json, replayed.values())] == [*map(as_json, self.live.values())]

    @rule()
    def a_snapshot_and_the_later_actions_are_the_live_state(self) -> None:
        for kind, snapshot, length in self.snapshots:
            state = wire.decode(snapshot, reducers.STATES[kind])
            for of, action in self.log[length:]:
                state = applied(kind, state, action) if of == kind else state
            assert as_json(state) == as_json(self.live[kind])

    @invariant()
    def a_state_is_what_its_json_says(self) -> None:
        for kind, state in getattr(self, "live", {}).items():
            encoded = wire.encode(state)
            assert wire.encode(wire.decode(encoded, reducers.STATES[kind])) == encoded

    @invariant()
    def fields_from_the_future_stay(self) -> None:
        if hasattr(self, "live"):
            assert as_json(self.live["session"])["futureField"] == {"kept": [1, None]}

    def teardown(self) -> None:
        if hasattr(self, "live"):
            self.two_replays_of_the_log_are_the_live_state()
            self.a_snapshot_and_the_later_actions_are_the_live_state()


Channels.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestLaws = Channels.TestCase


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "\x00"])
def test_a_field_name_that_cannot_be_kept_is_refused_and_not_dropped(name: str) -> None:
    with pytest.raises(wire.ValidationError, match="in its name"):
        actions.decode("chat", json.dumps({"type": "chat/activityChanged", name: 1}))


NEW = {"xFuture": {"n": [1, None]}}
USER = {"text": "hi", "origin": {"kind": "user", **NEW}, **NEW}
CHAT = {"resource": "ahp-chat:/a", "title": "", "status": 1, "modifiedAt": "2026-01-01T00:00:00.000Z"}
STARTED = {"type": "chat/turnStarted", "turnId": "t", "startedAt": CHAT["modifiedAt"], "message": USER}


@pytest.mark.parametrize(
    ("log", "times"),
    [
        ([{"type": "root/agentsChanged", "agents": [{"provider": "e", "displayName": "", "models": [], **NEW}]}], 1),
        ([{"type": "session/chatAdded", "summary": {**CHAT, **NEW}}], 1),
        (
            [
                {"type": "session/chatAdded", "summary": {**CHAT, "origin": {"kind": "odd", **NEW}, "xOld": NEW}},
                {"type": "session/chatUpdated", "chat": "ahp-chat:/a", "changes": {"title": "b", **NEW}},
            ],
            3,
        ),
        (
            [
                {
                    "type": "session/activeClientSet",
                    "activeClient": {"clientId": "c", "tools": [{"name": "x", **NEW}], **NEW},
                }
            ],
            2,
        ),
        ([{"type": "session/inputNeededSet", "request": {"kind": "odd", "id": "r", "chat": "ahp-chat:/a", **NEW}}], 1),
        (
            [
                {
                    "type": "session/customizationUpdated",
                    "customization": {"type": "odd", "id": "u", "name": "", **NEW},
                },
                {
                    "type": "session/customizationToggled",
                    "id": "u",
                    "enablement": [{"kind": "session", "enabled": False}],
                },
            ],
            1,
        ),
        ([STARTED], 2),
        ([STARTED, {"type": "chat/turnComplete", "turnId": "t", "duration": 1}], 2),
        ([STARTED, {"type": "chat/responsePart", "turnId": "t", "part": {"kind": "odd", **NEW}}], 3),
        (
            [
                STARTED,
                {
                    "type": "chat/responsePart",
                    "turnId": "t",
                    "part": {"kind": "markdown", "id": "p", "content": "a", **NEW},
                },
                {"type": "chat/delta", "turnId": "t", "partId": "p", "content": "b"},
            ],
            3,
        ),
        (
            [
                {
                    "type": "annotations/set",
                    "annotation": {"id": "a", "resource": "f:/a", "resolved": False, "entries": [], **NEW},
                }
            ],
            1,
        ),
        ([{"type": "changeset/fileSet", "file": {"id": "f", "edit": {"diff": NEW, **NEW}, **NEW}}], 3),
    ],
)
def test_a_field_from_the_future_inside_an_action_comes_into_the_state(log: list[JSONObject], times: int) -> None:
    kind = str(actions.channel_of(log[0]["type"]))
    state = start(kind)
    for action in log:
        state = applied(kind, state, action)
    assert json.dumps(as_json(state)).count('"xFuture": {"n": [1, null]}') == times
