"""An HTTP request head as the door sees it, read with a limit, and the small plain answers the door gives itself.

No policy here, and no bodies: what follows the head stays bytes.
"""

from __future__ import annotations

from http import HTTPStatus

import h11
import msgspec
import trio

__all__ = ["HEAD_BYTES", "BadHead", "Head", "Request", "plain_answer", "read_head"]

HEAD_BYTES = 16 * 1024
"""The longest request head taken."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """`headers` in the order they came, names in lower case. `path` and `query` as sent, percent signs and all."""

    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]

    def values(self, name: str) -> list[str]:
        """Every value of the header `name` (in lower case)."""
        return [value for other, value in self.headers if other == name]

    @property
    def is_websocket(self) -> bool:
        """Whether it asks for an upgrade to WebSocket (RFC 6455, 4.2.1)."""
        upgrades = [word.strip().lower() for value in self.values("upgrade") for word in value.split(",")]
        connection = [word.strip().lower() for value in self.values("connection") for word in value.split(",")]
        return self.method == "GET" and "websocket" in upgrades and "upgrade" in connection


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """`raw`: the head as it came, with its blank line. `surplus`: what was read beyond it."""

    request: Request
    raw: bytes
    surplus: bytes


class BadHead(Exception):
    """No head that can be answered further. `status` is the HTTP status that says so."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


async def read_head(stream: trio.abc.ReceiveStream) -> Head | None:
    """Read one request head; None if the peer closed before it sent anything.

    Raises `BadHead` for what is no HTTP/1.x request, too long, or broken off. Sets no time limit.
    """
    parser = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)
    read = bytearray()
    while True:
        data = bytes(await stream.receive_some(HEAD_BYTES))
        if not data:
            if not read:
                return None
            raise BadHead(400, "The connection ended within the request.")
        read += data
        try:
            parser.receive_data(data)
            event = parser.next_event()
        except h11.RemoteProtocolError as error:
            if error.error_status_hint != 431:
                raise BadHead(400, f"This is no HTTP request: {error}.") from None
            event = None
        surplus = parser.trailing_data[0]
        size = len(read) - len(surplus)
        if event is None or size > HEAD_BYTES:
            raise BadHead(431, f"A request head may have {HEAD_BYTES} bytes.")
        if isinstance(event, h11.Request):
            return Head(request=_request(event), raw=bytes(read[:size]), surplus=surplus)


def _request(event: h11.Request) -> Request:
    if event.http_version not in (b"1.1", b"1.0"):
        raise BadHead(505, "This host speaks HTTP/1.1.")
    path, _, query = event.target.decode("latin-1").partition("?")
    headers = tuple((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in event.headers)
    return Request(method=event.method.decode("latin-1"), path=path, query=query, headers=headers)


def plain_answer(status: int, message: str, headers: tuple[tuple[str, str], ...] = ()) -> bytes:
    """A whole HTTP/1.1 response: one sentence of plain text, after which the connection closes."""
    body = message.encode() + b"\n"
    head = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    head += [f"{name}: {value}" for name, value in (*plain_headers(len(body)), *headers)]
    return "\r\n".join([*head, "", ""]).encode("latin-1") + body


def plain_headers(size: int) -> tuple[tuple[str, str], ...]:
    """The headers of a refusal of `size` bytes."""
    return (
        ("content-type", "text/plain; charset=utf-8"),
        ("content-length", str(size)),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("connection", "close"),
    )
