"""The stand-in for an agent that this host offers no more: sessions of it can still be read, and say what is wrong."""

from __future__ import annotations

from actors.agents.interface import Agent, AgentChat, AgentError, Start


class MissingAgent(Agent):
    """Runs no turn. `offered` names the agents there are."""

    multiple_chats = False

    def __init__(self, provider: str, offered: str) -> None:
        self.provider = provider
        self.display_name = provider
        self._offered = offered

    async def open_chat(self, start: Start) -> AgentChat:
        raise AgentError(
            f"This host offers no agent {self.provider} any more, so the session can only be read. Offer it again in "
            f"the configuration, or start a session with another (there is: {self._offered}).",
            error_type="agentMissing",
        )
