"""The reference host's own results: every case gives the expected state, here and through `python -m ahp.replay`."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from ahp import actions, reducers, wire
from tests.conformance.data import path_of

CASES = path_of("reducers.jsonl")


def cases() -> Iterator[dict[str, object]]:
    with CASES.open("rb") as lines:
        yield from map(json.loads, lines)


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case["id"])
def test_the_actions_give_the_reference_hosts_state(case: dict[str, object]) -> None:
    kind = case["reducer"]
    state = wire.convert(case["initial"], reducers.STATES[kind])
    for action in case["actions"]:
        state = reducers.reduce(kind, state, actions.decode(kind, json.dumps(action)))
    assert wire.to_builtins(state) == case["expected"]
    assert json.loads(wire.encode(state)) == case["expected"]


def test_the_replay_tool_prints_every_state() -> None:
    with CASES.open("rb") as lines:
        done = subprocess.run([sys.executable, "-m", "ahp.replay"], stdin=lines, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    printed = list(map(json.loads, done.stdout.splitlines()))
    assert printed == [{"id": case["id"], "state": case["expected"]} for case in cases()]
