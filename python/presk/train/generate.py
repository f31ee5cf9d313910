"""Generating with a language model: its `next_token` and the draw of the symbol behind, as one compiled step.

The step is `next_token`'s Core with a function on top that calls it, takes the logits of the symbols that have a text,
and draws one by the primitive `sample`. The draw of the symbol at position i of the text is that of step i: a symbol is
a function of the seed, its position and the symbols before it, whatever the backend, the threads and how often the
text was interrupted and taken up again. Parameters are bound, and the cache is donated, so it is written in place.

A model has places for so many positions (`nat < T`). Where they are full the last half of them is read again, from
position 0 (`window_begin`), so that a text can be of any length. Called by the Python API.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from presk.core.nodes import Apply, Body, Call, Function, Let, Literal, MakeTuple, Parameter, Program, Ref
from presk.core.simplify import simplify
from presk.core.typing import expression_type
from presk.realization.model import Plan, Realization
from presk.realization.resolve import resolve
from presk.run import trees
from presk.run.backend import Backend, Entry, Executable, Value
from presk.shapes.constants import Rational
from presk.shapes.types import Tensor, TupleOf, Type, leaves, show
from presk.text.diagnostics import PreskError, fail

NEXT_TOKEN = "next_token"
"""The function a language model has (language.md 8), a module's or one of its own."""

STEP = "generate.step"
"""The name of the function on top."""

MODEL, CACHE, SYMBOL, POSITION = range(4)
"""`next_token`'s parameters by their numbers."""

SHAPE_HINT = "fn next_token(self, cache: C, t: nat[batch] < V, pos: nat < T) -> (real[batch, V], C)"


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a symbol is drawn: exact numbers, `top_k` 0 for all. Temperature 0 takes the likeliest."""

    temperature: Fraction = Fraction(1)
    top_k: int = 0
    top_p: Fraction = Fraction(1)

    def require_in_range(self) -> None:
        """E8053 for a temperature below 0, a negative top_k, or a top_p outside of (0, 1]."""
        for name, value, wrong, wanted in (
            ("temperature", self.temperature, self.temperature < 0, "a number from 0"),
            ("top_k", self.top_k, self.top_k < 0, "a whole number from 0, which takes all"),
            ("top_p", self.top_p, not 0 < self.top_p <= 1, "a number above 0 and at most 1"),
        ):
            if wrong:
                raise fail("E8053", f"`{name}` is {float(value):g}", hint=wanted)


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A `next_token` bound to one row: `symbols` it knows, `places` of its cache."""

    program: Program
    symbols: int
    places: int

    @property
    def name(self) -> str:
        """The entry's name."""
        return self.program.entry.name

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The model, the cache, the symbol and its position."""
        return self.program.entry.parameters


def language_model(program: Program) -> LanguageModel:
    """What a bound `next_token` says of itself. E8050 where its types aren't those of one."""
    entry = program.entry
    kinds = [each.type for each in entry.parameters]
    match kinds, entry.result:
        case (
            [_, cache, Tensor("nat", (_,), bound) as symbol, Tensor("nat", (), places)],
            TupleOf((Tensor("real", (_, _)) as logits, result)),
        ) if bound is not None and places is not None and _same_sizes(cache, result):
            if symbol.sizes != (1,) or logits.sizes != (1, bound.whole):
                raise _not_one(entry, f"a row of {show(symbol)} gives {show(logits)}")
            return LanguageModel(program, _whole(bound.whole), _whole(places.whole))
        case _:
            raise _not_one(entry, f"it takes {', '.join(map(show, kinds))} and gives {show(entry.result)}")


def _same_sizes(one: Type, other: Type) -> bool:
    """Whether one tree's leaves stand for the other's: axis names may be left out of a stated type."""
    first, second = list(leaves(one)), list(leaves(other))
    same_paths = [path for path, _ in first] == [path for path, _ in second]
    return same_paths and all(
        (a.kind, a.sizes, a.bound) == (b.kind, b.sizes, b.bound) for (_, a), (_, b) in zip(first, second, strict=True)
    )


def _not_one(entry: Function, why: str) -> PreskError:
    return fail("E8050", f"`{entry.name}` isn't a language model's: {why}", hint=SHAPE_HINT)


def _whole(size: int | None) -> int:
    assert size is not None, "sizes are bound"
    return size


def step_program(model: LanguageModel, symbols: int, sampling: Sampling) -> Program:
    """The model's Core with the draw among its first `symbols` on top: (symbol, cache), the text's first row."""
    entry = model.program.entry
    types: dict[int, Type] = {each.number: each.type for each in entry.parameters}
    functions = {each.name: each for each in model.program.functions}
    lets: list[Let] = []

    def let(name: str | None, value: Call | Apply | MakeTuple) -> Ref:
        number = len(types)
        types[number] = expression_type(value, types, functions)
        lets.append(Let(number, name, value, types[number]))
        return Ref(number)

    result = let(None, Call(entry.name, tuple(Ref(each.number) for each in entry.parameters), NEXT_TOKEN))
    logits = Ref(result.number, ("0",))
    if symbols < model.symbols:
        logits = let("logits", Apply("slice", (logits,), (("axis", 1), ("start", 0), ("stop", symbols))))
    settings = (Literal(Rational(sampling.temperature)), Literal(Rational(sampling.top_p)))
    how = (("top_k", min(sampling.top_k, symbols)), ("axis", 1), ("draw", 0))
    symbol = let("symbol", Apply("sample", (logits, *settings), how))
    both = let(None, MakeTuple((symbol, Ref(result.number, ("1",)))))
    name = STEP
    while name in functions:
        name += "'"
    made = Function(name, entry.parameters, types[both.number], Body(tuple(lets), both))
    return simplify(Program((*model.program.functions, made)))


def window_begin(count: int, places: int) -> int:
    """Where the window begins from which the symbol behind the first `count` is drawn: that many or fewer are read.

    It moves by half the places, so that each symbol is read twice at most, and depends on the position alone.
    """
    if count <= places:
        return 0
    stride = (places + 1) // 2
    return -((places - count) // stride) * stride


class Generator:
    """A language model with its parameters, ready to continue texts. Texts may be made from several threads."""

    def __init__(
        self,
        backend: Backend,
        model: LanguageModel,
        parameters: Value,
        *,
        symbols: int,
        sampling: Sampling,
        realization: Realization,
        plan: Plan,
        threads: int | None = None,
    ) -> None:
        """Prepares the step: `symbols` are those that may be drawn.

        E8053; E7002 where the realization or the plan doesn't fit `next_token`; E6030 where the parameters don't.
        """
        sampling.require_in_range()
        resolve(realization, plan, model.program)  # what a file says of its entry and Core, it says of `next_token`
        self.model = model
        self.program = step_program(model, symbols, sampling)
        prepared = backend.prepare(
            Entry(self.program.entry.name, self.program),
            replace(realization, entry=None, core=None),
            replace(plan, entry=None, core=None, realization=None),
            threads=threads,
            donate=(CACHE,),
        )
        name = model.parameters[MODEL].name or ""
        self.executable: Executable = prepared.bind(**{name: parameters})

    def symbols(self, before: Sequence[int], seed: int = 0) -> Iterator[int]:
        """The symbols behind `before`, without end. E8052 where there are none before."""
        if not before:
            raise fail("E8052", "there is nothing to continue: the prompt has no symbols", hint="give it a character")
        return self._continue(list(before), seed)

    def _continue(self, text: list[int], seed: int) -> Iterator[int]:
        places = self.model.places
        begin = read = window_begin(len(text), places)
        cache = self._zeros()
        while True:
            if window_begin(len(text), places) != begin:
                begin = read = window_begin(len(text), places)
                cache = self._zeros()
            symbol = 0
            for at in range(read, len(text)):
                drawn, cache = self.executable(cache, np.array([text[at]]), at - begin, seed=seed, step=at + 1)
                symbol = int(np.asarray(drawn)[0])
            read = len(text)
            text.append(symbol)
            yield symbol

    def _zeros(self) -> Value:
        """The first cache."""
        of = self.model.parameters[CACHE].type
        kinds = {"real": np.float64, "nat": np.int64, "bool": np.bool_}
        return trees.grow((path, np.zeros(tensor.sizes, kinds[tensor.kind])) for path, tensor in leaves(of))
