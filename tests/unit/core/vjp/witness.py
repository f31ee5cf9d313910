"""A witness of derivatives: central differences of the exact reference, where they are as good as proofs.

At 400 bits a step of 2⁻¹⁰⁰ leaves an error of about 2⁻²⁰⁰: a derivative agrees to fifty digits or is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np
from flint import arb, ctx, fmpq

from presk.core.nodes import Program
from presk.core.vjp.transform import Deriver
from presk.exact.evaluate import evaluate
from presk.exact.values import ExactArray
from presk.shapes.types import Tensor, Type, fields_of
from presk.shapes.types import leaves as type_leaves

BITS = 400
STEP = Fraction(1, 1 << 100)
TOLERANCE = Fraction(1, 1 << 150)

Tree = Any
"""Dicts and tuples of leaves."""


@dataclass
class Exact:
    """Real numbers of a tensor, as fractions."""

    numbers: list[Fraction]
    shape: tuple[int, ...]

    def moved(self, by: Exact, step: Fraction) -> Exact:
        """The tensor moved along a direction."""
        return Exact([a + step * b for a, b in zip(self.numbers, by.numbers, strict=True)], self.shape)

    def given(self) -> ExactArray:
        """What a call takes."""
        return ExactArray([fmpq(each.numerator, each.denominator) for each in self.numbers], self.shape)


def map_leaves(change: Callable[..., Any], *trees: Tree) -> Tree:
    """A tree of what `change` gives of the leaves."""
    first = trees[0]
    if isinstance(first, dict):
        names = cast("dict[str, Any]", first)
        return {name: map_leaves(change, *(tree[name] for tree in trees)) for name in names}
    if isinstance(first, tuple):
        return tuple(map_leaves(change, *each) for each in zip(*trees, strict=True))
    return change(*trees)


def leaves(tree: Tree) -> list[Any]:
    """The leaves in order."""
    if isinstance(tree, dict):
        return [leaf for each in cast("dict[str, Any]", tree).values() for leaf in leaves(each)]
    if isinstance(tree, tuple):
        return [leaf for each in cast("tuple[Any, ...]", tree) for leaf in leaves(each)]
    return [tree]


def random_reals(rng: np.random.Generator, shape: tuple[int, ...], low: float = -2, high: float = 2) -> Exact:
    """Random dyadic numbers, all different, none of them 0."""
    count = int(np.prod(shape, dtype=int))
    step = (high - low) / max(count, 1)
    values = [low + step * (cell + rng.uniform(0.2, 0.8)) for cell in rng.permutation(count)]
    return Exact([Fraction(int(value * (1 << 30)) | 1, 1 << 30) for value in values], shape)


def random_value(rng: np.random.Generator, of: Type, low: float = -2, high: float = 2) -> Tree:
    """A random value of a type."""
    if isinstance(of, Tensor):
        if of.kind == "real":
            return random_reals(rng, of.sizes, low, high)
        top = 2 if of.bound is None else max(of.bound.whole or 1, 1)
        return rng.integers(0, top, of.sizes).astype(bool if of.bound is None else np.int64)
    fields = fields_of(of) or ()
    made = {name: random_value(rng, each, low, high) for name, each in fields}
    return tuple(made.values()) if fields and fields[0][0].isdigit() else made


def all_real(of: Type) -> bool:
    """Whether something of this type can be differentiated with respect to."""
    kinds = {leaf.kind for _, leaf in type_leaves(of)}
    return kinds == {"real"}


def derivative(program: Program, kind: str, wrt: tuple[int, ...]) -> Program:
    """The program whose entry is a derivative of the program's, which must be simplified."""
    deriver = Deriver(program.functions)
    name = deriver.operator(kind, program.entry.name, wrt, single=False)
    made = [each for each in deriver.made if each.name != name]
    return Program((*program.functions, *made, deriver.functions[name]))


def value(program: Program, arguments: Sequence[Tree]) -> Tree:
    """What the reference gives."""
    return evaluate(program, [map_leaves(_given, each) for each in arguments], bits=BITS, seed=1, training=True)


def _given(leaf: Any) -> Any:
    return leaf.given() if isinstance(leaf, Exact) else leaf


class Directions:
    """Random directions of some arguments and a random cotangent, and the derivative along them."""

    def __init__(self, program: Program, arguments: Sequence[Tree], wrt: tuple[int, ...], seed: int) -> None:
        self.program = program
        self.arguments = list(arguments)
        self.wrt = wrt
        self.rng = np.random.default_rng(seed)
        self.directions = [map_leaves(self._random, self.arguments[at]) for at in wrt]
        self.cotangent = map_leaves(self._random, value(program, arguments))

    def _random(self, leaf: Any) -> Any:
        return random_reals(self.rng, leaf.shape) if isinstance(leaf, (Exact, ExactArray)) else leaf

    def expected(self) -> arb:
        """By central differences."""
        above, below = (value(self.program, self._moved(step)) for step in (STEP, -STEP))
        with precision():
            total = arb(0)
            for weights, up, down in zip(leaves(self.cotangent), leaves(above), leaves(below), strict=True):
                if isinstance(weights, Exact):
                    parts = [(a - b) / (2 * _ball(STEP)) for a, b in zip(up.balls(), down.balls(), strict=True)]
                    total += _dot(weights, parts)
            return total

    def found(self, pull: Program) -> arb:
        """By the vjp."""
        gradients = value(pull, [*self.arguments, self.cotangent])
        with precision():
            total = arb(0)
            for direction, gradient in zip(leaves(tuple(self.directions)), leaves(gradients), strict=True):
                total += _dot(direction, gradient.balls())
            return total

    def _moved(self, step: Fraction) -> list[Tree]:
        moved = list(self.arguments)
        for at, direction in zip(self.wrt, self.directions, strict=True):
            moved[at] = map_leaves(lambda leaf, by: leaf.moved(by, step), self.arguments[at], direction)
        return moved


def agree(found: arb, expected: arb) -> bool:
    """Whether two numbers agree to about fifty digits."""
    with precision():
        return bool(abs(found - expected).mid() <= _ball(TOLERANCE) * (1 + abs(expected).mid()))


@contextmanager
def precision() -> Generator[None]:
    """flint's working precision."""
    before, ctx.prec = ctx.prec, BITS
    try:
        yield
    finally:
        ctx.prec = before


def _ball(number: Fraction) -> arb:
    return arb(fmpq(number.numerator, number.denominator))


def _dot(weights: Exact, values: Sequence[arb]) -> arb:
    total = arb(0)
    for weight, each in zip(weights.numbers, values, strict=True):
        total += _ball(weight) * each
    return total
