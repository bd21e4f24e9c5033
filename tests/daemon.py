"""A real daemon process, and a client of it that is not ours: the `websockets` library with hand-written JSON."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect, unix_connect

ROOT = "ahp-root://"
TOKEN = "test-token"
PATIENCE = 30.0


class Daemon:
    """`python -m actors.cli` on its own home. Every file it has is under `home`."""

    def __init__(self, home: Path, *flags: str, env: dict[str, str] | None = None) -> None:
        self.home = home
        self.flags = flags
        # A home of its own: what a person's shell does at its start takes time, and may not be cut short.
        self.env = {**os.environ, "SHELL": "/bin/bash", "HOME": str(home), **(env or {})}
        self.process: subprocess.Popen[bytes]
        self.run: dict[str, Any] = {}

    def launch(self, before: Callable[[], None] | None = None) -> None:
        """Begin to run it. `before` runs in the child (resource limits)."""
        command = [sys.executable, "-m", "actors.cli", "--home", str(self.home), "--port", "0", "--token", TOKEN]
        self.process = subprocess.Popen(
            [*command, "--agent", "echo", *self.flags],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=self.env,
            preexec_fn=before,
        )

    def start(self, before: Callable[[], None] | None = None) -> Daemon:
        """Run it; returns when it listens."""
        self.launch(before)
        path = self.home / "runtime" / "ahpd.json"
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.process.poll() is None:
            try:
                self.run = json.loads(path.read_text())
            except (OSError, ValueError):
                self.run = {}
            if self.run.get("pid") == self.process.pid:
                return self
            time.sleep(0.01)
        self.kill()
        raise AssertionError(f"the daemon did not start: {self.stderr()}")

    @property
    def url(self) -> str:
        return f"{self.run['websocket'][0]}?tkn={TOKEN}"

    def stderr(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read().decode(errors="replace")

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)

    def stop(self) -> int:
        """SIGTERM: the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


@contextmanager
def running(home: Path, *flags: str, env: dict[str, str] | None = None) -> Iterator[Daemon]:
    daemon = Daemon(home, *flags, env=env).start()
    try:
        yield daemon
    finally:
        daemon.kill()


class Peer:
    """One connection. `got` is everything that arrived, in order."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.got: list[dict[str, Any]] = []
        self.client_id = ""
        self._number = 0
        self._seq = 0

    def send(self, message: dict[str, Any]) -> None:
        self.connection.send(json.dumps(message))

    def wait_for(
        self, found: Callable[[dict[str, Any]], bool], seconds: float = PATIENCE, since: int = 0
    ) -> dict[str, Any]:
        """The first message from number `since` on, past or to come, that `found` says yes to. Raises TimeoutError."""
        at = since
        until = time.monotonic() + seconds
        while True:
            for message in self.got[at:]:
                at += 1
                if found(message):
                    return message
            self.got.append(json.loads(self.connection.recv(timeout=max(0.01, until - time.monotonic()))))

    def ask(self, method: str, channel: str = ROOT, **params: Any) -> Any:
        """The result of a request, or its error object under "error"."""
        self._number += 1
        number, since = self._number, len(self.got)
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": {"channel": channel, **params}})
        answer = self.wait_for(lambda m: m.get("id") == number and "method" not in m, since=since)
        return answer.get("result", answer)

    def initialize(self, client_id: str) -> Peer:
        self.client_id = client_id
        self.ask("initialize", protocolVersions=["0.9.0"], clientId=client_id, initialSubscriptions=[ROOT])
        return self

    def dispatch(self, channel: str, type_: str, **fields: Any) -> int:
        self._seq += 1
        action = {"type": type_, **fields}
        params = {"channel": channel, "clientSeq": self._seq, "action": action}
        self.send({"jsonrpc": "2.0", "method": "dispatchAction", "params": params})
        return self._seq

    def do(self, channel: str, type_: str, **fields: Any) -> dict[str, Any]:
        """Dispatch an action and wait until it is back: its envelope."""
        since = len(self.got)
        origin = {"clientId": self.client_id, "clientSeq": self.dispatch(channel, type_, **fields)}
        found = self.wait_for(
            lambda m: m.get("method") == "action" and m["params"].get("origin") == origin, since=since
        )
        envelope: dict[str, Any] = found["params"]
        return envelope

    def action(self, channel: str, type_: str, **fields: Any) -> dict[str, Any]:
        def is_it(message: dict[str, Any]) -> bool:
            params = message.get("params", {})
            if message.get("method") != "action" or params["channel"] != channel or "rejectionReason" in params:
                return False
            action = params["action"]
            return action["type"] == type_ and all(action.get(k) == v for k, v in fields.items())

        found: dict[str, Any] = self.wait_for(is_it)["params"]["action"]
        return found

    def state(self, channel: str) -> dict[str, Any]:
        state: dict[str, Any] = self.ask("subscribe", channel)["snapshot"]["state"]
        return state

    def open_session(self, uri: str, **params: Any) -> str:
        assert self.ask("createSession", uri, **params) is None
        chat: str = self.state(uri)["defaultChat"]
        self.state(chat)
        return chat

    def say(self, chat: str, text: str, turn: str) -> dict[str, Any]:
        message = {"text": text, "origin": {"kind": "user"}}
        return self.do(chat, "chat/turnStarted", turnId=turn, startedAt="2026-01-01T00:00:00.000Z", message=message)

    def wait_until_idle(self, chat: str) -> None:
        """Wait until no turn runs; one that waits for a person is cancelled."""
        while (active := self.state(chat).get("activeTurn")) is not None:
            if any(part["kind"] == "toolCall" for part in active["responseParts"]):
                self.do(chat, "chat/turnCancelled", turnId=active["id"], duration=1)
            time.sleep(0.005)

    def ended(self, chat: str, turn: str) -> dict[str, Any]:
        """The turn, once it is over."""
        ends = ("chat/turnComplete", "chat/error", "chat/turnCancelled")
        self.wait_for(
            lambda m: (
                m.get("method") == "action"
                and m["params"]["action"].get("turnId") == turn
                and m["params"]["action"]["type"] in ends
            )
        )
        found: dict[str, Any] = next(known for known in self.state(chat)["turns"] if known["id"] == turn)
        return found


@contextmanager
def attached(daemon: Daemon, client_id: str | None = "c1", **options: Any) -> Iterator[Peer]:
    with connect(daemon.url, max_size=None, proxy=None, **options) as connection:
        peer = Peer(connection)
        yield peer if client_id is None else peer.initialize(client_id)


@contextmanager
def attached_by_path(path: str, client_id: str) -> Iterator[Peer]:
    with unix_connect(path, max_size=None) as connection:
        yield Peer(connection).initialize(client_id)


def text_of(turn: dict[str, Any]) -> str:
    return "".join(part["content"] for part in turn["responseParts"] if part["kind"] == "markdown")
