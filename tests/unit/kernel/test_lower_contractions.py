"""Contractions: the goldens, the defaults, and every point of the layout space with the default's bits."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.kernel.comparing import STORAGES, assert_conforms, bits, eighths, machine, normals, program, run
from tests.unit.kernel.layouts import points, softmax_points, wide_points
from tests.unit.kernel.machine import Machine
from tests.unit.kernel.machine import given as held_arguments

from presk.check.program import load
from presk.core.bind import bind
from presk.core.groups import partition
from presk.core.nodes import Program
from presk.exact.rounding import round_fraction
from presk.kernel.dump import print_dump
from presk.kernel.lowered import Layout, SiteChoice, Split
from presk.kernel.reader import read_kernel
from presk.shapes.types import Tensor, Type, fields_of

PROGRAMS = """
fn linear(x: real[b, i], w: real[i, o]) -> real[b, o] { dot(x, w) }
fn biased(x: real[b, i], w: real[i, o], c: real[o]) -> real[b, o] { dot(x, w) + c }
fn biased_rows(x: real[b, i], w: real[i, o], c: real[b, o]) -> real[b, o] { c + dot(x, w) }
fn bent(x: real[b, i], w: real[i, o], c: real[o]) -> real[b, o] { gelu(dot(x, w) + c) }
fn added(x: real[b, i], w: real[i, o], c: real[o], r: real[b, o]) -> real[b, o] { r - (dot(x, w) + c) * 0.3 }
fn scores(q: real[n, h, s, e], k: real[n, h, t, e]) -> real[n, h, s, t] { ein[n, h, s, t](q, k) }
fn mix(a: real[n, h, s, t], v: real[n, h, t, e]) -> real[n, h, s, e] { ein[n, h, s, e](a, v) }
fn weights(x: real[a, b, k], g: real[a, b, j]) -> real[k, j] { ein[k, j](x, g) }
fn soft(x: real[n, d]) -> real[n, d] { softmax(x, axis = d) }
fn batched(a: real[n, i: 5, k: 4], b: real[n, k: 4, j: 8]) -> real[n, i: 5, j: 8] { matmul(a, b) }
fn shared(a: real[n, i: 5, k: 4], b: real[k: 4, j: 8]) -> real[n, i: 5, j: 8] { matmul(a, b) }
fn vector(x: real[b, i], w: real[i]) -> real[b] { dot(x, w) }
fn row(x: real[i], w: real[i, o]) -> real[o] { dot(x, w) }
fn number(x: real[i], w: real[i]) -> real { dot(x, w) }
fn wide(x: real[b, i], w: real[i, h: 2, o]) -> real[b, h: 2, o] { dot(x, w) }
fn turned(a: real[i, k], b: real[k, j]) -> real[j, i] { ein[j, i](a, b) }
fn outer(a: real[i], b: real[j]) -> real[i, j] { ein[i, j](a, b) }
fn alone(a: real[i, k], b: real[j, l]) -> real[i, j] { ein[i, j](a, b) }
fn masked(x: real[b, i]) -> real[b, j: i] { dot(x, eye[i, j: i]) }
fn counted(n: nat[b, i] < 9, w: real[i, o]) -> real[b, o] { dot(n, w) }
"""

SIZES: dict[str, dict[str, int]] = {
    "linear": {"b": 5, "i": 70, "o": 18},
    "biased": {"b": 5, "i": 70, "o": 18},
    "biased_rows": {"b": 5, "i": 70, "o": 18},
    "bent": {"b": 5, "i": 70, "o": 18},
    "added": {"b": 5, "i": 70, "o": 18},
    "scores": {"n": 2, "h": 2, "s": 5, "t": 18, "e": 35},
    "mix": {"n": 2, "h": 2, "s": 5, "t": 35, "e": 18},
    "weights": {"a": 3, "b": 35, "k": 5, "j": 17},
    "soft": {"n": 3, "d": 37},
}
"""The nests whose layout spaces are walked: ragged in each of I, J and K."""

JOINED = ("biased", "biased_rows", "bent", "added")
"""Nests with work behind the contraction that may join its store."""

CANCELLING = ("bent", "added")
"""Entries whose values may be far smaller than what they are made of, and so far from exact."""

COLUMNS = {
    "linear": 18,
    "biased": 18,
    "biased_rows": 18,
    "bent": 18,
    "added": 18,
    "scores": 18,
    "mix": 18,
    "weights": 17,
}

SMALL: dict[str, dict[str, int]] = {
    "batched": {"n": 3},
    "shared": {"n": 3},
    "vector": {"b": 3, "i": 4},
    "row": {"i": 4, "o": 8},
    "number": {"i": 4},
    "wide": {"b": 3, "i": 4, "o": 8},
    "turned": {"i": 3, "k": 4, "j": 5},
    "outer": {"i": 3, "j": 8},
    "alone": {"i": 2, "k": 3, "j": 4, "l": 5},
    "masked": {"b": 3, "i": 8},
    "counted": {"b": 3, "i": 4, "o": 8},
}


def nest(entry: str) -> Program:
    """The program of an entry at its sizes."""
    return program(PROGRAMS, entry, **(SIZES.get(entry) or SMALL[entry]))


def operands(of: Program, seed: int = 0) -> list[Any]:
    """Numbers for each parameter, of many digits."""
    rng = np.random.default_rng(seed)
    tensors: list[Any] = [each.type for each in of.entry.parameters]
    return [normals(rng, *each.sizes) if each.kind == "real" else rng.integers(0, 9, each.sizes) for each in tensors]


def space(entry: str, storage: str) -> Iterator[Layout]:
    """Every point of a nest's layout space."""
    if entry == "soft":
        yield from softmax_points(storage)
        return
    for layout in points(storage, COLUMNS[entry], contiguous=entry != "scores"):
        yield layout
        if entry in JOINED:
            yield replace(layout, epilogue=True, runs=True if layout.pack else None)
    # Of the wide tiles one in seven, which meets every choice with every other; epilogues with some.
    sums = 2 if entry == "weights" else 1
    for layout in islice(wide_points(storage, COLUMNS[entry], contiguous=entry != "scores", sums=sums), 0, None, 7):
        yield (
            replace(layout, epilogue=True, runs=layout.rows == 64) if entry in JOINED and layout.lanes == 8 else layout
        )


# The goldens


def dumped(path: Path, entry: str, dims: dict[str, int], layout: Layout) -> str:
    """What the dump of an entry is, all nests laid out alike but for adds."""
    of = bind(load(path), entry, dims=dims)
    host = machine(of, "f32", layout)
    host.run(host_arguments(of))
    kernels = [read_kernel(text) for text in host.kernels]
    groups = partition(of.entry)
    return print_dump(kernels, len(kernels), "f32", groups.unfused, groups.saved)


def host_arguments(of: Program) -> list[Any]:
    """Zeros for every leaf."""

    def zeros(each: Type) -> Any:
        if isinstance(each, Tensor):
            return np.zeros(each.sizes)
        return {name: zeros(inner) for name, inner in fields_of(each) or ()}

    return held_arguments(of.entry, [zeros(each.type) for each in of.entry.parameters], "f32")


def test_the_linear_map_is_the_golden(root: Path, examples: Path) -> None:
    text = dumped(examples / "tutorial" / "01_linear.psk", "Linear{3, 2}.apply", {"batch": 4}, Layout())
    assert text == (root / "tests" / "golden" / "01_linear.kernel.txt").read_text("utf-8")


def test_a_pack_and_its_product_are_the_golden(root: Path, examples: Path) -> None:
    layout = Layout(tile=(2, 4), lanes=4, pack=True, split=Split(1, 2))
    text = dumped(examples / "tutorial" / "03_attention.psk", "scores", {"B": 1, "T": 4}, layout)
    kernels = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("--"))
    assert kernels == (root / "tests" / "golden" / "03_attention.pack.kernel.txt").read_text("utf-8")


# What contractions mean


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("entry", [*SMALL, *(each for each in COLUMNS if each not in CANCELLING)])
def test_contractions_conform(entry: str, storage: str) -> None:
    of = nest(entry)
    rng = np.random.default_rng(3)
    values = [
        eighths(rng, *each.type.sizes) if each.type.kind == "real" else rng.integers(0, 9, each.type.sizes)
        for each in of.entry.parameters
    ]
    assert_conforms(of, values, storage)


def in_order(x: np.ndarray[Any, Any], w: np.ndarray[Any, Any], partials: int = 1) -> np.ndarray[Any, Any]:
    """x · w in the operands' type: products rounded, added to partial sums in increasing k, these added in order."""
    sums = np.zeros((partials, x.shape[0], w.shape[1]), dtype=x.dtype)
    for k in range(x.shape[1]):
        sums[k % partials] += x[:, k, None] * w[None, k]
    total = sums[0]
    for each in sums[1:]:
        total = total + each
    return total


def test_sums_are_taken_in_increasing_k() -> None:
    of = nest("linear")
    values = operands(of)
    for storage, dtype in (("f32", np.float32), ("f64", np.float64)):
        x, w = (each.astype(dtype) for each in values)
        assert bits(run(of, values, storage)) == bits(in_order(x, w))


@pytest.mark.parametrize("partials", [1, 2, 8, 64, 71, 1000])
def test_an_interleaved_order_is_kept_to_the_bit(partials: int) -> None:
    of = nest("linear")
    values = operands(of)
    x, w = (each.astype(np.float32) for each in values)
    assert bits(run(of, values, SiteChoice("f32", partials=partials))) == bits(in_order(x, w, min(partials, 70)))


def test_interleaving_counts_through_all_summed_axes() -> None:
    of = nest("weights")
    values = operands(of)
    x, g = (each.astype(np.float32).reshape(105, -1) for each in values)
    assert bits(run(of, values, SiteChoice("f32", partials=4))) == bits(in_order(x.T, g, 4))


def test_a_wider_accumulation_rounds_once() -> None:
    of = nest("linear")
    values = operands(of)
    x, w = (each.astype(np.float32).astype(np.float64) for each in values)
    assert bits(run(of, values, SiteChoice("f32", accumulate="f64"))) == bits(in_order(x, w).astype(np.float32))


def test_fused_multiply_adds_round_once() -> None:
    of = nest("vector")
    values = operands(of)
    x, w = (each.astype(np.float32) for each in values)
    wanted: list[np.float32] = []
    for row in x:
        total = Fraction(0)
        for a, b in zip(row, w, strict=True):
            total = Fraction(float(round_fraction(Fraction(float(a)) * Fraction(float(b)) + total, "f32")))
        wanted.append(np.float32(float(total)))
    assert bits(run(of, values, SiteChoice("f32", fma=True))) == bits(np.array(wanted))


def test_fused_tiles_have_the_default_s_bits() -> None:
    of = nest("linear")
    values = operands(of)
    choice = SiteChoice("f32", fma=True)
    default = bits(run(of, values, choice))
    for layout in islice(space("linear", "f32"), 0, None, 23):
        assert bits(run(of, values, choice, layout)) == default


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(
    ("entry", "name"),
    [("biased", "dot_add"), ("biased_rows", "dot_add"), ("bent", "dot_gelu"), ("added", "dot_sub")],
)
def test_an_epilogue_rounds_as_two_nests_do(entry: str, name: str, storage: str) -> None:
    of = nest(entry)
    values = operands(of)
    host = machine(of, storage, Layout(epilogue=True))
    joined = host.run(held_arguments(of.entry, values, storage))
    assert bits(joined) == bits(run(of, values, storage))
    assert len(host.kernels) == 1
    assert host.kernels[0].startswith(f"kernel {name} (")


def test_an_epilogue_sums_wider_than_it_adds() -> None:
    of = nest("biased")
    values = operands(of)
    x, w, c = (each.astype(np.float32) for each in values)
    product = in_order(x.astype(np.float64), w.astype(np.float64)).astype(np.float32)
    for epilogue in (False, True):
        host = Machine(
            of.entry,
            lambda let: SiteChoice("f32", accumulate="f64" if let.value.primitive == "dot" else None),
            lambda let, joins=epilogue: Layout(epilogue=joins if let.value.primitive == "dot" else None),
        )
        assert bits(host.run(held_arguments(of.entry, values, "f32"))) == bits(product + c)
        assert len(host.kernels) == 2 - epilogue


# Defaults


def first_kernel(entry: str, storage: str, **sizes: int) -> str:
    """The text of an entry's first kernel by default."""
    of = program(PROGRAMS, entry, **sizes)
    host = machine(of, storage)
    host.run(held_arguments(of.entry, operands(of), storage))
    return host.kernels[0]


def test_a_dot_of_eight_columns_is_tiled_in_lanes() -> None:
    text = first_kernel("linear", "f32", b=2, i=3, o=16)
    assert "splat(s0)" in text
    assert "v1 = splat(0)" in text
    assert "v2 = splat(0)" not in text.split("for i3")[0]
    assert "(i1 * 8)" in text
    assert "v3 = splat(0)" in first_kernel("linear", "f64", b=2, i=3, o=16)


def test_a_dot_of_other_width_is_row_wise_but_in_bf16() -> None:
    row_wise = first_kernel("linear", "f32", b=2, i=3, o=12)
    assert "%2[i0, i2] = (%2[i0, i2] + (s0 * %1[i1, i2]))" in row_wise
    assert "s0 = (s0 + (%0[i0, i2] * %1[i2, i1]))" in first_kernel("linear", "bf16", b=2, i=3, o=12)


def test_a_bf16_dot_is_tiled_in_single_lanes() -> None:
    text = first_kernel("linear", "bf16", b=2, i=3, o=8)
    assert "s7 = 0" in text
    assert "<v>" not in text


def test_an_ein_is_one_sum_an_element() -> None:
    text = first_kernel("scores", "f32", n=1, h=1, s=2, t=8, e=3)
    assert "s0 = (s0 + (%0[i0, i1, i2, i4] * %1[i0, i1, i3, i4]))" in text


# The space


def check(entry: str, storage: str, layouts: Sequence[Layout]) -> None:
    """Each of these points has the default's bits."""
    of = nest(entry)
    values = held_arguments(of.entry, operands(of), storage)
    default = bits(machine(of, storage).run(values))
    for layout in layouts:
        assert bits(machine(of, storage, layout).run(values)) == default, layout


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("entry", SIZES)
def test_a_sample_of_the_space_has_the_default_s_bits(entry: str, storage: str) -> None:
    known = list(space(entry, storage))
    check(entry, storage, random.Random(entry + storage).sample(known, min(len(known), 16)))


@pytest.mark.slow
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("entry", SIZES)
def test_every_point_of_the_space_has_the_default_s_bits(entry: str, storage: str) -> None:
    check(entry, storage, list(space(entry, storage)))


def test_the_space_is_as_large_as_it_should_be() -> None:
    nests = ("linear", "scores", "mix", "soft")
    assert sum(len(list(space(entry, storage))) for entry in nests for storage in STORAGES) >= 1491


@pytest.mark.parametrize("sizes", [{"b": 0, "i": 3, "o": 8}, {"b": 2, "i": 0, "o": 8}, {"b": 2, "i": 3, "o": 0}])
@pytest.mark.parametrize(
    "layout",
    [
        Layout(),
        Layout(form="row-wise"),
        Layout(tile=(1, 1), kblock=32, order="KIJ"),
        Layout(tile=(1, 1), pack=True),
        Layout(tile=(4, 8), kblock=32, order="KJI", lanes=4),
        Layout(tile=(4, 8), kblock=128, order="IJK", epilogue=True),
    ],
)
def test_axes_without_elements(sizes: dict[str, int], layout: Layout) -> None:
    if layout.tile is not None and layout.tile[1] > sizes["o"]:
        layout = replace(layout, tile=(1, 1), lanes=1)
    of = program(PROGRAMS, "biased", **sizes)
    values = operands(of)
    wanted = np.zeros((sizes["b"], sizes["o"])) + values[2]
    np.testing.assert_allclose(run(of, values, "f32", layout), wanted.astype(np.float32))
