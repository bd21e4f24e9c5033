"""The run file: which daemon runs here, and where it is reached. Written once it listens, removed when it ends.

It is a hint, never a lock: the store's lock keeps two daemons apart. A daemon that was killed leaves its file behind,
so readers ask whether that process is still there. Mode 0600, because it may hold the token.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

import msgspec

from actors import processes

__all__ = ["RunFile", "read", "remove", "running", "write"]


class RunFile(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`started_at`: ISO 8601 UTC. `token`: where it is not the token file's. `mark`: see `processes.start_mark`.
    `certificate`: the file of its TLS certificate. `flags`: what it was started with, by key name, for a restart.
    """

    pid: int
    started_at: str
    version: str
    websocket: list[str] = []
    web: list[str] = []
    unix: str | None = None
    token: str | None = None
    certificate: str | None = None
    config_file: str | None = None
    flags: dict[str, str | list[str]] = {}
    mark: str | None = None

    @property
    def alive(self) -> bool:
        """Whether the process that wrote it still runs."""
        return processes.exists(self.pid) and processes.start_mark(self.pid) == self.mark


def write(path: Path, run: RunFile) -> None:
    """Put the file there, whole or not at all. Raises OSError."""
    made, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(made, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(run), indent=2) + b"\n")
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def read(path: Path) -> RunFile | None:
    """What the file says; None where there is none, or none that can be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=RunFile)
    except (OSError, msgspec.DecodeError):
        return None


def running(path: Path) -> RunFile | None:
    """The daemon that runs now; None where none does, whatever a file left behind says."""
    found = read(path)
    return found if found is not None and found.alive else None


def remove(path: Path, pid: int) -> None:
    """Take the file away if it is still that of the process `pid`: a later daemon may have put its own there."""
    found = read(path)
    if found is not None and found.pid == pid:
        with contextlib.suppress(OSError):
            path.unlink()
