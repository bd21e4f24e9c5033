"""Working directories as paths: the one place that says which of a session's folders lie on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ahp import uris

__all__ = ["paths_of"]


def paths_of(directories: Iterable[str]) -> list[Path]:
    """The paths of those `directories` (URIs) that are `file:` URIs of this machine, in order, each once."""
    paths: dict[Path, None] = {}
    for uri in directories:
        try:
            paths[uris.path_of(uri)] = None
        except uris.BadUri:
            continue  # A client may publish folders under its own schemes; they have no path here.
    return list(paths)
