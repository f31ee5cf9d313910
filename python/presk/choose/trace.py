"""A program that also gives the value of every site: Core to Core, so that every backend can be looked into.

The entry's result becomes (result, trace). What each function's sites hold is handed up with its result: a call gives
a pair, a fold becomes a scan that stacks what its rounds give, a scan stacks it beside its own results, a leafwise map
gives a tree more for each site. Lets keep their numbers, draws their paths, and only roots of groups are read anew, so
the partition is the same and so are the bits of the result (tests hold both). `observations` takes a trace apart again
in the order in which the values come about. Called by `choose.sites` and the Python API.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Union

from presk.core.groups import partition
from presk.core.nodes import (
    Apply,
    Body,
    Call,
    Expression,
    Function,
    Injected,
    Let,
    Loop,
    MakeTuple,
    MapTrees,
    Operand,
    Program,
    Ref,
)
from presk.core.operands import with_operands
from presk.core.sites import Site, known_as
from presk.core.typing import expression_type, operand_type
from presk.run import trees
from presk.shapes.types import Axis, Tensor, TupleOf, Type, fields_of, leaves
from presk.text.diagnostics import InternalError


@dataclass(frozen=True, slots=True)
class Seen:
    """The value of a site."""

    site: Site


@dataclass(frozen=True, slots=True)
class Inside:
    """What a call, the let `number`, gives beside its result."""

    pieces: tuple[Piece, ...]
    number: int


@dataclass(frozen=True, slots=True)
class Rounds:
    """What the rounds of a loop give, stacked along a leading axis by the number of the element."""

    pieces: tuple[Piece, ...]
    trips: int
    reversed: bool
    number: int


@dataclass(frozen=True, slots=True)
class EveryLeaf:
    """Sites of a map's body: for each a tree of its values."""

    sites: tuple[Site, ...]
    number: int


Piece = Union[Seen, Inside, Rounds, EveryLeaf]
"""How a part of a trace is to be read; the pieces of a body stand in the order of its lets."""


@dataclass(frozen=True, slots=True)
class Traced:
    """The program whose result is (result, trace), and how the trace is read."""

    program: Program
    pieces: tuple[Piece, ...]


def traced(program: Program, *, every: bool = False) -> Traced:
    """The program with the values of its sites beside its result; with `every`, of each real operation, which then are
    groups of their own.
    """
    functions: dict[str, Function] = {}
    pieces: dict[str, tuple[Piece, ...]] = {}
    for function in program.functions:
        made = _Tracer(function, functions, pieces, every=every)
        functions[function.name] = made.function()
        pieces[function.name] = made.pieces
    entry = program.entry
    if not pieces[entry.name]:
        functions[entry.name] = _paired(entry, functions)
    return Traced(Program(tuple(functions.values())), pieces[entry.name])


def observations(pieces: Sequence[Piece], trace: Any) -> Iterator[tuple[Site, Any]]:
    """Sites and their values in the order of evaluation; a value is an array, or a tuple of them."""
    for piece, value in zip(pieces, trace, strict=True):
        match piece:
            case Seen(site):
                yield site, value
            case Inside(pieces=inner):
                yield from observations(inner, value)
            case Rounds(inner, trips, backwards, _):
                for index in range(trips - 1, -1, -1) if backwards else range(trips):
                    yield from observations(inner, trees.map_leaves(value, lambda leaf, at=index: _slice(leaf, at)))
            case EveryLeaf(sites=sites):
                columns = [[leaf for _, leaf in trees.leaves(tree)] for tree in value]
                for row in zip(*columns, strict=True):
                    yield from zip(sites, row, strict=True)


def _slice(leaf: Any, at: int) -> Any:
    return leaf[at, ...]


def _paired(entry: Function, functions: dict[str, Function]) -> Function:
    """An entry without sites, with an empty trace."""
    tracer = _Tracer(entry, functions, {})
    return tracer.pair(entry.body.lets, entry.body.result, ())


class _Tracer:
    """Rewrites one function. `moved` says where the value of a let is found whose own number now holds more."""

    def __init__(
        self,
        function: Function,
        functions: dict[str, Function],
        pieces: dict[str, tuple[Piece, ...]],
        *,
        every: bool = False,
    ) -> None:
        self.old = function
        self.functions = functions
        self.inner = pieces
        self.pieces: tuple[Piece, ...] = ()
        roots = {group.root for group in partition(function).groups if group.kind != "view"}
        self.sites = set(_operations(function.body)) if every else roots
        self.types: dict[int, Type] = {each.number: each.type for each in function.parameters}
        self.moved: dict[int, Ref] = {}
        self.next = 1 + max(declared(function.body), default=len(function.parameters))

    def function(self) -> Function:
        """The function with its trace; as it was where it has none."""
        lets, trace, self.pieces = self.body(self.old.body)
        if not trace:
            return self.old
        return self.pair(tuple(lets), self.operand(self.old.body.result), tuple(trace))

    def pair(self, lets: Sequence[Let], result: Operand, trace: tuple[Operand, ...]) -> Function:
        """The function that gives (result, trace)."""
        out = list(lets)
        self.types |= {let.number: let.type for let in lets}
        beside = self.let(out, MakeTuple(trace))
        whole = self.let(out, MakeTuple((result, beside)))
        of = TupleOf((self.old.result, self.types[beside.number]))
        return replace(self.old, result=of, body=Body(tuple(out), whole))

    def body(self, body: Body) -> tuple[list[Let], list[Operand], tuple[Piece, ...]]:
        """A body's lets rewritten, the operands of its trace, and how these are read."""
        lets: list[Let] = []
        trace: list[Operand] = []
        pieces: list[Piece] = []
        for let in body.lets:
            value = with_operands(let.value, self.operand)
            match value:
                case Call(function=name) if self.inner.get(name):
                    self.split(lets, let, value, trace)
                    pieces.append(Inside(self.inner[name], let.number))
                case Loop():
                    self.loop(lets, let, value, trace, pieces)
                case MapTrees():
                    self.map(lets, let, value, trace, pieces)
                case _:
                    self.keep(lets, replace(let, value=value))
                    if isinstance(value, Apply) and let.number in self.sites:
                        trace.append(Ref(let.number))
                        pieces.append(Seen(self.site(let)))
        return lets, trace, tuple(pieces)

    def loop(self, lets: list[Let], let: Let, loop: Loop, trace: list[Operand], pieces: list[Piece]) -> None:
        """A loop, which becomes a scan over its rounds' traces if they have any."""
        self.types |= {each.number: each.type for each in (loop.state, *loop.elements)}
        inner, found, seen = self.body(loop.body)
        result = self.operand(loop.body.result)
        if not found:
            self.keep(lets, replace(let, value=replace(loop, body=Body(tuple(inner), result))))
            return
        rounds = self.let(inner, MakeTuple(tuple(self.without(inner, each, loop.along) for each in found)))
        pieces.append(Rounds(seen, loop.trips, loop.reversed, let.number))
        if loop.kind == "fold":
            whole = self.let(inner, MakeTuple((result, rounds)))
            scan = replace(loop, kind="scan", body=Body(tuple(inner), whole))
            self.split(lets, let, scan, trace)
            return
        pair = self.let(inner, MakeTuple((_part(result, "1"), rounds)))
        whole = self.let(inner, MakeTuple((_part(result, "0"), pair)))
        scan = self.let(lets, replace(loop, body=Body(tuple(inner), whole)))
        trace.append(_part(scan, "1", "1"))
        self.keep(lets, replace(let, value=MakeTuple((_part(scan, "0"), _part(scan, "1", "0")))))

    def map(self, lets: list[Let], let: Let, mapped: MapTrees, trace: list[Operand], pieces: list[Piece]) -> None:
        """A leafwise map, with a tree more for each site of its body."""
        self.types |= {each.number: each.type for each in mapped.parameters}
        roots = [each for each in mapped.body.lets if each.number in self.sites]
        inner, _, _ = self.body(mapped.body)
        result = self.operand(mapped.body.result)
        if not roots:
            self.keep(lets, replace(let, value=replace(mapped, body=Body(tuple(inner), result))))
            return
        own = 1 if mapped.arity is None else mapped.arity
        results = (result,) if mapped.arity is None else tuple(_part(result, str(at)) for at in range(own))
        whole = self.let(inner, MakeTuple((*results, *(Ref(each.number) for each in roots))))
        arity = own + len(roots)
        made = self.let(lets, replace(mapped, body=Body(tuple(inner), whole), arity=arity))
        values = tuple(_part(made, str(at)) for at in range(arity))
        trace.append(self.let(lets, MakeTuple(values[own:])))
        pieces.append(EveryLeaf(tuple(self.site(each) for each in roots), let.number))
        if mapped.arity is None:
            self.moved[let.number] = _part(made, "0")
        else:
            self.keep(lets, replace(let, value=MakeTuple(values[:own])))

    def split(self, lets: list[Let], let: Let, value: Expression, trace: list[Operand]) -> None:
        """A let whose value is now a pair of what it was and a trace."""
        pair = self.let(lets, value)
        self.moved[let.number] = _part(pair, "0")
        trace.append(_part(pair, "1"))

    def without(self, lets: list[Let], operand: Operand, name: str | None) -> Operand:
        """A trace whose tensors have no axis of this name, which the rounds are stacked along: it is renamed."""
        of = operand_type(operand, self.types)
        if name is None or not any(axis.name == name for _, tensor in leaves(of) for axis in tensor.explicit):
            return operand
        if isinstance(of, Tensor):
            names = {axis.name for axis in of.axes if isinstance(axis, Axis)}
            other = f"{name}_"
            while other in names:
                other += "_"
            return self.let(lets, Apply("rename", (operand,), (("names", ((name, other),)),)))
        parts = [_part(operand, field) for field, _ in fields_of(of) or ()]
        return self.let(lets, MakeTuple(tuple(self.without(lets, part, name) for part in parts)))

    def let(self, lets: list[Let], value: Expression) -> Ref:
        """A new let."""
        number, self.next = self.next, self.next + 1
        made = Let(number, None, value, expression_type(value, self.types, self.functions))
        return self.keep(lets, made)

    def keep(self, lets: list[Let], let: Let) -> Ref:
        """A let under its own number."""
        lets.append(let)
        self.types[let.number] = let.type
        return Ref(let.number)

    def operand(self, operand: Operand) -> Operand:
        """An operand of the old function in the new one."""
        match operand:
            case Ref(number, path) if number in self.moved:
                return _part(self.moved[number], *path)
            case Injected(Ref(number, path)) if number in self.moved:
                return Injected(_part(self.moved[number], *path))
            case _:
                return operand

    def site(self, let: Let) -> Site:
        """A site of this function."""
        return Site(self.old.name, let.number, let.name, known_as(self.old))


def _part(operand: Operand, *path: str) -> Ref:
    """A component of what an operand refers to."""
    if not isinstance(operand, Ref):
        raise InternalError("a tree is a let or a parameter")
    return Ref(operand.number, (*operand.path, *path))


def _operations(body: Body) -> Iterator[int]:
    """Every let of a body, and of those in it, that is a primitive with a real result."""
    for let in body.lets:
        match let.value:
            case Apply() if isinstance(let.type, Tensor) and let.type.kind == "real":
                yield let.number
            case Loop(body=inner) | MapTrees(body=inner):
                yield from _operations(inner)
            case _:
                continue


def declared(body: Body) -> Iterator[int]:
    """Every number a body declares: its lets', and those of the loops and maps in it."""
    for let in body.lets:
        yield let.number
        match let.value:
            case Loop(state=state, elements=elements, body=inner):
                yield from (each.number for each in (state, *elements))
                yield from declared(inner)
            case MapTrees(parameters=parameters, body=inner):
                yield from (each.number for each in parameters)
                yield from declared(inner)
            case _:
                continue
