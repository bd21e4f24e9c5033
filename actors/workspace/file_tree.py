"""Copying, moving, deleting and making files and folders. Blocking: `files.Files` calls these in worker threads.

What is replaced is put aside first and comes back if the new one does not make it. Inside a tree no link is followed:
links are copied and deleted as links.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from actors.workspace.file_write import copy_bytes, locked, temporary
from actors.workspace.places import (
    Access,
    Confine,
    NotRegular,
    Place,
    holding,
    locate,
    open_folder,
    open_regular,
    place,
    within,
)
from actors.workspace.refusals import Named, refusing
from ahp.jsonrpc import AlreadyExists, InvalidParams, NotFound

__all__ = ["copy", "delete", "make_folder", "move"]

_MISSING = "Resource not found"
_NO_PARENT = "Parent directory not found"
_ENTRY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def copy(source: Named, destination: Named, keep: bool, confine: Confine | None) -> None:
    """Copies a file or a whole folder; what stands at `destination` is replaced, or with `keep` refused.

    The source's links are followed, those inside a folder are copied; devices, pipes and sockets in it are left out.
    Raises `AlreadyExists`, `NotFound`, `InvalidParams` (a folder into itself).
    """
    with refusing(source, "copy", _MISSING):
        real, found = locate(source.path, "read", confine)
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            raise NotRegular(source.path)
    with (
        refusing(destination, "copy to", _NO_PARENT),
        place(destination.path, "write", confine) as to,
        locked(to.path),
    ):
        existing = _existing(to, destination, keep)
        if existing is not None and os.path.samestat(existing, found):
            return
        _apart(real, to.path, source, destination)
        name = temporary()
        try:
            with refusing(source, "copy", _MISSING):
                _copy_into(real, found, to.folder, name, confine)
            _put(to, existing, name)
        except BaseException:
            _remove(to.folder, name)
            raise


def move(source: Named, destination: Named, keep: bool, confine: Confine | None) -> None:
    """Renames, or across devices copies and deletes. A link is moved as a link. `keep` and errors as in `copy`."""
    with (
        refusing(source, "move", _MISSING),
        place(source.path, "write", confine) as come,
        refusing(destination, "move to", _NO_PARENT),
        place(destination.path, "write", confine) as to,
        locked(come.path, to.path),
    ):
        found = come.stat()
        if found is None:
            raise NotFound(f"{_MISSING}: {source.uri}")
        _no_root(come, source)
        existing = _existing(to, destination, keep and come.path != to.path)
        if come.path == to.path:
            return
        _apart(come.path, to.path, source, destination)
        _check_below(come, found, "write", confine)
        if existing is not None and os.path.samestat(existing, found):
            _rename_onto_itself(come, to, found)
            return
        try:
            _put(to, existing, come.name, come.folder)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _carry(come, found, to, existing, confine)


def delete(target: Named, recursive: bool, confine: Confine | None) -> None:
    """Deletes a file, a link or a folder. A folder that is not empty goes only when `recursive`: `NotFound` (the
    reference host's code for it) says so.
    """
    with refusing(target, "delete", _MISSING), place(target.path, "write", confine) as at, locked(at.path):
        found = at.stat()
        if found is None:
            raise NotFound(f"{_MISSING}: {target.uri}")
        _no_root(at, target)
        if not stat.S_ISDIR(found.st_mode):
            os.unlink(at.name, dir_fd=at.folder)
        elif recursive:
            _check_below(at, found, "write", confine)
            shutil.rmtree(at.name, dir_fd=at.folder)
        else:
            try:
                os.rmdir(at.name, dir_fd=at.folder)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                raise NotFound(f"The folder is not empty: {target.uri} (recursive deletes it whole)") from None


def make_folder(target: Named, confine: Confine | None) -> None:
    """Makes the folder and its missing parents. Raises `AlreadyExists` where something else stands in the way."""
    with refusing(target, "make the folder", _MISSING):
        real = Path(os.path.realpath(target.path))
        if confine is not None:
            confine(real, "write")
        for folder in [*reversed(real.parents), real]:
            if folder.is_dir():
                continue
            with place(folder, "write", confine) as at:
                # Another writer may have made it just now; what is no folder is told apart below.
                with suppress(FileExistsError):
                    os.mkdir(at.name, dir_fd=at.folder)
                found = at.stat()
                if found is None or not stat.S_ISDIR(found.st_mode):
                    raise AlreadyExists(f"Not a directory: {target.uri} ({folder} exists and is no folder)")


def _existing(to: Place, destination: Named, keep: bool) -> os.stat_result | None:
    existing = to.stat()
    if existing is not None and keep:
        raise AlreadyExists(f"Destination already exists: {destination.uri}")
    return existing


def _apart(source: Path, target: Path, named: Named, destination: Named) -> None:
    """Neither may lie in the other: a folder cannot hold itself, and replacing a folder would take what it holds."""
    if source != target and (within(target, source) or within(source, target)):
        raise InvalidParams(f"{named.uri} and {destination.uri}: one lies inside the other")


def _no_root(at: Place, target: Named) -> None:
    if at.name == ".":
        raise InvalidParams(f"{target.uri} is the root of the disk and stays")


def _check_below(at: Place, found: os.stat_result, access: Access, confine: Confine | None) -> None:
    """A folder goes only if the policy would let each thing in it go."""
    if confine is None or not stat.S_ISDIR(found.st_mode):
        return
    for folder, folders, files in os.walk(at.path):
        for name in (*folders, *files):
            confine(Path(folder, name), access)


def _put(to: Place, existing: os.stat_result | None, name: str, folder: int | None = None) -> None:
    """Gives what is called `name` in `folder` (default: beside it) the place `to`, replacing what is there."""
    folder = to.folder if folder is None else folder
    moved = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if existing is None or not (stat.S_ISDIR(existing.st_mode) or stat.S_ISDIR(moved.st_mode)):
        os.replace(name, to.name, src_dir_fd=folder, dst_dir_fd=to.folder)
        return
    aside = temporary()
    os.rename(to.name, aside, src_dir_fd=to.folder, dst_dir_fd=to.folder)
    try:
        os.rename(name, to.name, src_dir_fd=folder, dst_dir_fd=to.folder)
    except BaseException:
        os.rename(aside, to.name, src_dir_fd=to.folder, dst_dir_fd=to.folder)
        raise
    _remove(to.folder, aside)


def _carry(
    come: Place, found: os.stat_result, to: Place, existing: os.stat_result | None, confine: Confine | None
) -> None:
    """A move to another device."""
    name = temporary()
    try:
        if stat.S_ISLNK(found.st_mode):
            os.symlink(os.readlink(come.name, dir_fd=come.folder), name, dir_fd=to.folder)
        elif stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode):
            _copy_into(come.path, found, to.folder, name, confine)
        else:
            raise NotRegular(come.name)
        _put(to, existing, name)
    except BaseException:
        _remove(to.folder, name)
        raise
    _remove(come.folder, come.name)


def _rename_onto_itself(come: Place, to: Place, found: os.stat_result) -> None:
    """Two names of one file: the system's rename would leave both. With one link it is a change of case."""
    if found.st_nlink > 1 and stat.S_ISREG(found.st_mode):
        os.unlink(come.name, dir_fd=come.folder)
    else:
        os.rename(come.name, to.name, src_dir_fd=come.folder, dst_dir_fd=to.folder)


def _copy_into(source: Path, found: os.stat_result, folder: int, name: str, confine: Confine | None) -> None:
    if stat.S_ISDIR(found.st_mode):
        fd, real = open_folder(source, "read", confine)
        with holding(fd):
            _copy_folder(fd, real, folder, name, confine)
    else:
        with holding(open_regular(source, confine)) as fd:
            _copy_content(fd, folder, name)


def _copy_folder(source: int, path: Path, folder: int, name: str, confine: Confine | None) -> None:
    os.mkdir(name, 0o700, dir_fd=folder)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    with holding(os.open(name, flags, dir_fd=folder)) as target:
        with os.scandir(source) as entries:
            for entry in entries:
                if confine is not None:
                    confine(path / entry.name, "read")
                if entry.is_symlink():
                    os.symlink(os.readlink(entry.name, dir_fd=source), entry.name, dir_fd=target)
                elif entry.is_dir(follow_symlinks=False):
                    with holding(os.open(entry.name, flags, dir_fd=source)) as inner:
                        _copy_folder(inner, path / entry.name, target, entry.name, confine)
                elif entry.is_file(follow_symlinks=False):
                    with holding(os.open(entry.name, _ENTRY, dir_fd=source)) as inner:
                        _copy_content(inner, target, entry.name)
        os.fchmod(target, stat.S_IMODE(os.fstat(source).st_mode))


def _copy_content(source: int, folder: int, name: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with holding(os.open(name, flags, 0o600, dir_fd=folder)) as target:
        copy_bytes(source, target)
        os.fchmod(target, stat.S_IMODE(os.fstat(source).st_mode))


def _remove(folder: int, name: str) -> None:
    """Whatever `name` is, it goes; nothing there is fine."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):
        shutil.rmtree(name, dir_fd=folder)
