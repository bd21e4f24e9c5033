"""`python -m bench.door_bench`: the door alone, without protocol or host: echo, and fan-out of frames made beforehand.

The door runs in a process of its own and the clients are blocking sockets in this one, so two cores are used.
"""

from __future__ import annotations

import argparse
import selectors
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import trio

from actors.door import Connection, Frame
from actors.door.http import HttpApp
from actors.door.listener import serve
from actors.door.policy import Policy
from actors.door.sockets import TcpEndpoint
from actors.door.token import SharedToken
from bench.raw import RawClient, frame

TOKEN = "bench"
PING = b'{"jsonrpc":"2.0","id":12345,"method":"ping","params":{"channel":"ahp-root://"}}'
DELTA = (
    b'{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-chat:/0","action":{"type":"chat/delta"' + b" " * 120
)


async def serve_bench() -> None:
    """Echo; and for `fan N M`, N prebuilt frames to everybody, M between two checkpoints."""
    connections: set[Connection] = set()

    async def handle(connection: Connection) -> None:
        connections.add(connection)
        async for message in connection:
            if isinstance(message, str) and message.startswith("fan "):
                count, at_once = map(int, message.split()[1:])
                for sent in range(count):
                    push_to_all(Frame(DELTA))
                    if sent % at_once == at_once - 1:
                        await trio.lowlevel.checkpoint()
                    await connection.outbox.wait_below(1 << 20)
            elif isinstance(message, str):
                connection.outbox.push(Frame(message.encode()))
        connections.discard(connection)

    def push_to_all(one: Frame) -> None:
        for connection in connections:
            connection.outbox.push(one)

    with tempfile.TemporaryDirectory() as folder:
        async with trio.open_nursery() as nursery:
            bound = await nursery.start(
                partial(serve, runtime=Path(folder)),
                (TcpEndpoint(host="127.0.0.1", port=0),),
                handle,
                HttpApp("bench", lambda: 0, {}),
                Policy(SharedToken(TOKEN)),
            )
            print(bound[0].websocket, flush=True)


def pings(url: str, rounds: int) -> tuple[float, float]:
    """Seconds a ping, one after the other: median and 99th percentile."""
    client = RawClient(url)
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        client.socket.sendall(frame(PING))
        client.count(1, lambda payload: True)
        times.append(time.perf_counter() - began)
    client.close()
    return statistics.median(times), sorted(times)[int(len(times) * 0.99)]


def pipelined(url: str, total: int, at_once: int) -> float:
    """Echoes a second with `at_once` under way."""
    client = RawClient(url)
    batch = frame(PING) * at_once
    began = time.perf_counter()
    for _ in range(total // at_once):
        client.socket.sendall(batch)
        client.count(at_once, lambda payload: True)
    client.close()
    return total / (time.perf_counter() - began)


def fan_out(url: str, clients: int, frames: int, at_once: int) -> float:
    """Frames delivered a second to `clients` together. Bytes are counted, not parsed: the door is measured."""
    readers = [RawClient(url) for _ in range(clients)]
    wanted = frames * len(Frame(DELTA).websocket)
    selector = selectors.DefaultSelector()
    for reader in readers:
        reader.socket.sendall(frame(b"hello"))
        reader.count(1, lambda payload: True)
        reader.socket.setblocking(False)
        selector.register(reader.socket, selectors.EVENT_READ)
    left = {reader.socket.fileno(): wanted for reader in readers}
    began = time.perf_counter()
    readers[0].socket.sendall(frame(b"fan %d %d" % (frames, at_once)))
    while left:
        for key, _ in selector.select():
            left[key.fd] -= len(key.fileobj.recv(1 << 18))  # type: ignore[union-attr]
            if left[key.fd] == 0:
                selector.unregister(key.fileobj)
                del left[key.fd]
    seconds = time.perf_counter() - began
    for reader in readers:
        reader.close()
    return frames * clients / seconds


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.door_bench")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    options = parser.parse_args()
    if options.serve:
        trio.run(serve_bench)
        return
    scale = 1 if options.quick else 5
    process = subprocess.Popen([sys.executable, "-m", "bench.door_bench", "--serve"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        url = f"{process.stdout.readline().strip()}?tkn={TOKEN}"
        median, late = pings(url, 2000 * scale)
        print(f"{'echo, one at a time, µs (p50)':52}{median * 1e6:12,.1f}")
        print(f"{'echo, one at a time, µs (p99)':52}{late * 1e6:12,.1f}")
        for at_once in (20, 200, 2000):
            print(f"{f'echo, {at_once} under way, per s':52}{pipelined(url, 40_000 * scale, at_once):12,.0f}")
        for clients in (1, 20):
            for at_once in (1, 10, 100):
                name = f"frames to {clients} clients, {at_once} at once, delivered per s"
                print(f"{name:52}{fan_out(url, clients, 4000 * scale, at_once):12,.0f}")
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
