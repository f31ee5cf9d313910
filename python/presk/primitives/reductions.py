"""Reductions over one axis, several, or all (row-major), `cumsum`, and `total` over a tree."""

from __future__ import annotations

from presk.primitives.attributes import take_axes, take_axis
from presk.primitives.axes import axis_label
from presk.primitives.fitting import on_tensors, volume
from presk.primitives.table import Attributes, Keyword, Misfit, Operand, Primitive, Rule
from presk.shapes.types import REAL, Axis, Shape, Tensor, Type, leaves, show

FAMILY = "reductions"
AXES = Keyword("axis", "axes")
TIES = Keyword("ties", "word", default="last", words=("last", "first"))

REAL_DOCS = {
    "sum": "The sum; of no elements 0.",
    "mean": "The sum divided by the number of elements.",
    "max": "The largest element.",
    "min": "The smallest element.",
    "prod": "The product; of no elements 1.",
    "logsumexp": "log Σ exp(x), with the maximum subtracted first.",
}
OF_SOME_ELEMENTS = frozenset({"max", "min", "argmax", "argmin"})
"""Reductions that no elements at all have no value of."""


def split_axes(tensor: Tensor, indices: tuple[int, ...]) -> tuple[Shape, Shape]:
    """The axes that stay and those reduced."""
    kept = tuple(axis for at, axis in enumerate(tensor.axes) if at not in indices)
    return kept, tuple(tensor.axes[at] for at in indices)


def require_elements(name: str, tensor: Tensor, reduced: tuple[int, ...]) -> None:
    """Raises Misfit (E3020) where nothing is left to choose from."""
    for index in reduced:
        axis = tensor.axes[index]
        if isinstance(axis, Axis) and axis.size.constant == 0:
            raise Misfit("E3020", f"{name} has no value where {axis_label(tensor, index)} of {show(tensor)} is empty")


def is_choice_of_nothing(tensor: Tensor, attributes: Attributes) -> bool:
    """Whether a choice among the elements of these axes has none to choose from."""
    reduced = (tensor.axes[index] for index in take_axes(attributes, tensor))
    return any(isinstance(axis, Axis) and axis.size.constant == 0 for axis in reduced)


def real_rule(name: str) -> Rule:
    """A real for every index of the axes that stay."""

    def rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
        reduced = take_axes(attributes, operands[0])
        if name in OF_SOME_ELEMENTS:
            require_elements(name, operands[0], reduced)
        return Tensor("real", split_axes(operands[0], reduced)[0])

    return on_tensors(rule)


def bool_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """A bool for every index of the axes that stay."""
    return Tensor("bool", split_axes(operands[0], take_axes(attributes, operands[0]))[0])


def position_rule(name: str) -> Rule:
    """A row-major position in the axes reduced, for every index of those that stay."""

    def rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
        tensor = operands[0]
        indices = take_axes(attributes, tensor)
        require_elements(name, tensor, indices)
        kept, reduced = split_axes(tensor, indices)
        size = volume(reduced)
        if size is None:
            raise Misfit(
                "E3003",
                f"the positions {name} gives in {show(tensor)} depend on the sizes `..` stands for",
                "choose axes behind it: `axis = -1`",
            )
        return Tensor("nat", kept, size)

    return on_tensors(rule)


def cumsum_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The operand's own shape."""
    take_axis(attributes, operands[0])
    return Tensor("real", operands[0].axes)


def total_rule(operands: tuple[Type, ...], attributes: Attributes) -> Tensor:
    """A scalar; every leaf must be real."""
    for path, leaf in leaves(operands[0]):
        if leaf.kind != "real":
            where = f"leaf `{'.'.join(path)}` of the tree" if path else "the operand"
            raise Misfit("E3001", f"total adds reals, and {where} is {show(leaf)}")
    return REAL


def _rows() -> list[Primitive]:
    real, boolean = Operand("x"), Operand("x", "bool")
    rows = [Primitive(name, FAMILY, (real,), real_rule(name), doc, (AXES,)) for name, doc in REAL_DOCS.items()]
    rows += [
        Primitive("any", FAMILY, (boolean,), on_tensors(bool_rule), "Whether at least one is true.", (AXES,)),
        Primitive("all", FAMILY, (boolean,), on_tensors(bool_rule), "Whether all are true.", (AXES,)),
    ]
    rows += [
        Primitive(
            name,
            FAMILY,
            (real,),
            position_rule(name),
            f"The position of the {which} element, row-major over several axes; of equals the last, or the first.",
            (AXES, TIES),
        )
        for name, which in (("argmax", "largest"), ("argmin", "smallest"))
    ]
    rows += [
        Primitive(
            "cumsum",
            FAMILY,
            (real,),
            on_tensors(cumsum_rule),
            "Running sums along an axis, the element itself included; keeps the axis.",
            (Keyword("axis", "axis", required=True),),
        ),
        Primitive(
            "total",
            FAMILY,
            (Operand("tree", "tree"),),
            total_rule,
            "The sum over all leaves of a tree, in declaration order.",
        ),
    ]
    return rows


ROWS = _rows()
