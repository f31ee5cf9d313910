"""Exact constants as balls, and rounded once, correctly, to a machine type.

A constant such as `1 / sqrt(768)` is a number, not a computation: each reader gets it as near as it wants. Balls are
kept by constant and precision. Rounding follows Ziv: the precision is raised until the ball lies on one side of every
boundary between two machine numbers; a constant that sits on a boundary is rational where that can happen, and rounded
as one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb, fmpq

from presk.exact.precision import working
from presk.exact.rounding import FORMATS, round_ball, round_fraction
from presk.shapes.constants import Apply, Constant, Rational, Symbolic, show
from presk.text.diagnostics import InternalError, fail

GUARD_BITS = 32
"""Extra bits for the steps of a constant's expression, so that its ball is about as good as one rounding."""

MOST_BITS = 1 << 15
"""Where rounding a constant gives up: no constant comes this near a boundary unless it sits on it."""

KEPT = 4096
"""Balls of constants kept."""


def _half_erfc(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def _logistic(x: arb) -> arb:
    return 1 / (1 + (-x).exp())


def _power(x: arb, y: arb) -> arb:
    return x ** y.fmpz() if y.is_integer() else (y * x.log()).exp()


UNARY: dict[str, Callable[[arb], arb]] = {
    "neg": lambda x: -x,
    "abs": lambda x: abs(x),
    "square": lambda x: x * x,
    "recip": lambda x: 1 / x,
    "sqrt": lambda x: x.sqrt(),
    "rsqrt": lambda x: x.rsqrt(),
    "exp": lambda x: x.exp(),
    "expm1": lambda x: x.expm1(),
    "log": lambda x: x.log(),
    "log1p": lambda x: x.log1p(),
    "sin": lambda x: x.sin(),
    "cos": lambda x: x.cos(),
    "tanh": lambda x: x.tanh(),
    "erf": lambda x: x.erf(),
    "erfc": lambda x: x.erfc(),
    "sigmoid": _logistic,
    "softplus": lambda x: x.exp().log1p(),
    "relu": lambda x: x.max(arb(0)),
    "silu": lambda x: x * _logistic(x),
    "gelu": lambda x: x * _half_erfc(x),
    "gelu_tanh": lambda x: x * _logistic(2 * (2 / arb.pi()).sqrt() * (x + arb(fmpq(44715, 1000000)) * x * x * x)),
    "floor": lambda x: x.floor(),
    "sign": lambda x: x.sgn(),
    "pi": lambda x: arb.pi() * x,
}
"""What a constant's function of one number does to a ball; `Apply.function` is a primitive's name, or `pi`: π·x."""

BINARY: dict[str, Callable[[arb, arb], arb]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "pow": _power,
    "maximum": lambda x, y: x.max(y),
    "minimum": lambda x, y: x.min(y),
}
"""The same for two numbers."""


@lru_cache(maxsize=KEPT)
def ball_of_constant(constant: Constant, bits: int) -> arb:
    """A ball around the constant, of about `bits` accurate bits where nothing cancels; a binary fraction is exact.

    E6005 where it isn't finite at this precision: a constant at the edge of a function's domain. Symbolic constants
    are a fault of the caller.
    """
    if isinstance(constant, Rational) and constant.value.denominator.bit_count() == 1:
        return arb((constant.value.numerator, 1 - constant.value.denominator.bit_length()))
    with working(bits + GUARD_BITS):
        wide = _evaluate(constant)
    with working(bits):
        ball = +wide
    if not ball.is_finite():
        raise fail("E6005", f"the constant {show(constant)} can't be told from an undefined one at {bits} bits")
    return ball


def round_constant(constant: Constant, type: str) -> Any:
    """The constant rounded once, to nearest even, to `f64`, `f32` or `bf16` (through f32): a NumPy scalar.

    Values too large become infinities. E6005 where a constant can't be told from a boundary at MOST_BITS bits.
    """
    if type not in FORMATS:
        raise InternalError(f"there is no machine type {type}")
    if type == "bf16":
        return FORMATS["bf16"].scalar(np.float32(round_constant(constant, "f32")))
    if isinstance(constant, Rational):
        return round_fraction(constant.value, type)
    bits = 96
    while bits <= MOST_BITS:
        with working(bits):
            rounded = round_ball(_evaluate(constant), type)
        if rounded is not None:
            return rounded
        bits *= 2
    raise fail("E6005", f"the constant {show(constant)} can't be told from a boundary of {type} at {MOST_BITS} bits")


def _evaluate(constant: Constant) -> arb:
    match constant:
        case Rational(value):
            if value.denominator == 1:
                return arb(value.numerator)
            return arb(fmpq(value.numerator, value.denominator))
        case Apply(function, (argument,)) if function in UNARY:
            return UNARY[function](_evaluate(argument))
        case Apply(function, (left, right)) if function in BINARY:
            return BINARY[function](_evaluate(left), _evaluate(right))
        case Apply(function, _):
            raise InternalError(f"a constant applies `{function}`, which the reference has no meaning for")
        case Symbolic(size):
            raise InternalError(f"the constant {size} was not bound")
