"""The process: everything opened in order, one host, one door, and a way down that keeps what was promised.

Only a failure of the store or the host ends the daemon (design, "Actors" 5). SIGTERM and SIGINT stop accepting, let
running commits finish, cancel the tree and end child processes, all within a few seconds ("Actors" 6).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import msgspec
import trio

from actors import log
from actors.agents.registry import Agents
from actors.catalogue import Catalogue
from actors.clock import Clock
from actors.config import Settings
from actors.environment import Environment
from actors.host import ROOT_CONFIG, SEQUENCE_BLOCK, Host
from actors.hub import Hub
from actors.store import documents, open_store, sequence, sessions
from actors.tools.registry import Tools
from actors.workspace.resources import Resources
from ahp.state.root import RootState

_log = log.get("daemon")


@asynccontextmanager
async def open_host(
    settings: Settings, store_file: Path, agents: Agents, clock: Clock, *, threads: Literal["own", "none"] = "own"
) -> AsyncIterator[Host]:
    """A host on the store `store_file`, running until the block is left. Raises `StoreError`.

    A failure of the host raises out of the block.
    """
    config = settings.config
    async with open_store(store_file, durability=config.durability, threads=threads) as store:
        settings.restore(_decoded(await store.read(documents.get(*ROOT_CONFIG))))
        reserved = await sequence.reserve(store, SEQUENCE_BLOCK)
        hub = Hub(reserved[0] - 1, window=config.replay_window, window_bytes=config.replay_window_bytes)
        hub.reserved = reserved[-1]
        rows = await store.read(sessions.catalogue())
        env = Environment(
            hub=hub,
            store=store,
            clock=clock,
            settings=settings,
            agents=agents,
            tools=Tools(),
            resources=Resources(),
            version=version("ahpd"),
        )
        root = RootState(agents=[], active_sessions=0, terminals=[], config=settings.root_state())
        host = Host(env, root, Catalogue((row.id, row.summary) for row in rows))
        async with trio.open_nursery() as nursery:
            await nursery.start(host.run)
            try:
                yield host
            finally:
                host.stop()


def _decoded(body: bytes | None) -> object:
    return None if body is None else msgspec.json.decode(body)
