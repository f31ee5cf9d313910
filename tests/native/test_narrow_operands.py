"""Products with narrower operands than their arithmetic: integers with scales and bf16, in tiles of one row and many.

On each instruction set at hand the bits are the interpreter's in the plainest loops, and those of a row don't depend on
how many there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.native.comparing import assert_same, bits, kernel, native
from tests.native.test_layouts import ISAS, force

import presk
from presk.core.nodes import Program
from presk.core.reader import read_program
from presk.text.spans import Source

QUANTISED = {
    f"{kind} along {axis}": presk.Realization("f32", quant={"w": {"type": kind, "axis": number}})
    for kind in ("int8", "int4")
    for axis, number in (("terms", 0), ("columns", 1))
}
NARROW: dict[str, presk.Realization] = QUANTISED | {
    "int8, fused": presk.Realization("f32", quant={"w": {"type": "int8", "axis": 1}}, fma=True),
    "int8 in f64": presk.Realization("f64", quant={"w": {"type": "int8", "axis": 1}}),
    "int8 in bf16": presk.Realization("bf16", quant={"w": {"type": "int8", "axis": 1}}),
    "bf16": presk.Realization("bf16"),
    "bf16 weights": presk.Realization("f32", params={"w": "bf16"}),
    "bf16 input": presk.Realization("f32", params={"x": "bf16"}),
}
POINTS: tuple[dict[str, Any], ...] = (
    {"tile": [1, 256], "lanes": 8},
    {"tile": [1, 1024], "lanes": 16},
    {"tile": [1, 4096], "lanes": 16},
    {"tile": [12, 64], "lanes": 16},
    {"tile": [6, 64], "lanes": 8, "order": "JI"},
    {"tile": [8, 32], "lanes": 16, "pack": "panel"},
)


def product(rows: int, terms: int, columns: int) -> Program:
    left, right, made = f"i: {rows}, k: {terms}", f"k: {terms}, j: {columns}", f"i: {rows}, j: {columns}"
    head = f"fn f(%0 x : real[{left}], %1 w : real[{right}]) -> real[{made}]"
    return read_program(Source("<product>", f"{head} {{\n  %2 = dot(%0, %1)\n  %2\n}}\n"))


def operands(rows: int, terms: int, columns: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(rows)
    return rng.normal(size=(rows, terms)), rng.normal(size=(terms, columns))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("name", NARROW)
def test_narrow_operands_in_wide_tiles(name: str, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    force(isa, monkeypatch)
    # Columns that fill neither tiles nor vectors, an odd number, so that a row of int4 ends within a byte.
    rows, terms, columns = 3, 45, 4171
    program, values = product(rows, terms, columns), operands(rows, terms, columns)
    wanted = kernel(program, NARROW[name])(*values)
    for point in POINTS:
        if NARROW[name].default == "f64":
            point = {**point, "lanes": point["lanes"] // 2}
        plan = presk.Plan("default", {"f/%2": point})
        assert_same(native(program, NARROW[name], plan)(*values), wanted)
    assert_same(native(program, NARROW[name])(*values), wanted)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("name", NARROW)
def test_a_row_is_the_same_in_every_batch(name: str, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    force(isa, monkeypatch)
    terms, columns = 70, 300
    x, w = operands(64, terms, columns)
    whole = native(product(64, terms, columns), NARROW[name], threads=2)(x, w)
    for rows in range(1, 18):
        part = native(product(rows, terms, columns), NARROW[name], threads=2)(x[:rows], w)
        assert np.array_equal(bits(part), bits(whole[:rows]))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    sizes=st.tuples(st.integers(1, 14), st.integers(0, 300), st.integers(1, 1100)),
    name=st.sampled_from(sorted(NARROW)),
    isa=st.sampled_from(ISAS),
)
def test_whatever_auto_chooses_has_the_plain_bits(sizes: tuple[int, int, int], name: str, isa: str) -> None:
    with pytest.MonkeyPatch.context() as patched:
        force(isa, patched)
        program, values = product(*sizes), operands(*sizes)
        found = native(program, NARROW[name], threads=2)(*values)
    assert_same(found, kernel(program, NARROW[name])(*values))
