"""Changes of a real checkout, and what was there before them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from actors.workspace import changes as module
from actors.workspace import worktrees
from actors.workspace.changes import Changes, changes
from actors.workspace.git_blob import SCHEME, GitBlobs, blob_uri
from actors.workspace.places import under
from actors.workspace.resources import Resources
from ahp import uris, wire
from ahp.commands import ResourceReadParams, ResourceResolveParams
from ahp.jsonrpc import InvalidParams, NotFound
from tests.actors.workspace.disk import code_of
from tests.actors.workspace.repo import Repo


@pytest.fixture
def resources() -> Resources:
    served = Resources()
    served.register(SCHEME, GitBlobs())
    return served


def shown(found: Changes, root: Path) -> dict[str, str]:
    """name: "before -> after +added -removed", as a client would show it."""
    result: dict[str, str] = {}
    for file in found.files:
        edit = wire.to_builtins(file.edit)
        sides = [str(uris.path_of(edit[side]["uri"]).relative_to(root)) if side in edit else "" for side in
                 ("before", "after")]  # fmt: skip
        counts = "+{added} -{removed}".format(**edit["diff"]) if "diff" in edit else "binary"
        result[str(uris.path_of(file.id).relative_to(root))] = f"{sides[0]} -> {sides[1]} {counts}"
    return result


async def test_every_kind_of_change_is_listed_and_counted(repo: Repo) -> None:
    repo.write(".gitignore", "ignored\n")
    repo.write("old name", "".join(f"line {i}\n" for i in range(20)))
    repo.write("edited ☃", "1\n2\n3\n")
    repo.write("line\nbreak", "x\n")
    repo.write("image", b"\0\1")
    repo.commit("gone", "same")
    repo.git("mv", "old name", "new name")
    repo.write("edited ☃", "1\ntwo\n3\n4\n")
    repo.write("line\nbreak", "y")
    repo.write("image", b"\0\2")
    repo.write("untracked", "a\nb")
    repo.write("untracked binary", b"\0")
    repo.write("ignored", "x")
    repo.write("same", "x\n")
    (repo.path / "gone").unlink()
    (repo.path / "to nowhere").symlink_to("nowhere")
    found = await changes(repo.path)
    assert shown(found, repo.path) == {
        "edited ☃": "edited ☃ -> edited ☃ +2 -1",
        "gone": "gone ->  +0 -1",
        "image": "image -> image binary",
        "line\nbreak": "line\nbreak -> line\nbreak +1 -1",
        "new name": "old name -> new name +0 -0",
        "to nowhere": " -> to nowhere +1 -0",
        "untracked": " -> untracked +2 -0",
        "untracked binary": " -> untracked binary binary",
    }
    assert wire.to_builtins(found.summary) == {"additions": 6, "deletions": 3, "files": 8}
    assert not found.truncated


async def test_a_clean_checkout_has_no_changes(repo: Repo) -> None:
    repo.commit("a")
    os.utime(repo.path / "a", (1, 1))
    found = await changes(repo.path)
    assert found.files == []
    assert wire.to_builtins(found.summary) == {"additions": 0, "deletions": 0, "files": 0}


async def test_before_the_first_commit_everything_is_new(repo: Repo) -> None:
    repo.write("staged")
    repo.git("add", "--all")
    repo.write("untracked")
    found = await changes(repo.path)
    assert shown(found, repo.path) == {"staged": " -> staged +1 -0", "untracked": " -> untracked +1 -0"}
    assert found.base is None


async def test_a_branch_is_compared_with_where_it_parted(repo: Repo) -> None:
    parted = repo.commit("a")
    repo.git("checkout", "--quiet", "-b", "feature")
    repo.commit("committed")
    repo.git("checkout", "--quiet", "main")
    repo.commit("only on main")
    repo.git("checkout", "--quiet", "feature")
    repo.write("uncommitted")
    found = await changes(repo.path, "main")
    assert sorted(shown(found, repo.path)) == ["committed", "uncommitted"]
    assert found.base == parted
    with pytest.raises(NotFound, match="no branch nowhere"):
        await changes(repo.path, "nowhere")


async def test_a_folder_sees_only_what_lies_in_it(repo: Repo, tmp_path: Path) -> None:
    repo.commit("sub/a", "b")
    repo.git("config", "diff.relative", "true")
    repo.write("sub/a", "changed")
    repo.write("b", "changed")
    assert list(shown(await changes(repo.path / "sub"), repo.path)) == ["sub/a"]
    with pytest.raises(InvalidParams):
        await changes(tmp_path)


async def test_the_links_of_a_worktree_are_no_changes(repo: Repo) -> None:
    repo.write(".gitignore", "node_modules/\n")
    repo.commit("a")
    repo.write("node_modules/x")
    tree = await worktrees.create(repo.path, {"worktreeSymlinkFolders": ["node_modules"]})
    assert (await changes(tree.path)).files == []


async def test_many_changes_are_cut_and_still_counted(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FILES", 3)
    monkeypatch.setattr(module, "_COUNTED_FILES", 4)
    repo.commit()
    for i in range(10):
        repo.write(f"{i}")
    found = await changes(repo.path)
    assert len(found.files) == 3
    assert found.truncated
    assert wire.to_builtins(found.summary) == {"additions": 4, "deletions": 0, "files": 10}


async def test_the_side_before_is_read_by_its_uri(repo: Repo, resources: Resources) -> None:
    repo.write("sub dir/a%.py", "héllo\n")
    repo.write("image.png", b"\xff\0")
    repo.commit()
    repo.write("image.png", b"\xff\1")
    shutil.rmtree(repo.path / "sub dir")
    found = {uris.path_of(file.id).name: file.edit for file in (await changes(repo.path)).files}
    before = wire.to_builtins(found["a%.py"])["before"]["content"]
    assert before["contentType"] == "text/x-python"
    read = await resources.read(ResourceReadParams(uri=before["uri"]))
    assert (read.data, read.encoding, read.content_type) == ("héllo\n", "utf-8", "text/x-python")
    resolved = await resources.resolve(ResourceResolveParams(uri=before["uri"]))
    assert (resolved.type, resolved.size) == ("file", 7)
    image = wire.to_builtins(found["image.png"])["before"]["content"]["uri"]
    assert (await resources.read(ResourceReadParams(uri=image))).encoding == "base64"


async def test_a_blob_that_is_none_is_not_found(repo: Repo, resources: Resources, tmp_path: Path) -> None:
    commit = repo.commit("sub/a")
    for uri in (
        blob_uri(commit, repo.path / "none"),
        blob_uri(commit, repo.path / "sub"),
        blob_uri("0" * 40, repo.path / "sub/a"),
        blob_uri(commit, tmp_path / "elsewhere"),
        blob_uri(commit, Path("/nowhere/at/all")),
    ):
        assert await code_of(resources.read(ResourceReadParams(uri=uri))) == -32008
        assert await code_of(resources.resolve(ResourceResolveParams(uri=uri))) == -32008
    for uri in ("git-blob:x", "git-blob://HEAD/a", f"git-blob://{commit}/a%00", f"git-blob://{commit}"):
        assert await code_of(resources.read(ResourceReadParams(uri=uri))) == -32602


async def test_who_may_not_read_the_file_may_not_read_its_past(repo: Repo, resources: Resources) -> None:
    commit = repo.commit("open/a", "closed/a")
    confine = under([repo.path / "open"])
    (repo.path / "open/link").symlink_to("../closed")
    fine = ResourceReadParams(uri=blob_uri(commit, repo.path / "open/a"))
    assert (await resources.read(fine, confine)).data == "x\n"
    for path in ("closed/a", "open/../closed/a", "open/link/a"):
        asked = ResourceReadParams(uri=blob_uri(commit, repo.path / path))
        assert await code_of(resources.read(asked, confine)) == -32009
