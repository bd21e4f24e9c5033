"""Hypercorn behind the door: an ASGI application on a private Unix socket that HTTP connections are spliced to.

The socket lies in a folder of mode 0700 and lives as long as the backend runs. Hypercorn is imported and started at
the first HTTP connection, because a daemon that only speaks WebSocket needs neither its time nor its memory.
"""

from __future__ import annotations

import logging
import os
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import trio

from actors import log
from actors.door.requests import HEAD_BYTES
from actors.door.sockets import LONGEST_UNIX_PATH

if TYPE_CHECKING:
    from hypercorn.typing import ASGIFramework

    from actors.door.http import AsgiApp

__all__ = ["Backend", "open_backend"]

_log = log.get("door")

_CHUNK = 64 * 1024
_NAME = "/http-12345678/s"


@asynccontextmanager
async def open_backend(app: AsgiApp, runtime: Path) -> AsyncIterator[Backend]:
    """A `Backend` for `app`, with its private folder in `runtime` (in the system's temporary folder if too long)."""
    parent = str(runtime) if len(os.fsencode(runtime)) + len(_NAME) <= LONGEST_UNIX_PATH else None
    folder = Path(tempfile.mkdtemp(prefix="http-", dir=parent))
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
            listening.bind(str(folder / "s"))
            # From here on connections are taken; they wait for Hypercorn.
            listening.listen(128)
            async with trio.open_nursery() as nursery:
                backend = Backend(app, listening, folder / "s", nursery)
                yield backend
                nursery.cancel_scope.cancel()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Backend:
    """Made by `open_backend`."""

    def __init__(self, app: AsgiApp, listening: socket.socket, path: Path, nursery: trio.Nursery) -> None:
        self._app = app
        self._listening = listening
        self._path = path
        self._nursery = nursery
        self._started = False

    async def splice(self, stream: trio.abc.Stream, received: bytes) -> None:
        """Let Hypercorn serve `stream`, of which `received` was read already, to its end."""
        if not self._started:
            self._started = True
            self._nursery.start_soon(self._serve)
        inner = await trio.open_unix_socket(str(self._path))
        async with inner:
            await inner.send_all(received)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_copy, stream, inner)
                await _copy(inner, stream)
                # Hypercorn has closed: whatever the peer still sends has no reader.
                nursery.cancel_scope.cancel()

    async def _serve(self) -> None:
        """Run Hypercorn. Should it fail, the next connection starts it again."""
        from hypercorn.config import Config
        from hypercorn.trio import serve

        config = Config()
        config.bind = [f"fd://{os.dup(self._listening.fileno())}"]
        config.include_server_header = False
        config.h11_max_incomplete_size = HEAD_BYTES
        config.keep_alive_timeout = 30
        config.graceful_timeout = 1.0
        config.accesslog = None
        config.errorlog = _hypercorn_log()
        try:
            await serve(cast("ASGIFramework", self._app), config, mode="asgi")
        except* Exception as group:
            _log.error("the HTTP server failed", exc=group)
        finally:
            self._started = False


def _hypercorn_log() -> logging.Logger:
    """Without the lines about where it listens: nobody is to go there."""
    logger = logging.getLogger("door.http")
    logger.setLevel(logging.WARNING)
    return logger


async def _copy(source: trio.abc.ReceiveStream, sink: trio.abc.SendStream) -> None:
    """Carry bytes until the source ends, then end the sink where that is possible."""
    try:
        while data := await source.receive_some(_CHUNK):
            await sink.send_all(data)
        if isinstance(sink, trio.abc.HalfCloseableStream):
            await sink.send_eof()
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        pass
