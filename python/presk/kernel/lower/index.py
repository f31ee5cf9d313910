"""Indices of kernels: integer expressions of loop counters, and positions along an axis that several loops make.

Sums and products with constants are folded, so that a plain counter stays one. A `Position` keeps the digits of an
index behind a split or a merge apart as long as they fit, because the verifier and the code generator want indices that
are affine in counters; only an axis cut elsewhere needs quotients and remainders. Called by the modules of this folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from presk.kernel.nodes import Binary, Expression, For, If, Integer, Statement, Variable

ZERO = Integer(0)


def plus(left: Expression, right: Expression) -> Expression:
    """left + right."""
    if isinstance(left, Integer) and isinstance(right, Integer):
        return Integer(left.value + right.value)
    if left == ZERO:
        return right
    return left if right == ZERO else Binary("+", left, right)


def times(left: Expression, factor: int) -> Expression:
    """left · factor."""
    if isinstance(left, Integer):
        return Integer(left.value * factor)
    if factor == 0:
        return ZERO
    return left if factor == 1 else Binary("*", left, Integer(factor))


def quotient(left: Expression, divisor: int) -> Expression:
    """left // divisor, the divisor positive."""
    if isinstance(left, Integer):
        return Integer(left.value // divisor)
    return left if divisor == 1 else Binary("//", left, Integer(divisor))


def remainder(left: Expression, divisor: int) -> Expression:
    """left % divisor, the divisor positive."""
    if isinstance(left, Integer):
        return Integer(left.value % divisor)
    return ZERO if divisor == 1 else Binary("%", left, Integer(divisor))


def blocked(block: Expression, width: int, offset: Expression) -> Expression:
    """block · width + offset, written out: the form of a tile's indices, the same for each of its rows."""
    return Binary("+", Binary("*", block, Integer(width)), offset)


def in_blocks(counter: int, whole: int, full: Sequence[Statement], last: Sequence[Statement]) -> For:
    """A loop over so many whole blocks and a last one that is shorter, so that one loop has all to be divided."""
    block, last_one = Variable("i", counter), Integer(whole)
    within = If(Binary("<", block, last_one), tuple(full)), If(Binary("==", block, last_one), tuple(last))
    return For(counter, whole + 1, within)


@dataclass(frozen=True, slots=True)
class Position:
    """Where an element stands along one axis: digits with their sizes, outermost first; none for an axis of size 1."""

    digits: tuple[tuple[Expression, int], ...]

    @property
    def size(self) -> int:
        """The size of the axis."""
        size = 1
        for _, each in self.digits:
            size *= each
        return size

    @property
    def index(self) -> Expression:
        """The index as one integer."""
        index: Expression = ZERO
        for digit, size in self.digits:
            index = plus(times(index, size), digit)
        return index


def at(index: Expression, size: int) -> Position:
    """The position of an index along an axis of this size."""
    return Position(((index, size),))


def join(positions: Iterable[Position]) -> Position:
    """The position along the axis that merges several, row-major."""
    return Position(tuple(digit for position in positions for digit in position.digits))


def cut(position: Position, sizes: Sequence[int]) -> tuple[Position, ...]:
    """The positions along the axes that an axis is split into, row-major."""
    found = _by_digits(position, sizes)
    if found is not None:
        return found
    whole, step = position.index, 1
    parts: list[Position] = []
    for place in range(len(sizes) - 1, -1, -1):
        divisor = max(sizes[place], 1)
        part = quotient(whole, step)
        parts.append(at(remainder(part, divisor) if place else part, sizes[place]))
        step *= divisor
    return tuple(reversed(parts))


def _by_digits(position: Position, sizes: Sequence[int]) -> tuple[Position, ...] | None:
    """The digits dealt out to the axes; None where an axis begins inside of one."""
    rest = [digit for digit in position.digits if digit[1] != 1]
    parts: list[Position] = []
    for size in reversed(sizes):
        taken: list[tuple[Expression, int]] = []
        product = 1
        while rest and product != size:
            digit = rest.pop()
            taken.insert(0, digit)
            product *= digit[1]
        if product != size:
            return None
        parts.insert(0, Position(tuple(taken)))
    return None if rest else tuple(parts)
