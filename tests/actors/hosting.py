"""A real host in the test's own event loop, and clients that speak plain JSON to it over memory connections.

Everything is the real thing (store, hub, actors, protocol) but the socket: `Wire.send` puts a message into the
connection's inbox, and what its outbox sends comes back as decoded messages.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio
import trio.testing

from actors.agents.interface import Agent, AgentChat, Start, TurnInput, TurnPort
from actors.agents.registry import Agents
from actors.clock import Clock
from actors.config import Settings
from actors.daemon import open_host
from actors.door.connection import Connection, Inbox, Peer
from actors.door.outbox import Outbox
from actors.host import Host

ROOT = "ahp-root://"


class MemoryConnection(Connection):
    """A connection whose peer is a `Talk` in the same process."""

    def __init__(self) -> None:
        super().__init__(Peer(transport="stdio", address="memory"), Outbox(64 << 20, "line"), Inbox(64 << 20))
        self.closed: tuple[int, str] | None = None

    def put(self, message: str | bytes) -> None:
        self._inbox.put(message)

    async def aclose(self, code: int = 1000, reason: str = "") -> None:
        if self.closed is None:
            self.closed = (code, reason)
        self._inbox.end()
        await trio.lowlevel.checkpoint()


class Talk:
    """One connection as a client holds it. `got` is everything that arrived, in order."""

    def __init__(self, connection: MemoryConnection) -> None:
        self.connection = connection
        self.client_id = ""
        self.got: list[dict[str, Any]] = []
        self._arrived = trio.Event()
        self._number = 0
        self._seq = 0
        self._buffer = b""

    async def take(self, data: bytes) -> None:
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        self.got.extend(json.loads(line) for line in lines)
        self._arrived.set()
        self._arrived = trio.Event()
        await trio.lowlevel.checkpoint()

    def send(self, message: dict[str, Any] | str | bytes) -> None:
        self.connection.put(json.dumps(message) if isinstance(message, dict) else message)

    async def wait_for(self, found: Callable[[dict[str, Any]], bool], seconds: float = 60) -> dict[str, Any]:
        """The first message, past or to come, that `found` says yes to."""
        at = 0
        with trio.fail_after(seconds):
            while True:
                for message in self.got[at:]:
                    at += 1
                    if found(message):
                        return message
                await self._arrived.wait()

    async def ask(self, method: str, channel: str = ROOT, **params: Any) -> Any:
        """The result of a request. Raises `Refused`."""
        self._number += 1
        number = self._number
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": {"channel": channel, **params}})
        answer = await self.wait_for(lambda message: message.get("id") == number and "method" not in message)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]

    def dispatch(self, channel: str, action: dict[str, Any]) -> int:
        self._seq += 1
        params = {"channel": channel, "clientSeq": self._seq, "action": action}
        self.send({"jsonrpc": "2.0", "method": "dispatchAction", "params": params})
        return self._seq

    async def do(self, channel: str, type_: str, **fields: Any) -> dict[str, Any]:
        """Dispatch an action and wait for it to come back: its envelope, accepted or rejected."""
        seq = self.dispatch(channel, {"type": type_, **fields})

        def own(message: dict[str, Any]) -> bool:
            params = message.get("params", {})
            origin = {"clientId": self.client_id, "clientSeq": seq}
            return message.get("method") == "action" and params.get("origin") == origin

        envelope: dict[str, Any] = (await self.wait_for(own))["params"]
        return envelope

    def actions(self, channel: str | None = None) -> list[dict[str, Any]]:
        """The actions that arrived (on `channel`), rejections left out."""
        envelopes = [m["params"] for m in self.got if m.get("method") == "action"]
        return [e["action"] for e in envelopes if channel in (None, e["channel"]) and "rejectionReason" not in e]

    async def action(self, channel: str, type_: str, **fields: Any) -> dict[str, Any]:
        """The first action of that type on `channel` that has those fields."""

        def is_it(message: dict[str, Any]) -> bool:
            params = message.get("params", {})
            if message.get("method") != "action" or params["channel"] != channel or "rejectionReason" in params:
                return False
            action = params["action"]
            return action["type"] == type_ and all(action.get(k) == v for k, v in fields.items())

        found: dict[str, Any] = (await self.wait_for(is_it))["params"]["action"]
        return found

    async def state(self, channel: str, **params: Any) -> dict[str, Any]:
        """Subscribe (anew): the state."""
        state: dict[str, Any] = (await self.ask("subscribe", channel, **params))["snapshot"]["state"]
        return state

    async def open_session(self, uri: str = "ahp-session:/s", **params: Any) -> str:
        """Create a session, watch it and its chat, and wait until it is ready: the chat's URI."""
        await self.ask("createSession", uri, **params)
        state = await self.state(uri)
        if state["lifecycle"] == "creating":
            await self.action(uri, "session/ready")
        chat: str = state["defaultChat"]
        await self.state(chat)
        return chat

    async def say(self, chat: str, text: str, turn: str = "t1") -> dict[str, Any]:
        """Start a turn: its envelope."""
        message = {"text": text, "origin": {"kind": "user"}}
        return await self.do(
            chat, "chat/turnStarted", turnId=turn, startedAt="2026-01-01T00:00:00.000Z", message=message
        )


class Refused(Exception):
    """A JSON-RPC error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code = error["code"]
        self.data = error.get("data")


class Parrot(Agent):
    """Says each word of the message; what else a test wants, its `turn` does."""

    provider = "parrot"
    display_name = "Parrot"
    fork = True
    side_chat = True
    multiple_directories = True

    def __init__(self, turn: Callable[[TurnInput, TurnPort], Any] | None = None) -> None:
        self.turn = turn
        self.starts: list[Start] = []
        self.closed = 0

    async def open_chat(self, start: Start) -> AgentChat:
        self.starts.append(start)
        return ParrotChat(self)


class ParrotChat(AgentChat):
    def __init__(self, agent: Parrot) -> None:
        self.agent = agent

    async def run_turn(self, turn: TurnInput, port: TurnPort) -> None:
        if self.agent.turn is not None:
            await self.agent.turn(turn, port)
            return
        for word in turn.message.text.split():
            await port.text(word + " ")

    async def close(self) -> None:
        self.agent.closed += 1


class Hosting:
    """A running host; `connect` attaches clients to it."""

    def __init__(self, host: Host, nursery: trio.Nursery) -> None:
        self.host = host
        self._nursery = nursery

    async def attach(self) -> Talk:
        """A connection that has said nothing yet."""
        connection = MemoryConnection()
        talk = Talk(connection)
        self._nursery.start_soon(connection.outbox.drain, talk.take)
        self._nursery.start_soon(self.host.serve, connection)
        await trio.lowlevel.checkpoint()
        return talk

    async def connect(self, client_id: str = "c1", subscribe: Sequence[str] = (ROOT,), **params: Any) -> Talk:
        talk = await self.attach()
        talk.client_id = client_id
        await talk.ask(
            "initialize", protocolVersions=["0.9.0"], clientId=client_id, initialSubscriptions=list(subscribe), **params
        )
        return talk

    async def drop(self, talk: Talk) -> None:
        """The client's socket is gone."""
        talk.connection._inbox.end()
        await trio.testing.wait_all_tasks_blocked()


@asynccontextmanager
async def hosting(folder: Path, *agents: Agent, clock: Clock | None = None, config: str = "") -> AsyncIterator[Hosting]:
    """A host with its store under `folder` and `config` (TOML) in force; the same folder again is a restart."""
    file = folder / "config.toml"
    file.write_text(config)
    registry = Agents(agents or (Parrot(),))
    async with (
        trio.open_nursery() as nursery,
        open_host(Settings(file), folder / "store" / "ahpd.db", registry, clock or Clock(), threads="none") as host,
    ):
        yield Hosting(host, nursery)
        nursery.cancel_scope.cancel()
