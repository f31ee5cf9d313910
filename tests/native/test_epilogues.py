"""Work joined to a contraction's store in machine code: the bits of two nests at points of every form, divided too."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from tests.native.comparing import TYPES, assert_same, kernel, native
from tests.native.test_layouts import DEPTHS, ISAS, dividing, force, planned
from tests.unit.kernel.layouts import points, wide_points

from presk.check.program import loads
from presk.core.bind import bind
from presk.core.nodes import Program
from presk.core.sites import sites
from presk.kernel.lowered import Layout, Split

TEXT = """
fn bent(x: real[b, i], w: real[i, o], c: real[o], r: real[b, o]) -> real[b, o] { gelu(dot(x, w) + c) * 0.3 }
fn added(x: real[b, i], w: real[i, o], c: real[o], r: real[b, o]) -> real[b, o] { r + relu(dot(x, w) + c) }
"""

SIZES = {"b": 13, "i": 70, "o": 75}

SAMPLED = 8


def program(entry: str) -> Program:
    return bind(loads(TEXT), entry, dims=SIZES)


def layouts(entry: str, kind: str, isa: str) -> Iterator[Layout]:
    """Points of the narrow forms and of wide tiles, with functions over runs and without."""
    chance = random.Random(f"{entry} {kind} {isa}")
    for known in (points, wide_points):
        found = list(known(kind, SIZES["o"], contiguous=True))
        for layout in chance.sample(found, min(SAMPLED, len(found))):
            yield replace(layout, epilogue=True, runs=chance.random() < 0.5)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("entry", ["bent", "added"])
def test_joined_points(entry: str, kind: str, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    force(isa, monkeypatch)
    of = program(entry)
    rng = np.random.default_rng(7)
    values = [rng.normal(size=each.type.sizes) for each in of.entry.parameters]  # type: ignore[union-attr]
    values[2][:2] = (np.nan, -np.inf)
    wanted = kernel(of, kind)(*values)
    product = sites(of)[0].key
    for number, layout in enumerate(layouts(entry, kind, isa)):
        assert_same(native(of, kind, planned(product, layout))(*values), wanted)
        for depth in DEPTHS if number % 4 == 0 else ():
            run = dividing(of, kind, planned(product, replace(layout, split=Split(depth, 2))))
            if run is not None:
                assert_same(run(*values), wanted)
