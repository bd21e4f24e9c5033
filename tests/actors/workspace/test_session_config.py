"""The settings a session has before it exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.workspace import session_config
from ahp.state.common import ConfigPropertySchema, ConfigSchema
from ahp.wire import UNSET
from tests.actors.workspace.repo import Repo

AGENT = ConfigSchema(
    properties={
        "mode": ConfigPropertySchema(type="string", enum=["plan", "act"], default="act"),
        "budget": ConfigPropertySchema(type="integer"),
        "deep": ConfigPropertySchema(
            type="object", properties={"level": ConfigPropertySchema(type="number", enum=[1, 2])}
        ),
    }
)


async def test_worktree_settings_are_offered_only_in_a_repository(repo: Repo, tmp_path: Path) -> None:
    assert await session_config.schema_for(None, AGENT) is AGENT
    assert await session_config.schema_for(tmp_path, AGENT) is AGENT
    repo.commit("sub/a")
    schema = await session_config.schema_for(repo.path / "sub", AGENT)
    assert {"isolation", "branch", "worktreeIncludeFiles", "mode"} <= set(schema.properties)
    host = [one for key, one in schema.properties.items() if key not in AGENT.properties]
    assert all(one.session_mutable is False and one.title for one in host)
    assert schema.properties["branch"].enum_dynamic is True
    values = session_config.values_for(schema, {})
    assert values["isolation"] == "folder"
    assert values["branch"] == "main"
    assert values["worktreeCreateNewBranch"] is True
    assert values["worktreeBranchTrack"] is False
    assert values["mode"] == "act"


async def test_a_session_in_the_folder_itself_has_its_branch_fixed(repo: Repo) -> None:
    repo.commit("a")
    inside = await session_config.schema_for(repo.path, AGENT, {"isolation": "folder"})
    apart = await session_config.schema_for(repo.path, AGENT, {"isolation": "worktree"})
    assert inside.properties["branch"].read_only is True
    assert apart.properties["branch"].read_only is UNSET


async def test_a_detached_head_starts_from_the_newest_branch(repo: Repo) -> None:
    repo.commit("a")
    repo.git("checkout", "--quiet", "-b", "newest")
    repo.commit("b")
    repo.git("checkout", "--quiet", "--detach")
    schema = await session_config.schema_for(repo.path, AGENT)
    assert schema.properties["branch"].default == "newest"


async def test_the_agents_own_key_wins(repo: Repo) -> None:
    repo.commit("a")
    own = ConfigSchema(properties={"branch": ConfigPropertySchema(type="string", title="Mine")})
    assert (await session_config.schema_for(repo.path, own)).properties["branch"].title == "Mine"


async def test_values_fill_in_defaults_and_keep_what_is_unknown(repo: Repo) -> None:
    repo.commit("a")
    schema = await session_config.schema_for(repo.path, AGENT)
    given = {"worktreeIncludeFiles": ".env, *.local", "plugin.key": 1, "mode": "plan"}
    values = session_config.values_for(schema, given)
    assert values["worktreeIncludeFiles"] == [".env", "*.local"]
    assert (values["plugin.key"], values["mode"]) == (1, "plan")
    assert session_config.problems(schema, given) == []


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"isolation": "container"}, "isolation"),
        ({"worktreeIncludeFiles": 3}, "worktreeIncludeFiles"),
        ({"worktreeIncludeFiles": [3]}, "worktreeIncludeFiles[0]"),
        ({"worktreeCreateNewBranch": "yes"}, "boolean"),
        ({"budget": True}, "budget"),
        ({"budget": 1.5}, "budget"),
        ({"mode": None}, "mode"),
        ({"deep": {"level": 3}}, "deep.level"),
    ],
)
async def test_a_wrong_value_is_named_with_what_would_be_right(repo: Repo, given: dict[str, object], word: str) -> None:
    repo.commit("a")
    schema = await session_config.schema_for(repo.path, AGENT)
    (problem,) = session_config.problems(schema, given)
    assert word in problem
    assert problem.endswith("is wanted")


def test_a_required_key_without_a_default_is_asked_for() -> None:
    schema = ConfigSchema(properties={"a": ConfigPropertySchema(type="string")}, required=["a"])
    assert session_config.problems(schema, {}) == ["a is missing"]
    assert session_config.problems(schema, {"a": ""}) == []


async def test_branches_are_completed_by_query(repo: Repo, tmp_path: Path) -> None:
    repo.commit("a")
    repo.git("branch", "feature/one")
    items = await session_config.completions(repo.path, "branch", "ONE")
    assert [item.value for item in items] == ["feature/one"]
    assert len(await session_config.completions(repo.path, "branch", "")) == 2
    for folder, key in ((tmp_path, "branch"), (None, "branch"), (repo.path, "mode")):
        assert await session_config.completions(folder, key, "") == []
