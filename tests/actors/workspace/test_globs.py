"""Patterns of a watch."""

from __future__ import annotations

import pytest

from actors.workspace.globs import Globs


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.py", "a.py", True),
        ("*.py", "sub/a.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "x/y/a.py", True),
        ("node_modules", "node_modules/deep/in/it", True),
        ("node_modules", "sub/node_modules/x", False),
        ("**/node_modules/**", "sub/node_modules/x", True),
        ("**/node_modules/**", "sub/node_modules", True),
        ("src/**/test_*.{py,pyi}", "src/a/b/test_x.pyi", True),
        ("src/**/test_*.{py,pyi}", "src/test_x.py", True),
        ("src/**/test_*.{py,pyi}", "src/test_x.pyc", False),
        ("{a,b/{c,d}}/x", "b/d/x", True),
        ("[!a]?", "bc", True),
        ("[^a]?", "ac", False),
        ("a*", "a\nb", True),
        ("**", "anything/at/all", True),
        ("sub/", "sub/x", True),
        ("", "x", False),
        ("a.b", "aXb", False),
        ("{unclosed", "{unclosed", True),
    ],
)
def test_a_pattern_means_what_clients_mean(pattern: str, path: str, expected: bool) -> None:
    assert Globs([pattern]).match(path) is expected


def test_a_hostile_pattern_costs_no_time() -> None:
    hostile = ["{a,b}" * 40, "*a" * 200, "**/" * 200 + "x", "{" * 500, "{" * 100 + "a,b" + "}" * 100]
    assert not Globs(hostile).match("/".join(["a" * 200 + "!"] * 100))
