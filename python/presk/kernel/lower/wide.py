"""A contraction in tiles wider than sixteen bytes: the statement `tile`.

The loops are those of `tiles`: block loops over full tiles and full blocks, and statements of their own for what is
left of each, so that each element of the result adds its terms in increasing k. A tile's sums are in the result: where
blocks of K enclose tiles, the first opens them and the others go on. `rows` puts all of it into a loop over blocks of
rows. Called by `contract`.
"""

from __future__ import annotations

from collections.abc import Mapping

from presk.kernel.lower.code import Code
from presk.kernel.lower.contraction import Contraction
from presk.kernel.lower.index import ZERO
from presk.kernel.lower.operands import Operands
from presk.kernel.lower.panels import Panel
from presk.kernel.lower.space import Point
from presk.kernel.lower.tiles import BlocksOfK, Chosen, Segment, opened, segments
from presk.kernel.nodes import Access, Binary, Expression, Integer, Load, Run, Tile, Variable
from presk.text.diagnostics import InternalError


class WideTiles(BlocksOfK):
    """The writing of one contraction in wide tiles."""

    def __init__(
        self,
        code: Code,
        operands: Operands,
        contraction: Contraction,
        point: Point,
        panels: tuple[Panel | None, Panel | None],
    ) -> None:
        self.code = code
        self.operands = operands
        self.contraction = contraction
        self.point = point
        self.panels = panels
        self.i, self.j = contraction.i, contraction.j
        self.leading, self.k = contraction.k[:-1], (contraction.k[-1] if contraction.k else None)
        depth = contraction.size(self.k)
        self.order = point.order if point.kblock else point.order + "K"
        height = contraction.size(self.i)
        self.row_blocks = segments(height, point.block) if point.block else [Segment(None, 0, height)]
        self.segments = {
            "J": segments(contraction.size(self.j), point.columns),
            "K": segments(depth, point.kblock) if point.kblock else [Segment(None, 0, depth)],
        }
        self.place: dict[int, Expression] = {}
        self.leads = ()
        self.runs: dict[tuple[str, int], Variable] = {}

    def write(self) -> None:
        """All loops."""
        labels, sizes = self.contraction.outer, self.contraction.sizes
        with self.code.loops([sizes[label] for label in labels]) as found:
            self.place |= {label: position.index for label, position in zip(labels, found, strict=True)}
            is_one = len(self.row_blocks) == 1
            for block in opened(self.code, self.row_blocks, as_one=True):
                self.nest(self.order, {"B": block}, is_perfect=is_one)

    def nest(self, order: str, chosen: Mapping[str, Chosen], *, is_perfect: bool) -> None:
        """The block loops of `order`, and the tile within; `is_perfect`: each loop so far holds one statement."""
        if not order:
            self.tile(chosen)
            return
        letter, rest = order[0], order[1:]
        found = segments(chosen["B"].segment.width, self.point.rows) if letter == "I" else self.segments[letter]
        sizes = [self.contraction.sizes[label] for label in self.leading] if letter == "K" else []
        with self.code.loops(sizes) as leads:
            if letter == "K":
                self.place |= {label: lead.index for label, lead in zip(self.leading, leads, strict=True)}
                self.leads = [lead.index for lead in leads]
            # Rows within a block of rows keep statements of their own: it is the blocks that are divided.
            as_one = is_perfect and letter != "K" and (letter != "I" or self.point.block is None)
            for each in opened(self.code, found, as_one=as_one):
                self.nest(rest, {**chosen, letter: each}, is_perfect=is_perfect and len(found) == 1)
            if letter == "J" and "I" in chosen:
                self.finish(chosen)

    # One tile

    def tile(self, chosen: Mapping[str, Chosen]) -> None:
        """The tile that opens the sums or goes on, and after the last the epilogue, unless it takes whole rows."""
        before = self.number_of(chosen["K"])
        is_rest = chosen["K"].counter is None and len(self.segments["K"]) > 1
        if is_rest:
            self.statement(chosen, continues=True)
        elif before == ZERO:
            self.statement(chosen, continues=False)
        else:
            with self.code.when(Binary("==", before, Integer(0))):
                self.statement(chosen, continues=False)
            with self.code.when(before):
                self.statement(chosen, continues=True)
        if self.order.find("J") < self.order.find("I"):
            self.finish(chosen)

    def statement(self, chosen: Mapping[str, Chosen], *, continues: bool) -> None:
        """One statement."""
        row, column, term = (self.run(letter, chosen[letter].segment.width) for letter in "IJK")
        widths = (chosen[letter].segment.width for letter in "IJK")
        runs = zip((row, column, term), widths, strict=True)
        rows, columns, depth = (Run(run.number, width) for run, width in runs)
        place = self.at(chosen, row, column)
        if self.k is not None:
            place[self.k] = chosen["K"].segment.index(chosen["K"].counter, term)
        left, right = self.panels
        if left is not None:
            block = self.point.block or max(self.contraction.size(self.i), 1)
            blocks = [_number(chosen["B"], block), _number(chosen["I"], self.point.rows)]
            factor: Expression = self.code.load(left.buffer, left.index(place, blocks, row))
        else:
            factor = self.operands.left(place)
        if right is not None:
            other: Expression = self.code.load(
                right.buffer, right.index(place, [_number(chosen["J"], self.point.columns)], column)
            )
        else:
            other = self.operands.right(place, vector=False)
        if not isinstance(factor, Load) or not isinstance(other, Load):
            raise InternalError("a tile's operands are in memory")
        total = Access(self.operands.output, tuple(self.operands.index(place)))
        fused = self.operands.reader.task.choice.fma
        lanes = self.point.lanes
        self.code.add(Tile(rows, columns, depth, lanes, total, factor.access, other.access, continues, fused))

    def run(self, letter: str, width: int) -> Variable:
        """The counter of a tile's run: one for each width, or whether a loop may be divided would go by the longest."""
        return self.runs.get((letter, width)) or self.runs.setdefault((letter, width), self.code.fresh("i"))

    def at(self, chosen: Mapping[str, Chosen], row: Expression, column: Expression) -> dict[int, Expression]:
        """The place of an element of the tile."""
        place = dict(self.place)
        if self.i is not None:
            inside = chosen["I"].segment.index(chosen["I"].counter, row)
            place[self.i] = chosen["B"].segment.index(chosen["B"].counter, inside)
        if self.j is not None:
            place[self.j] = chosen["J"].segment.index(chosen["J"].counter, column)
        return place

    def finish(self, chosen: Mapping[str, Chosen]) -> None:
        """Finishes products where they lie, once all their terms are in.

        Whole rows of them while they are near, so that functions have long runs; where columns are outermost those
        of a tile.
        """
        block = chosen.get("K")
        if not self.operands.has_epilogue or (block is not None and block.segment != self.segments["K"][-1]):
            return
        whole = Chosen(Segment(None, 0, self.contraction.size(self.j)), None)
        found = {"J": whole, **chosen}
        with self.when_last(block), self.code.loops([found[letter].segment.width for letter in "IJ"]) as (row, column):
            self.operands.finish(self.at(found, row.index, column.index))


def _number(chosen: Chosen, width: int) -> Expression:
    """Which block of an axis cut into blocks of this width a segment's is."""
    return Integer(chosen.segment.start // width) if chosen.counter is None else chosen.counter
