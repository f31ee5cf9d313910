"""Row primitives: softmax, log_softmax, cross_entropy. Each subtracts its row's maximum; a mask may refuse elements."""

from __future__ import annotations

from presk.primitives.attributes import take_axes
from presk.primitives.fitting import fit_under, on_tensors, require_below, show_shape, volume
from presk.primitives.reductions import split_axes
from presk.primitives.table import Attributes, Keyword, Misfit, Operand, Primitive
from presk.shapes.types import Shape, Tensor, show

FAMILY = "rows"
AXES = Keyword("axis", "axes", default=-1)
MASK = Operand("mask", "bool", optional=True)


def _masked(tensor: Tensor, masks: tuple[Tensor, ...]) -> Shape:
    """The tensor's axes, named by the mask where it names them."""
    axes = tensor.axes
    for mask in masks:
        axes = fit_under(axes, mask, f"{show(tensor)}, which is")
    return axes


def softmax_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The operand's shape."""
    take_axes(attributes, operands[0])
    return Tensor("real", _masked(operands[0], operands[1:]))


def cross_entropy_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """A real for each row; the targets align with the rows and are below the row's size."""
    logits, targets = operands[0], operands[1]
    named = Tensor("real", _masked(logits, operands[2:]))
    kept, reduced = split_axes(named, take_axes(attributes, logits))
    size = volume(reduced)
    if size is None:
        raise Misfit("E3003", f"a row of {show(logits)} can't hold the axes `..` stands for", "name the row's axis")
    require_below(targets, size, f"the row {show_shape(reduced)} of {show(logits)}")
    return Tensor("real", fit_under(kept, targets, f"the rows of {show(logits)}, which are"))


ROWS = [
    Primitive(
        "softmax",
        FAMILY,
        (Operand("x"), MASK),
        on_tensors(softmax_rule),
        "exp(x) divided by its sum over the row; 0 where the mask, aligned with x, refuses.",
        (AXES,),
        positional=("x",),
    ),
    Primitive(
        "log_softmax",
        FAMILY,
        (Operand("x"), MASK),
        on_tensors(softmax_rule),
        "x − logsumexp(x) over the row; undefined where the mask, aligned with x, refuses.",
        (AXES,),
        positional=("x",),
    ),
    Primitive(
        "cross_entropy",
        FAMILY,
        (Operand("logits"), Operand("targets", "nat"), MASK),
        on_tensors(cross_entropy_rule),
        "logsumexp(row) − row[target] for each row; the targets align with the rows, the mask with the logits.",
        (AXES,),
        positional=("logits", "targets"),
    ),
]
