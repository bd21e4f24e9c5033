"""The process: everything opened in order, one host, one door, and a way down that keeps what was promised.

Only a failure of the store or the host ends the daemon (design, "Actors" 5). SIGTERM and SIGINT stop accepting, let
running commits finish, cancel the tree and end child processes, all within a few seconds ("Actors" 6).
"""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import msgspec
import trio

from actors import log
from actors.agents.builtin import make_agents
from actors.agents.registry import Agents
from actors.catalogue import Catalogue
from actors.clock import Clock
from actors.config import Config, Settings
from actors.door.http import AsgiApp, HttpApp
from actors.door.listener import DoorLimits, serve
from actors.door.policy import Policy
from actors.door.sockets import Bound, Endpoint, TcpEndpoint, TlsFiles, UnixEndpoint
from actors.door.stdio import open_stdio, serve_stdio
from actors.door.token import SharedToken, load_or_create
from actors.door.websocket import ConnectionLimits
from actors.environment import Environment
from actors.folders import Folders, ensure
from actors.host import ROOT_CONFIG, SEQUENCE_BLOCK, Host
from actors.hub import Hub
from actors.people import People
from actors.store import documents, open_store, sequence, sessions
from actors.tools.builtin import host_tools
from actors.tools.registry import Tools
from actors.workspace import git_blob
from actors.workspace.places import under
from actors.workspace.resources import Resources
from ahp.state.root import RootState

_log = log.get("daemon")


class Addresses(msgspec.Struct, frozen=True):
    """Where the daemon is reached: `websocket` and `web` URLs (without the token), the Unix socket if there is one."""

    websocket: list[str]
    web: list[str]
    unix: str | None = None


async def run(
    settings: Settings, folders: Folders, *, task_status: trio.TaskStatus[Addresses] = trio.TASK_STATUS_IGNORED
) -> None:
    """Serve until SIGTERM or SIGINT; started with the addresses when everybody may come in.

    SIGHUP reads the configuration and the token file again. Raises `StoreError`, `DoorError` and `FoldersError`, each
    with a sentence for the person, before it is started.
    """
    ensure(folders)
    config = settings.config
    token = _Token(folders.token_file, config)
    agents = Agents(make_agents(config), default=lambda: settings.config.default_agent)
    signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    async with open_host(settings, folders.store_file, agents, Clock()) as host, trio.open_nursery() as nursery:
        with trio.open_signal_receiver(*signals) as received:
            mounts: Mapping[str, AsgiApp] = {}
            app = HttpApp(host.env.version, lambda: len(host.catalogue), mounts)
            policy = Policy(token.shared, origins=config.allowed_origins, hosts=config.allowed_hosts)
            bound: list[Bound] = await nursery.start(
                lambda *, task_status: serve(
                    _endpoints(config),
                    host.serve,
                    app,
                    policy,
                    runtime=folders.runtime,
                    limits=_limits(config),
                    task_status=task_status,
                )
            )
            nursery.start_soon(settings.watch)
            addresses = _addresses(bound)
            _log.info("listening", at=[*addresses.websocket, *([addresses.unix] if addresses.unix else [])])
            task_status.started(addresses)
            async for number in received:
                if number != signal.SIGHUP:
                    break
                settings.reload_or_log()
                await trio.to_thread.run_sync(token.reload)
        _log.info("stopping")
        nursery.cancel_scope.cancel()
    await agents.close()


async def run_stdio(settings: Settings, folders: Folders) -> None:
    """Serve the one client at standard input and output, until it closes them. Raises as `run` does."""
    ensure(folders)
    agents = Agents(make_agents(settings.config), default=lambda: settings.config.default_agent)
    receive, send = open_stdio()
    async with open_host(settings, folders.store_file, agents, Clock()) as host:
        await serve_stdio(receive, send, host.serve, _limits(settings.config).connection)
    await agents.close()


class _Token:
    """The connection token in force: the configuration's, else the file's."""

    def __init__(self, path: Path, config: Config) -> None:
        self._path = path
        self._config = config
        self.shared = SharedToken(self._read())

    def reload(self) -> None:
        self.shared.replace(self._read())

    def _read(self) -> str:
        if self._config.token:
            return self._config.token
        found = load_or_create(self._path)
        log.protect(found.token)
        if found.warning:
            _log.warning(found.warning)
        return found.token


def _endpoints(config: Config) -> list[Endpoint]:
    tls = config.tls
    files = None if tls.cert_file is None or tls.key_file is None else TlsFiles(tls.cert_file, tls.key_file)
    endpoints: list[Endpoint] = [TcpEndpoint(host=config.host, port=config.port, tls=files)]
    if config.unix_socket is not None:
        endpoints.append(UnixEndpoint(path=config.unix_socket))
    return endpoints


def _limits(config: Config) -> DoorLimits:
    connection = ConnectionLimits(max_message_bytes=config.max_frame_bytes, outbox_bytes=config.outbox_limit_bytes)
    return DoorLimits(connections=config.max_connections, connection=connection)


def _addresses(bound: list[Bound]) -> Addresses:
    tcp = [place for place in bound if place.path is None]
    unix = next((str(place.path) for place in bound if place.path is not None), None)
    return Addresses([place.websocket for place in tcp], [place.http for place in tcp], unix)


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
            tools=Tools(host_tools()),
            resources=_resources(config),
            people=People(),
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


def _resources(config: Config) -> Resources:
    """Files below the configured roots (all that this user may reach without any), and what commits hold of them."""
    resources = Resources(confine=under(config.resource_roots) if config.resource_roots else None)
    resources.register(git_blob.SCHEME, git_blob.GitBlobs())
    return resources


def _decoded(body: bytes | None) -> object:
    return None if body is None else msgspec.json.decode(body)
