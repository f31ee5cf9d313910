"""Small Core programs: one primitive on given tensors, or lets written by hand, and their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from presk.check.program import loads
from presk.core.bind import bind
from presk.core.nodes import Apply, Body, Expression, Function, Let, Operand, Parameter, Program, Ref
from presk.exact.evaluate import evaluate
from presk.exact.values import ExactArray
from presk.primitives.all import TABLE
from presk.primitives.call import injected, normalize, result_type
from presk.shapes.poly import number
from presk.shapes.types import Axis, Tensor, Type

BITS = 128
"""More than float64 holds, so that what differs from a NumPy formula is NumPy's rounding."""


def axes(sizes: Sequence[int], names: Sequence[str | None] | None = None) -> tuple[Axis, ...]:
    """Axes of these sizes and names."""
    return tuple(Axis(name, number(size)) for name, size in zip(names or [None] * len(sizes), sizes, strict=True))


@dataclass(frozen=True)
class Given:
    """An operand: its numbers, the names of its axes, and the bound where they are nats."""

    array: Any
    names: tuple[str | None, ...] | None = None
    bound: int | None = None

    @property
    def type(self) -> Tensor:
        """The operand's type."""
        array = self.array if isinstance(self.array, ExactArray) else np.asarray(self.array)
        kind = "real"
        if isinstance(array, np.ndarray):
            kind = {"i": "nat", "b": "bool"}.get(array.dtype.kind, "real")
        bound = (
            None
            if kind != "nat"
            else number(self.bound if self.bound is not None else int(np.max(array, initial=0)) + 1)
        )
        return Tensor(kind, axes(array.shape, self.names), bound)


@dataclass
class Lets:
    """A function under construction."""

    parameters: list[Type]
    lets: list[Let] = field(default_factory=list)
    types: dict[int, Type] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.types = dict(enumerate(self.parameters))

    def apply(self, name: str, *operands: int | Operand, draw: int | None = None, **given: Any) -> int:
        """A let of a primitive on numbers or operands."""
        refs = tuple(Ref(each) if isinstance(each, int) else each for each in operands)
        row = TABLE[name]
        types = injected(row, [self.types[each.number] for each in refs if isinstance(each, Ref)])
        attributes = normalize(row, types, given)
        if draw is not None:
            attributes["draw"] = draw
        result = result_type(row, types, attributes)
        return self.let(Apply(name, refs, tuple(attributes.items())), result)

    def let(self, value: Expression, of: Type, name: str | None = None) -> int:
        """A let of anything."""
        place = max(self.types, default=-1) + 1
        self.lets.append(Let(place, name, value, of))
        self.types[place] = of
        return place

    def function(self, result: int | Operand, name: str = "f") -> Function:
        """The function with these lets."""
        operand = Ref(result) if isinstance(result, int) else result
        parameters = tuple(Parameter(at, f"p{at}", of) for at, of in enumerate(self.parameters))
        of = self.types[operand.number] if isinstance(operand, Ref) else Tensor("real")
        return Function(name, parameters, of, Body(tuple(self.lets), operand))

    def program(self, result: int | Operand) -> Program:
        """The program that is this function alone."""
        return Program((self.function(result),))


def program_of(primitive: str, *operands: Given, draw: int | None = None, **given: Any) -> Program:
    """The program that applies one primitive."""
    lets = Lets([each.type for each in operands])
    return lets.program(lets.apply(primitive, *range(len(operands)), draw=draw, **given))


def exact(primitive: str, *operands: Given, bits: int = BITS, certify: bool = False, **given: Any) -> Any:
    """A primitive's exact result."""
    program = program_of(primitive, *operands, **given)
    return evaluate(program, [each.array for each in operands], bits=bits, certify=certify)


def value(primitive: str, *operands: Given, **given: Any) -> NDArray[Any]:
    """A primitive's result, exact numbers rounded to float64."""
    return np.asarray(exact(primitive, *operands, **given))


def names_of(primitive: str, *operands: Given, **given: Any) -> tuple[str | None, ...]:
    """The names of a result's axes."""
    of = program_of(primitive, *operands, **given).entry.result
    assert isinstance(of, Tensor)
    return tuple(axis.name for axis in of.explicit)


def bound(text: str, entry: str = "f", *, training: bool = False, **dims: int) -> Program:
    """A function of a PSK program, bound."""
    return bind(loads(text), entry, dims=dims, training=training)


def run(text: str, *arguments: Any, entry: str = "f", dims: dict[str, int] | None = None, **options: Any) -> Any:
    """A function of a PSK program, evaluated."""
    found = [each if isinstance(each, (dict, tuple, ExactArray)) else np.asarray(each) for each in arguments]
    program = bound(text, entry, training=options.get("training", False), **(dims or {}))
    return evaluate(program, found, **({"bits": BITS} | options))
