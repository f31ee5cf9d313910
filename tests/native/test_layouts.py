"""Machine code at every point of the layout space has the interpreter's bits, undivided and divided.

Four nests of a transformer and the two derivatives of a dot, in three types; sizes leave a rest of every tile and
block. The interpreter runs the plainest loops. A few points of each nest are walked always, all of them with `slow`;
those in wide tiles on each instruction set at hand, where only many are.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.native.comparing import TYPES, assert_same, kernel, native
from tests.unit.kernel.layouts import points, softmax_points, wide_points

import presk
from presk.core.nodes import Program
from presk.core.reader import read_program
from presk.core.sites import sites
from presk.kernel.lowered import Layout, Split
from presk.run.record.chosen_text import layout_json
from presk.text.spans import Source


class Nest(NamedTuple):
    """An entry of one nest: its Core, a tile's columns (0: a softmax), whether operand 1 is along J, axes summed."""

    core: str
    columns: int
    contiguous: bool
    sums: int = 1


NESTS = {
    "linear": Nest(
        "(%0 : real[b: 2, s: 5, i: 35], %1 : real[i: 35, o: 19]) -> real[b: 2, s: 5, o: 19]: dot(%0, %1)", 19, True
    ),
    "scores": Nest(
        "(%0 : real[b: 2, h: 2, s: 5, e: 35], %1 : real[b: 2, h: 2, t: 18, e: 35]) -> real[b: 2, h: 2, s: 5, t: 18]: "
        "ein[b, h, s, t](%0, %1)",
        18,
        False,
    ),
    "values": Nest(
        "(%0 : real[b: 2, h: 2, s: 5, t: 35], %1 : real[b: 2, h: 2, t: 35, e: 18]) -> real[b: 2, h: 2, s: 5, e: 18]: "
        "ein[b, h, s, e](%0, %1)",
        18,
        True,
    ),
    "softmax": Nest(
        "(%0 : real[b: 2, h: 3, s: 5, t: 11]) -> real[b: 2, h: 3, s: 5, t: 11]: softmax(%0, axis = t)", 0, True
    ),
    "derivative by x": Nest(
        "(%0 : real[b: 2, s: 5, o: 35], %1 : real[i: 18, o: 35]) -> real[b: 2, s: 5, i: 18]: "
        "dot_vjp_l[b: 2, s: 5, i: 18](%0, %1)",
        18,
        False,
    ),
    "derivative by w": Nest(
        "(%0 : real[b: 3, s: 35, i: 5], %1 : real[b: 3, s: 35, o: 18]) -> real[i: 5, o: 18]: "
        "dot_vjp_r[i: 5, o: 18](%0, %1)",
        18,
        True,
    ),
}

WIDE = {
    "linear": Nest(
        "(%0 : real[b: 2, s: 70, i: 270], %1 : real[i: 270, o: 75]) -> real[b: 2, s: 70, o: 75]: dot(%0, %1)", 75, True
    ),
    "scores": Nest(
        "(%0 : real[h: 2, s: 13, e: 35], %1 : real[h: 2, t: 68, e: 35]) -> real[h: 2, s: 13, t: 68]: "
        "ein[h, s, t](%0, %1)",
        68,
        False,
    ),
    "derivative by w": Nest(
        "(%0 : real[b: 3, s: 35, i: 24], %1 : real[b: 3, s: 35, o: 128]) -> real[i: 24, o: 128]: "
        "dot_vjp_r[i: 24, o: 128](%0, %1)",
        128,
        True,
        2,
    ),
    "rows": Nest("(%0 : real[b: 3, i: 70], %1 : real[i: 70, o: 1100]) -> real[b: 3, o: 1100]: dot(%0, %1)", 1100, True),
}
"""Nests wide and deep enough for wide tiles; the last leaves no rest of rows and columns."""

ISAS = ("baseline", "avx2", "avx512")

SAMPLED = 10
"""Points of a nest and type that are walked always."""

DIVIDED = 5
"""Each so-manieth point is also run divided."""

DEPTHS, WORKERS = (0, 1, 2), (2, 4)


def layouts(nest: Nest, kind: str) -> list[Layout]:
    if not nest.columns:
        return list(softmax_points(kind))
    return list(points(kind, nest.columns, contiguous=nest.contiguous))


def program_of(nest: Nest) -> Program:
    head, _, value = nest.core.rpartition("]: ")
    number = head.count("%")
    text = f"fn nest{head}] {{\n  %{number} = {value}\n  %{number}\n}}\n"
    return read_program(Source("<nest>", text))


def values_of(program: Program) -> list[Any]:
    rng = np.random.default_rng(7)
    return [rng.normal(size=each.type.sizes) for each in program.entry.parameters]  # type: ignore[union-attr]


def walk(nest: Nest, kind: str | presk.Realization, chosen: Sequence[Layout]) -> int:
    """Each point undivided; the first of each DIVIDED also divided, wherever that loop is parallel: so many runs."""
    program = program_of(nest)
    (site,) = sites(program)
    values = values_of(program)
    wanted = kernel(program, kind)(*values)
    divided = 0
    for number, layout in enumerate(chosen):
        assert_same(native(program, kind, planned(site.key, layout))(*values), wanted)
        if number % DIVIDED:
            continue
        for split in (Split(depth, workers) for depth in DEPTHS for workers in WORKERS):
            run = dividing(program, kind, planned(site.key, replace(layout, split=split)))
            if run is not None:
                divided += 1
                assert_same(run(*values), wanted)
    return divided


def dividing(program: Program, kind: str | presk.Realization, plan: presk.Plan) -> Any | None:
    """The entry in machine code on four threads; None where the loop to be divided isn't parallel."""
    try:
        return native(program, kind, plan, threads=max(WORKERS))
    except presk.PreskError as error:
        if "(condition 8)" not in str(error):
            raise
        return None


def planned(site: str, layout: Layout) -> presk.Plan:
    return presk.Plan("default", {site: layout_json(layout)})


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", NESTS)
def test_some_points(name: str, kind: str) -> None:
    all_ = layouts(NESTS[name], kind)
    offset = sorted(NESTS).index(name) + TYPES.index(kind)
    assert walk(NESTS[name], kind, all_[offset % len(all_) :: max(1, len(all_) // SAMPLED)])


def wide(nest: Nest, kind: str, seed: str, count: int) -> list[Layout]:
    """So many points in wide tiles, chosen by a seed."""
    known = list(wide_points(kind, nest.columns, contiguous=nest.contiguous, sums=nest.sums))
    return random.Random(seed).sample(known, min(count, len(known)))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", WIDE)
def test_some_wide_points(name: str, kind: str, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    force(isa, monkeypatch)
    walk(WIDE[name], kind, wide(WIDE[name], kind, f"{name} {kind} {isa}", SAMPLED // 2))


RAGGED = "(%0 : real[s: 69, i: 41], %1 : real[i: 41, o: 75]) -> real[s: 69, o: 75]: dot(%0, %1)"
"""Rows, columns and terms that no tile and no block divides."""

RAGGED_POINTS = (
    Layout(tile=(4, 8), order="IJ"),
    Layout(tile=(2, 16), order="JI", lanes=1),
    Layout(tile=(2, 4), order="JIK", kblock=32),
    Layout(tile=(12, 32), lanes=8, order="JI"),
    Layout(tile=(8, 16), lanes=8, order="IJ", pack="panel"),
    Layout(tile=(6, 64), lanes=16, order="JKI", kblock=32, pack="panel"),
    Layout(tile=(12, 32), lanes=8, order="JKI", kblock=32, pack="both", rows=64),
    Layout(tile=(4, 16), lanes=8, order="IKJ", kblock=32, rows=64),
)


@pytest.mark.parametrize("layout", RAGGED_POINTS, ids=str)
def test_ragged_products_are_divided(layout: Layout) -> None:
    """What the outermost loop leaves over is a round of it: any number of workers, the same bits."""
    program = program_of(Nest(RAGGED, 75, True))
    (site,) = sites(program)
    values = values_of(program)
    wanted = kernel(program, "f32")(*values)
    for workers in (2, 3, 4):
        plan = planned(site.key, replace(layout, split=Split(0, workers)))
        assert_same(native(program, "f32", plan, threads=workers)(*values), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", WIDE)
def test_many_wide_points(name: str, kind: str, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    force(isa, monkeypatch)
    walk(WIDE[name], kind, wide(WIDE[name], kind, f"many {name} {kind} {isa}", 40 * SAMPLED))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_fused_wide_points(kind: str, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    force(isa, monkeypatch)
    chosen = wide(WIDE["linear"], kind, f"fused {kind} {isa}", SAMPLED // 2)
    walk(WIDE["linear"], presk.Realization(kind, fma=True), chosen)


def force(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes code for an instruction set; skips where the machine hasn't it."""
    monkeypatch.setenv("PRESK_ISA", isa)
    try:
        native(program_of(NESTS["softmax"]), "f32")
    except presk.PreskError as error:
        pytest.skip(str(error))


@pytest.mark.slow
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", NESTS)
def test_every_point(name: str, kind: str) -> None:
    walk(NESTS[name], kind, layouts(NESTS[name], kind))


def test_there_are_many() -> None:
    assert sum(len(layouts(nest, kind)) for nest in NESTS.values() for kind in TYPES) >= 1500
