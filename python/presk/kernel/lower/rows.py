"""Reductions and row primitives as nodes of a nest: which folds they are and what stands between them.

Those that take exponentials subtract the row's maximum first. logsumexp and what is made of it subtract 0 instead where
that maximum is infinite, so that a row of −∞ alone has the logarithm −∞. A mask's refused places count as −∞ to the
maximum and add nothing to the sum; they are 0 in a softmax, and −∞ in its logarithm. Called by `nest`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from presk.core.links import reduced_axes
from presk.kernel.lower.folds import Extreme, Logic, Pick, PositionOfExtreme, Product, Term
from presk.kernel.lower.index import at, cut
from presk.kernel.lower.members import Row
from presk.kernel.nodes import Binary, Call, Constant, Expression

RowRule = Callable[[Row], int]
"""Makes the nodes of a let and gives the one that is its value."""


def _sum(row: Row) -> int:
    return row.sum(row.needs(0), lambda: row.point.operand(0))


def _mean(row: Row) -> int:
    total = _sum(row)
    reals = row.point.reals
    return row.outer((total,), lambda: reals.binary("/", row.value(total), reals.number(row.length)))


def _extreme(row: Row) -> int:
    function = "max" if row.name == "max" else "min"
    return row.fold("real", row.needs(0), Extreme(function, lambda: row.point.operand(0)))


def _product(row: Row) -> int:
    return row.fold("real", row.needs(0), Product(row.point.reals, lambda: row.point.operand(0)))


def _logic(row: Row) -> int:
    return row.fold("bool", row.needs(0), Logic(row.name == "any", lambda: row.point.operand(0)))


def _position(row: Row) -> int:
    is_last = row.point.attribute("ties") == "last"
    fold = PositionOfExtreme(row.name == "argmax", is_last, lambda: row.point.operand(0), lambda: row.place)
    return row.fold("nat", row.needs(0), fold)


# Exponentials of rows


class _Exponentials:
    """A row's maximum, and its exponentials at that distance."""

    def __init__(self, row: Row, mask: int) -> None:
        self.row = row
        self.mask = mask if mask < len(row.operands) else None
        self.operands = (0,) if self.mask is None else (0, mask)
        self.reals = row.point.reals
        self.needs = row.needs(*self.operands)
        self.maximum = row.fold("real", self.needs, Extreme("max", lambda: self.allowed(self.element, -math.inf)))

    def element(self) -> Expression:
        """The row's element at hand."""
        return self.row.point.operand(0)

    def allowed(self, value: Term, refused: float) -> Expression:
        """A value where the mask allows the place, else a constant."""
        if self.mask is None:
            return value()
        return Call("select", (self.row.point.operand(self.mask), value(), Constant(refused)))

    def distance(self, origin: int) -> Expression:
        """The element less a value of its row."""
        return self.reals.binary("-", self.element(), self.row.value(origin))

    def exponential(self, origin: int) -> Expression:
        """exp of that, 0 where the mask refuses."""
        return self.allowed(lambda: self.reals.call("exp", self.distance(origin)), 0.0)

    def origin(self) -> int:
        """The maximum, or 0 where that is infinite."""
        reals = self.reals

        def compute() -> Expression:
            maximum = self.row.value(self.maximum)
            infinite = Binary("==", reals.call("abs", maximum), Constant(math.inf))
            return Call("select", (infinite, reals.number(0), maximum))

        return self.row.outer((self.maximum, self.maximum), compute)

    def lost(self, origin: int) -> Expression:
        """What rounding the distance lost (Knuth's TwoSum)."""
        code, reals = self.row.point.code, self.reals
        element = code.shared("real", self.element())
        distance = code.shared("real", reals.binary("-", element, self.row.value(origin)))
        part = code.shared("real", reals.binary("-", distance, element))
        first = reals.binary("-", element, reals.binary("-", distance, part))
        return reals.binary("-", first, reals.binary("+", self.row.value(origin), part))

    def log_sum(self, origin: int) -> int:
        """log Σ exp of the distances.

        A sum from 1 up to 2 has one 1, the maximum's own, which would take the digits of the others: there it is log1p
        of their sum, which is taken in a pass that other rows don't run. Each is corrected by what its distance lost to
        rounding, which would count as often as that is large. Where the maximum is infinite, a sum is 0 or infinite.
        """
        row, reals = self.row, self.reals
        share = row.inner((*self.needs, origin), lambda: self.exponential(origin), dear=True)
        total = row.sum((share,), lambda: row.value(share))

        def has_one() -> Expression:
            sum = row.value(total)
            return Binary("and", Binary(">=", sum, reals.number(1)), Binary("<", sum, reals.number(2)))

        def other() -> Expression:
            value = row.value(share)
            is_plain = Binary("and", Binary(">", value, reals.number(0)), Binary("<", value, reals.number(1)))
            corrected = reals.binary("+", value, reals.binary("*", value, self.lost(origin)))
            return Call("select", (is_plain, corrected, reals.number(0)))

        def compute() -> Expression:
            logarithm = reals.call("log", row.value(total))
            return Call("select", (row.value(rare), reals.call("log1p", row.value(others)), logarithm))

        rare = row.test((total, total), has_one)
        others = row.sum((share, *self.needs, origin), other, rare)
        return row.outer((rare, others, total), compute, dear=True)


def _softmax(row: Row) -> int:
    """exp(x − max) / Σ exp(x − max)"""
    of = _Exponentials(row, 1)
    share = row.inner((*of.needs, of.maximum), lambda: of.exponential(of.maximum), dear=True)
    total = row.sum((share,), lambda: row.value(share))
    needs = (share, total, *(row.needs(1) if of.mask is not None else ()))

    def compute() -> Expression:
        return of.allowed(lambda: of.reals.binary("/", row.value(share), row.value(total)), 0.0)

    return row.inner(needs, compute, dear=True)


def _log_softmax(row: Row) -> int:
    """(x − max) − log Σ exp(x − max)"""
    of = _Exponentials(row, 1)
    origin = of.origin()
    logarithm = of.log_sum(origin)

    def compute() -> Expression:
        return of.allowed(lambda: of.reals.binary("-", of.distance(origin), row.value(logarithm)), -math.inf)

    return row.inner((*of.needs, origin, logarithm), compute)


def _logsumexp(row: Row) -> int:
    """max + log Σ exp(x − max)"""
    of = _Exponentials(row, 1)
    origin = of.origin()
    logarithm = of.log_sum(origin)
    return row.outer((origin, logarithm), lambda: of.reals.binary("+", row.value(origin), row.value(logarithm)))


def _cross_entropy(row: Row) -> int:
    """log Σ exp(x − max) − (x[target] − max)"""
    of = _Exponentials(row, 2)
    origin = of.origin()
    logarithm = of.log_sum(origin)
    target = _at_target(row)

    def compute() -> Expression:
        distance = of.reals.binary("-", row.value(target), row.value(origin))
        return of.reals.binary("-", row.value(logarithm), distance)

    return row.outer((origin, logarithm, target), compute)


def _at_target(row: Row) -> int:
    """The logits' element at the target: read there, or picked in passing where the nest computes it."""
    if not row.is_from_outside(0):
        needs = row.needs(0, 1)
        fold = Pick(lambda: row.point.operand(1), lambda: row.point.operand(0), lambda: row.place)
        return row.fold("real", needs, fold)

    def read() -> Expression:
        point = row.point
        along = reduced_axes(point.apply, point.tensor(0))
        target = at(point.shared(1), row.length)
        wanted = cut(target, [point.tensor(0).sizes[axis] for axis in along])
        places = list(point.places(0))
        for axis, position in zip(along, wanted, strict=True):
            places[axis] = position
        return point.read(0, places)

    return row.outer(row.needs(1), read)


RULES: dict[str, RowRule] = {
    "sum": _sum,
    "mean": _mean,
    "max": _extreme,
    "min": _extreme,
    "prod": _product,
    "any": _logic,
    "all": _logic,
    "argmax": _position,
    "argmin": _position,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "cross_entropy": _cross_entropy,
}
