"""What lowering gives: kernels, and which buffers of the host program each reads and writes.

The seam between the lowering of one fusion group (`kernel.lower`) and the recorder (`run.record`), which evaluates a
program over handles and knows where every buffer is. Pure data without behaviour. Everything here is a function of the
group, the element types of what it reads, the realization's choice for its site and the plan's for its nest: so a
lowered group is cached under these.

What the recorder does with it: each input of a launch is a row-major buffer of the kernel's type for it. Where the
host holds the tensor in a wider element than that (f64 for f32, f32 for bf16), it converts a copy first; a narrower
one is what the kernel's type says. A let whose type is a tuple (`unstack`, `top_k`) is stored component by component.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from presk.core.nodes import Ref
from presk.kernel.nodes import BufferType, Kernel


@dataclass(frozen=True, slots=True)
class Temporary:
    """A buffer that lives between the launches of one group: a pack's panel, a bf16 scatter's sums."""

    number: int


Buffered = Union[Ref, Temporary]
"""A tensor of the host program, or a temporary. A tensor is a let, a parameter, a leaf of one of these (its path to the
end), or the element parameter of a loop: a counter's is a one-element `i64<n` buffer."""


@dataclass(frozen=True, slots=True)
class Split:
    """The loop at `depth` divided among `workers` (None: the pool's)."""

    depth: int
    workers: int | None


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel with its buffers in order. `work` is the number of weighted operations, for the host's own split.

    `split` None leaves the split to the host, `whole` forbids one. An input whose buffer an output shares
    (`kernel.outputs[i].shares`) is that output's buffer before the launch.
    """

    kernel: Kernel
    inputs: tuple[Buffered, ...]
    outputs: tuple[Buffered, ...]
    work: int
    split: Split | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class InPlace:
    """Other launches with the same result, for where `overwritten` isn't needed any more: `output` takes its buffer.

    `overwritten` is held exactly as `output` is stored, in element and sizes, and is no other input of the launches.
    """

    output: Ref
    overwritten: Ref
    launches: tuple[Launch, ...]


@dataclass(frozen=True, slots=True)
class Lowered:
    """A group as launches in order. `chosen` is what the rule `auto` chose for it, where that was asked.

    `stored` is what each root, or component of one, is stored in; `temporaries` the buffers between the launches.
    `in_place` are ways to save a buffer, the best one first; the host takes at most one of them. A group that is a view
    has no launches and stores nothing.
    """

    launches: tuple[Launch, ...]
    stored: tuple[tuple[Ref, BufferType], ...]
    temporaries: tuple[BufferType, ...] = ()
    in_place: tuple[InPlace, ...] = ()
    chosen: Chosen | None = None


@dataclass(frozen=True, slots=True)
class SiteChoice:
    """What a realization says of one site: its storage, the order of its sums, and whether multiply-adds are fused.

    `partials` is None for sequential order, else the number of interleaved partial sums. `accumulate` is the type sums
    are taken in (None: the arithmetic type of the storage), f64 over f32 storage being the other one that runs.
    `computed`, where it isn't None, is the type the site is computed in whose result alone is rounded to the storage:
    operands are read as they are held, and single numbers too are rounded.
    """

    storage: str
    partials: int | None = None
    fma: bool = False
    accumulate: str | None = None
    computed: str | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """What a plan says of one nest (realization.md); None leaves the default.

    `form` is `"row-wise"` or `"tiled"`, `tile` (rows, columns), `kblock` a number or `"none"`, `order` such as `"JI"`
    or `"KIJ"`, `passes` 3 or 2 (softmax), `runs` whether elementary functions are computed over runs of a loop; `split`
    may be `"none"`. Values beyond these are kept as written: lowering
    says which of them a nest has.
    """

    form: str | None = None
    tile: tuple[int, int] | None = None
    kblock: int | str | None = None
    rows: int | str | None = None
    order: str | None = None
    lanes: int | None = None
    pack: bool | str | None = None
    epilogue: bool | str | None = None
    passes: int | None = None
    runs: bool | None = None
    split: Split | str | None = None


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the rule `auto` chose for a nest, and why: a few words for each choice that isn't the default."""

    layout: Layout
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Machine:
    """What the rule `auto` looks at beside the nest: how many workers there are, and bytes of a core's data caches.

    `caches` begin with the nearest; where the system doesn't say there are none, and the rule assumes usual ones.
    `vector` are the bytes of the widest vectors that wide tiles are made of.
    """

    threads: int = 1
    caches: tuple[int, ...] = ()
    vector: int = 32
