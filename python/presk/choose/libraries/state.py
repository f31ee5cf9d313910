"""Stating a Core program in an array library: one call of the function it gives walks the program's lets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from presk.choose.libraries.layout import LAYOUT
from presk.choose.libraries.library import DTYPES, Library
from presk.choose.libraries.rules import NEEDS_ERF, RULES
from presk.choose.libraries.task import Rule, Task
from presk.core.nodes import (
    Apply,
    Body,
    Call,
    Count,
    Function,
    Injected,
    Let,
    Literal,
    Loop,
    MakeRecord,
    MakeTuple,
    MapTrees,
    Operand,
    Program,
    Ref,
    SetField,
    Source,
)
from presk.core.typing import operand_type
from presk.exact.constants import round_constant
from presk.run import trees
from presk.shapes.types import Type
from presk.text.diagnostics import InternalError, PreskError, fail

STATED: Mapping[str, Rule] = {**RULES, **LAYOUT}
"""Every primitive that can be stated, by its name."""


def state(program: Program, library: Library, dtype: str) -> Callable[..., Any]:
    """The entry as a function of the library's arrays, trees of them in the places of trees.

    Raises PreskError E9011 for the first primitive or construct the tables don't have.
    """
    functions = {each.name: each for each in program.functions}
    for function in program.functions:
        _check(function.body, library)

    def call(*arguments: Any) -> Any:
        return _Stated(library, functions, dtype).enter(program.entry, arguments)

    return library.compile(call)


def _check(body: Body, library: Library) -> None:
    for let in body.lets:
        match let.value:
            case Apply(primitive) if primitive not in STATED or (primitive in NEEDS_ERF and library.erf is None):
                raise _unstated(library, f"`{primitive}`")
            case MapTrees():
                raise _unstated(library, "a map over trees")
            case Loop() as loop if loop.trips == 0 and loop.kind == "scan":
                raise _unstated(library, "a scan of no rounds")
            case Loop() as loop:
                _check(loop.body, library)
            case _:
                pass


def _unstated(library: Library, what: str) -> PreskError:
    return fail("E9011", f"the entry can't be stated in {library.name}: it has {what}")


@dataclass(frozen=True)
class _Stated:
    """One call while it runs."""

    library: Library
    functions: Mapping[str, Function]
    dtype: str

    def enter(self, function: Function, arguments: Sequence[Any]) -> Any:
        types: dict[int, Type] = {each.number: each.type for each in function.parameters}
        values = {each.number: value for each, value in zip(function.parameters, arguments, strict=True)}
        return self.body(function.body, values, types)

    def body(self, body: Body, values: dict[int, Any], types: dict[int, Type]) -> Any:
        for let in body.lets:
            values[let.number] = self.let(let, values, types)
            types[let.number] = let.type
        return self.operand(body.result, values)

    def let(self, let: Let, values: dict[int, Any], types: dict[int, Type]) -> Any:
        match let.value:
            case Apply(primitive, operands) as apply:
                kinds = [operand_type(each, types) for each in operands]
                given = [self.operand(each, values) for each in operands]
                return STATED[primitive](Task(self.library, apply, let.type, kinds, self.dtype), *given)
            case Call(name, operands):
                return self.enter(self.functions[name], [self.operand(each, values) for each in operands])
            case Loop() as loop:
                return self.loop(loop, values, types)
            case MakeTuple(items):
                return tuple(self.operand(each, values) for each in items)
            case MakeRecord(fields):
                return {name: self.operand(each, values) for name, each in fields}
            case SetField(base, path, value):
                return _replaced(self.operand(base, values), path, self.operand(value, values))
            case MapTrees():
                raise InternalError("a map over trees is refused before anything runs")

    def loop(self, loop: Loop, values: dict[int, Any], types: dict[int, Type]) -> Any:
        """A fold or a scan, round by round: a library that compiles sees it unrolled."""
        inner = {**types, loop.state.number: loop.state.type, **{each.number: each.type for each in loop.elements}}
        given = [self.source(each, values) for each in loop.sources]
        state = self.operand(loop.start, values)
        piled: list[Any] = []
        for at in reversed(range(loop.trips)) if loop.reversed else range(loop.trips):
            elements = {each.number: source(at) for each, source in zip(loop.elements, given, strict=True)}
            found = self.body(loop.body, {**values, loop.state.number: state, **elements}, dict(inner))
            state = found if loop.kind == "fold" else found[0]
            if loop.kind == "scan":
                piled.append(found[1])
        if loop.kind == "fold":
            return state
        return state, self.pile(piled[::-1] if loop.reversed else piled)

    def source(self, source: Source, values: Mapping[int, Any]) -> Callable[[int], Any]:
        if isinstance(source, Count):
            start = source.start
            return lambda at: self.library.enter(np.asarray(start + at, dtype=np.int64))
        tree, before = self.operand(source.operand, values), (slice(None),) * (source.axis or 0)
        return lambda at: trees.map_leaves(tree, lambda leaf: leaf[(*before, at)])

    def pile(self, rounds: Sequence[Any]) -> Any:
        """Trees of one shape stacked leaf by leaf."""
        first = rounds[0]
        if isinstance(first, dict):
            names = cast("Iterable[str]", first)
            return {name: self.pile([each[name] for each in rounds]) for name in names}
        if isinstance(first, tuple):
            return tuple(self.pile(column) for column in zip(*rounds, strict=True))
        return self.library.functions.stack(tuple(rounds), 0)

    def operand(self, operand: Operand, values: Mapping[int, Any]) -> Any:
        match operand:
            case Literal(value, "real"):
                narrow = "f64" if self.dtype == "f64" else "f32"
                number = np.asarray(float(round_constant(value, narrow)), dtype=DTYPES[self.dtype])
                return self.library.enter(number)
            case Literal(value, kind):
                whole = round(float(round_constant(value, "f64")))
                return self.library.enter(np.asarray(whole, dtype=np.bool_ if kind == "bool" else np.int64))
            case Injected(Ref(number, path)) | Ref(number, path):
                return _component(values[number], path)


def _component(tree: Any, path: Sequence[str]) -> Any:
    for name in path:
        tree = tree[name] if hasattr(tree, "keys") else tree[int(name)]
    return tree


def _replaced(tree: Any, path: Sequence[str], value: Any) -> Any:
    """The tree with the component at a path replaced."""
    if not path:
        return value
    if hasattr(tree, "keys"):
        return {name: _replaced(each, path[1:], value) if name == path[0] else each for name, each in tree.items()}
    return tuple(_replaced(each, path[1:], value) if at == int(path[0]) else each for at, each in enumerate(tree))


def arguments(library: Library, values: Sequence[Any]) -> list[Any]:
    """Values as the library's arrays."""
    return [trees.map_leaves(each, lambda leaf: library.enter(np.asarray(leaf))) for each in values]
