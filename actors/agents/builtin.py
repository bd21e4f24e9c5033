"""The backends that come with the host, as the configuration has them."""

from __future__ import annotations

from actors.agents.echo import Echo
from actors.agents.interface import Agent
from actors.config import Config

_BUILTIN: tuple[type[Agent], ...] = (Echo,)


def make_agents(config: Config) -> list[Agent]:
    """The enabled ones, in the order they are offered. A backend is on unless `agents.<id>.enabled` says no."""
    disabled = {name for name, entry in config.agents.items() if not entry.enabled}
    return [make() for make in _BUILTIN if make.provider not in disabled]
