"""`ahpd status`: whether a daemon runs here, and how it is."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import trio

from actors import processes, runfile
from actors.cli.context import Context, Exit, say
from actors.cli.health import answers
from actors.cli.reach import all_sessions, reach, run
from actors.clock import parse_iso
from actors.runfile import RunFile
from ahp.client import ClientError
from ahp.wire import JSON

__all__ = ["status"]

_ANSWER_SECONDS = 10.0


def status(context: Context) -> int:
    """Exit code 0 where it runs and answers, 1 where it runs and does not answer, 3 where none runs."""
    found = runfile.running(context.folders.run_file)
    as_json = getattr(context.arguments, "json", False)
    if found is None:
        say(json.dumps({"running": False}) if as_json else f"no daemon runs here ({context.folders.config})")
        return Exit.NOT_RUNNING
    healthy = answers(found)
    sessions: list[int] = []
    if healthy:
        run(context, lambda context: _count_sessions(context, sessions))
    facts = _facts(found, healthy, sessions)
    say(json.dumps(facts, indent=2) if as_json else _text(facts))
    return Exit.DONE if healthy else Exit.FAILED


async def _count_sessions(context: Context, count: list[int]) -> Exit:
    """Put the number of sessions into `count`; nothing where the daemon lets nobody in."""
    with trio.move_on_after(_ANSWER_SECONDS):
        try:
            async with reach(context) as client:
                count.append(len(await all_sessions(client)))
        except ClientError:
            return Exit.FAILED
    return Exit.DONE


def _facts(found: RunFile, healthy: bool, sessions: list[int]) -> dict[str, JSON]:
    uptime = (datetime.now(UTC) - parse_iso(found.started_at)).total_seconds()
    return {
        "running": True,
        "answers": healthy,
        "pid": found.pid,
        "version": found.version,
        "startedAt": found.started_at,
        "uptimeSeconds": max(0, int(uptime)),
        "websocket": found.websocket,
        "web": found.web,
        "unix": found.unix,
        "sessions": sessions[0] if sessions else None,
        "memoryBytes": processes.memory_of(found.pid),
    }


def _text(facts: dict[str, JSON]) -> str:
    memory, sessions = facts["memoryBytes"], facts["sessions"]
    rows = [
        f"ahpd {facts['version']} runs" + ("" if facts["answers"] else ", but does not answer (`ahpd logs`)"),
        f"  process    {facts['pid']}, for {_duration(facts['uptimeSeconds'])}",
        *(f"  WebSocket  {url}" for url in facts["websocket"]),
        *(f"  Web        {url}" for url in facts["web"]),
        *([f"  Socket     {facts['unix']}"] if facts["unix"] else []),
        f"  sessions   {'unknown' if sessions is None else sessions}",
        *([f"  memory     {memory / 2**20:.0f} MiB"] if memory is not None else []),
    ]
    return "\n".join(rows)


def _duration(seconds: int) -> str:
    days, rest = divmod(seconds, 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, rest = divmod(rest, 60)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")]
    shown = [f"{count} {unit}" for count, unit in parts if count]
    return " ".join(shown[:2]) or "0 s"
