"""How much an agent may start on its own: spawn depth, and three counts over a sliding hour (tools page, Limits).

In memory, one for a host; a restart begins anew. Every count is taken for the session a tool runs in, and looked at
over its tree (or over that session alone, by `agentOrchestrationLimitsScope`). Only the tools ask here: what a client
starts is not bounded.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
import trio

from actors.session_record import SessionPrivate
from actors.store import sessions as session_records
from actors.tools.call import ToolCall
from actors.tools.tool import ToolRefusal
from ahp import wire

if TYPE_CHECKING:
    from actors.host import Host

Kind: TypeAlias = Literal["sessions", "chats", "messages"]

MAX_DEPTH = 3
ALLOWED: dict[Kind, int] = {"sessions": 50, "chats": 50, "messages": 100}
WINDOW = 3600.0
"""Seconds."""

_DOING: dict[Kind, str] = {
    "sessions": "create more sessions",
    "chats": "create more chats",
    "messages": "send more messages",
}


class _Spent(msgspec.Struct, eq=False):
    """One action: when it was taken (inf while it is under way) and by which session."""

    session: str
    at: float = math.inf


class Limits:
    """`check` and `spend` around what a tool does, or `spending` for both, which holds the place in between."""

    def __init__(self) -> None:
        self._spent: dict[tuple[str, Kind], list[_Spent]] = {}
        self._roots: dict[str, str] = {}

    async def check(self, call: ToolCall, kind: Kind) -> None:
        """Raise `ToolRefusal` where the calling session may not do one more of `kind` now.

        For "sessions" the spawn depth is looked at first. A call with no session has no tree to charge.
        """
        if call.session is None or not _on(call):
            return
        depth = call.session.private.depth
        if kind == "sessions" and depth >= MAX_DEPTH:
            raise ToolRefusal(
                f"Refusing to create a session: recursion limit reached (max spawn depth {MAX_DEPTH})."
                f" This session was itself created {depth} level(s) deep."
            )
        session = call.session.uri
        spent = self._of(await self._root(call.host, session), kind)
        tree = call.host.env.config.agent_orchestration_limits_scope == "tree"
        counted = [one for one in spent if tree or one.session == session]
        if len(counted) >= ALLOWED[kind]:
            # Places that come free, the first of them first; one that is held has its hour before it.
            taken = sorted(min(one.at, trio.current_time()) for one in counted)
            raise ToolRefusal(_refusal(kind, "session tree" if tree else "session", taken))

    async def spend(self, call: ToolCall, kind: Kind) -> None:
        """One more has happened."""
        if call.session is not None and _on(call):
            root = await self._root(call.host, call.session.uri)
            self._of(root, kind).append(_Spent(call.session.uri, trio.current_time()))

    @asynccontextmanager
    async def spending(self, call: ToolCall, kind: Kind) -> AsyncIterator[None]:
        """Do one in this block: refused as `check` refuses, spent when the block ends, given back when it raises.

        The place is held meanwhile, so that calls at the same time cannot pass the limit together.
        """
        await self.check(call, kind)
        if call.session is None or not _on(call):
            yield
            return
        spent = self._of(await self._root(call.host, call.session.uri), kind)
        place = _Spent(call.session.uri)
        spent.append(place)
        try:
            yield
        except BaseException:
            spent.remove(place)
            raise
        place.at = trio.current_time()

    def _of(self, root: str, kind: Kind) -> list[_Spent]:
        """The actions of a tree that are still in the window; the very list, to add to."""
        spent = self._spent.setdefault((root, kind), [])
        gone = trio.current_time() - WINDOW
        spent[:] = [one for one in spent if one.at > gone]
        return spent

    async def _root(self, host: Host, session: str) -> str:
        """The session that nothing started, at the top of the links above `session`.

        A root once found stays, so that a session deleted from the middle of a tree does not split its budget.
        """
        passed: list[str] = []
        uri = session
        while uri not in self._roots:
            passed.append(uri)
            parent = await _parent(host, uri)
            if parent is None:
                break
            uri = parent
        root = self._roots.get(uri, uri)
        self._roots.update(dict.fromkeys(passed, root))
        return root


def _on(call: ToolCall) -> bool:
    return call.host.env.config.agent_orchestration_limits == "on"


async def _parent(host: Host, uri: str) -> str | None:
    awake = host.sessions.get(uri)
    if awake is not None:
        return awake.private.parent
    record = await host.env.store.read(session_records.load(uri))
    return None if record is None else wire.decode(record.private, SessionPrivate).parent


def _refusal(kind: Kind, whole: str, taken: list[float]) -> str:
    """`taken`: when each counted action was, oldest first. The words are the tools page's."""
    allowed = ALLOWED[kind]
    # As many must leave the window as are too many for one more.
    leaves = taken[len(taken) - allowed] + WINDOW
    seconds = max(1, math.ceil(leaves - trio.current_time()))
    return (
        f"Refusing to {_DOING[kind]}: this {whole} already used {len(taken)} of {allowed} allowed in the last 60"
        f" minutes. The limit applies to each {whole} separately and frees up as older actions leave that window."
        f" Retry after {seconds} seconds, or turn off agent orchestration limits in settings."
    )
