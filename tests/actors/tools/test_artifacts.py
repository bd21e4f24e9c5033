"""Artifacts and references: validated, recorded once, promoted, told to every client, kept."""

from pathlib import Path
from typing import Any

import pytest

from tests.actors.tools.calling import Model, calling

PULL = {"type": "pullRequest", "label": "Fix it", "isArtifact": False, "link": "https://github.com/o/r/pull/1"}
KEY = "agentHost/sessionArtifacts"


async def recorded(model: Model) -> list[dict[str, Any]]:
    state = await model.talk.state(model.session)
    found: list[dict[str, Any]] = state.get("_meta", {}).get(KEY, [])
    return found


async def test_a_batch_is_recorded_and_seen_by_every_client(tmp_path: Path, autojump_clock: Any) -> None:
    async with calling(tmp_path) as at:
        model = await at.model()
        other = await at.connect("other")
        await other.state(model.session)
        file = {"type": "file", "label": " Notes ", "isArtifact": True, "uri": "file:///tmp/notes.md"}
        said = await model.call("add_artifact_or_reference", items=[PULL, file])
        assert [line.split()[0] for line in said.splitlines()] == ["added", "added"]
        told = (await other.action(model.session, "session/metaChanged"))["_meta"][KEY]
        assert told == await recorded(model)
        assert [record["label"] for record in told] == ["Fix it", "Notes"]
        assert told[0]["isGitHub"] is True
        assert "isGitHub" not in told[1]


async def test_the_same_thing_is_one_record_and_only_promotion_changes_it(tmp_path: Path, autojump_clock: Any) -> None:
    async with calling(tmp_path) as at:
        model = await at.model()
        await model.call("add_artifact_or_reference", items=[PULL])
        [first] = await recorded(model)
        same = {**PULL, "link": PULL["link"].upper() if isinstance(PULL["link"], str) else "", "label": "Other"}
        assert (await model.call("add_artifact_or_reference", items=[same])).startswith("already recorded")
        assert await recorded(model) == [first]
        said = await model.call("add_artifact_or_reference", items=[{**PULL, "isArtifact": True}])
        assert said.startswith(f"promoted {first['id']}")
        assert await recorded(model) == [{**first, "isArtifact": True}]
        assert (await model.call("add_artifact_or_reference", items=[PULL])).startswith("already recorded")
        assert first["id"] in await model.call("list_artifacts_and_references")
        assert (await model.call("remove_artifact_or_reference", id=first["id"])).startswith("removed")
        assert await recorded(model) == []
        assert "Nothing is recorded" in await model.call("remove_artifact_or_reference", id=first["id"])
        assert "Nothing is recorded" in await model.call("list_artifacts_and_references")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"link": "ftp://x/y"}, "items[1].link is ftp://x/y"),
        ({"link": "/relative"}, "items[1].link"),
        ({"link": "  "}, "items[1].link is missing or blank"),
        ({"label": " "}, "items[1].label is missing or blank"),
        ({"type": "commit"}, "items[1].commitHash"),
        ({"type": "file"}, "items[1].uri"),
        ({"type": "file", "uri": "no-scheme"}, "items[1].uri"),
        ({"type": "resource", "uri": "agent-host-session:/x"}, "items[1].uri"),
        ({"type": "house"}, "items[1].type"),
        ({"isArtifact": "yes"}, "items[1].isArtifact"),
    ],
)
async def test_a_wrong_item_is_named_and_nothing_is_recorded(
    tmp_path: Path, wrong: dict[str, Any], said: str, autojump_clock: Any
) -> None:
    async with calling(tmp_path) as at:
        model = await at.model()
        assert said in await model.refusal("add_artifact_or_reference", items=[PULL, {**PULL, **wrong}])
        assert await recorded(model) == []
