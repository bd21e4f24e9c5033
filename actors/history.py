"""A chat's history: pages of turns for the clients, and the writes that keep a changed list of turns.

A cursor names the oldest turn a client holds; it is opaque to the client and stays valid while that turn lives.
"""

from __future__ import annotations

from collections.abc import Sequence

from actors.store import Write
from actors.store import turns as records
from ahp import wire
from ahp.actions.chat import ChatTurnsLoaded
from ahp.jsonrpc import InvalidParams
from ahp.state.chat import ChatState, Turn
from ahp.wire import UNSET

PAGE = 50
"""Turns of one `fetchTurns`."""

_CURSOR = "before:"


class Window:
    """How far back the turns reach that everybody who watches has.

    What one client asks for is loaded for all, and their tails are of different lengths: so whatever is loaded goes
    up to the shortest tail, and leaves a gap in nobody's history (digest 3, History paging).
    """

    def __init__(self) -> None:
        self._start = 0

    def tail(self, state: ChatState, turns: int | None) -> ChatState:
        """`state` as a snapshot shows it: all turns, or the newest `turns` with a cursor where older ones remain."""
        if turns is None or turns >= len(state.turns):
            return wire.replace(state, turns_next_cursor=UNSET)
        start = len(state.turns) - max(0, turns)
        self._start = max(self._start, start)
        kept = state.turns[start:]
        cursor = _CURSOR + kept[0].id if kept else _CURSOR
        return wire.replace(state, turns=kept, turns_next_cursor=cursor)

    def page(self, turns: Sequence[Turn], cursor: str | None) -> ChatTurnsLoaded:
        """The page of turns before `cursor`; without one, before what everybody has. Raises `InvalidParams`."""
        end = (min(self._start, len(turns)) or len(turns)) if cursor is None else _index(turns, cursor)
        return self._load(turns, max(0, end - PAGE), end)

    def through(self, turns: Sequence[Turn], turn_id: str) -> ChatTurnsLoaded | None:
        """What must be loaded before anything names the turn `turn_id`; None where everybody has it."""
        index = next((index for index, turn in enumerate(turns) if turn.id == turn_id), None)
        return None if index is None or index >= self._start else self._load(turns, index, index)

    def _load(self, turns: Sequence[Turn], start: int, end: int) -> ChatTurnsLoaded:
        end = max(end, min(self._start, len(turns)))
        self._start = min(self._start, start)
        cursor = _CURSOR + turns[start].id if start else UNSET
        return ChatTurnsLoaded(turns=list(turns[start:end]), turns_next_cursor=cursor)


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
