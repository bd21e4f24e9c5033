"""Git through its command line, each question one child process, killed when it takes too long or says too much.

The children get a cleaned environment: nothing of the daemon's own Git variables, no prompt, no pager, no editor, no
hook, no file system monitor, no lock taken only to remember something. Nothing here changes a repository; the modules
that do (`worktrees`) run their commands through `run`. Stateless; anybody in this package may call it, and the actors.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path

import trio
from msgspec import Struct

__all__ = ["Branch", "GitError", "Repository", "branches", "current_branch", "head", "is_repository", "main_checkout",
           "merge_base", "repository", "run", "upstream"]  # fmt: skip

_KEPT = frozenset({"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"})
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "GCM_INTERACTIVE": "never",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": ":",
    "LC_ALL": "C",
}
_OPTIONS = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false")

TIMEOUT = 30.0
"""Seconds a command may take, unless told otherwise."""
LIMIT = 64 << 20
"""Bytes a command may answer, unless told otherwise."""
_BRANCHES = 200
_GRACE = 2.0


class GitError(Exception):
    """Git could not do it. `str(error)` is a sentence for a person, `said` what Git itself wrote, in one line."""

    def __init__(self, message: str, said: str = "") -> None:
        super().__init__(message)
        self.said = said


class Repository(Struct, frozen=True):
    """Where a checkout is: `root` the top of its files, `main` that of the main checkout (the same unless `linked`),
    `common` the folder of what all its checkouts share. Real paths.
    """

    root: Path
    main: Path
    common: Path
    linked: bool


class Branch(Struct, frozen=True):
    """A branch: `name` as Git takes it (`main`, `origin/main`), `date` of its last commit (ISO 8601)."""

    name: str
    date: str
    remote: bool


async def run(
    folder: Path,
    *args: str,
    stdin: bytes = b"",
    timeout: float = TIMEOUT,
    limit: int = LIMIT,
    fine: tuple[int, ...] = (0,),
) -> bytes:
    """What `git <args>` answers in `folder`. Raises `GitError` for an exit code that is not `fine`, past `timeout`
    seconds and past `limit` bytes. A cancelled command is ended before this returns.
    """
    command = ["git", *_OPTIONS, "-C", str(folder), *args]
    output, errors = bytearray(), bytearray()
    late = threading.Event()
    missing, timer = False, None
    try:
        async with trio.open_nursery() as nursery:
            process: trio.Process = await nursery.start(
                partial(
                    trio.run_process,
                    command,
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    check=False,
                    env=_environment(),
                    start_new_session=True,
                    deliver_cancel=_cancel,
                )
            )
            assert process.stdout is not None
            assert process.stderr is not None
            timer = threading.Timer(
                timeout, _end, (process.pid, late)
            )  # A child lives in real time, whatever our clock.
            timer.daemon = True
            timer.start()
            nursery.start_soon(_drain, process, process.stderr, errors, limit)
            nursery.start_soon(_drain, process, process.stdout, output, limit)
    except* FileNotFoundError:
        missing = True
    finally:
        if timer is not None:
            timer.cancel()
    if missing:
        raise GitError("git is not installed, or not on the PATH of this host")
    if late.is_set():
        raise GitError(f"git {args[0]} took longer than {timeout:g} seconds in {folder}")
    if len(output) > limit:
        raise GitError(f"git {args[0]} had more than {limit} bytes to say in {folder}")
    if process.returncode not in fine:
        said = " ".join(errors.decode(errors="replace").split())
        raise GitError(f"git {args[0]} failed in {folder}: {said or f'exit code {process.returncode}'}", said)
    return bytes(output)


def _environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_") or key in _KEPT}
    return kept | _ENVIRONMENT


def _signal(group: int, what: signal.Signals) -> None:
    """The command leads a process group of its own; what it started ends with it."""
    with suppress(ProcessLookupError):
        os.killpg(group, what)


def _end(group: int, late: threading.Event) -> None:
    late.set()
    _signal(group, signal.SIGKILL)


async def _cancel(process: trio.Process) -> None:
    """Git takes its lock files away when it is asked to end."""
    _signal(process.pid, signal.SIGTERM)
    await trio.sleep(_GRACE)
    _signal(process.pid, signal.SIGKILL)


async def _drain(process: trio.Process, stream: trio.abc.ReceiveStream, into: bytearray, limit: int) -> None:
    async with stream:
        async for piece in stream:
            into += piece
            if len(into) > limit:
                process.kill()
                return


async def repository(folder: Path) -> Repository | None:
    """The repository whose checkout `folder` lies in; None where it lies in none (or is no folder, or a bare one)."""
    questions = ("--show-toplevel", "--git-common-dir", "--absolute-git-dir")
    try:
        answer = await run(folder, "rev-parse", "--path-format=absolute", *questions)
    except GitError:
        return None
    lines = answer.rstrip(b"\n").split(b"\n")
    if len(lines) != len(questions):
        return None  # A path with a line break in it, which Git answers unquoted.
    root, common, own = (Path(os.fsdecode(line)) for line in lines)
    linked = own != common and common.name == ".git"
    return Repository(root=root, main=common.parent if linked else root, common=common, linked=own != common)


async def is_repository(folder: Path) -> bool:
    """Whether `folder` lies in a checkout of a Git repository."""
    return await repository(folder) is not None


async def main_checkout(folder: Path) -> Path | None:
    """The top folder of the main checkout of the repository that `folder` lies in; None where it lies in none."""
    found = await repository(folder)
    return None if found is None else found.main


async def head(folder: Path, revision: str = "HEAD") -> str | None:
    """The id of the commit that `revision` names; None where it names none (a repository without a commit)."""
    asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    answer = await run(folder, *asked, fine=(0, 1, 128))
    return answer.decode().strip() or None


async def merge_base(folder: Path, one: str, other: str = "HEAD") -> str | None:
    """The id of the commit where the two histories part; None where they have nothing in common."""
    answer = await run(folder, "merge-base", "--end-of-options", one, other, fine=(0, 1, 128))
    return answer.decode().strip() or None


async def current_branch(folder: Path) -> str | None:
    """The branch that is checked out; None for a detached head and outside of repositories."""
    answer = await run(folder, "symbolic-ref", "--quiet", "--short", "HEAD", fine=(0, 1, 128))
    return os.fsdecode(answer).strip() or None


async def upstream(folder: Path, branch: str) -> str | None:
    """What the local `branch` tracks (`origin/main`); None where it tracks nothing."""
    refs = await run(folder, "for-each-ref", "--format=%(upstream:short)", f"refs/heads/{branch}")
    return os.fsdecode(refs).strip() or None


async def branches(folder: Path, query: str = "", limit: int = _BRANCHES) -> list[Branch]:
    """The branches whose names contain `query` (in any case), latest commit first, local ones before remote ones."""
    format = "%(refname)%00%(refname:short)%00%(committerdate:iso-strict)%00%(symref)"
    refs = await run(
        folder, "for-each-ref", "--sort=-committerdate", f"--format={format}", "refs/heads", "refs/remotes"
    )
    found: list[Branch] = []
    for line in os.fsdecode(refs).splitlines():
        full, name, date, symbolic = line.split("\0")
        if not symbolic and query.casefold() in name.casefold():
            found.append(Branch(name=name, date=date, remote=full.startswith("refs/remotes/")))
    found.sort(key=lambda branch: branch.remote)
    return found[:limit]
