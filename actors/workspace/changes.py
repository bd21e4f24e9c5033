"""What changed in a checkout: the files of a changeset, with what they were before, and the counters of a session.

Compared are the files on the disk (untracked ones too, ignored ones not) with a commit: the one checked out, or the
one where the work parted from a base branch. The side before is read under `git-blob:` URIs (`git_blob`). Every step
is bounded, so a huge checkout costs a bounded answer: counters stay right, the list of files is cut. No state.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import trio
from msgspec import Struct

from actors.workspace import git
from actors.workspace.content_type import content_type
from actors.workspace.git_blob import blob_uri
from actors.workspace.worktree_files import is_link_out
from ahp import uris
from ahp.jsonrpc import InvalidParams, NotFound
from ahp.state.changeset import ChangesetFile
from ahp.state.common import ChangesSummary, ContentRef, FileDiff, FileEdit, FileEditSide
from ahp.wire import UNSET

__all__ = ["Changes", "changes"]

MOST_FILES = 2000
"""Files in one answer."""
_DIFF_SECONDS = 60.0
_DIFF = ("--raw", "--numstat", "-z", "--no-abbrev", "--find-renames", "-l1000", "--no-ext-diff", "--no-textconv",
         "--no-relative", "--no-color", "--ignore-submodules=dirty", "--diff-algorithm=default")  # fmt: skip
_COUNTED_FILES = 10_000
_COUNTED_FILE = 4 << 20
_COUNTED_ALL = 64 << 20
_SNIFFED = 8000
_PIECE = 1 << 16
_SUBMODULE = "160000"


class Changes(Struct, frozen=True, kw_only=True):
    """`files` sorted by path, at most `MOST_FILES`; `truncated` says that there are more. `summary` counts them all.

    `base` is the id of the commit compared with; None in a repository without one, where every file is new.
    """

    files: list[ChangesetFile]
    summary: ChangesSummary
    base: str | None
    truncated: bool


class _Change(Struct, frozen=True, kw_only=True):
    """Paths relative to the top of the checkout. `before` None: created, `after` None: deleted; counts None: binary."""

    before: str | None
    after: str | None
    added: int | None
    removed: int | None


async def changes(directory: Path, base: str | None = None) -> Changes:
    """The changes below `directory` since the commit that is checked out, or since the work parted from `base`.

    Raises `InvalidParams` where `directory` lies in no repository, `NotFound` for a `base` there is not, `GitError`
    where Git fails.
    """
    found = await git.repository(directory)
    if found is None:
        raise InvalidParams(f"{directory} lies in no Git repository")
    commit = await git.head(directory)
    if base is not None and commit is not None:
        commit = await git.merge_base(directory, base) if await git.head(directory, base) else None
        if commit is None:
            raise NotFound(f"{found.root} has no branch {base} with which it shares history")
    tracked = await _tracked(directory, commit or await _empty_tree(directory))
    untracked = await _untracked(directory)
    return await trio.to_thread.run_sync(_assemble, found.root, commit, tracked, untracked, abandon_on_cancel=True)


async def _empty_tree(directory: Path) -> str:
    return (await git.run(directory, "hash-object", "-t", "tree", "--stdin")).decode().strip()


async def _tracked(directory: Path, commit: str) -> list[_Change]:
    answer = await git.run(directory, "diff", *_DIFF, commit, "--", ".", timeout=_DIFF_SECONDS)
    return _parse(os.fsdecode(answer))


def _parse(answer: str) -> list[_Change]:
    """First come raw entries (`:modes ids status`, path or two paths), then the counts of the same files in the same
    order (`added, removed, path`, or no path and then two).
    """
    words = iter(answer.split("\0"))
    sides: dict[str, tuple[str | None, str | None]] = {}
    counts: dict[str, tuple[int | None, int | None]] = {}
    for word in words:
        if word.startswith(":"):
            old_mode, new_mode, _, _, status = word[1:].split(" ")
            path = next(words)
            renamed = next(words) if status[0] in "RC" else path
            if _SUBMODULE not in (old_mode, new_mode):
                before = None if status[0] in "AC" else path
                sides[renamed] = (before, None if status[0] == "D" else renamed)
        elif word:
            added, removed, path = word.split("\t", 2)
            if not path:
                next(words)
                path = next(words)
            counts[path] = (None, None) if added == "-" else (int(added), int(removed))
    found: list[_Change] = []
    for path, (before, after) in sides.items():
        plus, minus = counts.get(path, (None, None))
        found.append(_Change(before=before, after=after, added=plus, removed=minus))
    return found


async def _untracked(directory: Path) -> list[str]:
    options = ("--others", "--exclude-standard", "--full-name", "-z")
    answer = await git.run(directory, "ls-files", *options, "--", ".", timeout=_DIFF_SECONDS)
    return [name for name in os.fsdecode(answer).split("\0") if name and not name.endswith("/")]


def _assemble(root: Path, commit: str | None, tracked: list[_Change], untracked: list[str]) -> Changes:
    everything = [*tracked, *_count_untracked(root, untracked)]
    everything.sort(key=lambda change: change.after or change.before or "")
    summary = ChangesSummary(
        additions=sum(change.added or 0 for change in everything),
        deletions=sum(change.removed or 0 for change in everything),
        files=len(everything),
    )
    listed = [_file(root, commit, change) for change in everything[:MOST_FILES]]
    return Changes(files=listed, summary=summary, base=commit, truncated=len(everything) > MOST_FILES)


def _count_untracked(root: Path, untracked: list[str]) -> list[_Change]:
    left = _COUNTED_ALL
    found: list[_Change] = []
    for index, name in enumerate(untracked):
        try:
            size = (root / name).lstat().st_size
            if is_link_out(root, name):
                continue
            small = size <= min(left, _COUNTED_FILE) and index < _COUNTED_FILES
            lines = _lines(root / name) if small else None
        except OSError:
            continue  # It went while we looked.
        left -= size if lines is not None else 0
        found.append(_Change(before=None, after=name, added=lines, removed=None if lines is None else 0))
    return found


def _lines(path: Path) -> int | None:
    """As Git counts them; None for what it calls binary and for what is no file. A link's target is one line."""
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return 1
    if not stat.S_ISREG(mode):
        return None
    count, last = 0, b"\n"
    with open(path, "rb") as file:
        piece = file.read(_PIECE)
        if b"\0" in piece[:_SNIFFED]:
            return None
        while piece:
            count += piece.count(b"\n")
            last = piece[-1:]
            piece = file.read(_PIECE)
    return count + (last != b"\n")


def _file(root: Path, commit: str | None, change: _Change) -> ChangesetFile:
    before = after = None
    if change.before is not None and commit is not None:
        path = root / change.before
        content = ContentRef(uri=blob_uri(commit, path), content_type=content_type(path.name) or UNSET, nonce=commit)
        before = FileEditSide(uri=uris.file_uri(path), content=content)
    if change.after is not None:
        path = root / change.after
        after = FileEditSide(uri=uris.file_uri(path), content=_current(path))
    side = after or before
    assert side is not None
    counted = change.added is not None and change.removed is not None
    diff = FileDiff(added=change.added or 0, removed=change.removed or 0) if counted else UNSET
    return ChangesetFile(id=side.uri, edit=FileEdit(before=before or UNSET, after=after or UNSET, diff=diff))


def _current(path: Path) -> ContentRef:
    kind = content_type(path.name) or UNSET
    try:
        found = path.lstat()
    except OSError:
        return ContentRef(uri=uris.file_uri(path), content_type=kind)
    nonce = f"{found.st_mtime_ns:x}-{found.st_size:x}"
    return ContentRef(uri=uris.file_uri(path), size_hint=found.st_size, content_type=kind, nonce=nonce)
