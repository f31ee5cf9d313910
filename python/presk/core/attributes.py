"""The attributes of a primitive in Core: their order, what is left out in text, what the verifier asks of them.

In order: new axes (`new`, or `out` and `labels`), the keywords as the table has them, and of a draw its number `draw`.
A product in an adjoint may have `cotangent` behind them, the number of the operand that is one, or `both`.
Their meaning and ranges are the shape rules' matter (`primitives.attributes`). Called by the reader, the verifier and
passes that make primitives.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from presk.primitives.attributes import BOTH, COTANGENT
from presk.primitives.table import Attribute, Primitive
from presk.shapes import constants
from presk.shapes.types import Axis, Run

BRACKETS = ("new", "out", "labels")
"""Attributes that stand in brackets."""

Row = tuple[object, ...]

DRAW = "draw"
"""The number of a draw among those of its primitive in its function's text."""


def names_of(primitive: Primitive) -> tuple[str, ...]:
    """The names of a primitive's attributes, in order."""
    brackets = ("out", "labels") if primitive.name == "ein" else ("new",) if primitive.new_axes != "none" else ()
    draw = (DRAW,) if primitive.draws else ()
    return (*brackets, *(keyword.name for keyword in primitive.keywords), *draw)


def in_order(primitive: Primitive, values: Mapping[str, Attribute]) -> tuple[tuple[str, Attribute], ...]:
    """The attributes in order; those that are missing stay so."""
    names = (*names_of(primitive), *((COTANGENT,) if primitive.product else ()))
    return tuple((name, values[name]) for name in names if name in values)


def fault_in(primitive: Primitive, attributes: tuple[tuple[str, Attribute], ...]) -> str | None:
    """What is not in normal form, or None."""
    given = tuple(name for name, _ in attributes)
    if primitive.product and given[-1:] == (COTANGENT,):
        if attributes[-1][1] not in (0, 1, BOTH):
            return f"needs 0, 1 or {BOTH} as `{COTANGENT}`"
        attributes, given = attributes[:-1], given[:-1]
    if given != names_of(primitive):
        return f"has the attributes {', '.join(given) or 'none'}, not {', '.join(names_of(primitive)) or 'none'}"
    kinds = {keyword.name: keyword.kind for keyword in primitive.keywords}
    for name, value in attributes:
        wanted = _wanted(kinds.get(name, name), value)
        if wanted is not None:
            return f"needs {wanted} as `{name}`"
    return None


def _wanted(kind: str, value: Attribute) -> str | None:
    """What an attribute of this kind must be, where the value isn't."""
    whole = value if isinstance(value, int) and not isinstance(value, bool) else None
    match kind:
        case "axis" | "nat" | "draw":
            return None if whole is not None and whole >= 0 else "a whole number from 0"
        case "int":
            return None if whole is not None else "a whole number"
        case "axes":
            return None if value is None or _are_integers(value) else "sorted axes"
        case "order":
            return None if _are_integers(value) else "a tuple of axes"
        case "real":
            exact = isinstance(value, (constants.Rational, constants.Apply))
            return None if exact else "an exact constant"
        case "word":
            return None if isinstance(value, str) else "a word"
        case "new":
            axes = value if isinstance(value, tuple) else (None,)
            return None if all(isinstance(each, (Axis, Run)) for each in axes) else "axes"
        case _:
            return None if _are_rows(value) else "lists of names"


def _are_integers(value: Attribute) -> bool:
    return isinstance(value, tuple) and all(isinstance(each, int) and not isinstance(each, bool) for each in value)


def _are_rows(value: Attribute) -> bool:
    rows: tuple[object, ...] = value if isinstance(value, tuple) else (None,)
    return all(isinstance(row, tuple) and all(isinstance(each, str) for each in cast(Row, row)) for row in rows)
