"""The host's tools, and the one place that decides what a session is offered (design, Tools).

Two sources meet here: this host's own set with what plugins registered (`set_tools`, `register_tool`), reported as
`serverTools`; and what the session's active clients announced (tools page, A client's tools). MCP servers are the
agent's own business.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from actors.config import Config
from actors.tools.audit import Audit, ToolCalled
from actors.tools.call import Caller, ToolCall, dispatch
from actors.tools.limits import Limits
from actors.tools.offered import OfferedTool
from actors.tools.tool import SessionFacts, Tool, Wording
from ahp.state.chat import ToolCallResult, ToolOrigin
from ahp.state.common import ToolDefinition
from ahp.state.session import SessionActiveClient
from ahp.wire import JSON, present, replace

if TYPE_CHECKING:
    from actors.chat import Chat
    from actors.host import Host
    from actors.session import Session
    from actors.turn import RunningTurn

_NAME = re.compile(r"[A-Za-z0-9_-]+")


class Tools:
    """`host` is set by the host when it is made. `on_change` is called after the set has changed.

    `limits` bounds what the host's tools may start, `audit` keeps a line for each call.
    """

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: list[Tool] = list(tools)
        self.limits = Limits()
        self.audit = Audit()
        self.on_change: Callable[[], None] = lambda: None
        self.host: Host

    @property
    def on_call(self) -> list[Callable[[ToolCalled], None]]:
        """Who is told of every call that is over: append a listener, which must not wait. One that raises is logged."""
        return self.audit.listeners

    @property
    def every(self) -> Sequence[Tool]:
        """The whole set, whoever is offered it."""
        return tuple(self._tools)

    def set_tools(self, tools: Iterable[Tool]) -> None:
        """Replace the set whole (tools page, Commands)."""
        self._tools = list(tools)
        self.on_change()

    def register_tool(self, tool: Tool) -> None:
        """Append one, before or while the host runs. Raises ValueError for a name that is taken or none."""
        if not _NAME.fullmatch(tool.name):
            raise ValueError(f"{tool.name!r} is no name for a tool: letters, digits, _ and - are expected")
        if any(known.name == tool.name for known in self._tools):
            raise ValueError(f"there is a tool {tool.name} already")
        self._tools.append(tool)
        self.on_change()

    def host_tools(self, session: Session, chat: Chat | None = None) -> list[tuple[Tool, ToolDefinition]]:
        """The host's tools that `session` is offered (and `chat`, where one is named), each in its wording."""
        facts = facts_of(session, chat)
        config = session.env.config
        return [(tool, _definition(tool, facts)) for tool in self._tools if is_offered(tool, facts, config)]

    def server_tools(self, session: Session) -> list[ToolDefinition]:
        """What `SessionState.serverTools` says."""
        return [definition for _, definition in self.host_tools(session)]

    def offered(self, session: Session, chat: Chat | None) -> list[OfferedTool]:
        """All that the model of `chat` is offered: the host's tools, bound to it, then the clients'."""
        clients = [tool for client in session.state.active_clients for tool in client_tools(client)]
        return [*(self._bound(*each, session, chat) for each in self.host_tools(session, chat)), *clients]

    def instructions(self, session: Session, chat: Chat | None) -> str:
        """The instructions of the tools on offer, for a system prompt."""
        said = [tool.instruction for tool, _ in self.host_tools(session, chat) if tool.instruction]
        return "\n\n".join(dict.fromkeys(said))

    def sessionless(self, caller: Caller) -> list[OfferedTool]:
        """The tools that run with no calling session, as `caller` may see them (tools page)."""
        people = self.host.env.people
        seen = [
            tool
            for tool in self._tools
            if tool.sessionless and (tool.grant is None or people.refusal(caller, tool.grant) is None)
        ]
        env = self.host.env
        facts = SessionFacts(
            session="",
            provider="",
            title_strategy=env.config.title_strategy,
            config={},
            agents={agent.provider: agent.display_name for agent in env.agents},
        )
        return [self._sessionless(tool, _definition(tool, facts), caller) for tool in seen]

    def _bound(self, tool: Tool, definition: ToolDefinition, session: Session, chat: Chat | None) -> OfferedTool:
        async def run(turn: RunningTurn | None, tool_call_id: str, tool_input: JSON) -> ToolCallResult:
            caller = Caller(principal=None if turn is None else turn.principal)
            call = ToolCall(
                host=self.host,
                tool=tool,
                caller=caller,
                tool_call_id=tool_call_id,
                session=session,
                chat=chat,
                turn=turn,
            )
            return await dispatch(call, tool_input)

        return OfferedTool(definition=definition, name=tool.name, title=tool.title, run=run)

    def _sessionless(self, tool: Tool, definition: ToolDefinition, caller: Caller) -> OfferedTool:
        async def run(_: RunningTurn | None, tool_call_id: str, tool_input: JSON) -> ToolCallResult:
            call = ToolCall(
                host=self.host, tool=tool, caller=caller, tool_call_id=tool_call_id or f"call-{uuid.uuid4()}"
            )
            return await dispatch(call, tool_input)

        return OfferedTool(definition=definition, name=tool.name, title=tool.title, run=run)


def facts_of(session: Session, chat: Chat | None) -> SessionFacts:
    """What tools are asked about."""
    config = present(session.state.config, None)
    return SessionFacts(
        session=session.uri,
        provider=session.agent.provider,
        title_strategy=session.env.config.title_strategy,
        config={} if config is None else config.values,
        multiple_directories=session.agent.multiple_directories,
        workspace_less=session.private.workspace_less,
        agents={agent.provider: agent.display_name for agent in session.env.agents},
        worker=chat is not None and isinstance(present(chat.state.origin, None), ToolOrigin),
    )


def is_offered(tool: Tool, facts: SessionFacts, config: Config) -> bool:
    """The switches of the tools page, all of them: a tool left out is neither reported nor bound."""
    if tool.advanced_permission and not config.advanced_tools:
        return False
    if tool.opt_in and tool.name not in (facts.config.get("enabledTools") or ()):
        return False
    if tool.family == "session":
        providers = config.session_tools_providers
        if not config.session_tools or (providers and facts.provider not in providers):
            return False
    return tool.is_enabled_for_session is None or tool.is_enabled_for_session(facts)


def _definition(tool: Tool, facts: SessionFacts) -> ToolDefinition:
    wording = Wording() if tool.for_session is None else tool.for_session(facts)
    return ToolDefinition(
        name=tool.name,
        title=tool.title,
        description=wording.description or tool.description,
        input_schema=dict(wording.input_schema or tool.input_schema),
        annotations=tool.annotations,
    )


def client_tools(client: SessionActiveClient) -> list[OfferedTool]:
    """A client's tools as `<clientId>__<name>`; one with a name no model could call is dropped (tools page)."""
    if not _NAME.fullmatch(client.client_id):
        return []
    return [
        OfferedTool(
            definition=replace(tool, name=f"{client.client_id}__{tool.name}"),
            name=tool.name,
            title=present(tool.title, "") or tool.name,
            client_id=client.client_id,
            run=_never,
        )
        for tool in client.tools
        if _NAME.fullmatch(tool.name)
    ]


async def _never(_: RunningTurn | None, __: str, ___: JSON) -> ToolCallResult:
    raise AssertionError("a client's tool runs at its client")
