"""What a contraction is, whichever primitive says it: labels of both operands' axes, and which of them are I, J and K.

A label in both operands and in the result is an outer axis; one that isn't in the result is summed. I is operand 0's
last axis that the result has alone, J operand 1's; K are the summed axes, row-major in operand 0's order, those of
operand 1 alone behind them. Called by `contract`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from presk.core.nodes import Let
from presk.kernel.lower.index import Position, at
from presk.kernel.lower.task import Task
from presk.kernel.nodes import Expression
from presk.primitives.attributes import take_names
from presk.shapes.align import align

Labels = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Contraction:
    """A contraction's operands and result by labels. `sizes` is each label's size."""

    name: str
    left: Labels
    right: Labels
    out: Labels
    sizes: Mapping[int, int]

    @property
    def i(self) -> int | None:
        """Operand 0's last free axis."""
        return next((each for each in reversed(self.left) if each in self.out and each not in self.right), None)

    @property
    def j(self) -> int | None:
        """Operand 1's last free axis."""
        return next((each for each in reversed(self.right) if each in self.out and each not in self.left), None)

    @property
    def k(self) -> Labels:
        """The summed axes."""
        return tuple(each for each in dict.fromkeys((*self.left, *self.right)) if each not in self.out)

    @property
    def outer(self) -> Labels:
        """The result's axes but for I and J."""
        return tuple(each for each in self.out if each not in (self.i, self.j))

    def size(self, label: int | None) -> int:
        """An axis's size; 1 of none."""
        return 1 if label is None else self.sizes[label]

    @property
    def panel(self) -> Labels:
        """Operand 1's axes in a panel's order: what is outer, K, J."""
        last = (*(each for each in self.k if each in self.right), *(() if self.j is None else (self.j,)))
        return (*(each for each in self.right if each not in last), *last)


Place = Mapping[int, Expression]
"""An index for each label."""


def positions(labels: Sequence[int], sizes: Mapping[int, int], place: Place) -> list[Position]:
    """The position along each axis of a tensor with these labels."""
    return [at(place[label], sizes[label]) for label in labels]


def contraction_of(task: Task, let: Let) -> Contraction:
    """The contraction that a let holds."""
    apply = task.apply(let)
    left, right, out = LABELS[apply.primitive](task, let)
    sizes: dict[int, int] = {}
    for labels, operand in ((left, apply.operands[0]), (right, apply.operands[1])):
        sizes |= dict(zip(labels, task.tensor(operand).sizes, strict=True))
    name = apply.primitive
    if name == "ein":
        (names,) = take_names(dict(apply.attributes), "out")
        name = f"ein[{', '.join(names)}]"
    return Contraction(name, left, right, out, sizes)


def _dot(task: Task, let: Let) -> tuple[Labels, Labels, Labels]:
    """The last axis of operand 0 with the first of operand 1."""
    x, w = task.apply(let).operands
    label = count()
    left = tuple(next(label) for _ in task.tensor(x).axes)
    right = (left[-1], *(next(label) for _ in task.tensor(w).axes[1:]))
    return left, right, (*left[:-1], *right[1:])


def _matmul(task: Task, let: Let) -> tuple[Labels, Labels, Labels]:
    """The last two axes, batched over the leading ones, which align."""
    a, b = (task.tensor(each) for each in task.apply(let).operands)
    alignment = align([a.axes[:-2], b.axes[:-2]])
    leading = len(alignment.axes)
    i, k, j = range(leading, leading + 3)
    return (*alignment.places[0], i, k), (*alignment.places[1], k, j), (*range(leading), i, j)


def _dot_left(task: Task, let: Let) -> tuple[Labels, Labels, Labels]:
    """The last axes of the cotangent with those of w behind its first."""
    cotangent, w = task.apply(let).operands
    label = count()
    left = tuple(next(label) for _ in task.tensor(cotangent).axes)
    free = len(task.tensor(w).axes) - 1
    right = (next(label), *left[len(left) - free :])
    return left, right, (*left[: len(left) - free], right[0])


def _dot_right(task: Task, let: Let) -> tuple[Labels, Labels, Labels]:
    """The axes of x before its last with the first of the cotangent."""
    x, cotangent = task.apply(let).operands
    label = count()
    left = tuple(next(label) for _ in task.tensor(x).axes)
    right = (*left[:-1], *(next(label) for _ in task.tensor(cotangent).axes[len(left) - 1 :]))
    return left, right, (left[-1], *right[len(left) - 1 :])


def _ein(task: Task, let: Let) -> tuple[Labels, Labels, Labels]:
    """Labels by name."""
    attributes = dict(task.apply(let).attributes)
    (out,) = take_names(attributes, "out")
    left, right = take_names(attributes, "labels")
    number = {name: at for at, name in enumerate(dict.fromkeys((*left, *right)))}
    return (
        tuple(number[each] for each in left),
        tuple(number[each] for each in right),
        tuple(number[each] for each in out),
    )


LABELS: dict[str, Callable[[Task, Let], tuple[Labels, Labels, Labels]]] = {
    "dot": _dot,
    "matmul": _matmul,
    "ein": _ein,
    "dot_vjp_l": _dot_left,
    "dot_vjp_r": _dot_right,
}
"""The labels of operand 0, operand 1 and the result, by the primitive's name."""
