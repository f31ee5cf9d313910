"""Elementwise primitives: functions of one operand, arithmetic, comparisons and logic of two, and `where` of three.

Operands are laid along the result's axes as `shapes.align` says. Sums and differences of values held as matrices stay
matrices: a row or column that repeats is multiplied with ones, at flint's speed.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from operator import add, eq, ge, gt, le, lt, mul, ne, sub
from typing import Any, Literal

from flint import arb, arb_mat

from presk.exact import decisions
from presk.exact.context import Frame, Run
from presk.exact.elements import Element, Site, Undefined, ball_of, enclosure_of
from presk.exact.layouts import Flat, Picker, pick, repeated
from presk.exact.reals import OLDEST, NoBalls, Reals, ones
from presk.exact.rules.exponentials import powers
from presk.exact.rules.functions import ARITHMETIC, FUNCTIONS, quotients, squares
from presk.exact.rules.task import Compute, Task, Value, entries, points, volume
from presk.primitives.attributes import cotangents_of
from presk.shapes.align import align

Spread = Literal["same", "scalar", "trailing", "leading", "other"]
"""How an operand lies along the result: it is all of it; one number; its last axes; its first axes; anything else."""


class Operand:
    """How one operand is laid along the result's axes."""

    def __init__(self, sizes: tuple[int, ...], places: tuple[int, ...]) -> None:
        self.chosen: Picker = repeated(sizes, places)
        self.own = volume([sizes[place] for place in places])
        self.length = volume(sizes)
        rank = len(sizes)
        if list(places) == list(range(rank)):
            self.spread: Spread = "same"
        elif self.own == 1:
            self.spread = "scalar"
        elif list(places) == list(range(rank - len(places), rank)):
            self.spread = "trailing"
        elif list(places) == list(range(len(places))):
            self.spread = "leading"
        else:
            self.spread = "other"

    def along(self, flat: Flat) -> Flat:
        """The operand's element for each of the result's."""
        return pick(self.chosen, flat)


def laid(task: Task) -> list[Operand]:
    """Every operand's place along the result."""
    alignment = align([task.tensor(at).axes for at in range(len(task.operands))])
    sizes = task.output.sizes
    return [Operand(sizes, places) for places in alignment.places]


def plan_unary(task: Task) -> Compute:
    """A function of one real operand."""
    name, site = task.site.primitive, task.site
    arithmetic = ARITHMETIC.get(name)
    if arithmetic is not None:

        def grow(frame: Frame, x: Reals) -> Reals:
            if name == "square" and frame.run.certify:
                return frame.run.reals(squares(x.entries()))
            flat = entries_within_age(x)
            return frame.run.reals([arithmetic(element) for element in flat], x.age + 1)

        return _negate if name == "neg" else grow
    function = FUNCTIONS[name]

    def compute(frame: Frame, x: Reals) -> Reals:
        return frame.run.reals(function(frame.run, site, x.points()))

    return compute


def _negate(frame: Frame, x: Reals) -> Reals:
    if x.blocks is not None:
        return Reals(blocks=tuple(-block for block in x.blocks), settled=x.settled, age=x.age)
    return Reals([-element for element in x.entries()], settled=x.settled, age=x.age)


def entries_within_age(x: Reals) -> Flat:
    """The elements, whose radii may be left to grow a little longer."""
    if x.age > OLDEST:
        x.settle()
    return x.entries()


def plan_sum(task: Task) -> Compute:
    """add and sub of reals, add of nats."""
    operate = add if task.site.primitive == "add" else sub
    if task.output.kind == "nat":
        return _plan_plain(task, operate)
    left, right = laid(task)

    def compute(frame: Frame, x: Reals, y: Reals) -> Reals:
        if x.blocks is not None or y.blocks is not None:
            found = _sum_of_blocks(left, right, x, y, operate)
            if found is not None:
                return Reals(blocks=found, settled=frame.run.certify, age=max(x.age, y.age) + 1)
        flat = _map(operate, left, right, entries_within_age(x), entries_within_age(y))
        return frame.run.reals(flat, max(x.age, y.age) + 1)

    return compute


def _map(operate: Callable[[Any, Any], Any], left: Operand, right: Operand, x: Flat, y: Flat) -> Flat:
    if right.spread == "scalar":
        return list(map(operate, left.along(x), repeat(y[0], left.length)))
    if left.spread == "scalar":
        return list(map(operate, repeat(x[0], right.length), right.along(y)))
    return list(map(operate, left.along(x), right.along(y)))


def _sum_of_blocks(
    left: Operand, right: Operand, x: Reals, y: Reals, operate: Callable[[Any, Any], Any]
) -> tuple[arb_mat, ...] | None:
    """The sum as matrices, where one operand is held so and the other can be at little cost."""
    leader = x if left.spread == "same" and x.blocks is not None else y
    other, place = (y, right) if leader is x else (x, left)
    blocks = leader.blocks
    if not blocks or (left if leader is x else right).spread != "same":
        return None
    for each in (x, y):
        if each.age > OLDEST:
            each.settle()
    try:
        spread = _as_blocks_along(place, other, leader.blocks or (), leader)
    except NoBalls:
        return None
    if spread is None:
        return None
    pairs = zip(leader.blocks or (), spread, strict=True)
    if leader is x:
        return tuple(operate(mine, theirs) for mine, theirs in pairs)
    return tuple(operate(theirs, mine) for mine, theirs in pairs)


def _as_blocks_along(
    place: Operand, other: Reals, blocks: tuple[arb_mat, ...], leader: Reals
) -> tuple[arb_mat, ...] | None:
    rows, columns = blocks[0].nrows(), blocks[0].ncols()
    if place.spread == "same":
        return other.as_blocks(len(blocks), rows, columns)
    if place.spread == "trailing" and place.own == columns:
        row = other.kept(("matrix", 1, columns), lambda: Reals(other.entries()).as_blocks(1, 1, columns)[0])
        return (ones(rows, 1) * row,) * len(blocks)
    if place.spread == "leading" and place.own == rows * len(blocks):
        return tuple(column * ones(1, columns) for column in other.as_blocks(len(blocks), rows, 1))
    return None


def plan_product(task: Task) -> Compute:
    """mul of reals or nats."""
    if task.output.kind == "nat":
        return _plan_plain(task, mul)
    left, right = laid(task)
    marked = cotangents_of(task.attributes)

    def compute(frame: Frame, x: Reals, y: Reals) -> Reals:
        if x is y and frame.run.certify:
            return frame.run.reals(squares(x.entries()))
        age = x.age + y.age
        scaled = _scaled(x, left, y, right, mul) or _scaled(y, right, x, left, mul)
        if scaled is not None:
            return Reals(blocks=scaled, settled=frame.run.certify, age=age)
        flat = _map(mul, left, right, entries_within_age(x), entries_within_age(y))
        if marked:
            _leave_out(flat, marked, left.along(x.entries()), right.along(y.entries()))
        return frame.run.reals(flat, age)

    return compute


def _scaled(
    x: Reals, place: Operand, factor: Reals, factor_place: Operand, operate: Callable[[Any, Any], Any]
) -> tuple[arb_mat, ...] | None:
    """The product of a matrix and a number."""
    if x.blocks is None or place.spread != "same" or factor_place.spread != "scalar" or x.age > OLDEST:
        return None
    number = factor.entries()[0]
    return tuple(operate(block, number) for block in x.blocks) if isinstance(number, arb) else None


def _leave_out(flat: Flat, marked: tuple[int, ...], x: Flat, y: Flat) -> None:
    """In an adjoint a term is 0 where a cotangent is exactly 0, whatever the other operand is."""
    for at, found in enumerate(flat):
        if isinstance(found, Undefined):
            zero = next((each for number in marked if is_zero(each := (x, y)[number][at])), None)
            flat[at] = found if zero is None else zero


def is_zero(element: Element) -> bool:
    """Whether an element is exactly 0."""
    return not isinstance(element, Undefined) and bool(ball_of(element).is_zero())


def plan_quotient(task: Task) -> Compute:
    """div of reals."""
    left, right = laid(task)
    site = task.site
    marked = cotangents_of(task.attributes)

    def compute(frame: Frame, x: Reals, y: Reals) -> Reals:
        below = y.points()
        if right.spread == "scalar" and not frame.run.certify and x.blocks is not None and is_nonzero(below[0]):
            scaled = _scaled(x, left, y, right, lambda block, number: block / number)
            if scaled is not None:
                return Reals(blocks=scaled, age=x.age + 1)
        spread = right.along(below) if right.spread != "scalar" else below * right.length
        flat = quotients(frame.run, site, left.along(x.points()), spread)
        if marked:
            _leave_out(flat, marked, left.along(x.entries()), spread)
        return frame.run.reals(flat)

    return compute


def is_nonzero(element: Element) -> bool:
    """Whether an element is a number other than 0."""
    return not isinstance(element, Undefined) and bool(enclosure_of(element) != 0)


def plan_power(task: Task) -> Compute:
    """pow of reals."""
    left, right = laid(task)
    site = task.site

    def compute(frame: Frame, x: Reals, y: Reals) -> Reals:
        return frame.run.reals(powers(frame.run, site, left.along(x.points()), right.along(y.points())))

    return compute


def plan_extreme(task: Task) -> Compute:
    """maximum and minimum."""
    left, right = laid(task)
    choose = decisions.maximum if task.site.primitive == "maximum" else decisions.minimum

    def compute(frame: Frame, x: Reals, y: Reals) -> Reals:
        run = frame.run
        pairs = zip(left.along(x.points()), right.along(y.points()), strict=True)
        return Reals([choose(run, a, b) for a, b in pairs], settled=True, age=0)

    return compute


Decide = Callable[[Run, Site, Element, Element], Any]
COMPARISONS: dict[str, tuple[Callable[[Any, Any], Any], Decide]] = {
    "eq": (eq, decisions.equal),
    "ne": (ne, lambda run, site, x, y: negation(decisions.equal(run, site, x, y))),
    "lt": (lt, decisions.less),
    "le": (le, decisions.at_most),
    "gt": (gt, lambda run, site, x, y: decisions.less(run, site, y, x)),
    "ge": (ge, lambda run, site, x, y: decisions.at_most(run, site, y, x)),
}
"""How points or nats are compared, and how balls are."""


def negation(value: Any) -> Any:
    """not, which an undefined value passes through."""
    return value if isinstance(value, Undefined) else not value


def plan_comparison(task: Task) -> Compute:
    """Comparisons of reals or nats."""
    operate, decide = COMPARISONS[task.site.primitive]
    if task.tensor(0).kind == "nat" and task.tensor(1).kind == "nat":
        return _plan_plain(task, operate)
    left, right = laid(task)
    site = task.site

    def compute(frame: Frame, x: Value, y: Value) -> Flat:
        a, b = left.along(points(x)), right.along(points(y))
        if not frame.run.certify:
            return list(map(operate, a, b))
        return [decide(frame.run, site, p, q) for p, q in zip(a, b, strict=True)]

    return compute


def _plan_plain(task: Task, operate: Callable[[Any, Any], Any]) -> Compute:
    """Arithmetic, comparisons and logic of whole lists of nats or booleans."""
    left, right = laid(task)

    def compute(frame: Frame, x: Flat, y: Flat) -> Flat:
        return list(map(operate, left.along(x), right.along(y)))

    return compute


def _negations(frame: Frame, x: Flat) -> Flat:
    return [negation(value) for value in x]


def _both(x: Any, y: Any) -> Any:
    if x is False or y is False:
        return False
    return y if x is True else x if y is True else in_doubt(x, y)


def _either(x: Any, y: Any) -> Any:
    if x is True or y is True:
        return True
    return y if x is False else x if y is False else in_doubt(x, y)


def in_doubt(first: Undefined, *others: Any) -> Undefined:
    """What depends on all of these, some without a value: the first, with a value for certain only if all have one."""
    return first.closed() if any(isinstance(each, Undefined) and not each.open for each in others) else first


def plan_logic(task: Task) -> Compute:
    """and, or, not. What decides alone doesn't depend on the other operand."""
    if task.site.primitive == "not":
        return _negations
    return _plan_plain(task, _both if task.site.primitive == "and" else _either)


def plan_where(task: Task) -> Compute:
    """Elements of a where the mask holds, else of b."""
    mask, left, right = laid(task)
    real = task.output.kind == "real"

    def compute(frame: Frame, chosen: Flat, x: Value, y: Value) -> Value:
        rows = zip(mask.along(chosen), left.along(entries(x)), right.along(entries(y)), strict=True)
        flat = [a if m is True else b if m is False else in_doubt(m, a, b) for m, a, b in rows]
        if not real:
            return flat
        return Reals(flat, settled=x.settled and y.settled, age=max(x.age, y.age))

    return compute


def inject(nats: Flat) -> Reals:
    """Nats as exact reals."""
    return Reals([each if isinstance(each, Undefined) else arb(each) for each in nats], settled=True, age=0)


def plan_injection(task: Task) -> Compute:
    """inject"""

    def compute(frame: Frame, nats: Flat) -> Reals:
        return inject(nats)

    return compute


PLANNERS: dict[str, Callable[[Task], Compute]] = {
    **dict.fromkeys((*ARITHMETIC, *FUNCTIONS), plan_unary),
    "add": plan_sum,
    "sub": plan_sum,
    "mul": plan_product,
    "div": plan_quotient,
    "pow": plan_power,
    "maximum": plan_extreme,
    "minimum": plan_extreme,
    **dict.fromkeys(COMPARISONS, plan_comparison),
    "and": plan_logic,
    "or": plan_logic,
    "not": plan_logic,
    "where": plan_where,
    "inject": plan_injection,
}
