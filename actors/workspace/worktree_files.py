"""What a new worktree gets from the checkout it was made from: links to ignored folders, then copies of ignored files.

Only what Git ignores is eligible, so nothing tracked is shadowed. Each link and copy is best effort: what fails is
said and the rest goes on. Called by `worktrees` alone.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import trio

from actors.workspace import git
from actors.workspace.git import GitError

__all__ = ["equip", "is_link_out"]

_MOST_FILES = 10_000
_MOST_BYTES = 1 << 30
_MOST_NOTES = 20


async def equip(source: Path, tree: Path, folders: Sequence[str], files: Sequence[str]) -> list[str]:
    """Links what the patterns `folders` (.gitignore syntax) find in `source`, then copies what `files` find.

    Returns what could not be done, in sentences.
    """
    notes: list[str] = []
    if folders:
        found = await _ignored(source, folders, ["--directory"], notes)
        wanted = [one.rstrip("/") for one in found if one.endswith("/")]
        notes += await trio.to_thread.run_sync(_link, source, tree, wanted)
    if files:
        notes += await trio.to_thread.run_sync(_copy, source, tree, await _ignored(source, files, [], notes))
    return notes[:_MOST_NOTES]


async def _ignored(source: Path, patterns: Sequence[str], more: list[str], notes: list[str]) -> list[str]:
    """The untracked paths that match `patterns` and that Git ignores, relative to `source`."""
    excludes = [f"--exclude={pattern}" for pattern in patterns]
    try:
        matching = await git.run(source, "ls-files", "--others", "--ignored", "-z", *more, *excludes)
        if not matching:
            return []
        ignored = await git.run(source, "check-ignore", "-z", "--stdin", stdin=matching, fine=(0, 1))
    except GitError as error:
        notes.append(str(error))
        return []
    return [one for one in os.fsdecode(ignored).split("\0") if one]


def _link(source: Path, tree: Path, folders: list[str]) -> list[str]:
    notes: list[str] = []
    for folder in folders:
        target = tree / folder
        try:
            if not os.path.lexists(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(source / folder, target_is_directory=True)
        except OSError as error:
            notes.append(f"{folder} was not linked: {error.strerror}")
    return notes


def _copy(source: Path, tree: Path, files: list[str]) -> list[str]:
    notes: list[str] = []
    left = _MOST_BYTES
    for file in files[:_MOST_FILES]:
        origin, target = source / file, tree / file
        try:
            if os.path.lexists(target) or _through_link(tree, file):
                continue
            size = origin.lstat().st_size
            if size > left:
                notes.append(f"{file} was not copied: all copies would be larger than {_MOST_BYTES >> 20} MiB")
                continue
            if not (origin.is_symlink() or origin.is_file()):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(origin, target, follow_symlinks=False)
            left -= size
        except OSError as error:
            notes.append(f"{file} was not copied: {error.strerror}")
    if len(files) > _MOST_FILES:
        notes.append(f"Only {_MOST_FILES} of {len(files)} files were copied")
    return notes


def _through_link(tree: Path, file: str) -> bool:
    """Whether a folder on the way is a link: the file is there already, in the checkout that the link leads to."""
    return any((tree / parent).is_symlink() for parent in Path(file).parents)


def is_link_out(root: Path, relative: str) -> bool:
    """Whether `relative` is a link as `equip` makes them: to the same path in another checkout."""
    path = root / relative.rstrip("/")
    try:
        target = os.readlink(path)
    except OSError:
        return False
    return target.endswith("/" + relative.rstrip("/")) and os.path.isabs(target) and not target.startswith(f"{root}/")
