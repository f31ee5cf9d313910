"""Random well-typed Core programs for property tests of the verifier, the printer, passes, the reference and kernels.

`programs` is a hypothesis strategy, `random_program` the same from a seed and much faster. A program has an entry and
perhaps functions it calls, folds, scans, maps, trees, draws, and every primitive of the table; sizes are 0 … 4, axes
named or not. What a primitive's rule refuses is not generated; what it takes is correct by `core.typing`.
`arguments_of` draws NumPy inputs for the entry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.unit.core.recipes import LEAFWISE, RECIPES, Choices

from presk.core.attributes import DRAW, in_order
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
    Parameter,
    Program,
    Ref,
    SetField,
)
from presk.core.operands import calls_in, with_operands
from presk.core.typing import LEAF, component, expression_type, operand_type
from presk.primitives.all import TABLE
from presk.primitives.call import normalize
from presk.primitives.table import Misfit
from presk.shapes import constants
from presk.shapes.align import Misaligned, check_distinct
from presk.shapes.poly import number
from presk.shapes.types import Axis, ModuleOf, RecordOf, Shape, Stacked, Tensor, Type, fields_of, leaves, show

Draw = Callable[[st.SearchStrategy[Any]], Any]
NAMES = ("a", "b", "c", "d")
PARTIAL = frozenset("sqrt rsqrt recip log log1p div pow logsumexp log_softmax".split())
"""Primitives that are undefined for some values, or overflow; left out of programs that must have a value."""

NOT_IN_CORE = frozenset({"dropout", "constant"})
DRAWING = frozenset(name for name, primitive in TABLE.items() if primitive.draws)
ALL = frozenset(TABLE) - NOT_IN_CORE
TOTAL = ALL - PARTIAL


@dataclass
class Frame:
    """A function being made. Parameters have negative numbers until it is finished, as more may be asked for."""

    parameters: list[Type] = field(default_factory=list[Type])
    types: dict[int, Type] = field(default_factory=dict[int, Type])
    next: int = 0
    draws: dict[str, int] = field(default_factory=dict[str, int])
    calls: int = 0

    def parameter(self, each: Type) -> Ref:
        if isinstance(each, Tensor):
            check_distinct(each.axes)
            if each.bound == number(0) and 0 not in each.sizes:
                raise Misfit("E3001", f"{show(each)} has no values")
        self.parameters.append(each)
        at = -len(self.parameters)
        self.types[at] = each
        return Ref(at)

    def take(self) -> int:
        self.next += 1
        return self.next - 1


class Source(ABC):
    """Where a generator's choices come from."""

    @abstractmethod
    def whole(self, low: int, high: int) -> int: ...

    @abstractmethod
    def pick(self, options: Sequence[Any]) -> Any: ...


class Drawn(Source):
    """Choices that hypothesis makes and shrinks."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw

    def whole(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def pick(self, options: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(options))


class Seeded(Source):
    """Choices from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def whole(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def pick(self, options: Sequence[Any]) -> Any:
        return self.random.choice(options)


class Generator(Choices):
    """Makes functions; implements what recipes ask for."""

    def __init__(self, source: Source, primitives: frozenset[str], trees: bool) -> None:
        self.source = source
        self.primitives = sorted(primitives & RECIPES.keys())
        self.trees = trees
        self.functions: dict[str, Function] = {}
        self.frame = Frame()
        self.scope: list[Ref] = []
        self.leafwise = False
        self.pending: list[Let] = []

    # Choices

    def whole(self, low: int, high: int) -> int:
        return self.source.whole(low, high)

    def pick(self, options: Sequence[Any]) -> Any:
        if not options:
            raise Misfit("E3001", "nothing to choose from")
        return self.source.pick(options)

    def chance(self) -> bool:
        return bool(self.whole(0, 1))

    def size(self) -> int:
        return self.pick((2, 3, 1, 4, 2, 3, 0))

    def axes(self, low: int = 0, high: int = 3) -> Shape:
        """Axes with different names, some without."""
        names = list(NAMES)
        axes: list[Axis] = []
        for _ in range(self.whole(low, high)):
            name = names.pop(self.whole(0, len(names) - 1)) if self.chance() else None
            axes.append(Axis(name, number(self.size())))
        return tuple(axes)

    # Operands

    def tensors(self, kind: str | None = None) -> list[tuple[Ref, Tensor]]:
        """Tensors in scope, of one kind or any; a value's components too."""
        found: list[tuple[Ref, Tensor]] = []
        for ref in self.scope:
            for path, leaf in leaves(operand_type(ref, self.frame.types)):
                if kind in (None, leaf.kind):
                    found.append((Ref(ref.number, (*ref.path, *path)), leaf))
        return found

    def tensor(self, kind: str | None = None, rank: int = 0) -> tuple[Operand, Tensor]:
        """A tensor of some kind, of at least `rank` axes, from the scope or a new parameter; nats may be injected."""
        known: list[tuple[Operand, Tensor]] = list(self.tensors(kind))
        if kind == "real" and self.whole(0, 9) == 0:
            known += [(Injected(ref), Tensor("real", nats.axes)) for ref, nats in self.tensors("nat")]
        known = [each for each in known if len(each[1].explicit) >= rank]
        if self.leafwise and self.chance():
            known = [each for each in known if LEAF in each[1].axes] or known
            known = [each for each in known if len(each[1].axes) > 1] or known
        if known and (self.leafwise or self.whole(0, 5)):
            return self.pick(known)
        if self.leafwise:
            raise Misfit("E3001", "nothing of that kind in a map's body")
        made = kind or self.pick(("real", "real", "nat", "bool"))
        axes = self.axes(rank, max(rank, 3))
        return self.fresh(Tensor(made, axes, number(self.whole(1, 4)) if made == "nat" else None))

    def fresh(self, wanted: Tensor) -> tuple[Operand, Tensor]:
        """A new parameter of this type, or a value in scope that has it already."""
        known = [ref for ref, each in self.tensors(wanted.kind) if each == wanted]
        if known and self.chance():
            return self.pick(known), wanted
        if self.leafwise:
            raise Misfit("E3001", "a map's body has its leaves alone")
        return self.frame.parameter(wanted), wanted

    def aligned(self, leading: Tensor, kind: str | None = None) -> Operand:
        """An operand that aligns under `leading`: a constant, a scalar, or some of its axes."""
        kind = kind or leading.kind
        choice = self.whole(0, 4)
        if choice == 0:
            return self.constant(kind)
        if choice == 1 or self.leafwise:
            fitting = [ref for ref, each in self.tensors(kind) if each.axes in ((), leading.axes)]
            return self.pick(fitting) if fitting else self.constant(kind)
        if choice == 2:
            fitting = [ref for ref, each in self.tensors(kind) if each.axes == leading.axes]
            if fitting:
                return self.pick(fitting)
        kept = [axis for axis in leading.explicit if self.chance() or choice == 3]
        if all(axis.name is not None for axis in kept) and self.chance():
            kept = [kept.pop(self.whole(0, len(kept) - 1)) for _ in range(len(kept))]
        return self.fresh(Tensor(kind, tuple(kept), number(self.whole(1, 4)) if kind == "nat" else None))[0]

    def constant(self, kind: str) -> Literal:
        if kind == "bool":
            return Literal(constants.rational(self.whole(0, 1)), "bool")
        if kind == "nat":
            return Literal(constants.rational(self.whole(0, 3)), "nat")
        value = self.pick((0, 1, 2, -1, 3))
        if self.chance():
            return Literal(constants.rational(value))
        return Literal(constants.apply("div", constants.apply("sqrt", constants.rational(2)), constants.rational(7)))

    # Lets

    def lets(self, count: int) -> list[Let]:
        """Up to `count` lets; each is in scope for the next."""
        made: list[Let] = []
        for _ in range(count):
            number = self.frame.take()
            try:
                value = self.expression()
                found = None if value is None else expression_type(value, self.frame.types, self.functions)
            except (Misfit, Misaligned):
                continue
            if value is None or found is None:
                continue
            let = Let(number, self.pick((None, None, "h", "out")), value, found)
            self.frame.types[number] = found
            self.scope.append(Ref(number))
            made.append(let)
        return made

    def expression(self) -> Expression | None:
        makers = (self.apply,) * 9
        if self.trees and not self.leafwise:
            makers += (self.loop, self.map, self.call, self.tree)
        return self.pick(makers)()

    def apply(self) -> Apply | None:
        names = [name for name in self.primitives if name in LEAFWISE] if self.leafwise else self.primitives
        if self.leafwise and "broadcast_to" in names and not self.whole(0, 3):
            names = ["broadcast_to"]  # axes beside the leaf's, for the others to work on
        primitive = TABLE[self.pick(names)]
        operands, given = RECIPES[primitive.name](self)
        kinds = [operand_type(operand, self.frame.types) for operand in operands]
        attributes = normalize(primitive, kinds, given)
        if primitive.draws:
            attributes[DRAW] = self.frame.draws.get(primitive.name, 0)
        apply = Apply(primitive.name, tuple(operands), in_order(primitive, attributes))
        expression_type(apply, self.frame.types, self.functions)
        if primitive.draws:
            self.frame.draws[primitive.name] = attributes[DRAW] + 1  # type: ignore[operator]
        return apply

    def body(self, count: int, scope: list[Ref], result: Callable[[], Operand], leafwise: bool = False) -> Body:
        """A body of its own scope, whose result is asked for when its lets are made."""
        outer = (self.scope, self.leafwise)
        self.scope, self.leafwise = scope, leafwise
        try:
            made = self.lets(count)
            wanted = result()
            return Body((*made, *self.pending), wanted)
        finally:
            self.scope, self.leafwise = outer
            self.pending = []

    def also(self, value: Expression) -> Ref:
        """One more let behind the others of the body at hand."""
        number = self.frame.take()
        found = expression_type(value, self.frame.types, self.functions)
        self.frame.types[number] = found
        self.pending = [*self.pending, Let(number, None, value, found)]
        return Ref(number)

    def loop(self) -> Loop | None:
        state = self.pick([ref for ref, each in self.tensors() if each.kind == "real"] or [None])
        if state is None:
            return None
        trips = self.whole(0, 3)
        opened: list[Parameter] = []
        sources: list[Any] = []
        kind = self.pick(("fold", "scan"))
        start_type = operand_type(state, self.frame.types)
        own = Parameter(self.frame.take(), "s", start_type)
        self.frame.types[own.number] = start_type
        for _ in range(self.whole(1, 2)):
            source, element = self.elements(trips)
            opened.append(Parameter(self.frame.take(), self.pick((None, "e")), element))
            self.frame.types[opened[-1].number] = element
            sources.append(source)
        inner = [*self.scope, Ref(own.number), *(Ref(each.number) for each in opened)]

        def result() -> Operand:
            fitting = [ref for ref, each in self.tensors() if each == start_type]
            after = self.pick(fitting[-2:])
            return after if kind == "fold" else self.also(MakeTuple((after, self.pick(self.scope[-3:]))))

        body = self.body(self.whole(0, 3), inner, result)
        along = self.pick((None, "t")) if kind == "scan" else None
        return Loop(kind, own, state, tuple(opened), tuple(sources), trips, body, along, self.chance())

    def elements(self, trips: int) -> tuple[Any, Type]:
        choice = self.whole(0, 2)
        if choice == 0:
            start = self.whole(0, 2)
            return Count(start), Tensor("nat", (), number(start + trips))
        if choice == 1:
            element = RecordOf((("w", Tensor("real", self.axes(0, 2))), ("n", Tensor("real"))))
            return Each(self.frame.parameter(Stacked(element, number(trips))), None), element
        axes = self.axes(0, 2)
        at = self.whole(0, len(axes))
        along = (*axes[:at], Axis(self.pick((None, "t")), number(trips)), *axes[at:])
        return Each(self.frame.parameter(Tensor("real", along)), at), Tensor("real", axes)

    def map(self) -> MapTrees | None:
        module = ModuleOf(
            "Pair", (constants.rational(2),), (("w", Tensor("real", self.axes(1, 2))), ("b", Tensor("real")))
        )
        tree = self.pick((RecordOf(module.fields), Stacked(RecordOf(module.fields), number(self.whole(0, 2)))))
        count = self.whole(1, 3)
        operands = tuple(self.frame.parameter(tree) for _ in range(count))
        parameters: list[Parameter] = []
        for at in range(count):
            parameters.append(Parameter(self.frame.take(), "pgm"[at], Tensor("real", (LEAF,))))
            self.frame.types[parameters[-1].number] = parameters[-1].type
        around = [ref for ref, _ in self.tensors()]
        arity = self.pick((None, 2))

        def result() -> Operand:
            results = [ref for ref, each in self.tensors("real") if each.axes == (LEAF,)][-2:]
            return results[-1] if arity is None else self.also(MakeTuple((results[-1], results[0])))

        inner = [*around, *(Ref(each.number) for each in parameters)]
        body = self.body(self.whole(0, 9), inner, result, leafwise=True)
        return MapTrees(tuple(parameters), operands, body, arity)

    def call(self) -> Call | None:
        if not self.functions:
            return None
        function = self.functions[self.pick(sorted(self.functions))]
        operands: list[Operand] = []
        for parameter in function.parameters:
            same = [ref for ref in self.scope if operand_type(ref, self.frame.types) == parameter.type]
            operands.append(self.pick(same) if same and self.chance() else self.frame.parameter(parameter.type))
        self.frame.calls += 1
        return Call(function.name, tuple(operands), self.pick(("", f"layer.step~{self.frame.calls}")))

    def tree(self) -> Expression | None:
        if not self.scope:
            return None
        records = [ref for ref in self.scope if isinstance(operand_type(ref, self.frame.types), RecordOf)]
        choice = self.whole(0, 2)
        if choice == 0 and records:
            base = self.pick(records)
            fields = fields_of(operand_type(base, self.frame.types)) or ()
            name, wanted = self.pick(fields)
            same = [ref for ref in self.scope if operand_type(ref, self.frame.types) == wanted]
            return SetField(base, (name,), self.pick(same or [Ref(base.number, (name,))]))
        parts: list[Operand] = [self.pick(self.scope) for _ in range(self.whole(0, 3))]
        if choice == 1:
            return MakeTuple((*parts, self.constant(self.pick(("real", "nat", "bool")))))
        return MakeRecord(tuple(zip("xyz", parts, strict=False)))

    # Functions

    def function(self, name: str, count: int) -> Function:
        """A function of up to `count` lets."""
        self.frame = Frame()
        self.scope = []
        for _ in range(self.whole(1, 2)):
            self.scope.append(self.frame.parameter(Tensor("real", self.axes())))
        made = self.lets(count)
        candidates = self.scope[-4:]
        chosen = [ref for ref in candidates if self.chance()] or candidates[-1:]
        result: Operand = chosen[0]
        if len(chosen) > 1:
            value = MakeTuple(tuple(chosen))
            number = self.frame.take()
            found = expression_type(value, self.frame.types, self.functions)
            made.append(Let(number, None, value, found))
            self.frame.types[number] = found
            result = Ref(number)
        return _numbered(name, self.frame, Body(tuple(made), result))


def _numbered(name: str, frame: Frame, body: Body) -> Function:
    """The function with its parameters numbered from 0 and its lets behind them."""
    count = len(frame.parameters)

    def new(old: int) -> int:
        return -old - 1 if old < 0 else old + count

    def operand(old: Operand) -> Operand:
        match old:
            case Ref(number, path):
                return Ref(new(number), path)
            case Injected(inner):
                return Injected(Ref(new(inner.number), inner.path))
            case Literal():
                return old

    def parameter(old: Parameter) -> Parameter:
        return replace(old, number=new(old.number))

    def inside(old: Body) -> Body:
        return Body(tuple(let(each) for each in old.lets), operand(old.result))

    def let(old: Let) -> Let:
        value = with_operands(old.value, operand)
        match value:
            case Loop(state=state, elements=elements, body=inner):
                elements = tuple(parameter(each) for each in elements)
                value = replace(value, state=parameter(state), elements=elements, body=inside(inner))
            case MapTrees(parameters=parameters, body=inner):
                value = replace(value, parameters=tuple(parameter(each) for each in parameters), body=inside(inner))
            case _:
                pass
        return replace(old, number=new(old.number), value=value)

    parameters = tuple(Parameter(at, f"x{at}", each) for at, each in enumerate(frame.parameters))
    result = operand_type(body.result, frame.types)
    return Function(name, parameters, result, inside(body))


@st.composite
def programs(
    draw: Draw, primitives: frozenset[str] = ALL, lets: int = 8, functions: int = 1, trees: bool = True
) -> Program:
    """Verified programs with up to `lets` lets a body and up to `functions` functions beside the entry.

    `trees=False` leaves out loops, maps, calls and trees: one body of primitives.
    """
    return _program(Drawn(draw), primitives, lets, functions, trees)


def random_program(
    seed: int, primitives: frozenset[str] = ALL, lets: int = 8, functions: int = 1, trees: bool = True
) -> Program:
    """The program of a seed; otherwise as `programs`."""
    return _program(Seeded(seed), primitives, lets, functions, trees)


def _program(source: Source, primitives: frozenset[str], lets: int, functions: int, trees: bool) -> Program:
    generator = Generator(source, primitives, trees)
    for at in range(source.whole(0, functions) if trees else 0):
        name = f"helper{{{at}, (1 / 3)}}.step" if at else "helper"
        generator.functions[name] = generator.function(name, source.whole(1, 3))
    entry = generator.function("main", source.whole(1, lets))
    wanted = calls_in(entry.body)
    for name, function in reversed(generator.functions.items()):
        if name in wanted:
            wanted |= calls_in(function.body)
    called = tuple(function for name, function in generator.functions.items() if name in wanted)
    return Program((*called, entry))


def arguments_of(program: Program, seed: int) -> list[Any]:
    """Arguments for the entry: trees of float64, int64 and bool arrays, small numbers with exact decimals."""
    rng = np.random.default_rng(seed)
    return [_value(parameter.type, rng) for parameter in program.entry.parameters]


def _value(each: Type, rng: np.random.Generator) -> Any:
    if isinstance(each, Tensor):
        if each.kind == "real":
            return rng.integers(-12, 13, each.sizes) / 8.0
        if each.kind == "bool":
            return np.asarray(rng.integers(0, 2, each.sizes), dtype=bool)
        bound = each.bound.whole if each.bound is not None else None
        return np.asarray(rng.integers(0, max(bound or 1, 1), each.sizes), dtype=np.int64)
    fields = [(name, component(each, (name,))) for name, _ in fields_of(each) or ()]
    values = [_value(inner, rng) for _, inner in fields]
    named = not fields or not fields[0][0].isdigit()
    return dict(zip((name for name, _ in fields), values, strict=True)) if named else tuple(values)
