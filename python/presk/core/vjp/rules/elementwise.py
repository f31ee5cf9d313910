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

ROOT_OF_HALF = constants.apply("rsqrt", constants.rational(2))

ROOT_OF_2_BY_PI = _root_of(constants.apply("div", constants.rational(2), PI))
"""√(2/π)"""


def by(slope: Callable[[Pullback], Operand]) -> Rule:
    """The rule of f(x) whose derivative `slope` writes."""

    def rule(p: Pullback) -> None:
        p.give(0, p.times(p.ct, slope(p)))

    return rule


def _neg(p: Pullback) -> None:
    p.give(0, p.do("neg", p.ct))


# A slope is made of the operand, not of the result, which may be stored in bf16: that error would count several times.


def _sqrt(p: Pullback) -> None:
    p.give(0, p.over(p.ct, p.do("mul", 2, p.do("sqrt", p.x()))))


def _rsqrt_slope(p: Pullback) -> Operand:
    """−y³/2"""
    y = p.do("rsqrt", p.x())
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
    return _bell(p, p.x())


def _erf_slope(p: Pullback) -> Operand:
    return p.do("mul", literal(SLOPE_OF_ERF), p.do("gaussian", p.x()))


def _erfc_slope(p: Pullback) -> Operand:
    return p.do("mul", literal(constants.apply("neg", SLOPE_OF_ERF)), p.do("gaussian", p.x()))


def _gaussian_slope(p: Pullback) -> Operand:
    """−2·x·exp(−x²)"""
    return p.do("mul", p.do("mul", -2, p.x()), p.y())


def _gelu_bend(p: Pullback) -> Operand:
    """gelu″ = φ(x)·(2 − x²)"""
    x = p.x()
    density = p.do("mul", literal(DENSITY_AT_0), p.do("gaussian", p.do("mul", literal(ROOT_OF_HALF), x)))
    return p.do("mul", density, p.do("sub", 2, p.do("square", x)))


def _bend(p: Pullback, u: Operand, slope: Operand, bend: Operand) -> Operand:
    """The second derivative of x·s(u), s the sigmoid: s′(u)·(2·u′ + x·(u″ − u′²·tanh(u/2)))"""
    turned = p.do("mul", p.do("square", slope), p.do("tanh", p.do("mul", HALF, u)))
    inner = p.do("mul", p.x(), p.do("sub", bend, turned))
    return p.do("mul", _bell(p, u), p.do("add", p.do("mul", 2, slope), inner))


def _silu_bend(p: Pullback) -> Operand:
    """silu″: u is x."""
    x = p.x()
    inner = p.do("mul", x, p.do("tanh", p.do("mul", HALF, x)))
    return p.do("mul", _bell(p, x), p.do("sub", 2, inner))


def _gelu_tanh_bend(p: Pullback) -> Operand:
    """gelu_tanh″: u = 2·√(2/π)·(x + 0.044715·x³)"""
    x = p.x()
    square = p.do("square", x)
    factor = constants.apply("mul", constants.rational(2), ROOT_OF_2_BY_PI)
    cubic, thrice = (constants.apply("mul", constants.rational(times), CUBIC) for times in (1, 3))
    sixfold = constants.apply("mul", constants.apply("mul", constants.rational(6), CUBIC), factor)
    u = p.do("mul", p.do("mul", literal(factor), x), p.do("add", 1, p.do("mul", literal(cubic), square)))
    slope = p.do("mul", literal(factor), p.do("add", 1, p.do("mul", literal(thrice), square)))
    return _bend(p, u, slope, p.do("mul", literal(sixfold), x))


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
        quotient = p.y() if p.is_marked else p.do("div", p.beside(0), p.beside(1))
        p.give_reduced(1, p.do("neg", p.do("mul", share, quotient, cotangent=p.beside_cotangent(0))))


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
    return p.choose(p.do("eq", y, 0), 0, _slope_of_any_power(p, x, y))


def _slope_of_any_power(p: Pullback, x: Operand, y: Operand) -> Operand:
    """y·x^(y − 1) of one power, without the digits that rounding y − 1 costs: log x times as many.

    It is y·x^y / x, with x^y as x^(y/2)·x^(y/2), since it may be out of range. From ½ to 2 y − 1 is exact, and taken;
    so it is of x < 0, whose exponents are whole, and of 0.
    """
    is_exact = p.do("or", p.do("le", x, 0), p.do("and", p.do("ge", y, HALF), p.do("le", y, 2)))
    power = p.do("pow", x, p.choose(is_exact, p.do("sub", y, 1), p.do("mul", HALF, y)))
    product = p.do("mul", y, power)
    return p.choose(is_exact, product, p.do("mul", product, p.do("div", power, x)))


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
    "recip": by(lambda p: p.do("neg", p.do("square", p.do("recip", p.x())))),
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
    "erfc": by(_erfc_slope),
    "gelu": by(lambda p: p.do("gelu_slope", p.x())),
    "gelu_tanh": by(lambda p: p.do("gelu_tanh_slope", p.x())),
    "silu": by(lambda p: p.do("silu_slope", p.x())),
    "gaussian": by(_gaussian_slope),
    "gelu_slope": by(_gelu_bend),
    "gelu_tanh_slope": by(_gelu_tanh_bend),
    "silu_slope": by(_silu_bend),
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "pow": _pow,
    "maximum": _larger("gt"),
    "minimum": _larger("lt"),
    "where": _where,
}
