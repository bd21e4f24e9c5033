"""The lock that keeps two processes off one store: an OS lock on a file beside the database.

Invariant: whoever holds the lock is alive, because the system drops it with its process; the file itself stays, says
who took it last, and means nothing when it is not locked. Used by `database`, and `holder` by whoever wants to know.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from actors.store.errors import StoreLocked

__all__ = ["Holder", "StoreLock", "holder", "lock_path"]

_TRIES = 5
_PAUSE = 0.02


class Holder(msgspec.Struct, frozen=True):
    """The process that has a store open, and since when (ISO date); both None while it has not said so yet."""

    pid: int | None
    since: str | None


class StoreLock:
    """A held lock. It belongs to the process, not to a thread, and is not inherited by child processes."""

    def __init__(self, path: Path) -> None:
        """Take the lock of the database `path`. Raises StoreLocked, or OSError where the file cannot be made."""
        self.path = path
        self._file = os.open(lock_path(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._take()
            since = datetime.now(UTC).isoformat(timespec="seconds")
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()} {since}\n".encode(), 0)
        except BaseException:
            os.close(self._file)
            raise

    def _take(self) -> None:
        # A few tries, because somebody who asks for the `holder` has the lock for a moment.
        for _ in range(_TRIES):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            time.sleep(_PAUSE)
        found = _read(self._file)
        raise StoreLocked(self.path, found.pid, found.since)

    def release(self) -> None:
        """Let the next process in. Once."""
        os.close(self._file)


def lock_path(path: Path) -> Path:
    """The file that is locked for the database `path`."""
    return path.with_name(path.name + ".lock")


def holder(path: Path) -> Holder | None:
    """Who has the store `path` open now; None where nobody has. Raises OSError where that cannot be seen."""
    try:
        file = os.open(lock_path(path), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except BlockingIOError:
        return _read(file)
    finally:
        os.close(file)


def _read(file: int) -> Holder:
    pid, _, since = os.pread(file, 200, 0).decode(errors="replace").strip().partition(" ")
    return Holder(int(pid), since or None) if pid.isdecimal() else Holder(None, None)
