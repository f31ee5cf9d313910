"""The first operation of a call that gave NaN or an infinity which went on to the result.

The call runs once more with the value of every real operation beside its result (`choose.trace`), and its functions are
walked in the order of evaluation. A value that isn't finite is no fault where all that reads it is finite: the refused
branch of a `where`. Called by the training loop when a loss or a gradient is no number any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from presk.choose.contributions import Call as EntryCall
from presk.choose.trace import EveryLeaf, Inside, Piece, Rounds, Seen, traced
from presk.core.nodes import (
    Apply,
    Body,
    Call,
    Count,
    Each,
    Expression,
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
)
from presk.core.sites import known_as
from presk.run import trees
from presk.run.backend import Backend, Entry
from presk.shapes.constants import Rational
from presk.text.spans import Span

Environment = dict[int, Any]
"""Values by number; what isn't known is None."""


@dataclass(frozen=True, slots=True)
class Blame:
    """An operation: its site, its primitive, the element that isn't finite and its value, and what its operands were.

    `span` is the source's, where it says one. An input of the entry has no primitive.
    """

    site: str
    primitive: str | None
    position: tuple[int, ...]
    value: float
    operands: tuple[str, ...]
    span: Span | None

    def text(self) -> str:
        """`loss/%17` (log) is -inf at [3], of 0.0"""
        what = f"`{self.site}`" + (f" ({self.primitive})" if self.primitive else "")
        where = f" at {list(self.position)}" if self.position else ""
        of = f", of {' and '.join(self.operands)}" if self.operands else ""
        return f"{what} is {self.value}{where}{of}"


def blame(backend: Backend, call: EntryCall) -> Blame | None:
    """The first input, or else the first operation, that isn't finite and spoils the result; None where none does."""
    program = call.entry.program
    environment: Environment = {}
    for parameter, value in zip(program.entry.parameters, call.values, strict=True):
        environment[parameter.number] = value
        for path, leaf in trees.leaves(value):
            array = np.asarray(leaf)
            if not _is_finite(array):
                position = _first(array)
                name = ".".join((parameter.name or "", *path))
                return Blame(name, None, position, float(array[position]), (), None)
    looked_into = traced(program, every=True)
    executable = backend.prepare(
        Entry(call.entry.name, looked_into.program),
        replace(call.realization, entry=None, core=None),
        replace(call.plan, entry=None, core=None),
        threads=call.threads,
        training=call.training,
    )
    _, trace = executable(*call.values, seed=call.seed, step=call.step, row_offset=call.row_offset)
    walk = _Walk(program)
    walk.body(program.entry, program.entry.body, looked_into.pieces, trace, environment)
    return walk.found


class _Walk:
    def __init__(self, program: Program) -> None:
        self.functions = {each.name: each for each in program.functions}
        self.found: Blame | None = None

    def body(
        self, function: Function, body: Body, pieces: Sequence[Piece], trace: Any, environment: Environment
    ) -> Any:
        """Walks a body to the first fault; gives its result, as far as it is known."""
        beside = {_number(piece): (piece, value) for piece, value in zip(pieces, trace, strict=True)}
        frame = _Frame(body, {at: value for at, (piece, value) in beside.items() if isinstance(piece, Seen)})
        environment |= frame.seen
        for let in body.lets:
            if let.number in frame.seen:
                if frame.spoils(let.number):
                    self.found = _blame(function, let, frame.seen[let.number], environment)
            else:
                environment[let.number] = self.value(function, let.value, beside.get(let.number), environment)
            if self.found is not None:
                return None
        return _resolved(body.result, environment)

    def value(
        self, function: Function, value: Expression, beside: tuple[Piece, Any] | None, environment: Environment
    ) -> Any:
        """What isn't an operation: its value as far as it is known, what is within walked."""
        match value, beside:
            case Call(function=name, operands=operands), (Inside(pieces=inner), trace):
                callee = self.functions[name]
                given = [_resolved(each, environment) for each in operands]
                inside = {each.number: of for each, of in zip(callee.parameters, given, strict=True)}
                return self.body(callee, callee.body, inner, trace, inside)
            case Loop(), (Rounds(pieces=inner), trace):
                return self.loop(function, value, inner, trace, environment)
            case MapTrees(), (EveryLeaf() as piece, trace):
                self.map(function, value, piece, trace, environment)
                return None
            case MakeTuple(items=items), _:
                return tuple(_resolved(each, environment) for each in items)
            case MakeRecord(fields=fields), _:
                return {name: _resolved(each, environment) for name, each in fields}
            case SetField(base=base, path=path, value=new), _:
                return _with(_resolved(base, environment), path, _resolved(new, environment))
            case _:
                return None

    def loop(
        self, function: Function, loop: Loop, pieces: Sequence[Piece], trace: Any, environment: Environment
    ) -> Any:
        """The rounds in their order; the last state of a fold, of a scan that beside unknown results."""
        state = _resolved(loop.start, environment)
        for at in range(loop.trips - 1, -1, -1) if loop.reversed else range(loop.trips):
            inside = environment | {loop.state.number: state}
            for element, source in zip(loop.elements, loop.sources, strict=True):
                inside[element.number] = _element(source, environment, at)
            result = self.body(function, loop.body, pieces, _slices(trace, at), inside)
            if self.found is not None:
                return None
            state = result if loop.kind == "fold" else _part(result, ("0",))
        return state if loop.kind == "fold" else (state, None)

    def map(self, function: Function, mapped: MapTrees, piece: EveryLeaf, trace: Any, environment: Environment) -> None:
        """The leaves in their order."""
        columns = [[leaf for _, leaf in trees.leaves(tree)] for tree in trace]
        given = [_resolved(each, environment) for each in mapped.operands]
        leaves = [None if tree is None else [leaf for _, leaf in trees.leaves(tree)] for tree in given]
        seen = tuple(Seen(site) for site in piece.sites)
        for at, row in enumerate(zip(*columns, strict=True)):
            inside = environment | {
                parameter.number: None if known is None else known[at]
                for parameter, known in zip(mapped.parameters, leaves, strict=True)
            }
            self.body(function, mapped.body, seen, row, inside)
            if self.found is not None:
                return


class _Frame:
    """A body with the values of its operations, evaluated once."""

    def __init__(self, body: Body, seen: Environment) -> None:
        self.seen = seen
        self.readers: dict[int, list[Let]] = {}
        self.escaping = set(_refs(body.result))
        for let in body.lets:
            for number in _reads(let.value):
                self.readers.setdefault(number, []).append(let)

    def spoils(self, number: int) -> bool:
        """Whether an operation's value isn't finite and reaches something that isn't either, or leaves the body."""
        if _is_finite(self.seen[number]):
            return False
        if number in self.escaping:
            return True
        for let in self.readers.get(number, []):
            is_seen = let.number in self.seen
            if (not is_seen and not isinstance(let.value, Apply)) or (is_seen and self.spoils(let.number)):
                return True
        return False


def _blame(function: Function, let: Let, value: Any, environment: Environment) -> Blame:
    array = np.asarray(value)
    position = _first(array)
    assert isinstance(let.value, Apply), "operations alone are seen"
    operands = tuple(
        text for each in let.value.operands if (text := _operand(each, environment, array.shape, position)) is not None
    )
    site = f"{known_as(function)}/{f'%{let.number}' if let.name is None else let.name}"
    return Blame(site, let.value.primitive, position, float(array[position]), operands, let.span)


def _operand(
    operand: Operand, environment: Environment, shape: tuple[int, ...], position: tuple[int, ...]
) -> str | None:
    """An operand's element at the result's, where it has one; else the least and the largest of its elements."""
    if isinstance(operand, Literal):
        return f"{float(operand.value.value):g}" if isinstance(operand.value, Rational) else None
    value = _resolved(operand, environment)
    found = [leaf for _, leaf in trees.leaves(value)]
    if any(leaf is None for leaf in found):
        return None
    arrays = [np.asarray(leaf).astype(np.float64) for leaf in found]
    if len(arrays) == 1:
        try:
            return str(float(np.broadcast_to(arrays[0], shape)[position]))
        except ValueError:
            pass
    elements = np.concatenate([array.ravel() for array in arrays])
    if not elements.size:
        return None
    return f"{elements.size} elements from {float(elements.min())} to {float(elements.max())}"


def _resolved(operand: Operand, environment: Environment) -> Any:
    match operand:
        case Literal(value=value):
            return np.float64(float(value.value)) if isinstance(value, Rational) else None
        case Injected(operand=inner):
            return _resolved(inner, environment)
        case Ref(number=number, path=path):
            return _part(environment.get(number), path)


def _part(tree: Any, path: Sequence[str]) -> Any:
    for name in path:
        if isinstance(tree, tuple):
            tree = cast("tuple[Any, ...]", tree)[int(name)]
        elif isinstance(tree, Mapping):
            tree = cast("Mapping[str, Any]", tree).get(name)
        else:
            return None
    return tree


def _with(tree: Any, path: Sequence[str], value: Any) -> Any:
    if not path:
        return value
    if not isinstance(tree, Mapping):
        return None
    fields = cast("Mapping[str, Any]", tree)
    return {**fields, path[0]: _with(fields.get(path[0]), path[1:], value)}


def _element(source: Each | Count, environment: Environment, at: int) -> Any:
    if isinstance(source, Count):
        return np.int64(source.start + at)
    tree = _resolved(source.operand, environment)
    if tree is None or any(leaf is None for _, leaf in trees.leaves(tree)):
        return None
    return trees.map_leaves(tree, lambda leaf: np.take(np.asarray(leaf), at, axis=source.axis or 0))


def _slices(trace: Any, at: int) -> Any:
    return trees.map_leaves(trace, lambda leaf: leaf[at, ...])


def _number(piece: Piece) -> int:
    """The let that a piece is beside."""
    return piece.site.number if isinstance(piece, Seen) else piece.number


def _reads(value: Expression) -> Iterator[int]:
    """The numbers an expression reads, those that its inner bodies read among them."""
    match value:
        case Apply(operands=operands) | Call(operands=operands) | MakeTuple(items=operands):
            yield from (number for each in operands for number in _refs(each))
        case MakeRecord(fields=fields):
            yield from (number for _, each in fields for number in _refs(each))
        case SetField(base=base, value=new):
            yield from (*_refs(base), *_refs(new))
        case Loop(start=start, sources=sources, body=body):
            yield from _refs(start)
            yield from (number for each in sources if isinstance(each, Each) for number in _refs(each.operand))
            yield from (number for let in body.lets for number in _reads(let.value))
        case MapTrees(operands=operands, body=body):
            yield from (number for each in operands for number in _refs(each))
            yield from (number for let in body.lets for number in _reads(let.value))


def _refs(operand: Operand) -> Iterator[int]:
    match operand:
        case Ref(number=number):
            yield number
        case Injected(operand=inner):
            yield inner.number
        case Literal():
            return


def _is_finite(value: Any) -> bool:
    array = np.asarray(value)
    return array.dtype.kind in "iub" or bool(np.isfinite(array.astype(np.float64)).all())


def _first(array: np.ndarray[Any, Any]) -> tuple[int, ...]:
    """Where the first element stands that isn't finite."""
    return tuple(int(at) for at in np.argwhere(~np.isfinite(array.astype(np.float64)))[0])
