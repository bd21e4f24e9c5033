"""A client of the Agent Host Protocol: connect, watch channels with their state mirrored, dispatch, reconnect.

    async with connect("ws://127.0.0.1:7777", token=token) as client:
        async with client.subscribe(chat, ChatState) as sub:
            await client.dispatch_and_wait(chat, ChatTurnStarted(…))
            done = await sub.wait_for(lambda state: isinstance(state.active_turn, UnsetType))

Everything is owned by the `connect` block: no task, socket or queue outlives it. The only part of `ahp` that
imports trio.
"""

from ahp.client.client import Client, HostNotification, connect
from ahp.client.errors import (
    ActionLost,
    ActionRejected,
    ChangesLost,
    ChannelGone,
    ClientError,
    ConnectFailed,
    Disconnected,
    TransportClosed,
)
from ahp.client.feed import Reader
from ahp.client.link import Handler
from ahp.client.subscription import Change, Subscription
from ahp.client.supervisor import Backoff, Status
from ahp.client.transport import Connector, LineTransport, Transport, connector_for, line_connector, websocket_connector

__all__ = [
    "ActionLost",
    "ActionRejected",
    "Backoff",
    "Change",
    "ChangesLost",
    "ChannelGone",
    "Client",
    "ClientError",
    "ConnectFailed",
    "Connector",
    "Disconnected",
    "Handler",
    "HostNotification",
    "LineTransport",
    "Reader",
    "Status",
    "Subscription",
    "Transport",
    "TransportClosed",
    "connect",
    "connector_for",
    "line_connector",
    "websocket_connector",
]
