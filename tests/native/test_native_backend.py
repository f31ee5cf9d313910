"""The native backend gives the interpreter's bits: of every primitive and example, however it is called."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.native.comparing import (
    TYPES,
    assert_same,
    assert_same_bits,
    cases_of,
    kernel,
    native,
)

import presk
from presk.choose.conformance.cases import Case, has_zeros, prepare
from presk.core.nodes import Program
from presk.core.sites import sites
from presk.kernel.native import clif
from presk.run.machine import instruction_sets
from presk.run.native_backend import Native

WORK = "fn f(x: real[i, k], w: real[k, j]) -> real[i, j] { relu(dot(x, w)) + exp(dot(x, w * 0.5)) }"
"""Two contractions and a nest that calls a function: a division of each loop has something to do."""

SAMPLE = {"minigpt: MiniGPT.apply", "llama: Llama.next_token", "lstm: loss", "vae: loss", "cholesky: solve"}
"""Examples of the fast suite: loops, gathers, slices at run-time places, draws."""


def core(text: str, entry: str, **dims: int) -> Program:
    """An entry's Core."""
    return presk.compile(presk.loads(text)[entry], backend="interp", dims=dims).core()


def values_of(program: Program, seed: int = 1) -> list[np.ndarray]:
    """Normals for an entry of plain tensors."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=each.type.sizes) for each in program.entry.parameters]  # type: ignore[union-attr]


def identify(case: object) -> str:
    return case.name if isinstance(case, Case) else str(case)


# The same bits of everything


@pytest.mark.parametrize("case", cases_of("primitive"), ids=identify)
def test_every_primitive(case: Case) -> None:
    made = prepare(case)
    for kind in TYPES:
        assert_same_bits(made.program, made.values, kind, seed=5)


@pytest.mark.parametrize("case", [each for each in cases_of("example") if each.name in SAMPLE], ids=identify)
@pytest.mark.parametrize("kind", TYPES)
def test_some_examples(case: Case, kind: str) -> None:
    made = prepare(case)
    assert_same_bits(made.program, made.values, kind, seed=5)


def eighth(cases: tuple[Case, ...]) -> list[Any]:
    """The cases, of which seven in eight are slow."""
    return [each if at % 8 == 0 else pytest.param(each, marks=pytest.mark.slow) for at, each in enumerate(cases)]


@pytest.mark.parametrize("case", eighth(cases_of("gradient")), ids=identify)
def test_every_gradient(case: Case) -> None:
    """With these the conformance table of machine code is the interpreter's: it is measured on the same calls."""
    made = prepare(case)
    for kind in TYPES:
        assert_same_bits(made.program, made.values, kind, seed=5)


@pytest.mark.slow
@pytest.mark.parametrize("case", cases_of("example"), ids=identify)
def test_every_example(case: Case) -> None:
    """Also with every parameter drawn that its initializer sets to zero."""
    for each in [case, replace(case, group="drawn")] if has_zeros(case) else [case]:
        made = prepare(each)
        for kind in TYPES:
            assert_same_bits(made.program, made.values, kind, seed=5, step=2)


@pytest.mark.parametrize("of", [{"type": "int8", "axis": 1}, {"type": "int4", "axis": 0}, {"type": "int4", "axis": 1}])
@pytest.mark.parametrize("kind", ["f32", "f64", "bf16"])
def test_quantised_parameters(examples: Path, of: dict[str, Any], kind: str) -> None:
    entry = presk.load(examples / "minigpt" / "minigpt.psk")["MiniGPT.apply"]
    f = presk.compile(entry, backend="interp", dims={"batch": 2})
    values = f.synthesize(seed=2)
    program = f.core(**values)
    realization = presk.Realization(kind, quant={"blocks.ff.up.w": of, "blocks.att.qkv.w": of})
    assert_same_bits(program, [values[name] for name in f.parameters], realization)


def test_special_numbers() -> None:
    program = core(
        "fn f(x: real[i, j], y: real[i, j]) -> real[i, j] { maximum(x, y) - minimum(x, y) * x / y }", "f", i=9, j=9
    )
    special = np.array([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 5e-324, 1e-40])
    x, y = np.meshgrid(special, special)
    for kind in TYPES:
        assert_same_bits(program, [x, y], kind)


# However it is called


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_threads_change_no_bit(kind: str, threads: int) -> None:
    """Both contractions are above the work from which launches are divided, and the plan divides the rest."""
    program = core(WORK, "f", i=129, k=256, j=136)
    values = values_of(program)
    wanted = native(program, kind)(*values)
    assert_same(native(program, kind, threads=threads)(*values), wanted)
    divided = {each.key: {"split": {"depth": 0, "workers": threads}} for each in sites(program)}
    assert_same(native(program, kind, presk.Plan("default", divided), threads=threads)(*values), wanted)


@pytest.mark.parametrize(
    ("size", "kind"), [*((size, "f32") for size in (*range(1, 18), 64)), *((17, kind) for kind in ("f64", "bf16"))]
)
def test_a_row_of_a_batch_is_the_row_alone(examples: Path, size: int, kind: str) -> None:
    entry = presk.load(examples / "minigpt" / "minigpt.psk")["MiniGPT.apply"]
    f = presk.compile(entry, realize=kind, backend="native", threads=2)
    values = f.synthesize(seed=4, self=_without_zeros(f.init(seed=4)), t=_tokens(size))
    together, h = f(**values), f.bind(values["self"])
    for row in range(size):
        assert_same(h(values["t"][row : row + 1]), together[row : row + 1])


def _tokens(size: int) -> np.ndarray:
    return np.random.default_rng(size).integers(0, 64, size=(size, 8))


def _without_zeros(tree: Any) -> Any:
    rng = np.random.default_rng(0)
    tree["head"]["w"] = rng.normal(size=tree["head"]["w"].shape)
    return tree


def _layouts(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """The same numbers in memory of other shapes."""
    yield "Fortran", np.asfortranarray(array)
    wide = np.zeros((array.shape[0] * 2, array.shape[1] * 3), array.dtype)
    wide[::2, ::3] = array
    yield "strided", wide[::2, ::3]
    yield "reversed", np.ascontiguousarray(array[::-1])[::-1]
    raw = np.zeros(array.nbytes + 3, np.uint8)
    offset = raw[3:].view(np.uint8)[: array.nbytes].view(array.dtype).reshape(array.shape)
    offset[...] = array
    yield "offset", offset
    swapped = array.astype(array.dtype.newbyteorder())
    yield "the other byte order", swapped
    locked = array.copy()
    locked.flags.writeable = False
    yield "read-only", locked


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_memory_layouts(kind: Any) -> None:
    program = core(WORK, "f", i=6, k=5, j=8)
    x, w = (each.astype(kind) for each in values_of(program))
    run = native(program, "f32")
    wanted = run(x, w)
    for name, other in _layouts(x):
        assert np.array_equal(run(other, w), wanted), name
    for name, other in _layouts(w):
        assert np.array_equal(run(x, other), wanted), name
        assert np.array_equal(run.bind(w=other)(x), wanted), name


def test_arrays_that_alias_and_are_empty() -> None:
    program = core("fn f(x: real[n], y: real[n]) -> (real[n], real[n]) { (x + y, y) }", "f", n=16)
    memory = np.arange(24.0, dtype=np.float32)
    run = native(program, "f32")
    assert_same(run(memory[:16], memory[8:]), run(memory[:16].copy(), memory[8:].copy()))
    for size in (0, 1):
        program = core(WORK, "f", i=size, k=3, j=4)
        assert native(program, "f32")(*values_of(program)).shape == (size, 4)


def test_a_call_while_the_arrays_change_has_no_fault() -> None:
    program = core(WORK, "f", i=64, k=64, j=64)
    x, w = (each.astype(np.float32) for each in values_of(program))
    run, stop = native(program, "f32", threads=2), threading.Event()

    def scribble() -> None:
        while not stop.is_set():
            x[...] += 1

    other = threading.Thread(target=scribble)
    other.start()
    try:
        for _ in range(50):
            assert run(x, w).shape == (64, 64)
    finally:
        stop.set()
        other.join()


def test_indices_that_change_during_a_call_are_those_it_began_with() -> None:
    """They are copied, then checked: a call picks rows that are there, or says that an index is none."""
    program = core("fn f(x: real[n, k], t: nat[m] < n) -> real[m, k] { embed(x, t) }", "f", n=64, k=4, m=1 << 14)
    table = np.arange(256, dtype=np.float32).reshape(64, 4)
    places, run, stop = np.zeros(1 << 14, np.int64), native(program, "f32", threads=2), threading.Event()

    def scribble() -> None:
        while not stop.is_set():
            for far in (1 << 60, -5, 63, 0):
                places[...] = far

    other = threading.Thread(target=scribble)
    other.start()
    outcomes: set[str] = set()
    try:
        for _ in range(300):
            try:
                assert np.isin(run(table, places), table).all()
                outcomes.add("rows")
            except presk.PreskError as error:
                outcomes.add(error.code)
    finally:
        stop.set()
        other.join()
    assert outcomes <= {"rows", "E6002"}


def test_calls_at_once_from_many_threads() -> None:
    program = core(WORK, "f", i=65, k=256, j=256)
    run = native(program, "f32", threads=2)
    inputs = [values_of(program, seed) for seed in range(8)]
    wanted = [run(*each) for each in inputs]
    with ThreadPoolExecutor(4) as pool:
        for found, alone in zip(pool.map(lambda each: run(*each), inputs * 3), wanted * 3, strict=True):
            assert np.array_equal(found, alone)


FLUSH_AND_ROUND_UP = 0x9FC0 | 0x4000
"""MXCSR with flush-to-zero, denormals-are-zero, rounding toward +∞, all exceptions masked."""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="sets MXCSR, which is x86-64's")
@pytest.mark.parametrize("threads", [1, 2])
def test_the_callers_floating_point_mode_changes_no_bit(threads: int) -> None:
    program = core(WORK, "f", i=129, k=256, j=136)
    values = [each.astype(np.float32) * np.float32(1e-22) for each in values_of(program)]
    run = native(program, "f32", threads=threads)
    wanted = run(*values)
    assert (np.abs(wanted - 1) < 1).all()
    with _mode(FLUSH_AND_ROUND_UP) as read:
        found = run(*values)
        assert read() & 0xFFC0 == FLUSH_AND_ROUND_UP & 0xFFC0, "the caller's mode is put back"
    assert_same(found, wanted)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="sets MXCSR, which is x86-64's")
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("mode", [FLUSH_AND_ROUND_UP, 0x9FC0 | 0x2000, 0x1F80 | 0x6000])
def test_the_mode_an_entry_is_compiled_in_changes_no_bit(kind: str, mode: int) -> None:
    """Constants are rounded, printed, read and folded; arguments that aren't arrays of floats are converted."""
    numbers = (*CONSTANTS, *(f"{each:.17g}" for each in np.random.default_rng(2).normal(size=40) * 1e-7))
    body = "".join(f"  let y = y * 0.5 + {each}\n  let z{at} = y\n" for at, each in enumerate(numbers))
    names = ", ".join(f"z{at}" for at in range(len(numbers)))
    types = ", ".join("real[n]" for _ in numbers)
    program = core(f"fn f(y: real[n]) -> ({types}) {{\n{body}  ({names})\n}}", "f", n=5)
    given = [0.1, 1e-40, 1e-310, 1 / 3, -0.7]
    wanted = kernel(program, kind)(given)
    with _mode(mode):
        run = native(program, kind)
        found, bound = run(given), run.bind(y=given)()
    assert_same(found, wanted)
    assert_same(bound, wanted)


CONSTANTS = ("1 / 3", "2 / 7", "1e-40", "1e-310", "5e-324", "sqrt(2)", "0.1", "1.4e-45", "9.2338101594628058e+22")


class _mode:
    """Sets MXCSR for a while, by seven bytes of machine code."""

    LOAD, STORE = b"\x0f\xae\x17\xc3", b"\x0f\xae\x1f\xc3"

    def __init__(self, value: int) -> None:
        import mmap

        self.memory = mmap.mmap(-1, 64, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self.memory.write(self.LOAD + b"\x90" * 12 + self.STORE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        kind = ctypes.PYFUNCTYPE(None, ctypes.POINTER(ctypes.c_uint32))
        self.load, self.store = kind(start), kind(start + 16)
        self.value, self.before = value, 0

    def read(self) -> int:
        word = ctypes.c_uint32()
        self.store(ctypes.byref(word))
        return word.value

    def __enter__(self) -> Any:
        self.before = self.read()
        self.load(ctypes.byref(ctypes.c_uint32(self.value)))
        return self.read

    def __exit__(self, *_: object) -> None:
        self.load(ctypes.byref(ctypes.c_uint32(self.before)))


FORK = """
import os, sys
import numpy as np, presk
f = presk.compile(presk.loads({work!r})["f"], realize="f32", backend="native", threads=2)
x, w = np.full((129, 256), 0.5, np.float32), np.full((256, 136), 0.25, np.float32)
before = f(x, w)
child = os.fork()
if child == 0:
    again = f(x, w)
    other = presk.loads("fn g(x: real[n]) -> real[n] {{ exp(x) }}")["g"]
    g = presk.compile(other, realize="f32", backend="native", threads=2)
    os._exit(0 if np.array_equal(again, before) and np.isfinite(g(x[0])).all() else 3)
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status) or (0 if np.array_equal(f(x, w), before) else 4))
"""


def test_a_forked_child_runs_and_compiles() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORK.format(work=WORK)], timeout=60, check=False)
    assert done.returncode == 0


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="forces x86-64 instruction sets")
@pytest.mark.parametrize("isa", ["baseline", "sse2", "sse4.2", "avx", "avx2", "avx512"])
def test_every_instruction_set_gives_the_same_bits(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = core(WORK, "f", i=5, k=7, j=24)
    values = values_of(program)
    monkeypatch.setenv("PRESK_ISA", isa)
    if isa.startswith("avx") and {"avx512": "avx512f"}.get(isa, isa) not in instruction_sets():
        with pytest.raises(presk.PreskError, match="doesn't run here"):
            native(program, "f32")
        return
    for kind in TYPES:
        assert_same(native(program, kind)(*values), kernel(program, kind)(*values))


# What can't be


def test_an_unknown_instruction_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRESK_ISA", "avx3")
    with pytest.raises(presk.PreskError) as caught:
        Native()
    assert caught.value.diagnostics[0].code == "E9008"


def test_a_kernel_too_large_to_compile_is_a_diagnostic() -> None:
    lines = "\n".join(f"    s{at} = (%0[i0] * {at})" for at in range(9000))
    text = f"kernel vast (%0 : f32[4]) -> %1 : f32[4] {{\n  for i0 in 0..4 {{\n{lines}\n    %1[i0] = s8999\n  }}\n}}\n"
    with pytest.raises(presk.PreskError) as caught:
        clif(text)
    assert caught.value.diagnostics[0].code == "E9218"
    assert "too large to compile" in caught.value.diagnostics[0].message


@pytest.mark.slow
def test_an_entry_with_a_kernel_too_large_is_a_diagnostic() -> None:
    """The nest is found and lowered in time that grows with it, not with its square."""
    lines = "\n".join(f"  let x = x * 0.{at % 7} + y" for at in range(6500))
    program = core(f"fn f(x: real[n], y: real[n]) -> real[n] {{\n{lines}\n  x\n}}", "f", n=4)
    with pytest.raises(presk.PreskError) as caught:
        native(program, "f32")
    assert caught.value.code == "E9218"


@pytest.mark.slow
def test_a_nest_of_thousands_of_operations() -> None:
    lines = "\n".join(f"  let x = x * 0.{at % 7} + y" for at in range(4000))
    program = core(f"fn f(x: real[n], y: real[n]) -> real[n] {{\n{lines}\n  x\n}}", "f", n=4)
    assert_same_bits(program, values_of(program), "f32")
