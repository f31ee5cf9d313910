"""Arithmetic on what is known at binding: numbers and truths.

Numbers are exact constants. An operation of whole numbers that gives a whole number keeps it usable as a size; `8 /
3` is an exact real. Shared by sizes in types and by expressions in bodies.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from presk.check.values import Number, Truth
from presk.shapes import constants
from presk.shapes.constants import ConstantTooLarge, ConstantUndefined, Rational
from presk.shapes.poly import Poly, provably_at_most
from presk.shapes.types import SIZE_LIMIT
from presk.text.diagnostics import PreskError, fail
from presk.text.spans import Span

OPERATIONS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "**": "pow"}
"""The primitives of the arithmetic operators."""

ARITHMETIC = frozenset(OPERATIONS) | {"//"}
"""The operators that give a number."""

COMPARISONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
"""The primitives of the comparison operators."""

WHOLE_OPERATIONS = frozenset("add sub mul div pow maximum minimum neg abs square relu sign".split())
"""Primitives that make a nat of nats where the result is a whole number."""

FOLDED = frozenset(
    "neg abs square sqrt rsqrt recip exp expm1 log log1p tanh sin cos erf erfc sigmoid softplus relu gelu gelu_tanh "
    "silu sign floor add sub mul div pow maximum minimum".split()
)
"""Primitives that give an exact constant on constants."""


def fold(primitive: str, operands: Sequence[Number], span: Span) -> Number:
    """The exact constant `primitive(operands)`. Raises E4005 or E4006."""
    try:
        value = constants.apply(primitive, *(operand.value for operand in operands))
    except ConstantUndefined as error:
        raise fail("E4006", f"this constant is undefined: {error}", span) from None
    except ConstantTooLarge:
        hint = f"an exact rational constant has at most {constants.BITS_LIMIT} bits"
        raise fail("E4005", "this constant is too large to be kept exactly", span, hint) from None
    whole = primitive in WHOLE_OPERATIONS and all(operand.nat for operand in operands)
    return Number(value, whole and constants.as_size(value) is not None)


def binary(operator: str, left: Number, right: Number, span: Span) -> Number | Truth:
    """`left operator right` for an arithmetic or comparison operator."""
    if operator in COMPARISONS:
        return Truth(compare(operator, left, right, span))
    return arithmetic(operator, left, right, span)


def arithmetic(operator: str, left: Number, right: Number, span: Span) -> Number:
    """`left operator right` for one of ARITHMETIC."""
    if operator == "//":
        return _floor_division(left, right, span)
    return fold(OPERATIONS[operator], (left, right), span)


def compare(operator: str, left: Number, right: Number, span: Span) -> bool | None:
    """The truth of a comparison, or None while it depends on what is not bound."""
    a, b = left.value, right.value
    if isinstance(a, Rational) and isinstance(b, Rational):
        return _decide(operator, a.value, b.value)
    if a == b:
        return operator in ("==", "<=", ">=")
    sizes = (constants.as_size(a), constants.as_size(b))
    if None in sizes:
        if isinstance(a, constants.Apply) or isinstance(b, constants.Apply):
            hint = "a condition known when bound compares nats and rational constants"
            raise fail("E3005", "these constants can't be compared exactly here", span, hint)
    return None


def as_size(number: Number, span: Span) -> Poly:
    """The size this number is. Raises E4003 where it is no whole number, E4004 where it is negative."""
    size = constants.as_size(number.value)
    if size is None or not number.nat:
        shown = constants.show(number.value)
        message = f"{shown} is not a whole number" if size is None else f"{shown} is a real here, not a nat"
        raise fail("E4003", message, span, "a size is made of nats by + - * / //, maximum and minimum")
    if size.constant is not None and (size.whole is None or size.whole < 0):
        what = "is not a whole number" if size.whole is None else "is negative"
        raise fail("E4004", f"the size {size} {what}", span)
    if size.whole is not None and size.whole >= SIZE_LIMIT:
        raise too_large(size, span)
    return size


def too_large(size: Poly, span: Span) -> PreskError:
    """The diagnostic for a size or bound that reaches SIZE_LIMIT."""
    return fail("E4005", f"the size {size} is too large", span, "sizes and bounds are below 2 ** 62")


def size_number(size: Poly) -> Number:
    """The number that is this size."""
    return Number(constants.from_size(size), nat=True)


def _floor_division(left: Number, right: Number, span: Span) -> Number:
    if not (left.nat and right.nat):
        raise fail("E3001", "`//` takes nats", span, "`floor(a / b)` rounds reals down")
    try:
        return size_number(_size(left) // _size(right))
    except ZeroDivisionError:
        raise fail("E4006", "this constant is undefined: a division by zero", span) from None


def _size(number: Number) -> Poly:
    size = constants.as_size(number.value)
    assert size is not None, "a nat number is a size"
    return size


def _decide(operator: str, a: Fraction, b: Fraction) -> bool:
    match operator:
        case "==":
            return a == b
        case "!=":
            return a != b
        case "<":
            return a < b
        case "<=":
            return a <= b
        case ">":
            return a > b
        case _:
            return a >= b


def at_most(small: Poly, large: Poly) -> bool:
    """Whether `small ≤ large` is certain."""
    return small == large or provably_at_most(small, large)
