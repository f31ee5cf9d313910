"""Draws: each depends on its place in the program, the seed and the step alone (language.md 7, Randomness)."""

from __future__ import annotations

from presk.primitives.attributes import take_axis, take_nat, take_new, take_real
from presk.primitives.fitting import distinct, on_tensors, replaced
from presk.primitives.reductions import require_elements
from presk.primitives.table import Attributes, Keyword, Misfit, Operand, Primitive
from presk.shapes import constants
from presk.shapes.constants import Constant, Rational, rational
from presk.shapes.types import Tensor

FAMILY = "random"


def normal_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """Reals of the new axes."""
    take_real(attributes, "mean")
    _require_ordered(rational(0), take_real(attributes, "std"), "std of normal must not be negative")
    return Tensor("real", distinct(take_new(attributes)))


def uniform_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """Reals of the new axes."""
    _require_ordered(
        take_real(attributes, "lo"), take_real(attributes, "hi"), "lo of uniform must be below hi", strictly=True
    )
    return Tensor("real", distinct(take_new(attributes)))


def dropout_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The operand's own shape."""
    return operands[0]


def dropout_mask_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """Reals of the new axes."""
    return Tensor("real", distinct(take_new(attributes)))


def sample_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """A position in the axis for every index of the others."""
    logits = operands[0]
    at, axis = take_axis(attributes, logits)
    require_elements("sample", logits, (at,))
    take_nat(attributes, "top_k")
    return Tensor("nat", replaced(logits.axes, at), axis.size)


def _require_ordered(low: Constant, high: Constant, message: str, strictly: bool = False) -> None:
    if not (isinstance(low, Rational) and isinstance(high, Rational)):
        return
    if high.value < low.value or (strictly and high.value == low.value):
        raise Misfit("E3020", f"{message}: {constants.show(low)} and {constants.show(high)}")


def _real(name: str, default: int) -> Keyword:
    return Keyword(name, "real", default=rational(default))


ROWS = [
    Primitive(
        "normal",
        FAMILY,
        (),
        on_tensors(normal_rule),
        "Independent normal draws.",
        (_real("std", 1), _real("mean", 0)),
        new_axes="sizes",
        draws=True,
        positional=("std", "mean"),
    ),
    Primitive(
        "uniform",
        FAMILY,
        (),
        on_tensors(uniform_rule),
        "Independent uniform draws from lo up to, not including, hi.",
        (_real("lo", 0), _real("hi", 1)),
        new_axes="sizes",
        draws=True,
        positional=("lo", "hi"),
    ),
    Primitive(
        "dropout",
        FAMILY,
        (Operand("x"), Operand("p", scalar=True)),
        on_tensors(dropout_rule),
        "In training each element is 0 with probability p, else divided by 1 − p. Otherwise x, and nothing is drawn.",
        draws=True,
    ),
    Primitive(
        "sample",
        FAMILY,
        (
            Operand("logits"),
            Operand("temperature", default=rational(1), scalar=True),
            Operand("top_p", default=rational(1), scalar=True),
        ),
        on_tensors(sample_rule),
        "A position drawn with probability softmax(logits / temperature), among the top_k largest (0: all) and the "
        "fewest that reach the probability top_p; at temperature 0 the largest, of equals the last.",
        (Keyword("top_k", "nat", default=0), Keyword("axis", "axis", default=-1)),
        draws=True,
        positional=("logits", "temperature", "top_k", "top_p"),
    ),
    Primitive(
        "dropout_mask",
        FAMILY,
        (Operand("p", scalar=True),),
        on_tensors(dropout_mask_rule),
        "The factors by which dropout in training multiplies: 0 with probability p, else 1 / (1 − p).",
        new_axes="sizes",
        internal=True,
        draws=True,
    ),
]
