"""The kinds of values a key can have: how each is checked, read from text, written out and described to a client.

Every kind is pure. `check` takes plain TOML or JSON data; what it answers is immutable and what `Config` carries.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ahp.state.common import ConfigPropertySchema
from ahp.wire import JSON, UNSET

__all__ = [
    "Bool",
    "Choice",
    "Free",
    "Kind",
    "Number",
    "PathOf",
    "Paths",
    "Record",
    "Table",
    "Text",
    "Texts",
    "Wrong",
    "did_you_mean",
]


class Wrong(ValueError):
    """A value that cannot be; `at` leads to the part of it that is wrong. `discreet` does not repeat the value."""

    def __init__(self, message: str, at: tuple[str | int, ...] = (), discreet: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.at = at
        self.discreet = message if discreet is None else discreet

    def inside(self, step: str | int) -> Wrong:
        """The same, seen from one level up."""
        return Wrong(self.message, (step, *self.at), self.discreet)


class Kind(ABC):
    """`expected` ends the sentence "… is expected"."""

    expected: str

    @abstractmethod
    def check(self, value: JSON, base: Path) -> Any:
        """The typed value of plain data. Raises `Wrong`. Relative paths are below `base`."""

    def parse(self, text: str, base: Path) -> Any:
        """The typed value of what a flag or a variable says. Raises `Wrong`."""
        return self.check(text, base)

    def plain(self, value: Any) -> JSON:
        """The typed value as plain data again."""
        return value

    @abstractmethod
    def schema(self) -> ConfigPropertySchema:
        """What a client is told of it."""

    def refuse(self, value: JSON) -> Wrong:
        return Wrong(f"{_shown(value)}, but {self.expected} is expected", discreet=f"{self.expected} is expected")


@dataclass(frozen=True)
class Bool(Kind):
    expected = "true or false"

    def check(self, value: JSON, base: Path) -> bool:
        if isinstance(value, bool):
            return value
        raise self.refuse(value)

    def parse(self, text: str, base: Path) -> bool:
        word = text.strip().lower()
        if word in ("true", "yes", "on", "1"):
            return True
        if word in ("false", "no", "off", "0"):
            return False
        raise self.refuse(text)

    def schema(self) -> ConfigPropertySchema:
        return ConfigPropertySchema(type="boolean")


@dataclass(frozen=True)
class Number(Kind):
    """`whole` numbers, or any; between `least` and `most`, where given. `unit` is said in errors."""

    whole: bool
    least: float | None = None
    most: float | None = None
    unit: str = ""

    @property
    def expected(self) -> str:  # type: ignore[override]
        what = ("a whole number" if self.whole else "a number") + (f" of {self.unit}" if self.unit else "")
        if self.least is not None and self.most is not None:
            return f"{what} from {self.least} to {self.most}"
        if self.least is not None:
            return f"{what}, at least {self.least}"
        return what

    def check(self, value: JSON, base: Path) -> float:
        if isinstance(value, float) and value.is_integer() and self.whole:
            value = int(value)  # JSON of some clients knows one kind of number.
        if isinstance(value, bool) or not isinstance(value, int if self.whole else int | float):
            raise self.refuse(value)
        too_small = self.least is not None and not value >= self.least
        too_big = self.most is not None and not value <= self.most
        if too_small or too_big:
            raise self.refuse(value)
        return value if self.whole else float(value)

    def parse(self, text: str, base: Path) -> float:
        try:
            value: float = int(text) if self.whole else float(text)
        except ValueError:
            raise self.refuse(text) from None
        return self.check(value, base)

    def schema(self) -> ConfigPropertySchema:
        return ConfigPropertySchema(type="integer" if self.whole else "number")


@dataclass(frozen=True)
class Text(Kind):
    expected = "text"

    def check(self, value: JSON, base: Path) -> str:
        if isinstance(value, str):
            return value
        raise self.refuse(value)

    def schema(self) -> ConfigPropertySchema:
        return ConfigPropertySchema(type="string")


@dataclass(frozen=True)
class Choice(Kind):
    words: tuple[str, ...]

    @property
    def expected(self) -> str:  # type: ignore[override]
        return "one of " + ", ".join(f'"{word}"' for word in self.words)

    def check(self, value: JSON, base: Path) -> str:
        if isinstance(value, str) and value in self.words:
            return value
        raise self.refuse(value)

    def schema(self) -> ConfigPropertySchema:
        return ConfigPropertySchema(type="string", enum=list(self.words))


@dataclass(frozen=True)
class PathOf(Kind):
    """A path, made absolute; empty text is None."""

    expected = "a path"

    def check(self, value: JSON, base: Path) -> Path | None:
        if not isinstance(value, str) or "\0" in value:
            raise self.refuse(value)
        return Path(os.path.abspath(base / os.path.expanduser(value))) if value else None

    def plain(self, value: Path | None) -> str:
        return "" if value is None else str(value)

    def schema(self) -> ConfigPropertySchema:
        return ConfigPropertySchema(type="string")


@dataclass(frozen=True)
class Texts(Kind):
    expected = "a list of texts"

    def check(self, value: JSON, base: Path) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise self.refuse(value)
        return tuple(_within(place, self._item(), item, base) for place, item in enumerate(value))

    def parse(self, text: str, base: Path) -> tuple[Any, ...]:
        """A TOML array, or items between commas."""
        stripped = text.strip()
        if stripped.startswith("["):
            return self.check(_toml(stripped, self), base)
        return self.check([item.strip() for item in stripped.split(",") if item.strip()], base)

    def plain(self, value: tuple[Any, ...]) -> list[JSON]:
        return [self._item().plain(item) for item in value]

    def schema(self) -> ConfigPropertySchema:
        return ConfigPropertySchema(type="array", items=self._item().schema())

    def _item(self) -> Kind:
        return Text()


@dataclass(frozen=True)
class Paths(Texts):
    expected = "a list of paths"

    def _item(self) -> Kind:
        return PathOf()


@dataclass(frozen=True)
class Free(Kind):
    """A table that whoever reads it checks."""

    expected = "a table"

    def check(self, value: JSON, base: Path) -> dict[str, JSON]:
        if isinstance(value, dict):
            return value
        raise self.refuse(value)

    def parse(self, text: str, base: Path) -> dict[str, JSON]:
        return self.check(_toml(text, self), base)

    def schema(self) -> ConfigPropertySchema:
        return ConfigPropertySchema(type="object")


@dataclass(frozen=True)
class Record(Kind):
    """A table with known fields; `make` is given those that are there."""

    make: type
    fields: dict[str, tuple[str, Kind]]
    """By the name in the file: the attribute and its kind."""
    expected = "a table"

    def check(self, value: JSON, base: Path) -> object:
        if not isinstance(value, dict):
            raise self.refuse(value)
        known: dict[str, object] = {}
        for name, item in value.items():
            if name not in self.fields:
                raise Wrong(f"there is no such key{did_you_mean(name, self.fields)}", (name,))
            attribute, kind = self.fields[name]
            known[attribute] = _within(name, kind, item, base)
        return self.make(**known)

    def parse(self, text: str, base: Path) -> object:
        return self.check(_toml(text, self), base)

    def plain(self, value: object) -> JSON:
        pairs = ((name, kind.plain(getattr(value, attribute))) for name, (attribute, kind) in self.fields.items())
        return dict(pairs)

    def schema(self) -> ConfigPropertySchema:
        properties = {name: kind.schema() for name, (_, kind) in self.fields.items()}
        return ConfigPropertySchema(type="object", properties=properties)


@dataclass(frozen=True)
class Table(Kind):
    """Any names, each with an entry of one kind."""

    entry: Kind
    expected = "a table"

    def check(self, value: JSON, base: Path) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.refuse(value)
        return {name: _within(name, self.entry, item, base) for name, item in value.items()}

    def parse(self, text: str, base: Path) -> dict[str, Any]:
        return self.check(_toml(text, self), base)

    def plain(self, value: dict[str, Any]) -> JSON:
        return {name: self.entry.plain(item) for name, item in value.items()}

    def schema(self) -> ConfigPropertySchema:
        inner = self.entry.schema()
        return ConfigPropertySchema(type="object", additional_properties=inner if inner is not None else UNSET)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: the one that was probably meant, or nothing."""
    by_lower = {each.lower(): each for each in names}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.7)
    return f"; did you mean {by_lower[close[0]]}?" if close else ""


def _within(step: str | int, kind: Kind, value: JSON, base: Path) -> Any:
    try:
        return kind.check(value, base)
    except Wrong as wrong:
        raise wrong.inside(step) from None


def _toml(text: str, kind: Kind) -> JSON:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        wanted = f"{kind.expected} as TOML writes one is expected"
        raise Wrong(f"{_shown(text)}, but {wanted}", discreet=wanted) from None


def _shown(value: JSON) -> str:
    """A wrong value, as a sentence begins with it."""
    if isinstance(value, str):
        return f'"{value if len(value) <= 60 else value[:60] + "…"}" is text'
    if isinstance(value, bool):
        return f"it is {str(value).lower()}"
    if isinstance(value, int | float):
        return f"it is {value}"
    names = {list: "a list", dict: "a table", type(None): "null"}
    return f"it is {names.get(type(value), f'a {type(value).__name__}')}"
