"""The rules of import of ARCHITECTURE.md."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NO_ACTORS = {"store", "people", "workspace", "clock", "config", "folders", "log", "logfile", "processes", "redact"}
"""All that `store`, `people` and `workspace` may know of `actors`."""


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


@pytest.mark.parametrize("path", sorted((ROOT / "ahp").rglob("*.py")), ids=str)
def test_the_protocol_knows_nothing_of_the_host(path: Path) -> None:
    assert not {name for name in imports(path) if name.split(".")[0] == "actors"}
    if "client" not in path.parts:
        assert "trio" not in {name.split(".")[0] for name in imports(path)}


@pytest.mark.parametrize("package", ["store", "people", "workspace"])
def test_what_actors_stand_on_imports_no_actor(package: str) -> None:
    for path in (ROOT / "actors" / package).rglob("*.py"):
        named = {name.split(".")[1] for name in imports(path) if name.startswith("actors.") and name.count(".")}
        assert named <= NO_ACTORS, path
