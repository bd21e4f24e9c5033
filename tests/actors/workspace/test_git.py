"""Questions to a real Git."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from actors.workspace import git
from actors.workspace.git import GitError
from tests.actors.workspace.repo import Repo


async def test_a_repository_is_known_from_everywhere_in_it(repo: Repo) -> None:
    repo.commit("sub dir/a")
    repo.git("worktree", "add", "--quiet", str(repo.path.parent / "linked tree"), "-b", "side")
    found = await git.repository(repo.path / "sub dir")
    assert found == git.Repository(root=repo.path, main=repo.path, common=repo.path / ".git", linked=False)
    tree = repo.path.parent / "linked tree"
    linked = await git.repository(tree / "sub dir")
    assert linked == git.Repository(root=tree, main=repo.path, common=repo.path / ".git", linked=True)
    assert await git.main_checkout(tree) == repo.path
    assert await git.current_branch(tree) == "side"


async def test_what_is_no_repository_is_none(repo: Repo, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "file").touch()
    for folder in (plain, plain / "file", plain / "none", repo.path / ".git"):
        assert not await git.is_repository(folder)
        assert await git.main_checkout(folder) is None
    assert await git.current_branch(plain) is None


async def test_a_repository_without_a_commit_has_a_branch_and_no_head(repo: Repo) -> None:
    assert await git.current_branch(repo.path) == "main"
    assert await git.head(repo.path) is None
    assert await git.branches(repo.path) == []


async def test_branches_come_latest_first_and_by_query(repo: Repo) -> None:
    repo.commit("a")
    repo.git("branch", "Old/Feature")
    repo.git("update-ref", "refs/remotes/origin/feature", "HEAD")
    repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/feature")
    repo.git("checkout", "--quiet", "-b", "new-feature")
    repo.commit("b")
    assert [branch.name for branch in await git.branches(repo.path)][:1] == ["new-feature"]
    found = await git.branches(repo.path, "feature")
    assert [branch.name for branch in found] == ["new-feature", "Old/Feature", "origin/feature"]
    assert [branch.remote for branch in found] == [False, False, True]
    assert len(await git.branches(repo.path, limit=2)) == 2


async def test_git_gets_neither_our_variables_nor_a_hook_of_the_repository(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    repo.commit("a")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    ran = tmp_path / "ran"
    repo.git("config", "core.fsmonitor", f"touch {ran}")
    assert await git.run(repo.path, "status", "--porcelain") == b""
    assert not ran.exists()


async def test_a_failure_says_what_and_where(repo: Repo) -> None:
    with pytest.raises(GitError, match=r"git show failed in .*repo: fatal: .*nothing") as caught:
        await git.run(repo.path, "show", "nothing")
    assert "\n" not in str(caught.value)


async def test_a_command_that_says_too_much_or_never_ends_is_ended(repo: Repo) -> None:
    repo.write("big", b"x" * 3_000_000)
    repo.commit()
    with pytest.raises(GitError, match="more than 1000 bytes"):
        await git.run(repo.path, "cat-file", "blob", "HEAD:big", limit=1000)
    repo.git("config", "alias.forever", "!sleep 1000")
    with pytest.raises(GitError, match=r"longer than 0\.2 seconds"):
        await git.run(repo.path, "forever", timeout=0.2)


async def test_a_clock_that_jumps_ends_no_command(repo: Repo, autojump_clock: trio.testing.MockClock) -> None:
    repo.commit("a")
    with trio.CancelScope():
        assert await git.head(repo.path) is not None


async def test_no_git_is_a_sentence(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(GitError, match="not installed"):
        await git.run(repo.path, "status")


async def test_revisions_that_look_like_options_are_none(repo: Repo) -> None:
    repo.commit("a")
    assert await git.head(repo.path, "--all") is None
    assert await git.merge_base(repo.path, "--all") is None
    assert await git.merge_base(repo.path, "main") == await git.head(repo.path)
