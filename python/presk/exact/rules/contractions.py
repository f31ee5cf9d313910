"""Contractions: one rule for dot, matmul, ein and a dot's derivatives, over products of flint's matrices.

Every axis of both operands gets a label; a label in both operands and not in the result is summed. Operand 0 is laid
out as (batch, free, summed), operand 1 as (batch, summed, free), or with its last two exchanged where that is the
order it has: a matrix is transposed at no cost to speak of. Labels that one operand alone has, and the result has not,
are summed first. Layouts are kept with the operand, so that a parameter's are made once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from math import prod

from flint import arb, arb_mat

from presk.exact.context import Frame, Run
from presk.exact.elements import Element, Undefined, ball_of, through
from presk.exact.intervals import Interval, square
from presk.exact.layouts import Flat, Picker, permuted, pick, rows_of
from presk.exact.reals import NoBalls, Reals, build_blocks
from presk.exact.rules.elementwise import is_zero
from presk.exact.rules.reductions import Rows, total_of
from presk.exact.rules.task import Compute, Task
from presk.primitives.attributes import cotangents_of
from presk.shapes.align import align
from presk.text.diagnostics import InternalError

Labels = tuple[int, ...]


class Side:
    """One operand laid out as matrices: which of its axes are summed beforehand, and the order of those that stay."""

    def __init__(self, labels: Labels, sizes: dict[int, int], alone: set[int]) -> None:
        self.labels = tuple(label for label in labels if label not in alone)
        own = tuple(sizes[label] for label in labels)
        dropped = tuple(at for at, label in enumerate(labels) if label in alone)
        self.first = Rows(own, dropped) if dropped else None
        self.sizes = tuple(sizes[label] for label in self.labels)
        self.transposed = False
        self.gather: Picker = None
        self.shape = (0, 0, 0)
        self.key: tuple[object, ...] = ()

    def lay(self, batch: Labels, rows: Labels, columns: Labels) -> None:
        """Chooses (batch, rows, columns), or its transpose where that is the operand's own order."""
        self.transposed = self.labels == (*batch, *columns, *rows) and self.labels != (*batch, *rows, *columns)
        order = (*batch, *columns, *rows) if self.transposed else (*batch, *rows, *columns)
        at = {label: place for place, label in enumerate(self.labels)}
        places = tuple(at[label] for label in order)
        self.gather = permuted(self.sizes, places)
        size = dict(zip(self.labels, self.sizes, strict=True))
        extent = [prod(size[label] for label in group) for group in (batch, rows, columns)]
        self.shape = (extent[0], extent[1], extent[2])
        self.key = ("contraction", self.sizes, places, self.shape, self.transposed, self.first is None)

    def matrices(self, run: Run, x: Reals) -> tuple[arb_mat, ...]:
        """The operand's matrices, radii dropped. NoBalls where an element is no ball."""
        if self.first is not None:
            return self._build(run.reals(self._summed(x)))
        found: tuple[arb_mat, ...] = x.kept(self.key, lambda: self._build(x))
        return found

    def elements(self, x: Reals) -> list[Flat]:
        """For each batch the rows × columns elements in row-major order."""
        flat = pick(self.gather, self._summed(x) if self.first is not None else x.points())
        batch, rows, columns = self.shape
        blocks = rows_of(flat, rows * columns, batch)
        if not self.transposed:
            return blocks
        swap = permuted((columns, rows), (1, 0))
        return [pick(swap, block) for block in blocks]

    def _summed(self, x: Reals) -> Flat:
        if self.first is None:
            raise InternalError("nothing to sum")
        return [total_of(row) for row in self.first.of(x.points())]

    def _build(self, x: Reals) -> tuple[arb_mat, ...]:
        batch, rows, columns = self.shape
        if self.transposed:
            rows, columns = columns, rows
        if self.gather is None:
            found = x.as_blocks(batch, rows, columns)
        else:
            found = build_blocks(self.gather(x.entries()), batch, rows, columns)
            if not x.settled:
                found = tuple(matrix.mid() for matrix in found)
        return tuple(matrix.transpose() for matrix in found) if self.transposed else found


class Contraction:
    """A contraction between labelled operands."""

    def __init__(
        self, left: Labels, right: Labels, out: Labels, sizes: dict[int, int], marked: tuple[int, ...]
    ) -> None:
        self.marked = marked
        alone = {label for label in (*left, *right) if label not in out and (label in left) != (label in right)}
        shared = [label for label in left if label in right]
        batch = tuple(label for label in out if label in shared)
        summed = tuple(label for label in shared if label not in out)
        free_left = tuple(label for label in out if label in left and label not in batch)
        free_right = tuple(label for label in out if label in right and label not in batch)
        self.left = Side(left, sizes, alone)
        self.right = Side(right, sizes, alone)
        self.left.lay(batch, free_left, summed)
        self.right.lay(batch, summed, free_right)
        made = (*batch, *free_left, *free_right)
        self.restore = permuted([sizes[label] for label in made], [made.index(label) for label in out])

    def compute(self, frame: Frame, x: Reals, y: Reals) -> Reals:
        """The contraction of two values."""
        run = frame.run
        bounded = run.certify and same_start(x, y)
        try:
            left, right = self.left.matrices(run, x), self.right.matrices(run, y)
        except NoBalls:
            if not run.certify or not (enclosed(x) and enclosed(y)):
                return run.reals(self._one_by_one(x, y))
            bounded = True
            left, right = self.left.matrices(run, balls(x)), self.right.matrices(run, balls(y))
        blocks = tuple(a * b for a, b in zip(left, right, strict=True))
        if bounded:
            return run.reals(pick(self.restore, self._with_bounds(x, y, Reals(blocks=blocks))))
        if self.restore is None:
            return Reals(blocks=blocks, settled=run.certify)
        found = Reals(blocks=blocks if run.certify else tuple(block.mid() for block in blocks))
        return Reals(pick(self.restore, found.entries()), settled=True, age=0)

    def _with_bounds(self, x: Reals, y: Reals, found: Reals) -> Flat:
        """The elements; again term by term where a ball holds 0, for the terms may have bounds."""
        _, rows, length = self.left.shape
        columns = self.right.shape[2]
        flat = list(found.entries())
        lefts, rights = self.left.elements(x), self.right.elements(y)
        for at, ball in enumerate(flat):
            if isinstance(ball, arb) and not ball != 0 and not ball.is_exact():
                batch, row, column = at // (rows * columns), at // columns % rows, at % columns
                terms = lefts[batch][row * length : (row + 1) * length], rights[batch][column::columns]
                again = self._dot(*terms)
                if isinstance(again, Interval):
                    flat[at] = again
        return flat

    def _one_by_one(self, x: Reals, y: Reals) -> Flat:
        """Term by term, for elements that are no plain balls."""
        _, rows, length = self.left.shape
        columns = self.right.shape[2]
        flat: Flat = []
        for left, right in zip(self.left.elements(x), self.right.elements(y), strict=True):
            across = [right[at::columns] for at in range(columns)]
            for row in rows_of(left, length, rows):
                flat += [self._dot(row, column) for column in across]
        return pick(self.restore, flat)

    def _dot(self, row: Sequence[Element], column: Sequence[Element]) -> Element:
        terms = [through(square, a, "square") if a is b else a * b for a, b in zip(row, column, strict=True)]
        if self.marked:
            pairs = list(zip(row, column, strict=True))
            terms = [
                arb(0)
                if isinstance(term, Undefined) and any(is_zero(pairs[at][each]) for each in self.marked)
                else term
                for at, term in enumerate(terms)
            ]
        return total_of(terms)


def same_start(x: Reals, y: Reals) -> bool:
    """Whether two values may hold the same elements: a product of two of them is a square, which isn't below 0."""
    return x is y or (x.first is not None and x.first is y.first)


def enclosed(x: Reals) -> bool:
    """Whether all elements are balls or intervals."""
    return x.blocks is not None or all(isinstance(element, (arb, Interval)) for element in x.entries())


def balls(x: Reals) -> Reals:
    """The same with the balls around intervals."""
    if x.blocks is not None:
        return x
    made: Reals = x.kept("balls", lambda: Reals(list(map(ball_of, x.entries())), settled=x.settled, age=x.age))
    return made


def _planned(task: Task, left: Labels, right: Labels, out: Labels) -> Compute:
    sizes = dict(zip((*left, *right), (*task.sizes(0), *task.sizes(1)), strict=True))
    return Contraction(left, right, out, sizes, cotangents_of(task.attributes)).compute


def plan_dot(task: Task) -> Compute:
    """The last axis of operand 0 with the first of operand 1."""
    label = count()
    left = tuple(next(label) for _ in task.sizes(0))
    right = (left[-1], *(next(label) for _ in task.sizes(1)[1:]))
    return _planned(task, left, right, (*left[:-1], *right[1:]))


def plan_matmul(task: Task) -> Compute:
    """Products of the last two axes, batched over the leading ones, which align."""
    a, b = task.tensor(0), task.tensor(1)
    alignment = align([a.axes[:-2], b.axes[:-2]])
    label = count(len(alignment.axes))
    i, k, j = next(label), next(label), next(label)
    left = (*alignment.places[0], i, k)
    right = (*alignment.places[1], k, j)
    return _planned(task, left, right, (*range(len(alignment.axes)), i, j))


def plan_dot_left(task: Task) -> Compute:
    """The last axes of the cotangent with those of w behind its first."""
    label = count()
    out = tuple(next(label) for _ in task.sizes(0))
    w = (next(label), *out[len(out) - len(task.sizes(1)) + 1 :])
    return _planned(task, out, w, (*out[: len(out) - len(w) + 1], w[0]))


def plan_dot_right(task: Task) -> Compute:
    """The axes of x before its last with the first of the cotangent."""
    label = count()
    x = tuple(next(label) for _ in task.sizes(0))
    out = (*x[:-1], *(next(label) for _ in task.sizes(1)[len(x) - 1 :]))
    return _planned(task, x, out, (x[-1], *out[len(x) - 1 :]))


def plan_ein(task: Task) -> Compute:
    """Contraction by names."""
    rows = _rows_of_names(task, "labels")
    (out,) = _rows_of_names(task, "out")
    number = {name: at for at, name in enumerate(dict.fromkeys((*rows[0], *rows[1])))}
    left, right = (tuple(number[name] for name in row) for row in rows)
    return _planned(task, left, right, tuple(number[name] for name in out))


def _rows_of_names(task: Task, name: str) -> list[tuple[str, ...]]:
    value = task.attribute(name)
    if not isinstance(value, tuple):
        raise InternalError(f"{task.site.primitive} at {task.site.label} has no `{name}`")
    return [row for row in value if isinstance(row, tuple)]


PLANNERS: dict[str, Callable[[Task], Compute]] = {
    "dot": plan_dot,
    "matmul": plan_matmul,
    "ein": plan_ein,
    "dot_vjp_l": plan_dot_left,
    "dot_vjp_r": plan_dot_right,
}
