"""Operands of what lets hold: listed, and replaced. What passes that rewrite Core share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from presk.core.nodes import (
    Apply,
    Body,
    Call,
    Each,
    Expression,
    Injected,
    Literal,
    Loop,
    MakeRecord,
    MakeTuple,
    MapTrees,
    Operand,
    Ref,
    SetField,
    Source,
)

Change = Callable[[Operand], Operand]


def operands_of(value: Expression) -> tuple[Operand, ...]:
    """The operands an expression has itself; those inside a loop's or map's body are not among them."""
    match value:
        case Apply(operands=operands) | Call(operands=operands) | MapTrees(operands=operands):
            return operands
        case Loop(start=start, sources=sources):
            return (start, *(source.operand for source in sources if isinstance(source, Each)))
        case MakeTuple(items):
            return items
        case MakeRecord(fields):
            return tuple(operand for _, operand in fields)
        case SetField(base, _, new):
            return (base, new)


def ref_of(operand: Operand) -> Ref | None:
    """What an operand refers to; None for a constant."""
    match operand:
        case Ref():
            return operand
        case Injected(inner):
            return inner
        case Literal():
            return None


def numbers_in(value: Expression) -> set[int]:
    """Every number an expression refers to, in inner bodies too."""
    found = {ref.number for operand in operands_of(value) if (ref := ref_of(operand)) is not None}
    if isinstance(value, (Loop, MapTrees)):
        found |= numbers_in_body(value.body)
    return found


def numbers_in_body(body: Body) -> set[int]:
    """Every number a body refers to, its own included."""
    found: set[int] = set()
    for let in body.lets:
        found |= numbers_in(let.value)
    ref = ref_of(body.result)
    return found if ref is None else found | {ref.number}


def with_operands(value: Expression, change: Change) -> Expression:
    """The expression with its own operands changed; bodies stay as they are."""
    match value:
        case Apply(operands=operands) | Call(operands=operands) | MapTrees(operands=operands):
            return replace(value, operands=tuple(change(operand) for operand in operands))
        case Loop(start=start, sources=sources):
            return replace(value, start=change(start), sources=tuple(_changed(source, change) for source in sources))
        case MakeTuple(items):
            return MakeTuple(tuple(change(item) for item in items))
        case MakeRecord(fields, module):
            return MakeRecord(tuple((name, change(operand)) for name, operand in fields), module)
        case SetField(base, path, new):
            return SetField(change(base), path, change(new))


def _changed(source: Source, change: Change) -> Source:
    return Each(change(source.operand), source.axis) if isinstance(source, Each) else source


def calls_in(body: Body) -> set[str]:
    """The names of the functions a body calls, in inner bodies too."""
    found: set[str] = set()
    for let in body.lets:
        match let.value:
            case Call(function):
                found.add(function)
            case Loop(body=inner) | MapTrees(body=inner):
                found |= calls_in(inner)
            case _:
                continue
    return found
