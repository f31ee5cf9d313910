"""Folds, scans and leafwise maps, compiled as steps over their function's frame.

Round i of a loop takes element i of every source, of a reversed one element trips − 1 − i; that element's number is
also what a draw inside is keyed by and where a scan's result is stacked, so that an adjoint's rounds are its primal's.
Radii of the state are dropped after every round, unless certifying.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

from presk.core import nodes
from presk.core.leafwise import at_leaf
from presk.exact import doomed, swamped
from presk.exact.context import Frame
from presk.exact.elements import Site
from presk.exact.layouts import permuted
from presk.exact.reals import Reals
from presk.exact.rules.gathers import like
from presk.exact.rules.layout import split, stacked
from presk.exact.rules.task import Value, children, entries
from presk.shapes.types import Shape, Stacked, Tensor, TupleOf, Type, fields_of, leaves
from presk.text.diagnostics import InternalError

if TYPE_CHECKING:
    from presk.exact.compile import FunctionCompiler, Read

Elements = Callable[[Frame], Callable[[int], Value]]
"""For a frame, what gives element i of a loop's source."""


def compile_loop(compiler: FunctionCompiler, let: nodes.Let, loop: nodes.Loop) -> Read:
    """A fold or scan."""
    site = Site(compiler.function.name, let.number, let.name, loop.kind, let.span)
    start = compiler.reader(loop.start)
    sources = tuple(_source(compiler, source, loop.trips) for source in loop.sources)
    compiler.declare(loop.state.number, loop.state.type)
    for element in loop.elements:
        compiler.declare(element.number, element.type)
    body = compiler.body(loop.body)
    state_place = loop.state.number
    places = tuple(element.number for element in loop.elements)
    order = range(loop.trips - 1, -1, -1) if loop.reversed else range(loop.trips)
    scanned = loop.kind == "scan"
    piled = component_of_scan(let.type) if scanned else None

    fate = doomed.Fate(loop, compiler.known)

    def run(frame: Frame) -> Value:
        values, outside = frame.values, frame.indices
        certify = frame.run.certify
        elements = [source(frame) for source in sources]
        state = start(frame)
        outputs: list[Value] = []
        try:
            for index in order:
                frame.indices = (*outside, index)
                values[state_place] = state
                for place, element in zip(places, elements, strict=True):
                    values[place] = element(index)
                state = body(frame)
                if scanned:
                    state, output = state
                    outputs.append(output)
                if not certify:
                    settle(state)
                frame.run.rounds += 1
                looked = frame.run.rounds % swamped.ROUNDS == 0
                if looked or certify:
                    place = swamped.Round(site, outside, index, loop.trips)
                    state = swamped.refuse(state, place, frame.run, looked)
                if frame.run.lost and doomed.wholly(state) and fate.sealed:
                    break
        finally:
            frame.indices = outside
        if piled is None:
            return state
        while outputs and len(outputs) < loop.trips:
            outputs.append(doomed.lost_like(outputs[-1], doomed.first_of(state)))
        if loop.reversed:
            outputs.reverse()
        return (state, pile(outputs) if outputs else nothing(piled))

    return run


def component_of_scan(result: Type) -> Type:
    """The type of a scan's stacked results."""
    fields = fields_of(result)
    if fields is None or len(fields) != 2:
        raise InternalError("a scan gives its last state and its stacked results")
    return fields[1][1]


def _source(compiler: FunctionCompiler, source: nodes.Source, trips: int) -> Elements:
    match source:
        case nodes.Count(first):
            return lambda frame: lambda index: [first + index]
        case nodes.Each(operand, int(axis)):
            read = compiler.reader(operand)
            tensor = compiler.type_of(operand)
            if not isinstance(tensor, Tensor):
                raise InternalError("only a tensor has axes to go along")
            order = (axis, *(at for at in range(len(tensor.axes)) if at != axis))
            gather = permuted(tensor.sizes, order)

            def elements(frame: Frame) -> Callable[[int], Value]:
                value = read(frame)
                first = value if gather is None else like(value, gather(entries(value)))
                return split(first, trips).__getitem__

            return elements
        case nodes.Each(operand, _):
            read = compiler.reader(operand)
            return lambda frame: _parts(read(frame), trips).__getitem__


def _parts(tree: Value, count: int) -> list[Value]:
    """The `count` elements of a stacked tree."""
    if not isinstance(tree, (dict, tuple)):
        return split(tree, count)
    columns = [_parts(each, count) for each in children(tree)]
    return [like_tree(tree, [column[at] for column in columns]) for at in range(count)]


def pile(trees: list[Value]) -> Value:
    """Trees stacked leaf by leaf. There must be one at least."""
    first = trees[0]
    if not isinstance(first, (dict, tuple)):
        return stacked(trees)
    rows = [children(tree) for tree in trees]
    return like_tree(first, [pile(list(column)) for column in zip(*rows, strict=True)])


def like_tree(tree: Value, components: list[Value]) -> Value:
    """A tree of the same fields with other components."""
    if not isinstance(tree, dict):
        return tuple(components)
    return dict(zip(cast(dict[str, Value], tree), components, strict=True))


def nothing(of: Type) -> Value:
    """The value of a type all of whose tensors are empty."""
    return build(of, lambda tensor: Reals([], settled=True, age=0) if tensor.kind == "real" else [])


def build(of: Type, make: Callable[[Tensor], Value]) -> Value:
    """A tree of a type from its tensors."""
    if isinstance(of, Tensor):
        return make(of)
    fields = fields_of(of) or ()
    if is_tuple(of):
        return tuple(build(each, make) for _, each in fields)
    return {name: build(each, make) for name, each in fields}


def is_tuple(of: Type) -> bool:
    """Whether a tree type's values are tuples, stacked ones included."""
    while isinstance(of, Stacked):
        of = of.element
    return isinstance(of, TupleOf)


def settle(tree: Value) -> None:
    """Drops the radii of a tree's leaves."""
    if isinstance(tree, Reals):
        tree.settle()
    elif isinstance(tree, (dict, tuple)):
        for each in children(tree):
            settle(each)


# Leafwise maps


def compile_map(compiler: FunctionCompiler, node: nodes.MapTrees, result: Type) -> Read:
    """A map: its body once for every shape of leaf."""
    readers = tuple(compiler.reader(operand) for operand in node.operands)
    tree = compiler.type_of(node.operands[0])
    bodies: dict[Shape, Callable[[Frame], Value]] = {}
    plan: list[tuple[tuple[str | int, ...], Callable[[Frame], Value]]] = []
    for path, leaf in leaves(tree):
        if leaf.axes not in bodies:
            here = at_leaf(node, leaf.axes, compiler.types)
            for parameter in here.parameters:
                compiler.declare(parameter.number, parameter.type)
            bodies[leaf.axes] = compiler.body(here.body)
        plan.append((_steps(tree, path), bodies[leaf.axes]))
    places = tuple(parameter.number for parameter in node.parameters)

    def run(frame: Frame) -> Value:
        trees = [read(frame) for read in readers]
        values = frame.values
        found: list[Value] = []
        for path, body in plan:
            for place, each in zip(places, trees, strict=True):
                values[place] = _at(each, path)
            found.append(body(frame))
        if node.arity is None:
            return _refill(tree, iter(found))
        return tuple(_refill(tree, iter([each[at] for each in found])) for at in range(node.arity))

    return run


def _steps(tree: Type, path: tuple[str, ...]) -> tuple[str | int, ...]:
    out: list[str | int] = []
    for name in path:
        out.append(int(name) if is_tuple(tree) else name)
        tree = dict(fields_of(tree) or ())[name]
    return tuple(out)


def _at(tree: Value, path: tuple[Any, ...]) -> Value:
    for step in path:
        tree = tree[step]
    return tree


def _refill(of: Type, found: Iterator[Value]) -> Value:
    return build(of, lambda _: next(found))
