"""Where the conformance data lies: beside the checkout. Tests that need a file of it are skipped where it is not."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "shared" / "conformance"


def path_of(name: str) -> Path:
    """The file, or a skipped module."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"no conformance data: {path} is not there", allow_module_level=True)
    return path
