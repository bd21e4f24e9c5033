from __future__ import annotations

from pathlib import Path

import pytest

from tests.actors.workspace.disk import Disk


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    root = tmp_path / "work"
    root.mkdir()
    return Disk(root)
