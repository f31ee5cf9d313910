"""How much a kernel does, in weighted operations: what the host's own decision to split a launch goes by.

An addition, a product, a load or a store weighs 1. The weights are rough figures for one core, not measured ones: a
split pays from four million of these on, give or take a factor of two.
"""

from __future__ import annotations

from presk.kernel.elaborate import ELEMENTARY
from presk.kernel.nodes import (
    Access,
    Apply,
    Assign,
    Binary,
    Call,
    Expression,
    For,
    If,
    Integer,
    Kernel,
    Load,
    Splat,
    Statement,
    Store,
    Tile,
    Unary,
    Variable,
)

DIVISION = 4
"""A quotient or square root."""

TERM = 3
"""A term of a tile: a product, an addition, and its share of what is loaded."""

FUNCTION = 20
"""An elementary function."""

IN_RUN = 4
"""How many times cheaper a function is over a run."""


def work_of(kernel: Kernel) -> int:
    """The weighted operations of one run."""
    lanes = 4 if kernel.arithmetic == "f32" else 2
    return sum(_statement(each, lanes) for each in kernel.body)


def _statement(statement: Statement, lanes: int) -> int:
    match statement:
        case Assign(_, value):
            return _value(value, lanes)
        case Store(_, value, vector):
            return _value(value, lanes) + (lanes if vector else 1)
        case For(_, extent, body) if not extent:
            return 0
        case For(counter, extent, body):
            return sum(_rounds(each, counter, extent) * _statement(each, lanes) for each in body)
        case If(_, body):
            return sum(_statement(each, lanes) for each in body)
        case Apply(_, _, _, count):
            return FUNCTION // IN_RUN * count
        case Tile(rows, columns, depth):
            return rows.extent * columns.extent * (1 + depth.extent * TERM)


def _rounds(statement: Statement, counter: int, extent: int) -> int:
    """In how many rounds of its loop a statement runs: in all, or in those that a condition on the counter leaves."""
    match statement:
        case If(Binary("<" | "==" as operator, Variable("i", number), Integer(value))) if number == counter:
            return min(value, extent) if operator == "<" else 1
        case _:
            return extent


def _value(value: Expression, lanes: int) -> int:
    match value:
        case Binary(operator, left, right, vector):
            weight = DIVISION if operator == "/" else 1
            return weight * (lanes if vector else 1) + _value(left, lanes) + _value(right, lanes)
        case Call(function, arguments, vector):
            weight = FUNCTION if function in ELEMENTARY else DIVISION if function == "sqrt" else 1
            return weight * (lanes if vector else 1) + sum(_value(each, lanes) for each in arguments)
        case Unary(_, operand, vector):
            return (lanes if vector else 1) + _value(operand, lanes)
        case Splat(operand):
            return _value(operand, lanes)
        case Load(access, vector):
            return (lanes if vector else 1) + _index(access)
        case _:
            return 0


def _index(access: Access) -> int:
    """Loads an index needs; its arithmetic is the address's, which costs next to nothing."""
    return sum(1 for each in access.index if isinstance(each, Load))
