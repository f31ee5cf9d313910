"""Attributes read with their types, for the shape rules.

Attributes reach a rule in normal form (`table.Attribute`) from `call.normalize`, or from a text of PSK-Core that
anyone may have written: so each reader checks what it finds and raises Misfit, never anything else.
"""

from __future__ import annotations

from collections.abc import Collection

from presk.primitives.table import Attribute, Attributes, Misfit
from presk.shapes import constants
from presk.shapes.constants import Constant
from presk.shapes.poly import Poly, number
from presk.shapes.types import Axis, Run, Shape, Tensor, show


def take_axis(attributes: Attributes, tensor: Tensor, name: str = "axis") -> tuple[int, Axis]:
    """The index of the axis that attribute `name` gives, and the axis."""
    index = attributes.get(name)
    if not isinstance(index, int) or isinstance(index, bool):
        raise _malformed(attributes, name, "an axis")
    return index, axis_at(tensor, index)


def take_axes(attributes: Attributes, tensor: Tensor, name: str = "axis") -> tuple[int, ...]:
    """The sorted indices that attribute `name` gives; None gives all entries, a run among them."""
    value = attributes.get(name)
    if value is None:
        return tuple(range(len(tensor.axes)))
    indices = take_order(attributes, tensor, name)
    if list(indices) != sorted(set(indices)):
        raise _malformed(attributes, name, "axes in increasing order")
    return indices


def take_order(attributes: Attributes, tensor: Tensor, name: str) -> tuple[int, ...]:
    """The indices that attribute `name` gives, as given; a run's index only where the order keeps it first."""
    indices = _integers(attributes.get(name))
    if indices is None:
        raise _malformed(attributes, name, "a tuple of axes")
    for at, index in enumerate(indices):
        if not (at == index == 0 and tensor.run is not None):
            axis_at(tensor, index)
    return indices


def take_nat(attributes: Attributes, name: str) -> Poly:
    """The size that attribute `name` gives: a whole number from 0, or a symbolic size."""
    size = _whole(attributes.get(name))
    if size is None or (size.constant is not None and size.constant < 0):
        raise _malformed(attributes, name, "a whole number from 0")
    return size


def take_real(attributes: Attributes, name: str) -> Constant:
    """The exact constant that attribute `name` gives."""
    value = attributes.get(name)
    if isinstance(value, (constants.Rational, constants.Symbolic, constants.Apply)):
        return value
    raise _malformed(attributes, name, "a real constant")


def take_new(attributes: Attributes) -> Shape:
    """The new axes."""
    value = attributes.get("new")
    if not isinstance(value, tuple):
        raise Misfit("E3002", "new axes are missing: they stand in brackets behind the name, such as `zeros[n: 3]`")
    axes = tuple(each for each in value if isinstance(each, (Axis, Run)))
    if len(axes) != len(value) or any(isinstance(axis, Run) for axis in axes[1:]):
        raise _malformed(attributes, "new", "axes")
    for axis in axes:
        size = axis.size.constant if isinstance(axis, Axis) else None
        if isinstance(axis, Axis) and size is not None and (size < 0 or size.denominator != 1):
            label = "a new axis" if axis.name is None else f"the new axis `{axis.name}`"
            raise Misfit("E4004", f"{label} would have the size {size}, which is not a whole number from 0")
    return axes


def take_names(attributes: Attributes, name: str) -> tuple[tuple[str, ...], ...]:
    """A tuple of tuples of names."""
    value = attributes.get(name)
    if not isinstance(value, tuple):
        raise _malformed(attributes, name, "lists of axis names")
    rows = tuple(row for row in value if isinstance(row, tuple))
    if len(rows) != len(value):
        raise _malformed(attributes, name, "lists of axis names")
    return rows


def axis_at(tensor: Tensor, index: int) -> Axis:
    """The axis at an index of `tensor.axes`. Raises Misfit (E3004) where there is none, or a run."""
    axis = tensor.axes[index] if 0 <= index < len(tensor.axes) else None
    if not isinstance(axis, Axis):
        raise Misfit("E3004", f"{show(tensor)} has no axis at index {index}")
    return axis


def _integers(value: Attribute) -> tuple[int, ...] | None:
    if not isinstance(value, tuple):
        return None
    found = tuple(each for each in value if isinstance(each, int) and not isinstance(each, bool))
    return found if len(found) == len(value) else None


def _whole(value: Attribute) -> Poly | None:
    match value:
        case bool():
            return None
        case int():
            return number(value)
        case constants.Rational() | constants.Symbolic() | constants.Apply():
            return constants.as_size(value)
        case _:
            return None


def _malformed(attributes: Attributes, name: str, wanted: str) -> Misfit:
    if name not in attributes:
        return Misfit("E3002", f"`{name}` is missing: {wanted} must be given")
    return Misfit("E3002", f"`{name}` must be {wanted}")


# Cotangents

COTANGENT = "cotangent"
"""Which operand of a product in an adjoint is the cotangent: 0, 1, or `both` in a derivative of an adjoint."""

BOTH = "both"


def cotangents_of(attributes: Attributes) -> tuple[int, ...]:
    """The operands of a product in an adjoint that are marked as cotangents."""
    mark = attributes.get(COTANGENT)
    return (0, 1) if mark == BOTH else (mark,) if isinstance(mark, int) else ()


def mark_of(numbers: Collection[int]) -> int | str | None:
    """The mark of these operands, None of none."""
    return BOTH if len(numbers) == 2 else next(iter(numbers), None)
