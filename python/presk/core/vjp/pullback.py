"""What a rule sees: one primitive of the primal, the cotangent of its result, and where what it finds is to go.

A rule of `rules/` takes a `Pullback` and calls `give` for each operand that wants a cotangent. Products and quotients
of a cotangent mark it, so that a term is left out where the cotangent is exactly 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from presk.core.nodes import Apply, Let, Operand, Ref
from presk.core.typing import operand_type
from presk.core.vjp.scope import Number, Scope
from presk.core.vjp.shaping import aligned, reduced
from presk.primitives.attributes import BOTH, cotangents_of
from presk.primitives.table import Attribute
from presk.shapes.align import align
from presk.shapes.types import Axis, Shape, Tensor, Type, leaves
from presk.text.diagnostics import InternalError

Give = Callable[[Ref, Operand], None]
"""Adds to the cotangent of a leaf of the primal; nothing where that isn't active."""


Place = Callable[[Ref, int, int, Operand], None]
"""The same for a part of a leaf: an axis, where the part begins along it, and its cotangent."""


@dataclass(frozen=True)
class Pullback:
    """A let at hand. `cotangents` are those of its result's leaves, a tensor's own path being empty."""

    scope: Scope
    let: Let
    apply: Apply
    cotangents: Mapping[tuple[str, ...], Operand]
    active: frozenset[tuple[int, tuple[str, ...]]] | set[tuple[int, tuple[str, ...]]]
    add: Give
    put: Place

    # The primal

    @property
    def ct(self) -> Operand:
        """The cotangent of a result that is one tensor."""
        return self.cotangents[()]

    def type_of(self, number: int) -> Type:
        """The type of an operand."""
        return operand_type(self.apply.operands[number], self.scope.primal.types)

    def operand(self, number: int) -> Tensor:
        """The type of an operand that is a tensor."""
        return _tensor(self.type_of(number))

    @property
    def result(self) -> Tensor:
        """The type of a result that is one tensor."""
        return _tensor(self.let.type)

    def attribute(self, name: str) -> Attribute:
        """An attribute."""
        return dict(self.apply.attributes).get(name)

    def whole(self, name: str) -> int:
        """An attribute that is a number."""
        value = self.attribute(name)
        if not isinstance(value, int):
            raise InternalError(f"`{self.apply.primitive}` has no number `{name}`")
        return value

    def axes(self, number: int = 0) -> tuple[int, ...]:
        """The attribute `axis` of a reduction: None means all of the operand's."""
        value = self.attribute("axis")
        if isinstance(value, tuple):
            return tuple(each for each in value if isinstance(each, int))
        return tuple(range(len(self.operand(number).axes)))

    def x(self, number: int = 0) -> Operand:
        """The value of an operand."""
        return self.scope.value(self.apply.operands[number])

    def y(self, *path: str) -> Operand:
        """The value of the result."""
        return self.scope.value(Ref(self.let.number, path))

    def wants(self, number: int = 0, *path: str) -> bool:
        """Whether an operand's leaf has a cotangent."""
        operand = self.apply.operands[number]
        return isinstance(operand, Ref) and (operand.number, (*operand.path, *path)) in self.active

    # Writing

    def do(
        self, primitive: str, *operands: Number, cotangent: int | str | None = None, **attributes: Attribute
    ) -> Operand:
        """A primitive."""
        return self.scope.apply(primitive, *operands, cotangent=cotangent, **attributes)

    def times(self, cotangent: Operand, factor: Number) -> Operand:
        """The product of a cotangent with something else."""
        return self.scope.apply("mul", cotangent, factor, cotangent=0)

    def over(self, cotangent: Operand, divisor: Number) -> Operand:
        """The quotient of a cotangent by something else."""
        return self.scope.apply("div", cotangent, divisor, cotangent=0)

    @property
    def is_marked(self) -> bool:
        """Whether the let is a product or quotient of an adjoint itself, whose value is 0 where its cotangent is."""
        return bool(cotangents_of(dict(self.apply.attributes)))

    def beside_cotangent(self, number: int) -> int | str:
        """The mark of a product of this let's cotangent, operand 0, with operand `number` of the let.

        Where the let is marked itself and that operand is its cotangent, the product is 0 where either of the two is.
        """
        return BOTH if number in cotangents_of(dict(self.apply.attributes)) else 0

    def choose(self, mask: Number, a: Number, b: Number) -> Operand:
        """a where the mask is true, else b."""
        return self.scope.apply("where", mask, a, b)

    # Elementwise primitives

    @property
    def places(self) -> tuple[tuple[int, ...], ...]:
        """For each operand the result's axes that its own meet."""
        return align([self.operand(at).axes for at in range(len(self.apply.operands))]).places

    def beside(self, number: int) -> Operand:
        """The value of an operand such that it aligns with the result as it did with the others."""
        return aligned(self.scope, self.x(number), self.places[number], self.result.axes)

    # Giving

    def give(self, number: int, value: Operand, *path: str) -> None:
        """Adds to the cotangent of an operand's leaf; the value has its axes, under whatever names."""
        operand = self.apply.operands[number]
        if isinstance(operand, Ref):
            self.add(Ref(operand.number, (*operand.path, *path)), value)

    def give_part(self, number: int, axis: int, start: int, value: Operand) -> None:
        """Adds to the cotangent of a stretch of an operand's axis, or of a position where the value lacks the axis."""
        operand = self.apply.operands[number]
        if isinstance(operand, Ref):
            self.put(operand, axis, start, value)

    def gives_nothing(self, number: int, *values: Operand) -> bool:
        """Gives 0 where the operand or one of these values has no elements, for forms that want one at least."""
        shapes = [self.operand(number).axes, *(self.scope.tensor(value).axes for value in values)]
        if all(volume(axes) for axes in shapes):
            return False
        self.give(number, self.scope.zeros(self.operand(number)))
        return True

    def give_reduced(self, number: int, value: Operand, places: Sequence[int] | None = None) -> None:
        """The same of a value with the result's axes, summed over those the operand hasn't."""
        at = self.places[number] if places is None else places
        if len(self.scope.tensor(value).axes) != len(self.result.axes):
            value = self.scope.apply("broadcast_to", value, new=self.result.axes)
        self.give(number, reduced(self.scope, value, at, self.operand(number).axes))


def _tensor(found: Type) -> Tensor:
    if not isinstance(found, Tensor):
        raise InternalError("a tensor was expected in a derivative")
    return found


def volume(axes: Shape) -> int:
    """The number of elements of axes without runs."""
    count = 1
    for axis in axes:
        whole = axis.size.whole if isinstance(axis, Axis) else None
        if whole is None:
            raise InternalError("a size was expected to be known")
        count *= whole
    return count


def real_leaves(tree: Type) -> list[tuple[str, ...]]:
    """The paths of a tree's real leaves."""
    return [path for path, leaf in leaves(tree) if leaf.kind == "real"]
