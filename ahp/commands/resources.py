"""Params and results of the `resource*` family and of watches: files and whatever else either side serves by URI.

Pure data, the same in both directions. What has only to succeed (write, copy, move, delete, mkdir, request) answers
`Empty`.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from ahp.uris import ROOT
from ahp.wire import UNSET, Meta, UnsetType, Wire

__all__ = [
    "CreateResourceWatchParams",
    "CreateResourceWatchResult",
    "DirectoryEntry",
    "Encoding",
    "Globs",
    "PermissionDeniedData",
    "ResourceCopyParams",
    "ResourceDeleteParams",
    "ResourceListParams",
    "ResourceListResult",
    "ResourceMkdirParams",
    "ResourceMoveParams",
    "ResourceParams",
    "ResourceReadParams",
    "ResourceReadResult",
    "ResourceRequestParams",
    "ResourceResolveParams",
    "ResourceResolveResult",
    "ResourceWriteParams",
    "WriteMode",
]

Encoding: TypeAlias = Literal["utf-8", "base64"]
WriteMode: TypeAlias = Literal["truncate", "append", "insert"]


class ResourceParams(Wire, frozen=True, kw_only=True):
    """The base of the family: one resource, under any scheme the receiver serves."""

    uri: str
    channel: str = ROOT
    meta: Meta = UNSET


class ResourceReadParams(ResourceParams, frozen=True, kw_only=True):
    """Without `encoding` the receiver chooses; bytes that are not UTF-8 come as base64 whatever was asked."""

    encoding: Encoding | UnsetType = UNSET


class ResourceReadResult(Wire, frozen=True, kw_only=True):
    """The content, `data` encoded as `encoding` says."""

    data: str
    encoding: Encoding
    content_type: str | UnsetType = UNSET


class ResourceWriteParams(ResourceParams, frozen=True, kw_only=True):
    """`position` is in bytes: `truncate` keeps [0, position) and writes after it; `append` counts back from the end;
    `insert` splices. `if_match` is an etag that must still hold.
    """

    data: str
    encoding: Encoding
    content_type: str | UnsetType = UNSET
    create_only: bool | UnsetType = UNSET
    mode: WriteMode | UnsetType = UNSET
    position: int | UnsetType = UNSET
    if_match: str | UnsetType = UNSET


class ResourceListParams(ResourceParams, frozen=True, kw_only=True):
    """A folder's entries; anything else is an error."""


class DirectoryEntry(Wire, frozen=True, kw_only=True):
    """One name in a folder; `type` is `file` or `directory`."""

    name: str
    type: str


class ResourceListResult(Wire, frozen=True, kw_only=True):
    """The entries, in the receiver's order."""

    entries: list[DirectoryEntry]


class ResourceCopyParams(Wire, frozen=True, kw_only=True):
    """The destination is overwritten unless `fail_if_exists`."""

    source: str
    destination: str
    channel: str = ROOT
    fail_if_exists: bool | UnsetType = UNSET
    meta: Meta = UNSET


class ResourceMoveParams(ResourceCopyParams, frozen=True, kw_only=True):
    """As `ResourceCopyParams`; the source is gone afterwards."""


class ResourceDeleteParams(ResourceParams, frozen=True, kw_only=True):
    """A folder that is not empty goes only with `recursive`."""

    recursive: bool | UnsetType = UNSET


class ResourceResolveParams(ResourceParams, frozen=True, kw_only=True):
    """Links are followed unless `follow_symlinks` is false."""

    follow_symlinks: bool | UnsetType = UNSET


class ResourceResolveResult(Wire, frozen=True, kw_only=True):
    """What is there: `uri` is canonical, `type` `file`, `directory` or `symlink`, times ISO 8601, `size` in bytes."""

    uri: str
    type: str
    size: int | UnsetType = UNSET
    mtime: str | UnsetType = UNSET
    ctime: str | UnsetType = UNSET
    content_type: str | UnsetType = UNSET
    etag: str | UnsetType = UNSET


class ResourceMkdirParams(ResourceParams, frozen=True, kw_only=True):
    """Missing parents are made too; an existing folder is fine."""


class ResourceRequestParams(ResourceParams, frozen=True, kw_only=True):
    """Asks for access; with neither flag it is to read."""

    read: bool | UnsetType = UNSET
    write: bool | UnsetType = UNSET


class PermissionDeniedData(Wire, frozen=True, kw_only=True):
    """The data of a -32009: the request that, once granted, would let the operation through."""

    request: ResourceRequestParams | UnsetType = UNSET


class Globs(Wire, frozen=True, kw_only=True):
    """Glob patterns or paths relative to the watched URI."""

    items: list[str]


class CreateResourceWatchParams(ResourceParams, frozen=True, kw_only=True):
    """Watches a resource (and, with `recursive`, all below it) until its last subscriber leaves."""

    recursive: bool | UnsetType = UNSET
    excludes: Globs | UnsetType = UNSET
    includes: Globs | UnsetType = UNSET


class CreateResourceWatchResult(Wire, frozen=True, kw_only=True):
    """The watch's channel, to be subscribed."""

    channel: str
