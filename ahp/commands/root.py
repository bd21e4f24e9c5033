"""Params and results around the catalogue of sessions, and the root channel's ephemeral notifications. Pure data."""

from __future__ import annotations

from ahp.state.common import ConfigSchema
from ahp.state.session import SessionSummary
from ahp.uris import ROOT
from ahp.wire import JSON, UNSET, Meta, UnsetType, Wire

__all__ = [
    "ListSessionsParams",
    "ListSessionsResult",
    "ProgressParams",
    "ResolveSessionConfigParams",
    "ResolveSessionConfigResult",
    "SessionAddedParams",
    "SessionConfigCompletionsParams",
    "SessionConfigCompletionsResult",
    "SessionConfigValueItem",
    "SessionRemovedParams",
    "SessionSummaryChangedParams",
]


class ListSessionsParams(Wire, frozen=True, kw_only=True):
    """One page of the catalogue. `cursor` is what the page before gave; `filter` is an open object of conditions."""

    channel: str = ROOT
    limit: int | UnsetType = UNSET
    cursor: str | UnsetType = UNSET
    filter: dict[str, JSON] | UnsetType = UNSET
    meta: Meta = UNSET


class ListSessionsResult(Wire, frozen=True, kw_only=True):
    """Latest change first. `next_cursor` is absent on the last page."""

    items: list[SessionSummary]
    next_cursor: str | UnsetType = UNSET


class ResolveSessionConfigParams(Wire, frozen=True, kw_only=True):
    """What could be configured for a session that does not exist yet, given these choices."""

    channel: str = ROOT
    provider: str | UnsetType = UNSET
    working_directory: str | UnsetType = UNSET
    config: dict[str, JSON] | UnsetType = UNSET
    meta: Meta = UNSET


class ResolveSessionConfigResult(Wire, frozen=True, kw_only=True):
    """The whole schema in this context, and the choices with the host's defaults filled in."""

    schema: ConfigSchema
    values: dict[str, JSON]


class SessionConfigCompletionsParams(Wire, frozen=True, kw_only=True):
    """Values for a property whose schema says `enumDynamic`; without a query the usual or recent ones."""

    property: str
    channel: str = ROOT
    provider: str | UnsetType = UNSET
    working_directory: str | UnsetType = UNSET
    config: dict[str, JSON] | UnsetType = UNSET
    query: str | UnsetType = UNSET
    meta: Meta = UNSET


class SessionConfigValueItem(Wire, frozen=True, kw_only=True):
    """A value and how to show it."""

    value: str
    label: str
    description: str | UnsetType = UNSET


class SessionConfigCompletionsResult(Wire, frozen=True, kw_only=True):
    """The values that match, in the order to show them."""

    items: list[SessionConfigValueItem]


class SessionAddedParams(Wire, frozen=True, kw_only=True):
    """`root/sessionAdded`."""

    summary: SessionSummary
    channel: str = ROOT


class SessionRemovedParams(Wire, frozen=True, kw_only=True):
    """`root/sessionRemoved`."""

    session: str
    channel: str = ROOT


class SessionSummaryChangedParams(Wire, frozen=True, kw_only=True):
    """`root/sessionSummaryChanged`: `changes` are the fields of a `SessionSummary` (as on the wire) that have new
    values; `resource`, `provider` and `createdAt` are never among them.
    """

    session: str
    changes: dict[str, JSON]
    channel: str = ROOT


class ProgressParams(Wire, frozen=True, kw_only=True):
    """`root/progress` of the request that carried the token; the last one has `progress` equal to `total`."""

    progress_token: str
    progress: int | float
    channel: str = ROOT
    total: int | float | UnsetType = UNSET
    message: str | UnsetType = UNSET
