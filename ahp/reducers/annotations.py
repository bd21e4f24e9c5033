"""The annotations channel's reducer. `apply` is pure; the very same state comes back when nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ahp import wire
from ahp.actions import annotations as a
from ahp.state.annotations import Annotation, AnnotationsState
from ahp.state.common import AnnotationsSummary
from ahp.wire import UnsetType, Wire, replace


def apply(state: AnnotationsState, action: Wire) -> AnnotationsState:
    """`state` after `action`; an action of an unknown type changes nothing."""
    reduce = _REDUCERS.get(wire.tag_of(action))
    return state if reduce is None else reduce(state, action)


def summary_of(state: AnnotationsState, resource: str) -> AnnotationsSummary:
    """The counts that a session shows of its annotations channel `resource`."""
    entries = sum(len(annotation.entries) for annotation in state.annotations)
    return AnnotationsSummary(resource=resource, annotation_count=len(state.annotations), entry_count=entries)


def _set(state: AnnotationsState, action: a.AnnotationsSet) -> AnnotationsState:
    """In its place if it is there, else at the end."""
    if any(known.id == action.annotation.id for known in state.annotations):
        return _change(state, action.annotation.id, lambda _: action.annotation)
    return replace(state, annotations=[*state.annotations, action.annotation])


def _updated(state: AnnotationsState, action: a.AnnotationsUpdated) -> AnnotationsState:
    names = ("turn_id", "resource", "range", "resolved", "origin")
    given = {name: value for name in names if not isinstance(value := getattr(action, name), UnsetType)}
    return _change(state, action.annotation_id, lambda known: replace(known, **given))


def _removed(state: AnnotationsState, action: a.AnnotationsRemoved) -> AnnotationsState:
    rest = [known for known in state.annotations if known.id != action.annotation_id]
    return state if len(rest) == len(state.annotations) else replace(state, annotations=rest)


def _entry_set(state: AnnotationsState, action: a.AnnotationsEntrySet) -> AnnotationsState:
    def change(known: Annotation) -> Annotation:
        entry = action.entry
        if any(old.id == entry.id for old in known.entries):
            return replace(known, entries=[entry if old.id == entry.id else old for old in known.entries])
        return replace(known, entries=[*known.entries, entry])

    return _change(state, action.annotation_id, change)


def _entry_removed(state: AnnotationsState, action: a.AnnotationsEntryRemoved) -> AnnotationsState:
    """A thread without entries stays a thread."""

    def change(known: Annotation) -> Annotation:
        rest = [entry for entry in known.entries if entry.id != action.entry_id]
        return known if len(rest) == len(known.entries) else replace(known, entries=rest)

    return _change(state, action.annotation_id, change)


def _change(state: AnnotationsState, id: str, change: Callable[[Annotation], Annotation]) -> AnnotationsState:
    for index, known in enumerate(state.annotations):
        if known.id == id:
            changed = change(known)
            if changed is known:
                return state
            annotations = state.annotations.copy()
            annotations[index] = changed
            return replace(state, annotations=annotations)
    return state


_REDUCERS: dict[str, Callable[[AnnotationsState, Any], AnnotationsState]] = {
    "annotations/set": _set,
    "annotations/updated": _updated,
    "annotations/removed": _removed,
    "annotations/entrySet": _entry_set,
    "annotations/entryRemoved": _entry_removed,
}
