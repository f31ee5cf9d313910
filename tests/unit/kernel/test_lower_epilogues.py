"""Work joined to a contraction's store: its text, and random work at random points with the bits of two nests."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.unit.kernel.comparing import STORAGES, bits, machine, normals, program
from tests.unit.kernel.layouts import points, wide_points
from tests.unit.kernel.machine import given as held

from presk.kernel.lowered import Layout
from presk.text.diagnostics import PreskError

HEAD = "x: real[b, i], w: real[i, o], c: real[o], r: real[b, o], n: nat[b] < 9"
SIZES = {"b": 7, "i": 35, "o": 19}

ONE = ("relu({})", "gelu({})", "silu({})", "tanh({})", "exp({})", "-{}", "square({})", "{} * 0.3", "1 / {}", "sqrt({})")
TWO = ("{} + {}", "{} - {}", "{} * {}", "maximum({}, {})", "where({} > 0, {}, c)")
OTHERS = ("c", "r", "y", "n", "sum(c)", "exp(c)")


@st.composite
def works(draw: st.DrawFn) -> str:
    """An expression in which the product `y` stands at its own place, at least once."""
    value = "y"
    for _ in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            value = draw(st.sampled_from(ONE)).format(f"({value})")
        else:
            pair = draw(st.permutations([f"({value})", draw(st.sampled_from(OTHERS))]))
            value = draw(st.sampled_from(TWO)).format(*pair)
    return value


def arguments() -> list[Any]:
    rng = np.random.default_rng(11)
    b, i, o = SIZES.values()
    return [normals(rng, b, i), normals(rng, i, o), normals(rng, o), normals(rng, b, o), rng.integers(0, 9, b)]


@pytest.mark.parametrize("storage", STORAGES)
@settings(max_examples=25, deadline=None)
@given(work=works(), seed=st.integers(0, 1 << 30), runs=st.booleans())
def test_any_work_at_any_point_has_the_bits_of_two_nests(storage: str, work: str, seed: int, runs: bool) -> None:
    of = program(f"fn f({HEAD}) -> real[b, o] {{ let y = dot(x, w); {work} }}", "f", **SIZES)
    values = held(of.entry, arguments(), storage)
    plain = machine(of, storage)
    wanted = bits(plain.run(values))
    known = [*points(storage, 19, contiguous=True), *wide_points(storage, 19, contiguous=True)]
    for layout in random.Random(seed).sample(known, 3):
        joined = machine(of, storage, joining(layout, runs))
        try:
            found = bits(joined.run(values))
        except PreskError as error:
            # Not all work is an elementwise group: a condition that is one number isn't, and `maximum(y, y)` is none.
            assume("(condition 6)" not in str(error))
            raise
        assert found == wanted, layout
        assert len(joined.kernels) == len(plain.kernels) - 1 + bool(layout.pack) + (layout.pack == "both")


def joining(layout: Layout, runs: bool) -> Layout:
    return replace(layout, epilogue=True, runs=runs)


def test_the_text_is_the_golden(root: Path, pytestconfig: pytest.Config) -> None:
    """Rows of products are finished while they are near, their functions over runs."""
    of = program(
        "fn up(x: real[b, i], w: real[i, o], c: real[o]) -> real[b, o] { gelu(dot(x, w) + c) }", "up", b=14, i=512, o=32
    )
    layout = Layout(tile=(6, 16), lanes=8, kblock=256, order="KIJ", epilogue=True, runs=True)
    host = machine(of, "f32", layout)
    rng = np.random.default_rng(0)
    host.run(held(of.entry, [normals(rng, 14, 512), normals(rng, 512, 32), normals(rng, 32)], "f32"))
    golden = root / "tests" / "golden" / "epilogue.kernel.txt"
    if pytestconfig.getoption("--bless"):
        golden.write_text("".join(host.kernels), "utf-8")
    assert "".join(host.kernels) == golden.read_text("utf-8")
