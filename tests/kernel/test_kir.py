"""Kernel files: each holds one claim, a kernel, its inputs and what must come out, on every executor.

A file is comment lines (the claim), the kernel's text, and sections that begin with `== `:

    == input %0        elements in row-major order: decimals that are exact or shortest, `inf`, `nan`, `true`
    == scales %0       the f32 scales of a quantised input
    == output %1       what the kernel must write, bit for bit, NaNs as NaNs
    == lanes           the text the lane rewrite must make of it (it is run too, whether stated or not)
    == error E9203 3:9 instead of outputs: the diagnostic, and where it points (left out where it points nowhere)

An input whose buffer an output shares has its section too: what that buffer holds at first. `pytest --bless` writes
outputs, lanes and errors anew. The Rust side runs the same files (rust/presk-kernel/tests/kir.rs).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from presk.kernel.literal import print_real
from presk.kernel.native import Program, rewrite_lanes, verify
from presk.kernel.nodes import BufferType, Kernel
from presk.kernel.printer import print_kernel
from presk.kernel.reader import read_kernel
from presk.text.diagnostics import PreskError

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("*.kir"))
IN_LANES = [path for path in FILES if "\n== lanes" in path.read_text("utf-8")]

DTYPES = {
    "f64": np.float64, "f32": np.float32, "bf16": np.uint16, "i64": np.int64, "bool": np.uint8, "int8": np.int8,
    "int4": np.int8,
}  # fmt: skip

Arrays = list[np.ndarray[Any, Any]]


def run_kernel(text: str, inputs: Arrays, outputs: Arrays) -> None:
    """The interpreter, watched and unwatched."""
    unwatched = [each.copy() for each in outputs]
    program = Program(text)
    program.run(inputs, outputs, shadow=True)
    program.run(inputs, unwatched)
    assert all(same(one, other) for one, other in zip(outputs, unwatched, strict=True))


def run_lanes(text: str, inputs: Arrays, outputs: Arrays) -> None:
    """The interpreter on the kernel in lanes."""
    Program(rewrite_lanes(text)).run(inputs, outputs, shadow=True)


EXECUTORS: dict[str, Callable[[str, Arrays, Arrays], None]] = {"kernel": run_kernel, "lanes": run_lanes}


@dataclass
class Case:
    """One file: the lines above the sections, and each section's lines by its heading."""

    head: str
    sections: dict[str, str] = field(default_factory=dict)

    def error(self) -> str | None:
        return next((each.removeprefix("error ") for each in self.sections if each.startswith("error ")), None)

    def text(self) -> str:
        """The kernel's text, the claim standing above it as comments."""
        return self.head.strip("\n") + "\n"

    def bare_text(self) -> str:
        """The kernel's text as it prints."""
        return "".join(line for line in self.text().splitlines(True) if not line.startswith("--"))

    def written(self) -> str:
        sections = (f"\n== {heading}\n{body.strip()}".rstrip() + "\n" for heading, body in self.sections.items())
        return self.head.rstrip() + "\n" + "".join(sections)


def load(path: Path) -> Case:
    head, *sections = path.read_text("utf-8").split("\n== ")
    pairs = (section.partition("\n") for section in sections)
    return Case(head, {heading.strip(): body for heading, _, body in pairs})


def elements(buffer: BufferType) -> int:
    return int(np.prod([axis.size for axis in buffer.axes], dtype=np.int64))


def parse(body: str, buffer: BufferType) -> np.ndarray[Any, Any]:
    """The elements of a section, as the buffer holds them."""
    words = body.split()
    assert len(words) == elements(buffer), f"{len(words)} elements for {elements(buffer)}"
    kind = buffer.element.kind
    if kind == "bool":
        return np.array([{"false": 0, "true": 1}[word] for word in words], np.uint8)
    if kind in ("i64", "int8"):
        return np.array([int(word) for word in words], DTYPES[kind])
    if kind == "int4":
        return pack([int(word) for word in words], buffer)
    values = np.array([float(word) for word in words], np.float64)
    if kind == "f64":
        return values
    with np.errstate(over="ignore"):
        singles = values.astype(np.float32)
    if kind == "f32":
        return singles
    bits = singles.view(np.uint32)
    assert not (bits & 0xFFFF).any(), "a bf16 is given exactly"
    return (bits >> 16).astype(np.uint16)


def pack(integers: Sequence[int], buffer: BufferType) -> np.ndarray[Any, Any]:
    """Two to a byte, the low nibble first, each row beginning at a byte."""
    assert buffer.element.scales is not None
    first, end = buffer.element.scales
    sizes = [axis.size for axis in buffer.axes]
    row = int(np.prod(sizes[first:])) if end == len(sizes) else sizes[-1]
    rows = np.array(integers, np.int8).reshape(-1, row)
    padded = np.pad(rows, ((0, 0), (0, row % 2))).view(np.uint8)
    return ((padded[:, 0::2] & 15) | (padded[:, 1::2] << 4)).astype(np.uint8).reshape(-1)


def show(array: np.ndarray[Any, Any], buffer: BufferType) -> str:
    """The elements as a section holds them, a row of the last axis a line."""
    kind = buffer.element.kind
    if kind == "bool":
        words = ["true" if each else "false" for each in array]
    elif kind == "i64":
        words = [str(each) for each in array]
    else:
        wide = array if kind != "bf16" else (array.astype(np.uint32) << 16).view(np.float32)
        words = [print_real(float(each), "f64" if kind == "f64" else "f32", pointed=False) for each in wide]
    row = max(1, buffer.axes[-1].size if buffer.axes else 1)
    return "\n".join(" ".join(words[start : start + row]) for start in range(0, len(words), row))


def same(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    """Equal bit for bit, NaNs as NaNs."""
    if one.dtype == np.uint16:
        one, other = ((each.astype(np.uint32) << 16).view(np.float32) for each in (one, other))
    if one.dtype.kind != "f":
        return bool(np.array_equal(one, other))
    both_nan = np.isnan(one) & np.isnan(other)
    return bool(np.all(both_nan | ((one == other) & (np.signbit(one) == np.signbit(other)))))


def arguments(case: Case, kernel: Kernel) -> tuple[Arrays, Arrays]:
    """The arrays of a run: inputs, and outputs as they are before it."""
    shared = {output.shares for output in kernel.outputs}
    inputs: Arrays = []
    for number, buffer in enumerate(kernel.inputs):
        array = parse(case.sections[f"input %{number}"], buffer)
        inputs.append(np.zeros(0, np.uint8) if number in shared else array)
        if buffer.element.scales is not None:
            inputs.append(np.array([float(each) for each in case.sections[f"scales %{number}"].split()], np.float32))
    outputs: Arrays = []
    for output in kernel.outputs:
        if output.shares is None:
            outputs.append(np.zeros(elements(output.type), DTYPES[output.type.element.kind]))
        else:
            outputs.append(parse(case.sections[f"input %{output.shares}"], output.type))
    return inputs, outputs


def outcome(case: Case, run: Callable[[str, Arrays, Arrays], None]) -> dict[str, str]:
    """The sections that say what came out."""
    text = case.text()
    try:
        verify(text)
        kernel = read_kernel(text)
        inputs, outputs = arguments(case, kernel)
        run(text, inputs, outputs)
    except PreskError as error:
        return {f"error {place(error)}": ""}
    numbers = range(len(kernel.inputs), len(kernel.inputs) + len(outputs))
    shown = (show(array, output.type) for array, output in zip(outputs, kernel.outputs, strict=True))
    return {f"output %{number}": body for number, body in zip(numbers, shown, strict=True)}


def read_back(case: Case) -> str | PreskError:
    """The text the Rust side prints, or what it has against the kernel."""
    try:
        return verify(case.text())
    except PreskError as error:
        return error


def place(error: PreskError) -> str:
    if error.span is None:
        return error.code
    line, column = error.span.source.position(error.span.start)
    return f"{error.code} {line}:{column}"


# What is refused is refused before any rewrite, or at a place that the rewritten text doesn't have.
RUNS = [(path, name) for path in FILES for name in EXECUTORS if name == "kernel" or load(path).error() is None]


@pytest.mark.parametrize(("path", "executor"), RUNS, ids=lambda each: each if isinstance(each, str) else each.stem)
def test_outputs(path: Path, executor: str, bless: bool) -> None:
    case = load(path)
    found = outcome(case, EXECUTORS[executor])
    if bless and executor == "kernel":
        given = {heading: body for heading, body in case.sections.items() if heading.split()[0] in ("input", "scales")}
        lanes = {"lanes": rewrite_lanes(case.text())} if "lanes" in case.sections else {}
        path.write_text(Case(case.head, given | found | lanes).written(), "utf-8")
        return
    wanted = {heading: body for heading, body in case.sections.items() if heading.split()[0] in ("output", "error")}
    assert wanted, "a file says what comes out"
    assert {key: body.split() for key, body in found.items()} == {key: body.split() for key, body in wanted.items()}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_texts_read_back_on_both_sides(path: Path) -> None:
    case = load(path)
    if isinstance(read_back(case), PreskError):
        assert case.error() is not None
    else:
        assert read_back(case) == case.bare_text() == print_kernel(read_kernel(case.text()))


@pytest.mark.parametrize(
    "path", [path for path in FILES if "\n== lanes" in path.read_text("utf-8")], ids=lambda p: p.stem
)
def test_lanes_are_as_stated(path: Path) -> None:
    case = load(path)
    assert rewrite_lanes(case.text()) == case.sections["lanes"].strip() + "\n"


def test_there_are_files() -> None:
    assert len(FILES) >= 60
