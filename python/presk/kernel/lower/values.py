"""Walking over the values of written kernels without naming every node. Called by `runs`, `apart` and `auto`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from presk.kernel.nodes import (
    Access,
    Apply,
    Assign,
    Binary,
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


def operands(value: Expression) -> tuple[Expression, ...]:
    """What a value is made of, a load of its indices."""
    match value:
        case Load(access):
            return access.index
        case Unary(_, operand) | Splat(operand):
            return (operand,)
        case Binary(_, left, right):
            return (left, right)
        case Call(_, arguments):
            return arguments
        case _:
            return ()


def mapped(value: Expression, each: Callable[[Expression], Expression]) -> Expression:
    """The value made of what its operands are mapped to."""
    match value:
        case Load(access, vector):
            return Load(mapped_access(access, each), vector)
        case Unary(operator, operand, vector):
            return Unary(operator, each(operand), vector)
        case Splat(operand):
            return Splat(each(operand))
        case Binary(operator, left, right, vector):
            return Binary(operator, each(left), each(right), vector)
        case Call(function, arguments, vector):
            return Call(function, tuple(map(each, arguments)), vector)
        case _:
            return value


def mapped_access(access: Access, each: Callable[[Expression], Expression]) -> Access:
    """The access with its indices mapped."""
    return Access(access.buffer, tuple(map(each, access.index)))


def visited(value: Expression) -> Iterator[Expression]:
    """The value and all values within it."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += operands(found)


def variables(value: Expression) -> set[Variable]:
    """The variables and counters a value reads."""
    return {each for each in visited(value) if isinstance(each, Variable)}


def values_of(statement: Statement) -> tuple[Expression, ...]:
    """The values a statement itself computes, its body's left out."""
    match statement:
        case Assign(_, value):
            return (value,)
        case Store(access, value):
            return (*access.index, value)
        case If(condition, _):
            return (condition,)
        case Apply(_, sources, target):
            return tuple(index for access in (*sources, target) for index in access.index)
        case Tile(sum=total, left=left, right=right):
            return tuple(index for access in (total, left, right) for index in access.index)
        case For():
            return ()


def nested(body: Sequence[Statement]) -> For | None:
    """The loop that a body is, assignments in front of it aside: the next one of a perfect nest."""
    if not body or not all(isinstance(each, Assign) for each in body[:-1]):
        return None
    return body[-1] if isinstance(body[-1], For) else None


def statements(body: Sequence[Statement]) -> Iterator[Statement]:
    """Every statement, outer ones before those within."""
    for statement in body:
        yield statement
        if isinstance(statement, (For, If)):
            yield from statements(statement.body)


def counters(body: Sequence[Statement]) -> set[int]:
    """The numbers of all counters, of loops and of tiles."""
    found: set[int] = set()
    for each in statements(body):
        if isinstance(each, For):
            found.add(each.counter)
        elif isinstance(each, Tile):
            found |= {run.counter for run in (each.rows, each.columns, each.depth)}
    return found
