"""Layout primitives that join tensors or take them apart: concat, stack and unstack."""

from __future__ import annotations

from presk.primitives.attributes import take_axis, take_new
from presk.primitives.axes import axis_label
from presk.primitives.fitting import (
    bound_of,
    distinct,
    joined_bound,
    match_same_rank,
    named_by,
    on_tensors,
    replaced,
    show_shape,
    volume,
)
from presk.primitives.table import Attributes, Keyword, Misfit, Operand, Primitive
from presk.shapes.poly import Poly, number
from presk.shapes.types import Axis, Shape, Tensor, TupleOf, show

FAMILY = "layout"
UNSTACK_LIMIT = 4096
"""Pieces of one unstack; a loop goes over more."""


def _joined(operands: tuple[Tensor, ...]) -> Poly | None:
    return joined_bound([bound_of(operand) for operand in operands]) if operands[0].kind == "nat" else None


def concat_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The first operand's axes, the joined one having the sum of the sizes; the others' match by name or position."""
    first = operands[0]
    at, axis = take_axis(attributes, first)
    axes: Shape = first.axes
    size = axis.size
    for operand in operands[1:]:
        places = match_same_rank(axes, operand, free=at)
        axes = named_by(axes, operand, places)
        joined = operand.axes[places.index(at)]
        size = size + (joined.size if isinstance(joined, Axis) else number(0))
    named = axes[at]
    name = named.name if isinstance(named, Axis) else None
    return Tensor(first.kind, distinct(replaced(axes, at, Axis(name, size))), _joined(operands))


def stack_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The new axis, then the first operand's axes; the others' match by name or position."""
    first = operands[0]
    new = take_new(attributes)
    if len(new) != 1 or volume(new) != number(len(operands)):
        raise Misfit("E3003", f"stack of {len(operands)} makes one new axis of that size, not {show_shape(new)}")
    if first.run is not None:
        raise Misfit("E3003", f"stack's axis comes first, and {show(first)} begins with `..`", "name the leading axes")
    axes: Shape = first.axes
    for operand in operands[1:]:
        axes = named_by(axes, operand, match_same_rank(axes, operand, free=None))
    return Tensor(first.kind, distinct((*new, *axes)), _joined(operands))


def unstack_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> TupleOf:
    """A tuple with as many items as the axis has positions."""
    x = operands[0]
    at, axis = take_axis(attributes, x)
    count = axis.size.whole
    if count is None:
        raise Misfit(
            "E3005",
            f"unstack makes a tuple, and the size {axis.size} of {axis_label(x, at)} of {show(x)} is not a number here",
            "state the size as a number, such as `s: 3`",
        )
    if count > UNSTACK_LIMIT:
        raise Misfit(
            "E3020", f"unstack makes at most {UNSTACK_LIMIT} pieces, not {count}", "`scan … along` goes over an axis"
        )
    return TupleOf((Tensor(x.kind, replaced(x.axes, at), x.bound),) * count)


ALIKE = (Operand("x", "alike", variadic=True),)
AXIS = Keyword("axis", "axis", required=True)

ROWS = [
    Primitive(
        "concat",
        FAMILY,
        ALIKE,
        on_tensors(concat_rule),
        "Tensors one after the other along an axis; their other axes match by name, or by position.",
        (AXIS,),
    ),
    Primitive(
        "stack",
        FAMILY,
        ALIKE,
        on_tensors(stack_rule),
        "Tensors of one shape along a new first axis; without brackets it has no name.",
        new_axes="labels",
    ),
    Primitive(
        "unstack",
        FAMILY,
        (Operand("x", "any"),),
        on_tensors(unstack_rule),
        "The slices along an axis as a tuple.",
        (AXIS,),
    ),
]
