"""The forward half: the primal with what its adjoint reads as further results. Its lets keep their numbers.

A loop that keeps something of each round becomes a scan that stacks it, a call is one of the callee's forward half; who
read their results reads the first part of what they give now. Called by `transform`.
"""

from __future__ import annotations

from dataclasses import replace

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
    MakeTuple,
    MapTrees,
    Operand,
    Parameter,
    Primal,
    Ref,
)
from presk.core.operands import with_operands
from presk.core.typing import Functions, expression_type
from presk.core.vjp.scope import KEPT
from presk.core.vjp.writing import Writing
from presk.primitives.table import Attribute
from presk.shapes.types import TupleOf, Type
from presk.text.spans import Span


def forward_half(
    writing: Writing, name: str, kept: list[Ref], functions: Functions, roots: tuple[int, ...]
) -> Function:
    """The function that gives (result, kept)."""
    return _Forward(writing, functions).function(name, kept, roots)


class _Forward:
    """Rewrites one function. `folds` are the folds that keep something, `pairs` what a whole scan was before it did."""

    def __init__(self, writing: Writing, functions: Functions) -> None:
        self.writing = writing
        self.functions = functions
        self.primal = writing.primal.function
        self.types: dict[int, Type] = {each.number: each.type for each in self.primal.parameters}
        self.next = max((*writing.primal.types, -1)) + 1
        self.folds: set[int] = set()
        self.pairs: dict[int, Ref] = {}

    def function(self, name: str, kept: list[Ref], roots: tuple[int, ...]) -> Function:
        lets = self.lets(self.primal.body)
        result = self.operand(self.primal.body.result)
        made = self.made(lets, MakeTuple(tuple(self.ref(each) for each in kept)))
        both = self.made(lets, MakeTuple((result, made)))
        of = self.primal.primal.name if self.primal.primal is not None else self.primal.name
        type_ = TupleOf((self.primal.result, self.types[made.number]))
        return Function(name, self.primal.parameters, type_, Body(tuple(lets), both), Primal(of, roots))

    def lets(self, body: Body) -> list[Let]:
        """The lets of a body, rewritten."""
        found: list[Let] = []
        for let in body.lets:
            value = with_operands(let.value, self.operand)
            match value:
                case Call(function):
                    derived = self.writing.calls.get(let.number)
                    value = replace(value, function=(derived and derived.forward) or function)
                case Loop():
                    value = self.loop(let.number, value)
                case MapTrees():
                    value = self.leafwise(value)
                case _:
                    pass
            type_ = expression_type(value, self.types, self.functions)
            self.types[let.number] = type_
            found.append(replace(let, value=value, type=type_))
            if isinstance(value, Loop) and self.keeps(let.number) and let.number not in self.folds:
                state, given = Ref(let.number, ("0",)), Ref(let.number, ("1", "0"))
                self.pairs[let.number] = self.made(found, MakeTuple((state, given)))
        return found

    def leafwise(self, mapped: MapTrees) -> MapTrees:
        """A map, whose body may read what stands around it."""
        self.types |= {each.number: each.type for each in mapped.parameters}
        self.types |= {let.number: let.type for let in mapped.body.lets}
        lets = tuple(replace(let, value=with_operands(let.value, self.operand)) for let in mapped.body.lets)
        return replace(mapped, body=Body(lets, self.operand(mapped.body.result)))

    def loop(self, number: int, loop: Loop) -> Loop:
        """A loop that keeps what its adjoint reads."""
        parameters: tuple[Parameter, ...] = (loop.state, *loop.elements)
        self.types |= {each.number: each.type for each in parameters}
        lets = self.lets(loop.body)
        result = self.operand(loop.body.result)
        rows = self.writing.kept.get(number)
        if not rows:
            return replace(loop, body=Body(tuple(lets), result))
        values = [self.aliased(lets, self.ref(ref), names) for ref, names in rows]
        kept = self.made(lets, MakeTuple(tuple(values)))
        if loop.kind == "fold":
            self.folds.add(number)
            both = self.made(lets, MakeTuple((result, kept)))
            return replace(loop, kind="scan", body=Body(tuple(lets), both))
        assert isinstance(result, Ref), "a scan's body gives a pair"
        state, given = Ref(result.number, (*result.path, "0")), Ref(result.number, (*result.path, "1"))
        both = self.made(lets, MakeTuple((state, self.made(lets, MakeTuple((given, kept))))))
        return replace(loop, body=Body(tuple(lets), both))

    def aliased(self, lets: list[Let], ref: Ref, names: Attribute) -> Ref:
        return self.made(lets, Apply("rename", (ref,), (("names", names),))) if names else ref

    def made(self, lets: list[Let], value: Expression, span: Span | None = None) -> Ref:
        """A new let."""
        number, self.next = self.next, self.next + 1
        self.types[number] = expression_type(value, self.types, self.functions)
        lets.append(Let(number, None, value, self.types[number], span))
        return Ref(number)

    # Operands

    def operand(self, operand: Operand) -> Operand:
        match operand:
            case Literal():
                return operand
            case Injected(inner):
                return Injected(self.ref(inner))
            case Ref():
                return self.ref(operand)

    def ref(self, ref: Ref) -> Ref:
        """Where a value of the primal, or what a loop or call keeps, is found now."""
        derived = self.writing.calls.get(ref.number)
        if derived is not None and derived.forward is not None:
            return Ref(ref.number, ("1", *ref.path[1:]) if ref.path[:1] == (KEPT,) else ("0", *ref.path))
        if not self.keeps(ref.number):
            return ref
        if ref.number in self.folds:
            return Ref(ref.number, ("1", *ref.path[1:]) if ref.path[:1] == (KEPT,) else ("0", *ref.path))
        if ref.path[:1] == (KEPT,):
            return Ref(ref.number, ("1", "1", *ref.path[1:]))
        if ref.path[:1] == ("1",):
            return Ref(ref.number, ("1", "0", *ref.path[1:]))
        return ref if ref.path else self.pairs[ref.number]

    def keeps(self, number: int) -> bool:
        """Whether this is a loop that keeps something."""
        return bool(self.writing.kept.get(number))
