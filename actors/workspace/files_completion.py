"""Completions of a person's message: `@` and some letters become files and folders of the working directories.

Called by the request handlers for each pause in typing, so it is bounded in everything: the files it knows, the time
it looks for them, the items it answers. Keeps no state.
"""

from __future__ import annotations

import heapq
import os
import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

import trio
from msgspec import Struct

from actors.workspace import git
from actors.workspace.content_type import content_type
from actors.workspace.git import GitError
from ahp import uris
from ahp.commands import CompletionItem
from ahp.state.chat import ResourceAttachment
from ahp.wire import UNSET

__all__ = ["TRIGGER_CHARACTERS", "complete"]

TRIGGER_CHARACTERS = ["@"]
"""What `initialize` announces: the characters after which a client asks."""

_MOST_ITEMS = 50
_MOST_FILES = 50_000
_LISTING_SECONDS = 3.0
_WALK_SECONDS = 0.5
_TOKEN = re.compile(r"(?:^|(?<=[\s(\[{\"'`,;:]))@([^\s@]*)\Z")
_SKIPPED = frozenset({"node_modules", "__pycache__", "venv"})


class _Found(Struct, frozen=True):
    """`name` as it is shown and inserted, folders with a slash at the end."""

    name: str
    path: Path


async def complete(folders: Sequence[Path], text: str, offset: int) -> list[CompletionItem]:
    """The items for `text` with the cursor at `offset` (UTF-16 code units), the best first; none where the cursor
    stands behind no `@`. With several folders, names begin with the folder's.
    """
    before = text.encode("utf-16-le", "surrogatepass")[: max(0, offset) * 2].decode("utf-16-le", "replace")
    token = _TOKEN.search(before)
    if token is None:
        return []
    names: list[_Found] = []
    for folder in folders:
        prefix = f"{folder.name}/" if len(folders) > 1 else ""
        names += [_Found(prefix + name, folder / name) for name in await _names(folder)]
    best = await trio.to_thread.run_sync(_best, names, token[1], abandon_on_cancel=True)
    end = len(before.encode("utf-16-le", "surrogatepass")) // 2
    start = end - len(token[0].encode("utf-16-le", "surrogatepass")) // 2
    return [_item(found, start, end) for found in best]


def _item(found: _Found, start: int, end: int) -> CompletionItem:
    folder = found.name.endswith("/")
    name = os.fsencode(found.name).decode(errors="replace")
    attachment = ResourceAttachment(
        label=PurePosixPath(name).name,
        uri=uris.file_uri(found.path),
        content_type=UNSET if folder else content_type(name) or UNSET,
        display_kind="directory" if folder else "document",
    )
    return CompletionItem(insert_text=f"@{name}", range_start=start, range_end=end, attachment=attachment)


async def _names(folder: Path) -> list[str]:
    """The files below `folder` that Git tracks or would track, and the folders they lie in; outside of repositories
    what a short walk finds.
    """
    try:
        listing = await git.run(
            folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard", timeout=_LISTING_SECONDS
        )
    except GitError:
        files = await trio.to_thread.run_sync(_walk, folder, abandon_on_cancel=True)
    else:
        # A folder in the listing is a repository of its own, a file may be there twice while it is being merged.
        files = [name for name in dict.fromkeys(os.fsdecode(listing).split("\0")) if name and not name.endswith("/")]
    return [*_parents(files), *files[:_MOST_FILES]]


def _parents(files: Iterable[str]) -> list[str]:
    found: dict[str, None] = {}
    for file in files:
        parent = file.rpartition("/")[0]
        while parent and parent + "/" not in found:
            found[parent + "/"] = None
            parent = parent.rpartition("/")[0]
    return list(found)


def _walk(folder: Path) -> list[str]:
    files: list[str] = []
    end = time.monotonic() + _WALK_SECONDS
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        inside = os.path.relpath(path, folder)
        files += names if inside == "." else [f"{inside}/{name}" for name in names]
        if len(files) > _MOST_FILES or time.monotonic() > end:
            break
    return files[:_MOST_FILES]


def _best(names: list[_Found], query: str) -> list[_Found]:
    """The names that hold the letters of `query` in order, those first where it stands together or begins a name."""
    wanted = query.casefold()
    scored: list[tuple[tuple[int, int, str], _Found]] = []
    for found in names:
        lower = found.name.casefold()
        if _holds(lower, wanted):
            scored.append(((_rank(lower, wanted), len(lower), lower), found))
    return [found for _, found in heapq.nsmallest(_MOST_ITEMS, scored, key=lambda one: one[0])]


def _holds(lower: str, wanted: str) -> bool:
    at = 0
    for letter in wanted:
        at = lower.find(letter, at) + 1
        if at == 0:
            return False
    return True


def _rank(lower: str, wanted: str) -> int:
    if not wanted:
        return lower.rstrip("/").count("/")
    last = lower.rstrip("/").rpartition("/")[2]
    if last == wanted.rstrip("/") or lower == wanted:
        return 0
    if last.startswith(wanted) or lower.startswith(wanted):
        return 1
    if wanted in last:
        return 2
    return 3 if wanted in lower else 4
