"""Functions over runs: the bits of loops that call them one by one, and the statements that stand for these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.kernel.comparing import STORAGES, bits, machine, normals, program, run
from tests.unit.kernel.machine import given

import presk
from presk.kernel.lower.runs import has_runs, in_runs, launch_in_runs
from presk.kernel.lowered import Launch, Layout
from presk.kernel.native import expand, parallel_depths, verify
from presk.kernel.printer import print_kernel
from presk.kernel.reader import read_kernel

PROGRAMS = """
fn plain(x: real[n, d]) -> real[n, d] { exp(x) }
fn gated(x: real[n, d], y: real[n, d]) -> real[n, d] { silu(x) * y - gelu(y) }
fn nested(x: real[n, d]) -> real[n, d] { softplus(x) - log(1 + exp(tanh(x))) }
fn powers(x: real[n, d], y: real[n, d]) -> real[n, d] { pow(abs(x), y) - pow(abs(y), 0.3) }
fn turned(x: real[n, d]) -> real[n, d] { sin(x) - cos(x) }
fn soft(x: real[n, d]) -> real[n, d] { softmax(x, axis = d) }
fn logs(x: real[n, d]) -> real[n, d] { log_softmax(x, axis = d) }
fn entropy(x: real[n, d], t: nat[n] < d) -> real[n] { cross_entropy(x, t, axis = d) }
fn overall(x: real[n, d]) -> real { sum(erf(x) * expm1(x)) }
fn near(x: real[n, d]) -> real[n, d] { log1p(square(x)) }
fn slopes(x: real[n, d]) -> real[n, d] { sigmoid(x) * sigmoid(-x) - silu(-x) }
"""

ENTRIES = ("plain", "gated", "nested", "powers", "turned", "soft", "logs", "entropy", "overall", "near", "slopes")
OF_TWO = ("gated", "powers")

WIDTHS = (40, 523, 1024)
"""One run; runs and a rest; runs without one."""


def of(entry: str, width: int) -> Any:
    return program(PROGRAMS, entry, n=4, d=width)


def values_of(entry: str, width: int) -> list[Any]:
    rng = np.random.default_rng(3)
    found: list[Any] = [normals(rng, 4, width) for _ in range(2 if entry in OF_TWO else 1)]
    found[0][0, :3] = (-0.0, 90.0, -200.0)
    return [*found, rng.integers(0, width, 4)] if entry == "entropy" else found


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("entry", ENTRIES)
def test_runs_have_the_bits_of_elements_one_by_one(entry: str, width: int, storage: str) -> None:
    """Every kernel runs with the shadow map, in place too where it may."""
    plain = bits(run(of(entry, width), values_of(entry, width), storage))
    host = machine(of(entry, width), storage, Layout(runs=True))
    assert bits(host.run(given(of(entry, width).entry, values_of(entry, width), storage))) == plain
    assert any("apply " in each for each in host.kernels)


@pytest.mark.parametrize("passes", [2, 3])
def test_rows_are_taken_together_after_their_functions_went_over_runs(passes: int) -> None:
    plain = bits(run(of("soft", 40), values_of("soft", 40), "f32"))
    host = machine(of("soft", 40), "f32", Layout(runs=True, rows=4, passes=passes))
    assert bits(host.run(given(of("soft", 40).entry, values_of("soft", 40), "f32"))) == plain
    (text,) = set(host.kernels)
    assert text.count("apply exp") == 4
    assert text.count("(s1 + ") == 1


GELU = """kernel gelu (%0 : f32[n: 3, d: 1024]) -> %1 : f32[n: 3, d: 1024] {
  for i0 in 0..3 {
    for i1 in 0..1024 {
      s0 = %0[i0, i1]
      %1[i0, i1] = ((s0 * (1 + erf((s0 / 1.4142135)))) / 2)
    }
  }
}
"""

GELU_IN_RUNS = """kernel gelu (%0 : f32[n: 3, d: 1024]) -> %1 : f32[n: 3, d: 1024] {
  t0 : f32[256]
  for i0 in 0..3 {
    for i2 in 0..4 {
      for i1 in 0..256 {
        s0 = %0[i0, ((i2 * 256) + i1)]
        t0[i1] = (s0 / 1.4142135)
      }
      apply erf(t0[0]) to t0[0] over 256
      for i1 in 0..256 {
        s0 = %0[i0, ((i2 * 256) + i1)]
        %1[i0, ((i2 * 256) + i1)] = ((s0 * (1 + t0[i1])) / 2)
      }
    }
  }
}
"""


def rewritten(text: str) -> str:
    found = print_kernel(in_runs(read_kernel(text)))
    assert verify(found) == found
    return found


def test_a_chain_around_a_function() -> None:
    assert rewritten(GELU) == GELU_IN_RUNS


def test_runs_are_cut_once() -> None:
    assert rewritten(GELU_IN_RUNS) == GELU_IN_RUNS


def test_a_loop_that_is_one_function_has_no_scratch() -> None:
    text = GELU.replace("((s0 * (1 + erf((s0 / 1.4142135)))) / 2)", "erf(%0[i0, i1])").replace(
        "      s0 = %0[i0, i1]\n", ""
    )
    found = rewritten(text)
    assert "apply erf(%0[i0, 0]) to %1[i0, 0] over 1024" in found
    assert "t0" not in found
    long = rewritten(text.replace("1024", "4096"))
    assert "apply erf(%0[i0, (i2 * 256)]) to %1[i0, (i2 * 256)] over 256" in long


def test_a_function_of_a_function_takes_its_run_where_it_lies() -> None:
    found = rewritten(GELU.replace("erf((s0 / 1.4142135))", "log(exp(s0))"))
    assert "apply exp(%0[i0, (i2 * 256)]) to t0[0] over 256" in found
    assert "apply log(t0[0]) to t1[0] over 256" in found


def test_functions_of_the_same_number_are_one() -> None:
    """As those of absolute values of a number and of its negation are, which derivatives of sigmoids take."""
    text = GELU.replace("      %1", "      s1 = (-s0)\n      s2 = exp((-abs(s1)))\n      s3 = (-(-s1))\n      %1")
    found = rewritten(text.replace("erf((s0 / 1.4142135))", "((s2 * exp((-abs(s0)))) + exp((-abs(s3))))"))
    assert found.count("apply exp") == 1
    other = rewritten(text.replace("erf((s0 / 1.4142135))", "(s2 * exp((-abs((s0 + 0)))))"))
    assert other.count("apply exp") == 2


@pytest.mark.parametrize(
    "value",
    [
        "((s0 * (1 + erf(1.5))) / 2)",
        "((s1 * (1 + s0)) / 2)",
        "sqrt(s0)",
        "exp(s1)",
        "exp(%1[i0, i1])",
    ],
)
def test_what_is_the_same_for_all_rounds_or_needs_the_round_before_stays(value: str) -> None:
    """A function of what a round before has left, of an element the loop stores, of nothing that differs."""
    head = "      s0 = %0[i0, i1]\n      s1 = (s1 + s0)\n      %1[i0, i1] = 0\n"
    body = GELU.replace("      s0 = %0[i0, i1]\n", head).replace("    for i1", "    s1 = 0\n    for i1", 1)
    text = body.replace("((s0 * (1 + erf((s0 / 1.4142135)))) / 2)", value)
    assert rewritten(text) == text


def test_short_loops_stay() -> None:
    text = GELU.replace("1024", "12")
    assert rewritten(text) == text


def test_the_loop_over_runs_can_be_divided() -> None:
    flat = GELU.replace("n: 3, ", "").replace("[i0, i1]", "[i1]").replace("  for i0 in 0..3 {\n", "", 1)
    found = rewritten(flat.replace("    }\n  }\n}\n", "    }\n}\n"))
    assert parallel_depths(found) == [0]
    assert parallel_depths(GELU_IN_RUNS) == [0, 1]


REST = GELU.replace("1024", "2049")


def test_what_runs_leave_is_the_last_round_of_their_loop() -> None:
    """So that a launch divides a loop of any length; no run is much shorter than another."""
    found = rewritten(REST)
    assert parallel_depths(found) == [0, 1]
    assert "for i2 in 0..9 {\n      if (i2 < 8) {\n        for i1 in 0..232 {" in found
    assert "      if (i2 == 8) {\n        for i1 in 0..193 {" in found
    assert "apply erf(t0[0]) to t0[0] over 193" in found
    assert rewritten(found) == found


def test_what_runs_leave_of_a_loop_among_others_is_behind_it() -> None:
    before = "  for i0 in 0..3 {\n    s1 = 1\n    for i9 in 0..2 {\n      s1 = (s1 * 2)\n    }\n"
    text = REST.replace("  for i0 in 0..3 {\n", before, 1).replace("(1 + erf", "(s1 + erf")
    found = rewritten(text)
    assert "if " not in found
    assert "apply erf(t0[0]) to t0[0] over 193" in found


def test_a_run_without_scratch_is_longer() -> None:
    text = REST.replace("((s0 * (1 + erf((s0 / 1.4142135)))) / 2)", "erf(s0)")
    assert "apply erf(%0[i0, 0]) to %1[i0, 0] over 2049" not in rewritten(text)
    assert "over 2047" in rewritten(text.replace("2049", "2047"))


def test_the_work_of_a_last_round_counts_once() -> None:
    launch = launch_in_runs(Launch(read_kernel(REST), (), (), 0))
    even = launch_in_runs(Launch(read_kernel(GELU.replace("1024", "2048")), (), (), 0))
    assert launch.work * 2048 == even.work * 2049


def test_the_expansion_computes_the_same_and_has_no_runs() -> None:
    expanded = expand(GELU_IN_RUNS)
    assert has_runs(read_kernel(GELU_IN_RUNS))
    assert not has_runs(read_kernel(expanded))
    assert "for i3 in 0..256 {\n        t0[i3] = erf(t0[i3])" in expanded


@pytest.mark.parametrize(("step", "steps"), [("exp(-abs(y)) * x", 600), ("tanh(y) + x", 1100)])
def test_chains_of_any_length_are_lowered_those_too_that_scratch_does_not_suffice_for(step: str, steps: int) -> None:
    lines = "\n".join([f"let y = {step}"] * steps)
    chain = presk.loads(f"fn f(x: real[n]) -> real[n] {{\nlet y = x\n{lines}\ny\n}}\n")["f"]
    shorter = presk.loads(f"fn f(x: real[n], y: real[n]) -> real[n] {{ {step} }}\n")["f"]
    x = np.linspace(-1, 1, 20, dtype=np.float32)
    one, y = presk.compile(shorter, realize="f32", backend="kernel"), x
    for _ in range(steps):
        y = one(x, y)
    for backend in ("kernel", "native"):
        assert bits(presk.compile(chain, realize="f32", backend=backend)(x)) == bits(y)
