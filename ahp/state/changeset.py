"""A changeset channel's state: a view of changed files, and what can be done with them. Pure data."""

from __future__ import annotations

from ahp.state.common import ErrorInfo, FileEdit, Icon, StringOrMarkdown
from ahp.wire import UNSET, Meta, UnsetType, Wire


class ChangesetFile(Wire, frozen=True, kw_only=True):
    """A changed file; `reviewed` is a person's mark."""

    id: str
    edit: FileEdit
    reviewed: bool | UnsetType = UNSET
    meta: Meta = UNSET


class ChangesetOperation(Wire, frozen=True, kw_only=True):
    """Something `invokeChangesetOperation` can do. `scopes`: changeset, resource, range.

    `status`: idle, running, error, disabled. A `confirmation` is shown, and accepted, before it is invoked.
    """

    id: str
    label: str
    scopes: list[str]
    status: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    icon: str | Icon | UnsetType = UNSET
    group: str | UnsetType = UNSET
    confirmation: StringOrMarkdown | UnsetType = UNSET
    error: ErrorInfo | UnsetType = UNSET
    meta: Meta = UNSET


class ChangesetState(Wire, frozen=True, kw_only=True):
    """`status`: computing, recomputing (the files are the previous result), ready or error."""

    status: str
    files: list[ChangesetFile]
    operations: list[ChangesetOperation] | UnsetType = UNSET
    error: ErrorInfo | UnsetType = UNSET
    meta: Meta = UNSET
