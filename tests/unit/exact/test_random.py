"""Draws: keyed by their place alone, row by row the same in any batch, and what dropout and sample make of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from tests.unit.exact.building import run

from presk import draw
from presk.text.diagnostics import PreskError

NOISE = """
fn inner(x: real[n: 2]) -> real[n: 2] { x + normal[n: 2](std = 2) + normal[n: 2](mean = 1) }
module Noisy { w: real[2] = zeros
  fn apply(self, x: real[n: 2]) -> real[n: 2] { inner(x) } }
module Net { first: Noisy; rest: Noisy * 2 }
fn f(m: Net, x: real[n: 2]) -> real[n: 2] {
  let x = m.first(x) + uniform[n: 2](lo = -1)
  fold x = x over layer in m.rest { fold x = x over i in 0..3 { layer(x) } }
}
"""


def test_a_draw_is_keyed_by_path_number_and_indices() -> None:
    m = {"first": {"w": np.zeros(2)}, "rest": {"w": np.zeros((2, 2))}}
    found = np.asarray(run(NOISE, m, [0.0, 0.0], seed=3, step=5))
    wanted = draw.uniform(draw.key(3, "uniform", "#0"), 5, (2,), lo=-1.0)

    def layer(path: str, indices: tuple[int, ...]) -> Any:
        return draw.normal(draw.key(3, "normal", f"{path}#0", indices), 5, (2,), std=2.0) + draw.normal(
            draw.key(3, "normal", f"{path}#1", indices), 5, (2,), mean=1.0
        )

    wanted = wanted + layer("first.apply.inner", ())
    for at in range(2):
        for i in range(3):
            wanted = wanted + layer("rest.apply.inner", (at, i))
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_drawn_numbers_are_the_machines() -> None:
    found = run("fn f() -> real[n: 50] { normal[n: 50](std = 1 / 3, mean = 0.1) }", seed=9)
    wanted = draw.normal(draw.key(9, "normal", "#0"), 0, (50,), std=1 / 3, mean=0.1)
    np.testing.assert_array_equal(np.asarray(found), wanted)


@pytest.mark.parametrize("shape", ["batch: {n}, k: 3", "k: 3, batch: {n}"])
def test_a_row_is_the_same_alone_and_in_a_batch(shape: str) -> None:
    def rows(count: int, offset: int) -> Any:
        axes = shape.format(n=count)
        found = np.asarray(run(f"fn f() -> real[{axes}] {{ uniform[{axes}]() }}", row_offset=offset))
        return found if shape.startswith("batch") else found.T

    whole = rows(6, 0)
    np.testing.assert_array_equal(rows(2, 3), whole[3:5])
    np.testing.assert_array_equal(rows(1, 5), whole[5:])


def test_a_draw_without_a_batch_axis_ignores_the_offset() -> None:
    text = "fn f() -> real[k: 3] { uniform[k: 3]() }"
    np.testing.assert_array_equal(np.asarray(run(text, row_offset=7)), np.asarray(run(text)))


DROPOUT = "fn f(x: real[batch: 40, k: 25]) -> real[batch: 40, k: 25] { dropout(x, 0.25) }"


def test_dropout_is_the_identity_unless_training() -> None:
    x = np.random.default_rng(0).normal(size=(40, 25))
    np.testing.assert_array_equal(np.asarray(run(DROPOUT, x)), x)


def test_dropout_keeps_where_its_uniform_is_at_least_p() -> None:
    x = np.random.default_rng(0).normal(size=(40, 25))
    found = np.asarray(run(DROPOUT, x, training=True, seed=4, step=2))
    uniforms = draw.uniform(draw.key(4, "dropout", "#0"), 2, (40, 25), batch_axis=0)
    np.testing.assert_allclose(found, np.where(uniforms >= 0.25, x / 0.75, 0), rtol=1e-15)
    assert 0.15 < (found == 0).mean() < 0.35


def test_dropout_of_everything_divides_by_zero_nowhere_that_matters() -> None:
    text = "fn f(x: real[k: 5]) -> real[k: 5] { dropout(x, 1) }"
    np.testing.assert_array_equal(np.asarray(run(text, np.ones(5), training=True)), np.zeros(5))


# sample


def sampled(row: list[float], arguments: str, seeds: int = 300, **options: Any) -> Counter[int]:
    text = (
        f"fn f(x: real[batch: {seeds}, v: {len(row)}]) -> nat[batch: {seeds}] < {len(row)} {{ sample(x, {arguments}) }}"
    )
    return Counter(run(text, np.tile(row, (seeds, 1)), **options).tolist())


def test_sample_takes_the_first_position_whose_running_sum_passes_the_uniform() -> None:
    row = np.array([0.3, -1.0, 2.0, 0.5])
    text = "fn f(x: real[batch: 200, v: 4]) -> nat[batch: 200] < 4 { sample(x, 0.7) }"
    found = run(text, np.tile(row, (200, 1)), seed=11, step=3)
    uniforms = draw.uniform(draw.key(11, "sample", "#0"), 3, (200,), batch_axis=0)
    weights = np.exp(row / 0.7)
    wanted = np.searchsorted(np.cumsum(weights) / weights.sum(), uniforms, side="right")
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("certify", [False, True])
def test_sample_at_temperature_0_is_greedy_and_takes_the_last(certify: bool) -> None:
    assert sampled([1.0, 3.0, 3.0, 2.0], "0", 3, certify=certify) == {2: 3}


def test_top_k_leaves_the_largest_the_last_of_equals() -> None:
    assert set(sampled([1.0, 3.0, 1.0, 2.0], "1, 3")) == {1, 2, 3}
    assert set(sampled([1.0, 1.0, 1.0, 1.0], "1, 2")) == {2, 3}


def test_top_p_leaves_the_fewest_that_reach_it() -> None:
    row = [float(np.log(p)) for p in (0.1, 0.5, 0.15, 0.25)]
    assert set(sampled(row, "1, 0, 0.7")) == {1, 3}
    assert set(sampled(row, "1, 0, 0.4")) == {1}
    assert set(sampled(row, "1, 0, 0.8")) == {1, 2, 3}
    assert set(sampled(row, "1, 2, 0.99")) == {1, 3}
    assert set(sampled(row, "1, 0, 1")) == {0, 1, 2, 3}


def test_samples_have_the_probabilities() -> None:
    found = sampled([0.0, float(np.log(3))], "1", 2000)
    assert abs(found[1] / 2000 - 0.75) < 0.04


def test_a_certified_sample_is_the_uncertified_one() -> None:
    row = [0.3, -1.0, 2.0, 0.5]
    assert sampled(row, "0.7, 3, 0.9", 50, certify=True) == sampled(row, "0.7, 3, 0.9", 50)


def test_a_negative_temperature_is_refused() -> None:
    with pytest.raises(PreskError, match="negative temperature"):
        sampled([1.0, 2.0], "-1", 1)


def test_a_seed_out_of_range_is_refused() -> None:
    with pytest.raises(PreskError) as caught:
        run("fn f() -> real[k: 3] { uniform[k: 3]() }", seed=-1)
    assert caught.value.code == "E6020"
