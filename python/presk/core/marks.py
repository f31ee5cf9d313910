"""Marks of cotangents that nothing needs: one pass over a whole program takes them away.

A mark says that a term is left out where its cotangent is 0 and its other factor is no number (docs/derivatives.md).
Where the signs and bounds of values (`facts`) prove that factor to be a number, or the cotangent not to be 0, the term
is computed as any product: the slope of `rsqrt(var + eps)`, the quotient by a sum of exponentials. What a function's
arguments are is known from its calls. Called by `bind`, after everything that takes derivatives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from presk.core.fact_rules import Known, constant_fact, fact_of, facts_of
from presk.core.facts import ANY, NAT, NUMBER, SURE, UNKNOWN, Fact, joined
from presk.core.nodes import (
    Apply,
    Body,
    Call,
    Each,
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
from presk.core.typing import operand_type
from presk.primitives.attributes import COTANGENT, cotangents_of, mark_of
from presk.shapes.types import Type, leaves

Path = tuple[str, ...]
Facts = Mapping[Path, Fact]
"""What is known of each leaf of a value."""

MOST_CALLS = 32
"""Kinds of arguments of one function that are told apart; of any other nothing is known."""


def without_idle_marks(program: Program) -> Program:
    """The program with the marks that are needed."""
    marked = {each.name for each in program.functions if _has_marks(each.body)}
    if not marked:
        return program
    walk = _Walk({each.name: each for each in program.functions})
    walk.call(program.entry.name, [_arguments(each.type) for each in program.entry.parameters])
    functions = tuple(
        replace(each, body=_rewritten(each.body, walk.needed[each.name]))
        if each.name in marked and each.name in walk.needed
        else each
        for each in program.functions
    )
    return Program(functions)


def _has_marks(body: Body) -> bool:
    for let in body.lets:
        match let.value:
            case Apply() as apply if cotangents_of(dict(apply.attributes)):
                return True
            case Loop(body=inner) | MapTrees(body=inner) if _has_marks(inner):
                return True
            case _:
                continue
    return False


def _arguments(type_: Type) -> Facts:
    """An entry's argument: numbers."""
    return {path: NUMBER if leaf.kind == "real" else NAT for path, leaf in leaves(type_)}


def _rewritten(body: Body, needed: Mapping[int, set[int]]) -> Body:
    lets: list[Let] = []
    for let in body.lets:
        match let.value:
            case Apply() as apply if cotangents_of(dict(apply.attributes)):
                marked = [each for each in cotangents_of(dict(apply.attributes)) if each in needed.get(let.number, ())]
                rest = tuple(each for each in apply.attributes if each[0] != COTANGENT)
                mark = mark_of(marked)
                attributes = rest if mark is None else (*rest, (COTANGENT, mark))
                let = replace(let, value=replace(apply, attributes=attributes))
            case Loop() | MapTrees() as around:
                let = replace(let, value=replace(around, body=_rewritten(around.body, needed)))
            case _:
                pass
        lets.append(let)
    return replace(body, lets=tuple(lets))


class _Walk:
    """Goes over functions with what is known of their arguments. `needed`: by function and let, the marks to keep."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self.functions = functions
        self.needed: dict[str, dict[int, set[int]]] = {}
        self.known: dict[str, dict[tuple[tuple[tuple[Path, Fact], ...], ...], Facts]] = {}

    def call(self, name: str, arguments: list[Facts]) -> Facts:
        """What is known of a function's result; each kind of arguments is gone over once."""
        function = self.functions[name]
        known = self.known.setdefault(name, {})
        key = tuple(tuple(sorted(each.items(), key=lambda item: item[0])) for each in arguments)
        if key not in known and len(known) >= MOST_CALLS:
            arguments = [dict.fromkeys(each, UNKNOWN) for each in arguments]
            key = tuple(tuple(sorted(each.items(), key=lambda item: item[0])) for each in arguments)
        if key not in known:
            types = {each.number: each.type for each in function.parameters}
            visit = _Visit(self, self.needed.setdefault(name, {}), types)
            for parameter, given in zip(function.parameters, arguments, strict=True):
                visit.values[parameter.number] = given
            known[key] = visit.body(function.body)
        return known[key]


class _Visit:
    """One function at one kind of arguments."""

    def __init__(self, walk: _Walk, needed: dict[int, set[int]], types: dict[int, Type]) -> None:
        self.walk = walk
        self.needed = needed
        self.types = types
        self.values: dict[int, Facts] = {}

    def of(self, operand: Operand) -> Facts:
        """What is known of an operand."""
        match operand:
            case Literal(value):
                return {(): constant_fact(value)}
            case Injected(inner):
                return self.of(inner)
            case Ref(number, path):
                return _component(self.values[number], path)

    def body(self, body: Body) -> Facts:
        """Goes over a body; what is known of its result."""
        for let in body.lets:
            self.types[let.number] = let.type
            self.values[let.number] = self.let(let)
        return self.of(body.result)

    def let(self, let: Let) -> Facts:
        """What is known of a let's value."""
        match let.value:
            case Apply() as apply:
                return self.apply(let, apply)
            case Call(function, operands):
                return self.walk.call(function, [self.of(each) for each in operands])
            case Loop() as loop:
                return self.loop(loop)
            case MapTrees() as mapped:
                return self.map(let, mapped)
            case MakeTuple(items):
                return _together((str(at), self.of(each)) for at, each in enumerate(items))
            case MakeRecord(fields):
                return _together((name, self.of(each)) for name, each in fields)
            case SetField(base, path, value):
                kept = {at: each for at, each in self.of(base).items() if at[: len(path)] != path}
                return kept | {(*path, *at): each for at, each in self.of(value).items()}

    def apply(self, let: Let, apply: Apply) -> Facts:
        """A primitive's value; a mark that is needed is noted."""
        given = tuple(facts_of(list(self.of(each).values())) for each in apply.operands)
        attributes = dict(apply.attributes)
        marked = cotangents_of(attributes)
        for number in marked:
            if self.is_needed(apply.primitive, given[number], given[1 - number], is_divisor=number == 0):
                self.needed.setdefault(let.number, set()).add(number)
        types = tuple(operand_type(each, self.types) for each in apply.operands)
        found = fact_of(Known(given, apply, attributes, types, let.type))
        if marked and apply.primitive in ("mul", "div"):
            found = replace(found, zero=found.zero or any(given[each].zero for each in marked))
        kinds = {path: leaf.kind for path, leaf in leaves(let.type)}
        return {path: found if kind == "real" else NAT for path, kind in kinds.items()}

    def is_needed(self, primitive: str, cotangent: Fact, other: Fact, *, is_divisor: bool) -> bool:
        """Whether a mark may make a difference."""
        if not cotangent.near:
            return False
        if primitive == "div" and is_divisor:
            return bool(other.zero or other.nan)
        return bool(other.wild & (ANY if primitive in ("mul", "div") else SURE))

    def loop(self, loop: Loop) -> Facts:
        """A loop: its state as it may be before any round."""
        self.types |= {each.number: each.type for each in (loop.state, *loop.elements)}
        for element, source in zip(loop.elements, loop.sources, strict=True):
            self.values[element.number] = self.of(source.operand) if isinstance(source, Each) else {(): NAT}
        state = dict(self.of(loop.start))
        while True:
            self.values[loop.state.number] = state
            found = self.body(loop.body)
            following = _component(found, ("0",)) if loop.kind == "scan" else found
            grown = {path: joined(each, following[path]) for path, each in state.items()}
            if grown == state:
                break
            state = grown
        if loop.kind != "scan":
            return state
        return _together((("0", state), ("1", _component(found, ("1",)))))

    def map(self, let: Let, mapped: MapTrees) -> Facts:
        """A map: its body at any of the leaves."""
        for parameter, operand in zip(mapped.parameters, mapped.operands, strict=True):
            self.types[parameter.number] = parameter.type
            self.values[parameter.number] = {(): facts_of(list(self.of(operand).values()))}
        found = self.body(mapped.body)
        where = {path: () if mapped.arity is None else path[:1] for path, _ in leaves(let.type)}
        return {path: found[inner] for path, inner in where.items()}


def _component(found: Facts, path: Path) -> Facts:
    if not path:
        return found
    return {at[len(path) :]: each for at, each in found.items() if at[: len(path)] == path}


def _together(parts: Iterable[tuple[str, Facts]]) -> Facts:
    return {(name, *path): each for name, facts in parts for path, each in facts.items()}
