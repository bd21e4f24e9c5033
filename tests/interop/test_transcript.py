"""The exchanges that the reference host was asked for, asked of this host: the same shapes and codes, case by case.

`DIFFERENT` is every deliberate difference, with its reason and what is compared all the same. The conformance data
lies beside the checkout; without it there is nothing to compare with.
"""

import fcntl
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.daemon import running

Case = dict[str, Any]
Told = tuple[Any, ...]

SHARED = Path(__file__).parents[3] / "shared"
SCRIPT = SHARED / "tools" / "transcript.py"
REFERENCE = SHARED / "conformance" / "reference-transcript.jsonl"
WORDS = ("type", "kind", "status", "encoding", "resource", "protocolVersion", "name")
"""Fields whose value is a word of the protocol or given by the script, so it must be the same."""

pytestmark = pytest.mark.skipif(
    not (SCRIPT.exists() and REFERENCE.exists()), reason="the conformance data is not beside this checkout"
)


def shape(value: Any, key: str = "") -> Any:
    """What kind of thing is where: keys, types and words, without the values that differ from run to run."""
    if isinstance(value, dict):
        return {name: shape(inner, name) for name, inner in value.items() if name != "_meta"}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    if key in WORDS and isinstance(value, str) and not value.startswith("file:"):
        return value
    return value if value is None or isinstance(value, bool) else type(value).__name__


def told(message: Case) -> Told:
    """The method, the error's code, the action's type, the shape of result or params."""
    params = message.get("params", {})
    code = message.get("error", {}).get("code")
    return message.get("method"), code, params.get("action", {}).get("type"), shape(message.get("result", params))


def whole(case: Case) -> list[Told]:
    return [told(message) for message in case["got"]]


def answers(case: Case) -> list[Told]:
    """The answers alone, without what was announced meanwhile."""
    return [told(message) for message in case["got"] if "id" in message]


def actions(case: Case) -> list[str]:
    """Every kind of action once, in the order of the first of each; output comes in pieces as it pleases."""
    return list(dict.fromkeys(json.dumps(told(m)) for m in case["got"] if m.get("method") == "action"))


def results(case: Case) -> list[list[str]]:
    """The names of what a result has, where what is in it is this host's own."""
    return [sorted(message.get("result", {})) for message in case["got"] if "id" in message]


def entries(case: Case) -> list[str]:
    """The entries of a folder in one order."""
    return sorted(json.dumps(shape(entry)) for message in case["got"] for entry in message["result"]["entries"])


class Difference(NamedTuple):
    """`same`: what of the case is equal. `ours`: what this host says, as (method, code, type) of each message."""

    why: str
    same: Callable[[Case], Any] | None = None
    ours: list[tuple[str | None, int | None, str | None]] | None = None


ACTION = "action"
SAID = "x2y\r\n"
DIFFERENT = {
    "initialize": Difference("its own name, feature fields and agents", ours=[(None, None, None)]),
    "subscribe-root-again": Difference("its own agents and settings", same=results),
    "batch": Difference("JSON-RPC answers what is no request; the reference is silent", ours=[(None, -32600, None)]),
    "no-method": Difference("the same", ours=[(None, -32600, None)]),
    "listSessions-bad-cursor": Difference("an unknown cursor is InvalidParams", ours=[(None, -32602, None)]),
    "createSession-unknown-provider": Difference("the session of the case before is announced at once", same=answers),
    "action-host-only": Difference(
        "a refused action comes back with its reason; the reference is silent",
        ours=[(ACTION, None, "root/agentsChanged")],
    ),
    "action-unknown-type": Difference("the same", ours=[(ACTION, None, "root/fromTheFuture")]),
    "read-binary": Difference("bytes that are not UTF-8 must be base64", ours=[(None, None, None)]),
    "list": Difference("sorted by name; the reference lists as the disk does", same=entries),
    "resolve": Difference("contentType too", ours=[(None, None, None)]),
    "resolve-link": Difference("contentType too, and the URI is canonical: links are followed", ours=[(None,) * 3]),
    "watch-event": Difference("the new file is seen within the two seconds", same=answers),
    "terminal": Difference("the list is published when it changes, not twice the same", same=actions),
    "terminal-input": Difference("output comes in other portions", same=actions),
    "terminal-resize": Difference("output comes in other portions", same=actions),
    "terminal-exit": Difference("output comes in other portions", same=actions),
    "reconnect": Difference("the window holds what was missed: a replay", ours=[(None, None, None)]),
    "reconnect-gone-channel": Difference("the same, with the channel that is gone as missing", ours=[(None,) * 3]),
}


def spoken(path: Path) -> dict[str, Case]:
    cases = [json.loads(line) for line in path.read_text().splitlines()]
    return {case["case"]: case for case in cases}


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    """The script gives a shell a second or two a case: where the machine is too busy for that, it is run anew."""
    for _ in range(2):
        found = one_run(tmp_path_factory.mktemp("transcript"))
        if SAID in output(found, "terminal-input"):
            return found
    return one_run(tmp_path_factory.mktemp("transcript"))


def one_run(home: Path) -> dict[str, Case]:
    out = home / "ours.jsonl"
    # A home of its own: what a person's shell does when it starts may take longer than the script waits.
    with running(home / "home", env={"PS1": "$ ", "HOME": str(home)}) as daemon:
        # The script works in one folder of its own: two runs of it at a time would see each other's files.
        with Path(tempfile.gettempdir(), "ahp_transcript.lock").open("w") as alone, out.open("w") as file:
            fcntl.flock(alone, fcntl.LOCK_EX)
            subprocess.run([sys.executable, str(SCRIPT), daemon.url], stdout=file, check=True, timeout=240)
        assert daemon.process.poll() is None
    return spoken(out)


def output(found: dict[str, Case], name: str) -> str:
    """What a terminal case's actions showed."""
    seen = [message["params"]["action"] for message in found[name]["got"] if message.get("method") == ACTION]
    return "".join(action["data"] for action in seen if action["type"] == "terminal/data")


def cases() -> list[str]:
    return list(spoken(REFERENCE)) if REFERENCE.exists() else []


@pytest.mark.parametrize("name", cases())
def test_the_answer_is_of_the_same_kind(ours: dict[str, Case], name: str) -> None:
    reference = spoken(REFERENCE)[name]
    assert ours[name].get("closed") == reference.get("closed")
    different = DIFFERENT.get(name, Difference("", same=whole))
    if different.same is not None:
        assert different.same(ours[name]) == different.same(reference)
    if different.ours is not None:
        assert [told(message)[:3] for message in ours[name]["got"]] == different.ours


def test_what_differs_is_what_was_meant(ours: dict[str, Case]) -> None:
    def result(name: str) -> Any:
        return ours[name]["got"][0]["result"]

    # Features of the reference that this host does not have, and so must not announce.
    reference = spoken(REFERENCE)["initialize"]["got"][0]["result"]
    missing = set(reference) - set(result("initialize"))
    assert missing == {"_meta", "terminalCommandPrefix", "telemetry", "automations"}
    assert all(
        "rejectionReason" in ours[name]["got"][0]["params"] for name in ("action-host-only", "action-unknown-type")
    )
    assert result("read-binary")["encoding"] == "base64"
    assert set(shape(result("resolve"))) - {"contentType"} == set(spoken(REFERENCE)["resolve"]["got"][0]["result"])
    assert result("resolve-link")["uri"] == result("resolve")["uri"]
    assert result("reconnect")["type"] == "replay"
    assert result("reconnect")["missing"] == []
    assert result("reconnect-gone-channel")["missing"] == ["ahp-terminal:/t1"]
    seen = [message["params"]["action"] for message in ours["watch-event"]["got"] if "params" in message]
    assert [action["changes"]["items"][0]["type"] for action in seen] == ["added"]


def test_output_in_pieces_is_the_same_output(ours: dict[str, Case]) -> None:
    assert SAID in output(ours, "terminal-input")
    last = [m["params"]["action"] for m in ours["terminal-exit"]["got"] if m.get("method") == ACTION]
    assert [action["exitCode"] for action in last if action["type"] == "terminal/exited"] == [3]
