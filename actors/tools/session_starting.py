"""create_session and create_chat: what an agent may start beside itself (tools page, create_session, Limits).

What a call leaves out it takes from the chat it is made in, where the two run one backend: the model, and the settings
that backend names as inherited. What it makes is kept within the tree's budgets and belongs to the session's owner.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from actors.agents.interface import Agent
from actors.chat_orders import SendMessage
from actors.session import CreateChat, Session
from actors.session_create import check
from actors.session_orders import RenameChat
from actors.session_record import ChatPrivate, new_chat
from actors.tools.call import ToolCall
from actors.tools.session_lookup import awake, find_session, open_link, order, text_input, wrong_input
from actors.tools.session_writing import MAY_WRITE, delegation, needed, title_of
from actors.tools.tool import WRITES, SessionFacts, Tool, ToolRefusal, Wording, schema
from actors.workspace import git, session_config
from ahp import config_schema, uris, wire
from ahp.commands import CreateSessionParams
from ahp.jsonrpc import RpcError
from ahp.state.chat import Message, MessageOrigin
from ahp.state.common import ModelSelection
from ahp.state.root import SessionModelInfo
from ahp.wire import JSON, UNSET, present


async def create_session(call: ToolCall, given: Mapping[str, JSON]) -> JSON:
    call.require(MAY_WRITE)
    prompt, title = needed(call, given, "prompt"), title_of(call, given)
    if given["relationship"] == "currentSession":
        if call.session is None:
            raise ToolRefusal("currentSession needs a calling session; use independent")
        for name in ("workspace", "worktree"):
            if given.get(name) is not None:
                raise wrong_input(call, f"{name} goes with relationship independent only")
        return await _start_chat(call, call.session, given, prompt, title)
    return await _start_session(call, given, prompt, title)


async def _start_session(call: ToolCall, given: Mapping[str, JSON], prompt: str, title: str) -> JSON:
    """A session of its own, owned by the owner of the calling one, or by who calls with no session."""
    host = call.host
    await host.env.tools.limits.check(call, "sessions")
    folder = await _workspace(call, text_input(call, given, "workspace"))
    agent, model = await _agent_and_model(call, given)
    config = _settings(call, given, agent)
    isolation = await _isolation(call, given, folder)
    if isolation is not None:
        config["isolation"] = isolation
        if given.get("worktree") is False:
            folder = await _main_folder(folder)
    parent = call.session
    uri = uris.session(str(uuid.uuid4()))
    params = CreateSessionParams(
        channel=uri,
        provider=agent.provider,
        working_directories=[folder],
        config=config,
        model=model or UNSET,
        meta=_creator(call),
    )
    async with host.env.tools.limits.spending(call, "sessions"):
        new = await check(host.env, params, [])
        private = msgspec.structs.replace(
            new.private,
            parent=None if parent is None else parent.uri,
            depth=0 if parent is None else parent.private.depth + 1,
            owner=call.caller.principal if parent is None else parent.private.owner,
        )
        await host.create_session(msgspec.structs.replace(new, private=private))
    session = host.sessions.get(uri)
    if session is None:
        raise ToolRefusal(f"create_session: {uri} was made, and has just been deleted")
    chat = present(session.state.default_chat, "")
    await order(call, uri, RenameChat(chat, title))
    message = Message(text=prompt, origin=MessageOrigin(kind="agent"), model=model or UNSET, meta=delegation(call))
    await order(call, chat, SendMessage(message, call.caller.principal))
    link = open_link(session.summary())
    return f"The session {title!r} is started on {agent.display_name} and works on the prompt. {link}"


def _creator(call: ToolCall) -> dict[str, JSON] | wire.UnsetType:
    if call.session is None or call.chat is None:
        return UNSET
    said: dict[str, JSON] = {"session": call.session.uri, "chat": call.chat.name}
    if call.turn is not None:
        said["turnId"] = call.turn.turn_id
    return {"agentHost/createdBy": said}


async def _start_chat(call: ToolCall, session: Session, given: Mapping[str, JSON], prompt: str, title: str) -> JSON:
    """A chat of a session, its first turn running."""
    if not session.agent.multiple_chats:
        raise ToolRefusal(f"{call.tool.name}: {session.agent.display_name} has one chat in a session")
    agent = _chat_agent(call, session, given.get("agent"))
    model = await _model(call, agent, given.get("model"))
    private = await _chat_private(call, session, agent, given)
    uri = uris.chat(str(uuid.uuid4()))
    state = wire.replace(new_chat(uri, call.host.env.clock.iso(), title), movable=True)
    message = Message(text=prompt, origin=MessageOrigin(kind="agent"), model=model or UNSET, meta=delegation(call))
    async with call.host.env.tools.limits.spending(call, "chats"):
        await session.ask(CreateChat(state, private=private))
        await order(call, uri, SendMessage(message, call.caller.principal))
    return f"The chat {title!r} is started and works on the prompt. {open_link(session.summary(), uri)}"


def _chat_agent(call: ToolCall, session: Session, named: JSON) -> Agent:
    """The agent named; else, in its own session, the calling chat's; else the session's."""
    if named is None:
        return call.chat.agent if call.chat is not None and call.session is session else session.agent
    try:
        return call.host.env.agents.find(str(named))
    except RpcError as error:
        raise ToolRefusal(f"{call.tool.name}: {error.message}") from None


async def _chat_private(call: ToolCall, session: Session, agent: Agent, given: Mapping[str, JSON]) -> ChatPrivate:
    """The agent and settings of a chat that has its own; the session keeps its own (tools page, create_session)."""
    named = given.get("config")
    if agent is session.agent and not named:
        return ChatPrivate()
    folder = next(iter(session.folders(None)), None)
    settings = await agent.config_schema(folder)
    values = _settings(call, given, agent)
    if agent is session.agent:
        config = present(session.state.config, None)
        values = {**({} if config is None else config.values), **values}
    wrong = config_schema.problems(settings, named) if isinstance(named, dict) else []
    if wrong:
        raise wrong_input(call, "config: " + "; ".join(wrong))
    return ChatPrivate(agent=agent.provider, config=session_config.values_for(settings, values))


async def create_chat(call: ToolCall, given: Mapping[str, JSON]) -> JSON:
    call.require(MAY_WRITE)
    prompt = needed(call, given, "prompt")
    title = title_of(call, given) if given.get("title") is not None else ""
    session = await _session_or_own(call, given)
    return await _start_chat(call, session, given, prompt, title)


async def _session_or_own(call: ToolCall, given: Mapping[str, JSON]) -> Session:
    value = text_input(call, given, "session")
    if value is None:
        if call.session is None:
            raise wrong_input(call, "session is missing: a call with no session names the one it is about")
        return call.session
    return await awake(call, await find_session(call, value))


# Agents, models, settings, folders.


async def _agent_and_model(call: ToolCall, given: Mapping[str, JSON]) -> tuple[Agent, ModelSelection | None]:
    """The agent named, else the provider of the model asked for, else the calling chat's, else the first."""
    agents = call.host.env.agents
    named, wanted = given.get("agent"), given.get("model")
    if named is not None:
        try:
            agent = agents.find(str(named))
        except RpcError as error:
            raise ToolRefusal(f"create_session: {error.message}") from None
        return agent, await _model(call, agent, wanted)
    if wanted is not None:
        offered = {id(model): agent for agent in agents for model in await agent.models()}
        models = [model for agent in agents for model in await agent.models()]
        found = _match(call, str(wanted), models)
        owner = offered.get(id(found)) or agents.find(found.provider if isinstance(found.provider, str) else None)
        return owner, ModelSelection(id=found.id)
    agent = agents.find(None) if call.chat is None else call.chat.agent
    return agent, _inherited_model(call, agent)


async def _model(call: ToolCall, agent: Agent, wanted: JSON) -> ModelSelection | None:
    if wanted is None:
        return _inherited_model(call, agent)
    return ModelSelection(id=_match(call, str(wanted), await agent.models()).id)


def _match(call: ToolCall, wanted: str, models: Sequence[SessionModelInfo]) -> SessionModelInfo:
    """By id, then by display name; none or several is refused, naming what there is."""
    found = [model for model in models if model.id == wanted] or [model for model in models if model.name == wanted]
    if len(found) == 1:
        return found[0]
    names = ", ".join(model.id for model in (found or models)) or "none"
    what = f"model {wanted!r} names several models" if found else f"there is no model {wanted!r}"
    raise wrong_input(call, f"{what}: name one by its id ({names})")


def _inherited_model(call: ToolCall, agent: Agent) -> ModelSelection | None:
    """The calling chat's, where the two run one backend: its running turn's, else its draft's, else its last turn's."""
    if call.chat is None or call.session is None or call.chat.agent is not agent:
        return None
    state = call.chat.state
    active, draft = present(state.active_turn, None), present(state.draft, None)
    messages = [active.message if active is not None else None, draft, state.turns[-1].message if state.turns else None]
    for message in messages:
        if message is not None and not isinstance(message.model, wire.UnsetType):
            return message.model
    return call.session.private.model


def _settings(call: ToolCall, given: Mapping[str, JSON], agent: Agent) -> dict[str, JSON]:
    """The settings the call names over those that the backend inherits from the calling chat."""
    inherited: dict[str, JSON] = {}
    if call.chat is not None and call.chat.agent is agent:
        values = call.chat.settings()
        inherited = {key: values[key] for key in agent.inherited_chat_config if key in values}
    named = given.get("config")
    return {**inherited, **(named if isinstance(named, dict) else {})}


async def _workspace(call: ToolCall, value: str | None) -> str:
    """The folder (a URI): a known project or folder, a unique project name, or an absolute path or URI."""
    if value is None:
        raise wrong_input(call, "workspace is missing: an independent session needs one")
    rows = call.host.catalogue.summaries()
    projects = {
        row.project.uri: row.project.display_name for row in rows if not isinstance(row.project, wire.UnsetType)
    }
    folders = {folder for row in rows for folder in present(row.working_directories, [])}
    uri = _as_uri(value)
    if uri is not None and (uri in projects or uri in folders):
        return uri
    named = [project for project, name in projects.items() if name.casefold() == value.casefold()]
    if len(named) == 1:
        return named[0]
    if named:
        raise wrong_input(
            call, f"workspace {value!r} is the name of several projects: name one by URI ({', '.join(named)})"
        )
    if uri is None:
        raise wrong_input(call, f"workspace {value!r} is no known project, and no absolute path or URI")
    return uri


def _as_uri(value: str) -> str | None:
    if value.startswith("/"):
        return uris.file_uri(Path(value))
    return value if "://" in value or value.startswith("file:") else None


async def _isolation(call: ToolCall, given: Mapping[str, JSON], folder: str) -> str | None:
    """worktree or folder as asked; without a word the creator's own where it is the same project, else worktree.

    None where the folder lies in no repository, so that there is nothing to choose.
    """
    worktree = given.get("worktree")
    if not folder.startswith("file:") or not await git.is_repository(uris.path_of(folder)):
        if worktree:
            raise wrong_input(call, f"worktree: {folder} lies in no Git repository")
        return None
    if isinstance(worktree, bool):
        return "worktree" if worktree else "folder"
    own = None if call.session is None else present(call.session.state.project, None)
    theirs = await git.main_checkout(uris.path_of(folder))
    if call.session is not None and own is not None and theirs is not None and own.uri == uris.file_uri(theirs):
        config = present(call.session.state.config, None)
        return str((config.values if config is not None else {}).get("isolation", "folder"))
    return "worktree"


async def _main_folder(folder: str) -> str:
    """A folder inside a worktree goes back to its main checkout (digest 5, create_session)."""
    found = await git.repository(uris.path_of(folder))
    return uris.file_uri(found.main) if found is not None and found.linked else folder


_CREATE_SESSION = schema(
    {
        "relationship": {"type": "string", "enum": ["currentSession", "independent"]},
        "prompt": {"type": "string", "description": "The whole task: the other sees nothing else of yours."},
        "workspace": {"type": "string", "description": "Project name, path or URI; independent only."},
        "worktree": {"type": "boolean", "description": "Work in a Git worktree of its own."},
        "title": {"type": "string", "maxLength": 200},
        "model": {"type": "string", "description": "A model's id (list_models); without it, yours."},
        "agent": {"type": "string", "description": "The agent id (list_agents) to run on; without it, yours."},
        "config": {"type": "object", "description": "Settings, as that agent's schema names them."},
    },
    ["relationship", "prompt", "title"],
)


def _naming_agents(facts: SessionFacts) -> Wording:
    """The agents that may be started are an enum, each named in the description (tools page, create_session)."""
    if not facts.agents:
        return Wording()
    named = "; ".join(f"{provider}: {name}" for provider, name in facts.agents.items())
    agent = {"type": "string", "enum": list(facts.agents), "description": f"The agent to run on ({named})."}
    return Wording(input_schema={**_CREATE_SESSION, "properties": {**_CREATE_SESSION["properties"], "agent": agent}})


TOOLS = [
    Tool(
        name="create_session",
        title="Create Session",
        family="session",
        description=(
            "Start work beside this one. `independent` starts a session of its own in `workspace`; `currentSession` "
            "starts another chat in this session. It begins with `prompt` at once; read it with get_session_context."
        ),
        input_schema=_CREATE_SESSION,
        for_session=_naming_agents,
        annotations=WRITES,
        sessionless=True,
        grant=MAY_WRITE,
        run=create_session,
    ),
    Tool(
        name="create_chat",
        title="Create Chat",
        family="session",
        description="Start a second conversation in a session (this one, without `session`), beginning with `prompt`.",
        input_schema=schema(
            {
                "session": {"type": "string", "description": "A session URI or open link from list_sessions."},
                "prompt": {"type": "string"},
                "title": {"type": "string", "maxLength": 200},
                "model": {"type": "string"},
            },
            ["prompt"],
        ),
        annotations=WRITES,
        sessionless=True,
        grant=MAY_WRITE,
        run=create_chat,
    ),
]
