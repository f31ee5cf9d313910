"""Calls of primitives: what a program wrote, brought to the table's normal form, typed and emitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from presk.check import static
from presk.check.context import Context, as_data, as_real
from presk.check.draws import no_draw
from presk.check.typing import shape_of
from presk.check.values import Data, Number, PrimitiveName, Truth, Value, describe
from presk.primitives.all import TABLE
from presk.primitives.call import Given, injected, normal_result, normalize, operands_of
from presk.primitives.contractions import RUN_LABEL
from presk.primitives.new_axes import OPEN
from presk.primitives.signature import show_signature
from presk.primitives.table import Attribute, Keyword, Misfit, Operand, Primitive
from presk.shapes import constants
from presk.shapes.align import Misaligned
from presk.shapes.poly import number as size_of
from presk.shapes.types import BOOL, REAL, Axis, AxisOrRun, Run, Shape, Tensor, Type, oversized, show
from presk.syntax import tree
from presk.text.diagnostics import Note, counted, did_you_mean, fail
from presk.text.spans import Span


@dataclass(frozen=True)
class Written:
    """A call's arguments sorted: operands in the table's order, keywords and brackets as written."""

    operands: tuple[Value, ...]
    given: dict[str, Given]
    places: Places


@dataclass(frozen=True)
class Places:
    """Where a call's operands stand, in order and by name, and its keywords: messages point there."""

    operands: tuple[Span, ...] = ()
    named: Mapping[str, Span] = field(default_factory=dict[str, Span])


NO_PLACES = Places()


def call_primitive(
    context: Context, name: str, brackets: tuple[tree.AxisEntry, ...] | None, node: tree.Call | tree.Axes
) -> Value:
    """A primitive called as a program writes it."""
    row = TABLE[name]
    arguments = node.arguments if isinstance(node, tree.Call) else ()
    written = _sort(context, row, brackets, arguments, node.span)
    if row.draws:
        written.given["draw"] = _draw_number(context, name, node)
    return apply_primitive(context, name, written.operands, written.given, node.span, places=written.places)


def _draw_number(context: Context, name: str, node: tree.Call | tree.Axes) -> int:
    if context.in_map:
        raise no_draw(f"`{name}` can't draw for the leaves of a tree", node.span)
    found = context.counters.draws.get(node.span.start)
    if found is None:
        hint = f"write `{name}` where it draws: a draw's number is its place among those of its name"
        raise fail("E3001", f"`{name}` can't draw by another name", node.span, hint)
    context.session.note_draw(node.span)
    return found


def apply_primitive(
    context: Context,
    name: str,
    values: Sequence[Value],
    given: Mapping[str, Given],
    span: Span,
    new: Shape | None = None,
    places: Places = NO_PLACES,
) -> Value:
    """A primitive on values.

    `given` is in the form `primitives.call.normalize` takes; `new` are new axes with sizes.
    """
    row = TABLE[name]
    numbers = [value for value in values if isinstance(value, Number)]
    if name in static.FOLDED and len(numbers) == len(values) == len(row.operands):
        return static.fold(name, numbers, span)
    wanted = dict(given) if new is None else {**given, "new": new}
    draw = wanted.pop("draw", None)
    types: list[Type] = []
    try:
        rows = operands_of(row, len(values))
        types.extend([_operand_type(context, each, value, span) for each, value in zip(rows, values, strict=True)])
        targets = injected(row, types)
        attributes: dict[str, Attribute] = normalize(row, targets, wanted)
        if isinstance(draw, int):
            attributes["draw"] = draw
        result = normal_result(row, targets, attributes)
    except Misfit as error:
        raise fail(error.code, error.message, _about(row, error, places) or span, error.hint) from None
    except Misaligned as error:
        raise fail("E3003", error.message, span, error.hint, _shape_notes(types, places)) from None
    large = None if context.session.symbolic else oversized(result)
    if large is not None:
        raise static.too_large(large, span)
    handles = [_operand(context, value, target, span) for value, target in zip(values, targets, strict=True)]
    if name == "dropout":
        return _dropout(context, values, handles, result, draw, span)
    if name == "stop_gradient" and isinstance(values[0], Number):
        return values[0]
    return Data(result, context.emitter.apply(name, handles, tuple(attributes.items()), result, span))


def _about(row: Primitive, error: Misfit, places: Places) -> Span | None:
    """Where the operand or keyword stands that an error is about."""
    if error.about is None or error.about in places.named:
        return places.named.get(error.about or "")
    pairs = zip([operand.name for operand in row.operands], places.operands, strict=False)
    return dict(pairs).get(error.about)


def _shape_notes(operands: list[Type], places: Places) -> list[Note]:
    """Which shape stands where, for a message about two of them."""
    pairs = zip(operands, places.operands, strict=False)
    return [Note(f"this is {show(each)}", place) for each, place in pairs if isinstance(each, Tensor) and each.axes]


def _dropout(
    context: Context, values: Sequence[Value], handles: list[object], result: Type, draw: object, span: Span
) -> Value:
    """The identity, unless prepared for training: then the draw of a mask and a product (language.md 7)."""
    if not context.session.training:
        return as_real(context, values[0], span)
    assert isinstance(result, Tensor) and isinstance(draw, int)
    attributes = (("new", result.axes), ("draw", draw))
    mask = context.emitter.apply("dropout_mask", handles[1:], attributes, result, span)
    return Data(result, context.emitter.apply("mul", [handles[0], mask], (), result, span))


def _operand_type(context: Context, row: Operand, value: Value, span: Span) -> Type:
    """The type a value has as this operand: a number is a nat where one may stand."""
    match value:
        case Number(constant, nat):
            size = constants.as_size(constant) if nat and row.kind in ("nat", "number", "alike") else None
            if size is None or (size.constant is not None and size.constant < 0):
                return REAL
            return Tensor("nat", (), size + size_of(1))
        case Truth():
            return BOOL
        case _:
            return as_data(context, value, span).type


def _operand(context: Context, value: Value, target: Type, span: Span) -> object:
    match value:
        case Number(constant):
            assert isinstance(target, Tensor)
            return context.emitter.literal(constant, target.kind)
        case _:
            data = as_data(context, value, span)
            inject = isinstance(target, Tensor) and isinstance(data.type, Tensor) and target.kind != data.type.kind
            return context.emitter.inject(data.handle, span) if inject else data.handle


def _sort(
    context: Context,
    row: Primitive,
    brackets: tuple[tree.AxisEntry, ...] | None,
    arguments: tuple[tree.Argument, ...],
    span: Span,
) -> Written:
    operands: dict[str, Value] = {}
    variadic: list[Value] = []
    places: list[Span] = []
    given: dict[str, Given] = {}
    labels: list[tuple[str, ...] | None] = []
    keywords = {keyword.name: keyword for keyword in row.keywords}
    rows = {operand.name: operand for operand in row.operands}
    order = row.positional or tuple(rows)
    named: dict[str, Span] = {}
    pairs: list[tuple[str, str]] = []
    free = next((keyword for keyword in row.keywords if keyword.kind == "names"), None)
    for place, argument in enumerate(arguments):
        if argument.name is None and row.operands and row.operands[-1].variadic:
            variadic.append(context.evaluate(argument.value))
            places.append(argument.span)
            continue
        name = argument.name or (order[place] if place < len(order) else None)
        if name is None:
            raise fail(
                "E3002", f"`{row.name}` takes {counted(len(order), 'argument')} by position", argument.span, _usage(row)
            )
        if name in named:
            raise fail("E3002", f"`{name}` is given twice", argument.span)
        named[name] = argument.value.span
        if name in rows:
            operands[name], label = _labelled(context, row, argument.value)
            labels.append(label)
        elif name in keywords and keywords[name] is not free:
            given[name] = _keyword(context, keywords[name], argument.value)
        elif free is not None and argument.name is not None:
            pairs.append((argument.name, _word(argument.value)))
        else:
            hint = did_you_mean(name, [*rows, *keywords]) or _usage(row)
            raise fail("E3002", f"`{row.name}` has no argument `{name}`", argument.span, hint)
    if free is not None:
        given[free.name] = tuple(pairs)
        named[free.name] = span
    if brackets is not None:
        given.update(_brackets(context, row, brackets, span))
    if row.name == "ein":
        given["labels"] = tuple(labels)
    places.extend([named[name] for name in rows if name in operands])
    return Written(_in_order(row, operands, variadic, span), given, Places(tuple(places), named))


def _usage(row: Primitive) -> str:
    return show_signature(row)


def _in_order(row: Primitive, operands: dict[str, Value], variadic: list[Value], span: Span) -> tuple[Value, ...]:
    if variadic:
        return tuple(variadic)
    values: list[Value] = []
    for operand in row.operands:
        if operand.name in operands:
            values.append(operands[operand.name])
        elif operand.default is not None:
            values.append(Number(operand.default, nat=False))
        elif not operand.optional:
            raise fail("E3002", f"`{row.name}` needs its operand `{operand.name}`", span, _usage(row))
    return tuple(values)


def _labelled(context: Context, row: Primitive, written: tree.Expr) -> tuple[Value, tuple[str, ...] | None]:
    """An operand, and the labels behind it in an `ein`."""
    if row.name == "ein" and isinstance(written, tree.Axes):
        base = context.evaluate(written.base)
        if not isinstance(base, PrimitiveName):
            return base, _labels(context, written.axes)
    return context.evaluate(written), None


def _labels(context: Context, entries: tuple[tree.AxisEntry, ...]) -> tuple[str, ...]:
    names: list[str] = []
    for entry in entries:
        if isinstance(entry, tree.RunItem):
            if context.run is None:
                raise fail("E3003", "`..` stands only where the function's signature has it", entry.span)
            names.extend(RUN_LABEL if isinstance(axis, Run) else axis.name or "" for axis in context.run)
        elif entry.label is None and isinstance(entry.size, tree.Name):
            names.append(entry.size.name)
        else:
            raise fail(
                "E3002", "a label is a bare name", entry.span, "sizes follow from the operands: `ein[i, j](a, b)`"
            )
    return tuple(names)


def _brackets(context: Context, row: Primitive, entries: tuple[tree.AxisEntry, ...], span: Span) -> dict[str, Given]:
    if row.name == "ein":
        return {"out": (_labels(context, entries),)}
    if row.new_axes in ("none", "sizes"):
        return {"new": shape_of(context.type_scope(), entries, span)}
    axes: list[AxisOrRun] = []
    for entry in entries:
        if isinstance(entry, tree.AxisItem) and entry.label is None and isinstance(entry.size, tree.Name):
            axes.append(Axis(entry.size.name, OPEN))
        else:
            axes.extend(shape_of(context.type_scope(), (entry,), entry.span))
    return {"new": tuple(axes)}


def _keyword(context: Context, keyword: Keyword, written: tree.Expr) -> Given:
    match keyword.kind:
        case "axis" | "axes" | "order":
            if isinstance(written, tree.Tuple):
                return tuple(_axis(item) for item in written.items)
            return _axis(written)
        case "word":
            return _word(written)
        case _:
            value = context.evaluate(written)
            if not isinstance(value, Number):
                raise fail("E3005", f"`{keyword.name}` must be known at binding, not {describe(value)}", written.span)
            if keyword.kind == "real":
                return value.value
            if not value.nat:
                shown = constants.show(value.value)
                raise fail("E4003", f"`{keyword.name}` must be a whole number, not {shown}", written.span)
            whole = value.value
            return int(whole.value) if isinstance(whole, constants.Rational) else whole


def _axis(written: tree.Expr) -> str | int:
    match written:
        case tree.Name(name=name):
            return name
        case tree.NatLiteral(value=value):
            return value
        case tree.Unary(op="-", operand=tree.NatLiteral(value=value)):
            return -value
        case _:
            raise fail(
                "E3004", "an axis is a name or a position", written.span, "`axis = seq`, `axis = -1`, `axis = (a, b)`"
            )


def _word(written: tree.Expr) -> str:
    if isinstance(written, tree.Name):
        return written.name
    raise fail("E3002", "a bare name is needed here", written.span)
