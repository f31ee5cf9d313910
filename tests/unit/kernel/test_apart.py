"""Folds apart: the bits of loops that do everything at once, and the loops that stand for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.kernel.comparing import STORAGES, bits, machine, normals, program, run
from tests.unit.kernel.machine import given

from presk.kernel.lower.apart import apart
from presk.kernel.lowered import Layout
from presk.kernel.native import verify
from presk.kernel.printer import print_kernel
from presk.kernel.reader import read_kernel

PROGRAMS = """
fn norm(x: real[n, d], g: real[d]) -> real[n, d] {
  let c = x - mean(x, axis = d)
  c * rsqrt(mean(square(c), axis = d) + 0.00001) * g
}
fn soft(x: real[n, d]) -> real[n, d] { softmax(x, axis = d) }
fn logs(x: real[n, d]) -> real[n, d] { log_softmax(x, axis = d) }
fn entropy(x: real[n, d], t: nat[n] < d) -> real[n] { cross_entropy(x, t, axis = d) }
fn power(x: real[n, d], g: real[d]) -> real[n] { sum(x * x * g, axis = d) - max(abs(x), axis = d) }
fn deep(x: real[n, d]) -> real[n] { sum(sqrt(abs(x)), axis = d) / (1 + min(x * 3, axis = d)) }
"""

ENTRIES = ("norm", "soft", "logs", "entropy", "power", "deep")


def of(entry: str) -> Any:
    return program(PROGRAMS, entry, n=11, d=40)


def values_of(entry: str) -> list[Any]:
    rng = np.random.default_rng(8)
    found: list[Any] = [normals(rng, 11, 40)]
    found += [normals(rng, 40)] if entry in ("norm", "power") else []
    return [*found, rng.integers(0, 40, 11)] if entry == "entropy" else found


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("runs", [None, True])
def test_eight_rows_have_the_bits_of_rows_one_by_one(entry: str, storage: str, runs: bool | None) -> None:
    """Every kernel runs with the shadow map; three rows are left over."""
    plain = bits(run(of(entry), values_of(entry), storage))
    for passes in (2, 3) if entry == "soft" and storage != "bf16" else (None,):
        host = machine(of(entry), storage, Layout(rows=8, runs=runs, passes=passes))
        assert bits(host.run(given(of(entry).entry, values_of(entry), storage))) == plain


def loop(body: str, before: str = "", after: str = "", head: str = "-> %1 : f32[40], %2 : f32") -> str:
    lines = [*before.split(";"), "s0 = 0", "for i0 in 0..40 {", *body.split(";"), "}", *after.split(";"), "%2[] = s0"]
    return (
        "kernel k (%0 : f32[40]) " + head + " {\n" + "\n".join(each.strip() for each in lines if each.strip()) + "\n}\n"
    )


def cut(text: str) -> str:
    verify(text)
    found = print_kernel(apart(read_kernel(text)))
    verify(found)
    return found


def body(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()[1:-1]]


def test_what_is_summed_is_kept_in_scratch() -> None:
    found = body(cut(loop("s1 = (%0[i0] * 3); %1[i0] = s1; s0 = (s0 + sqrt(s1))")))
    assert found == [
        "t0 : f32[40]",
        "s0 = 0",
        "for i0 in 0..40 {",
        "s1 = (%0[i0] * 3)",
        "%1[i0] = s1",
        "t0[i0] = sqrt(s1)",
        "}",
        "for i0 in 0..40 {",
        "s0 = (s0 + t0[i0])",
        "}",
        "%2[] = s0",
    ]


def test_what_is_stored_anyway_or_lies_in_memory_is_not() -> None:
    stored = body(cut(loop("s1 = (%0[i0] * 3); %1[i0] = s1; s0 = max(s0, s1)")))
    assert stored[-4:] == ["for i0 in 0..40 {", "s0 = max(s0, %1[i0])", "}", "%2[] = s0"]
    loaded = body(cut(loop("%1[i0] = (%0[i0] * 3); s0 = (s0 + %0[i0])")))
    assert loaded[-4:] == ["for i0 in 0..40 {", "s0 = (s0 + %0[i0])", "}", "%2[] = s0"]
    assert not any(each.startswith("t0") for each in (*stored, *loaded))


def test_an_input_that_the_loop_overwrites_is_kept() -> None:
    text = loop("s1 = %0[i0]; s0 = (s0 + %0[i0]); %1[i0] = (s1 * 3)", head="-> %1 in %0 : f32[40], %2 : f32")
    found = body(cut(text))
    assert found[3:7] == ["s1 = %0[i0]", "t0[i0] = %0[i0]", "%1[i0] = (s1 * 3)", "}"]


def test_sums_and_extremes_have_a_loop_each() -> None:
    found = body(cut(loop("s0 = (s0 + %0[i0]); s1 = max(s1, %0[i0])", before="s1 = 0", after="%1[0] = s1")))
    assert found[2:-2] == [
        "for i0 in 0..40 {",
        "s0 = (s0 + %0[i0])",
        "}",
        "for i0 in 0..40 {",
        "s1 = max(s1, %0[i0])",
        "}",
    ]


@pytest.mark.parametrize(
    "text",
    [
        # Nothing but folds; a spread, which native code takes as it stands.
        loop("s0 = (s0 + %0[i0])", before="for i1 in 0..40 {; %1[i1] = 0; }"),
        loop("s1 = (%0[i0] - s2); s0 = (s0 + (s1 * s1))", before="s2 = 3; for i1 in 0..40 {; %1[i1] = 0; }"),
        # The sum so far is read; a variable goes from round to round, is set twice, or is read afterwards.
        loop("s0 = (s0 + %0[i0]); %1[i0] = s0"),
        loop("s0 = (s0 + s1); s1 = (%0[i0] * 2); %1[i0] = s1", before="s1 = 1"),
        loop("s1 = %0[i0]; s0 = (s0 + sqrt(s1)); s1 = (s1 * 2); %1[i0] = s1"),
        loop("s1 = (%0[i0] * 2); %1[i0] = s1; s0 = (s0 + sqrt(s1))", after="s0 = (s0 + s1)"),
        # Another difference than that of the running sum: no fold.
        loop("s0 = (%0[i0] - s0); %1[i0] = %0[i0]"),
        # Too short.
        loop("%1[i0] = (%0[i0] * 3); s0 = (s0 + sqrt(%0[i0]))").replace("0..40", "0..31"),
    ],
)
def test_other_loops_stay(text: str) -> None:
    assert cut(text) == text_of(text)


def text_of(text: str) -> str:
    return print_kernel(read_kernel(text))
