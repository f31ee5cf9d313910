"""Leafwise maps.

Core has a map whose body is primitives over `..`: it is written once, and what it calls is written out. A body that
holds more (a derivative, a loop, another map, very many calls) is written leaf by leaf, at each leaf's own axes, where
everything is what it is outside of maps; the leaves are put together to the tree they are of. Both mean the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from presk.check.context import Context, LeafBody, as_data, origin_of, rule, with_reals
from presk.check.emit import Handle, NeedsLeaf, Silent
from presk.check.solver import same_tree
from presk.check.values import Data, Fields, Items, Value
from presk.shapes import types
from presk.shapes.types import (
    HIDDEN,
    Axis,
    ModuleOf,
    RecordOf,
    Run,
    Shape,
    Stacked,
    Tensor,
    TreeVariable,
    TupleOf,
    Type,
)
from presk.syntax import tree
from presk.text.diagnostics import fail
from presk.text.spans import Span

LEAF = Run("leaf")
"""The axes of a leaf in the body of a map."""

LEAVES_LIMIT = 10_000
"""Bodies that are written for one leaf alone, in a whole program: maps inside of maps multiply their leaves."""

Operands = Sequence[tuple[str, Data]]
"""The trees that a map goes over, under the names they have in its body."""


@rule(tree.MapTrees)
def map_trees(context: Context, node: tree.MapTrees) -> Value:
    """A leafwise map."""
    if context.leaf_body is not None:
        raise NeedsLeaf
    operands: list[tuple[str, Data]] = []
    for name, written in node.bindings:
        value = as_data(context, context.evaluate(written), written.span)
        if any(leaf.kind != "real" for _, leaf in types.leaves(value.type)):
            raise fail("E3001", f"`map` goes over real leaves, not over {types.show(value.type)}", written.span)
        if operands and not same_tree(operands[0][1].type, value.type):
            first, other = types.show(operands[0][1].type), types.show(value.type)
            message = f"`map` goes over trees of one shape, not {first} and {other}"
            raise fail("E3001", message, written.span)
        operands.append((name, value))
    try:
        return _written_once(context, node, operands)
    except NeedsLeaf:
        context.emitter.drop_map()
        return _by_leaf(context, node, operands)


def _written_once(context: Context, node: tree.MapTrees, operands: Operands) -> Data:
    """The map as Core has it. Raises NeedsLeaf where it holds what that can't."""
    leaf = Tensor("real", (_own_run(context),))
    handles = context.emitter.open_map([(name, leaf) for name, _ in operands])
    body = None if context.session.symbolic else LeafBody()
    value = _body(context, node, operands, handles, leaf, body)
    arity = _arity(value.type, leaf, node)
    result = _whole(operands, arity)
    given = [each.handle for _, each in operands]
    return Data(
        result,
        context.emitter.close_map(given, value.handle, arity, result, node.span),
        origin_of(result),
    )


def _by_leaf(context: Context, node: tree.MapTrees, operands: Operands) -> Data:
    """The body once for every leaf, and trees of what it gives. A leaf without elements stays what it is."""
    emitter, whole = context.emitter, operands[0][1]
    leaves = list(types.leaves(whole.type))
    given = [[_component(context, each.handle, path) for _, each in operands] for path, _ in leaves]
    bodies = [
        None if any(axis.size.whole == 0 for axis in leaf.explicit) else _leaf(context, node, operands, handles, leaf)
        for handles, (_, leaf) in zip(given, leaves, strict=True)
    ]
    some = next((each for each in bodies if each is not None), None)
    arity = _arity_at_a_scalar(context, node, operands) if some is None else some.arity
    count = 1 if arity is None else arity
    rows = [handles[:1] * count if body is None else body.parts for handles, body in zip(given, bodies, strict=True)]
    trees = [
        _tree(context, whole.type, whole.handle, iter([row[at] for row in rows]), node.span) for at in range(count)
    ]
    result = _whole(operands, arity)
    handle = trees[0] if arity is None else emitter.make_tuple(trees, result, node.span)
    return Data(result, handle, origin_of(result))


@dataclass(frozen=True)
class _Leaf:
    """What the body gives for one leaf of each tree; `arity` as in Core's map."""

    parts: Sequence[Handle]
    arity: int | None


def _leaf(context: Context, node: tree.MapTrees, operands: Operands, given: Sequence[Handle], leaf: Tensor) -> _Leaf:
    context.session.leaves += 1
    if context.session.leaves > LEAVES_LIMIT:
        message = f"bodies of maps are written for more than {LEAVES_LIMIT} leaves one by one"
        hint = "one map inside of another has the leaves of both, multiplied: take the inner one out"
        raise fail("E4009", message, node.span, hint)
    emitter = context.emitter
    within = Tensor("real", _apart(context, leaf.axes))
    value = _body(context, node, operands, [emitter.renamed(each, within, node.span) for each in given], within, None)
    arity = _arity(value.type, within, node)
    parts = [value.handle] if arity is None else [emitter.project(value.handle, str(at)) for at in range(arity)]
    return _Leaf([emitter.renamed(each, leaf, node.span) for each in parts], arity)


def _arity_at_a_scalar(context: Context, node: tree.MapTrees, operands: Operands) -> int | None:
    """How many trees the body gives, where no leaf tells it."""
    silent = replace(context, emitter=Silent())
    leaf = Tensor("real", ())
    return _arity(_body(silent, node, operands, [None] * len(operands), leaf, None).type, leaf, node)


def _body(
    context: Context,
    node: tree.MapTrees,
    operands: Operands,
    handles: Sequence[Handle],
    leaf: Tensor,
    body: LeafBody | None,
) -> Data:
    """The body over leaves of this type."""
    inner = replace(context.inner(), in_map=True, leaf_body=body, run=leaf.axes)
    for (name, _), handle in zip(operands, handles, strict=True):
        inner.values[name] = Data(leaf, handle)
    value, span = inner.evaluate(node.body), node.body.result.span
    parts = value.items if isinstance(value, Items) else (value,)
    given = [with_reals(inner, part, leaf, span) for part in parts]
    return as_data(inner, Items(tuple(given)) if isinstance(value, Items) else given[0], span)


def _arity(body: Type, leaf: Tensor, node: tree.MapTrees) -> int | None:
    """How many trees a body gives, None where it is one and no tuple. Raises E3003 where it doesn't give leaves."""
    parts = body.items if isinstance(body, TupleOf) else (body,)
    for part in parts:
        if part != leaf:
            hint = (
                "the body gives a leaf of the same shape, or a tuple of such; a scalar is spread by adding it to a leaf"
            )
            raise fail("E3003", f"the body of `map` gives {types.show(part)}, not a leaf", node.body.result.span, hint)
    return len(parts) if isinstance(body, TupleOf) else None


def _whole(operands: Operands, arity: int | None) -> Type:
    tree_type = operands[0][1].type
    return tree_type if arity is None else TupleOf((tree_type,) * arity)


def _own_run(context: Context) -> Run:
    """What stands for a leaf's axes: in a map inside of a map's body, which is checked so, another run than its."""
    outer = next((each for each in context.run or () if isinstance(each, Run)), None)
    return LEAF if outer is None or not outer.label.startswith(LEAF.label) else Run(f"{outer.label}'")


def _apart(context: Context, axes: Shape) -> Shape:
    """A leaf's axes under names that nothing else here has, so that they meet only themselves."""
    taken = {name for value in context.values.values() for name in _names(value)}
    taken |= {axis.name for axis in context.run or () if isinstance(axis, Axis) and axis.name is not None}
    free = (name for name in (f"{HIDDEN}{at}" for at in count(1)) if name not in taken)
    return tuple(Axis(next(free), axis.size) for axis in axes if isinstance(axis, Axis))


def _names(value: Value) -> Iterator[str]:
    """The names of the axes of what a name stands for."""
    match value:
        case Data(type=of):
            for _, leaf in types.leaves(of):
                yield from (axis.name for axis in leaf.explicit if axis.name is not None)
        case Items(items):
            for each in items:
                yield from _names(each)
        case Fields(fields):
            for _, each in fields:
                yield from _names(each)
        case _:
            return


def _component(context: Context, handle: Handle, path: tuple[str, ...]) -> Handle:
    for step in path:
        handle = context.emitter.project(handle, step)
    return handle


def _tree(context: Context, of: Type, whole: Handle, found: Iterator[Handle], span: Span) -> Handle:
    """The tree of this type with these leaves in the place of those of `whole`."""
    emitter = context.emitter
    match of:
        case Tensor():
            return next(found)
        case TupleOf(items):
            inside = [
                _tree(context, each, emitter.project(whole, str(at)), found, span) for at, each in enumerate(items)
            ]
            return emitter.make_tuple(inside, of, span)
        case RecordOf(fields) | ModuleOf(fields=fields):
            named = [(name, _tree(context, each, emitter.project(whole, name), found, span)) for name, each in fields]
            return emitter.make_record(named, of if isinstance(of, ModuleOf) else None, of, span)
        case Stacked():
            for path, _ in types.leaves(of):
                whole = emitter.set_field(whole, path, next(found), of, span)
            return whole
        case TreeVariable():
            raise TypeError(of)
