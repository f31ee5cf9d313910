"""Look-ups at run-time nats, and the scatter that adds at them.

An index is a load of `i64<V`, V at most the axis's size, so it is proven in bounds. A scatter adds in the row-major
order of the index; what is stored in bf16 is summed in f32, in a temporary, and rounded once. Called by `table`.
"""

from __future__ import annotations

from presk.kernel.lower import own
from presk.kernel.lower.choices import split
from presk.kernel.lower.code import Code
from presk.kernel.lower.index import Position, at
from presk.kernel.lower.reader import Reader
from presk.kernel.lower.task import Task
from presk.kernel.lowered import Lowered, Temporary
from presk.kernel.nodes import Access, BufferType, Element, Expression, Load
from presk.primitives.fitting import match_same_rank
from presk.shapes.align import align
from presk.shapes.types import Shape, Tensor


def lower_take(task: Task) -> Lowered:
    """take and embed: the index's axes stand in the axis's place."""
    axis = 0 if task.apply(task.root).primitive == "embed" else task.whole(task.root, "axis")
    x, index = (task.tensor(own.operand(task, each)) for each in (0, 1))
    behind = axis + len(index.axes)

    def value(reader: Reader, found: list[Position]) -> Expression:
        place = at(reader.value(own.operand(task, 1), found[axis:behind]), x.sizes[axis])
        return reader.value(own.operand(task, 0), (*found[:axis], place, *found[behind:]))

    return own.by_element(task, value)


def lower_gather(task: Task) -> Lowered:
    """gather: element by element along an axis."""
    axis = task.whole(task.root, "axis")
    x, index = (task.tensor(own.operand(task, each)) for each in (0, 1))
    places = match_same_rank(x.axes, index, free=axis)

    def value(reader: Reader, found: list[Position]) -> Expression:
        place = at(reader.value(own.operand(task, 1), [found[each] for each in places]), x.sizes[axis])
        return reader.value(own.operand(task, 0), (*found[:axis], place, *found[axis + 1 :]))

    return own.by_element(task, value)


def lower_scatter_add(task: Task) -> Lowered:
    """scatter_add: a copy of x, and the slices of v added to it."""
    own.check(task)
    ((ref, stored),) = own.stored(task)
    summed = BufferType(Element(task.interior), stored.axes)
    is_rounded = stored != summed
    reader = own.begin(task, [(Temporary(0), summed)] if is_rounded else None)
    code = reader.code
    with code.loops(task.result(task.root).sizes) as found:
        code.store(code.output(), [each.index for each in found], reader.value(own.operand(task, 0), found))
    _add(task, reader)
    if not is_rounded:
        return own.finished(task, reader, own.overwriting(task, lambda other: _add(task, other)))
    rounding = Code("round", task.arithmetic, [(Temporary(0), summed)], [(ref, stored)])
    with rounding.loops([axis.size for axis in stored.axes]) as found:
        index = [each.index for each in found]
        rounding.store(rounding.output(), index, rounding.load(Temporary(0), index))
    return Lowered((split(task, code.launch()), rounding.launch()), ((ref, stored),), (summed,))


def _add(task: Task, reader: Reader) -> None:
    """The slices added, in the row-major order of the index."""
    axis = task.whole(task.root, "axis")
    x, index, values = (task.tensor(own.operand(task, each)) for each in range(3))
    full: Shape = (*x.axes[:axis], *index.axes, *x.axes[axis + 1 :])
    places = align((full, values.axes)).places[1]
    behind = axis + len(index.axes)
    code = reader.code
    with code.loops(Tensor("real", full).sizes) as found:
        place = code.shared("nat", reader.value(own.operand(task, 1), found[axis:behind]))
        term = reader.value(own.operand(task, 2), [found[each] for each in places])
        target = [each.index for each in (*found[:axis], at(place, x.sizes[axis]), *found[behind:])]
        old = Load(Access(code.output(), tuple(target)))
        code.store(code.output(), target, reader.reals.binary("+", old, term))
