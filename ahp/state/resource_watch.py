"""A resource watch's state (`ahp-resource-watch:…`): what is watched. Pure data."""

from __future__ import annotations

from ahp.wire import UNSET, UnsetType, Wire


class ResourceWatchState(Wire, frozen=True, kw_only=True):
    """`excludes` and `includes` are globs."""

    root: str
    recursive: bool
    excludes: list[str] | UnsetType = UNSET
    includes: list[str] | UnsetType = UNSET
