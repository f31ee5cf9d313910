"""What tests of the native backend share: one call on the interpreter of kernels and on machine code, bit by bit."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

import presk
from presk.choose.conformance.cases import Case, cases
from presk.core.nodes import Program
from presk.run import trees
from presk.run.backend import Entry
from presk.run.kernel_backend import KernelInterpreter
from presk.run.native_backend import Native

TYPES = ("f64", "f32", "bf16")

UNSIGNED = {2: np.uint16, 4: np.uint32, 8: np.uint64}


@functools.cache
def cases_of(group: str) -> tuple[Case, ...]:
    """The conformance suite's calls of one group."""
    return tuple(cases([group]))


def bits(leaf: Any) -> np.ndarray:
    """An array's bits, every NaN being the same one."""
    array = np.asarray(leaf)
    if array.dtype.kind not in "fV":
        return array
    whole = array.view(UNSIGNED[array.dtype.itemsize]).copy()
    whole[np.isnan(array)] = ~np.zeros((), whole.dtype)
    return whole


def assert_same(found: Any, wanted: Any) -> None:
    """Equal trees, equal types and shapes, equal bits."""
    pairs = zip(trees.leaves(found), trees.leaves(wanted), strict=True)
    for (path, one), (other_path, other) in pairs:
        assert path == other_path
        assert one.dtype == other.dtype and one.shape == other.shape
        different = np.argwhere(bits(one) != bits(other))
        assert not different.size, f"{'.'.join(path)} at {different[0]}: {one[tuple(different[0])]!r} is another one"


def kernel(program: Program, realization: Any, plan: Any = None, **options: Any) -> Any:
    """The entry on the interpreter of kernels, one thread; without a plan in the plainest loops."""
    plan = plan or presk.Plan("default")
    return KernelInterpreter().prepare(_entry(program), realized(realization), plan, threads=1, **options)


def native(program: Program, realization: Any, plan: Any = None, *, lanes: bool = True, threads: int = 1) -> Any:
    """The entry in machine code; without a plan as `auto` lays it out."""
    return Native(lanes=lanes).prepare(_entry(program), realized(realization), plan, threads=threads)


def realized(realization: Any) -> presk.Realization:
    """A realization, or the uniform one of a type."""
    return realization if isinstance(realization, presk.Realization) else presk.Realization(realization)


def _entry(program: Program) -> Entry:
    return Entry(program.entry.name, program)


def assert_same_bits(program: Program, values: Sequence[Any], realization: Any, **call: int) -> None:
    """The interpreter's bits from machine code, in lanes and without."""
    wanted = kernel(program, realization)(*values, **call)
    for lanes in (True, False):
        assert_same(native(program, realization, lanes=lanes)(*values, **call), wanted)
