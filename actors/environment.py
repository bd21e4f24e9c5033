"""What every actor of one host shares: given once, at start, and passed down."""

from __future__ import annotations

import msgspec

from actors.agents.registry import Agents
from actors.clock import Clock
from actors.config import Config, Settings
from actors.hub import Hub
from actors.people import People
from actors.store import Store
from actors.tools.registry import Tools
from actors.workspace.resources import Resources


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """`version`: this program's. `config` is a snapshot: ask for it each time."""

    hub: Hub
    store: Store
    clock: Clock
    settings: Settings
    agents: Agents
    tools: Tools
    resources: Resources
    people: People
    version: str = ""

    @property
    def config(self) -> Config:
        """The configuration in force now."""
        return self.settings.config
