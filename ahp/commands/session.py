"""Params and results of what is asked about one session, terminal or changeset. Pure data."""

from __future__ import annotations

from typing import TypeAlias

from ahp.commands.connection import ChannelParams
from ahp.state.common import ContentRef, ModelSelection, StringOrMarkdown, TextRange
from ahp.state.session import SessionActiveClient
from ahp.state.terminal import TerminalClaim
from ahp.wire import JSON, UNSET, UnsetType, Wire

__all__ = [
    "ChangesetOperationFollowUp",
    "ChangesetOperationTarget",
    "ChangesetRangeTarget",
    "ChangesetResourceTarget",
    "CreateSessionParams",
    "CreateTerminalParams",
    "DisposeSessionParams",
    "DisposeTerminalParams",
    "InvokeChangesetOperationParams",
    "InvokeChangesetOperationResult",
    "SessionFork",
]


class SessionFork(Wire, frozen=True, kw_only=True):
    """The session and turn that a new session continues."""

    session: str
    turn_id: str


class CreateSessionParams(ChannelParams, frozen=True, kw_only=True):
    """`channel` is the URI the client chose. `working_directory` is how versions before 0.5 named the only folder.

    Result: null. `session/ready` or `session/creationFailed` says how it went.
    """

    provider: str | UnsetType = UNSET
    working_directories: list[str] | UnsetType = UNSET
    working_directory: str | UnsetType = UNSET
    config: dict[str, JSON] | UnsetType = UNSET
    model: ModelSelection | UnsetType = UNSET
    active_client: SessionActiveClient | UnsetType = UNSET
    fork: SessionFork | UnsetType = UNSET
    progress_token: str | UnsetType = UNSET


class DisposeSessionParams(ChannelParams, frozen=True, kw_only=True):
    """Result: null, also where there is no such session."""


class CreateTerminalParams(ChannelParams, frozen=True, kw_only=True):
    """`channel` is the URI the client chose; the size is in characters. Result: null."""

    claim: TerminalClaim
    name: str | UnsetType = UNSET
    cwd: str | UnsetType = UNSET
    cols: int | UnsetType = UNSET
    rows: int | UnsetType = UNSET


class DisposeTerminalParams(ChannelParams, frozen=True, kw_only=True):
    """Result: null."""


class ChangesetResourceTarget(Wire, frozen=True, kw_only=True, tag_field="kind", tag="resource"):
    """One file of a changeset; `side` is `before` or `after`."""

    resource: str
    side: str | UnsetType = UNSET


class ChangesetRangeTarget(Wire, frozen=True, kw_only=True, tag_field="kind", tag="range"):
    """Lines of one file of a changeset."""

    resource: str
    range: TextRange
    side: str | UnsetType = UNSET


ChangesetOperationTarget: TypeAlias = ChangesetResourceTarget | ChangesetRangeTarget


class InvokeChangesetOperationParams(ChannelParams, frozen=True, kw_only=True):
    """Runs one of a changeset's operations; `target` is absent for one on the whole changeset."""

    operation_id: str
    target: ChangesetOperationTarget | UnsetType = UNSET


class ChangesetOperationFollowUp(Wire, frozen=True, kw_only=True):
    """Something to open next; `external` means outside the client."""

    content: ContentRef
    external: bool | UnsetType = UNSET


class InvokeChangesetOperationResult(Wire, frozen=True, kw_only=True):
    """Accepted; the effects come as actions of the changeset."""

    message: StringOrMarkdown | UnsetType = UNSET
    follow_up: ChangesetOperationFollowUp | UnsetType = UNSET
