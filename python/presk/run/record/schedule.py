"""The Schedule: buffers, and the steps that read and write them, in order.

Pure data without behaviour; `record.text` prints it, `record.reader` reads it, Rust reads, verifies and runs the same
text (docs/schedule.md has the grammar). Sizes and offsets are counted in elements of the buffer named. Invariants,
proven in Rust before anything runs: every view lies in its buffer at every round of the loops around it; a step's
outputs overlap none of its inputs, except where a kernel's text says that an output shares an input's buffer; a
swap's buffers are of one size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Union

from presk.kernel.nodes import Element, Kernel

Space = Literal["h", "o", "a", "c"]
"""Inputs, outputs, buffers of the arena, constants."""


@dataclass(frozen=True, slots=True)
class Name:
    """A buffer's name: `h0`, `o0`, `a3`, `c1`."""

    space: Space
    number: int


@dataclass(frozen=True, slots=True)
class Input:
    """A leaf of an argument:

    its path from the parameter's name down, and its element and shape. `donated` may be written.

    A quantised leaf has a second buffer of scales, f32, right behind it.
    """

    path: str
    element: Element
    shape: tuple[int, ...]
    donated: bool = False


@dataclass(frozen=True, slots=True)
class Output:
    """A leaf of the result. `shares` is the donated input whose buffer it is."""

    path: str
    element: Element
    shape: tuple[int, ...]
    shares: int | None = None


@dataclass(frozen=True, slots=True)
class Region:
    """A buffer of the arena: its element, its number of elements, and its first byte."""

    element: Element
    count: int
    offset: int


@dataclass(frozen=True, slots=True)
class Fixed:
    """A constant: one element, already rounded to its type."""

    element: Element
    value: float | int


@dataclass(frozen=True, slots=True)
class View:
    """Elements of a buffer from an offset on: `start` plus, for each loop, a stride times its counter."""

    buffer: Name
    start: int = 0
    strides: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Divided:
    """The loop at `depth` divided among `workers` (None: the pool's number)."""

    depth: int
    workers: int | None


Splitting = Union[Divided, Literal["whole"], None]
"""How a launch is divided; None leaves it to the executor, `whole` forbids it."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel by its number on views."""

    kernel: int
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    split: Splitting
    site: str


@dataclass(frozen=True, slots=True)
class Repeat:
    """The steps for `counter` = 0 up to `trips` − 1, downward where `reversed`."""

    counter: int
    trips: int
    reversed: bool
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Convert:
    """`count` elements of one type to another, each rounded once (f64 to bf16 through f32)."""

    source_element: Element
    element: Element
    count: int
    source: View
    target: View


@dataclass(frozen=True, slots=True)
class Copy:
    """`count` elements, as they are."""

    element: Element
    count: int
    source: View
    target: View


@dataclass(frozen=True, slots=True)
class SetCount:
    """The number of the round, `counter` + `start`, as one `i64`."""

    counter: int
    start: int
    target: View


@dataclass(frozen=True, slots=True)
class Swap:
    """Two buffers of the arena change places: the state of a loop and the next."""

    first: Name
    second: Name


@dataclass(frozen=True, slots=True)
class Key:
    """What a draw's key is made of besides seed and step: the stream, the call's path, and the loops' counters."""

    stream: str
    path: str
    counters: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Draw:
    """`normal` (std, mean) or `uniform` (lo, hi) of a shape in f64, narrowed to the element.

    `batch` is the axis that numbers rows, or None. `within`: the outermost values of a uniform.
    """

    kind: Literal["normal", "uniform"]
    first: float
    second: float
    shape: tuple[int, ...]
    batch: int | None
    element: Element
    key: Key
    target: View
    within: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Mask:
    """A dropout mask: 0 with probability p, else 1 / (1 − p) computed in f64 and narrowed."""

    probability: View
    probability_element: Element
    shape: tuple[int, ...]
    batch: int | None
    element: Element
    key: Key
    target: View


@dataclass(frozen=True, slots=True)
class Sample:
    """A position drawn along the axis `axis` of logits, of `size` elements; `shape` is the result's, without that axis.

    Temperature and top_p are one-element views of the scalars' element.
    """

    element: Element
    shape: tuple[int, ...]
    batch: int | None
    axis: int
    size: int
    top_k: int
    logits: View
    scalar_element: Element
    temperature: View
    top_p: View
    key: Key
    target: View


Step = Union[Launch, Repeat, Convert, Copy, SetCount, Swap, Draw, Mask, Sample]


@dataclass(frozen=True, slots=True)
class Schedule:
    """All an entry does. `arena` is its size in bytes: the peak memory beside inputs and outputs."""

    name: str
    realization: str
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    constants: tuple[Fixed, ...]
    regions: tuple[Region, ...]
    arena: int
    kernels: tuple[Kernel, ...]
    steps: tuple[Step, ...]
