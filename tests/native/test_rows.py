"""Row groups whose sums, extremes, differences and quotients go in wide vectors: the bits are the interpreter's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.native.comparing import assert_same
from tests.native.test_layouts import ISAS, force

import presk

PROGRAM = """
fn norm(x: real[n, d], g: real[d]) -> real[n, d] {
  let c = x - mean(x, axis = d)
  c * rsqrt(mean(square(c), axis = d) + 0.00001) * g
}
fn soft(x: real[n, d]) -> real[n, d] { softmax(x, axis = d) }
fn logs(x: real[n, d]) -> real[n, d] { log_softmax(x, axis = d) }
fn ends(x: real[n, d]) -> real[n] { max(x, axis = d) - min(x, axis = d) }
fn least(x: real[n, d]) -> real[n] { min(x, axis = d) }
fn whole(x: real[n, d]) -> real[n] { sum(x / 4, axis = d) / 8 }
fn shares(x: real[n, d]) -> real[n, d] { x / 3 - x / 8 }
"""


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("entry", ["norm", "soft", "logs", "ends", "least", "whole", "shares"])
def test_rows(entry: str, kind: str, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    force(isa, monkeypatch)
    for width, height in ((32, 16), (64, 16), (131, 16), (320, 16), (131, 13), (35, 29)):
        program = presk.loads(PROGRAM)[entry]
        rng = np.random.default_rng(width)
        x: Any = rng.standard_normal((height, width)) * 3
        x[1] = np.where(rng.random(width) < 0.1, 0.0, -0.0)
        x[2] = np.where(rng.random(width) < 0.1, -0.0, 0.0)
        x[3, -1], x[4, 5], x[5, 7] = np.nan, np.inf, -np.inf
        operands = (x, rng.standard_normal(width)) if entry == "norm" else (x,)
        dims = {"n": height, "d": width}
        with np.errstate(all="ignore"):
            wanted = presk.compile(program, backend="kernel", realize=kind, plan=presk.Plan("default"), dims=dims)(
                *operands
            )
            found = presk.compile(program, backend="native", realize=kind, dims=dims, threads=1)(*operands)
        assert_same(found, wanted)
