"""The `resource*` requests and watches: this host's files and schemes, and what connected clients publish."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from actors.requests.handler import Handler
from ahp.commands import (
    CreateResourceWatchParams,
    CreateResourceWatchResult,
    ResourceCopyParams,
    ResourceDeleteParams,
    ResourceListParams,
    ResourceMkdirParams,
    ResourceMoveParams,
    ResourceReadParams,
    ResourceRequestParams,
    ResourceResolveParams,
    ResourceWriteParams,
)

if TYPE_CHECKING:
    from actors.connection import ClientConnection


def _on_resources(name: str) -> Callable[[ClientConnection, Any], Awaitable[object]]:
    async def run(connection: ClientConnection, params: Any) -> object:
        return await getattr(connection.host.env.resources, name)(params)

    return run


async def create_resource_watch(
    connection: ClientConnection, params: CreateResourceWatchParams
) -> CreateResourceWatchResult:
    return CreateResourceWatchResult(channel=await connection.host.watches.create(params))


def _handler(params: Any, name: str) -> Handler:
    return Handler(params, _on_resources(name), beside=True)


HANDLERS = {
    "resourceRead": _handler(ResourceReadParams, "read"),
    "resourceWrite": _handler(ResourceWriteParams, "write"),
    "resourceList": _handler(ResourceListParams, "list"),
    "resourceResolve": _handler(ResourceResolveParams, "resolve"),
    "resourceMkdir": _handler(ResourceMkdirParams, "mkdir"),
    "resourceCopy": _handler(ResourceCopyParams, "copy"),
    "resourceMove": _handler(ResourceMoveParams, "move"),
    "resourceDelete": _handler(ResourceDeleteParams, "delete"),
    "resourceRequest": _handler(ResourceRequestParams, "request"),
    "createResourceWatch": Handler(CreateResourceWatchParams, create_resource_watch),
}
