"""JSON objects that can't change: the maps of realizations and plans, which are compared, hashed and pickled.

`freeze` makes of dicts, lists and whole floats what compares equal however it was written; `thaw` gives plain JSON data
back. Called by `realization.model`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, cast

from presk.text.diagnostics import PreskError, fail

Item = TypeVar("Item", covariant=True)

DEPTH_LIMIT = 16
"""Levels of nested data; a realization or plan has five."""

LARGEST_BITS = 64
"""Bits of the largest whole number that is taken; no choice is anywhere near."""


class FrozenMap(Mapping[str, Item]):
    """A mapping that is never changed, in the order it was written; equality and hash don't see the order."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Item] | None = None) -> None:
        self._items: dict[str, Item] = dict(items or {})

    def __getitem__(self, key: str) -> Item:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)


EMPTY: FrozenMap[Any] = FrozenMap()


def freeze(value: Any, depth: int = 0) -> Any:
    """The value with maps frozen, lists as tuples and whole floats as integers. E7001 for what is no JSON data."""
    if depth > DEPTH_LIMIT:
        raise fail("E7001", f"data nested more than {DEPTH_LIMIT} levels deep is no realization or plan")
    match value:
        case None | bool():
            return value
        case str():
            return _text(value)
        case int() | float():
            return _number(value)
        case Mapping():
            items = cast(Mapping[object, Any], value)
            return FrozenMap({_text(key): freeze(each, depth + 1) for key, each in items.items()})
        case list() | tuple():
            return tuple(freeze(each, depth + 1) for each in cast(tuple[Any, ...], value))
        case _:
            raise _no_data(value)


def thaw(value: Any) -> Any:
    """Plain dicts and lists."""
    if isinstance(value, Mapping):
        return {key: thaw(each) for key, each in cast(Mapping[str, Any], value).items()}
    if isinstance(value, tuple):
        return [thaw(each) for each in cast(tuple[Any, ...], value)]
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _no_data(value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise fail("E7001", "half of a surrogate pair is no text") from None
    return str(value)


def _number(value: int | float) -> int | float:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise fail("E7001", f"{value} is no number of a realization or plan")
        value = int(value) if value.is_integer() else float(value)
    if isinstance(value, int) and value.bit_length() > LARGEST_BITS:
        raise fail("E7001", f"a number of {value.bit_length()} bits is of no use here")
    return value


def _no_data(value: object) -> PreskError:
    hint = "keys are text, values text, numbers, booleans, lists and dicts"
    return fail(
        "E7001", f"a value of Python's `{type(value).__name__}` has no place in a realization or plan", hint=hint
    )
