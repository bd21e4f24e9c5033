"""Glob patterns over paths relative to a root, as a resource watch's `excludes` and `includes` have them.

`*` and `?` stay within a name, `**` spans any number of folders, `{a,b}` is either, `[a-z]` and `[!a-z]` are one
character. A pattern that matches a folder matches everything in it. Patterns come from peers: matching takes time in
proportion to pattern times path, never more.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

__all__ = ["Globs"]

_MOST = 256
"""Patterns after the alternatives in braces are written out; more are left out."""
_INNERMOST = re.compile(r"\{([^{}]*)\}")

_Step: TypeAlias = re.Pattern[str] | None
"""A name's pattern; None is `**`."""


class Globs:
    """A compiled list of patterns; an empty one matches nothing."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = [_compile(one) for one in _expand(patterns) if one.strip("/")]

    def match(self, path: str) -> bool:
        """Whether `path` (relative, `/` between names) or a folder it lies in matches a pattern."""
        names = path.split("/")
        return any(_matches(steps, names) for steps in self._patterns)


def _expand(patterns: Iterable[str]) -> list[str]:
    done: list[str] = []
    waiting = list(patterns)[::-1]
    while waiting and len(done) < _MOST:
        pattern = waiting.pop()
        braces = _INNERMOST.search(pattern)
        if braces is None:
            done.append(pattern)
            continue
        head, tail = pattern[: braces.start()], pattern[braces.end() :]
        waiting.extend(head + choice + tail for choice in braces[1].split(",")[:_MOST][::-1])
        del waiting[: max(0, len(waiting) - _MOST)]
    return done


def _compile(pattern: str) -> list[_Step]:
    steps: list[_Step] = []
    for name in pattern.strip("/").split("/"):
        if name == "**":
            if not steps or steps[-1] is not None:
                steps.append(None)
        elif name not in ("", "."):
            steps.append(re.compile(fnmatch.translate(name.replace("[^", "[!")), re.DOTALL))
    if len(steps) > 1 and steps[-1] is None:
        steps.pop()  # `folder/**`: what matches a folder matches what is in it anyway.
    return steps


def _matches(steps: Sequence[_Step], names: Sequence[str]) -> bool:
    """Walks the names once, keeping the set of steps that could come next."""
    reached = _skipping(steps, {0})
    for name in names:
        if len(steps) in reached:
            return True
        nexts: set[int] = set()
        for at in reached:
            step = steps[at]
            if step is None:
                nexts.add(at)
            elif step.match(name):
                nexts.add(at + 1)
        reached = _skipping(steps, nexts)
    return len(steps) in reached


def _skipping(steps: Sequence[_Step], reached: set[int]) -> set[int]:
    """`**` may also be no folder at all."""
    return reached | {at + 1 for at in reached if at < len(steps) and steps[at] is None}
