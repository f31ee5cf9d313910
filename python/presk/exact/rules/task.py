"""What a planner is told of a let, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias, cast

from presk.exact.elements import Site
from presk.exact.layouts import Flat, position_text
from presk.exact.reals import Reals
from presk.primitives.table import Attribute, Attributes
from presk.shapes import constants
from presk.shapes.constants import Constant
from presk.shapes.types import Axis, Tensor, Type
from presk.text.diagnostics import InternalError

Value: TypeAlias = Any
"""A tensor's value: `Reals`, or a row-major list of ints or bools; or a tree of them, dicts and tuples."""

Compute: TypeAlias = Callable[..., Value]
"""compute(frame, *values): the let's value from its operands'."""


@dataclass(frozen=True, slots=True)
class Task:
    """One let to be planned: its site, its operands' types, its attributes and its type."""

    site: Site
    operands: tuple[Type, ...]
    attributes: Attributes
    result: Type

    def tensor(self, at: int) -> Tensor:
        """The type of an operand, which is a tensor."""
        return as_tensor(self.operands[at])

    def sizes(self, at: int) -> tuple[int, ...]:
        """The shape of an operand."""
        return self.tensor(at).sizes

    @property
    def output(self) -> Tensor:
        """The let's type, which is a tensor."""
        return as_tensor(self.result)

    def attribute(self, name: str) -> Attribute:
        """An attribute, or None where it isn't given."""
        return self.attributes.get(name)

    def whole(self, name: str, default: int | None = None) -> int:
        """An attribute that is a whole number."""
        value = self.attributes.get(name)
        if value is None and default is not None:
            return default
        if isinstance(value, (constants.Rational, constants.Symbolic, constants.Apply)):
            size = constants.as_size(value)
            value = None if size is None else size.whole
        if not isinstance(value, int):
            raise InternalError(f"{self.site.primitive} at {self.site.label} has no whole number `{name}`")
        return value

    def real(self, name: str, default: int) -> Constant:
        """An attribute that is an exact constant."""
        value = self.attributes.get(name)
        if isinstance(value, (constants.Rational, constants.Symbolic, constants.Apply)):
            return value
        return constants.rational(value if isinstance(value, int) else default)

    def axis(self, at: int = 0, name: str = "axis") -> int:
        """The index of the one axis an attribute names; the last where it isn't given."""
        value = self.attributes.get(name)
        rank = len(self.tensor(at).axes)
        found = value if isinstance(value, int) else -1
        return found % rank if rank else 0

    def axes(self, at: int = 0, name: str = "axis") -> tuple[int, ...]:
        """The indices of the axes an attribute names; all where it is None."""
        value = self.attributes.get(name)
        rank = len(self.tensor(at).axes)
        if value is None:
            return tuple(range(rank))
        if isinstance(value, int):
            return (value % rank,)
        return tuple(each for each in value if isinstance(each, int)) if isinstance(value, tuple) else ()

    def word(self, name: str, default: str) -> str:
        """An attribute that is a word."""
        value = self.attributes.get(name)
        return value if isinstance(value, str) else default

    def place(self, at: int, flat: int) -> str:
        """A position of operand `at`, for a message."""
        tensor = self.tensor(at)
        return position_text(names_of(tensor), tensor.sizes, flat)


def as_tensor(of: Type) -> Tensor:
    """A type that must be a tensor's."""
    if not isinstance(of, Tensor):
        raise InternalError(f"a tensor was expected, not {of}")
    return of


def names_of(tensor: Tensor) -> tuple[str | None, ...]:
    """The names of a tensor's axes."""
    return tuple(axis.name for axis in tensor.axes if isinstance(axis, Axis))


def volume(sizes: Sequence[int]) -> int:
    """The number of elements."""
    return prod(sizes)


def children(tree: Value) -> list[Value]:
    """A tree's components in order."""
    return list(cast(Any, tree).values() if isinstance(tree, dict) else tree)


def entries(value: Value) -> Flat:
    """The elements of a tensor's value, radii as they are."""
    return value.entries() if isinstance(value, Reals) else value


def points(value: Value) -> Flat:
    """The elements of a tensor's value, radii dropped unless certifying."""
    return value.points() if isinstance(value, Reals) else value


def walk(tree: Value, path: tuple[str | int, ...]) -> Value:
    """A tree's component. A tuple's fields are its positions; digits name a record's fields never."""
    for name in path:
        tree = tree[name]
    return tree


def replace(tree: Value, path: tuple[str, ...], value: Value) -> Value:
    """The tree with one component replaced."""
    if not path:
        return value
    name, rest = path[0], path[1:]
    if isinstance(tree, tuple):
        at = int(name)
        return (*tree[:at], replace(tree[at], rest, value), *tree[at + 1 :])
    return {**tree, name: replace(tree[name], rest, value)}
