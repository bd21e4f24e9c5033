"""A real door on port 0 in the test's own event loop, and ways to knock at it.

The `websockets` client is asyncio's, so it runs in a thread; everything else is plain sockets under trio.
"""

from __future__ import annotations

import base64
import os
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import h11
import msgspec
import trio
import websockets.sync.client as peer

from actors.door import Connection, Frame
from actors.door.http import AsgiApp, HttpApp
from actors.door.listener import DoorLimits, serve
from actors.door.policy import Policy
from actors.door.sockets import Bound, Endpoint, TcpEndpoint
from actors.door.token import SharedToken

TOKEN = "a-token-for-tests"
T = TypeVar("T")


class Door:
    """What a test holds of the door. `connections` are those that came, newest last; cancel `serving` to stop it."""

    def __init__(self) -> None:
        self.bound: list[Bound] = []
        self.connections: list[Connection] = []
        self.ended = 0
        self.visitors: list[Raw] = []
        self.serving = trio.CancelScope()

    def visit(self, stream: trio.abc.Stream) -> Raw:
        """`stream` to speak over, closed when the door closes."""
        self.visitors.append(Raw(stream))
        return self.visitors[-1]

    @property
    def port(self) -> int:
        return self.bound[0].port

    def url(self, token: str = TOKEN) -> str:
        return f"{self.bound[0].websocket}?tkn={token}"


async def echo(connection: Connection) -> None:
    """Text back as it came; for binary, how long it was."""
    async for message in connection:
        text = message if isinstance(message, str) else f"{len(message)} bytes"
        connection.outbox.push(Frame(text.encode()))


@asynccontextmanager
async def open_door(
    tmp_path: Path,
    handler: Callable[[Connection], Awaitable[None]] = echo,
    *,
    endpoints: tuple[Endpoint, ...] = (TcpEndpoint(host="127.0.0.1", port=0),),
    limits: DoorLimits | None = None,
    app: AsgiApp | None = None,
    policy: Policy | None = None,
) -> AsyncIterator[Door]:
    door = Door()

    async def handle(connection: Connection) -> None:
        door.connections.append(connection)
        try:
            await handler(connection)
        finally:
            door.ended += 1

    async def run(task_status: trio.TaskStatus[list[Bound]]) -> None:
        with door.serving:
            await serve(
                endpoints,
                handle,
                app or HttpApp("1.2.3", lambda: 7, {}),
                policy or Policy(SharedToken(TOKEN)),
                runtime=tmp_path,
                limits=limits or DoorLimits(),
                task_status=task_status,
            )

    async with trio.open_nursery() as nursery:
        door.bound = await nursery.start(run)
        try:
            yield door
        finally:
            for visitor in door.visitors:
                await trio.aclose_forcefully(visitor.stream)
        nursery.cancel_scope.cancel()


def limits_with(**fields: Any) -> DoorLimits:
    """The default limits, with some fields of the door or of its connections changed."""
    own = {name: value for name, value in fields.items() if name in DoorLimits.__struct_fields__}
    rest = {name: value for name, value in fields.items() if name not in own}
    connection = msgspec.structs.replace(DoorLimits().connection, **rest)
    return msgspec.structs.replace(DoorLimits(), connection=connection, **own)


async def as_peer(talk: Callable[[peer.ClientConnection], T], url: str, **options: Any) -> T:
    """Run `talk` in a thread with a connection of the `websockets` library."""

    def run() -> T:
        with peer.connect(url, **{"compression": None, "proxy": None, **options}) as connection:
            return talk(connection)

    return await trio.to_thread.run_sync(run, abandon_on_cancel=True)


# Plain sockets.


def head(target: str, *headers: str, method: str = "GET", host: str = "localhost") -> bytes:
    return "\r\n".join([f"{method} {target} HTTP/1.1", f"Host: {host}", *headers, "", ""]).encode()


def upgrade(target: str = f"/?tkn={TOKEN}", *headers: str, host: str = "localhost") -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    asked = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}")
    return head(target, *asked, *headers, host=host)


def masked(payload: bytes, first: int = 0x81, mask: bytes = b"\x0a\xb3\x05\xff") -> bytes:
    """A client's frame. `first` is its first byte."""
    size = len(payload)
    if size < 126:
        length = bytes([0x80 | size])
    elif size < 65536:
        length = b"\xfe" + size.to_bytes(2, "big")
    else:
        length = b"\xff" + size.to_bytes(8, "big")
    key = (mask * (size // 4 + 1))[:size]
    body = (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")
    return bytes([first]) + length + mask + body


class Raw:
    """A TCP (or other) stream to the door, spoken to in bytes."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        self.read = b""

    async def send(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def until(self, ending: bytes) -> bytes:
        """What comes up to and with `ending`."""
        while ending not in self.read:
            data = await self.stream.receive_some()
            assert data, f"closed before {ending!r}, after {self.read!r}"
            self.read += data
        found, _, self.read = self.read.partition(ending)
        return found + ending

    async def exactly(self, size: int) -> bytes:
        while len(self.read) < size:
            data = await self.stream.receive_some()
            assert data, f"closed after {self.read!r}"
            self.read += data
        found, self.read = self.read[:size], self.read[size:]
        return found

    async def frame(self) -> tuple[int, bytes]:
        """The opcode and payload of the next frame."""
        first, size = await self.exactly(2)
        if size == 126:
            size = int.from_bytes(await self.exactly(2), "big")
        elif size == 127:
            size = int.from_bytes(await self.exactly(8), "big")
        return first & 0x0F, await self.exactly(size)

    async def close_code(self) -> int:
        """The status of the close frame that comes, after whatever comes before it."""
        opcode = 0
        while opcode != 0x8:
            opcode, payload = await self.frame()
        return int.from_bytes(payload[:2], "big")

    async def rest(self) -> bytes:
        while data := await self.stream.receive_some():
            self.read += data
        return self.read

    async def upgraded(self, *headers: str) -> Raw:
        await self.send(upgrade(f"/?tkn={TOKEN}", *headers))
        assert (await self.until(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
        return self

    async def request(self, data: bytes) -> tuple[int, dict[str, str], bytes]:
        """Send a request; the status, the headers and the body of the answer."""
        await self.send(data)
        parser = h11.Connection(h11.CLIENT)
        parser.send(h11.Request(method=data.split()[0], target="/", headers=[("host", "x")]))
        parser.send(h11.EndOfMessage())
        if self.read:
            parser.receive_data(self.read)
        response, body = None, b""
        while True:
            event = parser.next_event()
            if event is h11.NEED_DATA:
                parser.receive_data(await self.stream.receive_some())
            elif isinstance(event, h11.Response):
                response = event
            elif isinstance(event, h11.Data):
                body += event.data
            else:
                break
        assert response is not None
        self.read = parser.trailing_data[0]
        return response.status_code, {k.decode(): v.decode() for k, v in response.headers}, body


async def wait_until(condition: Callable[[], bool]) -> None:
    """Let the other tasks run until `condition()`."""
    while not condition():
        await trio.lowlevel.checkpoint()


async def knock(door: Door) -> Raw:
    return door.visit(await trio.open_tcp_stream("127.0.0.1", door.port))


async def ask(door: Door, data: bytes) -> tuple[int, dict[str, str], bytes]:
    """One request on a connection of its own."""
    raw = await knock(door)
    async with raw.stream:
        return await raw.request(data)


def client_tls(ca: Any) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH)
    ca.configure_trust(context)
    return context
