"""What the system says about other processes, where it says anything (`/proc`); everything answers None elsewhere."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

__all__ = ["command_of", "exists", "listener_on", "memory_of", "signal_process", "start_mark"]


def exists(pid: int) -> bool:
    """Whether there is such a process, of anybody's, that still runs (a zombie does not)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return _stat_fields(pid)[:1] != ["Z"]


def start_mark(pid: int) -> str | None:
    """A text that tells this process from a later one with the same number."""
    fields = _stat_fields(pid)
    return fields[19] if len(fields) > 19 else None


def signal_process(pid: int, number: signal.Signals) -> bool:
    """Send a signal. False where the process is gone. Raises PermissionError for somebody else's."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def memory_of(pid: int) -> int | None:
    """Resident memory in bytes."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    return None


def command_of(pid: int) -> str | None:
    """The name of the program and its first arguments' names, without values that may be secret."""
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
        program = [Path(word).name for word in words[:3] if word and not word.startswith("-") and "=" not in word]
        if program:
            return " ".join(program)
    return None


def listener_on(port: int) -> int | None:
    """The process that listens on a TCP port of this machine, where this user may see it."""
    inodes = set(_listening(port))
    if not inodes:
        return None
    for folder in Path("/proc").glob("[0-9]*/fd"):
        with contextlib.suppress(OSError):
            for link in folder.iterdir():
                with contextlib.suppress(OSError):
                    if os.readlink(link) in inodes:
                        return int(folder.parent.name)
    return None


def _listening(port: int) -> Iterator[str]:
    """`socket:[inode]` of each socket that listens on `port`."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                    yield f"socket:[{fields[9]}]"


def _stat_fields(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat from the state on; the name before them may hold anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
