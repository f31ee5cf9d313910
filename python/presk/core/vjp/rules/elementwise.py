"""Derivatives of the elementwise primitives.

The forms are those that lose no digits: 1 − tanh² and sigmoid·(1 − sigmoid) are taken as products of two sigmoids,
whose errors are relative. They are smooth wherever the function is, so that they can be differentiated again. At kinks:
relu′(0) = abs′(0) = 0, and equals share the derivative of maximum and minimum in halves.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from presk.core.nodes import Literal, Operand
from presk.core.vjp.pullback import Pullback
from presk.core.vjp.scope import literal
from presk.shapes import constants
from presk.shapes.constants import Constant

Rule = Callable[[Pullback], None]

HALF = Fraction(1, 2)
PI = constants.apply("pi", constants.rational(1))
CUBIC = constants.rational(Fraction(44715, 1000000))
"""The factor of x³ in gelu_tanh."""


def _root_of(value: Constant) -> Constant:
    return constants.apply("sqrt", value)


SLOPE_OF_ERF = constants.apply("div", constants.rational(2), _root_of(PI))
"""2/√π"""

DENSITY_AT_0 = constants.apply("rsqrt", constants.apply("mul", constants.rational(2), PI))
"""1/√(2π)"""

SLOPE_OF_GELU_TANH = _root_of(constants.apply("div", constants.rational(2), PI))
"""√(2/π)"""


def by(slope: Callable[[Pullback], Operand]) -> Rule:
    """The rule of f(x) whose derivative `slope` writes."""

    def rule(p: Pullback) -> None:
        p.give(0, p.times(p.ct, slope(p)))

    return rule


def _neg(p: Pullback) -> None:
    p.give(0, p.do("neg", p.ct))


def _sqrt(p: Pullback) -> None:
    p.give(0, p.over(p.ct, p.do("mul", 2, p.y())))


def _rsqrt_slope(p: Pullback) -> Operand:
    """−y³/2"""
    y = p.y()
    return p.do("mul", p.do("mul", -HALF, y), p.do("square", y))


def _log(p: Pullback) -> None:
    p.give(0, p.over(p.ct, p.x()))


def _log1p(p: Pullback) -> None:
    p.give(0, p.over(p.ct, p.do("add", 1, p.x())))


def _bell(p: Pullback, x: Operand) -> Operand:
    """sigmoid(x)·sigmoid(−x), the derivative of sigmoid at x."""
    return p.do("mul", p.do("sigmoid", x), p.do("sigmoid", p.do("neg", x)))


def _tanh_slope(p: Pullback) -> Operand:
    """1 − tanh²(x) = 4·sigmoid(2x)·sigmoid(−2x)"""
    return p.do("mul", 4, _bell(p, p.do("mul", 2, p.x())))


def _sigmoid_slope(p: Pullback) -> Operand:
    return p.do("mul", p.y(), p.do("sigmoid", p.do("neg", p.x())))


def _erf_slope(p: Pullback) -> Operand:
    return p.do("mul", literal(SLOPE_OF_ERF), p.do("exp", p.do("neg", p.do("square", p.x()))))


def _gelu_slope(p: Pullback) -> Operand:
    """Φ(x) + x·φ(x)"""
    x = p.x()
    root = literal(_root_of(constants.rational(2)))
    share = p.do("mul", HALF, p.do("add", 1, p.do("erf", p.do("div", x, root))))
    density = p.do("mul", literal(DENSITY_AT_0), p.do("exp", p.do("mul", -HALF, p.do("square", x))))
    return p.do("add", share, p.do("mul", x, density))


def _gelu_tanh_slope(p: Pullback) -> Operand:
    """s(2u) + 2·x·s(2u)·s(−2u)·u′ with u = √(2/π)·(x + 0.044715·x³) and s the sigmoid: its value is x·s(2u)"""
    x = p.x()
    square = p.do("square", x)
    doubled = literal(constants.apply("mul", constants.rational(2), SLOPE_OF_GELU_TANH))
    u = p.do("mul", p.do("mul", doubled, x), p.do("add", 1, p.do("mul", literal(CUBIC), square)))
    cubic = literal(constants.apply("mul", constants.rational(3), CUBIC))
    slope = p.do("mul", doubled, p.do("add", 1, p.do("mul", cubic, square)))
    rest = p.do("mul", p.do("mul", x, slope), p.do("sigmoid", p.do("neg", u)))
    return p.do("mul", p.do("sigmoid", u), p.do("add", 1, rest))


def _silu_slope(p: Pullback) -> Operand:
    """s(x)·(1 + x·s(−x))"""
    x = p.x()
    rest = p.do("mul", x, p.do("sigmoid", p.do("neg", x)))
    return p.do("mul", p.do("sigmoid", x), p.do("add", 1, rest))


def _relu(p: Pullback) -> None:
    p.give(0, p.choose(p.do("gt", p.x(), 0), p.ct, 0))


# Two operands


def _add(p: Pullback) -> None:
    for at in (0, 1):
        if p.wants(at):
            p.give_reduced(at, p.ct)


def _sub(p: Pullback) -> None:
    if p.wants(0):
        p.give_reduced(0, p.ct)
    if p.wants(1):
        p.give_reduced(1, p.do("neg", p.ct))


def _mul(p: Pullback) -> None:
    for at in (0, 1):
        if p.wants(at):
            mark = p.beside_cotangent(1 - at)
            p.give_reduced(at, p.do("mul", p.ct, p.beside(1 - at), cotangent=mark))


def _div(p: Pullback) -> None:
    """(x/y)′ is 1/y for x and −(x/y)/y for y."""
    if not p.wants(0) and not p.wants(1):
        return
    share = p.over(p.ct, p.beside(1))
    if p.wants(0):
        p.give_reduced(0, share)
    if p.wants(1):
        p.give_reduced(1, p.do("neg", p.do("mul", share, p.y(), cotangent=p.beside_cotangent(0))))


def _pow(p: Pullback) -> None:
    """y·x^(y − 1) for x, and x^y·log x for y: 0 where y, or x, is 0."""
    if p.wants(0):
        p.give_reduced(0, p.times(p.ct, _slope_of_power(p)))
    if p.wants(1):
        x = p.beside(0)
        slope = p.do("mul", p.y(), p.do("log", x))
        p.give_reduced(1, p.times(p.ct, p.choose(p.do("eq", x, 0), 0, slope)))


def _slope_of_power(p: Pullback) -> Operand:
    x, y = p.beside(0), p.beside(1)
    if isinstance(y, Literal):
        lower = literal(constants.apply("sub", y.value, constants.rational(1)))
        if lower.value == constants.rational(-1):
            return literal(0)
        return p.do("mul", y, p.do("pow", x, lower))
    is_flat = p.do("eq", y, 0)
    return p.choose(is_flat, 0, p.do("mul", y, p.do("pow", x, p.do("sub", y, 1))))


def _larger(comparison: str) -> Rule:
    """maximum and minimum: all to the one chosen, halves to equals."""

    def rule(p: Pullback) -> None:
        for at in (0, 1):
            if p.wants(at):
                mine, other = p.beside(at), p.beside(1 - at)
                shared = p.choose(p.do("eq", mine, other), p.times(p.ct, HALF), 0)
                p.give_reduced(at, p.choose(p.do(comparison, mine, other), p.ct, shared))

    return rule


def _where(p: Pullback) -> None:
    mask = p.beside(0)
    if p.wants(1):
        p.give_reduced(1, p.choose(mask, p.ct, 0))
    if p.wants(2):
        p.give_reduced(2, p.choose(mask, 0, p.ct))


RULES: dict[str, Rule] = {
    "neg": _neg,
    "abs": by(lambda p: p.do("sign", p.x())),
    "square": by(lambda p: p.do("mul", 2, p.x())),
    "sqrt": _sqrt,
    "rsqrt": by(_rsqrt_slope),
    "recip": by(lambda p: p.do("neg", p.do("square", p.y()))),
    "exp": by(lambda p: p.y()),
    "expm1": by(lambda p: p.do("exp", p.x())),
    "log": _log,
    "log1p": _log1p,
    "tanh": by(_tanh_slope),
    "sin": by(lambda p: p.do("cos", p.x())),
    "cos": by(lambda p: p.do("neg", p.do("sin", p.x()))),
    "erf": by(_erf_slope),
    "sigmoid": by(_sigmoid_slope),
    "softplus": by(lambda p: p.do("sigmoid", p.x())),
    "relu": _relu,
    "gelu": by(_gelu_slope),
    "gelu_tanh": by(_gelu_tanh_slope),
    "silu": by(_silu_slope),
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "pow": _pow,
    "maximum": _larger("gt"),
    "minimum": _larger("lt"),
    "where": _where,
}
