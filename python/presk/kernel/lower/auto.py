"""The plan `auto`: for every nest a layout by a fixed rule over its shape, the caches and the number of workers.

No choice changes a bit, so the rule only has to be fast. It asks nothing but sizes and what the machine is, and
measures nothing: equal machines choose equally. Each choice comes with its reason (`Chosen.why`), which `presk dump
--plan auto` prints; docs/lowering.md has the rule as a table. Called by `lower`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from presk.core.nodes import Ref
from presk.kernel.lower.contraction import LABELS, Contraction, contraction_of
from presk.kernel.lower.interleave import ACROSS, is_slow_alone, row_loop
from presk.kernel.lower.runs import has_runs
from presk.kernel.lower.space import (
    BLOCKS_OF_K,
    BLOCKS_OF_ROWS,
    REGISTER,
    ROW_COLUMNS,
    is_contiguous,
    is_read_wide,
    keeps_sums,
)
from presk.kernel.lower.task import WIDTH, Task
from presk.kernel.lower.values import nested, statements, values_of, visited
from presk.kernel.lowered import Chosen, Launch, Layout, Lowered, Machine, Split
from presk.kernel.native import parallel_depths
from presk.kernel.nodes import Element, For, Kernel, Statement
from presk.kernel.printer import print_kernel

CACHES = (1 << 15, 1 << 18, 1 << 22)
"""Bytes of the caches, the nearest first, where the system doesn't say."""

DIVIDED_FROM = 1_000_000
"""Weighted operations from which a launch is divided: a piece of it then takes longer than waking a worker."""

BALANCED = 0.9
"""The outermost loop is divided unless one within gives the longest piece less than this part of its work."""

LONG_ROW = 128
"""Columns from which a single row is computed row-wise: every term reads a row of operand 1 from end to end."""

WIDE = 32
"""Bytes of the narrowest vectors of wide tiles."""

MOST_COLUMNS = 64
"""Columns of a wide tile whose factors are widened first, so that this is seldom done."""

FEW_ROWS = 4
"""Rows that are taken one by one where operand 1 is integers with scales."""

DEEP = 32
"""Terms from which a wide tile is worth its call."""

WASTE = 1.2
"""How many columns wide tiles may compute for each one there is: the last tile's further lanes are in vain."""

WIDE_STRIDE = 1024
"""Bytes between two rows of operand 1 from which reading it down its columns misses the nearest cache's sets."""

PANEL_ROWS = 16
"""Rows of the result from which copying operand 1 to panels is paid back."""

PANEL_PART = 4
"""The panel of a tile, all its terms, may take a quarter of the second cache."""

OPERAND_PART = 8
"""Operand 0 is read anew for each tile's columns: from an eighth of the last cache on in blocks of rows."""

BLOCK = 256
"""Terms of a block of K whose factors are widened first, for as many rows as there are."""

SIDE_BY_SIDE = {2: 1.3, 4: 1.6, 8: 3.0, 16: 3.4}
"""How many times faster a row gets, about, where so many are taken at once."""

MOST_NODES = 12_000
"""Statements and values of rows taken together: a third of what is compiled, and soon."""

TILE_ROWS = 12
"""Rows of a wide tile: the routine cuts them into parts that its registers hold."""


def lower(task: Task, rule: Callable[[Task], Lowered], machine: Machine) -> Lowered:
    """The launches of a group at the point chosen for it."""
    layout, why = _layout(task, machine)
    layout = replace(layout, runs=True)
    lowered = rule(replace(task, layout=layout))
    found = _rows(replace(task, layout=layout), lowered, rule, machine)
    if found is not None:
        rows, reason = found
        layout = replace(layout, rows=rows)
        why.append(reason)
        lowered = rule(replace(task, layout=layout))
    if any(has_runs(each.kernel) for each in lowered.launches):
        why.append("runs: functions of a run of elements at a time")
    else:
        layout = replace(layout, runs=None)
    launches = tuple(_divided(each, machine, why) for each in lowered.launches)
    ways = tuple(
        replace(way, launches=tuple(_divided(each, machine, []) for each in way.launches)) for way in lowered.in_place
    )
    if launches and (launches[-1].split is not None or launches[-1].whole):
        layout = replace(layout, split=launches[-1].split or "none")
    return replace(lowered, launches=launches, in_place=ways, chosen=Chosen(layout, tuple(why)))


def _layout(task: Task, machine: Machine) -> tuple[Layout, list[str]]:
    primitive = task.apply(task.root).primitive
    if primitive in LABELS:
        return _Product(task, contraction_of(task, task.root), machine).layout()
    if primitive == "softmax" and task.choice.storage != "bf16" and task.arithmetic == task.interior:
        return Layout(passes=2), ["2 passes: exponentials wait in the result"]
    return Layout(), []


# Contractions


@dataclass(frozen=True, slots=True)
class _Product:
    """A contraction that is laid out."""

    task: Task
    contraction: Contraction
    machine: Machine

    @property
    def i(self) -> int:
        """Rows of the result."""
        return self.contraction.size(self.contraction.i)

    @property
    def j(self) -> int:
        """Columns of the result."""
        return self.contraction.size(self.contraction.j)

    @property
    def k(self) -> int:
        """Terms of a sum that a tile takes in one run: the last summed axis."""
        return self.contraction.size(self.contraction.k[-1]) if self.contraction.k else 1

    @property
    def leading(self) -> int:
        """Runs of so many terms in a sum: the other summed axes."""
        return prod(self.contraction.sizes[label] for label in self.contraction.k[:-1])

    @property
    def outer(self) -> int:
        """Products of matrices, one beside the other."""
        return prod(self.contraction.sizes[label] for label in self.contraction.outer)

    @property
    def item(self) -> int:
        """Bytes of an element in the arithmetic type."""
        return WIDTH[self.task.arithmetic] // 8

    def layout(self) -> tuple[Layout, list[str]]:
        """The point, and why."""
        why: list[str] = []
        epilogue = True if self.task.following is not None else None
        if epilogue:
            why.append(f"epilogue: {self.joined} alone reads the product")
        if self.task.choice.partials is not None or self.task.arithmetic != self.task.interior:
            return Layout(epilogue=epilogue), why
        return replace(self.point(why), epilogue=epilogue), why

    @property
    def joined(self) -> str:
        """What joins the store, as a reason says it."""
        assert self.task.following is not None, "asked where a group joins the store"
        members = [self.task.apply(self.task.lets[each.number]).primitive for each in self.task.following.members]
        return "the addition" if members == ["add"] else f"the sweep {', '.join(members)}"

    def point(self, why: list[str]) -> Layout:
        """Form, tile, lanes, pack and order."""
        register = REGISTER[self.task.arithmetic]
        least = max(4, register)
        if self.j < least:
            why.append(f"tile [1, 1]: no vector in {self.j} columns")
            return Layout(form="tiled", tile=(1, 1))
        contiguous = is_contiguous(self.task, self.contraction)
        if self.contraction.out[-1] == self.contraction.j:
            wide = self.row(contiguous, why) or self.wide(contiguous, why)
            if wide is not None:
                return wide
            if self.task.choice.storage != "bf16":
                return self.narrow(contiguous, why)
        tile = (self.rows(4), least)
        why.append(f"tile {list(tile)}: no vectors where sums are stored in bf16 or apart")
        return Layout(form="tiled", tile=tile, lanes=1)

    def row(self, contiguous: bool, why: list[str]) -> Layout | None:
        """One row, which reads operand 1 once, from end to end: a wide tile of many columns, or row-wise.

        So do a few rows one by one, where operand 1 is integers: they are so few bytes that reading them again costs
        less than keeping what they were widened to.
        """
        is_scaled = contiguous and is_read_wide(self.task, 1) and self.element(1).scales is not None
        if self.i > (FEW_ROWS if is_scaled else 1) or not contiguous or self.j < LONG_ROW:
            return None
        can_be_wide = is_read_wide(self.task, 0) and is_read_wide(self.task, 1) and self.keeps_sums(None)
        if self.j < ROW_COLUMNS[0] or not can_be_wide or not (self.is_narrow(1) or self.is_divided):
            if self.task.choice.storage == "bf16" or self.i != 1:
                return None
            why.append("row-wise: one row, so operand 1 is read once, from end to end")
            return Layout(form="row-wise")
        workers = self.machine.threads if self.is_divided else 1
        fitting = [each for each in reversed(ROW_COLUMNS) if each * workers <= self.j] or [ROW_COLUMNS[0]]
        even = [each for each in fitting if self.j % each == 0 and self.j // each % workers == 0]
        columns = (even or fitting)[0]
        lanes = self.machine.vector // self.item if self.machine.vector >= WIDE else WIDE // self.item
        why.append(f"tile [1, {columns}] in {lanes} lanes: one row, so operand 1 is read once, from end to end")
        return Layout(form="tiled", tile=(1, columns), lanes=lanes, pack=False, order="JI")

    def element(self, number: int) -> Element:
        """What an operand in memory holds."""
        operand = self.task.apply(self.task.root).operands[number]
        assert isinstance(operand, Ref), "asked of what is in memory"
        return self.task.read_type(operand).element

    def is_narrow(self, number: int) -> bool:
        """Whether an operand's elements are widened as they are read."""
        operand = self.task.apply(self.task.root).operands[number]
        if not isinstance(operand, Ref) or self.task.is_free(operand):
            return False
        return self.element(number).kind != self.task.arithmetic

    def keeps_sums(self, kblock: int | None) -> bool:
        """Whether a wide tile, with such blocks of K, stores its sums as they are accumulated."""
        return keeps_sums(self.task, self.contraction, kblock)

    def narrow(self, contiguous: bool, why: list[str]) -> Layout:
        """A tile of two registers a row, of four where there is one row."""
        register = REGISTER[self.task.arithmetic]
        rows = self.rows(4)
        wanted = 4 * register if rows == 1 else 2 * register
        columns = next(each for each in (16, 8, 4) if each <= min(wanted, self.j) or each == 4)
        why.append(f"tile [{rows}, {columns}] in {register} lanes")
        if not contiguous:
            why.append("pack: operand 1 isn't contiguous along the columns")
        return Layout(form="tiled", tile=(rows, columns), lanes=register, pack=not contiguous)

    def wide(self, contiguous: bool, why: list[str]) -> Layout | None:
        """A wide tile, where there are columns and terms enough; else None."""
        is_scaled = contiguous and is_read_wide(self.task, 1) and self.element(1).scales is not None
        lanes, columns = self.wide_tile()
        if (is_scaled or self.is_narrow(0)) and self.j >= MOST_COLUMNS:
            columns = MOST_COLUMNS
        least = 2 * lanes
        whole = -(-self.j // least) * least
        if self.j < least or whole > WASTE * self.j or self.k < DEEP or not is_read_wide(self.task, 0):
            return None
        if not self.keeps_sums(None):
            return None
        is_far = self.k * self.j * self.item > self.cache(0)
        panel = self.i >= PANEL_ROWS and is_far and self.j * self.item >= WIDE_STRIDE and not is_scaled
        if not panel and not (contiguous and is_read_wide(self.task, 1)):
            if not is_far:
                return None
            panel = True
        why.append(f"tile [{TILE_ROWS}, {columns}] in {lanes} lanes: the machine's widest vectors")
        if panel:
            why.append("pack in panels: operand 1 is far, and its columns' elements far apart")
        kblock, block = self.kblock(columns), self.row_block(columns)
        if is_scaled:
            kblock, block = BLOCK if self.k > BLOCK and self.keeps_sums(BLOCK) else None, None
        if kblock is not None:
            why.append(f"blocks of K of {kblock}: a tile's panel stays in the second cache for all rows")
        if block is not None:
            why.append(f"blocks of {block} rows: operand 0 is far, or workers divide the columns less evenly")
        around = "KJI" if is_scaled or block is not None else "JKI"
        order = "JI" if kblock is None else around
        pack = "panel" if panel else False
        tile = (TILE_ROWS, columns)
        return Layout(form="tiled", tile=tile, lanes=lanes, pack=pack, kblock=kblock, rows=block, order=order)

    def wide_tile(self) -> tuple[int, int]:
        """Lanes and columns: four vectors, or two where there are no more columns."""
        register = REGISTER[self.task.arithmetic]
        is_long = self.machine.vector >= 64 and self.j >= 8 * register
        lanes = 4 * register if is_long else 2 * register
        return lanes, 4 * lanes if self.j >= 4 * lanes else 2 * lanes

    def kblock(self, columns: int) -> int | None:
        """Terms of a block of K; none where the panel of a tile fits in its part of the second cache.

        Several summed axes are blocks in any case: the last one's terms, and no more than fit.
        """
        near = self.cache(1) // PANEL_PART // (columns * self.item)
        longest = max((each for each in BLOCKS_OF_K if each <= near), default=BLOCKS_OF_K[0])
        return None if (self.k <= near and self.leading == 1) or not self.keeps_sums(longest) else longest

    def row_block(self, columns: int) -> int | None:
        """Rows of a block, the most there are, where operand 0 is far; none else.

        Where workers divide a matrix, the most that make equal pieces, also where the columns' tiles make none.
        """
        blocks = [each for each in reversed(BLOCKS_OF_ROWS) if each < self.i]
        is_far = self.i * self.k * self.leading * self.item > self.cache(2) // OPERAND_PART
        if not blocks or not self.is_divided:
            return blocks[0] if blocks and is_far else None
        threads = self.machine.threads
        share = {each: _evenness(self.i, each, threads) for each in blocks}
        by_columns = _evenness(self.j, columns, threads)
        even = [each for each in blocks if share[each] >= BALANCED * threads]
        if even and (is_far or by_columns < BALANCED * threads):
            return even[0]
        best = max(blocks, key=lambda each: share[each])
        return best if share[best] > by_columns else None

    @property
    def is_divided(self) -> bool:
        """Whether workers will divide the loops over a matrix, there being too few matrices for them."""
        work = 4 * self.outer * self.i * self.j * self.k
        return self.machine.threads > 1 and work >= DIVIDED_FROM and not self.is_balanced_outside

    @property
    def is_balanced_outside(self) -> bool:
        """Whether the products of matrices, one beside the other, make equal pieces for the workers."""
        return _share(self.outer, self.machine.threads) >= BALANCED * self.machine.threads

    def rows(self, most: int) -> int:
        """The rows of a tile: the largest of 1, 2 and 4 that the result has."""
        return next(each for each in (4, 2, 1) if each <= min(most, self.i) or each == 1)

    def cache(self, level: int) -> int:
        """Bytes of a cache, 0 being the nearest."""
        return _cache(self.machine, level)


def _cache(machine: Machine, level: int) -> int:
    return machine.caches[level] if level < len(machine.caches) else CACHES[level]


# Rows and workers


def _rows(task: Task, lowered: Lowered, rule: Callable[[Task], Lowered], machine: Machine) -> tuple[int, str] | None:
    """How many rows of a row group are taken at once, and why; None for one after the other."""
    if task.group.kind != "row":
        return None
    launch = lowered.launches[-1]
    loop = row_loop(launch.kernel)
    if loop is None or not is_slow_alone(loop):
        return None
    first, second = _cache(machine, 0), _cache(machine, 1)
    fitting = {1: 1.0}
    kept = _kept(task, lowered)
    across = rule(replace(task, layout=replace(task.layout, rows=ACROSS))) if loop.extent >= ACROSS else None
    if across is not None and _kept(task, across) <= second // 2:
        fitting[ACROSS] = SIDE_BY_SIDE[ACROSS]
        twice = 2 * ACROSS
        row = _rounds(loop.body) * WIDTH[task.arithmetic] // 8
        if loop.extent >= twice and 2 * _kept(task, across) <= second // 2 and twice * row <= second // 4:
            fitting[twice] = SIDE_BY_SIDE[twice]
    fitting |= {rows: SIDE_BY_SIDE[rows] for rows in (4, 2) if loop.extent >= rows and rows * kept <= first // 2}
    threads = machine.threads if launch.work >= DIVIDED_FROM else 1
    outside = max((_share(extent, threads) for extent in _nest(launch.kernel)[:-1]), default=1.0)

    def rate(rows: int) -> float:
        return fitting[rows] * max(outside, _evenness(loop.extent, rows, threads))

    nodes = _nodes(loop.body)
    small = [rows for rows in fitting if rows == 1 or nodes * (rows + loop.extent % rows) <= MOST_NODES]
    rows = max(small, key=rate)
    if rows == 1:
        return None
    if rows % ACROSS == 0:
        return rows, f"{rows} rows side by side: their sums run in vectors across them"
    return rows, f"{rows} rows side by side: sums wait for the addition before, not for other rows'"


def _nodes(body: Sequence[Statement]) -> int:
    """The statements and values of a body."""
    return sum(1 + sum(1 for value in values_of(each) for _ in visited(value)) for each in statements(body))


def _rounds(body: Sequence[Statement]) -> int:
    """The rounds of the longest nest of loops in a body."""
    return max((each.extent * _rounds(each.body) for each in body if isinstance(each, For)), default=1)


def _kept(task: Task, lowered: Lowered) -> int:
    """Bytes of scratch."""
    scratch = lowered.launches[-1].kernel.scratch
    return sum(WIDTH[task.arithmetic] // 8 * prod(axis.size for axis in each.axes) for each in scratch)


def _divided(launch: Launch, machine: Machine, why: list[str]) -> Launch:
    """The launch divided over the workers, where it is long enough and a loop of it can be."""
    if launch.work < DIVIDED_FROM:
        return launch
    if machine.threads == 1:
        return replace(launch, whole=True)
    extents = _nest(launch.kernel)
    shares = {depth: _share(extents[depth], machine.threads) for depth in parallel_depths(print_kernel(launch.kernel))}
    if not shares or max(shares.values()) <= 1:
        return replace(launch, whole=True)
    enough = BALANCED * max(shares.values())
    depth = next(each for each, share in sorted(shares.items()) if share >= enough)
    why.append(f"`{launch.kernel.name}` split at depth {depth}: {launch.work} weighted operations")
    return replace(launch, split=Split(depth, None))


def _share(extent: int, threads: int) -> float:
    """How many times faster a loop of so many rounds gets, its longest piece counting."""
    return extent / -(-extent // min(threads, extent)) if extent else 1.0


def _evenness(size: int, width: int, threads: int) -> float:
    """How many times faster a loop over blocks of an axis gets, the longest piece's part of the axis counting."""
    blocks = -(-size // width)
    longest = -(-blocks // threads) * width
    return size / min(size, longest) if size else 1.0


def _nest(kernel: Kernel) -> list[int]:
    """The extents of the loops that form the perfect nest, outermost first."""
    extents: list[int] = []
    found = nested(kernel.body)
    while found is not None:
        extents.append(found.extent)
        found = nested(found.body)
    return extents
