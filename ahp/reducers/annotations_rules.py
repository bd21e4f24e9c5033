"""What a host refuses of an annotations channel's clients: an annotation always has at least one entry.

`refusal(…)` is pure: a sentence that says what was wrong and what was expected, or None. Removing what is gone already
is no error, since two clients may do it at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ahp import wire
from ahp.actions import annotations as a
from ahp.state.annotations import Annotation, AnnotationsState
from ahp.state.common import TextRange
from ahp.wire import UnsetType, Wire


def refusal(state: AnnotationsState, action: Wire, _client_id: str) -> str | None:
    """Why `action` may not be applied to `state`; None when it may. The annotations are everybody's."""
    rule = _RULES.get(wire.tag_of(action))
    return None if rule is None else rule(state, action)


def _set(_: AnnotationsState, action: a.AnnotationsSet) -> str | None:
    annotation = action.annotation
    if not annotation.id:
        return "annotation.id is empty: an id of its own is expected"
    if not annotation.entries:
        return f"annotation {annotation.id} has no entries: at least one is expected"
    ids = [entry.id for entry in annotation.entries]
    if len(set(ids)) < len(ids):
        return f"annotation {annotation.id} has two entries of one id: each needs an id of its own"
    return _bad_range(annotation.range)


def _updated(state: AnnotationsState, action: a.AnnotationsUpdated) -> str | None:
    return _unknown(state, action.annotation_id) or _bad_range(action.range)


def _entry_set(state: AnnotationsState, action: a.AnnotationsEntrySet) -> str | None:
    if not action.entry.id:
        return "entry.id is empty: an id of its own is expected"
    return _unknown(state, action.annotation_id)


def _entry_removed(state: AnnotationsState, action: a.AnnotationsEntryRemoved) -> str | None:
    annotation = _find(state, action.annotation_id)
    if annotation is not None and [entry.id for entry in annotation.entries] == [action.entry_id]:
        return f"{action.entry_id} is the only entry of {annotation.id}: remove the annotation (annotations/removed)"
    return None


def _unknown(state: AnnotationsState, id: str) -> str | None:
    return f"there is no annotation {id}" if _find(state, id) is None else None


def _find(state: AnnotationsState, id: str) -> Annotation | None:
    return next((annotation for annotation in state.annotations if annotation.id == id), None)


def _bad_range(range: TextRange | UnsetType) -> str | None:
    if isinstance(range, UnsetType):
        return None
    start, end = ((position.line, position.character) for position in (range.start, range.end))
    if min(*start, *end) < 0:
        return "range has a negative position: lines and characters count from 0"
    return "range ends before it starts" if end < start else None


_RULES: dict[str, Callable[[AnnotationsState, Any], str | None]] = {
    "annotations/set": _set,
    "annotations/updated": _updated,
    "annotations/entrySet": _entry_set,
    "annotations/entryRemoved": _entry_removed,
}
