"""The backends this host offers, and what the root channel says of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from actors import log
from actors.agents.interface import Agent
from actors.agents.missing import MissingAgent
from ahp.jsonrpc import NotFound, ProviderNotFound
from ahp.state.root import AgentInfo
from ahp.wire import UNSET

_log = log.get("agents")


class Agents:
    """In the order they are offered; the first is the default unless `default` answers another's provider id."""

    def __init__(self, agents: Iterable[Agent] = (), default: Callable[[], str] = lambda: "") -> None:
        self._by_provider = {agent.provider: agent for agent in agents}
        self._default = default

    def __iter__(self) -> Iterator[Agent]:
        return iter(self._by_provider.values())

    def add(self, agent: Agent) -> None:
        self._by_provider[agent.provider] = agent

    def find(self, provider: str | None) -> Agent:
        """The agent of `provider`, or the default one. Raises `ProviderNotFound`, naming what there is."""
        if provider is None:
            provider = self._default() or next(iter(self._by_provider), None)
        agent = self._by_provider.get(provider or "")
        if agent is None:
            raise ProviderNotFound(f"No agent provider registered for: {provider} (this host offers: {self._offered})")
        return agent

    def of_kept(self, provider: str) -> Agent:
        """The agent of a session or chat that is there already; a stand-in where the host offers it no more."""
        return self._by_provider.get(provider) or MissingAgent(provider, self._offered)

    @property
    def _offered(self) -> str:
        return ", ".join(self._by_provider) or "none"

    async def infos(self) -> list[AgentInfo]:
        """What `root/agentsChanged` says. An agent whose models cannot be read is offered without them."""
        return [await _info(agent) for agent in self._by_provider.values()]

    async def authenticate(self, resource: str, token: str) -> None:
        """Give `token` to the agents that protect `resource`. Raises `NotFound` where none does."""
        holders = [a for a in self._by_provider.values() if any(r.resource == resource for r in a.protected_resources)]
        if not holders:
            raise NotFound(f"No agent of this host protects {resource}")
        for agent in holders:
            await agent.authenticate(resource, token)

    async def close(self) -> None:
        for agent in self._by_provider.values():
            await agent.close()


async def _info(agent: Agent) -> AgentInfo:
    try:
        models = list(await agent.models())
    except Exception as error:
        _log.warning("models not read", provider=agent.provider, exc=error)
        models = []
    return AgentInfo(
        provider=agent.provider,
        display_name=agent.display_name,
        description=agent.description,
        models=models,
        protected_resources=list(agent.protected_resources) or UNSET,
        capabilities=agent.capabilities(),
    )
