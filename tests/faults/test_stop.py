"""How a daemon ends: told to, in the middle of a word, or killed; and that the next one can begin."""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from tests.daemon import Daemon, Peer, attached, running, text_of

SESSION = "ahp-session:/s"
A_FEW_SECONDS = 5.0


def children(daemon: Daemon) -> list[int]:
    """The processes that the daemon started and that still run."""
    task = Path(f"/proc/{daemon.process.pid}/task")
    found = [pid for thread in task.iterdir() for pid in (thread / "children").read_text().split()]
    return [int(pid) for pid in found]


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def open_terminals(peer: Peer, daemon: Daemon) -> list[int]:
    """Two shells, one of which ignores being asked to end: their processes."""
    for name in ("t1", "t2"):
        claim = {"kind": "client", "clientId": peer.client_id}
        assert peer.ask("createTerminal", f"ahp-terminal:/{name}", name=name, cols=80, rows=24, claim=claim) is None
        peer.state(f"ahp-terminal:/{name}")
    line = "trap '' TERM HUP; echo st''ubborn\n"
    peer.do("ahp-terminal:/t2", "terminal/input", data=line)
    peer.wait_for(lambda m: "stubborn" in m.get("params", {}).get("action", {}).get("data", ""))
    found = children(daemon)
    assert len(found) == 2
    return found


def test_told_to_stop_in_mid_word_it_ends_well_and_soon(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path).start()
    try:
        with attached(daemon, "a") as peer:
            chat = peer.open_session(SESSION)
            processes = open_terminals(peer, daemon)
            peer.say(chat, "/slow 100000 1", "t1")
            peer.action(chat, "chat/delta")
            for number in range(20):
                peer.dispatch(chat, "chat/draftChanged", draft=draft(number))
            peer.wait_for(lambda _: len(actions(peer, "chat/delta")) > 200)
            began = time.monotonic()
            assert daemon.stop() == 0
            assert time.monotonic() - began < A_FEW_SECONDS
            with pytest.raises(ConnectionClosed) as closed:
                peer.wait_for(lambda _: False)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1001
            heard = actions(peer, "chat/responsePart")[0]["part"]["content"]
            heard += "".join(delta["content"] for delta in actions(peer, "chat/delta"))
            drafts = [action["draft"]["text"] for action in actions(peer, "chat/draftChanged")]
        assert not [pid for pid in processes if is_there(pid)]
        assert not (tmp_path / "runtime" / "ahpd.json").exists()
        daemon.start()
        with attached(daemon, "b") as peer:
            state = peer.state(chat)
            assert "activeTurn" not in state
            (turn,) = state["turns"]
            assert turn["state"] == "error"
            assert text_of(turn).startswith(heard), "a tail that was heard is gone"
            assert int(state.get("draft", draft(-1))["text"]) >= int(drafts[-1] if drafts else -1)
    finally:
        daemon.kill()


def draft(number: int) -> dict[str, Any]:
    return {"text": str(number), "origin": {"kind": "user"}}


def actions(peer: Peer, type_: str) -> list[dict[str, Any]]:
    found = [m["params"]["action"] for m in peer.got if m.get("method") == "action"]
    return [action for action in found if action["type"] == type_]


def test_killed_it_leaves_no_lock_and_no_process(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, "--unix", str(tmp_path / "s.sock")).start()
    processes: list[int] = []
    try:
        with attached(daemon, "a") as peer:
            peer.open_session(SESSION)
            processes = open_terminals(peer, daemon)
        daemon.kill()
        daemon.start()
        with attached(daemon, "b") as peer:
            assert [row["resource"] for row in peer.ask("listSessions")["items"]] == [SESSION]
        until = time.monotonic() + A_FEW_SECONDS
        while is_there(processes[0]):
            assert time.monotonic() < until, "a shell outlives its terminal"
            time.sleep(0.01)
    finally:
        daemon.kill()
        for pid in processes:
            if is_there(pid):
                os.kill(pid, signal.SIGKILL)


def test_stop_is_heard_while_everything_is_busy(tmp_path: Path) -> None:
    """Many turns stream to clients that do not read: it still ends in time, and ends well."""
    with running(tmp_path) as daemon, ExitStack() as stack:
        for number in range(4):
            peer = stack.enter_context(attached(daemon, f"c{number}", max_queue=1, close_timeout=0))
            chat = peer.open_session(f"ahp-session:/{number}")
            message = {"text": f"/repeat 100000 {'x' * 100}", "origin": {"kind": "user"}}
            started = {"turnId": "t1", "startedAt": "2026-01-01T00:00:00.000Z", "message": message}
            peer.dispatch(chat, "chat/turnStarted", **started)
        began = time.monotonic()
        assert daemon.stop() == 0
        assert time.monotonic() - began < A_FEW_SECONDS
    with running(tmp_path) as daemon, attached(daemon, "again") as peer:
        rows = peer.ask("listSessions")["items"]
        assert len(rows) == 4
        assert all(row["status"] & 31 in (1, 2) for row in rows), "a turn still runs"
