"""The session settings that the host answers itself (digest 2, Config keys): schema, defaults, completions, refusals.

They stand beside the agent's own settings, whose schema wins where both have a key. Worktree settings are offered only
for a folder in a Git repository. Called before a session exists and when its settings change; keeps no state.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from actors.workspace import git
from actors.workspace.git import GitError
from actors.workspace.worktrees import listed
from ahp import wire
from ahp.commands import SessionConfigValueItem
from ahp.state.common import ConfigPropertySchema, ConfigSchema
from ahp.wire import JSON, UNSET, UnsetType, present

__all__ = ["completions", "problems", "schema_for", "values_for"]

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "number": (int, float),
    "integer": (int,),
    "array": (list,),
    "object": (dict,),
}
_LISTS = ("worktreeIncludeFiles", "worktreeSymlinkFolders")


async def schema_for(
    directory: Path | None, agent_schema: ConfigSchema, given: Mapping[str, JSON] | None = None
) -> ConfigSchema:
    """The settings a session of that agent in `directory` takes. `given`: what was chosen so far, of which the branch
    depends: a session in the folder itself works on what is checked out there, so its branch is shown and fixed.
    """
    if directory is None or not await git.is_repository(directory):
        return agent_schema
    branch = await git.current_branch(directory)
    if branch is None:
        newest = await git.branches(directory, limit=1)
        branch = newest[0].name if newest else None
    host = _worktree_properties(branch, (given or {}).get("isolation") == "folder")
    return wire.replace(agent_schema, properties=host | agent_schema.properties)


def _worktree_properties(branch: str | None, in_folder: bool) -> dict[str, ConfigPropertySchema]:
    patterns = ConfigPropertySchema(type="string", title="Pattern")
    return {
        "isolation": ConfigPropertySchema(
            type="string",
            title="Isolation",
            description="Where the agent works",
            enum=["folder", "worktree"],
            enum_labels=["Folder", "Worktree"],
            enum_descriptions=["In the folder itself", "In a Git worktree of its own"],
            default="folder",
            session_mutable=False,
        ),
        "branch": ConfigPropertySchema(
            type="string",
            title="Branch",
            description="The branch that a worktree starts from",
            enum_dynamic=True,
            enum=UNSET if branch is None else [branch],
            default=UNSET if branch is None else branch,
            read_only=True if in_folder else UNSET,
            session_mutable=False,
        ),
        "worktreeIncludeFiles": ConfigPropertySchema(
            type="array",
            title="Files to copy",
            description="Ignored files to copy into a worktree, such as .env (patterns as in .gitignore)",
            items=patterns,
            default=[],
            session_mutable=False,
        ),
        "worktreeSymlinkFolders": ConfigPropertySchema(
            type="array",
            title="Folders to link",
            description="Ignored folders to link into a worktree, such as node_modules (patterns as in .gitignore)",
            items=patterns,
            default=[],
            session_mutable=False,
        ),
        "worktreeBranchPrefix": ConfigPropertySchema(
            type="string",
            title="Branch prefix",
            description="What the name of a worktree's new branch begins with",
            default="",
            session_mutable=False,
        ),
        "worktreeCreateNewBranch": ConfigPropertySchema(
            type="boolean",
            title="New branch",
            description="Make a branch for the worktree, rather than check out the chosen one as it is",
            default=True,
            session_mutable=False,
        ),
        "worktreeBranchTrack": ConfigPropertySchema(
            type="boolean",
            title="Track",
            description="Have the new branch track the upstream of the branch it starts from",
            default=False,
            session_mutable=False,
        ),
    }


def values_for(schema: ConfigSchema, given: Mapping[str, JSON]) -> dict[str, JSON]:
    """`given` with the schema's defaults filled in. What the schema does not know is kept: it may be a plugin's. A list
    of patterns that came as a string with commas is the list it spells.
    """
    values = {
        key: one.default for key, one in schema.properties.items() if not isinstance(one.default, UnsetType)
    } | dict(given)
    for key in _LISTS:
        if key in schema.properties and isinstance(values.get(key), str):
            values[key] = list(listed(values[key]))
    return values


def problems(schema: ConfigSchema, given: Mapping[str, JSON]) -> list[str]:
    """What is wrong with `given`: sentences that name the key and what would be right. Empty when all is well."""
    found: list[str] = []
    for key, value in given.items():
        known = schema.properties.get(key)
        if known is None or (key in _LISTS and isinstance(value, str)):
            continue
        found += _wrong(key, known, value)
    required = present(schema.required, [])
    return found + [f"{key} is missing" for key in required if key not in values_for(schema, given)]


def _wrong(key: str, known: ConfigPropertySchema, value: JSON) -> list[str]:
    expected = _TYPES.get(known.type)
    if expected is not None and (not isinstance(value, expected) or (isinstance(value, bool) and bool not in expected)):
        return [f"{key} is {wire.encode(value).decode()}, and a value of type {known.type} is wanted"]
    choices = present(known.enum, [])
    if choices and known.enum_dynamic is not True and value not in choices:
        return [f"{key} is {wire.encode(value).decode()}, and one of {wire.encode(choices).decode()} is wanted"]
    if isinstance(value, list) and not isinstance(known.items, UnsetType):
        return [one for index, item in enumerate(value) for one in _wrong(f"{key}[{index}]", known.items, item)]
    if isinstance(value, dict) and not isinstance(known.properties, UnsetType):
        inner = known.properties
        return [one for name in value if name in inner for one in _wrong(f"{key}.{name}", inner[name], value[name])]
    return []


async def completions(directory: Path | None, property: str, query: str) -> list[SessionConfigValueItem]:
    """The values of a property with `enumDynamic` that match `query`; none for a property that is not the host's."""
    if property != "branch" or directory is None:
        return []
    try:
        found = await git.branches(directory, query)
    except GitError:
        return []
    return [
        SessionConfigValueItem(
            value=branch.name,
            label=branch.name,
            description=f"{'Remote branch' if branch.remote else 'Branch'}, last commit {branch.date[:10]}",
        )
        for branch in found
    ]
