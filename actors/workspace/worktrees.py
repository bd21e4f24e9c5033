"""Git worktrees for sessions: made from a session's settings, equipped with ignored files, removed if nothing is lost.

A tree lies at `<repository>.worktrees/<name>`, or under one root at `<root>/<repository's name>/<name>`. Called by the
actors that own sessions; the trees themselves are all the state there is.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import trio
from msgspec import Struct

from actors.workspace import git
from actors.workspace.git import GitError, Repository
from actors.workspace.worktree_files import equip, is_link_out
from ahp.jsonrpc import Conflict, InternalError, InvalidParams
from ahp.wire import JSON

__all__ = ["Options", "Worktree", "create", "is_clean", "listed", "remove"]

_CHECKOUT = 600.0
_MOST_NAMES = 1000
_CLEAN_UP = 10


class Options(Struct, frozen=True, kw_only=True):
    """The settings of a worktree (digest 2, Config keys). `branch` None: what is checked out now."""

    branch: str | None = None
    include_files: tuple[str, ...] = ()
    symlink_folders: tuple[str, ...] = ()
    branch_prefix: str = ""
    create_new_branch: bool = True
    branch_track: bool = False

    @classmethod
    def of(cls, values: Mapping[str, JSON]) -> Options:
        """From the values of a session's config; what is absent or of another type has its default."""
        branch, prefix = values.get("branch"), values.get("worktreeBranchPrefix")
        return cls(
            branch=branch if isinstance(branch, str) and branch else None,
            include_files=listed(values.get("worktreeIncludeFiles")),
            symlink_folders=listed(values.get("worktreeSymlinkFolders")),
            branch_prefix=prefix if isinstance(prefix, str) else "",
            create_new_branch=values.get("worktreeCreateNewBranch") is not False,
            branch_track=values.get("worktreeBranchTrack") is True,
        )


class Worktree(Struct, frozen=True, kw_only=True):
    """A tree that was made. `path`: the folder to work in, which stands to `root` as the asked-for folder to its
    checkout. `branch` None: a detached head. `notes`: what of the equipment could not be had, in sentences.
    """

    path: Path
    root: Path
    repository: Path
    branch: str | None
    notes: list[str]


def listed(value: JSON) -> tuple[str, ...]:
    """A list of patterns as a setting has it: a list of strings, or one string with commas."""
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(part.strip() for part in parts if isinstance(part, str) and part.strip())


async def create(
    directory: Path, values: Mapping[str, JSON], *, root: Path | None = None, name: str | None = None
) -> Worktree:
    """Makes a tree for the checkout that `directory` lies in, as the config `values` say.

    `name` (default: a new one) names the folder and the new branch; a taken one gets a number. Raises `InvalidParams`
    where the settings do not fit the repository and `InternalError` where Git fails; either leaves nothing behind.
    """
    options = Options.of(values)
    found = await git.repository(directory)
    if found is None:
        raise InvalidParams(
            f"{directory} lies in no Git repository, so it cannot have a worktree: use isolation folder"
        )
    if await git.head(found.root) is None:
        raise InvalidParams(f"{found.root} has no commit yet, and a worktree starts from one")
    base = options.branch or await git.current_branch(found.root) or "HEAD"
    if base.startswith("-") or await git.head(found.root, base) is None:
        raise InvalidParams(f"branch: {found.root} has no branch {base}")
    folder = (root / found.main.name) if root is not None else found.main.with_name(found.main.name + ".worktrees")
    tree, branch = await _reserve(found, folder, name or f"session-{secrets.token_hex(3)}", base, options)
    try:
        await _check_out(found, tree, branch, base, options)
        notes = await equip(found.root, tree, options.symlink_folders, options.include_files)
    except BaseException:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + _CLEAN_UP):
            await _undo(found, tree, branch)
        raise
    real = Path(await trio.Path(directory).resolve())
    inside = tree / real.relative_to(found.root) if real.is_relative_to(found.root) else tree
    path = inside if await trio.Path(inside).is_dir() else tree
    checked_out = branch or await git.current_branch(tree)
    return Worktree(path=path, root=tree, repository=found.main, branch=checked_out, notes=notes)


async def _reserve(found: Repository, folder: Path, name: str, base: str, options: Options) -> tuple[Path, str | None]:
    """An empty folder that was not there and, if the settings want one, a branch that was not: both are ours now."""
    slug = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "session"
    try:
        await trio.Path(folder).mkdir(parents=True, exist_ok=True)
        folder = Path(await trio.Path(folder).resolve())
        for number in range(1, _MOST_NAMES):
            numbered = slug if number == 1 else f"{slug}-{number}"
            tree = folder / numbered
            try:
                await trio.Path(tree).mkdir()
            except FileExistsError:
                continue
            if not options.create_new_branch:
                return tree, None
            branch = options.branch_prefix + numbered
            try:
                if await _new_branch(found, branch, base):
                    return tree, branch
            except BaseException:
                await _tidy(tree)
                raise
            await trio.Path(tree).rmdir()
    except OSError as error:
        raise InternalError(f"No worktree can be made in {folder}: {error.strerror}") from error
    raise InternalError(f"{folder} has no free name like {slug}")


async def _new_branch(found: Repository, branch: str, base: str) -> bool:
    """Makes it; False where there is one of that name."""
    try:
        await git.run(found.root, "check-ref-format", f"refs/heads/{branch}")
    except GitError:
        raise InvalidParams(f"worktreeBranchPrefix: {branch!r} cannot be the name of a branch") from None
    try:
        await git.run(found.root, "branch", "--quiet", "--no-track", "--", branch, base)
    except GitError as error:
        if await git.run(found.root, "for-each-ref", "--count=1", f"refs/heads/{branch}"):
            return False
        raise InvalidParams(f"The branch {branch} cannot be made: {error.said}") from error
    return True


async def _check_out(found: Repository, tree: Path, branch: str | None, base: str, options: Options) -> None:
    local = await git.run(found.root, "for-each-ref", "--count=1", f"refs/heads/{base}")
    how = [str(tree), branch or base] if branch or local else ["--detach", str(tree), base]
    try:
        await git.run(found.root, "worktree", "add", "--quiet", *how, timeout=_CHECKOUT)
        if branch is not None and options.branch_track:
            source = await git.upstream(found.root, base) if local else base
            if source is not None and source != "HEAD":
                await git.run(tree, "branch", "--quiet", f"--set-upstream-to={source}", branch)
    except GitError as error:
        if "already checked out" in error.said or "already used by worktree" in error.said:
            raise InvalidParams(
                f"branch: {base} is checked out already; a worktree of it needs worktreeCreateNewBranch"
            ) from error
        raise InternalError(f"The worktree could not be made: {error}") from error


async def _undo(found: Repository, tree: Path, branch: str | None) -> None:
    for command in (["worktree", "remove", "--force", str(tree)], ["worktree", "prune"]):
        with suppress(GitError):
            await git.run(found.root, *command)
    if branch is not None:
        with suppress(GitError):
            await git.run(found.root, "branch", "--quiet", "-D", branch)
    await _tidy(tree)


async def is_clean(path: Path) -> bool:
    """Whether everything in the checkout is committed or ignored. Links that a worktree was equipped with count not.

    Raises `InvalidParams` outside of repositories.
    """
    found = await git.repository(path)
    if found is None:
        raise InvalidParams(f"{path} lies in no Git repository")
    changed, _ = await _changed(found.root)
    return not changed


async def _changed(root: Path) -> tuple[list[str], list[str]]:
    """The paths that are neither committed nor ignored, and beside them the links a worktree was equipped with."""
    status = await git.run(root, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal")
    entries = os.fsdecode(status).rstrip("\0").split("\0") if status else []
    untracked = [entry[3:] for entry in entries if entry.startswith("?? ")]
    links = await trio.to_thread.run_sync(lambda: [one for one in untracked if is_link_out(root, one)])
    return [entry[3:] for entry in entries if entry[3:] not in links], links


async def remove(path: Path) -> None:
    """Removes the tree that `path` lies in; its branch stays. The caller knows that no session runs in it.

    Raises `Conflict` where something would be lost (changes, commits that no branch holds) or the tree is locked, and
    `InvalidParams` for what is no worktree.
    """
    found = await git.repository(path)
    if found is None or not found.linked:
        raise InvalidParams(f"{path} is no Git worktree")
    changed, links = await _changed(found.root)
    if changed:
        some = ", ".join(changed[:3]) + (" …" if len(changed) > 3 else "")
        raise Conflict(f"{found.root} has changes that are not committed: {some}")
    if await git.current_branch(found.root) is None:
        held = await git.run(found.root, "for-each-ref", "--count=1", "--contains=HEAD", "refs/heads", "refs/remotes")
        if not held:
            raise Conflict(f"{found.root} has commits that are on no branch")
    for link in links:  # Git would call them a loss; what they lead to stays where it is.
        await trio.Path(found.root / link).unlink()
    try:
        await git.run(found.main, "worktree", "remove", str(found.root), timeout=_CHECKOUT)
    except GitError as error:
        raise Conflict(f"The worktree was not removed: {error}") from error
    await _tidy(found.root)


async def _tidy(tree: Path) -> None:
    """An empty folder goes, and the folder that held the trees of a repository goes with the last of them."""
    for folder in (tree, tree.parent):
        with suppress(OSError):
            await trio.Path(folder).rmdir()
