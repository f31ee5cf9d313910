"""The layout space of a contraction: the default point, and the point a plan states, checked.

Every point gives the same bits, so all that is refused here is what can't be had (E7002: condition 2, a value that
isn't in the space; 3, a spill between blocks of K where the sum isn't stored as it is accumulated; 4, lanes along an
axis on which operand 1 isn't contiguous; 7, a layout under another accumulation than the default). Called by
`contract`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from presk.core.nodes import Ref
from presk.kernel.lower.choices import check_layout
from presk.kernel.lower.contraction import Contraction
from presk.kernel.lower.task import Task

FORMS = ("row-wise", "tiled")
TILE_ROWS = (1, 2, 4)
TILE_COLUMNS = (4, 8, 16)
WIDE_ROWS = (*TILE_ROWS, 6, 8, 12)
WIDE_COLUMNS = (*TILE_COLUMNS, 32, 64)
ROW_COLUMNS = (256, 1024, 4096)
"""Columns of wide tiles of one row, beside those."""

BLOCKS_OF_K = (32, 128, 256, 512, 1024)
BLOCKS_OF_ROWS = (64, 128, 256)
PANELS = ("panel", "both")
REGISTER = {"f32": 4, "f64": 2}
"""Lanes of sixteen bytes."""

BY_ROWS = ("dot", "matmul")
"""Contractions whose default is a tile of one row, or row-wise where J isn't a multiple of it."""

DEFAULT_COLUMNS = 8

KEYS = frozenset(("form", "tile", "kblock", "rows", "order", "lanes", "pack", "epilogue", "split"))
ORDERED = ("form", "tile", "kblock", "rows", "order", "lanes")
"""Keys that say how sums are laid out."""


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the space. `order` are the block loops, outermost first; row-wise has no tile.

    `block` are the rows of a block between blocks of K, of a wide tile: one with more lanes than sixteen bytes.
    """

    row_wise: bool
    rows: int
    columns: int
    kblock: int | None
    order: str
    lanes: int
    pack: bool | str
    block: int | None = None
    is_wide: bool = False

    @property
    def spills(self) -> bool:
        """Whether sums are stored between blocks of K."""
        return self.kblock is not None and not self.order.endswith("K")


def settle(task: Task, contraction: Contraction) -> Point:
    """The point of the plan, what it leaves open being the default. Raises E7002."""
    check_layout(task, KEYS)
    layout = task.layout
    _check_values(task)
    if task.choice.partials is not None or task.arithmetic != task.interior:
        stated = [key for key in ORDERED if getattr(layout, key) is not None]
        if stated:
            raise task.refuse(7, f"`{stated[0]}` assumes the default accumulation, and the realization states another")
        return Point(False, 1, 1, None, "IJ", 1, _plain_pack(task))
    row_wise, tile = _form(task, contraction)
    if row_wise:
        _check_row_wise(task)
        return Point(True, 1, 1, None, "IJ", 1, _plain_pack(task))
    if tile[1] > 1 and tile[1] > contraction.size(contraction.j):
        columns = contraction.size(contraction.j)
        raise task.refuse(2, f"a tile of {tile[1]} columns is wider than the {columns} of the result")
    kblock = layout.kblock if isinstance(layout.kblock, int) else None
    is_wide = _is_wide(task)
    order = layout.order or ("IJ" if kblock is None else "KJI" if is_wide else "IJK")
    wanted = "IJ" if kblock is None else "IJK"
    if sorted(order) != sorted(wanted):
        raise task.refuse(2, f"`{order}` is no order of the loops {', '.join(wanted)}")
    point = Point(False, *tile, kblock, order, 1, layout.pack or False)
    if is_wide:
        return _wide(task, contraction, point)
    if point.spills and task.choice.storage == "bf16":
        raise task.refuse(3, f"the order {order} stores sums between blocks of K, and they are stored in bf16")
    return Point(False, *tile, kblock, order, _lanes(task, contraction, point), point.pack)


def _check_values(task: Task) -> None:
    layout = task.layout
    if layout.form not in (None, *FORMS):
        raise task.refuse(2, f"`{layout.form}` is no form", "row-wise or tiled")
    if layout.kblock not in (None, "none", *BLOCKS_OF_K):
        raise task.refuse(2, f"blocks of K of {layout.kblock} are not in the space", "none, 32, 128, 256, 512 or 1024")
    if layout.rows not in (None, "none", *BLOCKS_OF_ROWS):
        raise task.refuse(2, f"blocks of {layout.rows} rows are not in the space", "none, 64, 128 or 256")
    if layout.pack not in (None, True, False, *PANELS):
        raise task.refuse(2, f"`{layout.pack}` is no way to pack here", 'true, false, "panel" or "both"')
    if layout.epilogue not in (None, True, False):
        raise task.refuse(2, f"`{layout.epilogue}` is no epilogue here", "true or false")
    tile = layout.tile
    if tile is not None and tile != (1, 1) and not is_tile(tile):
        hint = "[1, 1], or 1, 2, 4, 6, 8 or 12 rows by 4, 8, 16, 32 or 64 columns, or one row by 256, 1024 or 4096"
        raise task.refuse(2, f"the tile [{tile[0]}, {tile[1]}] is not in the space", hint)


def is_tile(tile: tuple[int, int]) -> bool:
    """Whether the space has this tile of several columns, wide ones among them."""
    rows, columns = tile
    return rows in WIDE_ROWS and (columns in WIDE_COLUMNS or (rows == 1 and columns in ROW_COLUMNS))


def _form(task: Task, contraction: Contraction) -> tuple[bool, tuple[int, int]]:
    """Whether the form is row-wise, and the tile if it isn't."""
    layout = task.layout
    columns = contraction.size(contraction.j)
    is_by_rows = task.apply(task.root).primitive in BY_ROWS
    by_rows = is_by_rows and columns > 0 and columns % DEFAULT_COLUMNS == 0
    tile = layout.tile or ((1, DEFAULT_COLUMNS) if by_rows else (1, 1))
    if layout.form is not None:
        return layout.form == "row-wise", tile
    states_tiles = any(getattr(layout, key) is not None for key in ORDERED[1:])
    row_wise = is_by_rows and not by_rows and not states_tiles and task.choice.storage != "bf16"
    return row_wise, tile


def _check_row_wise(task: Task) -> None:
    for key in ORDERED[1:]:
        if getattr(task.layout, key) is not None:
            raise task.refuse(2, f"the row-wise form has no `{key}`")
    if task.choice.storage == "bf16":
        raise task.refuse(3, "the row-wise form keeps its sums in the result, which is stored in bf16")


def _plain_pack(task: Task) -> bool:
    """Whether operand 1 is packed, where there are no panels."""
    if task.layout.pack in PANELS:
        raise task.refuse(2, f"only a tile of {' or '.join(map(str, _wide_lanes(task)))} lanes has panels")
    return bool(task.layout.pack)


def _is_wide(task: Task) -> bool:
    """Whether the plan wants a wide tile: by its lanes, or by what only such a tile has."""
    layout = task.layout
    if layout.lanes is not None:
        return layout.lanes in _wide_lanes(task)
    tile = layout.tile or (1, 1)
    beyond = tile != (1, 1) and (tile[0] not in TILE_ROWS or tile[1] not in TILE_COLUMNS)
    return beyond or layout.pack in PANELS or isinstance(layout.rows, int)


def _wide_lanes(task: Task) -> tuple[int, int]:
    """Lanes of 32 and of 64 bytes."""
    register = REGISTER[task.arithmetic]
    return 2 * register, 4 * register


def _wide(task: Task, contraction: Contraction, point: Point) -> Point:
    """The point in wide tiles. Raises E7002 for what forbids them."""
    layout = task.layout
    lanes = layout.lanes or max(
        each for each in _wide_lanes(task) if point.columns % each == 0 or each == _wide_lanes(task)[0]
    )
    obstacle = _obstacle(task, contraction, point, lanes) or _no_operand(task, point)
    if obstacle is None and not keeps_sums(task, contraction, point.kblock):
        obstacle = 3, "a wide tile stores its sums between blocks and between axes of K, and they are stored in bf16"
    if obstacle is not None:
        raise task.refuse(*obstacle)
    if any(size == 0 for size in contraction.sizes.values()):
        # Nothing is read: the plain loops write the zeros, if there are any.
        return Point(False, 1, 1, None, "IJ", 1, point.pack is True)
    block = layout.rows if isinstance(layout.rows, int) and layout.rows < contraction.size(contraction.i) else None
    return replace(point, lanes=lanes, block=block, is_wide=True)


def keeps_sums(task: Task, contraction: Contraction, kblock: int | None) -> bool:
    """Whether a wide tile's sums are stored once alone, or as they are accumulated."""
    leading = prod(contraction.sizes[label] for label in contraction.k[:-1])
    return task.choice.storage != "bf16" or (kblock is None and leading <= 1)


def _no_operand(task: Task, point: Point) -> tuple[int, str] | None:
    """What of the operands forbids a wide tile, which reads them in memory: a condition and a sentence."""
    for number, operand in enumerate(task.apply(task.root).operands):
        if point.pack == "both" or (number == 1 and point.pack):
            continue
        if not isinstance(operand, Ref) or task.is_free(operand):
            return 2, f"operand {number} is computed where it is read, and a wide tile reads memory: pack it"
        kind = task.read_type(operand).element.kind
        if kind not in ("f64", "f32", "bf16", "int8", "int4"):
            return 2, f"operand {number} holds no reals"
        if not is_read_wide(task, number):
            return 2, f"a wide tile reads no {kind} of this layout as operand {number}: pack it"
    return None


def is_read_wide(task: Task, number: int) -> bool:
    """Whether a wide tile reads an operand where it lies, in memory.

    Integers with scales it reads as operand 1 alone; those of four bits in rows that are the last axis.
    """
    operand = task.apply(task.root).operands[number]
    if not isinstance(operand, Ref) or task.is_free(operand):
        return False
    buffer = task.read_type(operand)
    element = buffer.element
    if element.scales is None:
        return element.kind in ("f64", "f32", "bf16")
    first, end = element.scales
    last = len(buffer.axes) - 1
    return number == 1 and (element.kind == "int8" or end <= last or first == last)


def _lanes(task: Task, contraction: Contraction, point: Point) -> int:
    """The lanes stated, or the register's where it can be had."""
    stated = task.layout.lanes
    register = REGISTER[task.arithmetic]
    if stated not in (None, 1, register):
        known = ", ".join(map(str, (register, *_wide_lanes(task))))
        raise task.refuse(2, f"{stated} lanes are not in the space: one, or {known} of {task.arithmetic}")
    _check_narrow(task, point)
    if stated == 1:
        return 1
    obstacle = _obstacle(task, contraction, point, register)
    if obstacle is None:
        return register
    if stated is None:
        return 1
    raise task.refuse(*obstacle)


def _check_narrow(task: Task, point: Point) -> None:
    """Refuses what only wide tiles have."""
    wide = f"only a tile of {' or '.join(map(str, _wide_lanes(task)))} lanes has"
    if point.pack in PANELS:
        raise task.refuse(2, f"{wide} panels")
    if isinstance(task.layout.rows, int):
        raise task.refuse(2, f"{wide} blocks of rows")
    if (point.rows, point.columns) != (1, 1) and (point.rows not in TILE_ROWS or point.columns not in TILE_COLUMNS):
        raise task.refuse(2, f"{wide} {point.rows} rows and {point.columns} columns")


def _obstacle(task: Task, contraction: Contraction, point: Point, register: int) -> tuple[int, str] | None:
    """What forbids lanes: a condition and a sentence."""
    if task.choice.storage == "bf16" and register == REGISTER[task.arithmetic]:
        return 2, "lanes of a register can't be stored in bf16"
    if point.columns % register:
        return 2, f"a tile of {point.columns} columns has no vectors of {register}"
    if contraction.out[-1] != contraction.j:
        return 2, "the columns of the tile are not contiguous in the result"
    if not point.pack and not is_contiguous(task, contraction):
        return 4, "lanes need operand 1 contiguous along J: pack it"
    return None


def is_contiguous(task: Task, contraction: Contraction) -> bool:
    """Whether operand 1 lies in memory with J as its last axis."""
    operand = task.apply(task.root).operands[1]
    return isinstance(operand, Ref) and not task.is_free(operand) and contraction.right[-1:] == (contraction.j,)
