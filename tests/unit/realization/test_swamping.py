"""Sums in order with more terms than their type counts are noted, and what the note proposes is taken."""

from __future__ import annotations

import json
import re
import warnings

import pytest

import presk
from presk.core.bind import bind
from presk.realization.swamping import long_sums

MANY = 20_000_000

TEXT = """\
fn a(x: real[n]) -> real { sum(x) }
fn b(x: real[n], w: real[n, 2]) -> real[2] { dot(x, w) }
fn c(x: real[n]) -> real[n] { cumsum(x, axis = 0) }
fn d(x: real[n]) -> real { fold s = 0 over e in x along 0 { s + e } }
fn e(x: real[3, n]) -> real[3] { logsumexp(x, axis = -1) }
fn g(x: real[n], i: nat[n] < 4) -> real[4] { scatter_add(zeros[4](), i, x, axis = 0) }
fn h(x: real[n], y: real) -> real { sum(exp(x) * y) }
fn k(x: real[n], y: real) -> real { grad(h, wrt = 1)(x, y) }
fn m(x: real[n]) -> real { mean(x) }
fn q(x: real[n]) -> real[n] { x + max(x) }
fn r(x: real[n]) -> real[n] { softmax(x, axis = 0) }
fn s(t: {a: real[n], b: real[2]}) -> real { total(t) }
"""
ENTRIES = "abcdeghkmrs"
PROGRAM = presk.loads(TEXT)


@pytest.mark.parametrize("realize", ["f32", "bf16", "bf16/f32"])
@pytest.mark.parametrize("entry", ENTRIES)
def test_what_may_swamp_is_noted_with_what_mends_it(entry: str, realize: str) -> None:
    core = bind(PROGRAM.checked, entry, dims={"n": MANY})
    (found,) = long_sums(presk.Realization(realize), core)
    assert found.terms in (MANY, MANY + 2) and "f32 counts to 2^24" in str(found)
    proposed = re.findall(r'`("(?:accum|order|storage)": \{.*?\})`', found.remedy)
    assert proposed
    for each in proposed:
        made = presk.Realization(realize, **json.loads(f"{{{each}}}"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            presk.compile(PROGRAM[entry], realize=made, dims={"n": MANY}, backend="kernel").specialize()


def test_what_cant_swamp_isnt_noted() -> None:
    for entry, size, realize in (("a", 1 << 24, "f32"), ("a", MANY, "f64"), ("q", MANY, "f32")):
        assert not long_sums(presk.Realization(realize), bind(PROGRAM.checked, entry, dims={"n": size}))


def test_python_warns_once() -> None:
    compiled = presk.compile(PROGRAM["a"], dims={"n": MANY}, backend="kernel")
    with pytest.warns(UserWarning, match="adds 20000000 terms in order"):
        compiled.specialize()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled.specialize()
        presk.compile(PROGRAM["a"], dims={"n": MANY}, backend="interp").specialize()
