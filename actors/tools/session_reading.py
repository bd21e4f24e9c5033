"""The tools that only look: list_sessions, list_agents, list_models and get_current_session (tools page)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import trio

from actors import log
from actors.agents.interface import Agent
from actors.clock import parse_iso
from actors.tools.call import ToolCall
from actors.tools.session_lookup import find_session, fresh_summary, live_summary, text_input, wrong_input
from actors.tools.session_rows import STATUS_NAMES, Details, details_of, row, status_names
from actors.tools.tool import READ_ONLY, Tool, ToolRefusal, schema
from ahp import uris, wire
from ahp.state.common import SessionStatus
from ahp.state.root import AgentInfo
from ahp.state.session import SessionSummary
from ahp.wire import JSON, present

_log = log.get("tools")

MODELS_SHOWN = 5
"""Models of one agent in list_agents; list_models names every one."""

_AT_ONCE = 50
"""Rows made before other tasks get their turn."""

Accepts = Callable[[SessionSummary], bool]


# list_sessions.


async def list_sessions(call: ToolCall, given: Mapping[str, JSON]) -> JSON:
    host = call.host
    if host.env.people.refusal(call.caller, "session:read") is not None:
        return {"sessions": []}  # The listing is cut to the person, so nobody is refused it.
    named = text_input(call, given, "session")
    if named is not None:
        target = await find_session(call, named)
        details = await details_of(host, [target.summary])
        return {"sessions": [row(target.summary, details.get(target.uri, Details()))]}
    filters = _filters(call, given)
    every = [fresh_summary(host, summary.resource) or summary for summary in host.catalogue.summaries()]
    wanted = [summary for summary in every if all(accepts(summary) for accepts in filters)]
    wanted.sort(key=lambda summary: (summary.modified_at, summary.resource), reverse=True)
    details = await details_of(host, wanted)
    rows: list[dict[str, JSON]] = []
    for number, summary in enumerate(wanted):
        if summary.resource in details:
            rows.append(row(summary, details[summary.resource]))
        if number % _AT_ONCE == 0:
            await trio.lowlevel.checkpoint()
    if given.get("withPullRequest"):
        rows = [shown for shown in rows if "pullRequestUrl" in shown.get("github", {})]
    return {"sessions": rows}


def _filters(call: ToolCall, given: Mapping[str, JSON]) -> list[Accepts]:
    """One for each condition asked for. Raises `ToolRefusal` for one that cannot be read."""
    filters: list[Accepts] = []
    wanted = set(given.get("status") or ())
    if wanted:
        filters.append(lambda summary: not wanted.isdisjoint(status_names(summary.status)))
    if not given.get("includeArchived") and "archived" not in wanted:
        filters.append(lambda summary: not summary.status & SessionStatus.IS_ARCHIVED)
    workspace = text_input(call, given, "workspace")
    if workspace is not None:
        filters.append(_in_workspace(workspace))
    if given.get("withChanges"):
        filters.append(_has_changes)
    if given.get("unread"):
        filters.append(lambda summary: not summary.status & SessionStatus.IS_READ)
    after, before = _moment(call, given, "createdAfter"), _moment(call, given, "createdBefore")
    if after is not None:
        filters.append(lambda summary: parse_iso(summary.created_at) >= after)
    if before is not None:
        filters.append(lambda summary: parse_iso(summary.created_at) <= before)
    return filters


def _in_workspace(named: str) -> Accepts:
    """By the project's name, the project's URI, or a working directory as path or URI."""
    try:
        place = _place(uris.file_uri(Path(named)) if named.startswith("/") else named)
    except uris.BadUri:
        place = named
    name = named.casefold()

    def accepts(summary: SessionSummary) -> bool:
        project = present(summary.project, None)
        if project is not None and (project.display_name.casefold() == name or _place(project.uri) == place):
            return True
        return any(_place(folder) == place for folder in present(summary.working_directories, []))

    return accepts


def _place(uri: str) -> str:
    """One spelling for a folder, whatever slash or escape it was written with."""
    try:
        return uris.file_uri(uris.path_of(uri))
    except uris.BadUri:
        return uri.rstrip("/")


def _has_changes(summary: SessionSummary) -> bool:
    changes = present(summary.changes, None)
    if changes is None:
        return False
    return any(present(count, 0) > 0 for count in (changes.files, changes.additions, changes.deletions))


def _moment(call: ToolCall, given: Mapping[str, JSON], field: str) -> datetime | None:
    text = text_input(call, given, field)
    if text is None:
        return None
    try:
        return parse_iso(text)
    except ValueError:
        raise wrong_input(call, f"{field} must be an ISO 8601 date, such as 2026-01-15T08:00:00Z") from None


# list_agents and list_models.


def startable(call: ToolCall) -> Sequence[AgentInfo]:
    """The agents that the caller may start: the rule by which a start on an agent is refused."""
    return call.host.channel.state.agents


def startable_named(call: ToolCall, provider: str, field: str = "agent") -> AgentInfo:
    """The agent `provider`. Raises `ToolRefusal`, naming those there are."""
    agents = startable(call)
    found = next((agent for agent in agents if agent.provider == provider), None)
    if found is None:
        offered = ", ".join(agent.provider for agent in agents) or "none"
        raise wrong_input(call, f"{field} {provider!r} is no agent of this host, which offers: {offered}")
    return found


async def list_agents(call: ToolCall, _: Mapping[str, JSON]) -> JSON:
    call.require("session:read")
    return {"agents": [await _agent(call, info) for info in startable(call)]}


async def _agent(call: ToolCall, info: AgentInfo) -> JSON:
    shown: dict[str, JSON] = {"agent": info.provider, "name": info.display_name}
    if present(info.description, ""):
        shown["description"] = info.description
    shown["config"] = await _settings(call, call.host.env.agents.find(info.provider))
    shown["models"] = [{"id": model.id, "name": model.name} for model in info.models[:MODELS_SHOWN]]
    if len(info.models) > MODELS_SHOWN:
        shown["moreModels"] = len(info.models) - MODELS_SHOWN
    return shown


async def _settings(call: ToolCall, agent: Agent) -> JSON:
    """The settings that create_session's `config` takes for this agent, by key, in the shape of its schema."""
    folders = () if call.session is None else call.session.folders(None if call.chat is None else call.chat.state)
    try:
        settings = await agent.config_schema(folders[0] if folders else None)
    except Exception as error:
        _log.warning("settings not read", provider=agent.provider, exc=error)
        return {}
    return wire.to_builtins(settings.properties)


async def list_models(call: ToolCall, given: Mapping[str, JSON]) -> JSON:
    call.require("session:read")
    named = text_input(call, given, "agent")
    agents = startable(call) if named is None else [startable_named(call, named)]
    return {
        "models": [
            {"agent": agent.provider, "id": model.id, "name": model.name} for agent in agents for model in agent.models
        ]
    }


# get_current_session.


async def get_current_session(call: ToolCall, _: Mapping[str, JSON]) -> JSON:
    call.require("session:read")
    session = call.session
    if session is None:
        raise ToolRefusal("get_current_session needs a calling session")
    summary = fresh_summary(call.host, session.uri)
    if summary is None:
        shown = row(live_summary(session), Details())
        return {"session": shown["session"], "openLink": shown["openLink"]}
    details = await details_of(call.host, [summary])
    return row(summary, details.get(summary.resource, Details()))


TOOLS = [
    Tool(
        name="list_sessions",
        title="List Sessions",
        description=(
            "List the sessions of this host, newest change first, as JSON rows with title, status, folders, project,"
            " changes and links. Filter by status, workspace (a project's name or a folder), unread, withChanges,"
            " withPullRequest and ISO dates; archived sessions are left out unless asked for. With session, look up"
            " that one alone. Pass a row's session or openLink, or the openLink of one of its chats, to the other"
            " session tools."
        ),
        input_schema=schema(
            {
                "session": {"type": "string"},
                "status": {"type": "array", "items": {"type": "string", "enum": list(STATUS_NAMES)}},
                "workspace": {"type": "string"},
                "withChanges": {"type": "boolean"},
                "unread": {"type": "boolean"},
                "withPullRequest": {"type": "boolean"},
                "includeArchived": {"type": "boolean"},
                "createdAfter": {"type": "string"},
                "createdBefore": {"type": "string"},
            }
        ),
        annotations=READ_ONLY,
        family="session",
        sessionless=True,
        grant="session:read",
        run=list_sessions,
    ),
    Tool(
        name="list_agents",
        title="List Agents",
        description=(
            "List the agents that create_session can start a session on: the agent id it takes, a name, the settings"
            " its config accepts and the first models. Use list_models for every model."
        ),
        input_schema=schema(),
        annotations=READ_ONLY,
        family="session",
        sessionless=True,
        grant="session:read",
        run=list_agents,
    ),
    Tool(
        name="list_models",
        title="List Models",
        description=(
            "List the models that can be named as model in create_session and create_chat: those of one agent with"
            " agent (an id from list_agents), else of every agent."
        ),
        input_schema=schema({"agent": {"type": "string"}}),
        annotations=READ_ONLY,
        family="session",
        sessionless=True,
        grant="session:read",
        run=list_models,
    ),
    Tool(
        name="get_current_session",
        title="Get Current Session",
        description="Describe the session you run in, as list_sessions would: its link, title, status, folders, chats.",
        input_schema=schema(),
        annotations=READ_ONLY,
        family="session",
        run=get_current_session,
    ),
]
