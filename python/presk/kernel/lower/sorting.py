"""sort and top_k: a stable merge sort of each row in scratch, by static loops.

Rows are padded with NaN to a power of two, which stands behind everything (NaN is above +∞, and what is equal keeps its
order). At each level runs of w are merged two by two from one scratch row into the other. The largest elements are read
from the end; so of equals the last comes first, and where the first shall, the row is put in backwards. Called by
`table`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from presk.kernel.lower import own
from presk.kernel.lower.code import Code
from presk.kernel.lower.index import ZERO, Position, at, plus, times
from presk.kernel.lower.reader import Reader
from presk.kernel.lower.task import Task
from presk.kernel.lowered import Lowered
from presk.kernel.nodes import (
    Access,
    Axis,
    Binary,
    Buffer,
    BufferType,
    Call,
    Constant,
    Element,
    Expression,
    Integer,
    Load,
    Unary,
)


@dataclass(frozen=True, slots=True)
class Row:
    """A row in scratch: its values and, where they are wanted, the places they came from."""

    values: Buffer
    places: Buffer | None

    def value(self, index: Expression) -> Expression:
        """A value."""
        return Load(Access(self.values, (index,)))

    def put(self, code: Code, index: Expression, value: Expression, place: Expression | None) -> None:
        """Stores a value and its place."""
        code.store(self.values, (index,), value)
        if self.places is not None and place is not None:
            code.store(self.places, (index,), place)

    def place(self, index: Expression) -> Expression | None:
        """A value's place."""
        return None if self.places is None else Load(Access(self.places, (index,)))


def lower_sort(task: Task) -> Lowered:
    """sort: ascending."""
    own.check(task)
    axis = task.whole(task.root, "axis")
    sizes = task.tensor(own.operand(task, 0)).sizes
    reader = own.begin(task)
    code = reader.code
    with code.loops((*sizes[:axis], *sizes[axis + 1 :])) as others:
        row = sorted_row(reader, others, axis, with_places=False, backwards=False)
        with code.loop(sizes[axis]) as counter:
            index = [each.index for each in (*others[:axis], at(counter, sizes[axis]), *others[axis:])]
            code.store(code.output(), index, row.value(counter))
    return own.finished(task, reader)


def lower_top_k(task: Task) -> Lowered:
    """top_k: the largest, descending, and their places."""
    own.check(task)
    axis, k = task.whole(task.root, "axis"), task.whole(task.root, "k")
    sizes = task.tensor(own.operand(task, 0)).sizes
    reader = own.begin(task)
    code = reader.code
    backwards = task.attribute(task.root, "ties") == "first"
    with code.loops((*sizes[:axis], *sizes[axis + 1 :])) as others:
        row = sorted_row(reader, others, axis, with_places=True, backwards=backwards)
        with code.loop(k) as counter:
            index = [each.index for each in (*others[:axis], at(counter, k), *others[axis:])]
            largest = Binary("-", Integer(sizes[axis] - 1), counter)
            code.store(code.output(0), index, row.value(largest))
            place = row.place(largest) or ZERO
            code.store(code.output(1), index, Call("min", (place, Integer(max(sizes[axis] - 1, 0)))))
    return own.finished(task, reader)


def sorted_row(reader: Reader, others: Sequence[Position], axis: int, *, with_places: bool, backwards: bool) -> Row:
    """Operand 0's row at these positions of the other axes, ascending, in scratch. `backwards`: put in from its end."""
    code = reader.code
    operand = own.operand(reader.task, 0)
    length = reader.task.tensor(operand).sizes[axis]
    padded = 1 << max(length - 1, 0).bit_length()
    row, spare = (_scratch(code, padded, with_places) for _ in range(2))
    with code.loop(length) as counter:
        place: Expression = Binary("-", Integer(length - 1), counter) if backwards else counter
        found = (*others[:axis], at(place, length), *others[axis:])
        row.put(code, counter, reader.value(operand, found), place)
    if padded > length:
        with code.loop(padded - length) as counter:
            index = plus(counter, Integer(length))
            row.put(code, index, Constant(math.nan), index)
    width = 1
    while width < padded:
        _merge(code, row, spare, width, padded)
        row, spare = spare, row
        width *= 2
    return row


def _scratch(code: Code, length: int, with_places: bool) -> Row:
    axes = (Axis(None, length),)
    values = code.scratch(BufferType(Element(code.arithmetic), axes))
    return Row(values, code.scratch(BufferType(Element("i64", bound=length), axes)) if with_places else None)


def _merge(code: Code, row: Row, into: Row, width: int, length: int) -> None:
    """Merges each two neighbouring runs of `width`; how many came from the left one decides where both stand."""
    with code.loop(length // (2 * width)) as block:
        base = times(block, 2 * width)
        taken = code.let("nat", ZERO)
        with code.loop(2 * width) as step:
            others = code.let("nat", Binary("-", step, taken))
            left = _within(base, taken, width)
            right = plus(_within(base, others, width), Integer(width))
            first, second = code.let("real", row.value(left)), code.let("real", row.value(right))
            earlier = Binary("or", Binary("<", second, first), Binary("and", _is_nan(first), _is_number(second)))
            rest = Binary("and", Binary("<", taken, Integer(width)), Unary("not", earlier))
            is_left = code.let("bool", Binary("or", Binary(">=", others, Integer(width)), rest))
            places = (row.place(left), row.place(right))
            place = None
            if places[0] is not None and places[1] is not None:
                place = Call("select", (is_left, places[0], places[1]))
            into.put(code, plus(base, step), Call("select", (is_left, first, second)), place)
            code.assign(taken, plus(taken, Call("select", (is_left, Integer(1), ZERO))))


def _within(base: Expression, count: Expression, width: int) -> Expression:
    """The index of the element behind `count` others of a run, the last one where there is none."""
    if width == 1:
        return base
    return plus(base, Call("max", (ZERO, Call("min", (count, Integer(width - 1))))))


def _is_nan(value: Expression) -> Expression:
    return Binary("!=", value, value)


def _is_number(value: Expression) -> Expression:
    return Binary("==", value, value)
