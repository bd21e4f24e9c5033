"""The open JSON layer under every wire type: what a peer sends and we do not know is kept and passed on.

A wire type is a frozen `Wire` struct: camelCase on the wire, snake_case here, absent fields `UNSET` and
absent again when encoded. Decoding has two roads to one result:

- the strict road is msgspec alone, straight from bytes into types;
- when it meets a field or a discriminator from the future, the open road takes over: an object with unknown
  fields becomes an instance of a subclass of its type that has those fields too, and an object with an
  unknown discriminator becomes an `Unknown` with all of them. Both encode, compare and `replace` like
  any struct, so nothing above this module has to think about it.

Text that grows by deltas is a `Text`: appending costs the same whatever its length.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Hashable
from typing import Any, TypeAlias, TypeVar, cast, overload

import msgspec
import msgspec.inspect as mi
from msgspec import UNSET, Raw, Struct, UnsetType, ValidationError

__all__ = [
    "JSON",
    "UNSET",
    "Meta",
    "Raw",
    "Text",
    "Unknown",
    "UnsetType",
    "ValidationError",
    "Wire",
    "convert",
    "decode",
    "encode",
    "extras",
    "present",
    "replace",
    "tag_of",
    "to_builtins",
    "with_extras",
]

T = TypeVar("T")
JSON: TypeAlias = Any
"""A decoded JSON value at the JSON edge."""
Meta: TypeAlias = dict[str, Any] | UnsetType
"""The type of a `meta` field (`_meta` on the wire): an open object, or absent."""

replace = msgspec.structs.replace


def _wire_name(name: str) -> str:
    """`meta` is `_meta`, everything else is camelCase."""
    head, *rest = name.split("_")
    return "_meta" if name == "meta" else head + "".join(word.capitalize() for word in rest)


class Wire(Struct, frozen=True, kw_only=True, rename=_wire_name, forbid_unknown_fields=True):
    """Base of every object on the wire. Frozen: a change is a `replace`, so a held value is a snapshot."""


class Unknown(Wire, frozen=True):
    """An object whose discriminator is from the future. Its fields live on a subclass made for it."""


class Text:
    """An immutable string that is cheap to extend: `text + more` shares the pieces of `text`.

    The pieces list is append-only and shared between the versions of one text; each version knows how many
    of them are its own. Extending any version but the newest copies. `str(text)` joins (and keeps the join).
    """

    __slots__ = ("_count", "_length", "_pieces")

    def __init__(self, text: str = "") -> None:
        self._pieces = [text] if text else []
        self._count = len(self._pieces)
        self._length = len(text)

    def __add__(self, more: str) -> Text:
        if not more:
            return self
        pieces = self._pieces if len(self._pieces) == self._count else self._pieces[: self._count]
        pieces.append(more)
        longer = Text.__new__(Text)
        longer._pieces = pieces
        longer._count = len(pieces)
        longer._length = self._length + len(more)
        return longer

    def __str__(self) -> str:
        if self._count > 1:
            joined = "".join(self._pieces[: self._count])
            self._pieces = [joined]
            self._count = 1
        return self._pieces[0] if self._count else ""

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, str | Text) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))

    def __bool__(self) -> bool:
        return self._count > 0

    def __len__(self) -> int:
        """Characters; nothing is joined for it."""
        return self._length

    def __repr__(self) -> str:
        return f"Text({str(self)!r})"


def present(value: T | UnsetType, default: T) -> T:
    """`value`, or `default` where the field is absent."""
    return default if isinstance(value, UnsetType) else value


def _enc_hook(value: object) -> object:
    if isinstance(value, Text):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} is not a wire value")


def _dec_hook(kind: type, value: object) -> object:
    if kind is Text:
        if isinstance(value, str):
            return Text(value)
        raise ValidationError(f"Expected `str`, got `{_json_name(value)}`")
    raise NotImplementedError(f"{kind.__name__} is not a wire type")


_encoder = msgspec.json.Encoder(enc_hook=_enc_hook)
encode: Callable[[object], bytes] = _encoder.encode
"""Any wire value as JSON bytes."""


def to_builtins(value: object) -> JSON:
    """Any wire value as plain JSON data (dicts, lists, strings), for people and tests."""
    return msgspec.to_builtins(value, enc_hook=_enc_hook)


@functools.cache
def _decoder(kind: Hashable) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind, dec_hook=_dec_hook)


@overload
def decode(data: bytes | str | Raw, kind: type[T]) -> T: ...
@overload
def decode(data: bytes | str | Raw, kind: object) -> Any: ...
def decode(data: bytes | str | Raw, kind: Any) -> Any:
    """`data` (JSON) as a value of the wire type (or union of wire types) `kind`, unknown fields and kinds kept.

    Raises `ValidationError` with the JSON path of what is wrong, `msgspec.DecodeError` where it is no JSON.
    """
    try:
        return _decoder(kind).decode(data)
    except ValidationError:
        return _converter(kind)(msgspec.json.decode(data), "$")


@overload
def convert(value: JSON, kind: type[T]) -> T: ...
@overload
def convert(value: JSON, kind: object) -> Any: ...
def convert(value: JSON, kind: Any) -> Any:
    """Plain JSON data as a value of the wire type `kind`; the same rules and errors as `decode`."""
    try:
        return msgspec.convert(value, kind, dec_hook=_dec_hook)
    except ValidationError:
        return _converter(kind)(value, "$")


def tag_of(value: Struct) -> str:
    """The discriminator of a member of a tagged union (also of an `Unknown`), such as `chat/delta`."""
    return cast(str, value.__struct_config__.tag)


def extras(value: Struct) -> dict[str, JSON]:
    """The fields of `value` that its type does not know, by their wire names."""
    names = value.__struct_fields__
    wire_names = value.__struct_encode_fields__
    return {wire: getattr(value, name) for name, wire in zip(names, wire_names, strict=True) if _is_extra(name)}


def with_extras(value: T, more: dict[str, JSON]) -> T:
    """`value` with those fields as well, as a reducer's spread of one object over another keeps them.

    A name that the type of `value` knows sets that field, where the JSON is valid for it; the discriminator stays.
    """
    if not more:
        return value
    struct = cast(Struct, value)
    cls = next(cls for cls in type(struct).__mro__ if _WIDER not in cls.__dict__)
    config = struct.__struct_config__
    fields = _fields(cls)
    known = {name: getattr(struct, name) for name, _ in fields.values()}
    extra = extras(struct)
    for key, item in more.items():
        if key in fields:
            name, convert_field = fields[key]
            with contextlib.suppress(ValidationError):
                known[name] = convert_field(item, f"$.{key}")
        elif key != config.tag_field:
            extra[key] = item
    return cast(T, _open(cls, known, extra, config.tag_field, config.tag))


def _is_extra(name: str) -> bool:
    return name[0] == "x" and name[-1] == "_" and name[1:-1].isdigit()


# The open road. A converter is a closure (value, JSON path) -> typed value, made once a type.

_Converter = Callable[[Any, str], Any]


@functools.cache
def _converter(kind: Hashable) -> _Converter:
    return _make(mi.type_info(kind))


def _make(info: mi.Type) -> _Converter:
    if isinstance(info, mi.StructType):
        return _lazy(info.cls)
    if isinstance(info, mi.UnionType):
        return _make_union(info)
    if isinstance(info, mi.ListType):
        item = _make(info.item_type)
        return lambda v, at: [item(x, f"{at}[{i}]") for i, x in enumerate(_expect(v, list, at))]
    if isinstance(info, mi.DictType):
        inner = _make(info.value_type)
        return lambda v, at: {k: inner(x, f"{at}[{k!r}]") for k, x in _expect(v, dict, at).items()}
    if isinstance(info, mi.CustomType):
        return lambda v, at: _leaf(v, info.cls, at)
    if isinstance(info, mi.RawType):
        return lambda v, at: Raw(msgspec.json.encode(v))
    if isinstance(info, mi.LiteralType):
        return lambda v, at: v if v in info.values else _refuse(v, f"one of {info.values}", at)
    if isinstance(info, mi.AnyType):
        return lambda v, at: v
    leaf = {mi.StrType: str, mi.IntType: int, mi.FloatType: float, mi.BoolType: bool, mi.NoneType: type(None)}
    return lambda v, at: _leaf(v, leaf[type(info)], at)


def _lazy(cls: type[Struct]) -> _Converter:
    """Structs are looked up when used, so that a type may contain itself."""
    return lambda v, at: _struct_converter(cls)(v, at)


@functools.cache
def _fields(cls: type[Struct]) -> dict[str, tuple[str, _Converter]]:
    """By wire name: the attribute, and what converts its JSON."""
    return {f.encode_name: (f.name, _make(f.type)) for f in cast(mi.StructType, mi.type_info(cls)).fields}


@functools.cache
def _struct_converter(cls: type[Struct]) -> _Converter:
    info = cast(mi.StructType, mi.type_info(cls))
    fields = _fields(cls)
    required = [f.encode_name for f in info.fields if f.required]

    def run(value: Any, at: str) -> Any:
        _expect(value, dict, at)
        for name in required:
            if name not in value:
                raise ValidationError(f"Object missing required field `{name}` - at `{at}`")
        known: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for key, item in value.items():
            if key in fields:
                name, convert_field = fields[key]
                known[name] = convert_field(item, f"{at}.{key}")
            elif key != info.tag_field:
                extra[key] = item
        return _open(cls, known, extra, info.tag_field, info.tag)

    return run


def _make_union(info: mi.UnionType) -> _Converter:
    structs = [t for t in info.types if isinstance(t, mi.StructType)]
    others = [t for t in info.types if not isinstance(t, mi.StructType | mi.NoneType)]
    nullable = any(isinstance(t, mi.NoneType) for t in info.types)
    tag_field = structs[0].tag_field if structs else None
    by_tag = {t.tag: _lazy(t.cls) for t in structs}
    plain = [_make(t) for t in others]

    def run(value: Any, at: str) -> Any:
        if value is None and nullable:
            return None
        if isinstance(value, dict) and structs:
            if tag_field is None:
                return _lazy(structs[0].cls)(value, at)
            tag = value.get(tag_field)
            if not isinstance(tag, str):
                raise ValidationError(f"Object missing required field `{tag_field}` - at `{at}`")
            if tag in by_tag:
                return by_tag[tag](value, at)
            rest = {k: v for k, v in value.items() if k != tag_field}
            return _open(Unknown, {}, rest, tag_field, tag)
        errors: list[str] = []
        for attempt in plain:
            try:
                return attempt(value, at)
            except ValidationError as e:
                errors.append(str(e))
        return _refuse(value, "object", at) if not errors else _raise(errors[0])

    return run


def _leaf(value: Any, kind: Any, at: str) -> Any:
    try:
        return msgspec.convert(value, kind, dec_hook=_dec_hook)
    except ValidationError as e:
        raise ValidationError(f"{e} - at `{at}`") from None


def _expect(value: Any, kind: type, at: str) -> Any:
    return value if isinstance(value, kind) else _refuse(value, "array" if kind is list else "object", at)


def _refuse(value: Any, wanted: str, at: str) -> Any:
    raise ValidationError(f"Expected `{wanted}`, got `{_json_name(value)}` - at `{at}`")


def _raise(message: str) -> Any:
    raise ValidationError(message)


def _json_name(value: object) -> str:
    names = {dict: "object", list: "array", type(None): "null", str: "str", bool: "bool", int: "int", float: "float"}
    return names.get(type(value), type(value).__name__)


def _open(cls: type[Struct], known: dict[str, Any], extra: dict[str, Any], tag_field: str | None, tag: Any) -> Any:
    if cls is not Unknown and not extra:
        return cls(**known)
    try:
        wider = _wider(cls, tuple(extra), tag_field, tag)
    except ValueError:
        # Struct fields cannot be named so, and no field of the protocol is.
        raise ValidationError("Object has a field with a quote, backslash or control character in its name") from None
    return wider(**known, **{f"x{i}_": v for i, v in enumerate(extra.values())})


_WIDER = "wider_than_known"


# Bounded, because the names come from peers; a class that falls out lives as long as its instances.
@functools.lru_cache(maxsize=512)
def _wider(cls: type[Struct], names: tuple[str, ...], tag_field: str | None, tag: Any) -> type[Struct]:
    """`cls` with the fields `names` as well, under attribute names that cannot clash with its own."""
    fields = [(f"x{i}_", Any, msgspec.field(name=name)) for i, name in enumerate(names)]
    return msgspec.defstruct(
        cls.__name__,
        fields,
        bases=(cls,),
        namespace={_WIDER: True},
        frozen=True,
        kw_only=True,
        tag_field=tag_field,
        tag=tag,
        module=cls.__module__,
    )
