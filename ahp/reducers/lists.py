"""Keyed lists as the protocol changes them: set in place or at the end, removed by key. Pure, for the reducers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ahp import wire

T = TypeVar("T")


def upserted(items: list[T], item: T, key: Callable[[T], object]) -> list[T]:
    """`items` with `item` in the place of the one with its key, else at the end."""
    wanted = key(item)
    for index, known in enumerate(items):
        if key(known) == wanted:
            return [*items[:index], item, *items[index + 1 :]]
    return [*items, item]


def removed(items: list[T], wanted: object, key: Callable[[T], object]) -> list[T]:
    """`items` without the first one of that key; the very same list where there is none."""
    for index, known in enumerate(items):
        if key(known) == wanted:
            return [*items[:index], *items[index + 1 :]]
    return items


def id_of(item: wire.Wire) -> object:
    """The id of an item of a list, also of one of a kind from the future; None where it has none."""
    found = getattr(item, "id", None)
    return wire.extras(item).get("id") if found is None else found
