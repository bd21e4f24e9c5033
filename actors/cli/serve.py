"""`ahpd` without a verb: the daemon in the foreground, over sockets or over stdin and stdout."""

from __future__ import annotations

import os
import signal
import sys
from importlib.metadata import version
from pathlib import Path

import trio

from actors import daemon, folders, log, processes, runfile
from actors.agents.builtin import make_agents
from actors.agents.registry import Agents
from actors.cli.context import Context, Exit, Failure, say
from actors.clock import Clock
from actors.config import Change, Settings
from actors.daemon import Addresses
from actors.door.errors import DoorError
from actors.door.stdio import open_stdio, serve_stdio
from actors.door.websocket import ConnectionLimits
from actors.folders import FoldersError
from actors.logfile import LogFile
from actors.runfile import RunFile
from actors.store import StoreError

__all__ = ["serve"]

_log = log.get("daemon")


def serve(context: Context) -> int:
    """Run until told to stop."""
    settings = context.settings()
    folders.ensure(context.folders)
    already = runfile.running(context.folders.run_file)
    if already is not None:
        at = ", ".join(already.websocket)
        raise Failure(f"a daemon runs here already: process {already.pid}, {at}; `ahpd stop` ends it")
    detached = getattr(context.arguments, "detached", False)
    if detached:
        os.chdir(Path.home())  # So that it keeps no other folder from being unmounted.
    config = settings.config
    file = LogFile(context.folders.log_file, max_bytes=config.log_file_bytes)
    log.configure(config.log_level, config.log_format, file=file, stderr=None if detached else sys.stderr)
    settings.subscribe(_follow_level)
    run = _over_stdio if getattr(context.arguments, "stdio", False) else _over_sockets
    try:
        trio.run(run, context, settings)
    except BaseException as error:
        return _explain(error)
    finally:
        log.close()
    return Exit.DONE


def _follow_level(change: Change) -> None:
    if "logLevel" in change.keys:
        log.set_level(change.new.log_level)


async def _over_sockets(context: Context, settings: Settings) -> None:
    path = context.folders.run_file
    async with trio.open_nursery() as nursery:

        async def run_to_its_end(*, task_status: trio.TaskStatus[Addresses]) -> None:
            await daemon.run(settings, context.folders, task_status=task_status)
            nursery.cancel_scope.cancel()

        addresses: Addresses = await nursery.start(run_to_its_end)
        runfile.write(path, _describe(context, settings, addresses))
        try:
            if not getattr(context.arguments, "detached", False):
                _announce(context, settings, addresses)
            await trio.sleep_forever()
        finally:
            runfile.remove(path, os.getpid())


async def _over_stdio(context: Context, settings: Settings) -> None:
    """One client, who ends the daemon by closing its end; nobody else can reach it."""
    config = settings.config
    limits = ConnectionLimits(max_message_bytes=config.max_frame_bytes, outbox_bytes=config.outbox_limit_bytes)
    agents = Agents(make_agents(config), default=lambda: settings.config.default_agent)
    receive, send = open_stdio()
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as received:
        async with (
            daemon.open_host(settings, context.folders.store_file, agents, Clock()) as host,
            trio.open_nursery() as nursery,
        ):

            async def stop_when_told() -> None:
                await anext(received)
                nursery.cancel_scope.cancel()

            nursery.start_soon(stop_when_told)
            nursery.start_soon(settings.watch)
            await serve_stdio(receive, send, host.serve, limits)
            nursery.cancel_scope.cancel()
    await agents.close()


def _describe(context: Context, settings: Settings, addresses: Addresses) -> RunFile:
    flags = dict(context.flags)
    if settings.origin("token") == "environment":  # As a daemon in the background is given it.
        flags["token"] = settings.config.token
    certificate = settings.config.tls.cert_file
    return RunFile(
        pid=os.getpid(),
        started_at=Clock().iso(),
        version=version("ahpd"),
        websocket=addresses.websocket,
        web=addresses.web,
        unix=addresses.unix,
        token=settings.config.token or None,
        certificate=None if certificate is None else str(certificate),
        config_file=str(context.config_file),
        flags=flags,
        mark=processes.start_mark(os.getpid()),
    )


def _announce(context: Context, settings: Settings, addresses: Addresses) -> None:
    where = "as set" if settings.config.token else f"in {context.folders.token_file}"
    rows = [
        *(("WebSocket", url) for url in addresses.websocket),
        *(("Web", url) for url in addresses.web),
        *([("Socket", addresses.unix)] if addresses.unix else []),
        ("Token", where),
        ("Log", str(context.folders.log_file)),
    ]
    say(f"ahpd {version('ahpd')}, process {os.getpid()}")
    for name, value in rows:
        say(f"  {name:<10} {value}")


def _explain(error: BaseException) -> int:
    """The sentences of what ended the daemon, and its exit code."""
    leaves = list(_leaves(error))
    if all(isinstance(leaf, KeyboardInterrupt) for leaf in leaves):
        return Exit.INTERRUPTED
    known = [leaf for leaf in leaves if isinstance(leaf, StoreError | DoorError | FoldersError)]
    for leaf in leaves:
        if leaf in known:
            _log.error("ended", error=str(leaf))
            print(f"ahpd: {log.redactor.text(str(leaf))}", file=sys.stderr)
        else:
            _log.error("ended by an error of its own", exc=leaf)
            print(f"ahpd: ended by an error of its own: {log.redactor.text(repr(leaf))}; see the log", file=sys.stderr)
    return Exit.FAILED


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]
