"""Values at an element: an operand at a position of each of its axes, as an expression.

A tensor is loaded, a constant is rounded, a nat in a real place is converted, and a value that is computed at the
element by its readers is computed. The rules of `elementwise` and `maps` say how a primitive's element comes from its
operands'; they see a `Point`. A nest puts values of its own in the way of loads (`held`). Called by `nest` and by the
rules of primitives that have kernels of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from presk.core.links import Part, Parts, Reduced, Same
from presk.core.nodes import Apply, Injected, Let, Literal, Operand, Ref
from presk.core.operands import ref_of
from presk.kernel.lower.code import Code
from presk.kernel.lower.index import Position, cut, join
from presk.kernel.lower.reals import Reals
from presk.kernel.lower.task import Task
from presk.kernel.nodes import Expression, Integer, Truth
from presk.primitives.table import Attribute
from presk.shapes import constants
from presk.shapes.types import Tensor
from presk.text.diagnostics import InternalError

Positions = Sequence[Position]
"""A position along each axis of a tensor."""

PointRule = Callable[["Point"], Expression]
"""What a primitive's element is."""


class Reader:
    """Reads elements for the kernel that is being written."""

    def __init__(self, task: Task, code: Code, rules: dict[str, PointRule]) -> None:
        self.task = task
        self.code = code
        self.rules = rules
        self.reals = Reals(code.arithmetic, task.interior)
        self.held: Callable[[Ref], Expression | None] = lambda ref: None

    def kind(self, operand: Operand) -> str:
        """`real`, `nat` or `bool`."""
        return self.task.tensor(operand).kind

    def value(self, operand: Operand, positions: Positions) -> Expression:
        """The element of an operand at these positions."""
        match operand:
            case Literal():
                return self.literal(operand)
            case Injected(inner):
                return self.reals.injected(self.value(inner, positions))
            case Ref():
                held = self.held(operand)
                if held is not None:
                    return held
                if self.task.is_free(operand):
                    return self.computed(self.task.lets[operand.number], tuple(positions))
                return self.code.load(operand, [each.index for each in positions])

    def computed(self, let: Let, positions: tuple[Position, ...]) -> Expression:
        """A value that its readers compute themselves: once in a block, and what it is made of before it."""
        for each, places in self.below(let, positions):
            value = self.point(each, places)
            if self.task.reads_of(each.number) > 1:
                value = self.code.shared(self.task.result(each).kind, value)
            self.code.note((each.number, places), value)
        found = self.code.recall((let.number, positions))
        if found is None:
            raise InternalError(f"%{let.number} of {self.task.function} isn't computed at the element")
        return found

    def below(self, let: Let, positions: tuple[Position, ...]) -> list[tuple[Let, tuple[Position, ...]]]:
        """The value and those it reads by its axes that are computed at the element too and aren't yet, in order."""
        order: list[tuple[Let, tuple[Position, ...]]] = []
        seen: set[tuple[int, tuple[Position, ...]]] = set()
        waiting = [(let, positions, False)]
        while waiting:
            each, places, is_ready = waiting.pop()
            key = (each.number, places)
            if is_ready:
                order.append((each, places))
            elif key not in seen and self.code.recall(key) is None:
                seen.add(key)
                waiting.append((each, places, True))
                waiting += [(*below, False) for below in self.operands_of(Point(self, each, places))]
        return order

    def operands_of(self, point: Point) -> list[tuple[Let, tuple[Position, ...]]]:
        """The operands of a point that are computed at the element, where its axes say where they stand."""
        links = self.task.links(point.let)
        refs = [(number, ref_of(operand)) for number, operand in enumerate(point.apply.operands)]
        return [
            (self.task.lets[ref.number], point.places(number))
            for number, ref in refs
            if ref is not None and links[number] is not None and self.task.is_free(ref)
        ]

    def literal(self, literal: Literal) -> Expression:
        """A constant of its kind."""
        if literal.kind == "real":
            return self.reals.constant(literal.value)
        whole = literal.value.value if isinstance(literal.value, constants.Rational) else None
        if whole is None or whole.denominator != 1:
            raise InternalError(f"{constants.show(literal.value)} is no {literal.kind}")
        return Truth(whole != 0) if literal.kind == "bool" else Integer(int(whole))

    def point(self, let: Let, positions: Positions, reduced: Positions = ()) -> Expression:
        """The element of a let's value at these positions, computed here."""
        point = Point(self, let, tuple(positions), tuple(reduced))
        rule = self.rules.get(point.apply.primitive)
        if rule is None:
            raise InternalError(f"`{point.apply.primitive}` isn't computed at the element")
        kind = self.task.result(let).kind
        return self.code.shallow(kind, rule(point))


@dataclass(frozen=True, slots=True)
class Point:
    """A let at one element: positions along its axes and, of a reduction, along those it takes away."""

    reader: Reader
    let: Let
    positions: tuple[Position, ...]
    reduced: tuple[Position, ...] = ()

    @property
    def apply(self) -> Apply:
        """The primitive."""
        return self.reader.task.apply(self.let)

    @property
    def reals(self) -> Reals:
        """Real arithmetic."""
        return self.reader.reals

    @property
    def code(self) -> Code:
        """The kernel."""
        return self.reader.code

    def attribute(self, name: str) -> Attribute:
        """An attribute, or None."""
        return self.reader.task.attribute(self.let, name)

    def whole(self, name: str) -> int:
        """An attribute that is a whole number, or an axis."""
        return self.reader.task.whole(self.let, name)

    def tensor(self, number: int) -> Tensor:
        """The type of an operand."""
        return self.reader.task.tensor(self.apply.operands[number])

    def kind(self, number: int) -> str:
        """The kind of an operand."""
        return self.tensor(number).kind

    def operand(self, number: int) -> Expression:
        """An operand's element, where the links of the primitive say it stands."""
        return self.read(number, self.places(number))

    def shared(self, number: int) -> Expression:
        """An operand's element for several readers."""
        return self.code.shared(self.kind(number), self.operand(number))

    def read(self, number: int, positions: Positions) -> Expression:
        """An operand's element at other positions."""
        return self.reader.value(self.apply.operands[number], positions)

    def places(self, number: int) -> tuple[Position, ...]:
        """The positions along an operand's axes that belong to these along the result's."""
        links = self.reader.task.links(self.let)[number]
        if links is None:
            raise InternalError(f"an element of `{self.apply.primitive}` isn't found by its axes")
        found: list[Position] = []
        sizes = self.tensor(number).sizes
        for axis, link in enumerate(links):
            match link:
                case Same(at):
                    found.append(self.positions[at])
                case Parts(several):
                    found.append(join(self.positions[at] for at in several))
                case Part(at, which, of):
                    first = axis - which
                    found.append(cut(self.positions[at], sizes[first : first + of])[which])
                case Reduced(which):
                    found.append(self.reduced[which])
        return tuple(found)
