"""A resource watch's state (`ahp-resource-watch:/<id>`): what is watched, and what a change looks like. Pure data."""

from __future__ import annotations

from ahp.wire import UNSET, Meta, UnsetType, Wire


class WatchPatterns(Wire, frozen=True, kw_only=True):
    """Globs, or paths, relative to the watched root."""

    items: list[str]


class ResourceWatchState(Wire, frozen=True, kw_only=True):
    """Not recursive: the root itself and, where it is a directory, what is directly in it."""

    root: str
    recursive: bool
    excludes: WatchPatterns | UnsetType = UNSET
    includes: WatchPatterns | UnsetType = UNSET
    meta: Meta = UNSET


class ResourceChange(Wire, frozen=True, kw_only=True):
    """`type`: added, updated or deleted."""

    uri: str
    type: str


class ResourceChanges(Wire, frozen=True, kw_only=True):
    """One batch; never an empty one."""

    items: list[ResourceChange]
