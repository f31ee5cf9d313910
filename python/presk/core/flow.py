"""What a program's values are made of, leaf by leaf, through calls, loops, maps and trees: dataflow on Core.

A node is a tensor of a function: a number and the path to a leaf. Each has the nodes it is made of. One node stands for
a value in all calls of its function, and for all rounds of a loop and leaves of a map, so what is read off here holds
for each of them. Called by `realization.mixed`, `realization.rest`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from presk.core.nodes import (
    Apply,
    Body,
    Call,
    Each,
    Function,
    Let,
    Loop,
    MakeRecord,
    MakeTuple,
    MapTrees,
    Operand,
    Program,
    SetField,
)
from presk.core.operands import ref_of
from presk.core.roles import ROLES, Role
from presk.core.typing import operand_type
from presk.shapes.types import Tensor, Type, leaves

Path = tuple[str, ...]
Node = tuple[str, int, Path]
"""A function's name, a number, and the path to a leaf."""


@dataclass
class Flow:
    """Of each node the ones it is made of; the lets of primitives by function and number; tensors by node."""

    made_of: dict[Node, tuple[Node, ...]] = field(default_factory=dict[Node, "tuple[Node, ...]"])
    applied: dict[tuple[str, int], Let] = field(default_factory=dict[tuple[str, int], Let])
    mapped: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    tensors: dict[Node, Tensor] = field(default_factory=dict[Node, Tensor])
    parameters: dict[str, tuple[int, ...]] = field(default_factory=dict[str, "tuple[int, ...]"])
    results: dict[str, dict[Path, Node]] = field(default_factory=dict[str, "dict[Path, Node]"])

    def apply(self, node: Node) -> Apply | None:
        """The primitive that makes a node; None where it is a parameter or a part of a tree."""
        let = self.applied.get(node[:2])
        return None if let is None or not isinstance(let.value, Apply) else let.value

    def role(self, node: Node) -> Role | None:
        """The role of that primitive."""
        apply = self.apply(node)
        return None if apply is None else ROLES[apply.primitive]

    def back(self, ends: Iterable[Node], through: Callable[[Node], Iterable[Node]]) -> set[Node]:
        """What is met going back from these nodes, themselves among it: `through` says where to from a primitive's."""
        found: set[Node] = set()
        waiting = list(ends)
        while waiting:
            node = waiting.pop()
            if node in found:
                continue
            found.add(node)
            waiting += self.made_of.get(node, ()) if self.apply(node) is None else through(node)
        return found

    def ahead(self, starts: Iterable[Node]) -> set[Node]:
        """All that these nodes have a part in, themselves among it."""
        readers: dict[Node, list[Node]] = {}
        for node, parts in self.made_of.items():
            for part in parts:
                readers.setdefault(part, []).append(node)
        found: set[Node] = set()
        waiting = list(starts)
        while waiting:
            node = waiting.pop()
            if node not in found:
                found.add(node)
                waiting += readers.get(node, ())
        return found


def flow_of(program: Program) -> Flow:
    """The dataflow of a program."""
    flow = Flow()
    for function in program.functions:
        _Reader(flow, function).read()
    return flow


class _Reader:
    """One function's part of the flow."""

    def __init__(self, flow: Flow, function: Function) -> None:
        self.flow = flow
        self.function = function
        self.types: dict[int, Type] = {}

    def read(self) -> None:
        self.flow.parameters[self.function.name] = tuple(each.number for each in self.function.parameters)
        for parameter in self.function.parameters:
            self.declare(parameter.number, parameter.type)
        self.body(self.function.body, is_mapped=False)
        result = self.function.body.result
        self.flow.results[self.function.name] = dict(self.nodes(result))

    def declare(self, number: int, type_: Type) -> None:
        self.types[number] = type_
        for path, tensor in leaves(type_):
            self.flow.tensors[self.function.name, number, path] = tensor

    def nodes(self, operand: Operand) -> Iterator[tuple[Path, Node]]:
        """The leaves of an operand by their paths below it; none of a constant."""
        ref = ref_of(operand)
        if ref is None:
            return
        for path, _ in leaves(operand_type(ref, self.types)):
            yield path, (self.function.name, ref.number, (*ref.path, *path))

    def join(self, number: int, path: Path, parts: Iterable[Node]) -> None:
        """Notes that a node is also made of these."""
        node = (self.function.name, number, path)
        self.flow.made_of[node] = (*self.flow.made_of.get(node, ()), *parts)

    def alias(self, number: int, operand: Operand, under: Path = ()) -> None:
        """A number's leaves under a path are an operand's."""
        for path, node in self.nodes(operand):
            self.join(number, (*under, *path), (node,))

    def body(self, body: Body, is_mapped: bool) -> None:
        for let in body.lets:
            self.declare(let.number, let.type)
            self.let(let, is_mapped)

    def let(self, let: Let, is_mapped: bool) -> None:
        match let.value:
            case Apply(operands=operands):
                self.flow.applied[self.function.name, let.number] = let
                if is_mapped:
                    self.flow.mapped.add((self.function.name, let.number))
                parts = [node for operand in operands for _, node in self.nodes(operand)]
                for path, _ in leaves(let.type):
                    self.join(let.number, path, parts)
            case Call() as call:
                self.call(let, call)
            case Loop() as loop:
                self.loop(let, loop, is_mapped)
            case MapTrees() as mapped:
                self.map(let, mapped)
            case MakeTuple(items):
                for at, item in enumerate(items):
                    self.alias(let.number, item, (str(at),))
            case MakeRecord(fields):
                for name, item in fields:
                    self.alias(let.number, item, (name,))
            case SetField(base, under, value):
                for path, node in self.nodes(base):
                    if path[: len(under)] != under:
                        self.join(let.number, path, (node,))
                self.alias(let.number, value, under)

    def call(self, let: Let, call: Call) -> None:
        for path, node in self.flow.results[call.function].items():
            self.join(let.number, path, (node,))
        for number, operand in zip(self.flow.parameters[call.function], call.operands, strict=True):
            for path, node in self.nodes(operand):
                target = (call.function, number, path)
                self.flow.made_of[target] = (*self.flow.made_of.get(target, ()), node)

    def loop(self, let: Let, loop: Loop, is_mapped: bool) -> None:
        self.declare(loop.state.number, loop.state.type)
        for parameter, source in zip(loop.elements, loop.sources, strict=True):
            self.declare(parameter.number, parameter.type)
            if isinstance(source, Each):
                self.alias(parameter.number, source.operand)
        self.alias(loop.state.number, loop.start)
        self.body(loop.body, is_mapped)
        given: dict[Path, Node] = dict(self.nodes(loop.body.result))
        is_scan = loop.kind == "scan"
        for path, node in given.items():
            if is_scan and path[:1] == ("1",):
                self.join(let.number, path, (node,))
                continue
            state = path[1:] if is_scan else path
            self.join(loop.state.number, state, (node,))
            self.join(let.number, path, (node, (self.function.name, loop.state.number, state)))

    def map(self, let: Let, mapped: MapTrees) -> None:
        for parameter, operand in zip(mapped.parameters, mapped.operands, strict=True):
            self.declare(parameter.number, parameter.type)
            self.join(parameter.number, (), [node for _, node in self.nodes(operand)])
        self.body(mapped.body, is_mapped=True)
        made = list(self.nodes(mapped.body.result))
        for path, _ in leaves(let.type):
            at = path[:1] if mapped.arity is not None else ()
            self.join(let.number, path, [node for below, node in made if below == at])
