"""A WebSocket client on a blocking socket, without JSON on its hot path, so that the client is not what is measured."""

from __future__ import annotations

import base64
import json
import os
import selectors
import socket
import struct
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

ROOT = "ahp-root://"
_MASK = b"\0\0\0\0"


def frame(payload: bytes) -> bytes:
    """A masked text frame (with a mask of zeros, so that masking costs nothing here)."""
    size = len(payload)
    if size < 126:
        head = bytes([0x81, 0x80 | size])
    elif size < 65536:
        head = b"\x81\xfe" + struct.pack(">H", size)
    else:
        head = b"\x81\xff" + struct.pack(">Q", size)
    return head + _MASK + payload


def request(number: int, method: str, params: dict[str, object]) -> bytes:
    return frame(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode())


def dispatch(channel: str, number: int, action: dict[str, object]) -> bytes:
    params = {"channel": channel, "clientSeq": number, "action": action}
    return frame(json.dumps({"jsonrpc": "2.0", "method": "dispatchAction", "params": params}).encode())


class RawClient:
    """One connection. `url` carries the token."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.socket = socket.create_connection((parts.hostname, parts.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16)).decode()
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self.socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {parts.hostname}:{parts.port}\r\n"
            "Upgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        self.buffer = bytearray()
        while b"\r\n\r\n" not in self.buffer:
            self._fill()
        head, _, rest = bytes(self.buffer).partition(b"\r\n\r\n")
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise ConnectionError(head.decode())
        self.buffer = bytearray(rest)
        self.number = 0

    def close(self) -> None:
        self.socket.close()

    def frames(self) -> Iterator[bytes]:
        """The payloads of the frames that have arrived whole."""
        buffer = self.buffer
        at = 0
        while len(buffer) - at >= 2:
            size = buffer[at + 1] & 127
            start = at + 2
            if size == 126:
                if len(buffer) - at < 4:
                    break
                size = int.from_bytes(buffer[at + 2 : at + 4], "big")
                start = at + 4
            elif size == 127:
                if len(buffer) - at < 10:
                    break
                size = int.from_bytes(buffer[at + 2 : at + 10], "big")
                start = at + 10
            if len(buffer) < start + size:
                break
            opcode = buffer[at] & 15
            payload = bytes(buffer[start : start + size])
            at = start + size
            if opcode in (1, 2):
                yield payload
        del buffer[:at]

    def ask(self, method: str, params: dict[str, object]) -> dict[str, object]:
        """One request, and its answer; what else arrives is dropped."""
        self.number += 1
        wanted = f'"id":{self.number},'.encode()
        self.socket.sendall(request(self.number, method, params))
        while True:
            for payload in list(self.frames()):
                if wanted in payload[:40]:
                    answer: dict[str, object] = json.loads(payload)
                    if "error" in answer:
                        raise RuntimeError(f"{method}: {answer['error']}")
                    return answer
            self._fill()

    def initialize(self, client_id: str) -> dict[str, object]:
        return self.ask(
            "initialize",
            {"channel": ROOT, "protocolVersions": ["0.9.0"], "clientId": client_id, "initialSubscriptions": [ROOT]},
        )

    def count(self, wanted: int, is_one: Callable[[bytes], bool]) -> list[float]:
        """Read until `wanted` frames were one; the times at which each tenth of them was reached."""
        seen = 0
        marks: list[float] = []
        step = max(1, wanted // 10)
        while seen < wanted:
            for payload in self.frames():
                if is_one(payload):
                    seen += 1
                    if seen % step == 0:
                        marks.append(time.perf_counter())
            if seen < wanted:
                self._fill()
        return marks

    def _fill(self) -> None:
        data = self.socket.recv(1 << 20)
        if not data:
            raise EOFError("the host closed the connection")
        self.buffer += data


def fan_out(url: str, subscribers: int, actions: int = 4000) -> float:
    """Config actions of one client delivered to `subscribers` (itself among them), per second."""
    clients = [RawClient(url) for _ in range(subscribers)]
    for index, client in enumerate(clients):
        client.initialize(f"fan-{subscribers}-{index}")
        client.socket.setblocking(False)
    selector = selectors.DefaultSelector()
    for index, client in enumerate(clients):
        selector.register(client.socket, selectors.EVENT_READ, index)
    got = [0] * subscribers
    sent = 0
    began = time.perf_counter()
    while min(got) < actions:
        if sent < actions and sent - min(got) < 400:
            batch = b""
            for _ in range(100):
                sent += 1
                action = {"type": "root/configChanged", "config": {"http.noProxy": [f"h{sent}"]}}
                batch += dispatch(ROOT, sent, action)
            clients[0].socket.setblocking(True)
            clients[0].socket.sendall(batch)
            clients[0].socket.setblocking(False)
        for key, _ in selector.select(10):
            client = clients[key.data]
            client._fill()
            got[key.data] += sum(1 for payload in client.frames() if b'"root/configChanged"' in payload)
    seconds = time.perf_counter() - began
    for client in clients:
        client.close()
    return sum(got) / seconds
