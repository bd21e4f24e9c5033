"""What can go wrong with a store, each in a sentence for the person who meets it: what, where, what to do.

Everything the store raises on purpose is a `StoreError`; nothing outside the store makes one.
"""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

__all__ = [
    "StoreClosed",
    "StoreError",
    "StoreFromTheFuture",
    "StoreLocked",
    "StoreUnreadable",
    "WriteFailed",
    "breaks_the_group",
    "disk_failure",
    "os_failure",
]


class StoreError(Exception):
    """`str(error)` is the sentence. `path`: the database file."""

    def __init__(self, path: Path, sentence: str) -> None:
        super().__init__(sentence)
        self.path = path


class StoreLocked(StoreError):
    """Another process has this store open. `pid` is None when the holder has not yet written who it is."""

    def __init__(self, path: Path, pid: int | None, since: str | None = None) -> None:
        who = "another process" if pid is None else f"process {pid}"
        when = f" (since {since})" if since else ""
        super().__init__(path, f"{path} is used by {who}{when}. Stop that process first, or choose another folder.")
        self.pid = pid
        self.since = since


class StoreFromTheFuture(StoreError):
    """A newer version wrote this store. It was left as it is."""

    def __init__(self, path: Path, found: int, known: int) -> None:
        super().__init__(
            path,
            f"{path} was written by a newer version (schema {found}; this version knows up to {known}). "
            "Install that version again, or choose another folder. The file was not touched.",
        )
        self.found = found
        self.known = known


class StoreUnreadable(StoreError):
    """The file is no database of this program. It was left as it is."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(path, f"{path} {why}. Move it away or choose another folder. The file was not touched.")


class StoreClosed(StoreError):
    """The store was closed before this was asked of it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, f"{path} is closed.")


class WriteFailed(StoreError):
    """These writes failed for a reason of their own (`__cause__`): none of them was kept, nobody else's was hurt."""

    def __init__(self, path: Path, cause: Exception) -> None:
        super().__init__(path, f"{path} did not take a change: {type(cause).__name__}: {cause}")
        self.__cause__ = cause


_GROUP = {
    sqlite3.SQLITE_FULL: "has no room: the disk is full. Free some space there; no restart is needed",
    sqlite3.SQLITE_READONLY: "is read-only. Make the file and its folder writable for this user",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened. See that the file is still there and its folder may be written",
    sqlite3.SQLITE_PERM: "may not be used. Make the file and its folder readable and writable for this user",
    sqlite3.SQLITE_BUSY: "is held by another program. Close whatever has it open",
    sqlite3.SQLITE_LOCKED: "is held by another program. Close whatever has it open",
    sqlite3.SQLITE_PROTOCOL: "is held by another program. Close whatever has it open",
    sqlite3.SQLITE_IOERR: "cannot be written or read: the disk reports an error. See that it is well and has space",
    sqlite3.SQLITE_CORRUPT: "is damaged. Stop, move the file away, and put back a copy that is whole",
    sqlite3.SQLITE_NOTADB: "is damaged. Stop, move the file away, and put back a copy that is whole",
    sqlite3.SQLITE_NOMEM: "needs more memory than there is",
    sqlite3.SQLITE_INTERRUPT: "was interrupted",
}


def breaks_the_group(error: BaseException) -> bool:
    """Whether `error` speaks of the file or the disk, so that nobody's writes can succeed now."""
    return isinstance(error, sqlite3.Error) and _primary(error) in _GROUP


def disk_failure(path: Path, error: sqlite3.Error) -> StoreError:
    """`error` as a sentence about `path`."""
    says = _GROUP.get(_primary(error), "failed")
    name = getattr(error, "sqlite_errorname", None) or type(error).__name__
    made = StoreError(path, f"{path} {says} ({name}: {error}).")
    made.__cause__ = error
    return made


def os_failure(path: Path, error: OSError) -> StoreError:
    """An error of the operating system about the folder or a file of the store `path`."""
    where = "" if error.filename in (None, str(path), path) else f" ({error.filename})"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        todo = "Make the file and its folder readable and writable for this user."
    elif error.errno in (errno.ENOSPC, errno.EDQUOT):
        todo = "Free some space there."
    else:
        todo = "See that its folder exists and that the disk is well."
    made = StoreError(path, f"{path} cannot be opened: {error.strerror or error}{where}. {todo}")
    made.__cause__ = error
    return made


def _primary(error: sqlite3.Error) -> int:
    """SQLite's primary result code; the extended ones carry it in the low byte."""
    return int(getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
