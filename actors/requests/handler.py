"""A request's entry in the table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from actors.connection import ClientConnection


class Handler(msgspec.Struct, frozen=True):
    """params: the wire type its params are decoded to. holds: what is published while it runs follows its answer.

    beside: it touches no channel, so it may run beside the connection's other requests.
    """

    params: Any
    run: Callable[[ClientConnection, Any], Awaitable[object]]
    holds: bool = False
    beside: bool = False
