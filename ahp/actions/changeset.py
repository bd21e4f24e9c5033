"""The changeset channel's actions. Pure data."""

from __future__ import annotations

from typing import TypeAlias

from ahp.state.changeset import ChangesetFile, ChangesetOperation
from ahp.state.common import ErrorInfo
from ahp.wire import UNSET, UnsetType, Wire


class ChangesetStatusChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="changeset/statusChanged"):
    status: str
    error: ErrorInfo | UnsetType = UNSET


class ChangesetFileSet(Wire, frozen=True, kw_only=True, tag_field="type", tag="changeset/fileSet"):
    file: ChangesetFile


class ChangesetFileRemoved(Wire, frozen=True, kw_only=True, tag_field="type", tag="changeset/fileRemoved"):
    file_id: str


class ChangesetFilesReviewChanged(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="changeset/filesReviewChanged"
):
    """`files` are ids."""

    files: list[str]
    reviewed: bool


class ChangesetContentChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="changeset/contentChanged"):
    """All files; operations and error stay where they are not given."""

    files: list[ChangesetFile]
    operations: list[ChangesetOperation] | UnsetType = UNSET
    error: ErrorInfo | UnsetType = UNSET


class ChangesetOperationsChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="changeset/operationsChanged"):
    operations: list[ChangesetOperation] | UnsetType = UNSET


class ChangesetOperationStatusChanged(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="changeset/operationStatusChanged"
):
    operation_id: str
    status: str
    error: ErrorInfo | UnsetType = UNSET


class ChangesetCleared(Wire, frozen=True, kw_only=True, tag_field="type", tag="changeset/cleared"):
    pass


ChangesetAction: TypeAlias = (
    ChangesetStatusChanged
    | ChangesetFileSet
    | ChangesetFileRemoved
    | ChangesetFilesReviewChanged
    | ChangesetContentChanged
    | ChangesetOperationsChanged
    | ChangesetOperationStatusChanged
    | ChangesetCleared
)
