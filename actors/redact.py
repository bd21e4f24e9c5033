"""Keeps secrets out of what people read: registered values, fields named like tokens, and known shapes in texts.

Invariant: what `text` and `value` answer holds no registered secret, in any spelling it has in an URL or in JSON.
Used by `log`, and by the configuration where it shows its values.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from urllib.parse import quote

__all__ = ["HIDDEN", "Redactor", "names_a_secret"]

HIDDEN = "<secret>"

_NAMES = re.compile(
    r"(?i)(?:^|[^a-z])(?:tkn|pwd|auth)(?:$|[^a-z])|token|secret|passw(?:or)?d|passphrase|authorization|"
    r"api[-_.]?key|access[-_.]?key|private[-_.]?key|credential|cookie|bearer"
)
# Every repetition is bounded or begins at a word, so that no text takes more than linear time.
_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?i)\b(bearer|basic)\s{1,4}[\w.~+/=:-]{6,}"), rf"\1 {HIDDEN}"),
    (re.compile(r"(?i)([?&](?:tkn|token|access_token|api_?key|key|code|secret)=)[^&\s\"'#]+"), rf"\1{HIDDEN}"),
    (
        re.compile(r"(?i)(authorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?)(?!bearer\b|basic\b|\s)[^\s\"',;]+"),
        rf"\1{HIDDEN}",
    ),
    (
        re.compile(
            r"(?i)((?:token|secret|passw(?:or)?d|api[-_]?key)[\"']?\s{0,4}[:=]\s{0,4}[\"']?)(?![<\s])[^\s\"',;&}]{4,}"
        ),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"(://[^\s/:@\"']{0,100}:)[^\s/@\"']{1,300}@"), rf"\1{HIDDEN}@"),
    (re.compile(r"\b(?:sk|pk|rk|xox[abprs]|gh[opusr]|github_pat|glpat)[-_][\w-]{12,}"), HIDDEN),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"), HIDDEN),
)


def names_a_secret(key: str) -> bool:
    """Whether a field of this name holds a secret, judged by its name alone."""
    return _NAMES.search(key) is not None


class Redactor:
    """Registered secrets, and the two questions asked of them. Thread-safe: a registration replaces one reference."""

    def __init__(self) -> None:
        self._secrets: frozenset[str] = frozenset()
        self._pattern: re.Pattern[str] | None = None

    def protect(self, secret: str) -> None:
        """From now on `secret` is never shown."""
        spellings = {
            secret,
            quote(secret, safe=""),
            json.dumps(secret)[1:-1],
            json.dumps(secret, ensure_ascii=False)[1:-1],
        }
        self._secrets = self._secrets | {spelling for spelling in spellings if spelling.strip()}
        # The longest first: one secret may begin another. A short one only as a word: it would hide half of all texts.
        alternatives = [
            re.escape(each) if len(each) > 5 else rf"(?<!\w){re.escape(each)}(?!\w)"
            for each in sorted(self._secrets, key=len, reverse=True)
        ]
        self._pattern = re.compile("|".join(alternatives)) if alternatives else None

    def text(self, text: str, limit: int = sys.maxsize) -> str:
        """`text` with every secret in it hidden, its middle cut out where it is longer than `limit`."""
        if self._pattern is not None:
            text = self._pattern.sub(HIDDEN, text)
        text = _cut(text, limit)
        for pattern, instead in _SHAPES:
            text = pattern.sub(instead, text)
        return text

    def value(self, key: str, value: object, limit: int = sys.maxsize) -> object:
        """The value of a field, also a table or a list. Numbers are kept: `tokens=120` counts, and hides nothing."""
        if isinstance(value, bool | int | float | None):
            return value
        if isinstance(value, Mapping):
            return {str(name): self.value(str(name), inner, limit) for name, inner in value.items()}
        if names_a_secret(key):
            return HIDDEN
        if isinstance(value, list | tuple | set | frozenset):
            return [self.value(key, inner, limit) for inner in value]
        return self.text(str(value), limit)


def _cut(text: str, limit: int) -> str:
    """The ends of a long text: the beginning says what it is, the end of a traceback what happened."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]}…({len(text) - limit} more)…{text[-(limit // 2) :]}"
