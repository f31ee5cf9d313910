"""Numbers for values: equal ones where two values of one round are the same operations on the same loads.

A variable is what it is defined as, and the absolute value of a negation that of what is negated. Called by `runs`.
"""

from __future__ import annotations

from collections.abc import Mapping

from presk.kernel.lower.values import operands
from presk.kernel.nodes import Binary, Call, Expression, Load, Unary, Variable


class Numbers:
    """The numbers of one loop's values, `definitions` being those of its variables, each behind those it reads."""

    def __init__(self, definitions: Mapping[Variable, Expression]) -> None:
        self._definitions = definitions
        self._known: dict[object, int] = {}
        self._variables: dict[Variable, int] = {}
        for variable, value in definitions.items():  # in this order no chain of them is too long
            self._variables[variable] = self.of(value)

    def of(self, value: Expression) -> int:
        """A value's number."""
        if isinstance(value, Variable) and value in self._variables:
            return self._variables[value]
        key = self._operation(value)
        if key is None:
            return self._known.setdefault(value, len(self._known))
        if isinstance(value, Call) and value.function == "abs":
            within = (self.of(self._without_sign(value.arguments[0])),)
        else:
            within = tuple(map(self.of, operands(value)))
        return self._known.setdefault((key, within), len(self._known))

    def _without_sign(self, value: Expression) -> Expression:
        """What a value is, or negates."""
        while True:
            meant = self._definitions.get(value, value) if isinstance(value, Variable) else value
            if not (isinstance(meant, Unary) and meant.operator == "-"):
                return value
            value = meant.operand

    @staticmethod
    def _operation(value: Expression) -> object:
        """What is done to a value's operands; None for what has none."""
        match value:
            case Load(access, vector):
                return ("load", access.buffer, vector)
            case Unary(operator, _, vector) | Binary(operator, _, _, vector):
                return (operator, vector)
            case Call(function, _, vector):
                return (function, vector)
            case _:
                return None
