"""The daemon through a WebSocket library that is not ours, with JSON written by hand."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.daemon import ROOT, TOKEN, Daemon, Peer, attached, attached_by_path, running, text_of


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    home = tmp_path_factory.mktemp("home")
    with running(home, "--unix", str(home / "s.sock")) as daemon:
        yield daemon


def test_a_session_streams_to_everybody_who_watches(daemon: Daemon) -> None:
    with attached(daemon, "a") as one, attached(daemon, "b") as two:
        chat = one.open_session("ahp-session:/stream")
        two.state(chat)
        one.say(chat, "one two three", "t1")
        assert text_of(one.ended(chat, "t1")) == text_of(two.ended(chat, "t1")) == "one two three"
        seen = [[m["params"] for m in peer.got if m.get("method") == "action"] for peer in (one, two)]
        chats = [[e for e in each if e["channel"] == chat] for each in seen]
        assert chats[0] == chats[1]
        assert [e["serverSeq"] for e in chats[0]] == sorted(e["serverSeq"] for e in chats[0])


def test_a_lost_connection_comes_back_with_what_it_missed(daemon: Daemon) -> None:
    with attached(daemon, "watcher") as watcher:
        with attached(daemon, "lost") as lost:
            chat = lost.open_session("ahp-session:/lost")
            seen = lost.do(chat, "chat/isReadChanged", isRead=True)["serverSeq"]
            lost.connection.socket.close()
        watcher.state(chat)
        watcher.say(chat, "meanwhile", "t1")
        watcher.ended(chat, "t1")
        with attached(daemon, None) as back:
            answer = back.ask("reconnect", clientId="lost", lastSeenServerSeq=seen, subscriptions=[chat, ROOT])
            assert answer["type"] == "replay"
            types = [e["action"]["type"] for e in answer["actions"] if e["channel"] == chat]
            assert types == ["chat/turnStarted", "chat/responsePart", "chat/turnComplete"]


def test_the_token_is_needed_and_never_echoed(daemon: Daemon) -> None:
    bare = daemon.run["websocket"][0]
    for url in (bare, f"{bare}?tkn=wrong-secret"):
        with pytest.raises(InvalidStatus) as refused, connect(url, proxy=None):
            pass
        assert refused.value.response.status_code == 401
        assert b"wrong-secret" not in refused.value.response.body
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with connect(bare, additional_headers=headers, proxy=None) as connection:
        assert Peer(connection).ask("ping") is None
    with pytest.raises(InvalidStatus), connect(f"{bare}?tkn={TOKEN}", origin="https://evil.example", proxy=None):
        pass


def test_a_unix_socket_is_a_door_too(daemon: Daemon) -> None:
    with attached_by_path(daemon.run["unix"], "u") as peer:
        assert "items" in peer.ask("listSessions")


def test_two_hundred_clients_at_once(daemon: Daemon) -> None:
    with ExitStack() as stack:
        peers = [stack.enter_context(attached(daemon, f"many-{number}")) for number in range(200)]
        peers[0].do(ROOT, "root/configChanged", config={"theirs.many": 1})
        for peer in peers:
            assert peer.action(ROOT, "root/configChanged")["config"] == {"theirs.many": 1}


def test_a_fragmented_message_is_one_message(daemon: Daemon) -> None:
    with attached(daemon, "frag") as peer:
        text = json.dumps({"jsonrpc": "2.0", "id": "f", "method": "ping", "params": {"channel": ROOT}})
        peer.connection.send([text[:10], text[10:30], text[30:]])
        assert peer.wait_for(lambda m: m.get("id") == "f")["result"] is None


def test_one_who_starts_it_speaks_over_stdio(tmp_path: Path) -> None:
    hello = {"channel": ROOT, "protocolVersions": ["0.9.0"], "clientId": "s"}
    requests = [
        ("initialize", hello),
        ("createSession", {"channel": "ahp-session:/s"}),
        ("listSessions", {"channel": ROOT}),
    ]
    lines = [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        for number, (method, params) in enumerate(requests, 1)
    ]
    command = [sys.executable, "-m", "actors.cli", "--home", str(tmp_path), "--stdio", "--agent", "echo"]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    found = {answer["id"]: answer for answer in answers if "id" in answer}
    assert found[3]["result"]["items"][0]["resource"] == "ahp-session:/s"


def test_the_second_daemon_on_a_store_says_who_holds_it(daemon: Daemon) -> None:
    second = Daemon(daemon.home)
    with pytest.raises(AssertionError, match=str(daemon.process.pid)):
        second.start()
    assert second.process.returncode == 1


def test_a_port_that_is_taken_is_said_so(daemon: Daemon, tmp_path: Path) -> None:
    port = urlsplit(daemon.run["websocket"][0]).port
    second = Daemon(tmp_path, "--port", str(port))
    with pytest.raises(AssertionError, match=f"listens on port {port}"):
        second.start()
    assert second.process.returncode == 1


def test_one_who_attaches_twice_hears_everything_twice(daemon: Daemon) -> None:
    with attached(daemon, "twin") as one, attached(daemon, "twin") as two:
        chat = one.open_session("ahp-session:/twin")
        two.state(chat)
        one.do(chat, "chat/draftChanged", draft={"text": "mine", "origin": {"kind": "user"}})
        assert two.action(chat, "chat/draftChanged") == one.action(chat, "chat/draftChanged")
