from pathlib import Path

import pytest


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    """Where a test's store is; neither the file nor its folder is there yet."""
    return tmp_path / "store" / "host.db"
