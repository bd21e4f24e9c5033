"""The same connection over standard input and output, a message a line.

For a client that starts the host itself (over ssh, say). Standard output belongs to the protocol alone: `open_stdio`
points everybody else who prints at standard error.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable

import trio

from actors.door.connection import Connection, Inbox, Peer
from actors.door.outbox import Outbox
from actors.door.websocket import ConnectionLimits

__all__ = ["StdioConnection", "open_stdio", "serve_stdio"]

_INBOX_BYTES = 1024 * 1024
_CHUNK = 64 * 1024


def open_stdio() -> tuple[trio.abc.ReceiveStream, trio.abc.SendStream]:
    """This process's standard input and output as streams. Call it once; from then on `print` goes to stderr."""
    receive = trio.lowlevel.FdStream(os.dup(0))
    send = trio.lowlevel.FdStream(os.dup(1))
    os.dup2(2, 1)
    return receive, send


async def serve_stdio(
    receive: trio.abc.ReceiveStream,
    send: trio.abc.SendStream,
    handler: Callable[[Connection], Awaitable[None]],
    limits: ConnectionLimits,
) -> None:
    """Run `handler` with a connection over the two streams; close them when it returns or raises.

    What `handler` raises comes out in an exception group. When cancelled, closes at once.
    """
    outbox = Outbox(limits.outbox_bytes, "line")
    connection = StdioConnection(outbox, Inbox(_INBOX_BYTES), receive, send, limits)
    async with send, receive, trio.open_nursery() as nursery:
        nursery.start_soon(connection.run)
        try:
            await handler(connection)
        finally:
            await connection.aclose()
        nursery.cancel_scope.cancel()


class StdioConnection(Connection):
    """See `Connection`. A line that is not UTF-8 comes as `bytes`. A line that is too long ends the connection."""

    def __init__(
        self,
        outbox: Outbox,
        inbox: Inbox,
        receive: trio.abc.ReceiveStream,
        send: trio.abc.SendStream,
        limits: ConnectionLimits,
    ) -> None:
        super().__init__(Peer(transport="stdio", address="stdio"), outbox, inbox)
        self._receive = receive
        self._send = send
        self._limits = limits

    async def run(self) -> None:
        """Keep the connection going until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._drain)
            nursery.start_soon(self._read)
            await self.outbox.fallen_behind.wait()
            await self.aclose(1013, "falling behind; reconnect")

    async def aclose(self, code: int = 1000, reason: str = "") -> None:
        self._inbox.discard()
        self.outbox.stop_accepting()
        try:
            with trio.move_on_after(self._limits.close_within):
                await self.outbox.wait_below(0)
        finally:
            self.outbox.close()
            await trio.aclose_forcefully(self._send)
            await trio.aclose_forcefully(self._receive)

    async def _drain(self) -> None:
        try:
            await self.outbox.drain(self._send.send_all)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            # Nobody reads any more, so nobody is there.
            self._inbox.end()

    async def _read(self) -> None:
        pieces: list[bytes] = []
        waiting = 0
        try:
            while waiting <= self._limits.max_message_bytes:
                await self._inbox.wait_for_room()
                data = bytes(await self._receive.receive_some(_CHUNK))
                if not data:
                    break
                *lines, rest = data.split(b"\n")
                if lines:
                    self._put(b"".join([*pieces, lines[0]]))
                    for line in lines[1:]:
                        self._put(line)
                    pieces, waiting = [], 0
                pieces.append(rest)
                waiting += len(rest)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        self._inbox.end()

    def _put(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            self._inbox.put(line.decode())
        except UnicodeDecodeError:
            self._inbox.put(line)
