"""Where a file operation acts: open folders and files whose real path was checked after they were opened.

A path is text; between looking at it and using it, a link in it can be swapped. So everything here opens first,
asks the kernel where the descriptor really is, shows that to the policy, and acts relative to the descriptor without
following the last name. On Linux `/proc/self/fd` answers; where there is none, macOS' `F_GETPATH` does, and
anywhere else the real path of the text, which a swap can still fool.

Blocking: called from worker threads, by the modules of this package.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

__all__ = ["Access", "Confine", "Confined", "NotRegular", "Place", "holding", "locate", "open_folder", "open_regular",
           "place", "under", "within"]  # fmt: skip

Access: TypeAlias = Literal["read", "write"]

Confine: TypeAlias = Callable[[Path, Access], None]
"""A policy: returns where the real path may be used so, raises `Confined` where not. Runs in worker threads."""

_PROC = "/proc/self/fd"
_HAS_PROC = sys.platform == "linux" and os.path.isdir(_PROC)
_BARE = os.O_CLOEXEC | (os.O_PATH if _HAS_PROC else os.O_NONBLOCK | os.O_NOCTTY)
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class Confined(Exception):
    """The policy lets nobody use `path` so. Says nothing of what is there, or whether anything is."""

    def __init__(self, path: Path, access: Access) -> None:
        super().__init__(f"{access} access to {path} is not granted")
        self.path = path
        self.access = access


class NotRegular(OSError):
    """A device, a pipe, a socket: nothing that can be read or written like a file."""

    def __init__(self, path: object) -> None:
        super().__init__(errno.EINVAL, "it is no regular file", str(path))


class Place(Struct, frozen=True):
    """A name in an open folder. `folder` is the descriptor, `path` the real path of the folder with the name."""

    folder: int
    name: str
    path: Path

    def stat(self) -> os.stat_result | None:
        """What is there, links not followed; None where nothing is."""
        try:
            return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None


def within(path: Path, folder: Path) -> bool:
    """Whether `path` is `folder` or lies below it. Both are real paths."""
    return path == folder or folder in path.parents


def under(roots: Iterable[Path]) -> Confine:
    """The policy that grants everything below `roots` and nothing else. The roots' own links are resolved now."""
    real = [Path(os.path.realpath(root)) for root in roots]

    def confine(path: Path, access: Access) -> None:
        if not any(within(path, root) for root in real):
            raise Confined(path, access)

    return confine


@contextmanager
def holding(fd: int) -> Iterator[int]:
    """Closes `fd` at the end."""
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def place(path: Path, access: Access, confine: Confine | None) -> Iterator[Place]:
    """The folder that holds `path`, open, and the last name, which is not followed.

    Raises `FileNotFoundError` or `NotADirectoryError` where the folder is none, `Confined` by the policy.
    """
    if path.name in ("", ".."):
        path = Path(os.path.realpath(path))
    with holding(os.open(path.parent, _BARE | os.O_DIRECTORY)) as fd:
        name = path.name or "."
        real = _real_path(fd, path.parent) / path.name
        if confine is not None:
            confine(real, access)
        yield Place(fd, name, real)


def locate(path: Path, access: Access, confine: Confine | None) -> tuple[Path, os.stat_result]:
    """Where `path` leads when every link is followed, and what is there. Raises `FileNotFoundError`, `Confined`."""
    if _HAS_PROC:
        with holding(os.open(path, _BARE)) as fd:
            real, found = _real_path(fd, path), os.fstat(fd)
    else:
        real = Path(os.path.realpath(path, strict=True))
        found = os.stat(real, follow_symlinks=False)
    if confine is not None:
        confine(real, access)
    return real, found


def open_regular(path: Path, confine: Confine | None) -> int:
    """A descriptor to read the regular file `path` (links followed). The caller closes it.

    Nothing else is ever opened for reading, so a pipe does not block and a device is not touched. Raises
    `IsADirectoryError`, `NotRegular`, `FileNotFoundError`, `Confined`.
    """
    if not _HAS_PROC:
        _regular(os.stat(path), path)
        fd = os.open(path, _READ)
        try:
            _regular(os.fstat(fd), path)
            if confine is not None:
                confine(_real_path(fd, path), "read")
        except BaseException:
            os.close(fd)
            raise
        return fd
    with holding(os.open(path, _BARE)) as bare:
        _regular(os.fstat(bare), path)
        if confine is not None:
            confine(_real_path(bare, path), "read")
        return os.open(f"{_PROC}/{bare}", _READ)


def open_folder(path: Path, access: Access, confine: Confine | None) -> tuple[int, Path]:
    """A descriptor to list the folder `path` (links followed) and its real path. The caller closes it."""
    fd = os.open(path, _READ | os.O_DIRECTORY)
    try:
        real = _real_path(fd, path)
        if confine is not None:
            confine(real, access)
    except BaseException:
        os.close(fd)
        raise
    return fd, real


def _regular(found: os.stat_result, path: Path) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    if not stat.S_ISREG(found.st_mode):
        raise NotRegular(path)


def _real_path(fd: int, path: Path) -> Path:
    """Where the open `fd` is now; `path` is the text it was opened by."""
    if _HAS_PROC:
        real = os.readlink(f"{_PROC}/{fd}")
        if real.endswith(" (deleted)") and not os.path.lexists(real):
            raise FileNotFoundError(errno.ENOENT, "it is gone", str(path))
        return Path(real)
    if sys.platform == "darwin":
        import fcntl

        raw = fcntl.fcntl(fd, fcntl.F_GETPATH, bytes(1024))
        return Path(os.fsdecode(raw.split(b"\0", 1)[0]))
    return Path(os.path.realpath(path))
