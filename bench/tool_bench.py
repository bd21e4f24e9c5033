"""What a call of a host tool costs in the host's own process, with its checks and its audit line; no model, no socket.

`python -m bench.tool_bench` prints it alone.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import trio

from actors.agents.echo import Echo
from actors.agents.registry import Agents
from actors.clock import Clock
from actors.config import Settings
from actors.daemon import open_host
from actors.session import Session
from actors.tools.offered import OfferedTool
from ahp.wire import JSON
from bench import seed

SESSIONS = 1_000
TURNS = 2_000


def measure(folder: Path, rounds: int) -> dict[str, float]:
    """The figures, with files under `folder`."""
    folder.mkdir(mode=0o700)
    return trio.run(_measure, folder, rounds)


async def _measure(folder: Path, rounds: int) -> dict[str, float]:
    (folder / "config.toml").touch()
    await seed.fill_store(folder / "ahpd.db", SESSIONS, TURNS)
    async with open_host(Settings(folder / "config.toml"), folder / "ahpd.db", Agents([Echo()]), Clock()) as host:
        session, _ = await host.open(seed.kept(1))
        assert isinstance(session, Session)
        chat = next(iter(session.chats.values()))
        tools = {tool.name: tool for tool in session.offered(chat)}
        here, listing, reading = (tools[n] for n in ("get_current_session", "list_sessions", "get_session_context"))
        long_chat: dict[str, JSON] = {"session": seed.kept(0)}
        began = time.perf_counter()
        await _times(here, {}, rounds * 50)
        await host.env.store.flush()
        per_second = rounds * 50 / (time.perf_counter() - began)
        return {
            "get_current_session, calls per s": per_second,
            f"list_sessions of {SESSIONS:,}, ms (p50)": await _median(listing, {}, rounds // 4),
            f"get_session_context of {TURNS:,} turns, ms (p50)": await _median(reading, long_chat, rounds),
            "the same, its last 50 turns, ms (p50)": await _median(
                reading, {**long_chat, "transcriptLimit": 50}, rounds
            ),
        }


async def _median(tool: OfferedTool, given: dict[str, JSON], calls: int) -> float:
    return statistics.median(await _times(tool, given, calls)) * 1e3


async def _times(tool: OfferedTool, given: dict[str, JSON], calls: int) -> list[float]:
    """Seconds of each call. Between two of them the host does what it has to, such as keeping audit lines."""
    times = []
    for number in range(calls):
        began = time.perf_counter()
        result = await tool.run(None, f"call-{number}", given)
        times.append(time.perf_counter() - began)
        assert result.success, result
        await trio.lowlevel.checkpoint()
    return times


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        for name, value in measure(Path(home) / "tools", 200).items():
            print(f"{name:52}{value:12,.2f}")
