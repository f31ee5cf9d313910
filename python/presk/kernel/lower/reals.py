"""Real arithmetic of a kernel: operations and constants as expressions, each rounded to the type the nest computes in.

That type is the arithmetic type of the site's storage. The kernel's own is wider where sums are taken in f64 over f32
storage: then every operation that rounds is followed by `f32(…)`, which gives f32's bits, since a quotient, product,
sum or root of f32s computed in f64 and rounded again is the f32 operation's. The elementary functions have no such
form. Called by the modules of this folder.
"""

from __future__ import annotations

from presk.exact.constants import round_constant
from presk.kernel.nodes import Arithmetic, Binary, BinaryOperator, Call, Constant, Expression, FunctionName, Unary
from presk.shapes import constants

EXACT = frozenset(("abs", "floor", "max", "min", "select"))
"""Functions whose result is exact, so that it needs no rounding."""

EMULATED = frozenset(("sqrt",))
"""Functions that a wider arithmetic type and one more rounding compute."""


class Unhonoured(Exception):
    """An accumulation that a group's operations don't allow: `operation` is the one."""

    def __init__(self, operation: str) -> None:
        super().__init__(operation)
        self.operation = operation


class Reals:
    """Operations in the type `interior`, held in `arithmetic`."""

    def __init__(self, arithmetic: Arithmetic, interior: Arithmetic) -> None:
        self.arithmetic = arithmetic
        self.interior: Arithmetic = interior

    def constant(self, value: constants.Constant) -> Constant:
        """An exact constant, rounded once."""
        return Constant(float(round_constant(value, self.interior)))

    def number(self, value: int) -> Constant:
        """A whole number, rounded once."""
        return self.constant(constants.rational(value))

    def injected(self, nat: Expression) -> Expression:
        """A nat as a real."""
        return Call(self.interior, (nat,))

    def rounded(self, value: Expression) -> Expression:
        """The value in the type the nest computes in, from the kernel's arithmetic type."""
        return value if self.interior == self.arithmetic else Call(self.interior, (value,))

    def binary(self, operator: BinaryOperator, left: Expression, right: Expression) -> Expression:
        """`(left + right)`, and so with - * /"""
        return self.rounded(Binary(operator, left, right))

    def negated(self, value: Expression) -> Expression:
        """`(-value)`"""
        return Unary("-", value)

    def call(self, function: FunctionName, *arguments: Expression) -> Expression:
        """A function of reals. Raises Unhonoured where it can't be had in the type the nest computes in."""
        called = Call(function, arguments)
        if function in EXACT or self.interior == self.arithmetic:
            return called
        if function not in EMULATED:
            raise Unhonoured(function)
        return self.rounded(called)
