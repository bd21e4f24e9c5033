"""Settings against their schema: what is wrong with values, what they are by default, what may change later.

The schema is the protocol's (`ConfigSchema`, close to JSON Schema). Pure; a problem is a sentence that names the key,
what was wrong and what is expected. Used wherever settings come in: a session's, a model's, the host's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ahp.state.common import ConfigPropertySchema, ConfigSchema
from ahp.wire import JSON, UnsetType, present

__all__ = ["change_problems", "defaults", "problems"]


def problems(schema: ConfigSchema, values: Mapping[str, JSON]) -> list[str]:
    """What is wrong with `values` as a whole: unknown keys, wrong types and values, required keys that are missing."""
    missing = [f"{key} is missing" for key in present(schema.required, []) if key not in values]
    return missing + _given(schema, values)


def _given(schema: ConfigSchema, values: Mapping[str, JSON]) -> list[str]:
    found: list[str] = []
    for key, value in values.items():
        if key in schema.properties:
            found += _of_property(key, schema.properties[key], value)
        else:
            known = ", ".join(schema.properties) or "there are none"
            found.append(f"{key} is not a setting here: {known}")
    return found


def defaults(schema: ConfigSchema) -> dict[str, JSON]:
    """The values of the keys that have a default, nested objects' keys included."""
    values: dict[str, JSON] = {}
    for key, prop in schema.properties.items():
        value = _default(prop)
        if not isinstance(value, UnsetType):
            values[key] = value
    return values


def _default(prop: ConfigPropertySchema) -> JSON | UnsetType:
    if not isinstance(prop.default, UnsetType):
        return prop.default
    inner = {key: _default(child) for key, child in present(prop.properties, {}).items()}
    given = {key: value for key, value in inner.items() if not isinstance(value, UnsetType)}
    return given or prop.default


def change_problems(
    schema: ConfigSchema, before: Mapping[str, JSON], changes: Mapping[str, JSON], *, replace: bool
) -> list[str]:
    """What is wrong with changing values that are in force: `changes` merged into `before`, or in its place.

    Besides what `problems` finds, a key that is read-only, or fixed at creation (`sessionMutable` false), keeps its
    value. Saying the value it has is no change.
    """
    after = dict(changes) if replace else {**before, **changes}
    found = problems(schema, after) if replace else _given(schema, changes)
    for key, prop in schema.properties.items():
        if _same(before, after, key):
            continue
        if prop.read_only is True:
            found.append(f"{key} is read-only: it stays {_shown(before, key)}")
        elif prop.session_mutable is False:
            found.append(f"{key} is fixed when the session is created: it stays {_shown(before, key)}")
    return found


def _same(before: Mapping[str, JSON], after: Mapping[str, JSON], key: str) -> bool:
    if key not in before or key not in after:
        return key not in before and key not in after
    return _equal(before[key], after[key])


def _shown(values: Mapping[str, JSON], key: str) -> str:
    return repr(values[key]) if key in values else "unset"


# One value.


def _of_property(key: str, prop: ConfigPropertySchema, value: JSON) -> list[str]:
    fits = _TYPES.get(prop.type)
    if fits is not None and not fits(value):
        return [f"{key} is {_type_name(value)}: {prop.type} is expected"]
    allowed = present(prop.enum, None)
    if allowed is not None and prop.enum_dynamic is not True and not any(_equal(value, one) for one in allowed):
        return [f"{key} is {value!r}: one of {', '.join(map(repr, allowed))} is expected"]
    if isinstance(value, Mapping):
        return _of_object(key, prop, value)
    if isinstance(value, Sequence) and not isinstance(value, str) and not isinstance(prop.items, UnsetType):
        items = prop.items
        return [found for index, item in enumerate(value) for found in _of_property(f"{key}[{index}]", items, item)]
    return []


def _of_object(key: str, prop: ConfigPropertySchema, value: Mapping[str, JSON]) -> list[str]:
    known = present(prop.properties, None)
    found = [f"{key}.{name} is missing" for name in present(prop.required, []) if name not in value]
    for name, inner in value.items():
        if known is not None and name in known:
            found += _of_property(f"{key}.{name}", known[name], inner)
        elif prop.additional_properties is False:
            found.append(f"{key}.{name} is not known: {', '.join(known or {}) or 'nothing'} is expected")
    return found


def _equal(left: JSON, right: JSON) -> bool:
    """Equality of JSON: in Python `True == 1`, in JSON not."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    return bool(left == right)


def _is_number(value: JSON) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# A type from the future takes any value.
_TYPES: dict[str, Callable[[JSON], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": lambda value: _is_number(value) and value == int(value),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list | tuple),
    "object": lambda value: isinstance(value, Mapping),
    "null": lambda value: value is None,
}


def _type_name(value: JSON) -> str:
    names = {
        str: "a string",
        bool: "a boolean",
        int: "a number",
        float: "a number",
        list: "an array",
        dict: "an object",
    }
    return names.get(type(value), "null" if value is None else type(value).__name__)
