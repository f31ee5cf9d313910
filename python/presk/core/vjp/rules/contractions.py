"""Derivatives of contractions: each of the two operands' is a contraction of the cotangent with the other operand.

Of a dot they are `dot_vjp_l` and `dot_vjp_r`; of every other kind an `ein`, whose labels are made of the axes' names.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from presk.core.names import is_word
from presk.core.nodes import Operand
from presk.core.vjp.pullback import Pullback
from presk.core.vjp.shaping import renamed, spread
from presk.primitives.attributes import take_names
from presk.shapes.align import align
from presk.shapes.types import Axis, Shape

Rule = Callable[[Pullback], None]
Labels = tuple[int, ...]


def _dot(p: Pullback) -> None:
    if p.wants(0):
        p.give(0, p.do("dot_vjp_l", p.ct, p.x(1), cotangent=0, new=p.operand(0).axes))
    if p.wants(1):
        p.give(1, p.do("dot_vjp_r", p.x(0), p.ct, cotangent=1, new=p.operand(1).axes))


def _labels_of_dot_left(p: Pullback) -> tuple[Labels, Labels, Labels]:
    label = count()
    left = tuple(next(label) for _ in p.operand(0).axes)
    free = len(p.operand(1).axes) - 1
    right = (next(label), *left[len(left) - free :])
    return left, right, (*left[: len(left) - free], right[0])


def _labels_of_dot_right(p: Pullback) -> tuple[Labels, Labels, Labels]:
    label = count()
    left = tuple(next(label) for _ in p.operand(0).axes)
    right = (*left[:-1], *(next(label) for _ in p.operand(1).axes[len(left) - 1 :]))
    return left, right, (left[-1], *right[len(left) - 1 :])


def _labels_of_matmul(p: Pullback) -> tuple[Labels, Labels, Labels]:
    a, b = p.operand(0).axes, p.operand(1).axes
    alignment = align((a[:-2], b[:-2]))
    leading = len(alignment.axes)
    i, k, j = range(leading, leading + 3)
    return (*alignment.places[0], i, k), (*alignment.places[1], k, j), (*range(leading), i, j)


def _labels_of_ein(p: Pullback) -> tuple[Labels, Labels, Labels]:
    attributes = dict(p.apply.attributes)
    (out,) = take_names(attributes, "out")
    left, right = take_names(attributes, "labels")
    of = {name: at for at, name in enumerate(dict.fromkeys((*left, *right)))}
    return tuple(of[each] for each in left), tuple(of[each] for each in right), tuple(of[each] for each in out)


def _by_labels(labels_of: Callable[[Pullback], tuple[Labels, Labels, Labels]]) -> Rule:
    """The rule of a contraction with these labels."""

    def rule(p: Pullback) -> None:
        left, right, out = labels_of(p)
        if p.wants(0):
            mark = p.beside_cotangent(1)
            p.give(0, _contracted(p, (p.ct, out), (p.x(1), right), mark, left, p.operand(0).axes))
        if p.wants(1):
            mark = p.beside_cotangent(0) or 1
            p.give(1, _contracted(p, (p.x(0), left), (p.ct, out), mark, right, p.operand(1).axes))

    return rule


def _contracted(
    p: Pullback,
    one: tuple[Operand, Labels],
    other: tuple[Operand, Labels],
    cotangent: int | str,
    wanted: Labels,
    axes: Shape,
) -> Operand:
    """The `ein` of two labelled values with the labels `wanted`; a label that neither has repeats along its axis."""
    names = _names((*one[1], *other[1], *wanted), wanted, axes)
    there = [at for at, label in enumerate(wanted) if label in one[1] or label in other[1]]
    found = p.do(
        "ein",
        one[0],
        other[0],
        cotangent=cotangent,
        out=(tuple(names[wanted[at]] for at in there),),
        labels=(tuple(names[label] for label in one[1]), tuple(names[label] for label in other[1])),
    )
    found = renamed(p.scope, found, tuple(axes[at] for at in there))
    return found if len(there) == len(wanted) else spread(p.scope, found, there, axes)


def _names(labels: Labels, wanted: Labels, axes: Shape) -> dict[int, str]:
    """A name for each label: that of its axis in the result where it has one."""
    names: dict[int, str] = {}
    for label, axis in zip(wanted, axes, strict=True):
        if isinstance(axis, Axis) and axis.name is not None:
            names[label] = axis.name
    for label in labels:
        if label not in names:
            fresh = (name for at in count(label) if is_word(name := f"x{at}") and name not in names.values())
            names[label] = next(fresh)
    return names


RULES: dict[str, Rule] = {
    "dot": _dot,
    "matmul": _by_labels(_labels_of_matmul),
    "ein": _by_labels(_labels_of_ein),
    "dot_vjp_l": _by_labels(_labels_of_dot_left),
    "dot_vjp_r": _by_labels(_labels_of_dot_right),
}
