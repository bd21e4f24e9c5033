"""Wrong tokens by address, in a sliding window, so that nobody can guess at leisure.

Invariant: memory is bounded whatever comes. An address with too many wrong tokens is barred until the oldest of them is
out of the window; a token that was right before is let in all the same, so that one broken client does not lock out
the others behind its address. Owned by a `Policy`.
"""

from __future__ import annotations

import hashlib
import math
from collections import deque

import trio

__all__ = ["Attempts"]

_REMEMBERED = 4096


class Attempts:
    """At most `limit` wrong tokens in `window` seconds from one address."""

    def __init__(self, limit: int = 20, window: float = 60.0) -> None:
        self._limit = limit
        self._window = window
        self._failed: dict[str, deque[float]] = {}
        self._known: dict[bytes, None] = {}

    def failed(self, address: str) -> None:
        """A wrong token came from `address`."""
        times = self._failed.pop(address, None) or deque(maxlen=self._limit)
        times.append(trio.current_time())
        self._failed[address] = times
        if len(self._failed) > _REMEMBERED:
            del self._failed[next(iter(self._failed))]

    def succeeded(self, token: str) -> None:
        """`token` was right."""
        digest = _digest(token)
        self._known.pop(digest, None)
        self._known[digest] = None
        if len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]

    def knows(self, token: str) -> bool:
        """Whether `token` was right before."""
        return _digest(token) in self._known

    def is_barred(self, address: str) -> bool:
        return self.seconds_barred(address) > 0

    def seconds_barred(self, address: str) -> int:
        """For how many more seconds `address` is barred, rounded up."""
        times = self._failed.get(address)
        if times is None or len(times) < self._limit:
            return 0
        return max(0, math.ceil(times[0] + self._window - trio.current_time()))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()
