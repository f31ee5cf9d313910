"""Rows taken several at once: the bits of rows one by one, and the loops that stand for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.kernel.comparing import STORAGES, bits, machine, normals, program, run
from tests.unit.kernel.machine import given

from presk.kernel.lower.interleave import ROWS, interleaved, is_slow_alone, row_loop
from presk.kernel.lowered import Launch, Layout
from presk.kernel.native import parallel_depths
from presk.kernel.printer import print_kernel
from presk.kernel.reader import read_kernel
from presk.text.diagnostics import PreskError

PROGRAMS = """
fn norm(x: real[b, n, d], g: real[d]) -> real[b, n, d] {
  let c = x - mean(x, axis = d)
  c * rsqrt(mean(square(c), axis = d) + 0.00001) * g
}
fn soft(x: real[b, n, d]) -> real[b, n, d] { softmax(x, axis = d) }
fn entropy(x: real[n, d], t: nat[n] < d) -> real[n] { cross_entropy(x, t, axis = d) }
fn best(x: real[n, d]) -> nat[n] < d { argmax(x, axis = d) }
fn apart(x: real[n, d, e], y: real[n, d]) -> real[n, d] { y * sum(x, axis = e) }
fn across(x: real[n, d]) -> real[d] { sum(x, axis = n) }
fn whole(x: real[n, d]) -> real { sum(x) }
fn plain(x: real[n, d]) -> real[n, d] { tanh(x) }
"""

SIZES: dict[str, dict[str, int]] = {
    "norm": {"b": 2, "n": 19, "d": 7},
    "soft": {"b": 2, "n": 19, "d": 7},
    "entropy": {"n": 19, "d": 7},
    "best": {"n": 19, "d": 7},
    "apart": {"n": 3, "d": 19, "e": 6},
    "across": {"n": 6, "d": 19},
    "whole": {"n": 3, "d": 4},
    "plain": {"n": 3, "d": 4},
}

SUM = """kernel sum (%0 : f32[n: 5, d: 3]) -> %1 : f32[n: 5] {
  for i0 in 0..5 {
    s0 = 0
    for i1 in 0..3 {
      s0 = (s0 + %0[i0, i1])
    }
    %1[i0] = s0
  }
}
"""

SUM_BY_TWO = """kernel sum (%0 : f32[n: 5, d: 3]) -> %1 : f32[n: 5] {
  for i0 in 0..3 {
    if (i0 < 2) {
      s0 = 0
      s1 = 0
      for i1 in 0..3 {
        s0 = (s0 + %0[((i0 * 2) + 0), i1])
        s1 = (s1 + %0[((i0 * 2) + 1), i1])
      }
      %1[((i0 * 2) + 0)] = s0
      %1[((i0 * 2) + 1)] = s1
    }
    if (i0 == 2) {
      s0 = 0
      for i1 in 0..3 {
        s0 = (s0 + %0[((i0 * 2) + 0), i1])
      }
      %1[((i0 * 2) + 0)] = s0
    }
  }
}
"""


def values_of(entry: str) -> list[Any]:
    rng = np.random.default_rng(5)
    sizes = SIZES[entry]
    shapes = {
        "norm": [("b", "n", "d"), ("d",)],
        "soft": [("b", "n", "d")],
        "apart": [("n", "d", "e"), ("n", "d")],
    }.get(entry, [("n", "d")])
    found: list[Any] = [normals(rng, *(sizes[name] for name in shape)) for shape in shapes]
    return [*found, rng.integers(0, sizes["d"], sizes["n"])] if entry == "entropy" else found


def of(entry: str) -> Any:
    return program(PROGRAMS, entry, **SIZES[entry])


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("entry", ["norm", "soft", "entropy", "best", "apart", "across"])
def test_rows_at_once_have_the_bits_of_rows_one_by_one(entry: str, storage: str) -> None:
    """Every kernel runs with the shadow map, so that a row that read another's scratch would be found."""
    plain = bits(run(of(entry), values_of(entry), storage))
    for rows in ROWS:
        host = machine(of(entry), storage, Layout(rows=rows))
        assert bits(host.run(given(of(entry).entry, values_of(entry), storage))) == plain
        assert any(f"* {rows}) + {rows - 1})" in each for each in host.kernels)


def launch_of(text: str) -> Launch:
    return Launch(read_kernel(text), (), (), 1)


def test_a_block_of_rows_and_the_rows_that_are_left() -> None:
    assert print_kernel(interleaved(launch_of(SUM), 2).kernel) == SUM_BY_TWO


def test_rows_left_over_are_side_by_side_too() -> None:
    text = print_kernel(interleaved(launch_of(SUM), 4).kernel)
    assert text.count("(s3 + ") == text.count("if (i0 == 1)") == 1
    three = SUM.replace("n: 5", "n: 7").replace("0..5", "0..7")
    assert print_kernel(interleaved(launch_of(three), 4).kernel).count("(s2 + ") == 2


def test_fewer_rows_than_are_taken_together_stay() -> None:
    assert print_kernel(interleaved(launch_of(SUM), 8).kernel) == SUM


@pytest.mark.parametrize("rows", [5, 6, 1021])
def test_blocks_of_any_number_of_rows_can_be_divided(rows: int) -> None:
    text = SUM.replace("n: 5", f"n: {rows}").replace("0..5", f"0..{rows}")
    blocks = interleaved(launch_of(text), 2).kernel
    assert parallel_depths(print_kernel(blocks)) == [0]


@pytest.mark.parametrize(
    ("before", "after", "is_slow"),
    [
        ("", "", True),
        ("(s0 + %0[i0, i1])", "max(s0, %0[i0, i1])", False),
        ("(s0 + %0[i0, i1])", "(s0 + exp(%0[i0, i1]))", False),
        ("s0 = (s0 + %0[i0, i1])", "s1 = (s0 + %0[i0, i1])", False),
    ],
)
def test_which_rows_wait(before: str, after: str, is_slow: bool) -> None:
    loop = row_loop(read_kernel(SUM.replace(before, after)))
    assert loop is not None
    assert is_slow_alone(loop) == is_slow


def test_a_number_of_each_row_makes_no_rows_along_memory() -> None:
    numbers = SUM.replace("%0 : f32[n: 5, d: 3]", "%0 : f32[n: 5, d: 3], %1 : f32[n: 5]").replace(
        "%1[i0] =", "%2[i0] ="
    )
    text = numbers.replace("-> %1", "-> %2").replace("%0[i0, i1])", "(%0[i0, i1] * %1[i0]))")
    loop = row_loop(read_kernel(text))
    assert loop is not None
    assert is_slow_alone(loop)


def test_rows_along_memory_run_in_lanes_as_they_are() -> None:
    columns = SUM.replace("%0 : f32[n: 5, d: 3]", "%0 : f32[d: 3, n: 5]").replace("%0[i0, i1]", "%0[i1, i0]")
    loop = row_loop(read_kernel(columns))
    assert loop is not None
    assert not is_slow_alone(loop)


@pytest.mark.parametrize("layout", [Layout(rows=3), Layout(rows=32), Layout(rows="all")])
def test_other_numbers_of_rows_are_refused(layout: Layout) -> None:
    with pytest.raises(PreskError, match=r"rows at once are not in the space .*condition 2"):
        run(of("soft"), values_of("soft"), "f32", layout)


@pytest.mark.parametrize("entry", ["whole", "plain"])
def test_a_nest_without_rows_has_none_to_be_taken_together(entry: str) -> None:
    with pytest.raises(PreskError, match=r"no rows with loops of their own.*condition 2"):
        run(of(entry), values_of(entry), "f32", Layout(rows=4))
