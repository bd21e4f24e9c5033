"""`@` in a message."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actors.workspace.files_completion import complete
from ahp import uris, wire
from tests.actors.workspace.repo import Repo


@pytest.fixture
def project(repo: Repo) -> Repo:
    repo.write(".gitignore", "ignored\n")
    repo.commit("src/main.py", "src/deep/domain.py", "docs/main page.md", "README.md")
    repo.write("ignored")
    repo.write("new ☃.txt")
    return repo


async def names(folders: list[Path], text: str, offset: int | None = None) -> list[str]:
    items = await complete(
        folders, text, len(text.encode("utf-16-le", "surrogatepass")) // 2 if offset is None else offset
    )
    wire.encode(items)
    return [item.insert_text for item in items]


async def test_a_lone_at_offers_what_lies_on_top(project: Repo) -> None:
    offered = await names([project.path], "@")
    top = ["@docs/", "@src/", "@README.md", "@.gitignore", "@new ☃.txt"]
    assert set(offered[:5]) == set(top)
    assert "@ignored" not in offered


async def test_letters_in_order_are_enough_and_the_best_comes_first(project: Repo) -> None:
    assert (await names([project.path], "see @main"))[:2] == ["@src/main.py", "@docs/main page.md"]
    assert await names([project.path], "@sddm") == ["@src/deep/domain.py"]
    assert (await names([project.path], "@SRC/MAIN.PY"))[0] == "@src/main.py"
    assert await names([project.path], "@zzz") == []


async def test_the_item_replaces_the_token_in_utf16_units(project: Repo) -> None:
    text = "😀 @readme and more"
    (item,) = await complete([project.path], text, 10)
    assert (item.range_start, item.range_end) == (3, 10)
    attachment = wire.to_builtins(item.attachment)
    assert attachment == {
        "type": "resource",
        "label": "README.md",
        "uri": uris.file_uri(project.path / "README.md"),
        "contentType": "text/markdown",
        "displayKind": "document",
    }
    folder, _ = await complete([project.path], "@docs/", 5)
    assert wire.to_builtins(folder.attachment)["displayKind"] == "directory"


@pytest.mark.parametrize("text", ["", "main", "ada@example", "@main ", "@a@", "/command"])
async def test_what_is_no_reference_completes_nothing(project: Repo, text: str) -> None:
    assert await names([project.path], text) == []


async def test_a_cursor_out_of_range_is_no_failure(project: Repo) -> None:
    assert await names([project.path], "@read", 1000) == ["@README.md"]
    assert await names([project.path], "@read", -1) == []
    assert await names([project.path], "😀@", 1) == []
    assert await names([project.path], "\ud83d @read") == ["@README.md"]


async def test_several_folders_are_told_apart(project: Repo, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "main.txt").touch()
    offered = await names([project.path, other], "@main")
    assert {"@repo/src/main.py", "@other/main.txt"} <= set(offered)


async def test_outside_of_a_repository_a_short_walk_finds_the_files(tmp_path: Path) -> None:
    for name in ("a/b/c.txt", "node_modules/x.txt", ".hidden/x.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.touch()
    (tmp_path / os.fsdecode(b"bad\xff.txt")).touch()
    assert await names([tmp_path], "@txt") == ["@bad\ufffd.txt", "@a/b/c.txt"]
    assert await names([tmp_path / "none"], "@txt") == []
