"""Making a session: what is asked, checked and chosen before there is one, and the work that makes it ready.

In this order, so that a refusal leaves nothing behind (digest 2, Commands): the agent, the folders, the settings are
checked; then the session is kept and announced as `creating`; then its worktree is made, and it is ready.
"""

from __future__ import annotations

import uuid
from pathlib import Path

import msgspec
import trio

from actors.agents.interface import Agent
from actors.environment import Environment
from actors.session_record import SessionPrivate, new_chat
from actors.workspace import git, session_config, worktrees
from ahp import uris, wire
from ahp.commands import CreateSessionParams
from ahp.jsonrpc import InvalidParams
from ahp.reducers import chat as chat_reducer
from ahp.state.chat import ChatState, Turn
from ahp.state.common import ConfigState, SessionStatus
from ahp.state.session import ProjectInfo, SessionState
from ahp.wire import UNSET, UnsetType, present


class NewSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that may be made: everything in it was checked. `chat` is its first chat, None where one moves in."""

    uri: str
    agent: Agent
    state: SessionState
    private: SessionPrivate
    chat: ChatState | None
    created_at: str


async def check(env: Environment, params: CreateSessionParams, history: list[Turn]) -> NewSession:
    """What `createSession` asks for, or an `RpcError` that says why not. `history`: the turns of a fork's source."""
    agent = env.agents.find(present(params.provider, None))
    folders = _folders(params)
    if len(folders) > 1 and not agent.multiple_directories:
        raise InvalidParams(f"{agent.display_name} works in one folder, and {len(folders)} are given")
    paths = [await _existing(folder) for folder in folders]
    first = paths[0] if paths else None
    given = present(params.config, {})
    schema = await session_config.schema_for(first, await agent.config_schema(first), given)
    problems = session_config.problems(schema, given)
    if problems:
        raise InvalidParams("config: " + "; ".join(problems))
    now = env.clock.iso()
    chat = new_chat(uris.chat(str(uuid.uuid4())), now)
    if history:
        chat = wire.replace(chat, turns=history)
    active = present(params.active_client, None)
    state = SessionState(
        provider=agent.provider,
        title="",
        status=SessionStatus.IDLE | SessionStatus.IS_READ,
        lifecycle="creating",
        active_clients=[] if active is None else [active],
        chats=[chat_reducer.summary_of(chat)],
        default_chat=chat.resource,
        project=await _project(first),
        working_directories=folders,
        config=ConfigState(schema=schema, values=session_config.values_for(schema, given)),
        meta=params.meta,
    )
    private = SessionPrivate(model=present(params.model, None), workspace_less=not folders)
    return NewSession(uri=params.channel, agent=agent, state=state, private=private, chat=chat, created_at=now)


async def make_ready(env: Environment, state: SessionState) -> tuple[SessionState, str | None]:
    """Make the worktree that the settings ask for: the state that works in it, and its path; both as they were without.

    Raises `RpcError` where it cannot be made.
    """
    config = present(state.config, None)
    folders = present(state.working_directories, [])
    if config is None or not folders or config.values.get("isolation") != "worktree":
        return state, None
    tree = await worktrees.create(uris.path_of(folders[0]), config.values, root=env.config.worktree_root)
    moved = [uris.file_uri(tree.path), *folders[1:]]
    return wire.replace(state, working_directories=moved), str(tree.path)


def _folders(params: CreateSessionParams) -> list[str]:
    given = present(params.working_directories, [])
    older = present(params.working_directory, "")
    return list(given) if given or not older else [older]


async def _existing(folder: str) -> Path:
    try:
        path = uris.path_of(folder)
    except uris.BadUri as error:
        raise InvalidParams(f"workingDirectories: {error}") from None
    if not await trio.Path(path).is_dir():
        raise InvalidParams(f"workingDirectories: {folder} is no folder on this machine")
    return path


async def _project(folder: Path | None) -> ProjectInfo | UnsetType:
    """The repository (its main checkout) that the folder lies in, else the folder."""
    if folder is None:
        return UNSET
    root = await git.main_checkout(folder) or folder
    return ProjectInfo(uri=uris.file_uri(root), display_name=root.name or str(root))
