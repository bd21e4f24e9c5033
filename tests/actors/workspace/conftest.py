from __future__ import annotations

from pathlib import Path

import pytest

from tests.actors.workspace.disk import Disk
from tests.actors.workspace.repo import Repo


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    root = tmp_path / "work"
    root.mkdir()
    return Disk(root)


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    for name in ("GLOBAL", "SYSTEM"):
        monkeypatch.setenv(f"GIT_CONFIG_{name}", "/dev/null")
    return Repo(tmp_path / "repo")
