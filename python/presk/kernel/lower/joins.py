"""Tensors joined, taken apart, made longer, and updated: copies whose loops know at once where each piece goes.

Called by `table`.
"""

from __future__ import annotations

from collections.abc import Sequence

from presk.kernel.lower import own
from presk.kernel.lower.choices import split
from presk.kernel.lower.elementwise import either
from presk.kernel.lower.index import Position, at, plus
from presk.kernel.lower.reader import Reader
from presk.kernel.lower.task import Task
from presk.kernel.lowered import Launch, Lowered
from presk.kernel.nodes import Binary, Call, Expression, Integer, Truth
from presk.primitives.attributes import take_real
from presk.primitives.fitting import match_same_rank
from presk.shapes import constants
from presk.shapes.align import align
from presk.text.diagnostics import InternalError

PIECES = 64
"""Pieces that one kernel of an unstack writes."""


def lower_concat(task: Task) -> Lowered:
    """concat: each operand at its offset along the axis."""
    own.check(task)
    axis = task.whole(task.root, "axis")
    first = task.tensor(own.operand(task, 0))
    reader = own.begin(task)
    with reader.code.loops(first.sizes[:axis]) as outer:
        offset = 0
        for number in range(len(task.apply(task.root).operands)):
            tensor = task.tensor(own.operand(task, number))
            places = match_same_rank(first.axes, tensor, free=axis)
            length = tensor.sizes[places.index(axis)]
            _copy(reader, number, places, outer, (length, *first.sizes[axis + 1 :]), offset)
            offset += length
    return own.finished(task, reader)


def _copy(
    reader: Reader,
    number: int,
    places: Sequence[int],
    outer: Sequence[Position],
    sizes: Sequence[int],
    offset: int,
) -> None:
    """An operand, whose axis k is the result's `places[k]`, stored from an offset on along the first inner axis."""
    code = reader.code
    with code.loops(sizes) as inner:
        found = (*outer, *inner)
        value = reader.value(own.operand(reader.task, number), [found[each] for each in places])
        along = plus(inner[0].index, Integer(offset))
        index = [each.index for each in outer] + [along] + [each.index for each in inner[1:]]
        code.store(code.output(), index, value)


def lower_stack(task: Task) -> Lowered:
    """stack: the operands along a new first axis."""
    own.check(task)
    first = task.tensor(own.operand(task, 0))
    reader = own.begin(task)
    with reader.code.loops(first.sizes) as found:
        for number in range(len(task.apply(task.root).operands)):
            places = match_same_rank(first.axes, task.tensor(own.operand(task, number)), free=None)
            value = reader.value(own.operand(task, number), [found[each] for each in places])
            reader.code.store(reader.code.output(), [Integer(number), *(each.index for each in found)], value)
    return own.finished(task, reader)


def lower_unstack(task: Task) -> Lowered:
    """unstack: the slices along an axis, each in a buffer of its own."""
    own.check(task)
    axis = task.whole(task.root, "axis")
    x = task.tensor(own.operand(task, 0))
    sizes = [size for at_, size in enumerate(x.sizes) if at_ != axis]
    outputs = own.stored(task)
    launches: list[Launch] = []
    for start in range(0, len(outputs), PIECES):
        reader = own.begin(task, outputs[start : start + PIECES])
        with reader.code.loops(sizes) as found:
            for number in range(len(reader.code.outputs)):
                place = at(Integer(start + number), x.sizes[axis])
                value = reader.value(own.operand(task, 0), (*found[:axis], place, *found[axis:]))
                reader.code.store(reader.code.output(number), [each.index for each in found], value)
        launches.append(split(task, reader.code.launch()))
    return Lowered(tuple(launches), tuple(outputs))


def lower_pad(task: Task) -> Lowered:
    """pad: a constant before and behind the operand."""
    own.check(task)
    axis = task.whole(task.root, "axis")
    x = task.tensor(own.operand(task, 0))
    before, behind = task.whole(task.root, "before"), task.whole(task.root, "after")
    reader = own.begin(task)
    code, rest = reader.code, x.sizes[axis + 1 :]
    filling = _filling(task, reader)
    with code.loops(x.sizes[:axis]) as outer:
        for length, offset in ((before, 0), (behind, before + x.sizes[axis])):
            if length:
                with code.loops((length, *rest)) as inner:
                    along = plus(inner[0].index, Integer(offset))
                    index = [each.index for each in outer] + [along] + [each.index for each in inner[1:]]
                    code.store(code.output(), index, filling)
        _copy(reader, 0, range(len(x.axes)), outer, x.sizes[axis:], before)
    return own.finished(task, reader)


def _filling(task: Task, reader: Reader) -> Expression:
    """The constant a pad fills with, of the tensor's kind."""
    value = take_real(dict(task.apply(task.root).attributes), "value")
    kind = task.result(task.root).kind
    if kind == "real":
        return reader.reals.constant(value)
    size = constants.as_size(value)
    if size is None or size.whole is None:
        raise InternalError(f"{task.site} pads {kind}s with {constants.show(value)}")
    return Integer(size.whole) if kind == "nat" else Truth(size.whole != 0)


# Updates


def lower_update_index(task: Task) -> Lowered:
    """update_index: x with one slice replaced, at a run-time index; where x isn't needed any more, the slice alone."""
    axis = task.whole(task.root, "axis")
    x, value = (task.tensor(own.operand(task, each)) for each in (0, 1))
    slice_axes = (*x.axes[:axis], *x.axes[axis + 1 :])
    places = align((slice_axes, value.axes)).places[1]

    def new(reader: Reader, found: Sequence[Position]) -> Expression:
        """v's element at a position of the slice."""
        return reader.value(own.operand(task, 1), [found[each] for each in places])

    def element(reader: Reader, found: list[Position]) -> Expression:
        hit = Binary("==", found[axis].index, reader.value(own.operand(task, 2), ()))
        chosen = new(reader, (*found[:axis], *found[axis + 1 :]))
        old = reader.value(own.operand(task, 0), found)
        if x.kind == "bool":
            return either(reader.code.shared("bool", hit), chosen, old)
        return Call("select", (hit, chosen, old))

    def write(reader: Reader) -> None:
        code = reader.code
        with code.loops([size for at_, size in enumerate(x.sizes) if at_ != axis]) as found:
            place = at(reader.value(own.operand(task, 2), ()), x.sizes[axis])
            index = [each.index for each in (*found[:axis], place, *found[axis:])]
            code.store(code.output(), index, new(reader, found))

    whole = own.by_element(task, element)
    return Lowered(whole.launches, whole.stored, in_place=own.overwriting(task, write))


def lower_update_slice(task: Task) -> Lowered:
    """update_slice: x with a run of slices replaced."""
    own.check(task)
    axis, start = task.whole(task.root, "axis"), task.whole(task.root, "start")
    x, value = (task.tensor(own.operand(task, each)) for each in (0, 1))
    places = match_same_rank(x.axes, value, free=axis)
    length = value.sizes[places.index(axis)]
    rest = x.sizes[axis + 1 :]

    def write(reader: Reader) -> None:
        with reader.code.loops(x.sizes[:axis]) as outer:
            _copy(reader, 1, places, outer, (length, *rest), start)

    reader = own.begin(task)
    with reader.code.loops(x.sizes[:axis]) as outer:
        for first, count in ((0, start), (start + length, x.sizes[axis] - start - length)):
            if count:
                _keep(reader, outer, (count, *rest), first)
        _copy(reader, 1, places, outer, (length, *rest), start)
    return own.finished(task, reader, own.overwriting(task, write))


def _keep(reader: Reader, outer: Sequence[Position], sizes: Sequence[int], first: int) -> None:
    """A run of x's slices as they are."""
    code = reader.code
    axis = len(outer)
    with code.loops(sizes) as inner:
        along = at(plus(inner[0].index, Integer(first)), reader.task.tensor(own.operand(reader.task, 0)).sizes[axis])
        found = (*outer, along, *inner[1:])
        code.store(code.output(), [each.index for each in found], reader.value(own.operand(reader.task, 0), found))
