"""Params and results of a connection's own messages: handshake, subscriptions, actions, sign-in.

Pure data. A `channel` that the protocol fixes to the root channel has it as its default.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import field

from ahp.state.common import ProtectedResource
from ahp.uris import ROOT
from ahp.wire import JSON, UNSET, Meta, Raw, UnsetType, Wire

__all__ = [
    "ActionEnvelope",
    "ActionOrigin",
    "AuthRequiredParams",
    "AuthenticateParams",
    "ChannelParams",
    "ClientCapabilities",
    "DispatchActionParams",
    "Empty",
    "Implementation",
    "InitializeParams",
    "InitializeResult",
    "PingParams",
    "ReconnectParams",
    "ReconnectReplay",
    "ReconnectResult",
    "ReconnectSnapshot",
    "Snapshot",
    "SubscribeParams",
    "SubscribeResult",
    "SubscribeView",
    "SubscriptionDelivery",
    "TelemetryCapabilities",
    "UnsubscribeParams",
]


class Empty(Wire, frozen=True, kw_only=True):
    """`{}`: the result of a request that has only to succeed, and a capability that has only to be there."""


class ChannelParams(Wire, frozen=True, kw_only=True):
    """The base of every params object: the channel it is about."""

    channel: str
    meta: Meta = UNSET


class Implementation(Wire, frozen=True, kw_only=True):
    """Which software is on this end. Informational: nothing may depend on it."""

    name: str
    version: str | UnsetType = UNSET
    title: str | UnsetType = UNSET


class ClientCapabilities(Wire, frozen=True, kw_only=True):
    """What a client can do; each is `{}` (or true) when it can and absent when it cannot."""

    mcp_apps: Empty | UnsetType = UNSET
    steering_messages: Empty | bool | UnsetType = UNSET


class TelemetryCapabilities(Wire, frozen=True, kw_only=True):
    """The OTLP channels a host emits, as URIs or (for logs) a template in `{level}`."""

    logs: str | UnsetType = UNSET
    traces: str | UnsetType = UNSET
    metrics: str | UnsetType = UNSET


class Snapshot(Wire, frozen=True, kw_only=True):
    """A channel's state, exact at `from_seq`: it holds every action up to it and none after. `state` is raw JSON."""

    resource: str
    state: Raw
    from_seq: int


class InitializeParams(Wire, frozen=True, kw_only=True):
    """The first message of a connection. `protocol_versions` is best first; none offered reads as an empty list."""

    client_id: str
    channel: str = ROOT
    protocol_versions: list[str] = field(default_factory=list)
    client_info: Implementation | UnsetType = UNSET
    initial_subscriptions: list[str] | UnsetType = UNSET
    locale: str | UnsetType = UNSET
    capabilities: ClientCapabilities | UnsetType = UNSET
    meta: Meta = UNSET


class InitializeResult(Wire, frozen=True, kw_only=True):
    """The version both speak from now on, and where the host's sequence stands."""

    protocol_version: str
    server_seq: int
    snapshots: list[Snapshot]
    server_info: Implementation | UnsetType = UNSET
    default_directory: str | UnsetType = UNSET
    completion_trigger_characters: list[str] | UnsetType = UNSET
    terminal_command_prefix: str | UnsetType = UNSET
    steering_messages: Empty | bool | UnsetType = UNSET
    telemetry: TelemetryCapabilities | UnsetType = UNSET
    automations: dict[str, JSON] | UnsetType = UNSET
    repository_preparation: dict[str, JSON] | UnsetType = UNSET
    meta: Meta = UNSET


class PingParams(Wire, frozen=True, kw_only=True):
    """Always answered with null, before initialize too."""

    channel: str = ROOT
    meta: Meta = UNSET


class ActionOrigin(Wire, frozen=True, kw_only=True):
    """Which client dispatched an action, under which of its numbers."""

    client_id: str
    client_seq: int


class ActionEnvelope(Wire, frozen=True, kw_only=True):
    """An action in the host's order, or (with `rejection_reason`) one that changed nothing, back at its dispatcher.

    `action` is raw JSON: `ahp.actions.decode` makes it typed. The params of the `action` notification.
    """

    channel: str
    action: Raw
    server_seq: int
    origin: ActionOrigin | UnsetType = UNSET
    rejection_reason: str | UnsetType = UNSET


class ReconnectParams(Wire, frozen=True, kw_only=True):
    """The first message of a connection that continues an earlier one."""

    client_id: str
    last_seen_server_seq: int
    subscriptions: list[str]
    channel: str = ROOT
    meta: Meta = UNSET


class ReconnectReplay(Wire, frozen=True, kw_only=True, tag_field="type", tag="replay"):
    """Everything missed on the named channels, in order; `missing` are those that cannot be resumed."""

    actions: list[ActionEnvelope]
    missing: list[str] = field(default_factory=list)


class ReconnectSnapshot(Wire, frozen=True, kw_only=True, tag_field="type", tag="snapshot"):
    """The gap was too large: every resumable channel anew."""

    snapshots: list[Snapshot]


ReconnectResult: TypeAlias = ReconnectReplay | ReconnectSnapshot


class SubscriptionDelivery(Wire, frozen=True, kw_only=True):
    """How long (milliseconds) updates may be held back to be coalesced; 0: not at all."""

    max_latency_ms: int | float | UnsetType = UNSET


class SubscribeView(Wire, frozen=True, kw_only=True):
    """How much of a chat the snapshot should hold: `turns` is the wanted number of latest turns, absent for all."""

    turns: int | UnsetType = UNSET


class SubscribeParams(ChannelParams, frozen=True, kw_only=True):
    """Subscribing again answers a fresh snapshot."""

    delivery: SubscriptionDelivery | UnsetType = UNSET
    view: SubscribeView | UnsetType = UNSET


class SubscribeResult(Wire, frozen=True, kw_only=True):
    """`snapshot` is absent for a channel without state."""

    snapshot: Snapshot | UnsetType = UNSET


class UnsubscribeParams(ChannelParams, frozen=True, kw_only=True):
    """A notification: it has no answer."""


class DispatchActionParams(Wire, frozen=True, kw_only=True):
    """A client's action, under a number that only it uses. `action` is raw JSON."""

    channel: str
    client_seq: int
    action: Raw
    meta: Meta = UNSET


class AuthenticateParams(Wire, frozen=True, kw_only=True):
    """A bearer token for a protected resource; an empty one revokes. `expires_in` is in seconds. Result: `Empty`."""

    resource: str
    token: str
    channel: str = ROOT
    expires_in: int | UnsetType = UNSET
    scopes: list[str] | UnsetType = UNSET
    meta: Meta = UNSET


class AuthRequiredParams(Wire, frozen=True, kw_only=True):
    """A protected resource wants a (new) token. `resource` is RFC 9728 metadata, `reason` `required` or `expired`."""

    channel: str
    resource: ProtectedResource
    reason: str | UnsetType = UNSET
