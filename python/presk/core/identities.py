"""The identities `core.simplify` uses, by the primitive's name.

Each holds over ℝ, changes no rounding and no sign of zero: x·1 and x − 0 are x, but x + 0 is not (−0 + 0 is 0), and
−(x − y) is not y − x. A rule gives what the primitive's result is instead (an operand, or a simpler primitive), or
None. Whoever applies a rule checks that the type stays the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, Union

from presk.core.nodes import Apply, Literal, Operand
from presk.primitives.table import Attribute
from presk.shapes import constants
from presk.shapes.types import Tensor, Type

Instead = Union[Operand, Apply, None]


class Context(Protocol):
    """What a rule may ask."""

    def maker(self, operand: Operand) -> Apply | None:
        """The primitive whose result the operand is."""
        ...

    def type_of(self, operand: Operand) -> Type:
        """The operand's type."""
        ...


Rule = Callable[[Apply, Context], Instead]


def _is(operand: Operand, value: int) -> bool:
    return isinstance(operand, Literal) and operand.value == constants.rational(value)


def _of(operand: Operand, primitive: str, context: Context) -> Operand | None:
    """x, where the operand is `primitive(x)`."""
    made = context.maker(operand)
    return made.operands[0] if made is not None and made.primitive == primitive else None


def _product(apply: Apply, context: Context) -> Instead:
    """x·1, 1·x, (−x)·(−y)."""
    left, right = apply.operands
    if _is(right, 1):
        return left
    return right if _is(left, 1) else _without_signs(apply, context)


def _quotient(apply: Apply, context: Context) -> Instead:
    """x/1, (−x)/(−y)."""
    return apply.operands[0] if _is(apply.operands[1], 1) else _without_signs(apply, context)


def _without_signs(apply: Apply, context: Context) -> Instead:
    left, right = (_of(operand, "neg", context) for operand in apply.operands)
    return replace(apply, operands=(left, right)) if left is not None and right is not None else None


def _sum(apply: Apply, context: Context) -> Instead:
    """x + (−y); of nats x + 0, which have no sign."""
    left, right = apply.operands
    if _is(right, 0) and _is_nat(left, context):
        return left
    if _is(left, 0) and _is_nat(right, context):
        return right
    negated = _of(right, "neg", context)
    return replace(apply, primitive="sub", operands=(left, negated)) if negated is not None else None


def _is_nat(operand: Operand, context: Context) -> bool:
    found = context.type_of(operand)
    return isinstance(found, Tensor) and found.kind == "nat"


def _difference(apply: Apply, context: Context) -> Instead:
    """x − 0, x − (−y)."""
    left, right = apply.operands
    if _is(right, 0):
        return left
    negated = _of(right, "neg", context)
    return replace(apply, primitive="add", operands=(left, negated)) if negated is not None else None


def _inverse(apply: Apply, context: Context) -> Instead:
    """What is its own inverse, twice: −(−x), not not x."""
    return _of(apply.operands[0], apply.primitive, context)


def _idempotent(apply: Apply, context: Context) -> Instead:
    """What changes nothing a second time: relu, floor, sign."""
    return apply.operands[0] if _of(apply.operands[0], apply.primitive, context) is not None else None


def _even(apply: Apply, context: Context) -> Instead:
    """|−x|, (−x)²: the sign goes; so does an absolute value beneath."""
    for beneath in ("neg", "abs"):
        inner = _of(apply.operands[0], beneath, context)
        if inner is not None:
            return replace(apply, operands=(inner,))
    return None


def _either(apply: Apply, context: Context) -> Instead:
    """The larger, smaller, conjunction, disjunction of equals."""
    left, right = apply.operands
    return left if left == right else None


def _conjunction(apply: Apply, context: Context) -> Instead:
    """x and true, x or false."""
    neutral = 1 if apply.primitive == "and" else 0
    left, right = apply.operands
    if _is(right, neutral):
        return left
    return right if _is(left, neutral) else _either(apply, context)


def _choice(apply: Apply, context: Context) -> Instead:
    """A choice between equals, or by a constant."""
    mask, left, right = apply.operands
    if left == right:
        return left
    if isinstance(mask, Literal):
        return right if _is(mask, 0) else left
    return None


def _transpose(apply: Apply, context: Context) -> Instead:
    """No change of order, or one after another."""
    order = _integers(apply, "order")
    if order == tuple(range(len(order))):
        return apply.operands[0]
    made = context.maker(apply.operands[0])
    if made is None or made.primitive != "transpose":
        return None
    before = _integers(made, "order")
    return _with(apply, made.operands, order=tuple(before[at] for at in order))


def _rename(apply: Apply, context: Context) -> Instead:
    """Names to themselves, or one renaming after another."""
    pairs = _pairs(apply)
    if all(old == new for old, new in pairs.items()):
        return apply.operands[0]
    made = context.maker(apply.operands[0])
    if made is None or made.primitive != "rename":
        return None
    before = _pairs(made)
    both = {old: pairs.get(new, new) for old, new in before.items()}
    both |= {old: new for old, new in pairs.items() if old not in before.values()}
    return _with(apply, made.operands, names=tuple(both.items()))


def _unchanged(apply: Apply, context: Context) -> Instead:
    """A layout that gives the type back has moved nothing: all of a slice, one axis split in one, no padding."""
    return apply.operands[0] if len(apply.operands) == 1 else None


def _split(apply: Apply, context: Context) -> Instead:
    """One axis in one, or what was merged apart again."""
    if len(_new(apply)) == 1:
        return apply.operands[0]
    made = context.maker(apply.operands[0])
    if made is None or made.primitive != "merge":
        return None
    at, merged = dict(apply.attributes).get("axis"), _integers(made, "axes")
    return made.operands[0] if merged[:1] == (at,) and len(merged) == len(_new(apply)) else None


def _merge(apply: Apply, context: Context) -> Instead:
    """One axis in one, or what was split together again."""
    merged = _integers(apply, "axes")
    if len(merged) == 1:
        return apply.operands[0]
    made = context.maker(apply.operands[0])
    if made is None or made.primitive != "split":
        return None
    at, count = dict(made.attributes).get("axis"), len(_new(made))
    return made.operands[0] if merged[:1] == (at,) and len(merged) == count else None


def _flip(apply: Apply, context: Context) -> Instead:
    """The same axis twice."""
    made = context.maker(apply.operands[0])
    same = made is not None and made.primitive == "flip" and made.attributes == apply.attributes
    return made.operands[0] if made is not None and same else None


def _integers(apply: Apply, name: str) -> tuple[int, ...]:
    value = dict(apply.attributes).get(name)
    return tuple(each for each in value if isinstance(each, int)) if isinstance(value, tuple) else ()


def _new(apply: Apply) -> tuple[object, ...]:
    value = dict(apply.attributes).get("new")
    return value if isinstance(value, tuple) else ()


def _pairs(apply: Apply) -> dict[str, str]:
    value = dict(apply.attributes).get("names")
    rows = value if isinstance(value, tuple) else ()
    return {row[0]: row[1] for row in rows if isinstance(row, tuple) and len(row) == 2}


def _with(apply: Apply, operands: tuple[Operand, ...], **changed: Attribute) -> Apply:
    attributes = tuple((name, changed.get(name, value)) for name, value in apply.attributes)
    return Apply(apply.primitive, operands, attributes)


IDENTITIES: dict[str, Rule] = {
    "mul": _product,
    "div": _quotient,
    "add": _sum,
    "sub": _difference,
    "neg": _inverse,
    "not": _inverse,
    "abs": _even,
    "square": _even,
    "relu": _idempotent,
    "floor": _idempotent,
    "sign": _idempotent,
    "maximum": _either,
    "minimum": _either,
    "and": _conjunction,
    "or": _conjunction,
    "where": _choice,
    "transpose": _transpose,
    "rename": _rename,
    "slice": _unchanged,
    "pad": _unchanged,
    "broadcast_to": _unchanged,
    "concat": _unchanged,
    "split": _split,
    "merge": _merge,
    "flip": _flip,
}
"""A primitive that isn't here has no identity that keeps every bit."""
