"""A session's annotations channel (`<session>/annotations`): remarks on places in files. Pure data."""

from __future__ import annotations

from ahp.state.common import StringOrMarkdown, TextRange
from ahp.wire import JSON, UNSET, Meta, UnsetType, Wire


class AnnotationEntry(Wire, frozen=True, kw_only=True):
    """One remark of a thread."""

    id: str
    text: StringOrMarkdown
    meta: Meta = UNSET


class Annotation(Wire, frozen=True, kw_only=True):
    """A thread at a place: `range` is zero-based, absent for the whole resource; `origin` says where it was made."""

    id: str
    resource: str
    resolved: bool
    entries: list[AnnotationEntry]
    range: TextRange | UnsetType = UNSET
    turn_id: str | UnsetType = UNSET
    origin: JSON | UnsetType = UNSET
    meta: Meta = UNSET


class AnnotationsState(Wire, frozen=True, kw_only=True):
    """All annotations of a session."""

    annotations: list[Annotation]
    meta: Meta = UNSET
