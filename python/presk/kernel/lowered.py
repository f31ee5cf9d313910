"""What lowering gives: kernels, and which buffers of the host program each reads and writes.

The seam between the lowering of one fusion group (`kernel.lower`) and the recorder (`run.record`), which evaluates a
program over handles and knows where every buffer is. Pure data without behaviour. Everything here is a function of the
group, the element types of what it reads, the realization's choice for its site and the plan's for its nest: so a
lowered group is cached under these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from presk.core.nodes import Ref
from presk.kernel.nodes import BufferType, Element, Kernel


@dataclass(frozen=True, slots=True)
class Temporary:
    """A buffer that lives between the launches of one group: a pack's panel, an intermediate of a split nest."""

    number: int


@dataclass(frozen=True, slots=True)
class Counter:
    """The number of the round of the enclosing loop whose element parameter this is, as a one-element `i64` buffer."""

    number: int


Source = Union[Ref, Temporary, Counter]
"""What an input of a kernel is: a tensor of the host program, or a temporary."""

Target = Union[int, Temporary]
"""What an output of a kernel is: the number of a let, or a temporary."""


@dataclass(frozen=True, slots=True)
class Split:
    """The loop at `depth` divided among `workers` (None: the pool's), None where the host decides by the work done."""

    depth: int
    workers: int | None


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel with its buffers in order. `work` is the number of weighted operations, for the host's own split.

    `split` None leaves the split to the host, `whole` forbids one.
    """

    kernel: Kernel
    inputs: tuple[Source, ...]
    outputs: tuple[Target, ...]
    work: int
    split: Split | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Lowered:
    """A group as launches in order. `stored` is the element each root let is stored in, `temporaries` the buffers between."""

    launches: tuple[Launch, ...]
    stored: tuple[tuple[int, Element], ...]
    temporaries: tuple[BufferType, ...] = ()


@dataclass(frozen=True, slots=True)
class SiteChoice:
    """What a realization says of one site: its storage, the order of its sums, and whether multiply-adds are fused.

    `partials` is None for sequential order, else the number of interleaved partial sums. `accumulate` is the type sums are
    taken in: the arithmetic type of the storage, or f64 over f32 storage.
    """

    storage: str
    partials: int | None = None
    fma: bool = False
    accumulate: str | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """What a plan says of one nest (realization.md); None leaves the default.

    `tile` is (rows, columns); `order` such as `"JI"` or `"KIJ"`; `pack` true, `"panel"` or `"both"`; `passes` of softmax.
    """

    form: str | None = None
    tile: tuple[int, int] | None = None
    kblock: int | None = None
    rows: int | None = None
    order: str | None = None
    lanes: int | None = None
    pack: bool | str | None = None
    epilogue: bool | str | None = None
    passes: int | None = None
    split: Split | str | None = None
