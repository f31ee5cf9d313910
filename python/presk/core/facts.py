"""What is known of a value without knowing it: its sign, whether it has a bound, whether a machine's may be no number.

A `Fact` says what may be; the rules of `fact_rules` say what a primitive makes of its operands'. A program's arguments
are numbers. Signs are the exact value's. An infinity or NaN is a machine's, or a value that is undefined. Called by
`marks`.

Two machines are looked at at once, one bit each. On one of them (`SURE`) products of numbers stay numbers, so that
only a quotient, a root, a logarithm, a power or an exponential makes an infinity. On the other (`ANY` holds both) a
product of two numbers without bounds may overflow. Sums don't on either.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

SURE = 1
"""The machine whose products stay numbers."""

SOFT = 2
"""The machine whose products may overflow, alone."""

ANY = SURE | SOFT
"""Both."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What a value may be: below 0, 0, above; `tiny`: so near to 0 that a machine has 0; `large`: without a bound.

    `infinite` and `nan`: on which of the two machines it may be an infinity or NaN.
    """

    negative: bool = False
    zero: bool = False
    positive: bool = False
    tiny: bool = False
    large: bool = False
    infinite: int = 0
    nan: int = 0

    @property
    def near(self) -> bool:
        """Whether a machine may have 0."""
        return self.zero or self.tiny

    @property
    def wild(self) -> int:
        """Where it may be no number."""
        return self.infinite | self.nan


NOTHING = Fact()
"""Of no value at all: joined to another it changes nothing."""

NUMBER = Fact(negative=True, zero=True, positive=True, tiny=True, large=True)
"""Any number: an argument."""

UNKNOWN = replace(NUMBER, infinite=ANY, nan=ANY)
"""Anything."""

NAT = Fact(zero=True, positive=True)
"""A nat, a mask's 0 or 1."""

ONE = Fact(positive=True)
ZERO = Fact(zero=True)


def joined(*facts: Fact) -> Fact:
    """Of a value that is one of these."""
    return Fact(
        any(each.negative for each in facts),
        any(each.zero for each in facts),
        any(each.positive for each in facts),
        any(each.tiny for each in facts),
        any(each.large for each in facts),
        _any(*(each.infinite for each in facts)),
        _any(*(each.nan for each in facts)),
    )


def _any(*where: int) -> int:
    found = 0
    for each in where:
        found |= each
    return found


def when(condition: bool, where: int = ANY) -> int:
    """The machines, if the condition holds."""
    return where if condition else 0


def negated(x: Fact) -> Fact:
    """−x"""
    return replace(x, negative=x.positive, positive=x.negative)


def added(x: Fact, y: Fact) -> Fact:
    """x + y"""
    mixed = (x.negative and y.positive) or (x.positive and y.negative)
    return Fact(
        x.negative or y.negative,
        mixed or (x.zero and y.zero),
        x.positive or y.positive,
        mixed or (x.near and y.near),
        x.large or y.large,
        x.infinite | y.infinite,
        x.nan | y.nan | (x.infinite & y.infinite if mixed else 0),
    )


def multiplied(x: Fact, y: Fact) -> Fact:
    """x · y"""
    return Fact(
        (x.negative and y.positive) or (x.positive and y.negative),
        x.zero or y.zero,
        (x.positive and y.positive) or (x.negative and y.negative),
        x.tiny or y.tiny,
        x.large or y.large,
        x.infinite | y.infinite | when(x.large and y.large, SOFT),
        x.nan | y.nan | when(y.near, x.infinite) | when(x.near, y.infinite),
    )


def squared(x: Fact) -> Fact:
    """x²"""
    return Fact(False, x.zero, x.negative or x.positive, x.tiny, x.large, x.infinite | when(x.large, SOFT), x.nan)


def inverted(x: Fact) -> Fact:
    """1 / x"""
    return Fact(x.negative, False, x.positive, x.large or bool(x.infinite), x.near, when(x.near), x.nan)


def divided(x: Fact, y: Fact) -> Fact:
    """x / y"""
    found = multiplied(x, inverted(y))
    return replace(found, nan=found.nan | x.infinite & y.infinite)


def rooted(x: Fact) -> Fact:
    """√x"""
    return replace(x, negative=False, nan=x.nan | when(x.negative))


def summed(x: Fact, count: int) -> Fact:
    """The sum of so many values that x says something of: as many signs as they have, and no overflow."""
    if count == 0:
        return ZERO
    mixed = x.negative and x.positive
    return replace(x, zero=x.zero or mixed, tiny=x.tiny or mixed, nan=x.nan | (x.infinite if mixed else 0))


def contracted(x: Fact, y: Fact, count: int) -> Fact:
    """A sum of products, whose operands were stored: they overflow on neither machine."""
    term = multiplied(x, y)
    term = replace(term, infinite=_settled(x.infinite | y.infinite), nan=_settled(term.nan))
    return summed(term, count)


def _settled(where: int) -> int:
    """Both machines as the one whose products stay numbers."""
    return ANY if where & SURE else 0
