"""A disk that fills up, and a store that may not be written: a clear no, nothing half done, and well again when it is.

A limit on the size of files stands for the full disk; it comes and goes while the daemon runs.
"""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from tests.daemon import PATIENCE, ROOT, Daemon, attached, running, text_of

SESSION = "ahp-session:/s"


@contextmanager
def full_disk(daemon: Daemon) -> Iterator[None]:
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    yield
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def user(text: str) -> dict[str, object]:
    return {"text": text, "origin": {"kind": "user"}}


def test_nothing_is_half_done_on_a_full_disk_and_all_is_well_without_a_restart(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path).start()
    try:
        with attached(daemon, "a") as peer:
            chat = peer.open_session(SESSION)
            peer.say(chat, "before", "t0")
            peer.ended(chat, "t0")
            channels = (ROOT, SESSION, f"{SESSION}/annotations", chat)
            peer.action(ROOT, "root/activeSessionsChanged", activeSessions=0)
            before = [peer.state(channel) for channel in channels]
            with full_disk(daemon):
                remark = {"id": "refused", "text": "refused"}
                annotation = {"id": "refused", "resource": "file:///a", "resolved": False, "entries": [remark]}
                refused = [
                    peer.say(chat, "refused", "t1"),
                    peer.do(chat, "chat/draftChanged", draft=user("refused")),
                    peer.do(chat, "chat/pendingMessageSet", kind="queued", id="q", message=user("refused")),
                    peer.do(SESSION, "session/titleChanged", title="refused"),
                    peer.do(SESSION, "session/configChanged", config={"pace": 9}),
                    peer.do(ROOT, "root/configChanged", config={"theirs.refused": 1, "sessionIdleMs": 1}),
                    peer.do(f"{SESSION}/annotations", "annotations/set", annotation=annotation),
                ]
                assert [e for e in refused if "disk" not in e.get("rejectionReason", "")] == []
                for method, channel, params in (
                    ("createSession", "ahp-session:/refused", {}),
                    ("createChat", SESSION, {"chat": "ahp-chat:/refused"}),
                    ("disposeSession", SESSION, {}),
                ):
                    assert "disk" in peer.ask(method, channel, **params)["error"]["message"], method
                assert [row["resource"] for row in peer.ask("listSessions")["items"]] == [SESSION]
                assert [peer.state(channel) for channel in channels] == before
            assert [peer.state(channel) for channel in channels] == before
            peer.do(ROOT, "root/configChanged", config={"theirs.taken": 1})
            peer.say(chat, "after", "t2")
            assert text_of(peer.ended(chat, "t2")) == "after"
        daemon.kill()
        daemon.start()
        with attached(daemon, "b") as peer:
            assert [turn["id"] for turn in peer.state(chat)["turns"]] == ["t0", "t2"]
            assert "queuedMessages" not in peer.state(chat)
            values = peer.state(ROOT)["config"]["values"]
            assert "theirs.refused" not in values
            assert values["theirs.taken"] == 1
            assert values["sessionIdleMs"] == before[0]["config"]["values"]["sessionIdleMs"]
            assert [row["resource"] for row in peer.ask("listSessions")["items"]] == [SESSION]
            assert len(peer.state(SESSION)["chats"]) == 1
    finally:
        daemon.kill()


def test_a_turn_that_ended_on_a_full_disk_is_kept_when_the_disk_is_well(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, "--stream-save-interval-ms", "50").start()
    try:
        with attached(daemon, "a") as peer:
            chat = peer.open_session(SESSION)
            peer.say(chat, "/slow 20 5", "t1")
            with full_disk(daemon):
                said = text_of(peer.ended(chat, "t1"))
            until = time.monotonic() + PATIENCE
            while not kept_turns(tmp_path):
                assert time.monotonic() < until, "the turn is never kept"
                time.sleep(0.01)
        daemon.kill()
        daemon.start()
        with attached(daemon, "b") as peer:
            (turn,) = peer.state(chat)["turns"]
            assert turn["state"] == "complete"
            assert text_of(turn) == said
    finally:
        daemon.kill()


def kept_turns(home: Path) -> int:
    with closing(sqlite3.connect(f"file:{home / 'data' / 'ahpd.db'}?mode=ro", uri=True)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM turns").fetchone()
    return int(count)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB, where the store will be."""
    where = tmp_path / "data"
    where.mkdir(mode=0o700)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=0700", "tmpfs", where], capture_output=True)
    if mounted.returncode:
        pytest.skip("file systems may not be mounted here")
    try:
        yield where
    finally:
        subprocess.run(["umount", "--lazy", where], check=True)


def test_a_real_disk_without_room(small_disk: Path) -> None:
    with running(small_disk.parent) as daemon, attached(daemon, "a") as peer:
        chat = peer.open_session(SESSION)
        ballast = small_disk / "ballast"
        fill(ballast)
        reason = ""
        kept = []
        for number in range(40):
            reason = peer.say(chat, "w" * 50_000, f"t{number}").get("rejectionReason", "")
            if reason:
                break
            peer.ended(chat, f"t{number}")
            kept.append(f"t{number}")
        assert "the disk is full" in reason
        ballast.unlink()
        assert "rejectionReason" not in peer.say(chat, "room again", "last")
        assert text_of(peer.ended(chat, "last")) == "room again"
        daemon.kill()
        daemon.start()
        with attached(daemon, "b") as after:
            assert [turn["id"] for turn in after.state(chat)["turns"]] == [*kept, "last"]


def fill(ballast: Path) -> None:
    """Take all the room there is."""
    file = os.open(ballast, os.O_WRONLY | os.O_CREAT)
    with suppress(OSError):
        while os.write(file, bytes(4096)):
            pass
    os.close(file)


def test_a_read_only_store_is_said_at_the_start(small_disk: Path) -> None:
    with running(small_disk.parent) as daemon, attached(daemon, "a") as peer:
        peer.open_session(SESSION)
        assert daemon.stop() == 0
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    refused = Daemon(small_disk.parent)
    with pytest.raises(AssertionError, match="cannot be written"):
        refused.start()
    assert refused.process.returncode == 2
    subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
    with running(small_disk.parent) as daemon, attached(daemon, "a") as peer:
        assert [row["resource"] for row in peer.ask("listSessions")["items"]] == [SESSION]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write what is read-only")
def test_a_store_that_may_not_be_written_is_said_at_the_start(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        assert daemon.stop() == 0
    (tmp_path / "data" / "ahpd.db").chmod(0o400)
    with pytest.raises(AssertionError, match="readable and writable for this user"):
        Daemon(tmp_path).start()
