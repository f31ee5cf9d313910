"""Layout primitives, which move elements, and constants, which have no operands.

What keeps the row-major order gives its operand's value as it is; the rest picks elements by an order made when
planning.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from flint import arb

from presk.exact.context import Frame
from presk.exact.layouts import Flat, Picker, offsets, permuted, pick, picker, repeated, strides
from presk.exact.reals import Reals, joined
from presk.exact.rules.gathers import like
from presk.exact.rules.task import Compute, Task, Value, entries, volume
from presk.primitives.fitting import match_same_rank
from presk.shapes import constants
from presk.shapes.align import align
from presk.shapes.types import TupleOf
from presk.text.diagnostics import InternalError


def plan_view(task: Task) -> Compute:
    """What keeps the row-major order."""
    return same


def same(frame: Frame, x: Value) -> Value:
    """The operand's value as it is."""
    return x


def _picking(chosen: Picker) -> Compute:
    if chosen is None:
        return same

    def compute(frame: Frame, x: Value) -> Value:
        return like(x, chosen(entries(x)))

    return compute


def plan_transpose(task: Task) -> Compute:
    """transpose"""
    order = task.axes(name="order")
    sizes = task.sizes(0)
    chosen = permuted(sizes, order)
    if chosen is None or len(sizes) != 2:
        return _picking(chosen)

    def compute(frame: Frame, x: Value) -> Value:
        blocks = x.blocks if isinstance(x, Reals) else None
        if blocks is None or len(blocks) != 1 or blocks[0].nrows() != sizes[0] or blocks[0].ncols() != sizes[1]:
            return like(x, chosen(entries(x)))
        return Reals(blocks=(blocks[0].transpose(),), settled=x.settled, age=x.age)

    return compute


def plan_broadcast(task: Task) -> Compute:
    """broadcast_to"""
    new = task.output
    places = align([new.axes, task.tensor(0).axes]).places[1]
    return _picking(repeated(new.sizes, places))


def _along(task: Task, order: list[int]) -> Compute:
    """Positions `order` of one axis."""
    sizes = task.sizes(0)
    axis = task.axis()
    steps = strides(sizes)
    before = offsets(sizes[:axis], steps[:axis])
    behind = range(steps[axis])
    chosen = [base + at * steps[axis] + rest for base in before for at in order for rest in behind]
    return _picking(picker(chosen, volume(sizes)))


def plan_slice(task: Task) -> Compute:
    """slice"""
    return _along(task, list(range(task.whole("start"), task.whole("stop"))))


def plan_flip(task: Task) -> Compute:
    """flip"""
    return _along(task, list(range(task.sizes(0)[task.axis()] - 1, -1, -1)))


def plan_windows(task: Task) -> Compute:
    """windows: element [p, k] is x[p·stride + k·dilation]."""
    sizes = task.sizes(0)
    axis = task.axis()
    out = task.output.sizes
    steps = list(strides(sizes))
    step = steps[axis]
    steps[axis] = step * task.whole("stride", 1)
    return _picking(picker(offsets(out, [*steps, step * task.whole("dilation", 1)]), volume(sizes)))


def plan_pad(task: Task) -> Compute:
    """pad"""
    sizes = task.sizes(0)
    axis = task.axis()
    before, after = task.whole("before", 0), task.whole("after", 0)
    inner = volume(sizes[axis:])
    behind = volume(sizes[axis + 1 :])
    outer = volume(sizes[:axis])
    kind = task.tensor(0).kind
    value = task.real("value", 0)
    size = constants.as_size(value)
    whole = None if size is None else size.whole

    def compute(frame: Frame, x: Value) -> Value:
        if kind == "real":
            filling = frame.run.constant(value)
        elif whole is None:
            raise InternalError(f"pad at {task.site.label} with a value that is no {kind}")
        else:
            filling = whole if kind == "nat" else bool(whole)
        head, tail = [filling] * (before * behind), [filling] * (after * behind)
        flat = entries(x)
        padded: Flat = []
        for at in range(outer):
            padded += head
            padded += flat[at * inner : (at + 1) * inner]
            padded += tail
        return like(x, padded)

    return compute


def plan_concat(task: Task) -> Compute:
    """concat"""
    first = task.tensor(0)
    axis = task.axis()
    outer = volume(first.sizes[:axis])
    orders: list[Picker] = []
    lengths: list[int] = []
    for at in range(len(task.operands)):
        operand = task.tensor(at)
        places = match_same_rank(first.axes, operand, free=axis)
        orders.append(permuted(operand.sizes, [places.index(place) for place in range(len(places))]))
        lengths.append(volume(operand.sizes) // outer if outer else 0)

    def compute(frame: Frame, *values: Value) -> Value:
        if len(values) == 1:
            return values[0]
        flats = [pick(order, entries(value)) for order, value in zip(orders, values, strict=True)]
        pieces = [
            flat[at * length : (at + 1) * length]
            for at in range(outer)
            for flat, length in zip(flats, lengths, strict=True)
        ]
        return _like_all(values, list(chain.from_iterable(pieces)))

    return compute


def plan_stack(task: Task) -> Compute:
    """stack"""
    first = task.tensor(0)
    orders: list[Picker] = []
    for at in range(len(task.operands)):
        operand = task.tensor(at)
        places = match_same_rank(first.axes, operand, free=None)
        orders.append(permuted(operand.sizes, [places.index(place) for place in range(len(places))]))

    def compute(frame: Frame, *values: Value) -> Value:
        flats = [pick(order, entries(value)) for order, value in zip(orders, values, strict=True)]
        return _like_all(values, list(chain.from_iterable(flats)))

    return compute


def _like_all(values: tuple[Value, ...], flat: Flat) -> Value:
    reals = [value for value in values if isinstance(value, Reals)]
    if not reals:
        return flat
    return Reals(flat, settled=all(each.settled for each in reals), age=max(each.age for each in reals))


def plan_unstack(task: Task) -> Compute:
    """unstack"""
    sizes = task.sizes(0)
    axis = task.axis()
    order = (axis, *(at for at in range(len(sizes)) if at != axis))
    gather = permuted(sizes, order)
    count = len(task.result.items) if isinstance(task.result, TupleOf) else sizes[axis]

    def compute(frame: Frame, x: Value) -> Value:
        first = x if gather is None else like(x, gather(entries(x)))
        return tuple(split(first, count))

    return compute


def split(value: Value, count: int) -> list[Value]:
    """The `count` slices of a tensor along its first axis."""
    if isinstance(value, Reals):
        return list(value.parts(count))
    size = len(value) // count if count else 0
    return [value[at * size : (at + 1) * size] for at in range(count)]


def stacked(values: list[Value]) -> Value:
    """Slices along a new first axis, as one value. There must be one at least."""
    if isinstance(values[0], Reals):
        return joined(values)
    return list(chain.from_iterable(values))


# Constants


def _fixed(value: Value) -> Compute:
    """A value that is the same in every evaluation."""

    def compute(frame: Frame) -> Value:
        return value

    return compute


def _constant(number: int) -> Callable[[Task], Compute]:
    """zeros and ones"""

    def plan(task: Task) -> Compute:
        return _fixed(Reals([arb(number)] * volume(task.output.sizes), settled=True, age=0))

    return plan


def plan_positions(task: Task) -> Compute:
    """positions"""
    return _fixed(list(range(volume(task.output.sizes))))


def plan_causal_mask(task: Task) -> Compute:
    """causal_mask: k ≤ q."""
    rows, columns = task.output.sizes
    return _fixed([k <= q for q in range(rows) for k in range(columns)])


def plan_eye(task: Task) -> Compute:
    """eye"""
    rows, columns = task.output.sizes
    zero, one = arb(0), arb(1)
    return _fixed(Reals([one if i == j else zero for i in range(rows) for j in range(columns)], settled=True, age=0))


def plan_full(task: Task) -> Compute:
    """full"""
    length = volume(task.output.sizes)

    def compute(frame: Frame, c: Value) -> Value:
        return like(c, entries(c) * length)

    return compute


PLANNERS: dict[str, Callable[[Task], Compute]] = {
    "split": plan_view,
    "merge": plan_view,
    "rename": plan_view,
    "split_heads": plan_view,
    "merge_heads": plan_view,
    "stop_gradient": plan_view,
    "transpose": plan_transpose,
    "broadcast_to": plan_broadcast,
    "slice": plan_slice,
    "flip": plan_flip,
    "windows": plan_windows,
    "pad": plan_pad,
    "concat": plan_concat,
    "stack": plan_stack,
    "unstack": plan_unstack,
    "positions": plan_positions,
    "causal_mask": plan_causal_mask,
    "eye": plan_eye,
    "zeros": _constant(0),
    "ones": _constant(1),
    "full": plan_full,
}
