"""Nats that would have to be below 0: an array of none is an argument like any other, one of some is no argument."""

from __future__ import annotations

import numpy as np
import pytest

import presk
from presk.text.diagnostics import PreskError

PROGRAM = """\
fn f(x: real[n], i: nat[m] < n - 3) -> real[n] { x + sum(i) }
fn g(i: nat < 0) -> real { i + 1 }
fn h(b: {i: nat[m] < 0, j: nat[k] < 2}) -> (nat[m] < 0, real) { (b.i, sum(b.j)) }
"""


@pytest.mark.parametrize("backend", ["interp", "kernel", "native"])
def test_an_empty_array_of_nats_below_nothing(backend: str) -> None:
    program = presk.loads(PROGRAM)
    f = presk.compile(program["f"], backend=backend, realize="f64")
    assert np.asarray(f(np.ones(3), np.zeros(0, np.int64))).tolist() == [1, 1, 1]
    for i in (np.zeros(1, np.int64), np.array([5, -1])):
        with pytest.raises(PreskError) as caught:
            f(np.ones(3), i)
        assert caught.value.code == "E6002"
    h = presk.compile(program["h"], backend=backend)
    left, right = h({"i": np.zeros(0, np.int64), "j": np.array([1, 1])})
    assert (np.asarray(left).tolist(), float(np.asarray(right))) == ([], 2)


@pytest.mark.parametrize("backend", ["interp", "kernel", "native"])
def test_a_nat_below_nothing_has_no_value(backend: str) -> None:
    g = presk.compile(presk.loads(PROGRAM)["g"], backend=backend)
    with pytest.raises(PreskError) as caught:
        g(0)
    assert caught.value.code == "E6002"
    assert "below 0" in caught.value.diagnostics[0].message
