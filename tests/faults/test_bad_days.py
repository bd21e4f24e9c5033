"""What a daemon meets in its months: a client that stops reading, a full disk, a raising turn, a deleted session."""

import resource
import threading
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosedError

from tests.daemon import ROOT, Daemon, Peer, attached, running, text_of

MEBI = 1024 * 1024
OUTBOX = 4 * MEBI


def resident(daemon: Daemon) -> int:
    """Bytes of memory the daemon holds."""
    lines = Path(f"/proc/{daemon.process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) * 1024


def read_on(peer: Peer) -> None:
    while True:
        peer.connection.recv(timeout=30)


def test_a_client_that_stops_reading_is_let_go_and_others_are_unhurt(tmp_path: Path) -> None:
    with running(tmp_path, "--outbox-limit-bytes", str(OUTBOX)) as daemon, attached(daemon, "quick") as quick:
        chat = quick.open_session("ahp-session:/s")
        with attached(daemon, "stuck", max_queue=1) as stuck:
            seen = stuck.got[-1]["result"]["serverSeq"]
            stuck.state(chat)
            before = resident(daemon)
            for number in range(40):
                quick.say(chat, f"/repeat 1000 {'x' * 500}", f"t{number}")
                quick.action(chat, "chat/turnComplete", turnId=f"t{number}")
            # 20 MB of replies are held; of what nobody reads, at most an outbox.
            assert resident(daemon) - before < 120 * MEBI
            with pytest.raises(ConnectionClosedError) as closed:
                read_on(stuck)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1013
        with attached(daemon, None) as back:
            answer = back.ask("reconnect", clientId="stuck", lastSeenServerSeq=seen, subscriptions=[chat])
            assert answer["type"] in ("replay", "snapshot")
            back.client_id = "stuck"
            back.say(chat, "here again", "back")
            assert text_of(quick.ended(chat, "back")) == "here again"


def test_a_full_disk_refuses_the_turn_and_nothing_is_half_written(tmp_path: Path) -> None:
    """A limit on file size stands for the disk: writes fail with no room left, at a size the store reaches."""
    limit = 2 * MEBI

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    daemon = Daemon(tmp_path).start(before=full)
    kept: list[str] = []
    refused = ""
    try:
        with attached(daemon, "writer") as peer:
            chat = peer.open_session("ahp-session:/s")
            for number in range(60):
                envelope = peer.say(chat, "w" * 100_000, f"t{number}")
                if refusal := envelope.get("rejectionReason"):
                    refused = refusal
                    break
                peer.ended(chat, f"t{number}")
                kept.append(f"t{number}")
            assert "store" in refused or "disk" in refused, refused
            state = peer.state(chat)
            assert "activeTurn" not in state
            assert [turn["id"] for turn in state["turns"]] == kept[-len(state["turns"]) :]
            assert peer.ask("ping") is None
        assert daemon.stop() == 0
    finally:
        daemon.kill()
    with running(tmp_path) as again, attached(again, "reader") as peer:
        ids = [turn["id"] for turn in peer.state(chat)["turns"]]
        assert ids == kept[-len(ids) :]
        assert kept
        peer.say(chat, "room again", "after")
        assert text_of(peer.ended(chat, "after")) == "room again"


def test_a_store_that_cannot_be_written_is_said_at_the_start(tmp_path: Path) -> None:
    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))

    with pytest.raises(AssertionError, match="ahpd: "):
        Daemon(tmp_path).start(before=full)


@pytest.mark.parametrize("ending", ["/raise a bug", "/fail told to"])
def test_a_turn_that_raises_leaves_the_session_usable(tmp_path: Path, ending: str) -> None:
    with running(tmp_path) as daemon, attached(daemon) as peer:
        chat = peer.open_session("ahp-session:/s")
        peer.say(chat, ending, "t1")
        turn = peer.ended(chat, "t1")
        assert turn["state"] == "error"
        peer.say(chat, "still here", "t2")
        assert text_of(peer.ended(chat, "t2")) == "still here"


def test_a_session_deleted_while_its_turn_runs(tmp_path: Path) -> None:
    with running(tmp_path) as daemon, attached(daemon) as peer, attached(daemon, "other") as other:
        for number in range(20):
            session = f"ahp-session:/s{number}"
            chat = peer.open_session(session)
            other.state(chat)
            peer.say(chat, "/slow 100000 1", "t1")
            other.action(chat, "chat/delta")
            assert other.ask("disposeSession", session) is None
            said = {"channel": ROOT, "session": session}
            peer.wait_for(lambda m, said=said: m.get("method") == "root/sessionRemoved" and m["params"] == said)
            assert peer.ask("subscribe", session)["error"]["code"] == -32001
        assert other.ask("listSessions")["items"] == []
        assert peer.ask("ping") is None


def test_stop_is_never_a_dead_button(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path).start()
    with attached(daemon) as peer:
        chat = peer.open_session("ahp-session:/s")
        peer.say(chat, "/hang", "t1")
        daemon.kill()
    daemon.start()
    try:
        with attached(daemon, "two") as peer:
            state = peer.state(chat)
            assert "activeTurn" not in state
            assert state["turns"][-1]["state"] in ("cancelled", "error")
            peer.do(chat, "chat/turnCancelled", turnId="t1", duration=1)
            peer.say(chat, "/hang", "t2")
            peer.do(chat, "chat/turnCancelled", turnId="t2", duration=1)
            assert peer.ended(chat, "t2")["state"] == "cancelled"
            peer.say(chat, "/hang", "t3")
            assert daemon.stop() == 0
    finally:
        daemon.kill()


def test_threads_of_clients_come_and_go_in_mid_word(tmp_path: Path) -> None:
    """Clients cut off at any byte leave nothing behind that hurts the one who stays."""
    with running(tmp_path) as daemon, attached(daemon, "stays") as stays:
        chat = stays.open_session("ahp-session:/s")

        def flicker(number: int) -> None:
            for again in range(10):
                with attached(daemon, f"gone-{number}-{again}") as peer:
                    peer.state(chat)
                    peer.dispatch(chat, "chat/draftChanged", draft={"text": "x" * again, "origin": {"kind": "user"}})
                    peer.connection.socket.close()

        threads = [threading.Thread(target=flicker, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        stays.say(chat, "/slow 200 2", "t1")
        for thread in threads:
            thread.join(60)
        assert stays.ended(chat, "t1")["state"] == "complete"
