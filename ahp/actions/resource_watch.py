"""The resource watch channel's action; it tells of changes and changes no state. Pure data."""

from __future__ import annotations

from typing import TypeAlias

from ahp.state.resource_watch import ResourceChange, ResourceChanges
from ahp.wire import Wire

__all__ = ["ResourceChange", "ResourceChanges", "ResourceWatchAction", "ResourceWatchChanged"]


class ResourceWatchChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="resourceWatch/changed"):
    changes: ResourceChanges


ResourceWatchAction: TypeAlias = ResourceWatchChanged
