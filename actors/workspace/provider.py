"""What serves the resources of one scheme. A provider overrides what it can do; the rest is refused by name.

Registered with `Resources.register`, called by nothing else. Reads answer whole contents; errors are `RpcError`s.
"""

from __future__ import annotations

from actors.workspace.places import Confine
from ahp.commands import (
    Empty,
    ResourceCopyParams,
    ResourceDeleteParams,
    ResourceListParams,
    ResourceListResult,
    ResourceMkdirParams,
    ResourceMoveParams,
    ResourceReadParams,
    ResourceReadResult,
    ResourceRequestParams,
    ResourceResolveParams,
    ResourceResolveResult,
    ResourceWriteParams,
)
from ahp.jsonrpc import MethodNotFound

__all__ = ["Provider"]


class Provider:
    """Base of every provider. `confine` is the policy of who asks, for providers whose resources are files."""

    async def read(self, params: ResourceReadParams, confine: Confine | None) -> ResourceReadResult:
        raise _cannot(params.uri, "read")

    async def write(self, params: ResourceWriteParams, confine: Confine | None) -> Empty:
        raise _cannot(params.uri, "written")

    async def list(self, params: ResourceListParams, confine: Confine | None) -> ResourceListResult:
        raise _cannot(params.uri, "listed")

    async def resolve(self, params: ResourceResolveParams, confine: Confine | None) -> ResourceResolveResult:
        raise _cannot(params.uri, "resolved")

    async def mkdir(self, params: ResourceMkdirParams, confine: Confine | None) -> Empty:
        raise _cannot(params.uri, "made as folders")

    async def copy(self, params: ResourceCopyParams, confine: Confine | None) -> Empty:
        raise _cannot(params.source, "copied")

    async def move(self, params: ResourceMoveParams, confine: Confine | None) -> Empty:
        raise _cannot(params.source, "moved")

    async def delete(self, params: ResourceDeleteParams, confine: Confine | None) -> Empty:
        raise _cannot(params.uri, "deleted")

    async def request(self, params: ResourceRequestParams, confine: Confine | None) -> Empty:
        raise _cannot(params.uri, "asked for")


def _cannot(uri: str, verb: str) -> MethodNotFound:
    return MethodNotFound(f"{uri}: resources of this scheme cannot be {verb}")
