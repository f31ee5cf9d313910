"""Constants by their axes (positions, masks, zeros …) and the initializer-only form `constant(c)`."""

from __future__ import annotations

from presk.primitives.attributes import take_new
from presk.primitives.fitting import distinct, on_tensors, show_shape
from presk.primitives.table import Attributes, Keyword, Misfit, Operand, Primitive, Rule
from presk.shapes.types import Axis, Tensor, Type

FAMILY = "constants"


def _exactly(name: str, attributes: Attributes, count: int, example: str) -> tuple[Axis, ...]:
    """The new axes, which must be `count`, with sizes and distinct names."""
    new = distinct(take_new(attributes))
    axes = tuple(axis for axis in new if isinstance(axis, Axis))
    if len(new) != count or len(axes) != count:
        wanted = "one new axis" if count == 1 else f"{count} new axes"
        raise Misfit("E3002", f"{name} takes {wanted}, not {show_shape(new)}", f"such as `{example}`")
    return axes


def positions_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """`nat[seq: T] < T`."""
    axes = _exactly("positions", attributes, 1, "positions[seq: T]")
    return Tensor("nat", axes, axes[0].size)


def causal_mask_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """`bool[q: T, k: T]`."""
    return Tensor("bool", _exactly("causal_mask", attributes, 2, "causal_mask[q: T, k: T]"))


def eye_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """A real matrix."""
    return Tensor("real", _exactly("eye", attributes, 2, "eye[i: N, j: N]"))


def filled_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """Reals of the new axes."""
    return Tensor("real", distinct(take_new(attributes)))


def initializer_rule(operands: tuple[Type, ...], attributes: Attributes) -> Type:
    """Refused: the checker reads an initializer itself, with its parameter's shape."""
    raise Misfit("E3002", "constant(c) initializes a parameter and is no expression", "`full[…](c)` is the expression")


def _constant(name: str, rule: Rule, doc: str, operands: tuple[Operand, ...] = ()) -> Primitive:
    return Primitive(name, FAMILY, operands, rule, doc, new_axes="sizes")


ROWS = [
    _constant("positions", on_tensors(positions_rule), "0, 1, 2 … along one axis, as nats below its size."),
    _constant(
        "causal_mask", on_tensors(causal_mask_rule), "True where the second axis's position is at most the first's."
    ),
    _constant("zeros", on_tensors(filled_rule), "All 0."),
    _constant("ones", on_tensors(filled_rule), "All 1."),
    _constant("full", on_tensors(filled_rule), "All c.", (Operand("c", scalar=True),)),
    _constant("eye", on_tensors(eye_rule), "1 where the two positions are equal, else 0."),
    Primitive(
        "constant",
        "initializers",
        (),
        initializer_rule,
        "Initializer of a parameter: all elements c. So are zeros, ones, normal and uniform without brackets.",
        (Keyword("c", "real", required=True),),
        positional=("c",),
    ),
]
