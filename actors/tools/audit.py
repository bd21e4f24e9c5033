"""What becomes of a call that is over: a line in the store, a line in the log, and a word to whoever listens.

Owns the lines on their way to the store. Invariant: no call waits for its line, and no listener can harm a call.
`call.dispatch` is the only one that records; plugins listen by `Tools.on_call`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from actors import log
from actors.store import AuditRecord, StoreError, audit

if TYPE_CHECKING:
    from actors.host import Host

__all__ = ["Audit", "ToolCalled"]

ToolCalled: TypeAlias = AuditRecord
"""The event: a call is over. It says no more than its audit line: no input, no result."""

MOST_WAITING = 10_000
"""Lines kept in memory while the disk refuses them; the oldest make way for the newest."""

_log = log.get("tools")


class Audit:
    """`listeners` are called with every call that is over, in order, in the task of the call: they must not wait."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[ToolCalled], None]] = []
        self._slots = itertools.cycle(range(MOST_WAITING))
        self._waits = False
        self._keeping = False

    def record(self, host: Host, line: ToolCalled) -> None:
        """Keep the line soon, and tell the listeners. Never waits, never raises.

        A `kill -9` loses at most the lines of the commit under way; a stop loses none.
        """
        _log.info("tool call", **msgspec.structs.asdict(line))
        try:
            host.env.store.save_soon([audit.put(line, next(self._slots))])
        except StoreError as error:
            _log.error("audit line not kept", tool=line.tool, error=str(error))
        self._waits = True
        if not self._keeping and host.takes_mail:
            self._keeping = True
            host.nursery.start_soon(self._keep, host)
        for listener in tuple(self.listeners):
            try:
                listener(line)
            except Exception as error:
                _log.error("a listener of tool calls failed", tool=line.tool, exc=error)

    async def _keep(self, host: Host) -> None:
        """Commit what waits; what comes meanwhile shares the next commit."""
        try:
            while self._waits:
                self._waits = False
                await host.env.store.flush()
        except StoreError as error:
            _log.error("audit lines are not kept yet", error=str(error))
        finally:
            self._keeping = False
