"""Rows of a nest taken several at once: m rows side by side, each in its own order.

A sum waits for the addition before it; those of other rows needn't wait. So the loop over rows is cut into blocks of m,
and in a block each statement stands m times, with variables and scratch of its own for each row: row beside row in the
loops that carry something from round to round, elsewhere row after row, which leaves those loops to vectors. No
operation changes and no order within a row, so no bit does. Called by `nest`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from presk.kernel.elaborate import ELEMENTARY
from presk.kernel.lower.index import blocked, in_blocks
from presk.kernel.lower.values import counters
from presk.kernel.lowered import Launch
from presk.kernel.nodes import (
    Apply,
    Assign,
    Buffer,
    Call,
    Expression,
    For,
    If,
    Integer,
    Kernel,
    Load,
    Statement,
    Store,
    Tile,
    Variable,
)
from presk.kernel.renaming import Renaming, parts

ROWS = (2, 4, 8, 16)
"""How many rows may be taken at once; sixteen sums fill the time that one addition takes on current processors."""

ACROSS = 8
"""Rows, and multiples of so many, whose sums native code takes in vectors that go across them."""


def row_loop(kernel: Kernel) -> For | None:
    """The loop over rows: the innermost of the perfect nest, where what it encloses has loops of its own."""
    body, found = kernel.body, None
    while len(body) == 1 and isinstance(body[0], For):
        found, body = body[0], body[0].body
    return found if any(isinstance(each, For) for each in body) else None


def is_slow_alone(loop: For) -> bool:
    """Whether rows of a loop wait: they carry more than a maximum through loops along memory, not across it.

    Rows that lie beside each other along the last axis run in lanes, and a maximum's rounds hardly wait for each other.
    """
    inner = [each for each in loop.body if isinstance(each, For)]
    counter = Variable("i", loop.counter)
    along = {Variable("i", each) for one in inner for each in counters([one])}
    accesses = [
        each.access for one in inner for value in _values(one) for each in parts(value) if isinstance(each, Load)
    ]
    # A number of the row itself lies along them too, and tells nothing.
    moving = [each for each in accesses if any(part in along for index in each.index for part in parts(index))]
    if any(counter in parts(access.index[-1]) for access in moving):
        return False
    return any(_carries(each, besides=("max", "min")) for each in inner)


def interleaved(launch: Launch, rows: int) -> Launch:
    """The launch with that many rows at once; what is left of the rows is a block of its own, in the last round."""
    kernel = launch.kernel
    loop = row_loop(kernel)
    if loop is None:
        return launch
    writer = _Writer(kernel, loop, rows)
    body = _with(kernel.body, loop, writer.loops())
    return replace(launch, kernel=replace(kernel, body=body, scratch=(*kernel.scratch, *writer.scratch)))


def _with(body: Sequence[Statement], loop: For, loops: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """The nest with others in the place of its innermost loop."""
    (outer,) = body
    if outer is loop or not isinstance(outer, For):
        return loops
    return (replace(outer, body=_with(outer.body, loop, loops)),)


class _Writer:
    """The blocks of one nest."""

    def __init__(self, kernel: Kernel, loop: For, rows: int) -> None:
        self.loop = loop
        self.rows = rows
        self.scratch = [each for _ in range(1, rows) for each in kernel.scratch]
        assigned = set(_assigned(loop.body))
        most = {each.kind: 1 + max(one.number for one in assigned if one.kind == each.kind) for each in assigned}
        counter, width = Variable("i", loop.counter), len(kernel.scratch)
        self.block = [
            Renaming(
                {each: Variable(each.kind, each.number + row * most[each.kind]) for each in assigned},
                {counter: blocked(counter, rows, Integer(row))},
                {Buffer("t", number): Buffer("t", number + row * width) for number in range(width)},
            )
            for row in range(rows)
        ]

    def loops(self) -> tuple[Statement, ...]:
        """The loop over blocks, whose last round has the rows that are left."""
        full, rest = divmod(self.loop.extent, self.rows)
        counter, of = self.loop.counter, self.loop.body
        if not full:
            return (self.loop,)
        whole = tuple(self.jammed(of, self.block))
        if not rest:
            return (For(counter, full, whole),)
        some = [self.block[first : min(first + ACROSS, rest)] for first in range(0, rest, ACROSS)]
        return (in_blocks(counter, full, whole, tuple(each for rows in some for each in self.jammed(of, rows))),)

    def jammed(self, body: Sequence[Statement], rows: Sequence[Renaming]) -> Iterator[Statement]:
        """Statements of some rows of a block."""
        for statement in body:
            if isinstance(statement, For) and _carries(statement):
                yield For(statement.counter, statement.extent, tuple(self.jammed(statement.body, rows)))
            else:
                yield from (row.statement(statement) for row in rows)


def _assigned(body: Sequence[Statement]) -> Iterator[Variable]:
    for statement in body:
        match statement:
            case Assign(variable):
                yield variable
            case For(body=inner) | If(body=inner):
                yield from _assigned(inner)
            case _:
                continue


def _carries(loop: For, besides: tuple[str, ...] = ()) -> bool:
    """Whether a round needs a variable of the round before, and calls no function, which would take the time.

    `besides` are functions that may give a carried variable without counting.
    """
    read: set[Variable] = set()
    carried = False
    for statement in _flat(loop.body):
        value = statement.value
        if any(isinstance(each, Call) and each.function in ELEMENTARY for each in parts(value)):
            return False
        read |= {each for each in parts(value) if isinstance(each, Variable)}
        if isinstance(statement, Assign) and statement.variable in read:
            carried = carried or not (isinstance(value, Call) and value.function in besides)
    return carried


def _values(loop: For) -> Iterator[Expression]:
    return (each.value for each in _flat(loop.body))


def _flat(body: Sequence[Statement]) -> Iterator[Assign | Store]:
    """What a body assigns and stores, in order."""
    for statement in body:
        match statement:
            case Assign() | Store():
                yield statement
            case For(body=inner) | If(body=inner):
                yield from _flat(inner)
            case Apply() | Tile():
                continue
