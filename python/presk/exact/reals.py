"""A real tensor while it is being computed: a row-major list of elements, or row blocks held as matrices, or both.

Matrices add, scale and multiply at flint's own speed, lists are what elementwise functions work on; each form is made
from the other when it is first asked for, and kept. Shapes and names are no part of it: the compiled program knows
them.

Radii: in an evaluation that certifies nothing they are dropped, lazily. Sums, differences and products have the same
midpoints whatever the radii, so dropping may wait until `points` is asked for, which everything else does; `age` counts
the operations since, so that radii can't grow out of hand. When certifying, a value counts as settled from the start.

Invariants: at least one form is there; all blocks have the same shape, and their rows laid end to end are the row-major
order; where both forms are there they hold the same balls. Nobody writes into either.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

from flint import arb, arb_mat

from presk.exact.elements import Element

CACHED_POSITIONS = 1 << 14
"""Elements of the largest matrix whose positions are kept for fast reading and writing (72 bytes each)."""

OLDEST = 12
"""Operations after which radii are dropped in any case: a product doubles an error's exponent at worst."""


class NoBalls(Exception):
    """Elements that can't stand in a matrix: undefined or tracked ones."""


class Reals:
    """The elements of a real tensor; see the module."""

    __slots__ = ("_blocks", "_flat", "_kept", "age", "settled")

    def __init__(
        self,
        flat: list[Element] | None = None,
        blocks: tuple[arb_mat, ...] | None = None,
        *,
        settled: bool = False,
        age: int = 1,
    ) -> None:
        self._flat = flat
        self._blocks = blocks
        self._kept: dict[Hashable, Any] | None = None
        self.settled = settled
        self.age = age

    def entries(self) -> list[Element]:
        """The elements in row-major order, radii as they are."""
        if self._flat is None:
            assert self._blocks is not None
            flat: list[Element] = []
            for block in self._blocks:
                flat += read_matrix(block)
            self._flat = flat
        return self._flat

    @property
    def first(self) -> Element | None:
        """The first element, where there is one and the list of them is there."""
        return self._flat[0] if self._flat else None

    def points(self) -> list[Element]:
        """The elements with radii dropped, or as they are when certifying."""
        if not self.settled:
            self.settle()
        return self.entries()

    def settle(self) -> None:
        """Drops the radii; when certifying there is nothing to drop."""
        if self.settled:
            return
        if self._blocks is not None:
            self._blocks = tuple(block.mid() for block in self._blocks)
            self._flat = None
        else:
            self._flat = [element.mid() for element in self.entries()]
        self._kept = None
        self.settled = True
        self.age = 0

    @property
    def blocks(self) -> tuple[arb_mat, ...] | None:
        """The row blocks, if that form is there."""
        return self._blocks

    def as_blocks(self, count: int, rows: int, columns: int) -> tuple[arb_mat, ...]:
        """The elements as `count` matrices of `rows` × `columns`, radii dropped. NoBalls where an element is no ball.

        Radii are dropped from whole matrices, twenty times as fast as from elements.
        """
        blocks = self._blocks
        if blocks is None or len(blocks) != count or (count and not has_shape(blocks[0], rows, columns)):
            blocks = build_blocks(self.entries(), count, rows, columns)
            if self._blocks is not None:
                return blocks if self.settled else tuple(block.mid() for block in blocks)
            self._blocks = blocks
        if not self.settled:
            self.settle()
        assert self._blocks is not None
        return self._blocks

    def kept(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What `make` gave for this key first: parts and layouts that loops and repeated calls ask for again."""
        found = None if self._kept is None else self._kept.get(key)
        if found is None:
            found = make()
            if self._kept is None:
                self._kept = {}
            self._kept[key] = found
        return found

    def parts(self, count: int) -> list[Reals]:
        """The `count` slices along the first axis."""
        made: list[Reals] = self.kept(("parts", count), lambda: self._split(count))
        return made

    def _split(self, count: int) -> list[Reals]:
        blocks = self._blocks
        if blocks is not None and self._flat is None and count and len(blocks) % count == 0:
            each = len(blocks) // count
            return [
                Reals(blocks=blocks[at * each : (at + 1) * each], settled=self.settled, age=self.age)
                for at in range(count)
            ]
        flat = self.entries()
        size = len(flat) // count if count else 0
        return [Reals(flat[at * size : (at + 1) * size], settled=self.settled, age=self.age) for at in range(count)]


def joined(parts: Sequence[Reals]) -> Reals:
    """The parts laid end to end along a new or first axis. There must be one at least."""
    if len(parts) == 1:
        return parts[0]
    settled = all(part.settled for part in parts)
    age = max(part.age for part in parts)
    first = parts[0].blocks
    if first:
        rows, columns = first[0].nrows(), first[0].ncols()
        found = [part.blocks for part in parts]
        if all(blocks and has_shape(blocks[0], rows, columns) for blocks in found):
            return Reals(blocks=tuple(block for blocks in found for block in blocks or ()), settled=settled, age=age)
    return Reals([element for part in parts for element in part.entries()], settled=settled, age=age)


def has_shape(matrix: arb_mat, rows: int, columns: int) -> bool:
    """Whether the matrix has that many rows and columns."""
    return matrix.nrows() == rows and matrix.ncols() == columns


def build_blocks(flat: Sequence[Element], count: int, rows: int, columns: int) -> tuple[arb_mat, ...]:
    """`count` matrices of consecutive elements."""
    size = rows * columns
    return tuple(build_matrix(rows, columns, flat[at * size : (at + 1) * size]) for at in range(count))


def build_matrix(rows: int, columns: int, flat: Sequence[Element]) -> arb_mat:
    """The matrix of a row-major list; twice as fast as arb_mat's constructor. NoBalls where an element is no ball."""
    made = arb_mat(rows, columns)
    try:
        for position, element in zip(positions(rows, columns), flat, strict=True):
            made[position] = element
    except TypeError as error:
        if all(isinstance(element, arb) for element in flat):
            raise
        raise NoBalls from error
    return made


def read_matrix(matrix: arb_mat) -> list[arb]:
    """A matrix's elements in row-major order."""
    return [matrix[position] for position in positions(matrix.nrows(), matrix.ncols())]


def positions(rows: int, columns: int) -> Sequence[tuple[int, int]]:
    """(0, 0), (0, 1) … in row-major order; kept where they are few, as making them costs as much as using them."""
    if rows * columns <= CACHED_POSITIONS:
        return _positions(rows, columns)
    return tuple(product(range(rows), range(columns)))


@lru_cache(maxsize=256)
def _positions(rows: int, columns: int) -> tuple[tuple[int, int], ...]:
    return tuple(product(range(rows), range(columns)))


@lru_cache(maxsize=256)
def ones(rows: int, columns: int) -> arb_mat:
    """A matrix of ones: it repeats a row or column, and sums, by one product at flint's speed."""
    return build_matrix(rows, columns, [arb(1)] * (rows * columns))
