"""What a nest computes, as a graph: points (a value at an element) and folds (a row to a value), each a node.

A node stands at O or at O + I. A fold reads nodes at O + I while the inner loops run and gives a value at O. From what
each node needs follows its stage: a fold of values of stage n has its result at stage n + 1, so a stage is a pass over
the row. Nodes are made by `nest` and by the rules of `rows`; `passes` writes them as loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from presk.kernel.lower.folds import Fold
from presk.kernel.nodes import Expression


@dataclass(frozen=True, slots=True)
class Node:
    """A value of the nest, of kind `real`, `nat` or `bool`, at O or (`inner`) at O + I.

    `needs` are the nodes it reads, one entry for each time. A point has `compute`, which writes it from their values;
    a fold has `fold` and the inner loops in the order it runs along them. `dear`: computing it costs more than keeping
    it. Where `guard`, a truth value at O, doesn't hold, a fold isn't run and gives what it begins with.
    """

    kind: str
    inner: bool
    needs: tuple[int, ...]
    stage: int
    compute: Callable[[], Expression] | None = None
    fold: Fold | None = None
    loops: tuple[int, ...] = ()
    dear: bool = False
    guard: int | None = None


class Graph:
    """Nodes by number, in an order in which each stands behind those it needs."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []

    def __getitem__(self, number: int) -> Node:
        return self.nodes[number]

    def stage_of(self, needs: Sequence[int]) -> int:
        """The stage at which all of these are there."""
        return max((self.nodes[each].stage for each in needs), default=0)

    def point(
        self, kind: str, inner: bool, needs: Sequence[int], compute: Callable[[], Expression], dear: bool = False
    ) -> int:
        """A new point's number."""
        self.nodes.append(Node(kind, inner, tuple(needs), self.stage_of(needs), compute, dear=dear))
        return len(self.nodes) - 1

    def fold(self, kind: str, needs: Sequence[int], fold: Fold, loops: Sequence[int], guard: int | None = None) -> int:
        """The number of a new fold along these inner loops, run only where a node holds."""
        needs = (*needs, *(() if guard is None else (guard,)))
        stage = self.stage_of(needs) + 1
        self.nodes.append(Node(kind, False, needs, stage, fold=fold, loops=tuple(loops), guard=guard))
        return len(self.nodes) - 1
