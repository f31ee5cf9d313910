"""What depends on the arguments that are differentiated: leaves of values, found forward through a function.

A leaf is active where a change of an active argument may change it smoothly. What is not active gets no cotangent, so
its part of an adjoint is never written. Called by `transform`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from presk.core.nodes import (
    Apply,
    Body,
    Call,
    Each,
    Let,
    Loop,
    MakeRecord,
    MakeTuple,
    MapTrees,
    Operand,
    Ref,
    SetField,
)
from presk.core.typing import operand_type
from presk.core.vjp.rules.table import RULES
from presk.shapes.types import Type, leaves

Path = tuple[str, ...]
Leaf = tuple[int, Path]
"""A leaf of a numbered value."""

Results = Callable[[str, frozenset[Leaf]], frozenset[Path]]
"""For a function and its active parameters' leaves, by parameter number: the active leaves of its result."""


class Activity:
    """The active leaves of one function, body by body. `types` are those of all its numbers."""

    def __init__(self, types: Mapping[int, Type], active: Iterable[Leaf], results: Results) -> None:
        self.types = types
        self.active: set[Leaf] = set(active)
        self.results = results

    def of(self, operand: Operand) -> set[Path]:
        """The active leaves of an operand, as paths from it."""
        if not isinstance(operand, Ref):
            return set()
        tree = operand_type(operand, self.types)
        return {path for path, _ in leaves(tree) if (operand.number, (*operand.path, *path)) in self.active}

    def add(self, number: int, paths: Iterable[Path]) -> None:
        """Marks leaves of a value."""
        self.active |= {(number, path) for path in paths}

    def body(self, body: Body) -> set[Path]:
        """Goes through a body; the active leaves of its result."""
        for let in body.lets:
            self.add(let.number, self.let(let))
        return self.of(body.result)

    def let(self, let: Let) -> set[Path]:
        """The active leaves of what a let holds."""
        match let.value:
            case Apply(primitive, operands):
                if primitive not in RULES or not any(self.of(operand) for operand in operands):
                    return set()
                return {path for path, leaf in leaves(let.type) if leaf.kind == "real"}
            case Call(function, operands):
                given = {(at, path) for at, operand in enumerate(operands) for path in self.of(operand)}
                return set(self.results(function, frozenset(given))) if given else set()
            case Loop():
                return self.loop(let.value)
            case MapTrees():
                return self.leafwise(let, let.value)
            case MakeTuple(items):
                return {(str(at), *path) for at, item in enumerate(items) for path in self.of(item)}
            case MakeRecord(fields):
                return {(name, *path) for name, item in fields for path in self.of(item)}
            case SetField(base, place, value):
                kept = {path for path in self.of(base) if path[: len(place)] != place}
                return kept | {(*place, *path) for path in self.of(value)}

    def loop(self, loop: Loop) -> set[Path]:
        """A loop's state is active where any round's is."""
        for parameter, source in zip(loop.elements, loop.sources, strict=True):
            if isinstance(source, Each):
                self.add(parameter.number, self.of(source.operand))
        state = self.of(loop.start)
        while True:
            self.add(loop.state.number, state)
            given = self.body(loop.body)
            if loop.kind == "fold":
                following, stacked = given, set[Path]()
            else:
                following = {path[1:] for path in given if path[0] == "0"}
                stacked = {path for path in given if path[0] == "1"}
            if following <= state:
                break
            state |= following
        return state if loop.kind == "fold" else {("0", *path) for path in state} | stacked

    def leafwise(self, let: Let, mapped: MapTrees) -> set[Path]:
        """Leaf by leaf: where a tree's leaf is active, or something that the body takes from outside."""
        trees = [self.of(operand) for operand in mapped.operands]
        found: set[Path] = set()
        for path, _ in leaves(operand_type(mapped.operands[0], self.types)):
            for parameter, tree in zip(mapped.parameters, trees, strict=True):
                self.active.discard((parameter.number, ()))
                if path in tree:
                    self.add(parameter.number, [()])
            self.active -= {(inner.number, each) for inner in mapped.body.lets for each in self._paths(inner)}
            given = self.body(mapped.body)
            found |= {(*item, *path) for item in given}
        for parameter, tree in zip(mapped.parameters, trees, strict=True):
            self.add(parameter.number, [()] if tree else [])
        self.body(mapped.body)
        real = {path for path, leaf in leaves(let.type) if leaf.kind == "real"}
        return found & real

    def _paths(self, let: Let) -> list[Path]:
        return [path for path, _ in leaves(let.type)]
