"""Indexing, slicing and slice updates: `x[seq = i]`, `x[seq = a..b]`, `{x with [seq = i] = v}`."""

from __future__ import annotations

from dataclasses import dataclass

from presk.check import static
from presk.check.context import Context, as_data, located, rule
from presk.check.invoke import apply_primitive
from presk.check.values import Data, Number, Value, describe
from presk.primitives.axes import resolve_axis
from presk.shapes import constants, types
from presk.shapes.poly import Poly
from presk.shapes.poly import number as size_of
from presk.shapes.types import Axis, Tensor
from presk.syntax import tree
from presk.text.diagnostics import fail
from presk.text.spans import Span


@dataclass(frozen=True)
class Place:
    """One item of an index: the axis, and an element (`index`) or the range from `start` up to `stop`."""

    axis: int
    span: Span
    index: Value | None = None
    start: Poly | None = None
    stop: Poly | None = None


@rule(tree.Index)
def index(context: Context, node: tree.Index) -> Value:
    """`x[seq = i]`, `x[seq = a..b]`."""
    base = as_data(context, context.evaluate(node.base), node.base.span)
    places = _places(context, base, node.items, node.span)
    value: Value = base
    for place in sorted(places, key=lambda each: -each.axis):
        value = _take(context, value, place)
    return value


def replace_slice(context: Context, value: Value, change: tree.SliceChange) -> Value:
    """The value with a slice replaced."""
    base = as_data(context, value, change.span)
    places = sorted(_places(context, base, change.items, change.span), key=lambda each: -each.axis)
    return _replace(context, base, places, context.evaluate(change.value), change.value.span)


def _replace(context: Context, base: Value, places: list[Place], new: Value, span: Span) -> Value:
    place, rest = places[0], places[1:]
    if rest:
        new = _replace(context, _take(context, base, place), rest, new, span)
    if place.index is not None:
        return apply_primitive(
            context, "update_index", [base, new, place.index], {"axis": _from_last(base, place)}, span
        )
    assert place.start is not None and place.stop is not None
    _require_length(base, place, new, span)
    start = constants.from_size(place.start)
    return apply_primitive(
        context, "update_slice", [base, new], {"axis": _from_last(base, place), "start": _whole(start)}, span
    )


def _require_length(base: Value, place: Place, new: Value, span: Span) -> None:
    """The new slice must fill the range stated."""
    assert (
        isinstance(base, Data) and isinstance(base.type, Tensor) and place.start is not None and place.stop is not None
    )
    if not isinstance(new, Data) or not isinstance(new.type, Tensor):
        raise fail("E3001", f"a slice is replaced by a tensor, not by {describe(new)}", span)
    if len(new.type.axes) != len(base.type.axes):
        raise fail("E3003", f"{types.show(new.type)} has not the axes of {types.show(base.type)}", span)
    axis = new.type.axes[place.axis]
    if isinstance(axis, Axis) and axis.size != place.stop - place.start:
        raise fail("E3003", f"the range has {place.stop - place.start} elements, the new slice {axis.size}", span)


def _take(context: Context, value: Value, place: Place) -> Value:
    if place.index is not None:
        return apply_primitive(context, "index", [value, place.index], {"axis": _from_last(value, place)}, place.span)
    assert place.start is not None and place.stop is not None
    ends = {"start": _whole(constants.from_size(place.start)), "stop": _whole(constants.from_size(place.stop))}
    return apply_primitive(context, "slice", [value], {"axis": _from_last(value, place), **ends}, place.span)


def _from_last(value: Value, place: Place) -> int:
    """The place's axis as a position from the end, which no run in front of it moves."""
    assert isinstance(value, Data) and isinstance(value.type, Tensor)
    return place.axis - len(value.type.axes)


def _whole(value: constants.Constant) -> int | constants.Constant:
    return int(value.value) if isinstance(value, constants.Rational) else value


def _places(context: Context, base: Data, items: tuple[tree.IndexItem, ...], span: Span) -> list[Place]:
    if not isinstance(base.type, Tensor):
        hint = "`fold` and `scan` go over stacked trees" if isinstance(base.type, types.Stacked) else None
        raise fail("E3001", f"{types.show(base.type)} has no axes to index", span, hint)
    places: list[Place] = []
    for item in items:
        with located(item.span):
            axis = resolve_axis(base.type, item.axis)
        if any(place.axis == axis for place in places):
            raise fail("E3002", "an axis is indexed twice", item.span)
        found = base.type.axes[axis]
        if not isinstance(found, Axis):
            raise fail("E3003", "`..` has no index of its own", item.span)
        places.append(_place(context, item, axis, found))
    return places


def _place(context: Context, item: tree.IndexItem, at: int, axis: Axis) -> Place:
    if isinstance(item.value, tree.Range):
        zero = Number(constants.rational(0), nat=True)
        start = _end(context, item.value.start, axis, zero)
        stop = _end(context, item.value.stop, axis, static.size_number(axis.size))
        for low, high, what in ((start, stop, "ends before it begins"), (stop, axis.size, "ends behind the axis")):
            difference = (high - low).constant
            if difference is not None and difference < 0:
                raise fail("E3007", f"the range {start}..{stop} {what}, which has {axis.size} elements", item.span)
        return Place(at, item.span, start=start, stop=stop)
    value = context.evaluate(item.value)
    if isinstance(value, Number):
        value = _from_end(value, axis)
        size = static.as_size(value, item.span)
        room = (axis.size - size).constant
        if room is not None and room < 1:
            raise fail("E3007", f"index {size} is behind the axis, which has {axis.size} elements", item.span)
        if room is None and context.session.symbolic:
            value = Number(constants.rational(0), nat=True)  # decided when bound
        return Place(at, item.span, index=value)
    if not isinstance(value, Data) or not isinstance(value.type, Tensor) or value.type.kind != "nat":
        raise fail("E3001", f"an index is a nat, not {describe(value)}", item.value.span)
    if value.type.axes:
        raise fail(
            "E3001", "an index is a scalar nat", item.value.span, "`take(x, idx, axis = …)` takes a tensor of indices"
        )
    assert value.type.bound is not None
    if not static.at_most(value.type.bound, axis.size):
        message = f"the index is a nat < {value.type.bound}, which is not certain to be < {axis.size}"
        raise fail("E3007", message, item.value.span, f"its bound must be the axis's size {axis.size} or smaller")
    return Place(at, item.span, index=value)


def _end(context: Context, written: tree.Expr | None, axis: Axis, otherwise: Number) -> Poly:
    if written is None:
        return static.as_size(otherwise, Span(context.file.source, 0, 0))
    value = context.evaluate(written)
    if not isinstance(value, Number):
        hint = "an index `[seq = i]` may be a nat of the run"
        raise fail("E3005", f"the ends of a range are known at binding, not {describe(value)}", written.span, hint)
    return static.as_size(_from_end(value, axis), written.span)


def _from_end(value: Number, axis: Axis) -> Number:
    """A negative literal counts from the end, as in Python."""
    if value.nat and isinstance(value.value, constants.Rational) and value.value.value < 0:
        return static.size_number(axis.size + size_of(value.value.value))
    return value
