"""A store with many kept sessions, written through the daemon's own store."""

from __future__ import annotations

from pathlib import Path

import trio

from actors.folders import find
from actors.session_record import ChatPrivate, SessionPrivate, chat_record, new_chat, session_record
from actors.store import Write, chats, open_store, sessions, turns
from ahp import wire
from ahp.reducers import session_views as reducer
from ahp.state.chat import Turn
from ahp.state.common import SessionStatus
from ahp.state.session import SessionState


def fill(home: Path, count: int) -> None:
    """Make `home` the folder of a daemon that has kept `count` sessions of one chat and two turns each."""
    trio.run(fill_store, find({}, home=str(home)).store_file, count)


async def fill_store(path: Path, count: int, longest: int = 2) -> None:
    """The same in the store `path`; the chat of the first session has `longest` turns."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    async with open_store(path) as store:
        for start in range(0, count, 500):
            writes = []
            for index in range(start, min(start + 500, count)):
                writes.extend(_session(index, 2 if index else longest))
            await store.commit(writes)


def kept(index: int) -> str:
    """The URI of a kept session."""
    return f"ahp-session:/kept-{index:06}"


def _session(index: int, length: int) -> list[Write]:
    uri, chat = kept(index), f"ahp-chat:/kept-{index:06}"
    now = f"2026-01-{1 + index % 28:02}T10:{index % 60:02}:00.000Z"
    message = {"text": f"question {index}", "origin": {"kind": "user"}}
    part = {"kind": "markdown", "id": "p", "content": "answer " * 40}
    bodies = [
        {
            "id": f"t{n}",
            "startedAt": now,
            "duration": 900,
            "message": message,
            "responseParts": [part],
            "state": "complete",
        }
        for n in range(length)
    ]
    chat_state = new_chat(chat, now, f"Session {index}")
    state = SessionState(
        provider="echo",
        title=f"Session {index}",
        status=SessionStatus.IDLE,
        lifecycle="ready",
        chats=[],
        default_chat=chat,
        active_clients=[],
        working_directories=["file:///tmp"],
    )
    summary = reducer.summary_of(state, uri, now, now)
    return [
        sessions.put(session_record(uri, state, summary, SessionPrivate())),
        chats.put(chat_record(uri, chat_state, ChatPrivate(), 0)),
        *(turns.append(chat, n, f"t{n}", wire.encode(wire.convert(body, Turn))) for n, body in enumerate(bodies)),
    ]
