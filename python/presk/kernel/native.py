"""The Rust side of kernel text: the verifier, the lane rewrite, machine code to be read, and the interpreter on arrays.

Faults come back as diagnostics with their place in the text. Called by the backends and by tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from presk import _native
from presk.text.diagnostics import PreskError, fail
from presk.text.spans import Source, Span

Array: TypeAlias = NDArray[Any]
Result = TypeVar("Result")


def verify(source: Source | str) -> str:
    """Reads and verifies a text of kernels, and gives the text they print as.

    Raises PreskError: E9201 syntax, E9202 types, E9203 bounds not proven, E9204 a variable that may be unassigned,
    E9205 a shared buffer read too late, E9206 a limit, E9209 an integer not proven below its buffer's bound, E9219 a
    tile that no routine computes.
    """
    source = _source(source)
    return _call(source, lambda: _native.verify_kernels(source.text))


def rewrite_lanes(source: Source | str, split: int | None = None) -> str:
    """The text of one kernel with its lane-wise loops in vectors. `split`: the depth of a loop to leave as it is."""
    source = _source(source)
    return _call(source, lambda: _native.kernel_lanes(source.text, split))


def expand(source: Source | str) -> str:
    """The text of kernels with every statement over runs written out as loops."""
    source = _source(source)
    return _call(source, lambda: _native.expand_kernels(source.text))


def parallel_depths(source: Source | str) -> list[int]:
    """The depths, from 0, of the loops of one kernel that may be divided over workers."""
    source = _source(source)
    return _call(source, lambda: _native.parallel_depths(source.text))


HOST = "host"
"""The target that is the machine at hand; others: `baseline`, `sse2`, `sse4.2`, `avx`, `avx2`, `avx512`, `aarch64`."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One machine instruction: its bytes' range, the line of the kernel's text it comes from (0: none), its words."""

    start: int
    end: int
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class MachineCode:
    """A kernel's machine code: all bytes, the constants at their end included, and the instructions in order."""

    code: bytes
    instructions: tuple[Instruction, ...]


def clif(source: Source | str, *, target: str = HOST, lanes: bool = True, depth: int | None = None) -> str:
    """One kernel in Cranelift's form, as generated. `depth`: the loop that runs may divide.

    Raises PreskError as `verify`, and E9218 for a kernel or a target that there is no code for.
    """
    source = _source(source)
    return _call(source, lambda: _native.kernel_clif(source.text, target=target, lanes=lanes, depth=depth))


def machine_code(
    source: Source | str, *, target: str = HOST, lanes: bool = True, depth: int | None = None
) -> MachineCode:
    """What the native backend runs of one kernel, with lines of the text it is printed as. Errors as for `clif`."""
    source = _source(source)
    found = _call(source, lambda: _native.kernel_machine_code(source.text, target=target, lanes=lanes, depth=depth))
    return MachineCode(bytes(found[0]), tuple(Instruction(*each) for each in found[1]))


class Program:
    """One kernel, verified and compiled for the interpreter."""

    def __init__(self, source: Source | str) -> None:
        self._source = _source(source)
        self._program = _call(self._source, lambda: _native.KernelProgram(self._source.text))

    def run(
        self,
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        *,
        shadow: bool = False,
        split: int | None = None,
    ) -> None:
        """Runs the kernel once; the outputs are overwritten in place.

        The arrays hold the kernel's elements (bf16 as ml_dtypes' or uint16, bool as one byte, int4 packed) and are
        C-contiguous; their shapes don't count, their bytes do. A quantised input is followed by its f32 scales. An
        input whose buffer an output shares is an empty array, and that output's array holds its elements at first.
        `shadow` finds elements that are read or left unwritten (E9208); with it, `split` takes scratch for unwritten
        at each round of the loop at that depth. Raises E9207 for arrays that don't fit and E9209 for an element of an
        `i64<V` buffer outside of 0 … V − 1.
        """
        given = [_bytes(each) for each in inputs]
        written = [_bytes(each) for each in outputs]
        _check_apart(given, written)
        _call(self._source, lambda: self._program.run(given, written, shadow=shadow, split=split))


def _source(source: Source | str) -> Source:
    return Source("<kernel>", source) if isinstance(source, str) else source


def _call(source: Source, call: Callable[[], Result]) -> Result:
    try:
        return call()
    except UnicodeEncodeError as error:
        raise fail("E9201", "the text is not Unicode", Span(source, error.start, error.end)) from None
    except _native.KernelError as error:
        raise _diagnostic(source, *error.args) from None


def _diagnostic(source: Source, code: str, message: str, line: int, column: int) -> PreskError:
    if not line:
        return fail(code, message)
    start = source.line_starts[min(line, len(source.line_starts)) - 1] + column - 1
    start = min(start, len(source.text))
    return fail(code, message, Span(source, start, min(start + 1, len(source.text))))


def _bytes(array: Array) -> NDArray[np.uint8]:
    if not array.flags.c_contiguous:
        raise fail("E9207", "the kernel interpreter takes C-contiguous arrays")
    return array.reshape(-1).view(np.uint8)


def _check_apart(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
    for number, output in enumerate(outputs):
        if not output.flags.writeable:
            raise fail("E9207", f"output {number} is a read-only array")
        if any(np.may_share_memory(output, other) for other in (*inputs, *outputs[:number])):
            raise fail("E9207", f"output {number} overlaps another array of the same run")
