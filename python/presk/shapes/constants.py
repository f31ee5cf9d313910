"""Exact constants: expressions of literals, nats and real constants, never rounded here.

`1 / sqrt(D)` is one exact number (language.md 4); it is rounded once, by whoever reads it, to the type it is read in.
A constant is rational where that can be seen by exact rational arithmetic, else an application of a function to
constants. While a program is checked with nothing bound, a leaf may be a symbolic size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt
from typing import Union

from presk.shapes.poly import Poly, maximum, minimum, number

BITS_LIMIT = 1 << 13
"""Bits of a rational constant's numerator or denominator; larger ones are refused (E4005).

Twice the range of f64, and few enough digits for Python to print and read an integer back.
"""

NODES_LIMIT = 256
"""Applications and numbers in one irrational or symbolic constant; `B = A * A` repeated doubles them every time."""

SYMBOLIC_POWER_LIMIT = 16
"""The largest power of a symbolic size that is multiplied out."""


class ConstantTooLarge(ArithmeticError):
    """A rational constant past BITS_LIMIT, or another past NODES_LIMIT."""


class ConstantUndefined(ArithmeticError):
    """A constant outside its function's domain, such as `1 / 0` or `sqrt(-1)`."""


@dataclass(frozen=True, slots=True)
class Rational:
    """An exact rational number."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Symbolic:
    """A size with free variables, as a real number."""

    size: Poly


@dataclass(frozen=True, slots=True)
class Apply:
    """A primitive by its name applied to constants, at least one of the results being irrational or symbolic."""

    function: str
    arguments: tuple[Constant, ...]
    nodes: int = field(default=1, compare=False, repr=False)


Constant = Union[Rational, Symbolic, Apply]


def rational(value: int | Fraction) -> Rational:
    """The constant that is this number."""
    return Rational(Fraction(value))


def from_size(size: Poly) -> Constant:
    """The constant that is this size."""
    value = size.constant
    return Symbolic(size) if value is None else Rational(value)


def apply(function: str, *arguments: Constant) -> Constant:
    """`function(arguments)` with rational arithmetic carried out; undefined and oversized values are refused.

    Raises ConstantUndefined or ConstantTooLarge.
    """
    values = [argument.value for argument in arguments if isinstance(argument, Rational)]
    if len(values) == len(arguments):
        result = _rational_result(function, values)
        if result is not None:
            if max(result.numerator.bit_length(), result.denominator.bit_length()) > BITS_LIMIT:
                raise ConstantTooLarge
            return Rational(result)
    symbolic = _symbolic_result(function, arguments)
    if symbolic is not None:
        return symbolic
    nodes = 1 + sum(argument.nodes if isinstance(argument, Apply) else 1 for argument in arguments)
    if nodes > NODES_LIMIT:
        raise ConstantTooLarge
    return Apply(function, arguments, nodes)


def substitute(constant: Constant, values: Mapping[str, Poly]) -> Constant:
    """The constant with sizes' variables replaced."""
    match constant:
        case Rational():
            return constant
        case Symbolic(size):
            return from_size(size.substitute(values))
        case Apply(function, arguments):
            return apply(function, *(substitute(argument, values) for argument in arguments))


INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def show(constant: Constant) -> str:
    """PSK text that reads back as the same constant."""
    match constant:
        case Rational(value):
            if value.denominator == 1:
                return str(value.numerator)
            return _decimal(value) or f"({value.numerator} / {value.denominator})"
        case Symbolic(size):
            return f"({size})"
        case Apply("neg", (argument,)):
            return f"(-{show(argument)})"
        case Apply(function, (left, right)) if function in INFIX:
            return f"({show(left)} {INFIX[function]} {show(right)})"
        case Apply(function, arguments):
            return f"{function}({', '.join(show(argument) for argument in arguments)})"


def as_size(constant: Constant) -> Poly | None:
    """The size this constant is, or None where it isn't one (irrational, or not a whole number)."""
    match constant:
        case Rational(value):
            return number(value) if value.denominator == 1 else None
        case Symbolic(size):
            return size
        case Apply():
            return None


def _decimal(value: Fraction) -> str | None:
    """A finite decimal, where the denominator has no factors but 2 and 5 and the text stays short."""
    rest, twos, fives = value.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    digits = max(twos, fives)
    if rest != 1 or digits > 1100:
        return None
    scaled = abs(value.numerator) * 10**digits // value.denominator
    sign = "-" if value < 0 else ""
    text = str(scaled)
    if digits > 20 and digits > len(text) + 5:
        return f"{sign}{text}e-{digits}"
    text = text.rjust(digits + 1, "0")
    return f"{sign}{text[:-digits]}.{text[-digits:]}"


def _rational_result(function: str, values: list[Fraction]) -> Fraction | None:
    match function, values:
        case "neg", [a]:
            return -a
        case "abs", [a]:
            return abs(a)
        case "square", [a]:
            return a * a
        case "add", [a, b]:
            return a + b
        case "sub", [a, b]:
            return a - b
        case "mul", [a, b]:
            return a * b
        case (("div" | "recip"), _):
            numerator, denominator = (values[0], values[1]) if function == "div" else (Fraction(1), values[0])
            if denominator == 0:
                raise ConstantUndefined("a division by zero")
            return numerator / denominator
        case "maximum", [a, b]:
            return max(a, b)
        case "minimum", [a, b]:
            return min(a, b)
        case "relu", [a]:
            return max(a, Fraction(0))
        case "floor", [a]:
            return Fraction(a.numerator // a.denominator)
        case "sign", [a]:
            return Fraction((a > 0) - (a < 0))
        case "pow", [a, b]:
            return _rational_power(a, b)
        case (("sqrt" | "rsqrt"), [a]):
            return _rational_root(function, a)
        case (("log" | "log1p"), [a]):
            return _rational_log(function, a)
        case (("exp" | "sin" | "tanh" | "erf" | "erfc" | "expm1" | "cos"), [a]) if a == 0:
            return Fraction(1 if function in ("exp", "cos", "erfc") else 0)
        case _:
            return None


def _rational_power(base: Fraction, exponent: Fraction) -> Fraction | None:
    if exponent.denominator != 1:
        if base < 0:
            raise ConstantUndefined("a fractional power of a negative number")
        return None if base not in (0, 1) else base
    power = int(exponent)
    if base == 0 and power < 0:
        raise ConstantUndefined("a negative power of zero")
    if base not in (0, 1, -1):
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if abs(power) * max(bits - 1, 1) > BITS_LIMIT:
            if base.denominator == 1 and power > 0:
                raise ConstantTooLarge
            return None
    return base**power if base not in (1, -1) else (base if power % 2 else Fraction(1))


def _rational_root(function: str, value: Fraction) -> Fraction | None:
    if value < 0 or (value == 0 and function == "rsqrt"):
        raise ConstantUndefined(f"{function} of {value}")
    root = Fraction(isqrt(value.numerator), isqrt(value.denominator))
    if root * root != value:
        return None
    return root if function == "sqrt" else 1 / root


def _rational_log(function: str, value: Fraction) -> Fraction | None:
    argument = value if function == "log" else value + 1
    if argument <= 0:
        raise ConstantUndefined(f"{function} of {value}")
    return Fraction(0) if argument == 1 else None


def _symbolic_result(function: str, arguments: tuple[Constant, ...]) -> Constant | None:
    """Field arithmetic on symbolic sizes stays a size, so that it can be compared and used as one."""
    sizes: list[Poly] = []
    for argument in arguments:
        match argument:
            case Rational(value):
                sizes.append(number(value))
            case Symbolic(size):
                sizes.append(size)
            case Apply():
                return None
    match function, sizes:
        case "neg", [a]:
            return from_size(-a)
        case "add", [a, b]:
            return from_size(a + b)
        case "sub", [a, b]:
            return from_size(a - b)
        case "mul", [a, b]:
            return from_size(a * b)
        case "div", [a, b] if b.terms:
            return from_size(a / b)
        case "recip", [a] if a.terms:
            return from_size(number(1) / a)
        case "square", [a]:
            return from_size(a * a)
        case "maximum", [a, b]:
            return from_size(maximum(a, b))
        case "minimum", [a, b]:
            return from_size(minimum(a, b))
        case "abs", [a]:
            return from_size(maximum(a, -a))
        case "relu", [a]:
            return from_size(maximum(a, number(0)))
        case "pow", [a, b] if b.whole is not None and 0 <= b.whole <= SYMBOLIC_POWER_LIMIT:
            power = number(1)
            for _ in range(b.whole):
                power = power * a
            return from_size(power)
        case _:
            return None
