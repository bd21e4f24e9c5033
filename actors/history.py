"""A chat's history: pages of turns for the clients, and the writes that keep a changed list of turns.

A cursor names the oldest turn a client holds; it is opaque to the client and stays valid while that turn lives.
"""

from __future__ import annotations

from collections.abc import Sequence

from actors.store import Write
from actors.store import turns as records
from ahp import wire
from ahp.jsonrpc import InvalidParams
from ahp.state.chat import ChatState, Turn
from ahp.wire import UNSET

PAGE = 50
"""Turns of one `fetchTurns`."""

_CURSOR = "before:"


def tail(state: ChatState, turns: int | None) -> ChatState:
    """`state` as a snapshot shows it: all turns, or the newest `turns` with a cursor where older ones remain."""
    if turns is None or turns >= len(state.turns):
        return wire.replace(state, turns_next_cursor=UNSET)
    kept = state.turns[len(state.turns) - max(0, turns) :]
    cursor = _CURSOR + kept[0].id if kept else _CURSOR
    return wire.replace(state, turns=kept, turns_next_cursor=cursor)


def page(turns: Sequence[Turn], cursor: str | None) -> tuple[list[Turn], str | None]:
    """The page of turns before `cursor` (the newest page without one), and the cursor of the page before it."""
    end = len(turns) if cursor is None else _index(turns, cursor)
    start = max(0, end - PAGE)
    return list(turns[start:end]), (_CURSOR + turns[start].id if start else None)


def _index(turns: Sequence[Turn], cursor: str) -> int:
    if cursor == _CURSOR:
        return len(turns)
    for index, turn in enumerate(turns):
        if cursor == _CURSOR + turn.id:
            return index
    raise InvalidParams(f"unknown cursor {cursor!r}: pass one that a snapshot or chat/turnsLoaded gave you")


def writes(chat: str, before: Sequence[Turn], after: Sequence[Turn]) -> list[Write]:
    """What to write so that the kept turns of `chat` become `after`. Turns are immutable, so identity tells."""
    if before is after:
        return []
    same = 0
    for old, new in zip(before, after, strict=False):
        if old is not new:
            break
        same += 1
    changed: list[Write] = []
    if same < len(before):
        changed.append(records.truncate(chat, same))
    changed.extend(
        records.append(chat, same + offset, turn.id, wire.encode(turn)) for offset, turn in enumerate(after[same:])
    )
    return changed
