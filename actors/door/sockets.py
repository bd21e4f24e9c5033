"""Where the door listens: TCP ports and Unix sockets, opened with errors a person can act on.

Only `listener` opens them. A Unix socket left by a daemon that died is replaced, one that answers is not.
"""

from __future__ import annotations

import errno
import os
import secrets
import socket
import ssl
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeAlias

import msgspec
import trio

from actors.door.errors import DoorError

__all__ = ["Bound", "Endpoint", "TcpEndpoint", "TlsFiles", "UnixEndpoint", "open_listeners"]

_BACKLOG = 512
LONGEST_UNIX_PATH = 103
"""Bytes; what every system has room for (Linux has for four more)."""
_FREE_PORT_ATTEMPTS = 5
_REACHED_AT = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""An address for those that only mean "all of this machine's"."""


class TlsFiles(msgspec.Struct, frozen=True):
    """PEM files: the certificate chain, and its private key."""

    certificate: Path
    key: Path


class TcpEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """`host`: a name or address to listen on. `port`: 0 picks a free one."""

    host: str
    port: int
    tls: TlsFiles | None = None


class UnixEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    path: Path


Endpoint: TypeAlias = TcpEndpoint | UnixEndpoint


class Bound(msgspec.Struct, frozen=True, kw_only=True):
    """A place the door listens at. `host` and `port` are what was bound; for a Unix socket "" and 0."""

    host: str = ""
    port: int = 0
    tls: bool = False
    path: Path | None = None

    @property
    def websocket(self) -> str:
        """What a WebSocket client connects to: `ws://127.0.0.1:7777/`, or the socket as `unix:/path`."""
        return self._url("wss" if self.tls else "ws")

    @property
    def http(self) -> str:
        return self._url("https" if self.tls else "http")

    def _url(self, scheme: str) -> str:
        if self.path is not None:
            return f"unix:{self.path}"
        host = _REACHED_AT.get(self.host, self.host)
        host = f"[{host}]" if ":" in host else host
        return f"{scheme}://{host}:{self.port}/"


class Listening(msgspec.Struct, frozen=True):
    listener: trio.SocketListener
    tls: ssl.SSLContext | None
    bound: Bound


@asynccontextmanager
async def open_listeners(endpoints: tuple[Endpoint, ...]) -> AsyncIterator[list[Listening]]:
    """Listen at every endpoint for the time of the block. Raises `DoorError`, with none left open, if one cannot be."""
    opened: list[Listening] = []
    made: list[tuple[Path, int]] = []
    try:
        for endpoint in endpoints:
            if isinstance(endpoint, TcpEndpoint):
                opened += await _open_tcp(endpoint)
            else:
                opened.append(await _open_unix(endpoint.path))
                made.append((endpoint.path, endpoint.path.stat().st_ino))
        yield opened
    finally:
        for listening in opened:
            listening.listener.socket.close()
        for path, inode in made:
            # Another daemon may have put its own socket there meanwhile.
            with suppress(OSError):
                if path.stat().st_ino == inode:
                    path.unlink()


async def _open_tcp(endpoint: TcpEndpoint) -> list[Listening]:
    """One listener for each address of the host, all on one port."""
    tls = None if endpoint.tls is None else _tls_context(endpoint.tls)
    addresses = await _addresses(endpoint.host)
    # A port that is free at the first address may be taken at the second.
    attempts = 1 if endpoint.port else _FREE_PORT_ATTEMPTS
    while True:
        attempts -= 1
        try:
            listeners = await _bind(addresses, endpoint.port)
            break
        except OSError as error:
            if error.errno != errno.EADDRINUSE or not attempts:
                raise DoorError(_why_not(endpoint, error)) from error
    names = (listener.socket.getsockname() for listener in listeners)
    bounds = (Bound(host=name[0], port=name[1], tls=tls is not None) for name in names)
    return [Listening(listener, tls, bound) for listener, bound in zip(listeners, bounds, strict=True)]


async def _bind(addresses: list[str], port: int) -> list[trio.SocketListener]:
    """Listen at all of `addresses` or none."""
    listeners: list[trio.SocketListener] = []
    try:
        for address in addresses:
            try:
                listeners += await trio.open_tcp_listeners(port, host=address, backlog=_BACKLOG)
            except OSError as error:
                # "localhost" names ::1 also where there is no IPv6.
                if not listeners or error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                    raise
            port = port or listeners[0].socket.getsockname()[1]
    except BaseException:
        for listener in listeners:
            listener.socket.close()
        raise
    return listeners


async def _addresses(host: str) -> list[str]:
    """The numeric addresses of `host`, IPv4 first."""
    try:
        found = await trio.socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError) as error:
        raise DoorError(f"The host {host!r} to listen on is no address or name of this machine.") from error
    families = (socket.AF_INET, socket.AF_INET6)
    ordered = sorted((family, str(address[0])) for family, _, _, _, address in found if family in families)
    return list(dict.fromkeys(address for _, address in ordered))


def _why_not(endpoint: TcpEndpoint, error: OSError) -> str:
    where = f"port {endpoint.port} of {endpoint.host}"
    if error.errno == errno.EADDRINUSE:
        return f"Another program listens on {where} already; choose another port, or 0 for a free one."
    if error.errno == errno.EACCES:
        return f"This user may not listen on {where}; choose a port above 1023."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"The host {endpoint.host} to listen on is no address of this machine."
    return f"The door cannot listen on {where}: {error.strerror}."


def _tls_context(files: TlsFiles) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(files.certificate, files.key)
    except ssl.SSLError as error:
        raise DoorError(f"{files.certificate} and {files.key} are no certificate and its private key.") from error
    except OSError as error:
        raise DoorError(f"{files.certificate} or {files.key} cannot be read: {error.strerror}.") from error
    context.set_alpn_protocols(["http/1.1"])
    return context


async def _open_unix(path: Path) -> Listening:
    if len(os.fsencode(path)) > LONGEST_UNIX_PATH:
        raise DoorError(f"The path of a Unix socket may have {LONGEST_UNIX_PATH} bytes; {path} is longer.")
    await _clear_stale(path)
    # Bound beside its place and moved there when it listens: nobody finds it open to others, or refusing.
    beside = path.with_name(f".{secrets.token_hex(4)}")
    listening = trio.socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        await listening.bind(str(beside))
        beside.chmod(0o600)
        listening.listen(_BACKLOG)
        beside.replace(path)
    except OSError as error:
        listening.close()
        beside.unlink(missing_ok=True)
        raise DoorError(f"The door cannot listen on {path}: {error.strerror}.") from error
    return Listening(trio.SocketListener(listening), None, Bound(path=path))


async def _clear_stale(path: Path) -> None:
    """Raises `DoorError` for a socket that answers and for what is no socket."""
    try:
        if not _is_socket(path):
            raise DoorError(f"{path} is no socket; move it away, or choose another path to listen on.")
        stream = await trio.open_unix_socket(str(path))
    except FileNotFoundError:
        return
    except OSError as error:
        # Left by a daemon that died; moving the new one there replaces it.
        if error.errno == errno.ECONNREFUSED:
            return
        raise DoorError(f"The door cannot listen on {path}: {error.strerror}.") from error
    await stream.aclose()
    raise DoorError(f"Another program listens on {path} already; choose another path.")


def _is_socket(path: Path) -> bool:
    return stat.S_ISSOCK(path.stat().st_mode)
