"""Kernel text walked, and with other names: variables, counters and buffers of statements replaced, nothing else.

Called by passes that write statements several times or bring those of several kernels together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from presk.kernel.nodes import (
    Access,
    Apply,
    Assign,
    Binary,
    Buffer,
    Call,
    Expression,
    For,
    If,
    Load,
    Splat,
    Statement,
    Store,
    Tile,
    Unary,
    Variable,
)


@dataclass(frozen=True, slots=True)
class Renaming:
    """What stands for variables, for values that are only read, and for buffers; the rest keeps its name."""

    variables: Mapping[Variable, Variable]
    values: Mapping[Variable, Expression]
    buffers: Mapping[Buffer, Buffer]

    def expression(self, value: Expression) -> Expression:
        """An expression with other names."""
        match value:
            case Variable():
                return self.values.get(value) or self.variables.get(value, value)
            case Load(access, vector):
                return Load(self.access(access), vector)
            case Unary(operator, operand, vector):
                return Unary(operator, self.expression(operand), vector)
            case Binary(operator, left, right, vector):
                return Binary(operator, self.expression(left), self.expression(right), vector)
            case Call(function, arguments, vector):
                return Call(function, tuple(self.expression(each) for each in arguments), vector)
            case Splat(operand):
                return Splat(self.expression(operand))
            case _:
                return value

    def access(self, access: Access) -> Access:
        """An access with other names."""
        index = tuple(self.expression(each) for each in access.index)
        return Access(self.buffers.get(access.buffer, access.buffer), index)

    def statement(self, statement: Statement) -> Statement:
        """A statement with other names."""
        match statement:
            case Assign(variable, value):
                return Assign(self.variables.get(variable, variable), self.expression(value))
            case Store(access, value, vector):
                return Store(self.access(access), self.expression(value), vector)
            case For(counter, extent, body):
                return For(counter, extent, tuple(self.statement(each) for each in body))
            case If(condition, body):
                return If(self.expression(condition), tuple(self.statement(each) for each in body))
            case Apply(function, sources, target, count):
                return Apply(function, tuple(self.access(each) for each in sources), self.access(target), count)
            case Tile(sum=total, left=left, right=right):
                return replace(statement, sum=self.access(total), left=self.access(left), right=self.access(right))


def parts(value: Expression) -> Iterator[Expression]:
    """An expression and all within it, indices of its loads too."""
    yield value
    match value:
        case Load(access):
            inner = access.index
        case Unary(operand=operand) | Splat(operand):
            inner = (operand,)
        case Binary(left=left, right=right):
            inner = (left, right)
        case Call(arguments=arguments):
            inner = arguments
        case _:
            inner = ()
    for each in inner:
        yield from parts(each)
