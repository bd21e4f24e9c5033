"""What can go wrong between a client and its host, besides the host's own `RpcError` answers."""

from __future__ import annotations

from ahp.commands.connection import ActionEnvelope

__all__ = [
    "ActionLost",
    "ActionRejected",
    "ChangesLost",
    "ChannelGone",
    "ClientError",
    "ConnectFailed",
    "Disconnected",
    "TransportClosed",
]


class ClientError(Exception):
    """Base of what the client library raises."""


class ConnectFailed(ClientError):
    """No connection came about. `status` is the HTTP status of a host that refused it."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class TransportClosed(ClientError):
    """A connection ended. `code` is the WebSocket close code, None where the stream just ended."""

    def __init__(self, code: int | None, reason: str | None = None) -> None:
        super().__init__(f"connection closed{'' if code is None else f' with {code}'}{f': {reason}' if reason else ''}")
        self.code = code
        self.reason = reason


class Disconnected(ClientError):
    """The connection was lost before the answer came: whether the host did what it was asked is not known.

    Also raised by everything on a client that is closed or has given up.
    """


class ActionRejected(ClientError):
    """The host refused an action; state is unchanged. `reason` is the host's sentence."""

    def __init__(self, reason: str, envelope: ActionEnvelope) -> None:
        super().__init__(reason)
        self.reason = reason
        self.envelope = envelope


class ActionLost(ClientError):
    """An action was dispatched, the connection was lost, and it is not safe to dispatch it again."""


class ChannelGone(ClientError):
    """The channel no longer exists, or may no longer be watched, since a reconnect."""

    def __init__(self, channel: str) -> None:
        super().__init__(f"{channel} is gone")
        self.channel = channel


class ChangesLost(ClientError):
    """A reader of changes fell so far behind that some were dropped. The state itself is right."""
