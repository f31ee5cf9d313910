"""What indexing syntax becomes: a slice read or replaced at a run-time nat, several replaced. And stop_gradient."""

from __future__ import annotations

from presk.primitives.attributes import take_axis, take_nat
from presk.primitives.axes import axis_label
from presk.primitives.fitting import (
    bound_of,
    fit_under,
    joined_bound,
    match_same_rank,
    on_tensors,
    replaced,
    require_below,
)
from presk.primitives.table import Attributes, Keyword, Misfit, Operand, Primitive
from presk.shapes.poly import Poly, number, provably_at_most
from presk.shapes.types import Axis, Tensor, show

FAMILY = "indexing"
AXIS = Keyword("axis", "axis", required=True)


def index_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The axes of x without the indexed one."""
    x, index = operands
    at, axis = take_axis(attributes, x)
    require_below(index, axis.size, f"{axis_label(x, at)} of {show(x)}")
    return Tensor(x.kind, replaced(x.axes, at), x.bound)


def update_index_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The shape of x; v aligns with the slice."""
    x, value, index = operands
    at, axis = take_axis(attributes, x)
    require_below(index, axis.size, f"{axis_label(x, at)} of {show(x)}")
    fit_under(replaced(x.axes, at), value, f"the slice at {axis_label(x, at)} of {show(x)}, which is")
    return Tensor(x.kind, x.axes, _joined(x, value))


def update_slice_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The shape of x; v has its axes, with its own size along the axis."""
    x, value = operands
    at, axis = take_axis(attributes, x)
    start = take_nat(attributes, "start")
    places = match_same_rank(x.axes, value, free=at)
    along = value.axes[places.index(at)]
    stop = start + along.size if isinstance(along, Axis) else start
    if provably_at_most(axis.size + number(1), stop):
        raise Misfit(
            "E3020",
            f"the slice {start}..{stop} is not within {axis_label(x, at)} of {show(x)}, which has size {axis.size}",
        )
    return Tensor(x.kind, x.axes, _joined(x, value))


def stop_gradient_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The operand's own type."""
    return operands[0]


def _joined(x: Tensor, value: Tensor) -> Poly | None:
    return joined_bound([bound_of(x), bound_of(value)]) if x.kind == "nat" else None


INDEX = Operand("i", "nat", scalar=True)

ROWS = [
    Primitive(
        "index",
        FAMILY,
        (Operand("x", "any"), INDEX),
        on_tensors(index_rule),
        "The slice at position i of an axis, which is dropped; written x[a = i].",
        (AXIS,),
        internal=True,
    ),
    Primitive(
        "update_index",
        FAMILY,
        (Operand("x", "alike"), Operand("v", "alike"), INDEX),
        on_tensors(update_index_rule),
        "x with the slice at position i replaced by v, which aligns with it; written {x with [a = i] = v}.",
        (AXIS,),
        internal=True,
    ),
    Primitive(
        "update_slice",
        FAMILY,
        (Operand("x", "alike"), Operand("v", "alike")),
        on_tensors(update_slice_rule),
        "x with positions from start on replaced by v's; written {x with [a = start..stop] = v}.",
        (AXIS, Keyword("start", "nat", required=True)),
        internal=True,
    ),
    Primitive(
        "stop_gradient",
        "derivatives",
        (Operand("x", "any"),),
        on_tensors(stop_gradient_rule),
        "x itself, taken as a constant by derivatives.",
    ),
]
