"""The members of a group as nodes of a graph: where each stands, what it needs, and what a row's rule asks for.

A member's axes are loops of the nest (`Member.places`), so a position along an axis is one counter, or several behind a
split or a merge. Elementwise primitives and maps are points; a reduction or row primitive makes several nodes (`rows`).
Called by `nest`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from presk.core.groups import Member
from presk.core.nests import Places
from presk.core.nodes import Let, Operand
from presk.core.operands import ref_of
from presk.kernel.lower.elementwise import DEAR
from presk.kernel.lower.folds import Fold, InterleavedSum, Sum, Term
from presk.kernel.lower.graph import Graph
from presk.kernel.lower.index import Position, at, join
from presk.kernel.lower.reader import Point, Reader
from presk.kernel.lower.task import Task
from presk.kernel.nodes import Expression, Variable


class Members:
    """The graph of a group's members while it is made; `of` gives the node that is a let's value."""

    def __init__(self, reader: Reader, counters: Sequence[Variable], sizes: Sequence[int], outer: int) -> None:
        self.reader = reader
        self.graph = Graph()
        self.of: dict[int, int] = {}
        self.counters = counters
        self.sizes = sizes
        self.outer = outer
        self.value: Callable[[int], Expression] = lambda node: Variable("s", node)

    @property
    def task(self) -> Task:
        """The group."""
        return self.reader.task

    def positions(self, places: Places) -> tuple[Position, ...]:
        """The position along each axis."""
        return tuple(join(at(self.counters[loop], self.sizes[loop]) for loop in axis) for axis in places)

    def is_inner(self, places: Places) -> bool:
        """Whether a value with axes at these places stands at O + I."""
        return any(loop >= self.outer for axis in places for loop in axis)

    def needs(self, operands: Sequence[Operand]) -> tuple[int, ...]:
        """The nodes that operands read, also by way of values computed at the element; once for each time."""
        found: list[int] = []
        seen: set[int] = set()
        waiting = list(operands)
        while waiting:
            ref = ref_of(waiting.pop(0))
            if ref is None or ref.path:
                continue
            if ref.number in self.of:
                found.append(self.of[ref.number])
            elif self.task.is_free(ref) and ref.number not in seen:
                seen.add(ref.number)
                waiting += self.task.apply(self.task.lets[ref.number]).operands
        return tuple(found)

    def point(self, member: Member) -> int:
        """A member that is computed at the element."""
        let = self.task.lets[member.number]
        apply = self.task.apply(let)
        positions, reduced = self.positions(member.places), self.positions(member.reduced)
        return self.graph.point(
            self.task.result(let).kind,
            self.is_inner(member.places),
            self.needs(apply.operands),
            lambda: self.reader.point(let, positions, reduced),
            apply.primitive in DEAR,
        )


@dataclass(frozen=True, slots=True)
class Row:
    """A reduction or row primitive at hand, with its row along `along`: the loops of each of the row's axes."""

    members: Members
    member: Member
    along: Places

    @property
    def let(self) -> Let:
        """The let."""
        return self.members.task.lets[self.member.number]

    @property
    def name(self) -> str:
        """The primitive."""
        return self.members.task.apply(self.let).primitive

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The primitive's operands."""
        return self.members.task.apply(self.let).operands

    @property
    def point(self) -> Point:
        """The element at hand."""
        members = self.members
        reduced = members.positions(self.member.reduced)
        return Point(members.reader, self.let, members.positions(self.member.places), reduced)

    @property
    def place(self) -> Position:
        """The place of the element at hand in its row."""
        return join(self.members.positions(self.along))

    @property
    def length(self) -> int:
        """The number of elements of a row."""
        length = 1
        for axis in self.along:
            for loop in axis:
                length *= self.members.sizes[loop]
        return length

    def needs(self, *operands: int) -> tuple[int, ...]:
        """The nodes these operands read."""
        return self.members.needs([self.operands[each] for each in operands if each < len(self.operands)])

    def is_from_outside(self, operand: int) -> bool:
        """Whether an operand can be read at any index, since no member of the group stands in the way."""
        return not self.needs(operand)

    def value(self, node: int) -> Expression:
        """A node's value, where it is asked for while the kernel is written."""
        return self.members.value(node)

    def fold(self, kind: str, needs: Sequence[int], fold: Fold, guard: int | None = None) -> int:
        """A fold along the row, run only where a node holds."""
        loops = [loop for axis in self.along for loop in axis]
        return self.members.graph.fold(kind, needs, fold, loops, guard)

    def sum(self, needs: Sequence[int], term: Term, guard: int | None = None) -> int:
        """A sum along the row, in the order the realization states."""
        reals = self.members.reader.reals
        partials = self.members.task.choice.partials
        if partials is None:
            return self.fold("real", needs, Sum(reals, term), guard)
        return self.fold("real", needs, InterleavedSum(reals, term, lambda: self.place, partials), guard)

    def inner(self, needs: Sequence[int], compute: Term, dear: bool = False) -> int:
        """A point at O + I, which is O where a row has no axes."""
        members = self.members
        return members.graph.point("real", len(members.sizes) > members.outer, needs, compute, dear)

    def test(self, needs: Sequence[int], compute: Term) -> int:
        """A truth value at O."""
        return self.members.graph.point("bool", False, needs, compute)

    def outer(self, needs: Sequence[int], compute: Term, dear: bool = False) -> int:
        """A point at O."""
        return self.members.graph.point("real", False, needs, compute, dear)
