"""Rows: what data are to the loop, whatever they came from, and the order in which epochs take them.

A row has an array for each leaf of the objective's batch, by the leaf's dotted path. The order of an epoch, and where
the windows of a text begin in it, depend on the seed and the epoch's number alone (docs/draws.md): the batch of any
step can be made without those before it. Called by the loop; made by `sources` and by callers that pass arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from presk import draw
from presk.run.bits import hash_arrays

Array = NDArray[Any]
Places = NDArray[np.int64]

WHOLE = 16 * 2**20
"""Bytes of a mapped file that are read to tell it from another; of larger ones as much is read, in samples."""

SAMPLES = 256
"""Samples of a large file, at equal distances, its beginning and its end among them."""

STREAM = "shuffle"
"""The stream of an epoch's order; its path is empty, for a training has one order."""

WINDOWS = "windows"
"""The stream of the places where an epoch's windows begin; its path is empty as well."""


class Rows(ABC):
    """A number of rows that can be taken by their places."""

    WORD: ClassVar[str] = "rows"
    """What they are, among a run's settings: a run whose windows weren't drawn isn't gone on with under others."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many rows there are."""

    @abstractmethod
    def take(self, places: Places) -> dict[str, Array]:
        """The rows at these places as arrays with a leading axis, by leaf."""

    @abstractmethod
    def part(self, start: int, end: int) -> Rows:
        """The rows from `start` up to `end`."""

    @abstractmethod
    def arrays(self) -> Mapping[str, Array]:
        """What the rows are made of, whole: their types, sizes and hash are found out by it."""

    def in_epoch(self, _seed: int, _epoch: int) -> Rows:
        """The rows as an epoch has them: the same in all, but for windows, whose places are drawn."""
        return self

    def hash(self) -> str:
        """`sha256:…` of what the rows are made of; of large mapped files by their samples."""
        return hash_arrays(dict(_hashed(name, array) for name, array in self.arrays().items()))

    def written(self) -> dict[str, int]:
        """When the files that are known by samples were last written, in nanoseconds, by name."""
        large = {name: array for name, array in self.arrays().items() if is_large(array)}
        files = {name: getattr(array, "filename", None) for name, array in large.items()}
        return {name: Path(file).stat().st_mtime_ns for name, file in files.items() if file is not None}


@dataclass(frozen=True)
class ArrayRows(Rows):
    """Arrays with a leading axis of one size."""

    fields: Mapping[str, Array]

    @property
    def count(self) -> int:
        """The size of that axis."""
        return len(next(iter(self.fields.values())))

    def take(self, places: Places) -> dict[str, Array]:
        return {name: np.asarray(array[places]) for name, array in self.fields.items()}

    def part(self, start: int, end: int) -> ArrayRows:
        return ArrayRows({name: array[start:end] for name, array in self.fields.items()})

    def arrays(self) -> Mapping[str, Array]:
        return self.fields


@dataclass(frozen=True)
class PickedRows(Rows):
    """Rows at some places of others. Nothing is copied before it is taken: the others may be a mapped file."""

    whole: Rows
    places: Places

    @property
    def count(self) -> int:
        """The places picked."""
        return len(self.places)

    def take(self, places: Places) -> dict[str, Array]:
        return self.whole.take(self.places[places])

    def part(self, start: int, end: int) -> PickedRows:
        return PickedRows(self.whole, self.places[start:end])

    def arrays(self) -> Mapping[str, Array]:
        return self.whole.arrays()

    def hash(self) -> str:
        """Of all rows and the places picked."""
        return hash_arrays({"rows": np.frombuffer(self.whole.hash().encode(), np.uint8), "places": self.places})


@dataclass(frozen=True)
class WindowRows(Rows):
    """Windows of `context` + 1 symbols: `x` is a window without its last, `y` without its first.

    Without `starts` they lie at a stride of `context`: that is how they measure. A training draws where they begin
    (`in_epoch`): windows that lie at the same places in all epochs tie what is learned to those places, and the model
    is lost wherever else a text is read from.
    """

    WORD: ClassVar[str] = "drawn windows"

    symbols: Array
    context: int
    names: tuple[str, ...]
    starts: Places | None = None

    @property
    def count(self) -> int:
        """Whole windows alone."""
        return max(0, (len(self.symbols) - 1) // self.context)

    def take(self, places: Places) -> dict[str, Array]:
        begins = places * self.context if self.starts is None else self.starts[places]
        starts = begins[:, None] + np.arange(self.context)
        shifted = {"x": starts, "y": starts + 1}
        return {name: np.asarray(self.symbols[shifted[name]], dtype=np.int64) for name in self.names}

    def part(self, start: int, end: int) -> WindowRows:
        first = start * self.context
        return WindowRows(self.symbols[first : end * self.context + 1], self.context, self.names)

    def arrays(self) -> Mapping[str, Array]:
        return {"symbols": self.symbols}

    def in_epoch(self, seed: int, epoch: int) -> WindowRows:
        """As many windows, one from each of equal parts of all places where a window can begin, so that an epoch reads
        the text evenly. Window i takes element i of the stream.
        """
        count = self.count
        size, rest = divmod(len(self.symbols) - self.context, count)  # the first `rest` parts have a place more
        numbers = np.arange(count)
        sizes = (size + (numbers < rest)).astype(np.uint64)
        offsets = _below(draw.bits(draw.key(seed, WINDOWS, ""), epoch, count), sizes)
        return replace(self, starts=numbers * size + np.minimum(numbers, rest) + offsets)


def _below(bits: NDArray[np.uint64], sizes: NDArray[np.uint64]) -> Places:
    """⌊b·n/2⁶⁴⌋, a whole number below n, which is less than 2³²: exactly, in words of 64 bits."""
    high, low = bits >> np.uint64(32), bits & np.uint64(0xFFFFFFFF)
    return ((high * sizes + (low * sizes >> np.uint64(32))) >> np.uint64(32)).astype(np.int64)


@dataclass(frozen=True)
class Batches:
    """The batches of a training: `size` rows each; the last of an epoch is shorter where `keep` is set, else left out.

    Steps and epochs count from 1.
    """

    rows: Rows
    size: int
    keep: bool
    seed: int

    @property
    def per_epoch(self) -> int:
        """Steps in an epoch."""
        whole, rest = divmod(self.rows.count, self.size)
        return whole + 1 if self.keep and rest else whole

    @property
    def first(self) -> int:
        """Rows of the first batch."""
        return min(self.size, self.rows.count)

    def epoch(self, step: int) -> int:
        """The epoch a step belongs to."""
        return (step - 1) // self.per_epoch + 1

    def from_step(self, step: int) -> Iterator[dict[str, Array]]:
        """The batches of this step and all that follow, without an end."""
        epoch, place = divmod(step - 1, self.per_epoch)
        while True:
            order = draw.shuffle(draw.key(self.seed, STREAM, ""), epoch + 1, self.rows.count)
            rows = self.rows.in_epoch(self.seed, epoch + 1)
            for at in range(place, self.per_epoch):
                yield rows.take(order[at * self.size : (at + 1) * self.size])
            epoch, place = epoch + 1, 0


def is_large(array: Array) -> bool:
    """Whether an array is a mapped file's that isn't read as a whole."""
    return isinstance(array, np.memmap) and array.nbytes > WHOLE


def _hashed(name: str, array: Array) -> tuple[str, Array]:
    """What stands for an array in a hash: itself, or of a large file its number of rows and runs of them."""
    if not is_large(array):
        return name, np.asarray(array)
    count, size = len(array), max(1, array.nbytes // len(array))
    samples = min(count, max(2, min(SAMPLES, WHOLE // size)))
    run = max(1, WHOLE // samples // size)
    starts = [at * (count - run) // max(1, samples - 1) for at in range(samples)]
    return f"{name}, sampled of {count}", np.concatenate([np.asarray(array[at : at + run]) for at in starts])


def in_order(rows: Rows, size: int) -> Iterator[tuple[int, dict[str, Array]]]:
    """All rows in their own order, `size` at a time, the last batch shorter; each with its first row's place."""
    for start in range(0, rows.count, size):
        yield start, rows.take(np.arange(start, min(start + size, rows.count)))
