"""Reductions along axes, running sums, and the row primitives softmax, log_softmax and cross_entropy.

An operand's rows are the elements of the reduced axes, row-major, for each index of the axes that stay. Exponentials
of a row are taken of its distances from one exact number near its maximum: the same over the reals whatever that
number is, so no hull and no decision is needed, and nothing overflows.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, compress
from math import prod
from operator import add
from typing import Any

from flint import arb

from presk.exact import decisions
from presk.exact.context import Frame, Run
from presk.exact.elements import Depends, Element, Undefined, ball_of, through
from presk.exact.intervals import ZERO
from presk.exact.layouts import Flat, Picker, permuted, pick, position_text, repeated, rows_of
from presk.exact.reals import Reals, ones
from presk.exact.rules.elementwise import entries_within_age, in_doubt
from presk.exact.rules.exponentials import NEAR, everywhere_above, exponential
from presk.exact.rules.functions import quotients
from presk.exact.rules.task import Compute, Task, Value, children, names_of, volume
from presk.shapes.align import align
from presk.shapes.types import Tensor


class Rows:
    """The rows of an operand: how its elements come to stand row by row, and where a row's place is."""

    def __init__(self, sizes: tuple[int, ...], reduced: tuple[int, ...]) -> None:
        self.kept = tuple(axis for axis in range(len(sizes)) if axis not in reduced)
        self.reduced = reduced
        order = (*self.kept, *reduced)
        self.gather: Picker = permuted(sizes, order)
        self.length = volume([sizes[axis] for axis in reduced])
        self.count = volume([sizes[axis] for axis in self.kept])
        inverse = [order.index(axis) for axis in range(len(sizes))]
        self.restore: Picker = permuted([sizes[axis] for axis in order], inverse)

    def of(self, flat: Flat) -> list[Flat]:
        """The rows of a row-major list."""
        return rows_of(pick(self.gather, flat), self.length, self.count)

    def back(self, rows: list[Flat]) -> Flat:
        """Rows put back into the operand's order."""
        return pick(self.restore, [element for row in rows for element in row])


def total_of(row: Flat) -> Element:
    """The sum of a row; of no elements 0."""
    return sum(row[1:], row[0]) if row else arb(0)


def product_of(row: Flat) -> Element:
    """The product of a row; of no elements 1."""
    return prod(row[1:], start=row[0]) if row else arb(1)


def plan_total(task: Task) -> Compute:
    """sum and mean: of matrices whose columns are the row, a product with ones."""
    rows = Rows(task.sizes(0), task.axes())
    site = task.site
    divided = task.site.primitive == "mean"

    def compute(frame: Frame, x: Reals) -> Reals:
        found = _sum_columns(frame.run, rows, x)
        if found is None:
            flat = [total_of(row) for row in rows.of(entries_within_age(x))]
            found = frame.run.reals(flat, x.age + rows.length.bit_length())
        if not divided:
            return found
        if not rows.length:
            empty = [Undefined(site, "is the mean of no elements", at) for at in range(rows.count)]
            return frame.run.reals(list(empty))
        if found.blocks is not None:
            blocks = tuple(block / rows.length for block in found.blocks)
            return Reals(blocks=blocks, settled=found.settled, age=found.age + 1)
        return frame.run.reals([element / rows.length for element in found.points()])

    return compute


def _sum_columns(run: Run, rows: Rows, x: Reals) -> Reals | None:
    """Sums along the columns of a value held as matrices whose rows are the rows."""
    if x.blocks is None or rows.gather is not None or not x.blocks or x.blocks[0].ncols() != rows.length:
        return None
    x.settle()
    return Reals(blocks=tuple(block * ones(rows.length, 1) for block in x.blocks), settled=run.certify)


def plan_product(task: Task) -> Compute:
    """prod"""
    rows = Rows(task.sizes(0), task.axes())

    def compute(frame: Frame, x: Reals) -> Reals:
        return frame.run.reals([product_of(row) for row in rows.of(x.points())])

    return compute


def plan_extreme(task: Task) -> Compute:
    """max and min; of no elements (a leaf's, in a map) undefined."""
    rows = Rows(task.sizes(0), task.axes())
    choose = decisions.largest if task.site.primitive == "max" else decisions.smallest
    nothing = _of_nothing(task, rows)

    def compute(frame: Frame, x: Reals) -> Reals:
        flat = nothing or [choose(frame.run, row) for row in rows.of(x.points())]
        return Reals(flat, settled=True, age=0)

    return compute


def _of_nothing(task: Task, rows: Rows) -> Flat:
    """The elements of a choice among no elements; none where there are elements."""
    if rows.length:
        return []
    return [Undefined(task.site, "chooses among no elements", at) for at in range(rows.count)]


def plan_position(task: Task) -> Compute:
    """argmax and argmin"""
    rows = Rows(task.sizes(0), task.axes())
    site = task.site
    sign = 1 if task.site.primitive == "argmax" else -1
    last = task.word("ties", "last") == "last"
    nothing = _of_nothing(task, rows)

    def compute(frame: Frame, x: Reals) -> Flat:
        if nothing:
            return nothing
        found = rows.of(x.points())
        return [decisions.position_of_extreme(frame.run, site, row, sign=sign, last=last) for row in found]

    return compute


def plan_logic(task: Task) -> Compute:
    """any and all. What decides alone doesn't depend on the others."""
    rows = Rows(task.sizes(0), task.axes())
    decisive = task.site.primitive == "any"

    def decide(row: Flat) -> Any:
        if any(value is decisive for value in row):
            return decisive
        lost = [value for value in row if isinstance(value, Undefined)]
        return in_doubt(*lost) if lost else not decisive

    def compute(frame: Frame, x: Flat) -> Flat:
        return [decide(row) for row in rows.of(x)]

    return compute


def plan_cumsum(task: Task) -> Compute:
    """Running sums."""
    rows = Rows(task.sizes(0), (task.axis(),))

    def compute(frame: Frame, x: Reals) -> Reals:
        return frame.run.reals(rows.back([list(accumulate(row, add)) for row in rows.of(x.points())]))

    return compute


def plan_tree_total(task: Task) -> Compute:
    """total: the sum over all leaves of a tree."""

    def compute(frame: Frame, tree: Value) -> Reals:
        parts: Flat = []
        _collect(tree, parts)
        return frame.run.reals([total_of(parts)])

    return compute


def _collect(tree: Value, parts: Flat) -> None:
    if isinstance(tree, Reals):
        parts.append(total_of(tree.points()))
        return
    for each in children(tree):
        _collect(each, parts)


# Exponentials of rows


def distances(run: Run, row: Flat) -> tuple[int, Element, Flat]:
    """Where the row's largest element is, one exact number there, and the row less it. The row isn't empty."""
    balls = [ball_of(element) for element in row if not isinstance(element, Undefined)]
    if len(balls) < len(row):
        undefined = next(element for element in row if isinstance(element, Undefined))
        return 0, undefined, [undefined] * len(row)
    points = [ball.mid() for ball in balls] if run.certify else balls
    near = max(points)
    return points.index(near), near, [element - near for element in row]


def exponentials_of(row: Flat) -> Flat:
    """e to each of a row, however far below 0."""
    if everywhere_above(row, FAR_BELOW):
        return [x.exp() for x in row]
    return [through(exponential, x, "exp") for x in row]


def log_sum(run: Run, row: Flat) -> tuple[Element, Flat, Element]:
    """A number near the row's largest element, the row less it, and log Σ exp of that.

    The largest element's exponential is near 1, so that the others, however small, are what is left beside 0. The row
    isn't empty.
    """
    at, near, rest = distances(run, row)
    others = exponentials_of(rest)
    others[at] = rest[at].expm1()
    return near, rest, total_of(others).log1p()


FAR_BELOW = -NEAR
"""Exponentials from here on are not flint's own."""


def plan_logsumexp(task: Task) -> Compute:
    """logsumexp"""
    rows = Rows(task.sizes(0), task.axes())
    site = task.site

    def compute(frame: Frame, x: Reals) -> Reals:
        if not rows.length:
            flat: Flat = [Undefined(site, "is the logarithm of an empty sum", at) for at in range(rows.count)]
        else:
            sums = [log_sum(frame.run, row) for row in rows.of(x.points())]
            flat = [near + excess for near, _, excess in sums]
        return frame.run.reals(flat)

    return compute


class MaskedRows:
    """Rows of an operand with those of its mask, if it has one."""

    def __init__(self, task: Task, mask_at: int) -> None:
        self.site = task.site
        self.sizes = task.sizes(0)
        self.names = names_of(task.tensor(0))
        self.rows = Rows(self.sizes, task.axes())
        self.spread: Picker = None
        if mask_at < len(task.operands):
            places = align([task.tensor(0).axes, task.tensor(mask_at).axes]).places[1]
            self.spread = repeated(self.sizes, places)

    def of(self, x: Reals, mask: Flat | None) -> list[tuple[int, Flat, Flat | None]]:
        """Number, elements and allowed places of each row."""
        found = self.rows.of(x.points())
        if mask is None:
            return [(at, row, None) for at, row in enumerate(found)]
        allowed = self.rows.of(pick(self.spread, mask))
        return [(at, row, places) for (at, row), places in zip(enumerate(found), allowed, strict=True)]

    def empty(self, at: int) -> Undefined:
        """What a row without an allowed place gives (E6004)."""
        kept = [self.names[axis] for axis in self.rows.kept]
        where = position_text(kept, [self.sizes[axis] for axis in self.rows.kept], at)
        return Undefined(
            self.site, f"has a row{where and ' ' + where} in which the mask allows no position", code="E6004"
        )


def _within(row: Flat, allowed: Flat | None) -> tuple[Flat, Undefined | None]:
    """The row's elements at allowed places, and an undefined place of the mask, if there is one."""
    if allowed is None:
        return row, None
    undefined = next((place for place in allowed if isinstance(place, Undefined)), None)
    if undefined is not None:
        return [], undefined
    return [element for element, place in zip(row, allowed, strict=True) if place], None


def plan_softmax(task: Task) -> Compute:
    """softmax"""
    masked = MaskedRows(task, 1)
    site = task.site

    def one(run: Run, at: int, row: Flat, allowed: Flat | None) -> Flat:
        within, undefined = _within(row, allowed)
        if undefined is not None or (allowed is not None and not within):
            return [undefined or masked.empty(at)] * len(row)
        if not row:
            return row
        exponentials = exponentials_of(distances(run, within)[2])
        total = total_of(exponentials)
        if not run.certify and isinstance(total, arb):
            total = total.mid()
        shares = quotients(run, site, exponentials, [total] * len(exponentials))
        if allowed is None:
            return shares
        rest = iter(shares)
        return [next(rest) if place else arb(0) for place in allowed]

    def compute(frame: Frame, x: Reals, mask: Flat | None = None) -> Reals:
        rows = masked.of(x, mask)
        if not frame.run.certify:
            try:
                return frame.run.reals(masked.rows.back([_shares(row, allowed) for _, row, allowed in rows]))
            except (Depends, ValueError):
                pass  # an undefined element or an empty row: with care, row by row
        return frame.run.reals(masked.rows.back([one(frame.run, at, row, allowed) for at, row, allowed in rows]))

    return compute


def _shares(row: Flat, allowed: Flat | None) -> Flat:
    """softmax of a row of points, not too far from 0.

    Depends where the mask is undefined, ValueError where care is due.
    """
    within = row if allowed is None else list(compress(row, allowed))
    if not min(within) > FAR_BELOW:
        raise ValueError("an element is far below the others")
    exponentials = [x.exp() for x in within]
    total = total_of(exponentials)
    if not isinstance(total, arb) or not total > ZERO or not total.is_finite():
        raise ValueError("an undefined element, an empty row, or exponents that leave flint's range")
    total = total.mid()
    if allowed is None:
        return [each / total for each in exponentials]
    rest = iter(exponentials)
    return [next(rest) / total if place else ZERO for place in allowed]


def plan_log_softmax(task: Task) -> Compute:
    """log_softmax"""
    masked = MaskedRows(task, 1)
    site = task.site

    def one(run: Run, at: int, row: Flat, allowed: Flat | None) -> Flat:
        within, undefined = _within(row, allowed)
        if undefined is not None or (allowed is not None and not within):
            return [undefined or masked.empty(at)] * len(row)
        if not row:
            return row
        _, rest, excess = log_sum(run, within)
        found = [element - excess for element in rest]
        if allowed is None:
            return found
        refused = Undefined(site, "is the logarithm of a probability that the mask makes 0")
        left = iter(found)
        return [next(left) if place else refused for place in allowed]

    def compute(frame: Frame, x: Reals, mask: Flat | None = None) -> Reals:
        rows = [one(frame.run, at, row, allowed) for at, row, allowed in masked.of(x, mask)]
        return frame.run.reals(masked.rows.back(rows))

    return compute


def plan_cross_entropy(task: Task) -> Compute:
    """cross_entropy: logsumexp(row) − row[target]."""
    masked = MaskedRows(task, 2)
    site = task.site
    logits = task.tensor(0)
    kept = tuple(logits.axes[axis] for axis in masked.rows.kept)
    named = Tensor("real", kept)
    places = align([named.axes, task.tensor(1).axes]).places[1]
    spread = repeated(named.sizes, places)

    def one(run: Run, at: int, row: Flat, allowed: Flat | None, target: Any) -> Element:
        within, undefined = _within(row, allowed)
        for found in (undefined, target):
            if isinstance(found, Undefined):
                return found
        if not within:
            return masked.empty(at)
        if allowed is not None and not allowed[target]:
            return Undefined(site, "is the entropy of a target that the mask refuses", at)
        near, _, excess = log_sum(run, within)
        return excess - (row[target] - near)

    def compute(frame: Frame, x: Reals, targets: Flat, mask: Flat | None = None) -> Reals:
        wanted = pick(spread, targets)
        rows = zip(masked.of(x, mask), wanted, strict=True)
        return frame.run.reals([one(frame.run, at, row, places, target) for (at, row, places), target in rows])

    return compute


PLANNERS: dict[str, Callable[[Task], Compute]] = {
    "sum": plan_total,
    "mean": plan_total,
    "prod": plan_product,
    "max": plan_extreme,
    "min": plan_extreme,
    "argmax": plan_position,
    "argmin": plan_position,
    "any": plan_logic,
    "all": plan_logic,
    "cumsum": plan_cumsum,
    "total": plan_tree_total,
    "logsumexp": plan_logsumexp,
    "softmax": plan_softmax,
    "log_softmax": plan_log_softmax,
    "cross_entropy": plan_cross_entropy,
}
