"""Core to simpler Core: dead lets go, equal lets are shared, identities are applied, made trees are seen through.

Only what holds over ℝ and changes no rounding and no sign of zero (`core.identities`). Numbers survive, gaps stay. A
draw is never shared, nor a call that leads to one; a dead one may go, since a draw depends on its place alone. Loops
and maps are simplified inside and not shared. Functions that nothing calls any more go. Twice is the same as once.
"""

from __future__ import annotations

from dataclasses import replace

from presk.core.identities import IDENTITIES
from presk.core.nodes import (
    Apply,
    Body,
    Call,
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
from presk.core.operands import calls_in, numbers_in, ref_of, with_operands
from presk.core.typing import apply_type, operand_type
from presk.primitives.all import TABLE
from presk.primitives.table import Misfit
from presk.shapes.types import Type


def simplify(program: Program) -> Program:
    """The simplified program. The input must be verified; so is the result."""
    drawing: set[str] = set()
    functions: list[Function] = []
    for function in program.functions:
        if any(each in drawing for each in calls_in(function.body)) or _draws(function.body):
            drawing.add(function.name)
        body = _Simplifier(function, drawing).body(function.body)
        functions.append(replace(function, body=body))
    return Program(_called(functions))


def _called(functions: list[Function]) -> tuple[Function, ...]:
    """The entry, and what it calls directly or not."""
    wanted = {functions[-1].name}
    for function in reversed(functions):
        if function.name in wanted:
            wanted |= calls_in(function.body)
    return tuple(function for function in functions if function.name in wanted)


def _draws(body: Body) -> bool:
    """Whether a draw stands in the body."""
    for let in body.lets:
        match let.value:
            case Apply(primitive) if TABLE[primitive].draws:
                return True
            case Loop(body=inner) | MapTrees(body=inner) if _draws(inner):
                return True
            case _:
                continue
    return False


class _Simplifier:
    """Walks a function's lets in order. `instead` says what a number that is gone was replaced by."""

    def __init__(self, function: Function, drawing: set[str]) -> None:
        self.drawing = drawing
        self.types: dict[int, Type] = {each.number: each.type for each in function.parameters}
        self.values: dict[int, Expression] = {}
        self.instead: dict[int, Operand] = {}

    # What identities may ask

    def maker(self, operand: Operand) -> Apply | None:
        """The primitive whose result the operand is."""
        if not isinstance(operand, Ref) or operand.path:
            return None
        value = self.values.get(operand.number)
        return value if isinstance(value, Apply) else None

    def type_of(self, operand: Operand) -> Type:
        """The operand's type."""
        return operand_type(operand, self.types)

    # Bodies

    def body(self, body: Body) -> Body:
        """The body with fewer lets."""
        kept: list[Let] = []
        places: dict[Expression, int] = {}
        for let in body.lets:
            self.types[let.number] = let.type
            change = self.argument if isinstance(let.value, Apply) else self.operand
            value = self.rewritten(self.inside(with_operands(let.value, change)), let.type)
            if isinstance(value, Injected):
                value = Apply("inject", (value.operand,))  # the real that i * 1.0 is stays one, for what passes it on
            if isinstance(value, (Ref, Literal)):
                self.instead[let.number] = value
                continue
            key = self.shared_as(value)
            if key is not None and key in places:
                first = kept[places[key]]
                kept[places[key]] = replace(first, name=first.name or let.name)
                self.instead[let.number] = Ref(first.number)
                continue
            if key is not None:
                places[key] = len(kept)
            self.values[let.number] = value
            kept.append(replace(let, value=value))
        return _without_dead(Body(tuple(kept), self.operand(body.result)))

    def inside(self, value: Expression) -> Expression:
        """A loop or map with its body simplified."""
        match value:
            case Loop(state=state, elements=elements, body=body):
                self.types |= {each.number: each.type for each in (state, *elements)}
                return replace(value, body=self.body(body))
            case MapTrees(parameters=parameters, body=body):
                self.types |= {each.number: each.type for each in parameters}
                return replace(value, body=self.body(body))
            case _:
                return value

    def rewritten(self, value: Expression, expected: Type) -> Expression | Operand:
        """What identities leave of an expression; all of the same type."""
        while isinstance(value, Apply) and value.primitive in IDENTITIES:
            instead = IDENTITIES[value.primitive](value, self)
            if instead is None or not self.has_type(instead, expected):
                return value
            if not isinstance(instead, Apply):
                return instead
            value = instead
        return value

    def has_type(self, value: Apply | Operand, expected: Type) -> bool:
        try:
            found = apply_type(value, self.types) if isinstance(value, Apply) else self.type_of(value)
        except Misfit:
            return False
        return found == expected

    def shared_as(self, value: Expression) -> Expression | None:
        """What an expression is known by among equal ones; None for those that aren't shared."""
        match value:
            case Apply(primitive):
                return None if TABLE[primitive].draws else value
            case Call(function):
                return None if function in self.drawing else replace(value, path="")
            case Loop() | MapTrees():
                return None
            case _:
                return value

    # Operands

    def argument(self, operand: Operand) -> Operand:
        """The operand of a primitive, which converts nats itself."""
        found = self.operand(operand)
        made = self.maker(found)
        if made is None or made.primitive != "inject":
            return found
        assert isinstance(made.operands[0], Ref), "nats that are injected are no constant"
        return Injected(made.operands[0])

    def operand(self, operand: Operand) -> Operand:
        """The operand with what is gone replaced, and components of made trees seen through."""
        match operand:
            case Literal():
                return operand
            case Injected(inner):
                found = self.operand(inner)
                match found:
                    case Ref():
                        return Injected(found)
                    case Literal(value):
                        return Literal(value, "real")
                    case Injected():
                        return found
            case Ref():
                return self.ref(operand)

    def ref(self, ref: Ref) -> Operand:
        while True:
            found: Operand | None = self.instead.get(ref.number)
            found = self.component(ref) if found is None else _within(found, ref.path)
            if not isinstance(found, Ref):
                return ref if found is None else found
            ref = found

    def component(self, ref: Ref) -> Operand | None:
        """The operand that a tree was made of at this path, where it has the component's very type."""
        if not ref.path:
            return None
        field, rest = ref.path[0], ref.path[1:]
        found: Operand | None = None
        match self.values.get(ref.number):
            case MakeTuple(items):
                found = _within(items[int(field)], rest)
            case MakeRecord(fields):
                found = _within(dict(fields)[field], rest)
            case SetField(base, path, new):
                if ref.path[: len(path)] == path:
                    found = _within(new, ref.path[len(path) :])
                elif path[: len(ref.path)] != ref.path:
                    found = _within(base, ref.path)
            case _:
                return None
        return found if found is not None and self.type_of(found) == self.type_of(ref) else None


def _within(operand: Operand, path: tuple[str, ...]) -> Operand | None:
    """A component of what an operand is."""
    if isinstance(operand, Ref):
        return Ref(operand.number, (*operand.path, *path))
    return None if path else operand


def _without_dead(body: Body) -> Body:
    """The body without the lets its result doesn't need."""
    result = ref_of(body.result)
    needed: set[int] = set() if result is None else {result.number}
    kept: list[Let] = []
    for let in reversed(body.lets):
        if let.number in needed:
            needed |= numbers_in(let.value)
            kept.append(let)
    return Body(tuple(reversed(kept)), body.result)
