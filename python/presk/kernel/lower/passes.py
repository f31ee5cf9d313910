"""A graph as loops: what is computed once an outer index, and the passes over the row.

The folds of a stage that run along the inner loops in one order share a pass; a root at O + I is stored in the pass of
its stage. A value at O + I that two passes want is computed again where that is cheap, and kept in scratch (a row of
the arithmetic type, or the output itself for `keep_in_output`) where it isn't: the bits are the same. A value with
several readers has a variable. Called by `nest`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from presk.kernel.lower.code import Code
from presk.kernel.lower.graph import Graph
from presk.kernel.nodes import Access, Axis, Buffer, BufferType, Element, Expression, Load, Variable
from presk.text.diagnostics import InternalError, fail

LARGEST_ROW = 1 << 26
"""Bytes of a row that is kept in scratch; a longer one is computed again."""

MOST_PASSES = 256
"""Passes of one kernel: some 120 softmaxes in a chain. Planning takes time with their square."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A root: its node, and where and with what index it is stored."""

    node: int
    buffer: Buffer
    index: tuple[Expression, ...]


@dataclass(slots=True)
class Pass:
    """One run over the inner loops in an order: its folds and what it stores, and the nodes at O + I these want.

    Where `guard`, a node at O, doesn't hold, it isn't run.
    """

    stage: int
    loops: tuple[int, ...]
    guard: int | None = None
    folds: list[int] = field(default_factory=list[int])
    stored: list[Stored] = field(default_factory=list[Stored])
    wanted: list[int] = field(default_factory=list[int])

    @property
    def roots(self) -> list[int]:
        """The nodes it stores."""
        return [root.node for root in self.stored]


class Passes:
    """The writing of one graph, with a counter and an axis for each loop, the first `outer` of them around the row."""

    def __init__(
        self, code: Code, graph: Graph, counters: Sequence[Variable], axes: Sequence[Axis], outer: int
    ) -> None:
        self.code = code
        self.graph = graph
        self.counters = counters
        self.axes = axes
        self.outer = outer
        self.values: dict[int, Expression] = {}
        self.kept: dict[int, tuple[Buffer, tuple[Expression, ...]]] = {}
        self.reads: dict[int, int] = {}
        self.read_inside: set[int] = set()
        self.done: set[int] = set()

    def value(self, number: int) -> Expression:
        """A node's value at the place that is being written, where those it needs were written before."""
        if number not in self.values:
            raise InternalError(f"node {number} of a nest is read before it is there")
        return self.values[number]

    def compute(self, number: int) -> Expression:
        """A point's value from those it needs."""
        node = self.graph[number]
        if node.compute is None:
            raise InternalError(f"node {number} of a nest is a fold, whose value its pass gives")
        return self.code.shallow(node.kind, node.compute())

    def write(self, stored: Sequence[Stored], keep_in_output: int | None = None) -> None:
        """Writes all that these roots need, and stores them.

        `keep_in_output` is a node that the passes keep in the first root's buffer.
        """
        passes = self.plan(stored)
        self.keep(passes, stored, keep_in_output)
        self.count(passes, stored)
        with self.code.loops([axis.size for axis in self.axes[: self.outer]], self.counters[: self.outer]):
            last = max((each.stage for each in passes), default=-1)
            for stage in range(last + 1):
                self.bind_outer(stage)
                for each in passes:
                    if each.stage == stage:
                        self.write_pass(each)
            self.bind_outer(last + 1)
            for root in stored:
                if not self.graph[root.node].inner:
                    self.store(root)

    # Planning

    def plan(self, stored: Sequence[Stored]) -> list[Pass]:
        """The passes, by stage."""
        found: dict[tuple[int, tuple[int, ...], int | None], Pass] = {}

        def pass_at(stage: int, loops: tuple[int, ...], guard: int | None = None) -> Pass:
            return found.setdefault((stage, loops, guard), Pass(stage, loops, guard))

        natural = tuple(range(self.outer, len(self.axes)))
        for number in sorted(self.needed([root.node for root in stored])):
            node = self.graph[number]
            if node.fold is not None:
                pass_at(node.stage - 1, node.loops, node.guard).folds.append(number)
        for root in stored:
            if self.graph[root.node].inner:
                pass_at(self.graph[root.node].stage, natural).stored.append(root)
        if len(found) > MOST_PASSES:
            message = (
                f"a chain of rows' sums and extremes takes {len(found)} passes, and a kernel has at most {MOST_PASSES}"
            )
            raise fail(
                "E9206", message, hint="a `fold` over its rounds has a kernel for each, and so has a function's call"
            )
        # What a pass under a guard keeps isn't there where it wasn't run: it comes last of its stage.
        passes = sorted(found.values(), key=lambda each: (each.stage, each.guard is not None))
        for each in passes:
            each.wanted = self.wanted(each, frozenset())
        return passes

    def needed(self, numbers: Iterable[int]) -> set[int]:
        """Nodes and all they need."""
        found: set[int] = set()
        waiting = list(numbers)
        while waiting:
            number = waiting.pop()
            if number not in found:
                found.add(number)
                waiting += self.graph[number].needs
        return found

    def wanted(self, each: Pass, kept: frozenset[int]) -> list[int]:
        """The nodes at O + I a pass computes or loads, in order; what is kept from an earlier pass needs nothing."""
        found: set[int] = set()
        waiting = [need for number in each.folds for need in self.graph[number].needs]
        waiting += each.roots
        while waiting:
            number = waiting.pop()
            node = self.graph[number]
            if number in found or not node.inner:
                continue
            found.add(number)
            if number not in kept:
                waiting += node.needs
        return sorted(found)

    def keep(self, passes: Sequence[Pass], stored: Sequence[Stored], in_output: int | None) -> None:
        """Decides what is kept between passes, from the last nodes to the first: less is wanted of those before."""
        row = self.axes[self.outer :]
        count = 1
        for axis in row:
            count *= axis.size
        bytes_of_row = count * (8 if self.code.arithmetic == "f64" else 4)
        index = tuple(self.counters[self.outer :])
        having_of = [set(each.wanted) for each in passes]
        first: dict[int, int] = {}  # the place of the first pass that wants what is kept: it computes it
        for number in range(len(self.graph.nodes) - 1, -1, -1):
            if not self.graph[number].dear:
                continue
            having = [at for at, wanted in enumerate(having_of) if number in wanted]
            if len(having) < 2 or passes[having[0]].guard is not None:
                continue
            if number == in_output:
                self.kept[number] = (stored[0].buffer, stored[0].index)
            elif bytes_of_row <= LARGEST_ROW:
                self.kept[number] = (self.code.scratch(BufferType(Element(self.code.arithmetic), tuple(row))), index)
            else:
                continue
            first[number] = having[0]
            for at in having[1:]:
                early = frozenset(kept for kept in self.kept if first[kept] < at)
                passes[at].wanted = self.wanted(passes[at], early)
                having_of[at] = set(passes[at].wanted)

    def count(self, passes: Sequence[Pass], stored: Sequence[Stored]) -> None:
        """Counts the readers of each node at O, and notes those read within the inner loops."""
        for number in self.needed([root.node for root in stored]):
            node = self.graph[number]
            for need in node.needs:
                self.reads[need] = self.reads.get(need, 0) + 1
                if node.inner or node.fold is not None:
                    self.read_inside.add(need)
        for root in stored:
            self.reads[root.node] = self.reads.get(root.node, 0) + 1

    # Writing

    def bind_outer(self, stage: int) -> None:
        """Computes the values at O that a stage finds; those that several read, or a loop, have variables."""
        for number, node in enumerate(self.graph.nodes):
            if node.inner or node.compute is None or number in self.values or number not in self.reads:
                continue
            if node.stage > stage:
                continue
            value = self.compute(number)
            is_shared = self.reads[number] > 1 or number in self.read_inside
            self.values[number] = self.code.shared(node.kind, value) if is_shared else value

    def write_pass(self, each: Pass) -> None:
        """One pass: its folds begin, the loops, the folds' ends."""
        folds = [(number, self.graph[number].fold) for number in each.folds]
        for _, fold in folds:
            if fold is not None:
                fold.start(self.code)
        before = dict(self.values)
        with ExitStack() as opened:
            if each.guard is not None:
                opened.enter_context(self.code.when(self.value(each.guard)))
            for loop in each.loops:
                opened.enter_context(self.code.loop(self.axes[loop].size, self.counters[loop]))
            self.bind_inner(each)
            for _, fold in folds:
                if fold is not None:
                    fold.step(self.code)
            for root in each.stored:
                self.store(root)
        self.values = before
        for number, fold in folds:
            if fold is not None:
                self.values[number] = fold.finish(self.code)

    def bind_inner(self, each: Pass) -> None:
        """Computes or loads what a pass wants; what several of its nodes read, or what is kept, has a variable."""
        reads: dict[int, int] = {}
        loaded = {number for number in each.wanted if number in self.kept and number in self.done}
        readers = [number for number in (*each.wanted, *each.folds) if number not in loaded]
        for number in (*(need for reader in readers for need in self.graph[reader].needs), *each.roots):
            reads[number] = reads.get(number, 0) + 1
        for number in each.wanted:
            kind, kept = self.graph[number].kind, self.kept.get(number)
            if kept is not None and number in loaded:
                value: Expression = Load(Access(*kept))
            else:
                value = self.compute(number)
            if reads.get(number, 0) > 1 or (kept is not None and number not in loaded):
                value = self.code.shared(kind, value)
            self.values[number] = value
            if kept is not None and number not in loaded:
                self.code.store(*kept, value)
                self.done.add(number)

    def store(self, root: Stored) -> None:
        """Stores a root."""
        self.code.store(root.buffer, root.index, self.value(root.node))
