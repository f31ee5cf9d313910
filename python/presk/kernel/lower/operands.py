"""What a contraction's loops read and store: its operands' elements, its sums, and the epilogue joined to the store.

An index for each label is turned into one for each axis here, so that `tiles` knows loops alone. Called by `tiles`,
made by `contract`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from presk.core.nodes import Let, Operand, Ref
from presk.kernel.lower.code import Code
from presk.kernel.lower.contraction import Contraction, Labels, Place, positions
from presk.kernel.lower.reader import Reader
from presk.kernel.lower.task import Task
from presk.kernel.lowered import Buffered, Temporary
from presk.kernel.nodes import Access, Binary, Call, Constant, Expression, Load, Splat
from presk.shapes.align import align
from presk.text.diagnostics import InternalError


@dataclass(frozen=True, slots=True)
class Addend:
    """What a sole following add adds: the operand with its axes' labels, and whether the sum is the left one."""

    other: Operand
    labels: Labels
    is_left: bool

    def is_along(self, label: int | None) -> bool:
        """Whether the operand varies along an axis of the result."""
        return label in self.labels


@dataclass(frozen=True, slots=True)
class Epilogue:
    """The group that joins the store: its root, the number of the product, and the addend where it is one add."""

    root: Let
    product: int
    addend: Addend | None


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
        self.marked: tuple[int, ...] = ()
        self.output = self.code.output()

    @property
    def has_epilogue(self) -> bool:
        """Whether a group joins the store."""
        return self.epilogue is not None

    @property
    def is_finished_in_place(self) -> bool:
        """Whether products are stored as they are and finished where they lie: all but a sole addition."""
        return self.epilogue is not None and self.epilogue.addend is None

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

    def counting(self, left: Expression, right: Expression) -> AbstractContextManager[None]:
        """A condition around a term that is left out where an operand in `marked` is ±0."""
        counts: Expression | None = None
        for number in self.marked:
            mine = Binary("!=", (left, right)[number], Constant(0.0))
            counts = mine if counts is None else Binary("and", counts, mine)
        return nullcontext() if counts is None else self.code.when(counts)

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
        """What the epilogue makes of a sum that is done: rounded in between as if it had been stored."""
        epilogue = self.epilogue
        if epilogue is None:
            return value
        value = self.as_stored(value)
        if epilogue.addend is None:
            if vector:
                raise InternalError("what isn't a sole addition is computed element by element")
            return self.computed(epilogue, place, value)
        other = self.other(epilogue.addend, place, vector)
        left, right = (value, other) if epilogue.addend.is_left else (other, value)
        if vector:
            return Binary("+", left, right, vector=True)
        return self.reader.reals.binary("+", left, right)

    def finish(self, place: Place) -> None:
        """Stores what the epilogue makes of a product that was stored as it is."""
        self.store(place, self.finished(place, self.sum(place, False), False), False)

    def computed(self, epilogue: Epilogue, place: Place, value: Expression) -> Expression:
        """The element of the epilogue's root, where the product's is this value."""
        product = self.code.shared("real", value)
        self.reader.held = lambda ref: product if ref == Ref(epilogue.product) else None
        here = positions(self.contraction.out, self.contraction.sizes, place)
        found = self.reader.value(Ref(epilogue.root.number), here)
        self.reader.held = lambda ref: None
        return found

    def as_stored(self, value: Expression) -> Expression:
        """A sum as a reader of its buffer would find it."""
        task = self.reader.task
        if task.choice.storage == "bf16" and (self.contraction.out or task.choice.computed):
            return Call("bf16", (value,))
        return self.reader.reals.rounded(value)

    def other(self, addend: Addend, place: Place, vector: bool) -> Expression:
        """What is added."""
        if vector and addend.is_along(self.contraction.j):
            return self.loaded(addend.other, addend.labels, place)
        found = self.reader.value(addend.other, positions(addend.labels, self.contraction.sizes, place))
        return Splat(found) if vector else found


def epilogue_of(task: Task, root: Let, out: Labels) -> Epilogue:
    """The epilogue that the group of `root` is, of a product with axes `out`."""
    assert task.following is not None, "a group joins the store"
    addend = _addend(task, root, out) if len(task.following.members) == 1 else None
    return Epilogue(root, task.root.number, addend)


def _addend(task: Task, add: Let, out: Labels) -> Addend | None:
    """What is added to the product; None where this is no addition of something else."""
    apply, product = task.apply(add), Ref(task.root.number)
    if apply.primitive != "add" or apply.operands.count(product) != 1:
        return None
    left, right = apply.operands
    places = align([task.tensor(each).axes for each in (left, right)]).places
    is_left = left == product
    other, own = (right, places[1]) if is_left else (left, places[0])
    return Addend(other, tuple(out[place] for place in own), is_left)
