"""Every key as the rest of the package sees it, made once from the declarations in `model`.

`KEYS` is the table, in the order of the declarations. Names here are those of the file: `tls.certFile`.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from msgspec.structs import fields

from actors.config import kinds
from actors.config.model import Config, Note, Section
from actors.redact import names_a_secret
from ahp.state.common import ConfigPropertySchema, ConfigSchema
from ahp.wire import JSON, replace

__all__ = ["KEYS", "MAY_HIDE", "SET", "Key", "build", "complaint", "get", "hide", "reveal", "root_schema", "secrets_of"]

SET = "<set>"
"""Stands for a secret wherever values are shown. Pushed back by a client, it leaves the secret as it is."""


@dataclass(frozen=True)
class Key:
    """`default` is plain data. `attributes` leads to the value in a `Config`."""

    name: str
    attributes: tuple[str, ...]
    kind: kinds.Kind
    default: JSON
    note: Note

    @property
    def flag(self) -> str:
        return self.note.flag or "--" + _dashed(self.name)

    @property
    def variable(self) -> str:
        return "AHPD_" + _dashed(self.name).replace("-", "_").upper()

    def plain(self, config: Config) -> JSON:
        """The value in `config` as plain data, secrets included."""
        return self.kind.plain(get(config, self))

    def shown(self, config: Config) -> JSON:
        """The value in `config` as plain data, secrets hidden."""
        return hide(self, self.plain(config))


def get(config: Config, key: Key) -> Any:
    """The typed value of `key`."""
    value: Any = config
    for attribute in key.attributes:
        value = getattr(value, attribute)
    return value


def build(base: Config, values: Mapping[str, object]) -> Config:
    """`base` with the typed `values` (by key name) instead of its own."""
    top: dict[str, Any] = {}
    for name, value in values.items():
        first, *rest = KEYS[name].attributes
        if rest:
            section = top.get(first, getattr(base, first))
            top[first] = replace(section, **{rest[0]: value})
        else:
            top[first] = value
    return replace(base, **top)


def root_schema() -> ConfigSchema:
    """The live keys as the root channel's config schema."""
    return ConfigSchema(properties={key.name: _property(key) for key in KEYS.values() if key.note.live})


def _property(key: Key) -> ConfigPropertySchema:
    sentence = key.note.sentence
    number = key.kind if isinstance(key.kind, kinds.Number) else None
    if number is not None and (number.least is not None or number.unit):
        sentence = f"{sentence.rstrip('.')} ({number.expected})."
    return replace(key.kind.schema(), title=_title(key.name), description=sentence, default=hide(key, key.default))


def hide(key: Key, plain: JSON) -> JSON:
    """Plain data with every secret in it replaced by `SET`; an empty one stays empty."""
    return _hide(plain, key.kind, key.note.secret)


def _hide(plain: JSON, kind: kinds.Kind | None, is_secret: bool) -> JSON:
    if isinstance(plain, dict):
        return {name: _hide(value, *_inner(kind, name, is_secret)) for name, value in plain.items()}
    if isinstance(plain, list):
        return [_hide(value, None, is_secret) for value in plain]
    return SET if is_secret and plain not in ("", None) else plain


def _inner(kind: kinds.Kind | None, name: str, is_secret: bool) -> tuple[kinds.Kind | None, bool]:
    """The kind of the part `name` of a value, and whether it is a secret."""
    if isinstance(kind, kinds.Table):
        return kind.entry, is_secret
    if isinstance(kind, kinds.Record) and name in kind.fields:
        return kind.fields[name][1], is_secret or name in _SECRET_FIELDS[kind.make]
    return None, is_secret or names_a_secret(name)


def complaint(key: Key, wrong: kinds.Wrong) -> str:
    """What is wrong with a value of `key`, which is not repeated where it is a secret."""
    kind: kinds.Kind | None = key.kind
    is_secret = key.note.secret
    for step in wrong.at:
        if isinstance(step, str):
            kind, is_secret = _inner(kind, step, is_secret)
    return wrong.discreet if is_secret else wrong.message


def reveal(plain: JSON, current: JSON) -> JSON:
    """Plain data that a client sent back, with the secrets of `current` where it says `SET`."""
    if plain == SET and isinstance(current, str):
        return current
    if isinstance(plain, dict):
        known = current if isinstance(current, dict) else {}
        return {name: reveal(value, known.get(name)) for name, value in plain.items()}
    if isinstance(plain, list):
        items = current if isinstance(current, list) else []
        return [reveal(value, items[at] if at < len(items) else None) for at, value in enumerate(plain)]
    return plain


def secrets_of(config: Config) -> Iterator[str]:
    """Every secret text in `config`."""
    for name in MAY_HIDE:
        key = KEYS[name]
        yield from _differences(key.plain(config), key.shown(config))


def _differences(plain: JSON, shown: JSON) -> Iterator[str]:
    if isinstance(plain, dict):
        for name, value in plain.items():
            yield from _differences(value, shown[name])
    elif isinstance(plain, list):
        for value, hidden in zip(plain, shown, strict=True):
            yield from _differences(value, hidden)
    elif plain != shown:
        yield str(plain)


# From declarations to keys.

_SECRET_FIELDS: dict[type, frozenset[str]] = {}


def _declared(owner: type[Config] | type[Section], prefix: str = "", above: tuple[str, ...] = ()) -> Iterator[Key]:
    hints = get_type_hints(owner, include_extras=True)
    for field in fields(owner):
        name = prefix + _camel(field.name)
        hint = hints[field.name]
        if isinstance(hint, type) and issubclass(hint, Section):
            yield from _declared(hint, f"{name}.", (*above, field.name))
            continue
        kind, note = _kind(hint)
        default = field.default_factory() if callable(field.default_factory) else field.default
        yield Key(name, (*above, field.name), kind, kind.plain(default), note)


def _kind(hint: Any) -> tuple[kinds.Kind, Note]:
    """The kind of an annotation, and its note."""
    plain, *notes = get_args(hint)
    note = next(note for note in notes if isinstance(note, Note))
    return _kind_of(plain, note), note


def _kind_of(hint: Any, note: Note) -> kinds.Kind:
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if hint in (int, float):
        return kinds.Number(hint is int, note.least, note.most, note.unit)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return kinds.Choice(arguments)
    if origin is types.UnionType and Path in arguments:
        return kinds.PathOf()
    if origin is tuple:
        return kinds.Paths() if arguments[0] is Path else kinds.Texts()
    if origin is dict and isinstance(arguments[1], type) and issubclass(arguments[1], Section):
        return kinds.Table(_record(arguments[1]))
    if origin is dict:
        return kinds.Table(kinds.Text()) if arguments[1] is str else kinds.Free()
    raise TypeError(f"no kind of key is a {hint}")


_SIMPLE: dict[Any, kinds.Kind] = {bool: kinds.Bool(), str: kinds.Text()}


def _record(make: type[Section]) -> kinds.Record:
    declared = {field.name: _kind(hint) for field, hint in zip(fields(make), _hints(make), strict=True)}
    _SECRET_FIELDS[make] = frozenset(_camel(name) for name, (_, note) in declared.items() if note.secret)
    return kinds.Record(make, {_camel(name): (name, kind) for name, (kind, _) in declared.items()})


def _hints(owner: type[Section]) -> list[Any]:
    hints = get_type_hints(owner, include_extras=True)
    return [hints[field.name] for field in fields(owner)]


def _camel(attribute: str) -> str:
    head, *rest = attribute.split("_")
    return head + "".join(word.capitalize() for word in rest)


def _dashed(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).replace(".", "-").lower()


def _title(name: str) -> str:
    words = _dashed(name).split("-")
    if words[-1] == "ms":
        words.pop()
    return " ".join(words).capitalize()


KEYS: typing.Final[Mapping[str, Key]] = types.MappingProxyType({key.name: key for key in _declared(Config)})
MAY_HIDE: typing.Final[frozenset[str]] = frozenset(
    key.name
    for key in KEYS.values()
    if key.note.secret or isinstance(key.kind, kinds.Table | kinds.Record | kinds.Free)
)
"""The keys whose values may have secrets in them."""
