"""What the system says turned into what the protocol says: codes as the reference host answers, words for a person.

Called around every file operation of this package, in worker threads; keeps no state.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from actors.workspace.places import Access, Confined
from ahp import uris
from ahp.commands import PermissionDeniedData, ResourceRequestParams
from ahp.jsonrpc import AlreadyExists, InternalError, InvalidParams, NotFound, PermissionDenied, RpcError
from ahp.wire import UNSET

__all__ = ["Named", "denied", "named", "refusing"]

_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


class Named(Struct, frozen=True):
    """A file as it was asked for: the URI goes into messages, the path to the system."""

    uri: str
    path: Path


def named(uri: str, missing: str) -> Named:
    """The file that `uri` names. Raises `InvalidParams`; `NotFound` (as `missing`) where `uri` is no URI at all."""
    if not uris.scheme_of(uri):
        raise NotFound(f"{missing}: {uri} (it is no URI: a scheme such as file: is missing)")
    try:
        return Named(uri, uris.path_of(uri))
    except uris.BadUri as error:
        raise InvalidParams(str(error)) from None


def denied(uri: str, access: Access) -> PermissionDenied:
    """The refusal by policy, with the request that would help."""
    request = ResourceRequestParams(
        uri=uri, read=True if access == "read" else UNSET, write=True if access == "write" else UNSET
    )
    return PermissionDenied(f"Permission denied: {access} access to {uri}", PermissionDeniedData(request=request))


@contextmanager
def refusing(target: Named, doing: str, missing: str) -> Iterator[None]:
    """Turns what fails inside into an `RpcError` about `target`.

    `doing` is what failed ("read content"), `missing` how the message starts where nothing is there ("Content not
    found").
    """
    try:
        yield
    except RpcError:
        raise
    except Confined as refused:
        raise denied(target.uri, refused.access) from None
    except OSError as error:
        raise _translated(error, target.uri, doing, missing) from error
    except RecursionError as error:
        raise InternalError(f"Failed to {doing}: {target.uri}: its folders are nested too deeply") from error


def _translated(error: OSError, uri: str, doing: str, missing: str) -> RpcError:
    if isinstance(error, FileNotFoundError | NotADirectoryError) or error.errno == errno.ELOOP:
        return NotFound(f"{missing}: {uri}")
    if isinstance(error, FileExistsError):
        return AlreadyExists(f"File already exists: {uri}")
    why = error.strerror or str(error)
    if error.errno in _FORBIDDEN:
        return PermissionDenied(f"Failed to {doing}: {uri}: {why.lower()}")
    if error.errno == errno.ENAMETOOLONG:
        return InvalidParams(f"Failed to {doing}: {uri}: the name is too long for this disk")
    if error.errno in _FULL:
        return InternalError(f"Failed to {doing}: {uri}: the disk is full")
    return InternalError(f"Failed to {doing}: {uri}: {why}")
