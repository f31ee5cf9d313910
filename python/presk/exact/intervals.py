"""Intervals: numbers whose bounds a ball can't hold.

A ball around `maximum(x, 0)` reaches below 0 where x's does, for its radius goes both ways; then a root is refused that
exists. So where a certified evaluation makes a number with a bound inside of its ball (a hull, a square, a magnitude, a
restriction), the element is an `Interval`, two exact ends, and arithmetic on it keeps them, rounded outward. It falls
back to the ball that holds it where it has no sign: its bounds tell nothing then that the ball doesn't.

Invariant: the ends are finite, exact, and differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Union

from flint import arb

ZERO = arb(0)
INFINITE = arb.pos_inf()


class Interval:
    """All numbers from `low` to `high`. Operators and methods are those of a ball; comparisons hold for all of it."""

    __slots__ = ("_hull", "high", "low")

    def __init__(self, low: arb, high: arb) -> None:
        self.low = low
        self.high = high
        self._hull: arb | None = None

    @property
    def hull(self) -> arb:
        """The ball around it."""
        if self._hull is None:
            self._hull = self.low.union(self.high)
        return self._hull

    def is_exact(self) -> bool:
        """Never: equal ends are a ball."""
        return False

    def is_finite(self) -> bool:
        """Always."""
        return True

    def lower(self) -> arb:
        """The lower end."""
        return self.low

    def upper(self) -> arb:
        """The upper end."""
        return self.high

    def mid(self) -> arb:
        """The middle, as a ball has it."""
        return self.hull.mid()

    def rad(self) -> arb:
        """The radius of the ball around it."""
        return self.hull.rad()

    def __pos__(self) -> Enclosure:
        return between((+self.low).lower(), (+self.high).upper())

    def __neg__(self) -> Enclosure:
        return Interval(-self.high, -self.low)

    def __abs__(self) -> Enclosure:
        return magnitude(self)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, (arb, int, Interval)):
            return NotImplemented
        low, high = ends(other)
        return _signed((self.low + low).lower(), (self.high + high).upper())

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -other if isinstance(other, (arb, int, Interval)) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return -self + other if isinstance(other, (arb, int)) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, (arb, int, Interval)):
            return NotImplemented
        return _signed(*_extremes([a * b for a in (self.low, self.high) for b in ends(other)]))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if not isinstance(other, (arb, int, Interval)):
            return NotImplemented
        return _divided(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _divided(other, self) if isinstance(other, (arb, int)) else NotImplemented

    def __pow__(self, exponent: int) -> Enclosure:
        """A whole power; of a negative exponent where 0 lies outside."""
        if exponent < 0:
            return 1 / self**-exponent
        if exponent % 2 == 0:
            return whole_power(self, exponent)
        return between((self.low**exponent).lower(), (self.high**exponent).upper())

    def __lt__(self, other: Any) -> Any:
        return self.high < other.low if isinstance(other, Interval) else self.high < other

    def __le__(self, other: Any) -> Any:
        return self.high <= other.low if isinstance(other, Interval) else self.high <= other

    def __gt__(self, other: Any) -> Any:
        return self.low > other.high if isinstance(other, Interval) else self.low > other

    def __ge__(self, other: Any) -> Any:
        return self.low >= other.high if isinstance(other, Interval) else self.low >= other

    def __eq__(self, other: Any) -> Any:
        return False

    def __ne__(self, other: Any) -> Any:
        return bool(self < other or self > other)

    __hash__ = object.__hash__

    def rsqrt(self) -> Enclosure:
        """1 / √x"""
        return between(self.high.rsqrt().lower(), self.low.rsqrt().upper())

    def erfc(self) -> Enclosure:
        """1 − erf x"""
        return between(self.high.erfc().lower(), self.low.erfc().upper())

    def sin(self) -> arb:
        """sin x"""
        return self.hull.sin()

    def cos(self) -> arb:
        """cos x"""
        return self.hull.cos()

    def floor(self) -> Enclosure:
        """⌊x⌋"""
        return between(self.low.floor().lower(), self.high.floor().upper())


Enclosure = Union[arb, Interval]


def _rising(name: str) -> Callable[[Interval], Enclosure]:
    apply: Callable[[arb], arb] = getattr(arb, name)

    def method(self: Interval) -> Enclosure:
        return between(apply(self.low).lower(), apply(self.high).upper())

    return method


for _name in ("exp", "expm1", "log", "log1p", "sqrt", "tanh", "erf"):
    setattr(Interval, _name, _rising(_name))


def between(low: arb, high: arb) -> Enclosure:
    """All numbers from one exact end to the other; a ball where they are equal, or no numbers."""
    if low.is_finite() and high.is_finite():
        return low if low == high else Interval(low, high)
    return low.union(high)


def ends(x: Any) -> tuple[arb, arb]:
    """A ball's or an interval's exact ends."""
    if isinstance(x, int):
        x = arb(x)
    return x.lower(), x.upper()


def _signed(low: arb, high: arb) -> Enclosure:
    """What arithmetic gives: an interval as long as it has a sign."""
    made = between(low, high)
    return made.hull if isinstance(made, Interval) and low < ZERO < high else made


def _extremes(products: list[arb]) -> tuple[arb, arb]:
    return min(each.lower() for each in products), max(each.upper() for each in products)


def _divided(x: Any, y: Any) -> Enclosure:
    low, high = ends(y)
    if low <= ZERO <= high:
        return arb.nan()
    return _signed(*_extremes([a / b for a in ends(x) for b in (low, high)]))


def whole_power(x: Enclosure, exponent: int) -> Enclosure:
    """x to an even power that isn't negative: the same as a ball's, but never below 0."""
    if isinstance(x, arb):
        found = x**exponent
        if found > ZERO or found.is_exact():
            return found
    size = magnitude(x)
    low, high = ends(size)
    return between(max(ZERO, (low**exponent).lower()), (high**exponent).upper())


def square(x: Enclosure) -> Enclosure:
    """x², never below 0."""
    if isinstance(x, arb):
        found = x * x
        if found > ZERO or found.is_exact():
            return found
    return whole_power(x, 2)


def magnitude(x: Enclosure) -> Enclosure:
    """|x|, never below 0."""
    if isinstance(x, arb):
        found = abs(x)
        if found > ZERO or found.is_exact():
            return found
    low, high = ends(x)
    if low >= ZERO:
        return x
    if high <= ZERO:
        return -x
    return between(ZERO, max(-low, high))


def nonnegative(x: Enclosure) -> Enclosure:
    """The part that isn't below 0."""
    return x if x >= ZERO else ZERO if x <= ZERO else clipped(x, ZERO, None)


def hull_of(*parts: Enclosure) -> Enclosure:
    """All numbers from the lowest of the parts to the highest."""
    bounds = [ends(part) for part in parts]
    return between(min(low for low, _ in bounds), max(high for _, high in bounds))


def clipped(x: Enclosure, low: arb | None, high: arb | None) -> Enclosure:
    """The part of it from `low` to `high` (None: no bound). All of it where that would be empty."""
    least, most = ends(x)
    if low is not None:
        least = max(least, low)
    if high is not None:
        most = min(most, high)
    return x if least > most else between(least, most)
