"""Gathers and what goes with them: look-ups by run-time nats, one_hot, scatter_add, sort and top_k."""

from __future__ import annotations

from presk.primitives.attributes import take_axis, take_nat, take_new
from presk.primitives.axes import axis_label
from presk.primitives.fitting import (
    distinct,
    fit_under,
    match_same_rank,
    named_by,
    on_tensors,
    replaced,
    require_below,
    show_shape,
)
from presk.primitives.reductions import TIES
from presk.primitives.table import Attributes, Keyword, Misfit, Operand, Primitive
from presk.shapes.poly import number, provably_at_most
from presk.shapes.types import Axis, Run, Shape, Tensor, TupleOf, show

FAMILY = "gathers"
AXIS = Keyword("axis", "axis", required=True)
LAST = Keyword("axis", "axis", default=-1)


def embed_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The index's axes, then the table's without its first."""
    table, index = operands
    if not table.axes or isinstance(table.axes[0], Run):
        raise Misfit("E3003", f"embed looks up along a table's first axis, and {show(table)} has none that is known")
    require_below(index, table.axes[0].size, f"{axis_label(table, 0)} of {show(table)}")
    return Tensor("real", distinct((*index.axes, *table.axes[1:])))


def with_index_axes(x: Tensor, at: int, index: Tensor) -> Shape:
    """The axes of x with those of the index in the place of the one at `at`; names must differ."""
    if index.run is not None and at > 0:
        raise Misfit(
            "E3003",
            f"the axes `..` of {show(index)} can't stand behind others, where {axis_label(x, at)} of {show(x)} is",
            "transpose that axis to the front first",
        )
    return distinct(replaced(x.axes, at, *index.axes))


def take_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The index's axes stand in the axis's place."""
    x, index = operands
    at, axis = take_axis(attributes, x)
    require_below(index, axis.size, f"{axis_label(x, at)} of {show(x)}")
    return Tensor(x.kind, with_index_axes(x, at, index), x.bound)


def one_hot_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The index's axes, then the new one."""
    new = take_new(attributes)
    if len(new) != 1 or not isinstance(new[0], Axis):
        raise Misfit("E3002", f"one_hot takes one new axis, not {show_shape(new)}", "such as `one_hot[k: K](i)`")
    require_below(operands[0], new[0].size, f"the new axis {show_shape(new)}")
    return Tensor("real", distinct((*operands[0].axes, *new)))


def gather_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The axes of x, the one gathered along having the index's size."""
    x, index = operands
    at, axis = take_axis(attributes, x)
    places = match_same_rank(x.axes, index, free=at)
    require_below(index, axis.size, f"{axis_label(x, at)} of {show(x)}")
    along = index.axes[places.index(at)]
    size = along.size if isinstance(along, Axis) else axis.size
    return Tensor(x.kind, distinct(named_by(replaced(x.axes, at, Axis(axis.name, size)), index, places)), x.bound)


def scatter_add_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The shape of x; v aligns with x's axes, the index's standing in the axis's place."""
    x, index, values = operands
    at, axis = take_axis(attributes, x)
    require_below(index, axis.size, f"{axis_label(x, at)} of {show(x)}")
    fit_under(with_index_axes(x, at, index), values, f"the slices of {show(x)} at {show(index)}, which are")
    return Tensor("real", x.axes)


def sort_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The operand's own shape."""
    take_axis(attributes, operands[0])
    return Tensor("real", operands[0].axes)


def top_k_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> TupleOf:
    """Values and indices; the axis has size k."""
    x = operands[0]
    at, axis = take_axis(attributes, x)
    count = take_nat(attributes, "k")
    if provably_at_most(axis.size + number(1), count):
        raise Misfit(
            "E3020", f"top_k can't take {count} elements of {axis_label(x, at)} of {show(x)}, of size {axis.size}"
        )
    axes = replaced(x.axes, at, Axis(axis.name, count))
    return TupleOf((Tensor("real", axes), Tensor("nat", axes, axis.size)))


INDEX = Operand("idx", "nat")

ROWS = [
    Primitive(
        "embed",
        FAMILY,
        (Operand("table"), INDEX),
        on_tensors(embed_rule),
        "The table's rows (its first axis) at the indices: the index's axes, then the table's others.",
    ),
    Primitive(
        "take",
        FAMILY,
        (Operand("x", "any"), INDEX),
        on_tensors(take_rule),
        "The slices of x at the indices; the index's axes stand in the axis's place, a scalar index drops it.",
        (AXIS,),
    ),
    Primitive(
        "one_hot",
        FAMILY,
        (Operand("i", "nat"),),
        on_tensors(one_hot_rule),
        "1 where the new last axis's position is i, else 0.",
        new_axes="sizes",
    ),
    Primitive(
        "gather",
        FAMILY,
        (Operand("x", "any"), INDEX),
        on_tensors(gather_rule),
        "Element by element along an axis, as NumPy's take_along_axis: the index has x's axes, but its own size here.",
        (AXIS,),
    ),
    Primitive(
        "scatter_add",
        FAMILY,
        (Operand("x"), INDEX, Operand("v")),
        on_tensors(scatter_add_rule),
        "x with the slices of v added at the indices, in row-major order of the index. "
        "v has the index's axes in the axis's place, and may repeat (it aligns).",
        (AXIS,),
    ),
    Primitive(
        "sort", FAMILY, (Operand("x"),), on_tensors(sort_rule), "The elements along an axis, ascending.", (LAST,)
    ),
    Primitive(
        "top_k",
        FAMILY,
        (Operand("x"),),
        on_tensors(top_k_rule),
        "The k largest elements along an axis, descending, and their positions: (values, indices). "
        "Of equals the last comes first, or with ties = first the first.",
        (Keyword("k", "nat", required=True), LAST, TIES),
        positional=("x", "k"),
    ),
]
