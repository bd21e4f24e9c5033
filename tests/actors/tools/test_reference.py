"""The tools' names, titles, schemas and annotations beside the reference host's."""

import json
from typing import Any

import msgspec
import pytest

from actors.tools.builtin import host_tools
from ahp.wire import JSON
from tests.conformance.data import path_of


def bare(schema: JSON) -> JSON:
    """Without descriptions, which are this host's own."""
    if isinstance(schema, dict):
        return {key: bare(value) for key, value in schema.items() if key != "description" or isinstance(value, dict)}
    return schema


@pytest.mark.parametrize("family", ["artifacts", "comments"])
def test_a_family_is_the_references(family: str) -> None:
    reference: list[dict[str, Any]] = json.loads(path_of("reference-tools.json").read_text())[family]
    own = {tool.name: tool for tool in host_tools()}
    assert [name for name in own if name in {tool["name"] for tool in reference}] == [t["name"] for t in reference]
    for known in reference:
        tool = own[known["name"]]
        assert (tool.title, bare(msgspec.to_builtins(tool.input_schema))) == (known["title"], known["inputSchema"])
        assert msgspec.to_builtins(tool.annotations) == known["annotations"]
        assert tool.defer_loading == known.get("deferLoading", True)
