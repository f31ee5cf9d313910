"""Contractions: dot, matmul, ein and the derivatives of a dot. One node of Core serves them all; kinds are names."""

from __future__ import annotations

from collections.abc import Sequence

from presk.primitives.attributes import take_names, take_new
from presk.primitives.axes import axis_label
from presk.primitives.fitting import distinct, on_tensors
from presk.primitives.table import Attributes, Misfit, Operand, Primitive
from presk.shapes.align import align
from presk.shapes.types import Axis, AxisOrRun, Run, Shape, Tensor, show

FAMILY = "contractions"
RUN_LABEL = ".."
"""The label of a run in `ein`."""

OPERANDS = (Operand("a"), Operand("b"))


def own_labels(tensor: Tensor) -> tuple[str, ...]:
    """The operand's own axis names as labels of `ein`; a run is `..`. Raises Misfit (E3003) where one has no name."""
    labels: list[str] = []
    for index, axis in enumerate(tensor.axes):
        if isinstance(axis, Run):
            labels.append(RUN_LABEL)
        elif axis.name is None:
            raise Misfit(
                "E3003",
                f"ein goes by names, and {axis_label(tensor, index)} of {show(tensor)} has none",
                "give labels behind the operand, one for each axis: `a[i, j]`",
            )
        else:
            labels.append(axis.name)
    return tuple(labels)


def dot_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The last axis of x with the first of w; x's other axes, then w's."""
    x, w = operands
    _require_contractible("dot", x, len(x.axes) - 1, w, 0)
    return Tensor("real", distinct((*x.axes[:-1], *w.axes[1:])))


def matmul_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """`[.., I, K]` with `[.., K, J]`: the leading axes, which align, then I and J."""
    a, b = operands
    for operand in operands:
        if len(operand.explicit) < 2:
            raise Misfit(
                "E3003",
                f"matmul wants two last axes of {show(operand)}",
                "`dot(x, w)` contracts the last axis of x with the first of w",
            )
    _require_contractible("matmul", a, len(a.axes) - 1, b, len(b.axes) - 2)
    leading = align((a.axes[:-2], b.axes[:-2])).axes
    return Tensor("real", distinct((*leading, a.axes[-2], b.axes[-1])))


def ein_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The axes of `out`; a label means one axis in both operands; what isn't in `out` is summed."""
    outs = take_names(attributes, "out")
    labels = take_names(attributes, "labels")
    if len(outs) != 1 or len(labels) != 2:
        raise Misfit("E3002", "ein takes one list of output axes and a list of labels for each of two operands")
    known: dict[str, AxisOrRun] = {}
    for operand, names in zip(operands, labels, strict=True):
        _learn_labels(operand, names, known)
    out = outs[0]
    _require_distinct(out, "the output of ein")
    missing = [name for name in out if name not in known]
    if missing:
        shapes = " and ".join(
            f"{show(operand)} as [{', '.join(row)}]" for operand, row in zip(operands, labels, strict=True)
        )
        raise Misfit(
            "E3004",
            f"ein's output has an axis `{missing[0]}` that is in neither operand: {shapes}",
            "`broadcast_to[…](x)` repeats a value along a new axis",
        )
    if RUN_LABEL in known and (RUN_LABEL not in out or out[0] != RUN_LABEL):
        raise Misfit("E3003", "`..` must stay the first axis of ein's output", f"ein[{', '.join(('..', *out))}](…)")
    return Tensor("real", tuple(_output_axis(name, known[name]) for name in out))


def dot_left_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The new axes: the cotangent's that w lacks, then w's first."""
    cotangent, w = operands
    new = take_new(attributes)
    free = len(w.axes) - 1
    kept = cotangent.axes[: len(cotangent.axes) - free]
    _require_derivative("dot_vjp_l", new, (*kept, *w.axes[:1]), cotangent.axes[len(kept) :], w.axes[1:])
    return Tensor("real", distinct(new))


def dot_right_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The new axes: the last of x, then the cotangent's that x lacks."""
    x, cotangent = operands
    new = take_new(attributes)
    summed = len(x.axes) - 1
    _require_derivative(
        "dot_vjp_r",
        new,
        (*x.axes[-1:], *cotangent.axes[max(summed, 0) :]),
        x.axes[:-1],
        cotangent.axes[: max(summed, 0)],
    )
    return Tensor("real", distinct(new))


def _require_derivative(name: str, new: Shape, found: Shape, left: Shape, right: Shape) -> None:
    """The new axes have the sizes found, and those summed the same in both operands. There are no runs."""

    def sizes(axes: Shape) -> list[object]:
        return [axis.size if isinstance(axis, Axis) else axis for axis in axes]

    if sizes(new) != sizes(found) or sizes(left) != sizes(right) or not found:
        shown = ", ".join(str(each) for each in sizes(found))
        raise Misfit("E3003", f"{name} gives axes of the sizes {shown} here, and sums axes of equal sizes")


def _learn_labels(operand: Tensor, names: Sequence[str], known: dict[str, AxisOrRun]) -> None:
    """Each label's axis, as the first operand that has it says; a second must have the same size."""
    if len(names) != len(operand.axes):
        raise Misfit("E3003", f"ein has {len(names)} labels [{', '.join(names)}] for the axes of {show(operand)}")
    _require_distinct(names, f"the labels of {show(operand)}")
    for name, axis in zip(names, operand.axes, strict=True):
        if (name == RUN_LABEL) != isinstance(axis, Run):
            raise Misfit(
                "E3003", f"ein's labels [{', '.join(names)}] don't fit {show(operand)}: `..` labels a run, and only it"
            )
        met = known.setdefault(name, axis)
        if isinstance(met, Run) or isinstance(axis, Run):
            if met != axis:
                raise Misfit("E3003", "the two operands of ein have different runs `..`")
        elif met.size != axis.size:
            raise Misfit(
                "E3003", f"axis `{name}` of ein has size {met.size} in one operand and {axis.size} in {show(operand)}"
            )


def _output_axis(name: str, axis: AxisOrRun) -> AxisOrRun:
    return axis if isinstance(axis, Run) else Axis(name, axis.size)


def _require_distinct(names: Sequence[str], what: str) -> None:
    for at, name in enumerate(names):
        if name in names[:at]:
            raise Misfit("E3003", f"`{name}` occurs twice in {what}")


def _require_contractible(name: str, a: Tensor, a_at: int, b: Tensor, b_at: int) -> None:
    """The two axes have one size, and one name unless one of them has none."""
    for operand, at in ((a, a_at), (b, b_at)):
        if not 0 <= at < len(operand.axes):
            raise Misfit(
                "E3003", f"{name} contracts an axis, and {show(operand)} has none", "`x * y` multiplies by a scalar"
            )
        if isinstance(operand.axes[at], Run):
            raise Misfit(
                "E3003", f"which axis of {show(operand)} {name} contracts depends on how many axes `..` stands for"
            )
    left, right = a.axes[a_at], b.axes[b_at]
    if not isinstance(left, Axis) or not isinstance(right, Axis):
        return
    what = f"{axis_label(a, a_at)} of {show(a)} with {axis_label(b, b_at)} of {show(b)}"
    if left.size != right.size:
        raise Misfit("E3003", f"{name} contracts {what}, and the sizes are {left.size} and {right.size}")
    if left.name is not None and right.name is not None and left.name != right.name:
        raise Misfit(
            "E3003",
            f"{name} contracts {what}, and the names differ",
            f"`rename(x, {left.name} = {right.name})` if the same axis is meant",
        )


ROWS = [
    Primitive(
        "dot",
        FAMILY,
        (Operand("x"), Operand("w")),
        on_tensors(dot_rule),
        "The last axis of x with the first of w; x's other axes, then w's.",
        product=True,
    ),
    Primitive(
        "matmul",
        FAMILY,
        OPERANDS,
        on_tensors(matmul_rule),
        "[.., I, K] with [.., K, J]: a product of matrices for every index of the leading axes, which align.",
        product=True,
    ),
    Primitive(
        "ein",
        FAMILY,
        OPERANDS,
        on_tensors(ein_rule),
        "Contraction by names: axes in the brackets stay, in that order; all others are summed. "
        "Labels behind an operand stand for its own names.",
        new_axes="labels",
        product=True,
    ),
    Primitive(
        "dot_vjp_l",
        FAMILY,
        (Operand("cotangent"), Operand("w")),
        on_tensors(dot_left_rule),
        "What a dot's derivative gives its first operand, whose axes stand in the brackets: the cotangent's last axes "
        "with those of w behind its first.",
        new_axes="sizes",
        internal=True,
        product=True,
    ),
    Primitive(
        "dot_vjp_r",
        FAMILY,
        (Operand("x"), Operand("cotangent")),
        on_tensors(dot_right_rule),
        "What a dot's derivative gives its second operand, whose axes stand in the brackets: the axes of x before its "
        "last, one K, with the cotangent's first.",
        new_axes="sizes",
        internal=True,
        product=True,
    ),
]
