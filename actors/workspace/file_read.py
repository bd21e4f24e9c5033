"""Looking at files: content, listings, metadata. Blocking: `files.Files` calls these in worker threads."""

from __future__ import annotations

import base64
import os
import stat

from actors.workspace.content_type import BINARY, TEXT, content_type
from actors.workspace.file_stat import created, etag, iso, kind_of
from actors.workspace.places import Confine, holding, locate, open_folder, open_regular, place
from actors.workspace.refusals import Named, refusing
from ahp import uris
from ahp.commands import DirectoryEntry, ResourceListResult, ResourceReadResult, ResourceResolveResult
from ahp.jsonrpc import InternalError
from ahp.wire import UNSET

__all__ = ["content_of", "list_folder", "read_file", "resolve"]


def read_file(target: Named, encoding: str | None, limit: int, confine: Confine | None) -> ResourceReadResult:
    """The whole content, at most `limit` bytes. Bytes that are not UTF-8 come as base64 whatever was asked."""
    with (
        refusing(target, "read content", "Content not found"),
        holding(open_regular(target.path, confine)) as fd,
    ):
        size = os.fstat(fd).st_size
        if size > limit:
            raise _too_large(target.uri, limit)
        data = _read(fd, size, limit)
        if len(data) > limit:
            raise _too_large(target.uri, limit)
    return content_of(data, target.path.name, encoding)


def content_of(data: bytes, name: str, encoding: str | None) -> ResourceReadResult:
    """`data` as the answer to a read of something called `name`."""
    kind = content_type(name)
    if encoding != "base64":
        try:
            return ResourceReadResult(data=data.decode(), encoding="utf-8", content_type=kind or TEXT)
        except UnicodeDecodeError:
            pass
    kind = kind or (TEXT if encoding == "base64" and _is_text(data) else BINARY)
    return ResourceReadResult(data=base64.b64encode(data).decode(), encoding="base64", content_type=kind)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _read(fd: int, size: int, limit: int) -> bytes:
    """To the end; the size is a hint, for a file may grow, and files of the system say 0."""
    data = os.read(fd, size + 1)
    pieces = [data]
    total = len(data)
    while data and total <= limit and not (len(pieces) == 1 and 0 < size == total):
        data = os.read(fd, min(1 << 20, limit + 1 - total))
        pieces.append(data)
        total += len(data)
    return b"".join(pieces) if len(pieces) > 1 else pieces[0]


def _too_large(uri: str, limit: int) -> InternalError:
    return InternalError(f"Failed to read content: {uri}: it is larger than {limit // (1 << 20)} MiB")


def list_folder(target: Named, confine: Confine | None) -> ResourceListResult:
    """The names in a folder, sorted. A link has the type of what it leads to, and is a file where that is nothing."""
    with refusing(target, "list the folder", "Directory not found"):
        try:
            fd, _ = open_folder(target.path, "read", confine)
        except NotADirectoryError:
            missing = "Not a directory" if os.path.lexists(target.path) else "Directory not found"
            with refusing(target, "list the folder", missing):
                raise
        with holding(fd), os.scandir(fd) as entries:
            found = sorted((entry.name, _leads_to_folder(entry)) for entry in entries)
    return ResourceListResult(
        entries=[
            DirectoryEntry(name=_printable(name), type="directory" if folder else "file") for name, folder in found
        ]
    )


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # A link that leads round in a circle, or where one may not look.


def _printable(name: str) -> str:
    """JSON has no way to write a name that is no UTF-8; what is wrong in it is shown as such."""
    return os.fsencode(name).decode(errors="replace")


def resolve(target: Named, follow: bool, confine: Confine | None) -> ResourceResolveResult:
    """What is there; `uri` is the one with every link resolved, the asked-for one where that says the same."""
    with refusing(target, "resolve", "Resource not found"):
        if follow:
            real, found = locate(target.path, "read", confine)
            uri = target.uri if real == target.path else uris.file_uri(real)
        else:
            with place(target.path, "read", confine) as at:
                real, uri = at.path, target.uri
                found = os.stat(at.name, dir_fd=at.folder, follow_symlinks=False)
    folder = stat.S_ISDIR(found.st_mode)
    born = created(real, found)
    return ResourceResolveResult(
        uri=uri,
        type=kind_of(found),
        size=UNSET if folder else found.st_size,
        mtime=iso(found.st_mtime),
        ctime=UNSET if born is None else iso(born),
        content_type=(content_type(real.name) or UNSET) if stat.S_ISREG(found.st_mode) else UNSET,
        etag=etag(found),
    )
