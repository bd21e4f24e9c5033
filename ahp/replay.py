"""`python -m ahp.replay`: run reducers over cases, for looking at what a log of actions comes to.

Reads cases on standard input, one JSON object a line: `{"id", "reducer", "initial", "actions"}` (more fields are
ignored, blank lines too). `reducer` is a channel kind. Prints `{"id", "state"}` a line for each, at once. A case that
cannot be read gives `{"id", "error"}` and the run goes on; then the exit code is 1.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import IO

import msgspec

from ahp import actions, reducers, wire
from ahp.wire import JSON, Raw


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One case: actions to be applied in order to a state."""

    id: JSON = None
    reducer: str
    initial: Raw
    actions: list[Raw]


class Replayed(msgspec.Struct, frozen=True):
    """What the actions of a case came to."""

    id: JSON
    state: wire.Wire


class Failed(msgspec.Struct, frozen=True):
    """Why a case could not be replayed."""

    id: JSON
    error: str


class _Named(msgspec.Struct):
    id: JSON = None


def replay(line: bytes | str) -> Replayed | Failed:
    """Replay one case given as JSON."""
    try:
        case = msgspec.json.decode(line, type=Case)
        if case.reducer not in reducers.STATES:
            return Failed(case.id, f"There is no reducer {case.reducer!r}: it is one of {', '.join(reducers.STATES)}")
        state = wire.decode(case.initial, reducers.STATES[case.reducer])
        for index, action in enumerate(case.actions):
            state = _step(case.reducer, state, action, index)
        return Replayed(case.id, state)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, _BadAction) as error:
        return Failed(_id_of(line), str(error))


class _BadAction(Exception):
    """An action that cannot be read; the message says which."""


def _step(kind: str, state: wire.Wire, action: Raw, index: int) -> wire.Wire:
    try:
        after: wire.Wire = reducers.reduce(kind, state, actions.decode(kind, action))
    except msgspec.DecodeError as error:
        raise _BadAction(f"Action {index} cannot be read: {error}") from None
    return after


def _id_of(line: bytes | str) -> JSON:
    try:
        return msgspec.json.decode(line, type=_Named).id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def main(lines: Iterable[bytes], out: IO[bytes]) -> int:
    """Replay every line; the exit code."""
    code = 0
    for line in lines:
        if not line.strip():
            continue
        result = replay(line)
        code = 1 if isinstance(result, Failed) else code
        out.write(wire.encode(result) + b"\n")
        out.flush()
    return code


if __name__ == "__main__":
    sys.exit(main(sys.stdin.buffer, sys.stdout.buffer))
