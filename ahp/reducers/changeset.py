"""The changeset channel's reducer. `apply` is pure; the very same state comes back when nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ahp import wire
from ahp.actions import changeset as a
from ahp.state.changeset import ChangesetState
from ahp.wire import UNSET, UnsetType, Wire, present, replace


def apply(state: ChangesetState, action: Wire) -> ChangesetState:
    """`state` after `action`; an action of an unknown type changes nothing."""
    reduce = _REDUCERS.get(wire.tag_of(action))
    return state if reduce is None else reduce(state, action)


def _status_changed(state: ChangesetState, action: a.ChangesetStatusChanged) -> ChangesetState:
    """An error goes with the status `error` alone."""
    return replace(state, status=action.status, error=action.error if action.status == "error" else UNSET)


def _file_set(state: ChangesetState, action: a.ChangesetFileSet) -> ChangesetState:
    """In its place if it is there, else at the end."""
    for index, known in enumerate(state.files):
        if known.id == action.file.id:
            files = state.files.copy()
            files[index] = action.file
            return replace(state, files=files)
    return replace(state, files=[*state.files, action.file])


def _file_removed(state: ChangesetState, action: a.ChangesetFileRemoved) -> ChangesetState:
    rest = [known for known in state.files if known.id != action.file_id]
    return state if len(rest) == len(state.files) else replace(state, files=rest)


def _files_review_changed(state: ChangesetState, action: a.ChangesetFilesReviewChanged) -> ChangesetState:
    """Ids that are not there are passed over."""
    marked = set(action.files)
    if not any(known.id in marked and known.reviewed is not action.reviewed for known in state.files):
        return state
    files = [replace(known, reviewed=action.reviewed) if known.id in marked else known for known in state.files]
    return replace(state, files=files)


def _content_changed(state: ChangesetState, action: a.ChangesetContentChanged) -> ChangesetState:
    """All files anew; operations and error where they are given."""
    operations = state.operations if isinstance(action.operations, UnsetType) else action.operations
    error = state.error if isinstance(action.error, UnsetType) else action.error
    return replace(state, files=action.files, operations=operations, error=error)


def _operations_changed(state: ChangesetState, action: a.ChangesetOperationsChanged) -> ChangesetState:
    return replace(state, operations=action.operations)


def _operation_status_changed(state: ChangesetState, action: a.ChangesetOperationStatusChanged) -> ChangesetState:
    """An error goes with the status `error` alone."""
    operations = present(state.operations, [])
    for index, known in enumerate(operations):
        if known.id == action.operation_id:
            error = action.error if action.status == "error" else UNSET
            moved = replace(known, status=action.status, error=error)
            return replace(state, operations=[*operations[:index], moved, *operations[index + 1 :]])
    return state


def _cleared(state: ChangesetState, _: a.ChangesetCleared) -> ChangesetState:
    return replace(state, files=[]) if state.files else state


_REDUCERS: dict[str, Callable[[ChangesetState, Any], ChangesetState]] = {
    "changeset/statusChanged": _status_changed,
    "changeset/fileSet": _file_set,
    "changeset/fileRemoved": _file_removed,
    "changeset/filesReviewChanged": _files_review_changed,
    "changeset/contentChanged": _content_changed,
    "changeset/operationsChanged": _operations_changed,
    "changeset/operationStatusChanged": _operation_status_changed,
    "changeset/cleared": _cleared,
}
