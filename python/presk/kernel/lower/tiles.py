"""A contraction's loops at a point of its layout space.

Whatever the point, each element of the result adds its terms in increasing k, from 0. Block loops go over full tiles
of I and J and full blocks of K, and what is left of each has statements of its own, with narrower tiles; what the
outermost loop leaves stands in it, under a condition, so that it can be divided. A tile's sums are variables; where
blocks of K enclose tiles they are stored after a block and loaded before the next. Called by `contract`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from math import prod

from presk.kernel.lower.code import Code
from presk.kernel.lower.contraction import Contraction, Place
from presk.kernel.lower.folds import Partials
from presk.kernel.lower.index import ZERO, at, blocked, cut, join, plus, times
from presk.kernel.lower.operands import Operands
from presk.kernel.lower.space import Point
from presk.kernel.nodes import Binary, Constant, Expression, Integer, Splat, Variable


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of an axis: `blocks` blocks of `width` from 0 on, or what is left from `start` on (`blocks` None).

    Blocks begin `step` places apart where that isn't their width.
    """

    blocks: int | None
    start: int
    width: int
    step: int | None = None

    def index(self, counter: Expression | None, offset: Expression) -> Expression:
        """The index `offset` positions into the block at hand."""
        if self.blocks is None or counter is None:
            return plus(Integer(self.start), offset)
        step = self.step or self.width
        return counter if step == 1 else blocked(counter, step, offset)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A segment and the counter of its blocks."""

    segment: Segment
    counter: Variable | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a tile, or (`width` above 1) a vector of several: its index along J."""

    index: Expression
    width: int

    @property
    def is_vector(self) -> bool:
        """Whether it is a vector."""
        return self.width > 1


@dataclass(frozen=True, slots=True)
class Cell:
    """A sum of a tile: its row and column, and the variable that holds it."""

    row: Expression
    column: Column
    total: Variable

    @property
    def is_vector(self) -> bool:
        """Whether it is a vector."""
        return self.column.is_vector


@dataclass(frozen=True, slots=True)
class Tile:
    """A register tile: its rows' indices along I, its columns, and a cell for each pair, row by row."""

    rows: tuple[Expression, ...]
    columns: tuple[Column, ...]
    cells: tuple[Cell, ...]


def segments(size: int, width: int) -> list[Segment]:
    """The full blocks of an axis, and what is left."""
    full, rest = divmod(size, width)
    found = [Segment(full, 0, width)] if full or not rest else []
    return [*found, Segment(None, full * width, rest)] if rest else found


def opened(
    code: Code, found: Sequence[Segment], counter: Variable | None = None, *, as_one: bool = False
) -> Iterator[Chosen]:
    """Each segment of an axis, within the loop over its blocks; `as_one`: all within one loop, which can be divided."""
    if as_one and len(found) > 1 and found[0].blocks is not None:
        full, rest = found
        with code.loop(found[0].blocks + 1, counter) as number:
            with code.when(Binary("<", number, Integer(found[0].blocks))):
                yield Chosen(full, number)
            with code.when(Binary("==", number, Integer(found[0].blocks))):
                yield Chosen(Segment(found[0].blocks + 1, 0, rest.width, full.width), number)
        return
    for segment in found:
        if segment.blocks is None:
            yield Chosen(segment, None)
            continue
        with code.loop(segment.blocks, counter) as number:
            yield Chosen(segment, number)


class BlocksOfK:
    """What the writings of a contraction in tiles know of where a block of K stands among all."""

    code: Code
    contraction: Contraction
    leading: tuple[int, ...]
    leads: Sequence[Expression]

    def when_last(self, block: Chosen | None) -> AbstractContextManager[None]:
        """A condition that holds in the last block of the last segment."""
        if block is None:
            return nullcontext()
        last = prod(self.contraction.sizes[label] for label in self.leading) * (block.segment.blocks or 1) - 1
        number = self.number_of(block)
        return nullcontext() if number == ZERO else self.code.when(Binary("==", number, Integer(last)))

    def number_of(self, block: Chosen) -> Expression:
        """How many blocks of this segment were before."""
        sizes = [self.contraction.sizes[label] for label in self.leading]
        digits = [at(counter, size) for counter, size in zip(self.leads, sizes, strict=True)]
        if block.counter is not None:
            digits.append(at(block.counter, block.segment.blocks or 1))
        return join(digits).index


class Tiles(BlocksOfK):
    """The writing of one contraction in tiles."""

    def __init__(self, code: Code, operands: Operands, contraction: Contraction, point: Point) -> None:
        self.code = code
        self.operands = operands
        self.contraction = contraction
        self.lanes = point.lanes
        empty = any(contraction.sizes[label] == 0 for label in contraction.k)
        kblock = None if empty else point.kblock
        self.order = point.order if kblock else point.order.replace("K", "")
        self.i, self.j = contraction.i, contraction.j
        self.leading, self.k = contraction.k[:-1], (contraction.k[-1] if contraction.k else None)
        self.segments = {"I": self.cut(self.i, point.rows), "J": self.cut(self.j, point.columns)}
        depth = contraction.size(self.k)
        self.segments["K"] = segments(depth, kblock) if kblock else [Segment(None, 0, depth)]
        self.place: dict[int, Expression] = {}
        self.outer = [code.fresh("i") for _ in contraction.outer]
        self.blocks = {letter: code.fresh("i") for letter in self.order if self.segments[letter][0].blocks is not None}
        self.counters = [code.fresh("i") for _ in self.leading]
        self.leads = self.counters
        self.inside = code.fresh("i")

    def cut(self, label: int | None, width: int) -> list[Segment]:
        """An axis in tiles; none is one position."""
        return [Segment(None, 0, 1)] if label is None else segments(self.contraction.sizes[label], width)

    def write(self) -> None:
        """All loops."""
        labels = self.contraction.outer
        with self.code.loops([self.contraction.sizes[label] for label in labels], self.outer):
            self.place |= dict(zip(labels, self.outer, strict=True))
            self.nest(self.order, {}, is_perfect=True)

    def nest(self, order: str, chosen: Mapping[str, Chosen], *, is_perfect: bool) -> None:
        """The block loops of `order`, and the tile within; `is_perfect`: each loop so far holds one statement."""
        if order in ("", "K"):
            self.tile(chosen)
            return
        letter, rest = order[0], order[1:]
        is_one = len(self.segments[letter]) == 1
        with self.leading_loops() if letter == "K" else nullcontext():
            for each in self.opened(letter, as_one=is_perfect and letter != "K"):
                self.nest(rest, {**chosen, letter: each}, is_perfect=is_perfect and is_one)
            if letter == "J" and "I" in chosen:
                self.finish(chosen)

    def finish(self, chosen: Mapping[str, Chosen]) -> None:
        """Finishes products where they lie, once all their terms are in: whole rows of them, or those of a tile."""
        if not self.operands.is_finished_in_place or not self.is_last(chosen.get("K")):
            return
        rows, columns = chosen["I"], chosen.get("J", Chosen(Segment(None, 0, self.contraction.size(self.j)), None))
        with self.when_last(chosen.get("K")), self.code.loops([rows.segment.width, columns.segment.width]) as found:
            row, column = (
                each.segment.index(each.counter, position.index)
                for each, position in zip((rows, columns), found, strict=True)
            )
            self.operands.finish(self.at(row, column))

    def opened(self, letter: str, *, as_one: bool = False) -> Iterator[Chosen]:
        """Each segment of an axis, within the loop over its blocks."""
        yield from opened(self.code, self.segments[letter], self.blocks.get(letter), as_one=as_one)

    @contextmanager
    def leading_loops(self) -> Generator[None]:
        """Loops over the summed axes but the last."""
        with self.code.loops([self.contraction.sizes[label] for label in self.leading], self.counters):
            self.place |= dict(zip(self.leading, self.leads, strict=True))
            yield

    # One tile

    def tile(self, chosen: Mapping[str, Chosen]) -> None:
        """One tile: its sums from 0 or from where they stood, the run over k, and where they go."""
        tile = self.cells(tuple(self.rows(chosen["I"])), tuple(self.columns(chosen["J"])))
        for cell in tile.cells:
            self.code.assign(cell.total, Splat(Constant(0.0)) if cell.is_vector else Constant(0.0))
        block = chosen.get("K")
        if block is not None:
            self.reload(block, tile)
            self.run(block, tile)
            self.spill(block, tile)
        else:
            with self.leading_loops():
                for each in self.opened("K"):
                    self.run(each, tile)
            for cell in tile.cells:
                place = self.at(cell.row, cell.column.index)
                self.operands.store(place, self.joined(place, cell), cell.is_vector)
        if self.order.find("J") < self.order.find("I"):
            self.finish(chosen)

    def joined(self, place: Place, cell: Cell) -> Expression:
        """A sum that is done, as it is stored: with the epilogue, unless that finds it where it lies."""
        if self.operands.is_finished_in_place:
            return cell.total
        return self.operands.finished(place, cell.total, cell.is_vector)

    def rows(self, chosen: Chosen) -> Iterator[Expression]:
        """The index along I of each row of the tile."""
        for offset in range(chosen.segment.width):
            yield chosen.segment.index(chosen.counter, Integer(offset))

    def columns(self, chosen: Chosen) -> Iterator[Column]:
        """The vectors of the tile's columns, and those that are left."""
        offset = 0
        while offset < chosen.segment.width:
            width = self.lanes if offset + self.lanes <= chosen.segment.width else 1
            yield Column(chosen.segment.index(chosen.counter, Integer(offset)), width)
            offset += width

    def cells(self, rows: tuple[Expression, ...], columns: tuple[Column, ...]) -> Tile:
        """The tile of these rows and columns, with a new variable for each sum."""
        cells = [
            Cell(row, column, self.code.fresh("v" if column.is_vector else "s")) for row in rows for column in columns
        ]
        return Tile(rows, columns, tuple(cells))

    def at(self, row: Expression, column: Expression) -> Place:
        """The place of an element of the result."""
        own = ((self.i, row), (self.j, column))
        return self.place | {label: index for label, index in own if label is not None}

    def run(self, block: Chosen, tile: Tile) -> None:
        """The loop over the k of a block."""
        if self.k is None:
            self.add(tile)
            return
        with self.code.loop(block.segment.width, self.inside) as inside:
            self.place[self.k] = block.segment.index(block.counter, inside)
            self.add(tile)

    def add(self, tile: Tile) -> None:
        """One term more in each sum. A single sum reads its operands in place; several share what they read."""
        nowhere = Integer(0)
        lefts = [self.operands.left(self.at(row, nowhere)) for row in tile.rows]
        rights = [self.operands.right(self.at(nowhere, each.index), each.is_vector) for each in tile.columns]
        if len(tile.cells) > 1:
            lefts = [self.code.shared("real", left) for left in lefts]
            rights = [self.in_variable(right, column) for right, column in zip(rights, tile.columns, strict=True)]
        pairs = [(left, right) for left in lefts for right in rights]
        for cell, (left, right) in zip(tile.cells, pairs, strict=True):
            self.code.assign(cell.total, self.operands.grown(cell.total, left, right, cell.is_vector))

    def in_variable(self, value: Expression, column: Column) -> Variable:
        """An element of operand 1, or a vector of them, for all rows."""
        variable = self.code.fresh("v" if column.is_vector else "s")
        self.code.assign(variable, value)
        return variable

    # Between blocks of K

    def reload(self, block: Chosen, tile: Tile) -> None:
        """The sums of the blocks before, if there were any."""
        before = self.number_of(block)
        is_rest = block.counter is None and len(self.segments["K"]) > 1
        if before == ZERO and not is_rest:
            return
        with nullcontext() if is_rest else self.code.when(before):
            for cell in tile.cells:
                place = self.at(cell.row, cell.column.index)
                self.code.assign(cell.total, self.operands.sum(place, cell.is_vector))

    def spill(self, block: Chosen, tile: Tile) -> None:
        """Stores the sums; the epilogue joins in the last block."""
        if self.operands.has_epilogue and not self.operands.is_finished_in_place and self.is_last(block):
            with self.when_last(block):
                for cell in tile.cells:
                    place = self.at(cell.row, cell.column.index)
                    self.code.assign(cell.total, self.operands.finished(place, cell.total, cell.is_vector))
        for cell in tile.cells:
            self.operands.store(self.at(cell.row, cell.column.index), cell.total, cell.is_vector)

    def is_last(self, block: Chosen | None) -> bool:
        """Whether a segment of K has the last block; where blocks enclose nothing, all there is."""
        return block is None or block.segment == self.segments["K"][-1]


class RowWise:
    """The writing of one contraction row by row: each row of the result takes k's terms one after the other."""

    def __init__(self, code: Code, operands: Operands, contraction: Contraction) -> None:
        self.code = code
        self.operands = operands
        self.contraction = contraction
        self.around = (*contraction.outer, *(() if contraction.i is None else (contraction.i,)))
        self.counters = [code.fresh("i") for _ in self.around]
        self.inside = [code.fresh("i") for _ in contraction.k]
        self.across = code.fresh("i")

    def write(self) -> None:
        """All loops."""
        sizes, k = self.contraction.sizes, self.contraction.k
        place: dict[int, Expression] = dict(zip(self.around, self.counters, strict=True))
        with self.code.loops([sizes[label] for label in self.around], self.counters):
            with self.row(place) as at:
                self.operands.store(at, Constant(0.0), False)
            with self.code.loops([sizes[label] for label in k], self.inside):
                place |= dict(zip(k, self.inside, strict=True))
                left = self.code.shared("real", self.operands.left(place))
                with self.row(place) as at:
                    grown = self.operands.grown(
                        self.operands.sum(at, False), left, self.operands.right(at, False), False
                    )
                    self.operands.store(at, grown, False)
            if self.operands.has_epilogue:
                with self.row(place) as at:
                    self.operands.finish(at)

    @contextmanager
    def row(self, place: Place) -> Generator[Place]:
        """The loop over a row of the result."""
        if self.contraction.j is None:
            yield place
            return
        with self.code.loop(self.contraction.sizes[self.contraction.j], self.across) as counter:
            yield {**place, self.contraction.j: counter}


def write_interleaved(code: Code, operands: Operands, contraction: Contraction, partials: int) -> None:
    """The contraction with p partial sums an element."""
    with code.loops([contraction.sizes[label] for label in contraction.out]) as found:
        place = {label: position.index for label, position in zip(contraction.out, found, strict=True)}
        total = interleaved_sum(code, operands, contraction, place, partials)
        operands.store(place, operands.finished(place, total, False), False)


def interleaved_sum(
    code: Code, operands: Operands, contraction: Contraction, place: Place, partials: int
) -> Expression:
    """One element with p partial sums: term i goes to partial i mod p."""
    sizes = [contraction.sizes[label] for label in contraction.k]
    terms = prod(sizes)
    sums = Partials(min(partials, max(terms, 1)))
    sums.start(code)
    for segment in segments(terms, sums.count):
        blocks = code.loop(segment.blocks) if segment.blocks is not None else nullcontext()
        with blocks as block, code.loop(segment.width) as partial:
            index = times(block, sums.count) if block is not None else Integer(segment.start)
            parts = cut(at(plus(index, partial), terms), sizes)
            there = {**place, **{label: part.index for label, part in zip(contraction.k, parts, strict=True)}}
            left, right = operands.left(there), operands.right(there, False)
            if operands.marked:
                left, right = (code.shared("real", each) for each in (left, right))
            with operands.counting(left, right):
                sums.store(code, partial, operands.grown(sums.load(partial), left, right, False))
    return sums.finish(code)
