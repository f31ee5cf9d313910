"""What the shape rules share: operands as tensors, bounds of nats, and operands that must fit under a leading one."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from presk.primitives.table import Attributes, Misfit, Rule
from presk.shapes.align import Misaligned, align, check_distinct, match_axes
from presk.shapes.poly import Poly, number, provably_at_most
from presk.shapes.types import Axis, AxisOrRun, Run, Shape, Tensor, Type, show, show_axis

TensorRule = Callable[[tuple[Tensor, ...], Attributes], Type]


def on_tensors(rule: TensorRule) -> Rule:
    """The rule of a primitive all of whose operands are tensors."""

    @wraps(rule)
    def checked(operands: tuple[Type, ...], attributes: Attributes) -> Type:
        return rule(tuple(as_tensor(operand) for operand in operands), attributes)

    return checked


def as_tensor(operand: Type) -> Tensor:
    """The operand, which must be a tensor. Raises Misfit (E3001)."""
    if isinstance(operand, Tensor):
        return operand
    raise Misfit("E3001", f"a tensor is wanted here, not {show(operand)}", "take one of its fields")


def show_shape(axes: Shape) -> str:
    """The axes in brackets."""
    return f"[{', '.join(show_axis(axis) for axis in axes)}]"


def distinct(axes: Shape) -> Shape:
    """The axes, whose names must differ. Raises Misaligned."""
    check_distinct(axes)
    return axes


def volume(axes: Shape) -> Poly | None:
    """The number of elements, or None where a run is among the axes."""
    product = number(1)
    for axis in axes:
        if isinstance(axis, Run):
            return None
        product = product * axis.size
    return product


# Bounds of nats


def bound_of(tensor: Tensor) -> Poly:
    """The bound of a tensor of nats. Raises Misfit (E3001) where it has none."""
    if tensor.bound is None:
        raise Misfit("E3001", f"a nat with a bound is wanted here, not {show(tensor)}", "`nat < N` is a run-time nat")
    return tensor.bound


def joined_bound(bounds: list[Poly]) -> Poly:
    """A bound for values that come from any of several tensors: the provably largest, else A + B − 1."""
    joined = bounds[0]
    for bound in bounds[1:]:
        if provably_at_most(joined, bound):
            joined = bound
        elif not provably_at_most(bound, joined):
            joined = joined + bound - number(1)
    return joined


def require_below(index: Tensor, size: Poly, what: str) -> None:
    """Every value of `index` must be below `size`, the size of `what`. Raises Misfit (E3007).

    It must be provable; only a number against a size that isn't bound yet is left to binding, which asks again.
    """
    bound = bound_of(index)
    if provably_at_most(bound, size):
        return
    left_to_binding = bound.constant is not None and size.constant is None
    if left_to_binding and not provably_at_most(size + number(1), bound):
        return
    raise Misfit(
        "E3007",
        f"{show(index)} can't index {what}: its values may reach {bound - number(1)}, past the size {size}",
        f"give the index the bound of the axis: `nat < {size}`",
    )


# Operands under a leading one


def fit_under(leading: Shape, operand: Tensor, what: str) -> Shape:
    """The leading axes, named by those of `operand` where they have no name; the operand aligns with them and adds
    none.

    Raises Misaligned, or Misfit where the operand would lead. `what` names the leading axes in that message.
    """
    alignment = align((leading, operand.axes))
    if alignment.places[0] != tuple(range(len(leading))) or len(alignment.axes) != len(leading):
        raise Misfit(
            "E3003",
            f"{show(operand)} has more axes than {what} {show_shape(leading)}",
            "it may repeat, but add no axis",
        )
    return alignment.axes


def match_same_rank(leading: Shape, operand: Tensor, free: int | None) -> tuple[int, ...]:
    """For each axis of `operand` the leading axis it meets; the ranks are equal, sizes too except at index `free`.

    Raises Misaligned or Misfit (E3003).
    """
    if len(leading) != len(operand.axes):
        raise Misfit(
            "E3003",
            f"{show(operand)} has not as many axes as {show_shape(leading)}",
            "`broadcast_to[…](x)` repeats a value along new axes",
        )
    places = match_axes(_sizeless(leading), _sizeless(operand.axes))
    for place, axis in zip(places, operand.axes, strict=True):
        mine = leading[place]
        if place != free and isinstance(mine, Axis) and isinstance(axis, Axis) and mine.size != axis.size:
            name = mine.name or axis.name
            which = f"axis `{name}`" if name else "an axis"
            raise Misaligned(
                f"{which} has size {mine.size} in {show_shape(leading)} and {axis.size} in {show(operand)}"
            )
    return places


def named_by(leading: Shape, operand: Tensor, places: tuple[int, ...]) -> Shape:
    """The leading axes, an unnamed one named as the operand's axis that met it."""
    axes: list[AxisOrRun] = list(leading)
    for place, axis in zip(places, operand.axes, strict=True):
        mine = axes[place]
        if isinstance(mine, Axis) and isinstance(axis, Axis) and mine.name is None:
            axes[place] = Axis(axis.name, mine.size)
    return tuple(axes)


def replaced(axes: Shape, index: int, *by: AxisOrRun) -> Shape:
    """The axes with the one at `index` replaced by those given."""
    return (*axes[:index], *by, *axes[index + 1 :])


def _sizeless(axes: Shape) -> Shape:
    one = number(1)
    return tuple(Axis(axis.name, one) if isinstance(axis, Axis) else axis for axis in axes)
