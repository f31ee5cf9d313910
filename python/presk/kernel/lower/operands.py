"""What a contraction's loops read and store: its operands' elements, its sums, and the epilogue joined to the store.

An index for each label is turned into one for each axis here, so that `tiles` knows loops alone. Called by `tiles`,
made by `contract`.
"""

from __future__ import annotations

from dataclasses import dataclass

from presk.core.nodes import Let, Operand, Ref
from presk.kernel.lower.code import Code
from presk.kernel.lower.contraction import Contraction, Labels, Place, positions
from presk.kernel.lower.reader import Reader
from presk.kernel.lowered import Buffered, Temporary
from presk.kernel.nodes import Access, Binary, Call, Expression, Load, Splat
from presk.shapes.align import align


@dataclass(frozen=True, slots=True)
class Epilogue:
    """A following add: its let, the other operand with its axes' labels, and whether the sum is the left operand."""

    let: Let
    other: Operand
    labels: Labels
    is_left: bool

    def is_along(self, label: int | None) -> bool:
        """Whether the other operand varies along an axis of the result."""
        return label in self.labels


class Operands:
    """The buffers of one contraction. `panel` are the labels of operand 1's copy, where it was packed."""

    def __init__(
        self, reader: Reader, contraction: Contraction, operands: tuple[Operand, Operand], panel: Labels | None = None
    ) -> None:
        self.reader = reader
        self.code: Code = reader.code
        self.contraction = contraction
        self.operands = operands
        self.panel = panel
        self.epilogue: Epilogue | None = None
        self.output = self.code.output()

    @property
    def has_epilogue(self) -> bool:
        """Whether an add joins the store."""
        return self.epilogue is not None

    def left(self, place: Place) -> Expression:
        """Operand 0's element."""
        return self.reader.value(self.operands[0], positions(self.contraction.left, self.contraction.sizes, place))

    def right(self, place: Place, vector: bool) -> Expression:
        """Operand 1's element, or a vector of them along J."""
        if self.panel is not None:
            return self.code.load(Temporary(0), [place[label] for label in self.panel], vector)
        if vector:
            return self.loaded(self.operands[1], self.contraction.right, place)
        return self.reader.value(self.operands[1], positions(self.contraction.right, self.contraction.sizes, place))

    def loaded(self, operand: Operand, labels: Labels, place: Place) -> Expression:
        """A vector of an operand's elements along its last axis."""
        assert isinstance(operand, Ref), "lanes are of operands in memory"
        source: Buffered = operand
        return self.code.load(source, [place[label] for label in labels], vector=True)

    def grown(self, total: Expression, left: Expression, right: Expression, vector: bool) -> Expression:
        """A sum and one term more; one operation where the realization fuses them."""
        if vector:
            left = Splat(left)
        if self.reader.task.choice.fma:
            return Call("fma", (left, right, total), vector)
        return Binary("+", total, Binary("*", left, right, vector), vector)

    def index(self, place: Place) -> list[Expression]:
        """The index of an element of the result."""
        return [place[label] for label in self.contraction.out]

    def sum(self, place: Place, vector: bool) -> Expression:
        """A sum stored before."""
        return Load(Access(self.output, tuple(self.index(place))), vector)

    def store(self, place: Place, value: Expression, vector: bool) -> None:
        """Stores an element of the result, or a vector of them."""
        self.code.store(self.output, self.index(place), value, vector)

    def finished(self, place: Place, value: Expression, vector: bool) -> Expression:
        """A sum that is done, and the epilogue's operand: rounded in between as if it had been stored."""
        epilogue = self.epilogue
        if epilogue is None:
            return value
        value = self.as_stored(value)
        other = self.addend(epilogue, place, vector)
        left, right = (value, other) if epilogue.is_left else (other, value)
        if vector:
            return Binary("+", left, right, vector=True)
        return self.reader.reals.binary("+", left, right)

    def as_stored(self, value: Expression) -> Expression:
        """A sum as a reader of its buffer would find it."""
        task = self.reader.task
        if task.choice.storage == "bf16" and self.contraction.out:
            return Call("bf16", (value,))
        return self.reader.reals.rounded(value)

    def addend(self, epilogue: Epilogue, place: Place, vector: bool) -> Expression:
        """The epilogue's other operand."""
        if vector and epilogue.is_along(self.contraction.j):
            return self.loaded(epilogue.other, epilogue.labels, place)
        found = self.reader.value(epilogue.other, positions(epilogue.labels, self.contraction.sizes, place))
        return Splat(found) if vector else found


def epilogue_of(reader: Reader, let: Let, number: int, out: Labels) -> Epilogue:
    """The epilogue that an add of the value `number`, with axes `out`, and something else is."""
    left, right = reader.task.apply(let).operands
    is_left = left == Ref(number)
    places = align([reader.task.tensor(each).axes for each in (left, right)]).places
    other, own = (right, places[1]) if is_left else (left, places[0])
    return Epilogue(let, other, tuple(out[place] for place in own), is_left)
