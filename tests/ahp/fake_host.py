"""A host of a few lines, inside the client's own transport: it answers from tables and keeps what it was sent."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import trio

from ahp.client import ConnectFailed, Transport, TransportClosed
from ahp.jsonrpc import NotFound, RpcError, SessionNotFound, encode_error, encode_notification, encode_result

Json = dict[str, Any]

ROOT: Json = {"agents": [], "config": {"schema": {"type": "object", "properties": {}}, "values": {}}}
SESSION: Json = {
    "provider": "echo",
    "title": "first",
    "status": 1,
    "lifecycle": "ready",
    "activeClients": [],
    "chats": [],
}
CHAT: Json = {
    "resource": "ahp-chat:/c",
    "title": "c",
    "status": 1,
    "modifiedAt": "2026-01-01T00:00:00.000Z",
    "turns": [],
}


class FakeTransport(Transport):
    def __init__(self, host: FakeHost) -> None:
        self._host = host
        self.feed, self._frames = trio.open_memory_channel[bytes | TransportClosed](math.inf)
        self.closed = False

    async def send(self, frames: Sequence[bytes]) -> None:
        await trio.lowlevel.checkpoint()
        if self.closed:
            raise TransportClosed(None)
        for frame in frames:
            self._host.take(json.loads(frame))

    async def receive(self) -> bytes:
        frame = await self._frames.receive()
        if isinstance(frame, TransportClosed):
            raise frame
        return frame

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()
        self.closed = True
        self.feed.send_nowait(TransportClosed(1000))


class FakeHost:
    """`states` are its channels, `answers` its methods (a function from params to a result, or raising `RpcError`).

    `seen` is every message it was sent; `echo` says whether it answers dispatched actions by itself.
    """

    def __init__(self) -> None:
        self.states: dict[str, Json] = {"ahp-root://": ROOT, "ahp-session:/s": SESSION, "ahp-chat:/c": CHAT}
        self.seq = 10
        self.seen: list[Json] = []
        self.connections = 0
        self.refusing: ConnectFailed | None = None
        self.silent: set[str] = set()
        self.transport: FakeTransport | None = None
        self.answers: dict[str, Callable[[Json], Any]] = {
            "initialize": self._initialize,
            "subscribe": self._subscribe,
            "reconnect": self._reconnect,
            "ping": lambda params: None,
        }

    @asynccontextmanager
    async def connector(self) -> AsyncIterator[Transport]:
        await trio.lowlevel.checkpoint()
        self.connections += 1
        if self.refusing is not None:
            raise self.refusing
        transport = self.transport = FakeTransport(self)
        try:
            yield transport
        finally:
            transport.closed = True

    def take(self, message: Json) -> None:
        self.seen.append(message)
        if "id" not in message or "method" not in message or message["method"] in self.silent:
            return
        answer = self.answers.get(message["method"])
        try:
            if answer is None:
                raise RpcError("no such method", code=-32601)
            self.push(encode_result(message["id"], answer(message["params"])))
        except RpcError as e:
            self.push(encode_error(message["id"], e.code, e.message, e.data))

    def push(self, frame: bytes) -> None:
        assert self.transport is not None
        self.transport.feed.send_nowait(frame)

    def notify(self, method: str, **params: Any) -> None:
        self.push(encode_notification(method, params))

    def drop(self, code: int | None = None) -> None:
        """Close the connection."""
        assert self.transport is not None
        self.transport.closed = True
        self.transport.feed.send_nowait(TransportClosed(code, "dropped"))

    def envelope(self, channel: str, action: Json, origin: Json | None = None, **more: Any) -> Json:
        self.seq += 1
        extra = {"origin": origin} if origin else {}
        return {"channel": channel, "action": action, "serverSeq": self.seq, **extra, **more}

    def act(self, channel: str, action: Json, origin: Json | None = None, **more: Any) -> None:
        """Publish an action."""
        self.notify("action", **self.envelope(channel, action, origin, **more))

    def confirm(self, dispatched: Json, **more: Any) -> None:
        """Answer a dispatched action (as `dispatched()` gives it)."""
        self.act(dispatched["channel"], dispatched["action"], self.origin(dispatched), **more)

    def origin(self, dispatched: Json) -> Json:
        return {"clientId": self.client_id, "clientSeq": dispatched["clientSeq"]}

    @property
    def client_id(self) -> str:
        return next(m["params"]["clientId"] for m in self.seen if m.get("method") == "initialize")

    def sent(self, method: str) -> list[Json]:
        """The params of every message of that method."""
        return [m["params"] for m in self.seen if m.get("method") == method]

    def dispatched(self) -> list[Json]:
        return self.sent("dispatchAction")

    def snapshot(self, channel: str) -> Json:
        return {"resource": channel, "state": self.states[channel], "fromSeq": self.seq}

    def _initialize(self, params: Json) -> Json:
        return {"protocolVersion": params["protocolVersions"][0], "serverSeq": self.seq, "snapshots": []}

    def _subscribe(self, params: Json) -> Json:
        if params["channel"] not in self.states:
            raise SessionNotFound(f"no session {params['channel']}")
        return {"snapshot": self.snapshot(params["channel"])}

    def _reconnect(self, params: Json) -> Json:
        return {"type": "replay", "actions": [], "missing": []}

    def replay(self, *envelopes: Json, missing: list[str] | None = None) -> None:
        """Answer the next reconnect with these."""
        self.answers["reconnect"] = lambda params: {"type": "replay", "actions": envelopes, "missing": missing or []}

    def snapshots(self, *channels: str) -> None:
        """Answer the next reconnect with snapshots of these."""
        self.answers["reconnect"] = lambda params: {
            "type": "snapshot",
            "snapshots": [self.snapshot(c) for c in channels],
        }

    def forget(self) -> None:
        """Know no client any more."""

        def refuse(params: Json) -> Json:
            raise NotFound("unknown client")

        self.answers["reconnect"] = refuse
