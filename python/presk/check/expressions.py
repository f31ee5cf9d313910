"""What literals, operators, tuples, records, blocks, choices and updates are."""

from __future__ import annotations

from presk.check import static
from presk.check.context import Context, as_data, coerce, field_of, rule, with_reals
from presk.check.invoke import Places, apply_primitive
from presk.check.slices import replace_slice
from presk.check.solver import names_kept
from presk.check.values import (
    SILENT,
    Data,
    Fields,
    Items,
    Number,
    Truth,
    Unknown,
    Value,
    describe,
    type_of,
)
from presk.shapes import constants, types
from presk.shapes.poly import variable
from presk.shapes.types import Tensor, TreeVariable, Type
from presk.syntax import tree
from presk.text.diagnostics import PreskError, did_you_mean, fail
from presk.text.spans import Span

SHOWN_CONDITION = 24
"""Characters of a condition that stand for a number it chooses, in messages."""

POWER_LIMIT = 4
"""`x ** n` up to this constant n is a product from the left; every other power is `pow` (language.md 4)."""


@rule(tree.NatLiteral)
def nat(context: Context, node: tree.NatLiteral) -> Value:
    """A whole number."""
    return Number(constants.rational(node.value), nat=True)


@rule(tree.RealLiteral)
def real(context: Context, node: tree.RealLiteral) -> Value:
    """An exact decimal."""
    return Number(constants.rational(node.value), nat=False)


@rule(tree.BoolLiteral)
def truth(context: Context, node: tree.BoolLiteral) -> Value:
    """`true` or `false`."""
    return Truth(node.value)


@rule(tree.StringLiteral)
def string(context: Context, node: tree.StringLiteral) -> Value:
    """A string is no value of a body."""
    raise fail("E3001", "a string stands only in a train block", node.span)


@rule(tree.ListLiteral)
def list_literal(context: Context, node: tree.ListLiteral) -> Value:
    """A list is no value of a body."""
    raise fail(
        "E3001", "a list stands only in a train block", node.span, "`stack[n](a, b)` makes a tensor, `(a, b)` a tuple"
    )


@rule(tree.Range)
def range_value(context: Context, node: tree.Range) -> Value:
    """A range is no value of its own."""
    raise fail("E3001", "a range stands only in an index or behind `in`", node.span)


@rule(tree.Unary)
def unary(context: Context, node: tree.Unary) -> Value:
    """`-` and `not`."""
    operand = context.evaluate(node.operand)
    if node.op == "not":
        if isinstance(operand, Truth):
            return Truth(None if operand.value is None else not operand.value)
        return apply_primitive(context, "not", [operand], {}, node.span)
    if isinstance(operand, Number):
        return static.fold("neg", (operand,), node.span)
    return apply_primitive(context, "neg", [operand], {}, node.span)


@rule(tree.Operation)
def operation(context: Context, node: tree.Operation) -> Value:
    """Operators of one level, from the left."""
    value, place = context.evaluate(node.first), node.first.span
    for step in node.steps:
        places = Places((place, step.operand.span))
        value = _binary(context, step.op, value, context.evaluate(step.operand), step.span, places)
        place = step.span
    return value


def _binary(context: Context, op: str, left: Value, right: Value, span: Span, places: Places) -> Value:
    if op in ("and", "or"):
        if isinstance(left, Truth) and isinstance(right, Truth):
            return _logic(op, left.value, right.value)
        return apply_primitive(context, op, [left, right], {}, span, places=places)
    if isinstance(left, Number) and isinstance(right, Number):
        return static.binary(op, left, right, span)
    if op == "//":
        raise fail("E3001", "`//` takes nats known at binding", span, "`floor(a / b)` rounds reals down")
    if op == "**" and isinstance(right, Number):
        return _power(context, left, right, span)
    primitive = static.COMPARISONS.get(op) or static.OPERATIONS[op]
    return apply_primitive(context, primitive, [left, right], {}, span, places=places)


def _logic(op: str, left: bool | None, right: bool | None) -> Truth:
    decisive = op == "or"
    if left is decisive or right is decisive:
        return Truth(decisive)
    return Truth(None if left is None or right is None else not decisive)


def _power(context: Context, base: Value, exponent: Number, span: Span) -> Value:
    value = exponent.value
    small = isinstance(value, constants.Rational) and value.value.denominator == 1 and 0 <= value.value <= POWER_LIMIT
    if not small or not isinstance(value, constants.Rational):
        return apply_primitive(context, "pow", [base, exponent], {}, span)
    times = int(value.value)
    base = as_data(context, base, span)
    if not isinstance(base.type, Tensor) or base.type.kind == "bool":
        raise fail("E3001", f"a power of {describe(base)} is not defined", span)
    if times == 0:
        one = Number(constants.rational(1), nat=True)
        return apply_primitive(context, "full", [one], {}, span, new=base.type.axes)
    result: Value = base
    for _ in range(times - 1):
        result = apply_primitive(context, "mul", [result, base], {}, span)
    return result


@rule(tree.Tuple)
def tuple_value(context: Context, node: tree.Tuple) -> Value:
    """A tuple, item by item."""
    return Items(tuple([context.evaluate(item) for item in node.items]))


@rule(tree.Record)
def record(context: Context, node: tree.Record) -> Value:
    """A record, field by field."""
    seen: set[str] = set()
    for field_name, value in node.fields:
        if field_name in seen:
            raise fail("E2002", f"the field `{field_name}` is given twice", value.span)
        seen.add(field_name)
    return Fields(tuple([(field_name, context.evaluate(value)) for field_name, value in node.fields]))


@rule(tree.Block)
def block(context: Context, node: tree.Block) -> Value:
    """Lets, then the result."""
    inner = context.inner()
    for let in node.lets:
        try:
            bind_pattern(inner, let.pattern, inner.evaluate(let.value))
        except PreskError as error:
            inner.postpone(error)
            bind_pattern(inner, let.pattern, Unknown())
    return inner.evaluate(node.result)


def bind_pattern(context: Context, pattern: tree.Pattern, value: Value) -> None:
    """Binds a pattern's names in the context."""
    match pattern:
        case tree.NamePattern(name=bound):
            context.values[bound] = value
            if isinstance(value, Data):
                context.emitter.name(value.handle, bound)
        case tree.TuplePattern(items=items) if isinstance(value, Unknown):
            for item in items:
                bind_pattern(context, item, value)
        case tree.RecordPattern(fields=fields) if isinstance(value, Unknown):
            for _, inside in fields:
                bind_pattern(context, inside, value)
        case tree.TuplePattern(items=items):
            each = type_of(value)
            count = len(value.items) if isinstance(value, Items) else _tuple_length(each)
            if count != len(items):
                raise fail("E3001", f"{describe(value)} does not match a tuple of {len(items)} names", pattern.span)
            for at, item in enumerate(items):
                part = field_of(context, value, str(at))
                assert part is not None
                bind_pattern(context, item, part)
        case tree.RecordPattern(fields=fields):
            for field_name, inside in fields:
                part = field_of(context, value, field_name)
                if part is None:
                    raise fail("E3001", f"{describe(value)} has no field `{field_name}`", pattern.span)
                bind_pattern(context, inside, part)


def _tuple_length(each: Type | None) -> int:
    while isinstance(each, types.Stacked):
        each = each.element
    return len(each.items) if isinstance(each, types.TupleOf) else -1


@rule(tree.If)
def choice(context: Context, node: tree.If) -> Value:
    """A choice known when bound; while checking both branches are."""
    condition = context.evaluate(node.condition)
    if not isinstance(condition, Truth):
        raise fail(
            "E3005",
            "the condition of `if` must be known when bound",
            node.condition.span,
            "`where(mask, a, b)` chooses at run time",
        )
    if condition.value is not None and not context.session.symbolic:
        return context.noted(node.span, context.evaluate(node.then if condition.value else node.otherwise))
    ways: list[Value] = []
    for way in (node.then, node.otherwise):
        try:
            ways.append(context.evaluate(way))
        except PreskError as error:
            context.postpone(error)
    if len(ways) < 2:
        raise fail(SILENT, "a way of this choice does not check", node.span)
    return _either(context, ways[0], ways[1], node)


def _either(context: Context, left: Value, right: Value, node: tree.If) -> Value:
    """The value of an undecided choice while checking. Both ways have one type, names of axes included."""
    span = node.span
    match left, right:
        case Number(one, nat), Number(other, also):
            if one == other:
                return left
            unknown = variable(f"(if {_shortened(node.condition.span.text)})")
            return Number(constants.from_size(unknown), nat and also)
        case Truth(one), Truth(other):
            return Truth(one if one == other else None)
        case Items(mine), Items(theirs) if len(mine) == len(theirs):
            pairs = zip(mine, theirs, strict=True)
            return Items(tuple([_either(context, one, other, node) for one, other in pairs]))
        case Fields(mine), Fields(theirs) if [name for name, _ in mine] == [name for name, _ in theirs]:
            triples = zip(mine, theirs, strict=True)
            return Fields(tuple([(name, _either(context, one, other, node)) for (name, one), (_, other) in triples]))
        case _ if left == right:
            return left
        case _:
            pass
    one, other = as_data(context, left, span), as_data(context, right, span)
    one = as_data(context, with_reals(context, one, other.type, span), span)
    other = as_data(context, with_reals(context, other, one.type, span), span)
    context.note_reals(span, one.type)
    result = coerce(context, other, one.type, "the other way of this `if`", node.otherwise.span)
    if not names_kept(one.type, other.type):
        message = f"one way of this `if` is {types.show(one.type)}, the other {types.show(other.type)}"
        hint = "both have the same names of axes: `rename(x, a = b)`"
        raise fail("E3003", message, node.otherwise.span, hint)
    return result


def _shortened(text: str) -> str:
    return text if len(text) <= SHOWN_CONDITION else f"{text[: SHOWN_CONDITION - 1]}…"


@rule(tree.Update)
def update(context: Context, node: tree.Update) -> Value:
    """`{base with …}`: fields and slices replaced."""
    value = context.evaluate(node.base)
    for change in node.changes:
        if isinstance(change, tree.SliceChange):
            value = replace_slice(context, value, change)
        else:
            value = _replace_field(context, value, change.path, change)
    return value


def _replace_field(context: Context, value: Value, path: tuple[str, ...], change: tree.FieldChange) -> Value:
    current = field_of(context, value, path[0])
    if current is None:
        each = type_of(value)
        known = [name for name, _ in (types.fields_of(each) if each else None) or ()]
        raise fail("E2001", f"{describe(value)} has no field `{path[0]}`", change.span, did_you_mean(path[0], known))
    if isinstance(value, Fields):
        new = _replace_field(context, current, path[1:], change) if path[1:] else context.evaluate(change.value)
        return Fields(tuple((name, new if name == path[0] else each) for name, each in value.fields))
    assert isinstance(value, Data)
    target = current
    for name in path[1:]:
        found = field_of(context, target, name)
        if found is None:
            raise fail("E2001", f"{describe(target)} has no field `{name}`", change.span)
        target = found
    wanted = type_of(target)
    assert wanted is not None and not isinstance(wanted, TreeVariable)
    new = coerce(context, context.evaluate(change.value), wanted, f"`{'.'.join(path)}`", change.value.span)
    return Data(
        value.type, context.emitter.set_field(value.handle, path, new.handle, value.type, change.span), value.origin
    )
