"""Worktrees of a real repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio

from actors.workspace import git, worktrees
from ahp.jsonrpc import Conflict, InternalError, InvalidParams
from tests.actors.workspace.repo import Repo


@pytest.fixture
def project(repo: Repo) -> Repo:
    repo.write(".gitignore", "node_modules/\n.env\n*.local\n")
    repo.commit("src/a", "packages/a/p")
    for name in (".env", "src/b.local", "src/c.local", "node_modules/x/.env", "packages/a/node_modules/y/f"):
        repo.write(name, name)
    repo.write("untracked.txt")
    return repo


async def test_a_tree_lies_beside_the_repository_on_a_branch_of_its_own(project: Repo) -> None:
    tree = await worktrees.create(project.path, {"worktreeBranchPrefix": "agent/"}, name="Fix the bug!")
    assert tree.root == tree.path == project.path.parent / "repo.worktrees/Fix-the-bug"
    assert tree.branch == "agent/Fix-the-bug"
    assert await git.current_branch(tree.root) == "agent/Fix-the-bug"
    assert sorted(os.listdir(tree.root)) == [".git", ".gitignore", "packages", "src"]
    again = await worktrees.create(tree.root / "src", {}, name="Fix the bug!")
    assert again.root == project.path.parent / "repo.worktrees/Fix-the-bug-2"
    assert again.path == again.root / "src"


async def test_trees_can_live_under_one_root(project: Repo, tmp_path: Path) -> None:
    tree = await worktrees.create(project.path, {}, root=tmp_path / "trees", name="one")
    assert tree.root == tmp_path / "trees/repo/one"
    await worktrees.remove(tree.path)
    assert not (tmp_path / "trees/repo").exists()


async def test_many_at_once_get_names_of_their_own(project: Repo) -> None:
    made: list[worktrees.Worktree] = []

    async def make() -> None:
        made.append(await worktrees.create(project.path, {}, name="same"))

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(make)
    assert len({tree.root for tree in made}) == len({tree.branch for tree in made}) == 5


async def test_links_come_first_and_then_copies_of_what_is_ignored(project: Repo) -> None:
    values = {
        "worktreeSymlinkFolders": ["node_modules", "src"],
        "worktreeIncludeFiles": ".env, *.local, !c.local, untracked.txt, src/a",
    }
    tree = await worktrees.create(project.path, values, name="equipped")
    assert tree.notes == []
    for folder in ("node_modules", "packages/a/node_modules"):
        assert os.readlink(tree.root / folder) == str(project.path / folder)
    assert (tree.root / ".env").read_text() == ".env"
    assert sorted(os.listdir(tree.root / "src")) == ["a", "b.local"]
    assert not (tree.root / "untracked.txt").exists()


async def test_what_cannot_be_equipped_is_noted_and_the_rest_goes_on(project: Repo) -> None:
    project.git("checkout", "--quiet", "-b", "other")
    project.commit("conf")
    project.git("checkout", "--quiet", "main")
    project.write("conf/.env")
    tree = await worktrees.create(project.path, {"branch": "other", "worktreeIncludeFiles": [".env"]}, name="t")
    assert len(tree.notes) == 1
    assert "conf/.env" in tree.notes[0]
    assert (tree.root / ".env").read_text() == ".env"


async def test_the_base_is_the_chosen_branch(project: Repo) -> None:
    project.git("checkout", "--quiet", "-b", "feature")
    project.commit("only-here")
    project.git("checkout", "--quiet", "main")
    tree = await worktrees.create(project.path, {"branch": "feature"}, name="from-feature")
    assert (tree.root / "only-here").exists()
    plain = await worktrees.create(
        project.path, {"branch": "feature", "worktreeCreateNewBranch": False}, name="as-it-is"
    )
    assert plain.branch == "feature"
    with pytest.raises(InvalidParams, match="checked out already"):
        await worktrees.create(project.path, {"branch": "main", "worktreeCreateNewBranch": False}, name="taken")
    assert sorted(os.listdir(plain.root.parent)) == ["as-it-is", "from-feature"]


async def test_a_new_branch_tracks_only_when_asked(project: Repo) -> None:
    project.git("update-ref", "refs/remotes/origin/main", "HEAD")
    project.git("config", "remote.origin.url", "nowhere")
    project.git("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    project.git("branch", "--quiet", "--set-upstream-to=origin/main", "main")
    alone = await worktrees.create(project.path, {"branch": "origin/main"}, name="alone")
    assert await git.upstream(alone.root, "alone") is None
    for base in ("main", "origin/main"):
        values = {"branch": base, "worktreeBranchTrack": True}
        tree = await worktrees.create(project.path, values, name="tracking")
        assert await git.upstream(tree.root, str(tree.branch)) == "origin/main"


@pytest.mark.parametrize(
    "values",
    [{"branch": "none"}, {"branch": "--force"}, {"branch": "main:src"}, {"worktreeBranchPrefix": "a..b/"},
     {"worktreeBranchPrefix": "-"}, {"worktreeBranchPrefix": "main/"}],
)  # fmt: skip
async def test_settings_that_do_not_fit_leave_nothing_behind(project: Repo, values: dict[str, object]) -> None:
    with pytest.raises(InvalidParams):
        await worktrees.create(project.path, values, name="x")
    assert not (project.path.parent / "repo.worktrees").exists()
    assert project.git("branch", "--format=%(refname:short)") == "main"


async def test_a_checkout_that_fails_leaves_nothing_behind(project: Repo) -> None:
    project.write(".gitattributes", "src/a filter=broken\n")
    project.commit()
    project.git("config", "filter.broken.smudge", "false")
    project.git("config", "filter.broken.required", "true")
    with pytest.raises(InternalError, match="could not be made"):
        await worktrees.create(project.path, {}, name="x")
    assert not (project.path.parent / "repo.worktrees").exists()
    assert project.git("branch", "--format=%(refname:short)") == "main"


async def test_a_cancelled_checkout_leaves_nothing_behind(project: Repo, tmp_path: Path) -> None:
    project.write(".gitattributes", "src/a filter=slow\n")
    project.commit()
    project.git("config", "filter.slow.smudge", f"touch {tmp_path}/begun; sleep 1000")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(worktrees.create, project.path, {})
        while not await trio.Path(tmp_path / "begun").exists():
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert not (project.path.parent / "repo.worktrees").exists()
    assert project.git("branch", "--format=%(refname:short)") == "main"


async def test_a_folder_without_a_repository_or_a_commit_is_refused(repo: Repo, tmp_path: Path) -> None:
    with pytest.raises(InvalidParams, match="no commit"):
        await worktrees.create(repo.path, {})
    with pytest.raises(InvalidParams, match="no Git repository"):
        await worktrees.create(tmp_path, {})


async def test_a_clean_tree_goes_and_its_branch_and_what_it_links_to_stay(project: Repo) -> None:
    values = {"worktreeSymlinkFolders": ["node_modules"], "worktreeIncludeFiles": [".env"]}
    tree = await worktrees.create(project.path, values, name="done")
    assert await worktrees.is_clean(tree.root)
    await worktrees.remove(tree.path)
    assert not tree.root.parent.exists()
    assert (project.path / "node_modules/x/.env").exists()
    assert "done" in project.git("branch", "--format=%(refname:short)").split()


async def test_a_tree_in_which_something_would_be_lost_stays(project: Repo) -> None:
    tree = await worktrees.create(project.path, {"worktreeSymlinkFolders": ["node_modules"]}, name="busy")
    (tree.root / "new file").touch()
    assert not await worktrees.is_clean(tree.root)
    with pytest.raises(Conflict, match="new file"):
        await worktrees.remove(tree.root)
    assert (tree.root / "node_modules").is_symlink()
    (tree.root / "new file").unlink()
    (tree.root / "src/a").write_text("changed")
    with pytest.raises(Conflict, match="src/a"):
        await worktrees.remove(tree.root)
    inside = Repo.__new__(Repo)
    inside.path, inside._date = tree.root, 1_800_000_000
    inside.git("checkout", "--quiet", "--detach")
    inside.git("commit", "--quiet", "--all", "--message", "on no branch")
    with pytest.raises(Conflict, match="on no branch"):
        await worktrees.remove(tree.root)
    inside.git("branch", "kept")
    await worktrees.remove(tree.root)
    assert not tree.root.exists()


async def test_only_worktrees_are_removed(project: Repo, tmp_path: Path) -> None:
    for path in (project.path, tmp_path, tmp_path / "none"):
        with pytest.raises(InvalidParams):
            await worktrees.remove(path)
    assert (project.path / "src/a").exists()
    tree = await worktrees.create(project.path, {}, name="locked")
    project.git("worktree", "lock", str(tree.root))
    with pytest.raises(Conflict, match="locked"):
        await worktrees.remove(tree.root)


def test_patterns_come_as_a_list_or_as_a_string_with_commas() -> None:
    assert worktrees.listed(".env, *.local,,") == (".env", "*.local")
    assert worktrees.listed([" .env", "", 3]) == (".env",)
    assert worktrees.listed(None) == worktrees.listed({"a": 1}) == ()
