"""How much cancels in a program's result: Core to Core, every sum at its end taken over the magnitudes of its terms.

From the result back, as long as it is made of sums, differences and contractions of values, and of maps that move them,
the terms are replaced by their absolute values. Where the program's result is x, the new one's is Σ|terms|, and
Σ|terms| / |x| is the condition of the last sums: the factor by which the relative error of one term may grow in them.
Called by `conformance.suite`.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from presk.choose.renumber import renumbered
from presk.choose.trace import declared
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
    Parameter,
    Program,
    Ref,
)
from presk.core.typing import LEAF, expression_type, operand_type
from presk.shapes import constants
from presk.shapes.constants import Rational
from presk.shapes.types import Tensor, TupleOf, Type, fields_of, leaves

SUMS = {"add": "add", "sub": "add", "sum": "sum", "mean": "mean", "cumsum": "cumsum", "scatter_add": "scatter_add"}
"""Sums, and what adds their terms' magnitudes."""

PRODUCTS = frozenset({"dot", "matmul", "ein", "dot_vjp_l", "dot_vjp_r"})
"""Contractions: their terms are products of their operands' elements."""

MOVES = frozenset(
    "rename transpose split merge slice index flip broadcast_to split_heads merge_heads windows stop_gradient "
    "concat stack take embed gather update_index update_slice".split()
)
"""What moves elements about, or turns their signs."""


def magnitudes(program: Program) -> Program:
    """The program whose result is Σ|terms| of the given program's, nats and truth values as they are."""
    known = {function.name: function for function in program.functions}
    made: dict[str, Function] = {}
    entry = _Rewriter(program.entry, known, made).function(program.entry.name)
    others = [function for function in program.functions if function.name != program.entry.name]
    return Program((*others, *made.values(), entry))


@dataclass
class _Rewriter:
    """Adds to one function's lets those of its result's magnitudes."""

    old: Function
    known: dict[str, Function]
    made: dict[str, Function]
    lets: list[Let] = field(default_factory=list[Let])
    types: dict[int, Type] = field(default_factory=dict[int, Type])
    next: int = 0

    def function(self, name: str) -> Function:
        """The function of that name whose result is the magnitudes of the old one's."""
        self.lets = list(self.old.body.lets)
        self.types = {each.number: each.type for each in (*self.old.parameters, *self.old.body.lets)}
        self.next = 1 + max((*self.types, *declared(self.old.body)), default=-1)
        values = {let.number: let.value for let in self.lets}
        result = self.magnitude(self.old.body.result, values)
        return replace(self.old, name=name, body=Body(tuple(self.lets), result))

    def magnitude(self, operand: Operand, values: dict[int, Expression]) -> Operand:
        """The magnitudes of an operand's terms."""
        match operand:
            case Ref(number, path) if number in values and not self.is_discrete(operand):
                return self.of_let(operand, values[number], path, values)
            case _:
                return self.absolute(operand)

    def of_let(self, ref: Ref, value: Expression, path: tuple[str, ...], values: dict[int, Expression]) -> Operand:
        """The same of a let, or of the component of one."""
        match value:
            case MakeTuple(items) if path:
                return self.component(items[int(path[0])], path[1:], values)
            case MakeRecord(fields, _) if path:
                return self.component(dict(fields)[path[0]], path[1:], values)
            case MakeTuple(items):
                return self.let(MakeTuple(tuple(self.magnitude(item, values) for item in items)))
            case MakeRecord(fields, None):
                return self.let(MakeRecord(tuple((name, self.magnitude(each, values)) for name, each in fields)))
            case Call(name, operands, way):
                called = self.let(Call(self.of_function(name), operands, way))
                return Ref(called.number, path)
            case Apply() if not path:
                return self.of_apply(ref, value, values)
            case MapTrees():
                return Ref(self.of_map(value).number, path)
            case Loop():
                return self.of_loop(ref, value, path)
            case _:
                return self.absolute(ref)

    def component(self, operand: Operand, path: tuple[str, ...], values: dict[int, Expression]) -> Operand:
        """The magnitudes of a component of a tree."""
        inner = Ref(operand.number, (*operand.path, *path)) if isinstance(operand, Ref) else operand
        return self.magnitude(inner, values)

    def of_apply(self, ref: Ref, apply: Apply, values: dict[int, Expression]) -> Operand:
        """The magnitudes of a primitive's terms."""
        name, operands = apply.primitive, apply.operands
        if name in SUMS:
            terms = tuple(self.magnitude(each, values) for each in operands)
            return self.let(Apply(SUMS[name], terms, apply.attributes))
        if name in PRODUCTS:
            return self.let(Apply(name, tuple(self.absolute(each) for each in operands), apply.attributes))
        if name == "neg":
            return self.magnitude(operands[0], values)
        if name in MOVES:
            return self.let(Apply(name, tuple(self.magnitude(each, values) for each in operands), apply.attributes))
        if name in ("mul", "div"):
            first, second = operands
            return self.let(Apply(name, (self.magnitude(first, values), self.absolute(second)), apply.attributes))
        if name == "where":
            mask, *branches = operands
            return self.let(Apply(name, (mask, *(self.magnitude(each, values) for each in branches)), apply.attributes))
        return self.absolute(ref)

    def of_map(self, mapped: MapTrees) -> Ref:
        """The magnitudes of a leafwise map's terms."""
        mapped = renumbered(mapped, self.number)
        with self.inside(mapped.body, mapped.parameters) as (lets, values):
            result = self.magnitude(mapped.body.result, values)
        return self.let(replace(mapped, body=Body(tuple(lets), result)))

    def of_loop(self, ref: Ref, loop: Loop, path: tuple[str, ...]) -> Operand:
        """The magnitudes of a component of a loop's result: those of the last round's state, or of every round's."""
        if loop.kind == "fold":
            return self.of_state(ref, loop) if not path else self.absolute(ref)
        if not path:
            return self.let(MakeTuple(tuple(self.of_loop(_at(ref, part), loop, (part,)) for part in ("0", "1"))))
        if path[0] == "0":
            return self.of_state(ref, loop) if len(path) == 1 else self.absolute(ref)
        loop = renumbered(loop, self.number)
        with self.inside(loop.body, (loop.state, *loop.elements)) as (lets, values):
            found = self.component(loop.body.result, ("1",), values)
            whole = self.let(MakeTuple((_at(loop.body.result, "0"), found)))
        scan = self.let(replace(loop, body=Body(tuple(lets), whole)))
        return Ref(scan.number, path)

    def of_state(self, ref: Ref, loop: Loop) -> Operand:
        """The magnitudes of the terms of the last state, where it is a tensor; without a round it has no terms."""
        if not isinstance(loop.state.type, Tensor) or loop.trips == 0:
            return self.absolute(ref)
        loop = renumbered(loop, self.number)
        result = loop.body.result
        with self.inside(loop.body, (loop.state, *loop.elements)) as (lets, values):
            state = result if loop.kind == "fold" else _at(result, "0")
            found = self.magnitude(state, values) if loop.kind == "fold" else self.component(result, ("0",), values)
            whole = self.let(MakeTuple((state, found)))
        scan = self.let(replace(loop, kind="scan", along=None, body=Body(tuple(lets), whole)))
        last = Literal(constants.rational(0 if loop.reversed else loop.trips - 1), "nat")
        return self.let(Apply("index", (_at(scan, "1"), last), (("axis", 0),)))

    @contextmanager
    def inside(
        self, body: Body, parameters: tuple[Parameter, ...]
    ) -> Generator[tuple[list[Let], dict[int, Expression]]]:
        """New lets go behind those of a loop's or map's body meanwhile; gives these, and what they hold."""
        outside, self.lets = self.lets, list(body.lets)
        self.types |= {each.number: each.type for each in (*parameters, *body.lets)}
        try:
            yield self.lets, {let.number: let.value for let in body.lets}
        finally:
            self.lets = outside

    def of_function(self, name: str) -> str:
        """The function that gives the magnitudes of another one's result, made now if it isn't yet."""
        wanted = f"{name}@magnitudes"
        if wanted not in self.made:
            self.made[wanted] = _Rewriter(self.known[name], self.known, self.made).function(wanted)
        return wanted

    def of_literal(self, literal: Literal) -> Operand:
        """The magnitude of a constant."""
        if literal.kind != "real":
            return literal
        if isinstance(literal.value, Rational):
            return Literal(constants.rational(abs(literal.value.value)))
        return self.let(Apply("abs", (literal,)))

    def is_discrete(self, operand: Operand) -> bool:
        """Whether an operand is a tensor of nats or truth values."""
        of = operand_type(operand, self.types)
        return isinstance(of, Tensor) and of.kind != "real"

    def absolute(self, operand: Operand) -> Operand:
        """An operand's magnitudes, leaf by leaf; nats and truth values stay as they are."""
        if isinstance(operand, (Literal, Injected)) or self.is_discrete(operand):
            return self.of_literal(operand) if isinstance(operand, Literal) else operand
        of = operand_type(operand, self.types)
        if isinstance(of, Tensor):
            return self.let(Apply("abs", (operand,)))
        if all(tensor.kind == "real" for _, tensor in leaves(of)):
            return self.let(self.leafwise(operand))
        parts = [Ref(operand.number, (*operand.path, name)) for name, _ in fields_of(of) or ()]
        made = tuple(self.absolute(part) for part in parts)
        if isinstance(of, TupleOf):
            return self.let(MakeTuple(made))
        names = (name for name, _ in fields_of(of) or ())
        return self.let(MakeRecord(tuple(zip(names, made, strict=True))))

    def leafwise(self, operand: Operand) -> Expression:
        """The magnitudes of every leaf of a tree of reals."""
        leaf, number, result = Tensor("real", (LEAF,)), self.number(), self.number()
        body = Body((Let(result, None, Apply("abs", (Ref(number),)), leaf),), Ref(result))
        return MapTrees((Parameter(number, None, leaf),), (operand,), body)

    def number(self) -> int:
        """A new number."""
        self.next += 1
        return self.next - 1

    def let(self, value: Expression) -> Ref:
        """A new let behind the others."""
        number = self.number()
        made = Let(number, None, value, expression_type(value, self.types, self.known | self.made))
        self.lets.append(made)
        self.types[number] = made.type
        return Ref(number)


def _at(operand: Operand, part: str) -> Ref:
    """A component of what an operand refers to."""
    assert isinstance(operand, Ref), "a tree is a let or a parameter"
    return Ref(operand.number, (*operand.path, part))
