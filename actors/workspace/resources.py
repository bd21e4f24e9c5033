"""What is reachable by URI, by scheme: the `resource*` requests find their provider here. `file:` is built in.

Anybody may call the operations; the daemon and its plugins register schemes, each once. Every operation takes the
wire params, answers the wire result, and raises an `RpcError` whose code and sentence may go straight to the peer.
`confine` is the policy of whoever asks (`places.Confine`; None: the one all share, at first all that the daemon's user
may reach).
"""

from __future__ import annotations

from actors.workspace.files import READ_LIMIT, Files
from actors.workspace.places import Confine
from actors.workspace.provider import Provider
from ahp import uris
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
from ahp.jsonrpc import InternalError, InvalidParams

__all__ = ["Provider", "Resources"]


class Resources:
    """The table of schemes. `read_limit` is the largest file, in bytes, that one read answers; `confine` the policy for
    whoever asks without one (watches ask it too).
    """

    def __init__(self, *, read_limit: int = READ_LIMIT, confine: Confine | None = None) -> None:
        self.confine = confine
        self.files = Files(read_limit)
        self._providers: dict[str, Provider] = {"file": self.files}

    def register(self, scheme: str, provider: Provider) -> None:
        """Has `provider` serve `<scheme>:` URIs. Raises `ValueError` for a scheme that is taken or the protocol's."""
        scheme = scheme.lower()
        if not scheme or uris.scheme_of(f"{scheme}:") != scheme:
            raise ValueError(f"{scheme!r} cannot be the scheme of a URI")
        if scheme in self._providers or scheme.startswith("ahp-"):
            raise ValueError(f"{scheme}: is served already")
        self._providers[scheme] = provider

    @property
    def schemes(self) -> list[str]:
        """What is served, sorted."""
        return sorted(self._providers)

    async def read(self, params: ResourceReadParams, confine: Confine | None = None) -> ResourceReadResult:
        """`resourceRead`: the whole content; bytes that are not UTF-8 come as base64 whatever was asked."""
        return await self._provider(params.uri, "read content").read(params, confine or self.confine)

    async def write(self, params: ResourceWriteParams, confine: Confine | None = None) -> Empty:
        """`resourceWrite`: whole or not at all, and in order among this host's writers."""
        return await self._provider(params.uri, "write").write(params, confine or self.confine)

    async def list(self, params: ResourceListParams, confine: Confine | None = None) -> ResourceListResult:
        """`resourceList`: the entries of a folder."""
        return await self._provider(params.uri, "list the folder").list(params, confine or self.confine)

    async def resolve(self, params: ResourceResolveParams, confine: Confine | None = None) -> ResourceResolveResult:
        """`resourceResolve`: what is there, under its canonical URI."""
        return await self._provider(params.uri, "resolve").resolve(params, confine or self.confine)

    async def mkdir(self, params: ResourceMkdirParams, confine: Confine | None = None) -> Empty:
        """`resourceMkdir`: the folder and its missing parents."""
        return await self._provider(params.uri, "make the folder").mkdir(params, confine or self.confine)

    async def copy(self, params: ResourceCopyParams, confine: Confine | None = None) -> Empty:
        """`resourceCopy`, within one scheme."""
        return await self._of_both(params, "copy").copy(params, confine or self.confine)

    async def move(self, params: ResourceMoveParams, confine: Confine | None = None) -> Empty:
        """`resourceMove`, within one scheme."""
        return await self._of_both(params, "move").move(params, confine or self.confine)

    async def delete(self, params: ResourceDeleteParams, confine: Confine | None = None) -> Empty:
        """`resourceDelete`: a folder that is not empty goes only with `recursive`."""
        return await self._provider(params.uri, "delete").delete(params, confine or self.confine)

    async def request(self, params: ResourceRequestParams, confine: Confine | None = None) -> Empty:
        """`resourceRequest`: `PermissionDenied` where the policy says no."""
        return await self._provider(params.uri, "grant access").request(params, confine or self.confine)

    def _provider(self, uri: str, doing: str) -> Provider:
        # What has no scheme is refused by the file provider, in the words of each operation.
        scheme = uris.scheme_of(uri) or "file"
        provider = self._providers.get(scheme)
        if provider is None:
            raise InternalError(f"Failed to {doing}: {uri}: no file system provider for {scheme}: is registered")
        return provider

    def _of_both(self, params: ResourceCopyParams, doing: str) -> Provider:
        provider = self._provider(params.source, doing)
        if provider is not self._provider(params.destination, doing):
            raise InvalidParams(f"{params.source} and {params.destination}: {doing} works within one scheme")
        return provider
