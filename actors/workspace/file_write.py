"""Writing files: every mode of `resourceWrite`, whole or not at all, and never lost between two of this host's writers.

An append at the end is one appending write, so that it also keeps its place among other processes' appends. Every
other change makes the new content beside the file and renames it over it, so a reader sees the old or the new; only
where that would break something (a file with several names, a folder that cannot be written) is the file changed in
place. Blocking: `files.Files` calls this in worker threads.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from actors.workspace.file_stat import etag
from actors.workspace.places import Confine, NotRegular, Place, holding, place
from actors.workspace.refusals import Named, refusing
from ahp.commands import WriteMode
from ahp.jsonrpc import Conflict

__all__ = ["TEMPORARY", "Change", "copy_bytes", "locked", "temporary", "write_file"]

TEMPORARY = ".ahp-new-"
"""How the names of files in the making begin; watches leave them out."""

_LOCKS = [threading.Lock() for _ in range(64)]
_PIECE = 1 << 20


class Change(Struct, frozen=True):
    """What to write where, as `resourceWrite` says it. `position` is never negative."""

    data: bytes
    mode: WriteMode = "truncate"
    position: int = 0
    create_only: bool = False
    if_match: str | None = None

    def bounds(self, size: int) -> tuple[int, int]:
        """(a, b): the new content is old[:a] + data + old[b:]. Positions past an end stand at that end."""
        if self.mode == "truncate":
            return min(self.position, size), size
        at = max(0, size - self.position) if self.mode == "append" else min(self.position, size)
        return at, at


def write_file(target: Named, change: Change, confine: Confine | None) -> None:
    """Makes the change. A link is written through; with `create_only` it counts as a file that exists."""
    path = target.path if change.create_only else Path(os.path.realpath(target.path))
    with (
        refusing(target, "write", "Parent directory not found"),
        place(path, "write", confine) as at,
        locked(at.path),
    ):
        found = at.stat()
        if change.create_only:
            _create(at, change.data)
            return
        if found is not None:
            _writable(at, found)
        if change.if_match is not None and (found is None or etag(found) != change.if_match):
            raise Conflict(f"ifMatch precondition failed for: {target.uri}")
        if change.mode == "append" and change.position == 0:
            _append(at, change.data)
        elif found is not None and found.st_nlink > 1:
            _rewrite(at, change)
        else:
            _replace(at, found, change)


@contextmanager
def locked(*paths: Path) -> Iterator[None]:
    """This host's other writers of the same real paths wait. Taken in one order, so two movers never block forever."""
    with ExitStack() as stack:
        for index in sorted({hash(path) % len(_LOCKS) for path in paths}):
            stack.enter_context(_LOCKS[index])
        yield


def temporary() -> str:
    """A new name for a file in the making."""
    return TEMPORARY + secrets.token_hex(8)


def copy_bytes(source: int, target: int, count: int | None = None) -> None:
    """`count` bytes (None: all) from where `source` stands to where `target` stands, a piece at a time."""
    left = count
    while left is None or left > 0:
        piece = os.read(source, _PIECE if left is None else min(_PIECE, left))
        if not piece:
            return
        _write_all(target, piece)
        if left is not None:
            left -= len(piece)


def _writable(at: Place, found: os.stat_result) -> None:
    if stat.S_ISLNK(found.st_mode):
        # It was none when the path was resolved a moment ago, or it leads round in a circle.
        raise OSError(errno.ELOOP, "it is a link that changes or leads to itself", at.name)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", at.name)
    if not stat.S_ISREG(found.st_mode):
        raise NotRegular(at.name)


def _create(at: Place, data: bytes) -> None:
    fd = os.open(at.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=at.folder)
    with holding(fd):
        try:
            _write_all(fd, data)
        except OSError:
            os.unlink(at.name, dir_fd=at.folder)
            raise


def _append(at: Place, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with holding(os.open(at.name, flags, 0o666, dir_fd=at.folder)) as fd:
        before = os.fstat(fd)
        _writable(at, before)
        try:
            _write_all(fd, data)
        except OSError:
            # What of the data did arrive goes again, unless another process has appended after it.
            if os.fstat(fd).st_size <= before.st_size + len(data):
                os.ftruncate(fd, before.st_size)
            raise


def _replace(at: Place, found: os.stat_result | None, change: Change) -> None:
    name = temporary()
    try:
        new = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=at.folder)
    except OSError as error:
        if found is None or error.errno not in (errno.EACCES, errno.EPERM):
            raise
        _rewrite(at, change)
        return
    try:
        with holding(new):
            _compose(at, found, change, new)
            if found is not None and not _like(new, found):
                os.unlink(name, dir_fd=at.folder)
                _rewrite(at, change)
                return
        os.replace(name, at.name, src_dir_fd=at.folder, dst_dir_fd=at.folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=at.folder)
        raise


def _compose(at: Place, found: os.stat_result | None, change: Change, new: int) -> None:
    head, tail = change.bounds(0 if found is None else found.st_size)
    if found is None or (head == 0 and tail == found.st_size):
        _write_all(new, change.data)
        return
    with holding(os.open(at.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at.folder)) as old:
        copy_bytes(old, new, head)
        _write_all(new, change.data)
        os.lseek(old, tail, os.SEEK_SET)
        copy_bytes(old, new)


def _like(fd: int, found: os.stat_result) -> bool:
    """Gives `fd` the owner and the mode of the file it replaces; False where the owner cannot be kept."""
    mine = os.fstat(fd)
    if (mine.st_uid, mine.st_gid) != (found.st_uid, found.st_gid):
        try:
            os.fchown(fd, found.st_uid, found.st_gid)
        except PermissionError:
            return False
    os.fchmod(fd, stat.S_IMODE(found.st_mode))
    return True


def _rewrite(at: Place, change: Change) -> None:
    """The change made in the file itself."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with holding(os.open(at.name, flags, dir_fd=at.folder)) as fd:
        found = os.fstat(fd)
        _writable(at, found)
        head, tail = change.bounds(found.st_size)
        rest = os.pread(fd, found.st_size - tail, tail)
        os.lseek(fd, head, os.SEEK_SET)
        _write_all(fd, change.data + rest)
        os.ftruncate(fd, head + len(change.data) + len(rest))


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
