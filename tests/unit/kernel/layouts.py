"""Every point of a contraction's layout space and of a softmax's, for tests that hold them to the default's bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from presk.kernel.lower.interleave import ROWS
from presk.kernel.lower.space import (
    BLOCKS_OF_K,
    BLOCKS_OF_ROWS,
    PANELS,
    REGISTER,
    ROW_COLUMNS,
    TILE_COLUMNS,
    TILE_ROWS,
    WIDE_COLUMNS,
    WIDE_ROWS,
)
from presk.kernel.lowered import Layout

ORDERS = {None: ("IJ", "JI"), 1: ("IJK", "IKJ", "JIK", "JKI", "KIJ", "KJI")}


def points(storage: str, columns: int, *, contiguous: bool) -> Iterator[Layout]:
    """The points of a contraction with J of this size; `contiguous`: its operand 1 is along J without a pack."""
    register = REGISTER["f64" if storage == "f64" else "f32"]
    if storage != "bf16":
        yield from (Layout(form="row-wise", pack=pack) for pack in (False, True))
    tiles = [(1, 1), *((m, n) for m, n in product(TILE_ROWS, TILE_COLUMNS) if n <= columns)]
    for tile, kblock, pack in product(tiles, (None, *BLOCKS_OF_K), (False, True)):
        for order in ORDERS[None if kblock is None else 1]:
            if storage == "bf16" and kblock is not None and not order.endswith("K"):
                continue
            has_lanes = storage != "bf16" and tile != (1, 1) and (pack or contiguous)
            for lanes in (1, register) if has_lanes else (1,):
                yield Layout(tile=tile, kblock=kblock or "none", order=order, lanes=lanes, pack=pack)


def wide_points(storage: str, columns: int, *, contiguous: bool, sums: int = 1) -> Iterator[Layout]:
    """The points of the same contraction in wide tiles; `sums` are the axes it sums over."""
    if storage == "bf16" and sums > 1:
        return
    register = REGISTER["f64" if storage == "f64" else "f32"]
    blocks = (None,) if storage == "bf16" else (None, *BLOCKS_OF_K)
    packs = (False, True, *PANELS) if contiguous else (True, *PANELS)
    tiles = [(m, n) for m, n in product(WIDE_ROWS, WIDE_COLUMNS) if n <= columns]
    tiles += [(1, n) for n in ROW_COLUMNS if n <= columns]
    for tile, kblock, pack, rows in product(tiles, blocks, packs, (None, *BLOCKS_OF_ROWS)):
        for order in ORDERS[None if kblock is None else 1]:
            for lanes in (2 * register, 4 * register):
                if tile[1] % lanes == 0:
                    point = Layout(tile=tile, kblock=kblock or "none", order=order, lanes=lanes, pack=pack)
                    yield replace(point, rows=rows or "none")


def softmax_points(storage: str) -> Iterator[Layout]:
    """The points of a softmax."""
    for passes, rows in product((3,) if storage == "bf16" else (3, 2), (None, *ROWS)):
        yield Layout(passes=passes, rows=rows)
