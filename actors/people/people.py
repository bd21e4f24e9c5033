"""The people of a host. Without a users directory it is a single person's, who may do everything."""

from __future__ import annotations

from typing import Protocol

__all__ = ["People"]


class Behind(Protocol):
    """Who is behind an operation."""

    @property
    def principal(self) -> str | None: ...
    @property
    def root(self) -> bool: ...


class People:
    """The gate of a host with no users directory: it has nobody to ask (tools page, Grants)."""

    def refusal(self, behind: Behind, grant: str) -> str | None:
        """Why `behind` may not do what `grant` allows, in a sentence; None when it may."""
        return None
