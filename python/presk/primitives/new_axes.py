"""New axes whose size follows from the operands: a label of `stack` or `merge`, and at most one axis of `split`.

Before they are settled such an axis has the size OPEN; `call.normalize` settles it, so that a rule, and PSK-Core, see
sizes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from presk.primitives.attributes import take_axis, take_order
from presk.primitives.axes import axis_label
from presk.primitives.fitting import volume
from presk.primitives.table import Attributes, Misfit
from presk.shapes.poly import Poly, number, variable
from presk.shapes.types import Axis, Shape, Tensor, show

OPEN = variable("?")
"""The size of a new axis of which only the name is given. No program can write this variable."""


def is_open(axis: object) -> bool:
    """Whether the axis still waits for its size."""
    return isinstance(axis, Axis) and axis.size == OPEN


def quotient(size: Poly, divisor: Poly, what: str) -> Poly:
    """The exact quotient of two sizes. Raises Misfit: E4003 where bound sizes leave a remainder, E4006 for 0."""
    if not divisor.terms:
        raise Misfit("E4006", f"{what} of size {size} can't be divided by 0")
    result = size / divisor
    if result.constant is not None and result.whole is None:
        raise Misfit(
            "E4003", f"{what} has size {size}, which {divisor} does not divide", "`/` between sizes must be exact"
        )
    return result


def settle(name: str, operands: Sequence[Tensor], attributes: Attributes, new: Shape) -> Shape:
    """The new axes with every size known. Raises Misfit."""
    rule = SETTLED.get(name)
    return rule(operands, attributes, new) if rule is not None else new


def _settle_split(operands: Sequence[Tensor], attributes: Attributes, new: Shape) -> Shape:
    at, axis = take_axis(attributes, operands[0])
    waiting = [index for index, each in enumerate(new) if is_open(each)]
    if not waiting:
        return new
    if len(waiting) > 1:
        raise Misfit("E3002", "at most one new axis of split may be a bare name", "give sizes: `split[h: H, d](x)`")
    given = volume(tuple(each for each in new if not is_open(each)))
    if given is None:
        raise Misfit("E3003", "split can't make the axes `..`")
    size = quotient(axis.size, given, f"{axis_label(operands[0], at)} of {show(operands[0])}")
    return tuple(Axis(each.name, size) if isinstance(each, Axis) and is_open(each) else each for each in new)


def _settle_merge(operands: Sequence[Tensor], attributes: Attributes, new: Shape) -> Shape:
    tensor = operands[0]
    merged = volume(tuple(tensor.axes[at] for at in take_order(attributes, tensor, "axes")))
    if merged is None:
        raise Misfit("E3003", f"merge can't take the axes `..` of {show(tensor)}")
    return _sized(new or (Axis(None, OPEN),), merged)


def _settle_stack(operands: Sequence[Tensor], attributes: Attributes, new: Shape) -> Shape:
    return _sized(new or (Axis(None, OPEN),), number(len(operands)))


def _sized(new: Shape, size: Poly) -> Shape:
    return tuple(Axis(each.name, size) if isinstance(each, Axis) and is_open(each) else each for each in new)


SETTLED: dict[str, Callable[[Sequence[Tensor], Attributes, Shape], Shape]] = {
    "split": _settle_split,
    "merge": _settle_merge,
    "stack": _settle_stack,
}
