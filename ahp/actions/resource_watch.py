"""The resource watch channel's action; it changes no state. Pure data."""

from __future__ import annotations

from typing import TypeAlias

from ahp.wire import Wire


class ResourceChange(Wire, frozen=True, kw_only=True):
    """`type`: added, updated or deleted."""

    uri: str
    type: str


class ResourceWatchChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="resourceWatch/changed"):
    changes: list[ResourceChange]


ResourceWatchAction: TypeAlias = ResourceWatchChanged
