"""Layout primitives on one operand: axes split, merged, reordered, renamed, cut, padded, repeated and windowed."""

from __future__ import annotations

from presk.primitives.attributes import take_axis, take_names, take_nat, take_new, take_order, take_real
from presk.primitives.axes import axis_label
from presk.primitives.fitting import bound_of, distinct, joined_bound, on_tensors, replaced, show_shape, volume
from presk.primitives.new_axes import quotient
from presk.primitives.table import Attributes, Keyword, Misfit, NewAxes, Operand, Primitive, Rule
from presk.shapes import constants
from presk.shapes.align import align
from presk.shapes.poly import Poly, number, provably_at_most
from presk.shapes.types import Axis, AxisOrRun, Tensor, show
from presk.text.diagnostics import did_you_mean

FAMILY = "layout"
AXIS = Keyword("axis", "axis", required=True)
LAST = Keyword("axis", "axis", default=-1)
X = (Operand("x", "any"),)


def like(x: Tensor, axes: tuple[AxisOrRun, ...]) -> Tensor:
    """A tensor of x's kind and bound with these axes, whose names must differ."""
    return Tensor(x.kind, distinct(axes), x.bound)


def split_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The new axes in the axis's place; their sizes multiply to its size."""
    x = operands[0]
    at, axis = take_axis(attributes, x)
    new = take_new(attributes)
    if not new:
        raise Misfit("E3002", "split needs new axes in brackets", "such as `split[heads: H, hd](x, axis = -1)`")
    size = volume(new)
    if size != axis.size:
        raise Misfit(
            "E3003", f"{axis_label(x, at)} of {show(x)} has size {axis.size}, and {show_shape(new)} has {size or '..'}"
        )
    return like(x, replaced(x.axes, at, *new))


def merge_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The new axis where the first of the merged stood; they must stand side by side, in this order."""
    x = operands[0]
    indices = take_order(attributes, x, "axes")
    new = take_new(attributes)
    if not indices or list(indices) != list(range(indices[0], indices[0] + len(indices))):
        given = ", ".join(axis_label(x, index) for index in indices) or "none"
        raise Misfit(
            "E3003",
            f"merge takes axes of {show(x)} that stand side by side, in their order; given: {given}",
            "bring them together first: `transpose(x, (…))`",
        )
    size = volume(tuple(x.axes[index] for index in indices))
    if len(new) != 1 or volume(new) != size or size is None:
        raise Misfit("E3003", f"merge makes one axis of size {size or '..'}, not {show_shape(new)}")
    return like(x, (*x.axes[: indices[0]], *new, *x.axes[indices[-1] + 1 :]))


def transpose_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """All axes in the order given; a run stays first."""
    x = operands[0]
    order = take_order(attributes, x, "order")
    if sorted(order) != list(range(len(x.axes))):
        raise Misfit("E3003", f"transpose wants all axes of {show(x)}, each once", "such as `transpose(x, (b, a))`")
    return like(x, tuple(x.axes[index] for index in order))


def rename_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """Axes by their new names; all at once, so that two may be swapped."""
    x = operands[0]
    known = [axis.name for axis in x.explicit if axis.name is not None]
    new: dict[str, str] = {}
    for pair in take_names(attributes, "names"):
        if len(pair) != 2:
            raise Misfit("E3002", "rename takes pairs of names: `rename(x, a = b)`")
        old = pair[0]
        if old not in known:
            raise Misfit("E3004", f"{show(x)} has no axis `{old}`", did_you_mean(old, known))
        if old in new:
            raise Misfit("E3002", f"axis `{old}` is renamed twice")
        new[old] = pair[1]
    if not new:
        raise Misfit("E3002", "rename takes at least one pair of names", "`rename(x, a = b)`")
    return like(
        x,
        tuple(
            Axis(new.get(axis.name or "", axis.name), axis.size) if isinstance(axis, Axis) else axis for axis in x.axes
        ),
    )


def slice_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The axis with `stop − start` positions."""
    x = operands[0]
    at, axis = take_axis(attributes, x)
    start, stop = take_nat(attributes, "start"), take_nat(attributes, "stop")
    one = number(1)
    if provably_at_most(stop + one, start) or provably_at_most(axis.size + one, stop):
        raise Misfit(
            "E3020",
            f"the slice {start}..{stop} is not within {axis_label(x, at)} of {show(x)}, which has size {axis.size}",
        )
    return like(x, replaced(x.axes, at, Axis(axis.name, stop - start)))


def pad_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The axis longer by `before + after`."""
    x = operands[0]
    at, axis = take_axis(attributes, x)
    size = axis.size + take_nat(attributes, "before") + take_nat(attributes, "after")
    axes = replaced(x.axes, at, Axis(axis.name, size))
    value = take_real(attributes, "value")
    whole = constants.as_size(value)
    if x.kind == "real":
        return Tensor("real", axes)
    if whole is None or (whole.constant is not None and whole.constant < 0):
        raise Misfit(
            "E3001", f"{show(x)} can't be padded with {constants.show(value)}, which is not a whole number from 0"
        )
    if x.kind == "nat":
        return Tensor("nat", axes, joined_bound([bound_of(x), whole + number(1)]))
    if whole not in (number(0), number(1)):
        raise Misfit("E3001", f"{show(x)} can be padded with 0 (false) or 1 (true), not {constants.show(value)}")
    return Tensor("bool", axes)


def flip_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The operand's own shape."""
    take_axis(attributes, operands[0])
    return operands[0]


def split_heads_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The last axis as axes `heads` and `hd`."""
    x = operands[0]
    heads = take_nat(attributes, "heads")
    if not x.explicit:
        raise Misfit("E3003", f"split_heads splits the last axis, and {show(x)} has none that is known")
    at = len(x.axes) - 1
    size = quotient(x.explicit[-1].size, heads, f"{axis_label(x, at)} of {show(x)}")
    return like(x, replaced(x.axes, at, Axis("heads", heads), Axis("hd", size)))


def merge_heads_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The last two axes, `heads` and `hd` where they have names, as one without a name."""
    x = operands[0]
    last = x.explicit[-2:]
    if [axis.name or wanted for axis, wanted in zip(last, ("heads", "hd"), strict=False)] != ["heads", "hd"]:
        raise Misfit(
            "E3003",
            f"merge_heads merges the last two axes, `heads` and `hd`, and {show(x)} doesn't end in them",
            "`transpose(x, (…))` brings them there, `merge(x, axes = (a, b))` merges any",
        )
    return like(x, (*x.axes[:-2], Axis(None, last[0].size * last[1].size)))


def broadcast_to_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The new axes, among which x's are found by alignment."""
    x = operands[0]
    new = distinct(take_new(attributes))
    alignment = align((new, x.axes))
    if alignment.places[0] != tuple(range(len(new))) or len(alignment.axes) != len(new):
        raise Misfit("E3003", f"broadcast_to can't place {show(x)} in {show_shape(new)}")
    return Tensor(x.kind, alignment.axes, x.bound)


def windows_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """The axis with the number of positions of the window, whose axis comes last."""
    x = operands[0]
    at, axis = take_axis(attributes, x)
    new = take_new(attributes)
    if len(new) != 1 or not isinstance(new[0], Axis):
        raise Misfit(
            "E3002", f"windows takes one new axis, not {show_shape(new)}", "such as `windows[ky: 3](x, axis = y)`"
        )
    stride, dilation = _positive(attributes, "stride"), _positive(attributes, "dilation")
    one = number(1)
    if new[0].size.constant == 0:
        raise Misfit("E3020", "a window must have at least one element")
    reach = dilation * (new[0].size - one) + one
    if provably_at_most(axis.size + one, reach):
        raise Misfit(
            "E3020",
            f"{axis_label(x, at)} of {show(x)} has size {axis.size}, and a window reaches over {reach}",
            "`pad(x, axis = a, before = n, after = n)` makes it longer",
        )
    positions = (axis.size - reach) // stride + one
    return like(x, (*replaced(x.axes, at, Axis(axis.name, positions)), new[0]))


def _positive(attributes: Attributes, name: str) -> Poly:
    value = take_nat(attributes, name)
    if value == number(0):
        raise Misfit("E3020", f"{name} must be at least 1")
    return value


def _row(
    name: str,
    rule: Rule,
    doc: str,
    keywords: tuple[Keyword, ...] = (),
    new_axes: NewAxes = "none",
    positional: tuple[str, ...] = (),
) -> Primitive:
    return Primitive(name, FAMILY, X, rule, doc, keywords, new_axes, positional=positional)


ROWS = [
    _row(
        "split",
        on_tensors(split_rule),
        "One axis as several, row-major, in its place; a bare name takes the size the others leave.",
        (LAST,),
        "sizes_or_label",
    ),
    _row(
        "merge",
        on_tensors(merge_rule),
        "Neighbouring axes as one, row-major, where the first stood; without brackets it has no name.",
        (Keyword("axes", "order", required=True),),
        "labels",
    ),
    _row(
        "transpose",
        on_tensors(transpose_rule),
        "The axes in another order.",
        (Keyword("order", "order", required=True),),
        positional=("x", "order"),
    ),
    _row(
        "rename",
        on_tensors(rename_rule),
        "Axes under new names: rename(x, a = b).",
        (Keyword("names", "names", required=True),),
    ),
    _row(
        "slice",
        on_tensors(slice_rule),
        "The positions from start up to, not including, stop of an axis; written x[a = start..stop].",
        (AXIS, Keyword("start", "nat", required=True), Keyword("stop", "nat", required=True)),
    ),
    _row(
        "pad",
        on_tensors(pad_rule),
        "An axis made longer by a constant at its ends.",
        (
            AXIS,
            Keyword("before", "nat", default=0),
            Keyword("after", "nat", default=0),
            Keyword("value", "real", default=constants.rational(0)),
        ),
    ),
    _row("flip", on_tensors(flip_rule), "An axis in reverse.", (AXIS,)),
    _row(
        "split_heads",
        on_tensors(split_heads_rule),
        "The last axis as axes `heads` and `hd`.",
        (Keyword("heads", "nat", required=True),),
        positional=("x", "heads"),
    ),
    _row("merge_heads", on_tensors(merge_heads_rule), "The last two axes, `heads` and `hd`, as one without a name."),
    _row(
        "broadcast_to",
        on_tensors(broadcast_to_rule),
        "x repeated along the new axes it doesn't have; its own are found by name, or from the right.",
        new_axes="sizes",
    ),
    _row(
        "windows",
        on_tensors(windows_rule),
        "Every window of an axis: the axis counts positions, the window's own axis comes last: "
        "element [p, k] is x[p·stride + k·dilation].",
        (AXIS, Keyword("stride", "nat", default=1), Keyword("dilation", "nat", default=1)),
        "sizes",
    ),
]
