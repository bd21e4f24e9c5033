"""initialize, reconnect, subscribe and authenticate: who is there, and what it watches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from actors.client import Resumed, Watching
from actors.requests.handler import Handler
from ahp import versions, wire
from ahp.commands import (
    AuthenticateParams,
    Empty,
    Implementation,
    InitializeParams,
    InitializeResult,
    ReconnectParams,
    SubscribeParams,
)
from ahp.jsonrpc import InvalidParams, NotFound, RpcError, UnsupportedProtocolVersion
from ahp.wire import Raw, present

if TYPE_CHECKING:
    from actors.connection import ClientConnection

CLOSE_UNSUPPORTED = 1002
"""The close code after a handshake without a common version (WebSocket: protocol error)."""


async def initialize(connection: ClientConnection, params: InitializeParams) -> InitializeResult:
    host = connection.host
    version = versions.negotiate(params.protocol_versions)
    if version is None:
        offered = ", ".join(params.protocol_versions)
        host.close_soon(connection, CLOSE_UNSUPPORTED, "no common protocol version")
        raise UnsupportedProtocolVersion(
            f"No common protocol version: the client offers [{offered}], this host speaks "
            f"{', '.join(versions.SUPPORTED_RANGES)}.",
            {"supportedVersions": list(versions.SUPPORTED_RANGES)},
        )
    if not params.client_id:
        raise InvalidParams("clientId is empty: choose an id that is this client's own")
    connection.version = version
    connection.capabilities = present(params.capabilities, connection.capabilities)
    connection.client = await host.client(params.client_id)
    snapshots = [
        Raw(snapshot)
        for channel in present(params.initial_subscriptions, [])
        if (snapshot := await _try_subscribe(connection, channel)) is not None
    ]
    connection.greeted = True
    return InitializeResult(
        protocol_version=version,
        server_seq=host.env.hub.server_seq,
        snapshots=snapshots,  # type: ignore[arg-type]  # encoded already
        server_info=Implementation(name="ahpd", version=host.env.version, title="ahpd"),
        default_directory=host.default_directory,
        completion_trigger_characters=["@"],
        steering_messages=Empty(),
    )


async def reconnect(connection: ClientConnection, params: ReconnectParams) -> Raw:
    """A replay while the window holds everything missed on those channels, else fresh snapshots."""
    host = connection.host
    if not await host.knows_client(params.client_id):
        raise NotFound(f"Reconnect client not found: {params.client_id}")
    connection.client = await host.client(params.client_id)
    connection.version = versions.CURRENT
    hub = host.env.hub
    after = params.last_seen_server_seq
    snapshots = await _resubscribe(connection, params.subscriptions, quiet=hub.can_replay(after))
    await connection.client.tell(Resumed(frozenset(hub.canonical(channel) for channel in snapshots)))
    replayed = hub.replay(snapshots, after)
    if replayed is None:
        if not all(snapshots.values()):  # The window moved on meanwhile.
            snapshots = await _resubscribe(connection, snapshots, quiet=False)
        connection.greeted = True
        return Raw(b'{"type":"snapshot","snapshots":[' + b",".join(snapshots.values()) + b"]}")
    for channel in snapshots:
        connection.refreshed(channel)  # What is held of it is in the replay.
    connection.greeted = True
    missing = [channel for channel in params.subscriptions if channel not in snapshots]
    return Raw(b'{"type":"replay","actions":[' + b",".join(replayed) + b'],"missing":' + wire.encode(missing) + b"}")


async def subscribe(connection: ClientConnection, params: SubscribeParams) -> Raw:
    view = present(params.view, None)
    snapshot = await _subscribe(connection, params.channel, None if view is None else present(view.turns, None))
    return Raw(b'{"snapshot":' + snapshot + b"}" if snapshot else b"{}")


async def authenticate(connection: ClientConnection, params: AuthenticateParams) -> Empty:
    await connection.host.env.agents.authenticate(params.resource, params.token)
    return Empty()


async def _resubscribe(connection: ClientConnection, channels: Iterable[str], *, quiet: bool) -> dict[str, bytes]:
    """Snapshots (empty when `quiet`) of those channels that are still there."""
    found = {channel: await _try_subscribe(connection, channel, quiet=quiet) for channel in dict.fromkeys(channels)}
    return {channel: snapshot for channel, snapshot in found.items() if snapshot is not None}


async def _subscribe(connection: ClientConnection, channel: str, turns: int | None, *, quiet: bool = False) -> bytes:
    snapshot = await connection.host.subscribe(channel, connection, turns, quiet=quiet)
    if channel not in connection.subscriptions:
        connection.subscriptions.add(channel)
        assert connection.client is not None
        await connection.client.tell(Watching(connection.host.env.hub.canonical(channel)))
    return snapshot


async def _try_subscribe(connection: ClientConnection, channel: str, *, quiet: bool = False) -> bytes | None:
    """The snapshot, or None where there is no such channel (any more): a handshake goes on without it."""
    try:
        return await _subscribe(connection, channel, None, quiet=quiet)
    except RpcError:
        return None


HANDLERS = {
    "initialize": Handler(InitializeParams, initialize, holds=True),
    "reconnect": Handler(ReconnectParams, reconnect, holds=True),
    "subscribe": Handler(SubscribeParams, subscribe, holds=True),
    "authenticate": Handler(AuthenticateParams, authenticate),
}
