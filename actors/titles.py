"""The title a chat gets from its first message."""

import re

_LENGTH = 60


def title_from(text: str) -> str:
    """The first line of `text` that says anything, white space folded, cut at a word near 60 characters; or ``."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    line = re.sub(r"\s+", " ", line).strip()
    if len(line) <= _LENGTH:
        return line
    cut = line[: _LENGTH - 1]
    head, space, _ = cut.rpartition(" ")
    return (head if space and len(head) > _LENGTH // 2 else cut).rstrip() + "…"
