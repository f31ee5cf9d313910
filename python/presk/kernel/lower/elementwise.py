"""Elementwise primitives at one element: the operations and their order, which are part of what a realization means.

The derived forms are those of numerics.md 8: sigmoid and softplus take the exponential of −|x|, which can't overflow;
gelu, silu, gelu_tanh and their slopes are functions of kernels. A comparison or a sum of nats is one of integers.
Called by `reader`.
"""

from __future__ import annotations

from presk.kernel.lower.reader import Point, PointRule
from presk.kernel.nodes import Binary, BinaryOperator, Call, Expression, FunctionName, Truth, Unary
from presk.primitives.attributes import cotangents_of


def _function(name: FunctionName) -> PointRule:
    """A function that kernels have."""
    return lambda point: point.reals.call(name, point.operand(0))


def _negated(point: Point) -> Expression:
    return point.reals.negated(point.operand(0))


def _square(point: Point) -> Expression:
    x = point.shared(0)
    return point.reals.binary("*", x, x)


def _reciprocal(point: Point) -> Expression:
    return point.reals.binary("/", point.reals.number(1), point.operand(0))


def _rsqrt(point: Point) -> Expression:
    return point.reals.binary("/", point.reals.number(1), point.reals.call("sqrt", point.operand(0)))


def _relu(point: Point) -> Expression:
    return point.reals.call("max", point.operand(0), point.reals.number(0))


def _decay(point: Point, x: Expression) -> Expression:
    """exp(−|x|), at most 1."""
    reals = point.reals
    return reals.call("exp", reals.negated(reals.call("abs", x)))


def _sigmoid(point: Point) -> Expression:
    """1 / (1 + exp(−x)), or exp(x) / (1 + exp(x)) for x < 0."""
    x = point.shared(0)
    reals = point.reals
    decay = point.code.shared("real", _decay(point, x))
    above = Call("select", (Binary(">=", x, reals.number(0)), reals.number(1), decay))
    return reals.binary("/", above, reals.binary("+", reals.number(1), decay))


def _softplus(point: Point) -> Expression:
    """max(x, 0) + log(1 + exp(−|x|))"""
    x = point.shared(0)
    reals = point.reals
    return reals.binary("+", reals.call("max", x, reals.number(0)), reals.call("log1p", _decay(point, x)))


def _sign(point: Point) -> Expression:
    """−1, 0 or 1; a zero keeps its sign, NaN stays NaN."""
    x = point.shared(0)
    reals = point.reals
    below = Call("select", (Binary("<", x, reals.number(0)), reals.number(-1), x))
    return Call("select", (Binary(">", x, reals.number(0)), reals.number(1), below))


def _arithmetic(operator: BinaryOperator) -> PointRule:
    """A sum, difference, product or quotient; of nats one of integers."""

    def rule(point: Point) -> Expression:
        left, right = point.operand(0), point.operand(1)
        if point.kind(0) == "nat":
            return Binary(operator, left, right)
        return point.reals.binary(operator, left, right)

    return rule


def _term(operator: BinaryOperator) -> PointRule:
    """A product or quotient. In an adjoint it is its cotangent where that is ±0 and the other factor isn't finite.

    With a cotangent of ±0 it is NaN just there: 0·∞, 0/0 and what a NaN makes.
    """
    plain = _arithmetic(operator)

    def rule(point: Point) -> Expression:
        marked = cotangents_of(dict(point.apply.attributes))
        if not marked:
            return plain(point)
        factors = [point.shared(number) if number in marked else point.operand(number) for number in (0, 1)]
        found = point.code.shared("real", point.reals.binary(operator, *factors))
        kept = found
        for number in reversed(marked):
            cotangent = factors[number]
            kept = Call("select", (Binary("==", cotangent, point.reals.number(0)), cotangent, kept))
        return Call("select", (Binary("!=", found, found), kept, found))

    return rule


def _of_two(name: FunctionName) -> PointRule:
    return lambda point: point.reals.call(name, point.operand(0), point.operand(1))


def _truth(operator: BinaryOperator) -> PointRule:
    """A comparison, `and` or `or`."""
    return lambda point: Binary(operator, point.operand(0), point.operand(1))


def _not(point: Point) -> Expression:
    return Unary("not", point.operand(0))


def _injected(point: Point) -> Expression:
    """A nat as a real: rounded once, to the type the nest computes in, and then as any result where it is stored."""
    return point.reals.injected(point.operand(0))


def _where(point: Point) -> Expression:
    if point.kind(1) != "bool":
        return Call("select", (point.operand(0), point.operand(1), point.operand(2)))
    mask = point.shared(0)
    return either(mask, point.operand(1), point.operand(2))


def either(mask: Expression, chosen: Expression, other: Expression) -> Expression:
    """A truth value chosen by another."""
    if isinstance(mask, Truth):
        return chosen if mask.value else other
    return Binary("or", Binary("and", mask, chosen), Binary("and", Unary("not", mask), other))


RULES: dict[str, PointRule] = {
    **{name: _function(name) for name in ("abs", "floor", "sqrt")},
    **{name: _function(name) for name in ("exp", "expm1", "log", "log1p", "tanh", "sin", "cos", "erf", "erfc")},
    **{name: _function(name) for name in ("gaussian", "gelu", "gelu_slope", "silu", "silu_slope")},
    **{name: _function(name) for name in ("gelu_tanh", "gelu_tanh_slope")},
    "inject": _injected,
    "neg": _negated,
    "square": _square,
    "recip": _reciprocal,
    "rsqrt": _rsqrt,
    "relu": _relu,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "sign": _sign,
    "add": _arithmetic("+"),
    "sub": _arithmetic("-"),
    "mul": _term("*"),
    "div": _term("/"),
    "pow": _of_two("pow"),
    "maximum": _of_two("max"),
    "minimum": _of_two("min"),
    "eq": _truth("=="),
    "ne": _truth("!="),
    "lt": _truth("<"),
    "le": _truth("<="),
    "gt": _truth(">"),
    "ge": _truth(">="),
    "and": _truth("and"),
    "or": _truth("or"),
    "not": _not,
    "where": _where,
}

DEAR = frozenset("sqrt rsqrt recip div exp expm1 log log1p tanh sin cos erf erfc pow".split()) | frozenset(
    "sigmoid silu softplus gelu gelu_tanh gaussian gelu_slope silu_slope gelu_tanh_slope".split()
)
"""What costs more than a store and a load: of these a row keeps its values rather than computing them again."""
