"""The annotations channel's actions; clients may dispatch all of them. Pure data."""

from __future__ import annotations

from typing import TypeAlias

from ahp.state.annotations import Annotation, AnnotationEntry
from ahp.state.common import TextRange
from ahp.wire import JSON, UNSET, Meta, UnsetType, Wire


class AnnotationsSet(Wire, frozen=True, kw_only=True, tag_field="type", tag="annotations/set"):
    annotation: Annotation


class AnnotationsUpdated(Wire, frozen=True, kw_only=True, tag_field="type", tag="annotations/updated"):
    """The given fields take the place of the annotation's."""

    annotation_id: str
    turn_id: str | UnsetType = UNSET
    resource: str | UnsetType = UNSET
    range: TextRange | UnsetType = UNSET
    resolved: bool | UnsetType = UNSET
    origin: JSON | UnsetType = UNSET
    meta: Meta = UNSET


class AnnotationsRemoved(Wire, frozen=True, kw_only=True, tag_field="type", tag="annotations/removed"):
    annotation_id: str


class AnnotationsEntrySet(Wire, frozen=True, kw_only=True, tag_field="type", tag="annotations/entrySet"):
    annotation_id: str
    entry: AnnotationEntry


class AnnotationsEntryRemoved(Wire, frozen=True, kw_only=True, tag_field="type", tag="annotations/entryRemoved"):
    annotation_id: str
    entry_id: str


AnnotationsAction: TypeAlias = (
    AnnotationsSet | AnnotationsUpdated | AnnotationsRemoved | AnnotationsEntrySet | AnnotationsEntryRemoved
)
