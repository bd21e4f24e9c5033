"""What is known of a file without opening it: version token, times, kind. Blocking, no state."""

from __future__ import annotations

import ctypes
import functools
import os
import stat
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

__all__ = ["created", "etag", "iso", "kind_of"]

# linux/stat.h: the call's flags and where the creation time lies in its answer.
_AT_FDCWD = -100
_AT_SYMLINK_NOFOLLOW = 0x100
_STATX_BTIME = 0x800
_STATX_SIZE = 256
_BTIME_AT = 80


def etag(found: os.stat_result) -> str:
    """A token that changes whenever the content may have: a replaced file has a new inode, a changed one a new time."""
    return f"{found.st_mtime_ns:x}-{found.st_size:x}-{found.st_ino:x}"


def iso(seconds: float) -> str:
    """A file time as ISO 8601 UTC with milliseconds."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def kind_of(found: os.stat_result) -> str:
    """The protocol's word for what is there; devices, pipes and sockets count as files."""
    if stat.S_ISDIR(found.st_mode):
        return "directory"
    return "symlink" if stat.S_ISLNK(found.st_mode) else "file"


def created(path: Path, found: os.stat_result) -> float | None:
    """When the file at `path` (not followed) was made, in seconds; None where the system does not know."""
    known: float | None = getattr(found, "st_birthtime", None)
    if known is not None or sys.platform != "linux":
        return known
    call = _statx()
    if call is None:
        return None
    answer = ctypes.create_string_buffer(_STATX_SIZE)
    if call(_AT_FDCWD, os.fsencode(path), _AT_SYMLINK_NOFOLLOW, _STATX_BTIME, answer) != 0:
        return None
    if not int.from_bytes(answer.raw[:4], sys.byteorder) & _STATX_BTIME:
        return None
    seconds = int.from_bytes(answer.raw[_BTIME_AT : _BTIME_AT + 8], sys.byteorder, signed=True)
    return seconds + int.from_bytes(answer.raw[_BTIME_AT + 8 : _BTIME_AT + 12], sys.byteorder) / 1e9


@functools.cache
def _statx() -> Callable[..., int] | None:
    """The system call behind creation times, which `os` has not got; None where the C library has not either."""
    try:
        call = ctypes.CDLL(None).statx
    except (OSError, AttributeError):
        return None
    call.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_char_p]
    call.restype = ctypes.c_int
    return call
