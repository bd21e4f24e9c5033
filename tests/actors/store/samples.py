"""Records to put into a store under test, and the raw look into its file."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from actors.store import ChatRecord, SessionRecord


def date(minute: int) -> str:
    return f"2026-01-{1 + minute // 1440:02d}T{minute // 60 % 24:02d}:{minute % 60:02d}:00.000Z"


def session(session_id: str = "s1", minute: int = 0, **changes: str | bytes) -> SessionRecord:
    values: dict[str, str | bytes] = {
        "provider": "echo",
        "created_at": date(0),
        "modified_at": date(minute),
        "summary": b'{"title":"One"}',
        "state": b"{}",
        **changes,
    }
    return SessionRecord(id=session_id, **values)  # type: ignore[arg-type]


def chat(uri: str = "c1", session_id: str = "s1", position: int = 0, state: bytes = b"{}", wake_at: str | None = None):
    return ChatRecord(uri=uri, session_id=session_id, position=position, state=state, wake_at=wake_at)


def look(path: Path, sql: str) -> list[tuple[object, ...]]:
    """What a stranger sees in the file."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        return connection.execute(sql).fetchall()


def child(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Another Python process that runs `code` with `arguments` in `sys.argv[1:]`."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
