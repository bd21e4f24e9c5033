"""`make bench`: what the running daemon does over raw sockets, beside a bare Node broadcaster, as figures and ratios.

Nothing is asserted: machines differ. `python -m bench --quick` takes fewer rounds; `--json` prints one JSON object.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import tempfile
import time
from pathlib import Path

from bench import seed, tool_bench
from bench.process import Measured, start_daemon, start_peer
from bench.raw import ROOT, RawClient, dispatch, fan_out, request

Figures = dict[str, float]


def both(url: str, rounds: int) -> Figures:
    """What the daemon and its peer can both do."""
    figures: Figures = {}
    times = []
    for index in range(rounds):
        began = time.perf_counter()
        client = RawClient(url)
        client.initialize(f"hello-{index}")
        times.append(time.perf_counter() - began)
        client.close()
    figures["initialize, ms (p50)"] = statistics.median(times) * 1e3
    client = RawClient(url)
    client.initialize("ping")
    times = []
    for _ in range(rounds * 10):
        began = time.perf_counter()
        client.ask("ping", {"channel": ROOT})
        times.append(time.perf_counter() - began)
    figures["ping, µs (p50)"] = statistics.median(times) * 1e6
    figures["ping, µs (p99)"] = sorted(times)[int(len(times) * 0.99)] * 1e6
    figures["pipelined pings, per s"] = pipelined(client, rounds * 100)
    figures["action to 1 subscriber, delivered per s"] = fan_out(url, 1, rounds * 20)
    figures["action to 20 subscribers, delivered per s"] = fan_out(url, 20, rounds * 20)
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"\xff" * (1 << 20))
        file.flush()
        times = []
        for _ in range(20):
            began = time.perf_counter()
            client.ask("resourceRead", {"channel": ROOT, "uri": f"file://{file.name}"})
            times.append(time.perf_counter() - began)
    figures["resourceRead of 1 MiB, ms (p50)"] = statistics.median(times) * 1e3
    client.close()
    return figures


def pipelined(client: RawClient, total: int) -> float:
    began = time.perf_counter()
    for block in range(total // 200):
        client.socket.sendall(b"".join(request(block * 200 + n, "ping", {"channel": ROOT}) for n in range(200)))
        client.count(200, lambda payload: True)
    return total / (time.perf_counter() - began)


def reply(url: str, deltas: int) -> Figures:
    """A reply of `deltas` deltas on the echo agent, as one subscriber sees it."""
    client = RawClient(url)
    client.initialize("reply")
    chat = open_session(client, "ahp-session:/bench-reply")
    message = {"text": f"/repeat {deltas} word", "origin": {"kind": "user"}}
    started = {"type": "chat/turnStarted", "turnId": "t1", "startedAt": "2026-01-01T00:00:00.000Z", "message": message}
    began = time.perf_counter()
    client.socket.sendall(dispatch(chat, 1, started))
    marks = [began, *client.count(deltas - 1, lambda payload: b'"chat/delta"' in payload)]
    client.close()
    steps = [after - before for before, after in itertools.pairwise(marks)]
    share = 10_000 / (deltas / 10)
    return {
        f"reply of {deltas:,} deltas, s": marks[-1] - began,
        "its first tenth, s per 10,000 deltas": steps[0] * share,
        "its last tenth, s per 10,000 deltas": steps[-1] * share,
    }


def open_session(client: RawClient, uri: str) -> str:
    """Create a session, subscribe to it and its chat; the chat's URI."""
    client.ask("createSession", {"channel": uri, "provider": "echo"})
    answer = client.ask("subscribe", {"channel": uri})
    chat = str(answer["result"]["snapshot"]["state"]["defaultChat"])  # type: ignore[index]
    client.ask("subscribe", {"channel": chat})
    return chat


def sessions(daemon: Measured, steps: tuple[int, ...]) -> Figures:
    """Resident memory with that many sessions open and watched."""
    figures: Figures = {"memory idle, MiB": daemon.memory()}
    client = RawClient(daemon.url)
    client.initialize("many")
    opened = 0
    for step in steps:
        while opened < step:
            open_session(client, f"ahp-session:/bench-{opened}")
            opened += 1
        figures[f"memory with {step:,} open sessions, MiB"] = daemon.memory()
    client.close()
    return figures


def kept(folder: Path, count: int) -> Figures:
    """Starting with `count` kept sessions, and listing them."""
    seed.fill(folder, count)
    daemon = start_daemon(folder)
    client = RawClient(daemon.url)
    client.initialize("list")
    times = []
    for _ in range(10):
        began = time.perf_counter()
        client.ask("listSessions", {"channel": ROOT})
        times.append(time.perf_counter() - began)
    figures = {
        f"start to listening with {count:,} kept sessions, s": daemon.seconds,
        f"listSessions of {count:,} (1,000 rows), ms (p50)": statistics.median(times) * 1e3,
        f"memory with {count:,} kept sessions, MiB": daemon.memory(),
    }
    client.close()
    daemon.stop()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args()
    rounds = 40 if options.quick else 200
    with tempfile.TemporaryDirectory() as folder:
        daemon = start_daemon(Path(folder) / "empty")
        ours: Figures = {"start to listening with an empty store, s": daemon.seconds}
        ours |= sessions(daemon, (100,) if options.quick else (100, 1000))
        ours |= both(daemon.url, rounds)
        ours |= reply(daemon.url, 10_000 if options.quick else 100_000)
        daemon.stop()
        ours |= kept(Path(folder) / "kept", 1000 if options.quick else 10_000)
        ours |= tool_bench.measure(Path(folder) / "tools", rounds)
    peer = start_peer(8765)
    theirs: Figures = {}
    if peer is not None:
        theirs = {"start to listening with an empty store, s": peer.seconds, "memory idle, MiB": peer.memory()}
        theirs |= both(peer.url, rounds)
        peer.stop()
    if options.json:
        print(json.dumps({"ahpd": ours, "node ws": theirs}))
        return
    print(f"{'':52}{'ahpd':>12}{'node ws':>12}{'ratio':>8}")
    for name, value in ours.items():
        other = theirs.get(name)
        beside = "" if other is None else f"{other:12,.2f}{value / other:8.2f}"
        print(f"{name:52}{value:12,.2f}{beside}")


if __name__ == "__main__":
    main()
