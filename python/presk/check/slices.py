"""Indexing, slicing and slice updates: `x[seq = i]`, `x[seq = a..b]`, `{x with [seq = i] = v}`."""

from __future__ import annotations

from dataclasses import dataclass

from presk.check import static
from presk.check.context import Context, as_data, located, rule
from presk.check.invoke import apply_primitive
from presk.check.values import Data, Number, Value, describe, type_of
from presk.primitives.axes import resolve_axis
from presk.primitives.fitting import match_same_rank
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
    new = _filled(context, base, place, new, span)
    start = constants.from_size(place.start)
    return apply_primitive(
        context, "update_slice", [base, new], {"axis": _from_last(base, place), "start": _whole(start)}, span
    )


def _filled(context: Context, base: Value, place: Place, new: Value, span: Span) -> Value:
    """The new slice, which must be as long as the range stated; a scalar fills it."""
    assert isinstance(base, Data) and isinstance(base.type, Tensor)
    assert place.start is not None and place.stop is not None
    each = type_of(new)
    if not isinstance(each, Tensor):
        raise fail("E3001", f"a slice is replaced by a tensor or a scalar, not by {describe(new)}", span)
    length = place.stop - place.start
    if not each.axes:
        old = base.type.axes[place.axis]
        assert isinstance(old, Axis)
        axes = (*base.type.axes[: place.axis], Axis(old.name, length), *base.type.axes[place.axis + 1 :])
        return apply_primitive(context, "full", [new], {}, span, new=axes)
    with located(span):
        axis = each.axes[match_same_rank(base.type.axes, each, free=place.axis).index(place.axis)]
    if isinstance(axis, Axis) and axis.size != length:
        raise fail("E3003", f"the range has {length} elements, the new slice {axis.size}", span)
    return new


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
        return _range_place(context, item.value, at, axis)
    value = _position(context, item.value, axis)
    span = item.value.span
    if isinstance(value, Poly):
        _require_inside(value, axis.size - size_of(1), "index", axis, span)
        known = value.constant is not None or not context.session.symbolic
        # While checking, an index that isn't known stands for the first: where it is inside is decided when bound.
        return Place(at, item.span, index=static.size_number(value if known else size_of(0)))
    if not isinstance(value, Data) or not isinstance(value.type, Tensor) or value.type.kind != "nat":
        raise fail("E3001", f"an index is a nat, not {describe(value)}", span)
    if value.type.axes:
        raise fail("E3001", "an index is a scalar nat", span, "`take(x, idx, axis = …)` takes a tensor of indices")
    assert value.type.bound is not None
    if not static.at_most(value.type.bound, axis.size):
        message = f"the index is a nat < {value.type.bound}, which is not certain to be < {axis.size}"
        raise fail("E3007", message, span, f"its bound must be the axis's size {axis.size} or smaller")
    return Place(at, item.span, index=value)


def _range_place(context: Context, written: tree.Range, at: int, axis: Axis) -> Place:
    ends: list[Poly] = []
    for end, otherwise in ((written.start, size_of(0)), (written.stop, axis.size)):
        value = otherwise if end is None else _position(context, end, axis)
        place = written.span if end is None else end.span
        if not isinstance(value, Poly):
            hint = "an index `[seq = i]` may be a nat of the run"
            raise fail("E3005", f"the ends of a range are known at binding, not {describe(value)}", place, hint)
        _require_inside(value, axis.size, "end", axis, place)
        ends.append(value)
    start, stop = ends
    length = (stop - start).constant
    if length is not None and length < 0:
        raise fail("E3007", f"the range {start}..{stop} ends before it begins", written.span)
    return Place(at, written.span, start=start, stop=stop)


def _position(context: Context, written: tree.Expr, axis: Axis) -> Poly | Value:
    """A position on an axis: a size, counted from the end where a minus is written before it; or a value of the run."""
    if isinstance(written, tree.Unary) and written.op == "-":
        value = context.evaluate(written.operand)
        if isinstance(value, Number):
            return axis.size - static.as_size(value, written.span)
        return apply_primitive(context, "neg", [value], {}, written.span)
    value = context.evaluate(written)
    if isinstance(value, Number):
        negative = isinstance(value.value, constants.Rational) and value.value.value < 0
        return (
            size_of(value.value.value)
            if negative and isinstance(value.value, constants.Rational)
            else (static.as_size(value, written.span))
        )
    return value


def _require_inside(value: Poly, most: Poly, what: str, axis: Axis, span: Span) -> None:
    """Raises E3007 where a position is certain to be off its axis."""
    for difference, where in ((value.constant, "before"), ((most - value).constant, "behind")):
        if difference is not None and difference < 0:
            raise fail("E3007", f"the {what} {value} is {where} its axis, which has {axis.size} elements", span)
