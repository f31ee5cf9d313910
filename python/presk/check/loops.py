"""Folds and scans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from presk.check import static
from presk.check.context import Context, Counters, as_data, coerce, field_of, located, origin_of, rule, with_reals
from presk.check.emit import Handle, LoopSource, NeedsLeaf
from presk.check.expressions import bind_pattern
from presk.check.solver import names_kept
from presk.check.values import Data, Fields, Items, Number, Value, describe, type_of
from presk.primitives.axes import resolve_axis
from presk.shapes import types
from presk.shapes.align import check_distinct
from presk.shapes.poly import Poly, number
from presk.shapes.types import BOOL, Axis, RecordOf, Stacked, Tensor, TupleOf, Type
from presk.syntax import tree
from presk.text.diagnostics import PreskError, fail
from presk.text.spans import Span


@dataclass(frozen=True)
class Element:
    """What one source of a loop gives each round; `axis` is the name of the axis a tensor is taken apart along."""

    type: Type
    source: LoopSource
    trips: Poly
    origin: str | None
    counter: bool = False
    axis: str | None = None


@rule(tree.Loop)
def loop(context: Context, node: tree.Loop) -> Value:
    """A fold or a scan."""
    if context.leaf_body is not None:
        raise NeedsLeaf
    start = _state(context, context.evaluate(node.start), node.start.span)
    elements, zipped = _elements(context, node)
    trips = elements[0].trips
    for element in elements[1:]:
        if element.trips != trips:
            message = f"these are zipped, but one has {trips} elements and another {element.trips}"
            raise fail("E3003", message, node.source.span)
    start = _start(context, node, start, elements, zipped)
    along = _along(node, elements, zipped)
    names = _element_names(node.element, len(elements), zipped)
    state_name = node.state.name if isinstance(node.state, tree.NamePattern) else None
    opened = [(name, element.type) for name, element in zip(names, elements, strict=True)]
    state_handle, handles = context.emitter.open_loop(start.type, state_name, opened)
    inner = context.inner()
    value = _round(inner, node, Data(start.type, state_handle, start.origin), elements, handles, zipped)
    body, result = _body(inner, node, start.type, value, trips, along)
    sources = [element.source for element in elements]
    handle = context.emitter.close_loop(
        node.kind, start.handle, sources, trips.whole, along, body.handle, result, node.span
    )
    return Data(result, handle, origin_of(result))


def _round(
    inner: Context,
    node: tree.Loop,
    state: Data,
    elements: Sequence[Element],
    handles: Sequence[Handle],
    zipped: bool,
) -> Value:
    """What the body is, its names bound."""
    bind_pattern(inner, node.state, state)
    parts = tuple(Data(e.type, handle, e.origin) for e, handle in zip(elements, handles, strict=True))
    bind_pattern(inner, node.element, Items(parts) if zipped else parts[0])
    return inner.evaluate(node.body)


def _start(context: Context, node: tree.Loop, start: Data, elements: Sequence[Element], zipped: bool) -> Data:
    """The start with reals for its nats where a round gives reals.

    Rounds are tried until one gives nothing real that it wasn't given so: at most one for each of the state's leaves.
    """
    if not context.session.symbolic:
        return as_data(context, context.noted(node.span, start), node.start.span)
    while any(leaf.kind == "nat" for _, leaf in types.leaves(start.type)):
        inner = replace(context.inner(), counters=Counters(context.counters.function))
        try:
            value = _round(inner, node, start, elements, (None,) * len(elements), zipped)
        except PreskError:
            return start  # the round itself says what is wrong
        if node.kind == "scan":
            value = field_of(context, value, "0") or value
        found = as_data(context, with_reals(context, start, _kinds(value), node.start.span), node.start.span)
        if found.type == start.type:
            break
        start = found
        context.note_reals(node.span, start.type)
    return start


def _kinds(value: Value) -> Type:
    """The type of a round's value, where a whole number may be a nat as well."""
    match value:
        case Number(nat=True):
            return Tensor("nat", (), number(1))
        case Items(items):
            return TupleOf(tuple(_kinds(item) for item in items))
        case Fields(fields):
            return RecordOf(tuple((name, _kinds(each)) for name, each in fields))
        case _:
            return type_of(value) or BOOL


def _state(context: Context, value: Value, span: Span) -> Data:
    """A loop's start as data; numbers in it are real scalars."""
    return as_data(context, value, span)


def _elements(context: Context, node: tree.Loop) -> tuple[list[Element], bool]:
    """What the sources give each round, and whether several are zipped."""
    if isinstance(node.source, tree.Tuple):
        found: list[Element] = []
        for item in node.source.items:
            found.extend(_sources(context, item, node))
        if not found:
            raise fail("E3001", "a loop needs something to go over", node.source.span)
        return found, True
    elements = _sources(context, node.source, node)
    return elements, len(elements) > 1


def _sources(context: Context, written: tree.Expr, node: tree.Loop) -> list[Element]:
    if isinstance(written, tree.Range):
        return [_counter(context, written)]
    value = context.evaluate(written)
    if isinstance(value, Items):
        return [_source(context, item, written.span, node) for item in value.items]
    if isinstance(value, Data) and isinstance(value.type, TupleOf):
        items = [
            Data(each, context.emitter.project(value.handle, str(at)), origin_of(each))
            for at, each in enumerate(value.type.items)
        ]
        return [_source(context, item, written.span, node) for item in items]
    return [_source(context, value, written.span, node)]


def _source(context: Context, value: Value, span: Span, node: tree.Loop) -> Element:
    if isinstance(value, Data) and isinstance(value.type, Stacked):
        origin = value.origin if value.origin is not None else origin_of(value.type.element)
        return Element(value.type.element, ("tree", value.handle, None), value.type.count, origin)
    if isinstance(value, Data) and isinstance(value.type, Tensor):
        if node.along is None:
            raise fail("E3003", f"along which axis of {types.show(value.type)}?", span, "`over x in xs along seq`")
        with located(span):
            at = resolve_axis(value.type, node.along)
        axis = value.type.axes[at]
        if not isinstance(axis, Axis):
            raise fail("E3003", "a loop can't go over `..`", span)
        rest = Tensor(value.type.kind, value.type.axes[:at] + value.type.axes[at + 1 :], value.type.bound)
        return Element(rest, ("tensor", value.handle, at), axis.size, None, axis=axis.name)
    hint = "a loop goes over stacked trees (`T * L`), a tensor along an axis, or a range `0..n`"
    raise fail("E3001", f"a loop can't go over {describe(value)}", span, hint)


def _counter(context: Context, written: tree.Range) -> Element:
    if written.start is None or written.stop is None:
        raise fail("E3001", "a counter's range has both ends", written.span, "`over i in 0..n`")
    ends: list[Poly] = []
    for end in (written.start, written.stop):
        value = context.evaluate(end)
        if not isinstance(value, Number):
            raise fail("E3005", f"a loop's trips are known at binding, not {describe(value)}", end.span)
        ends.append(static.as_size(value, end.span))
    start, stop = ends
    trips = stop - start
    if trips.constant is not None and trips.constant < 0:
        raise fail("E3007", f"the range {start}..{stop} ends before it begins", written.span)
    first = start.whole
    if first is None:
        if not context.session.symbolic:
            raise fail("E4003", f"{start} is not a whole number", written.span)
        first = 0
    return Element(Tensor("nat", (), stop), ("count", None, first), trips, None, counter=True)


def _along(node: tree.Loop, elements: list[Element], zipped: bool) -> str | None:
    """The name of the axis a scan stacks its results along."""
    if isinstance(node.along, str):
        return node.along
    if node.along is not None:
        tensors = [element for element in elements if element.source[0] == "tensor"]
        if not tensors:
            hint = "a name after `along` names the axis of the results"
            raise fail("E3004", "a position stands after `along` for a tensor's axis only", node.source.span, hint)
        return tensors[0].axis
    if not zipped and elements[0].counter and isinstance(node.element, tree.NamePattern):
        return node.element.name
    return None


def _element_names(pattern: tree.Pattern, count: int, zipped: bool) -> list[str | None]:
    if not zipped:
        return [pattern.name if isinstance(pattern, tree.NamePattern) else None]
    if isinstance(pattern, tree.TuplePattern) and len(pattern.items) == count:
        return [item.name if isinstance(item, tree.NamePattern) else None for item in pattern.items]
    return [None] * count


def _body(
    context: Context, node: tree.Loop, state: Type, value: Value, trips: Poly, along: str | None
) -> tuple[Data, Type]:
    """The body's result and the loop's type. The state keeps its type, names included."""
    span = node.body.result.span
    if node.kind == "fold":
        return _next_state(context, value, state, span), state
    if isinstance(value, Data) and isinstance(value.type, TupleOf) and len(value.type.items) == 2:
        parts = [
            Data(each, context.emitter.project(value.handle, str(at)), origin_of(each))
            for at, each in enumerate(value.type.items)
        ]
        value = Items(tuple(parts))
    if not isinstance(value, Items) or len(value.items) != 2:
        raise fail("E3001", f"a scan's body gives (next state, result), not {describe(value)}", span)
    following = _next_state(context, value.items[0], state, span)
    given = as_data(context, value.items[1], span)
    body = as_data(context, Items((following, given)), span)
    with located(span):
        for _, leaf in types.leaves(given.type):
            check_distinct((Axis(along, trips), *leaf.axes))
    return body, TupleOf((state, types.stack(given.type, trips, along)))


def _next_state(context: Context, value: Value, state: Type, span: Span) -> Data:
    following = coerce(context, value, state, "the next state", span)
    actual = as_data(context, value, span).type if isinstance(value, Data) else state
    if not names_kept(state, actual):
        message = f"the state is {types.show(state)} at first, but {types.show(actual)} after a round"
        raise fail(
            "E3003",
            message,
            span,
            "names are part of the state's type: `rename(x, a = b)`, or name the axes at the start",
        )
    return following
