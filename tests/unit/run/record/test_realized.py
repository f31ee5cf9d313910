"""What a realization says is what runs: each choice against numbers computed by hand, operation by operation."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.unit.run.record.host import run

from presk.check.program import loads
from presk.core.bind import bind
from presk.core.nodes import Program
from presk.core.sites import sites
from presk.realization.model import Plan, Realization
from presk.realization.parameters import leaves_of
from presk.run.record.choices import choices
from presk.run.record.recorder import record
from presk.run.record.schedule import Convert
from presk.text.diagnostics import PreskError

BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES: dict[str, Any] = {"f64": np.float64, "f32": np.float32, "bf16": BF16}
K, N = 19, 8

TEXT = """\
module Lin { w: real[i: 19, o: 8] = normal(std = 1); b: real[o: 8] = zeros
  fn apply(self, x: real[batch, i: 19]) -> real[batch, o: 8] { let y = dot(x, self.w); y + self.b } }
fn mean_of(x: real[batch, i: 19]) -> real[batch] { mean(x, axis = i) }
fn soft(x: real[batch, i: 19]) -> real[batch, i: 19] { softmax(x, axis = i) }
fn shared(x: real[i: 19]) -> (real, real, real) { let few = x[i = 0..2]; (dot(few, few), prod(x), sum(x)) }
"""
LIN = bind(loads(TEXT), "Lin.apply", dims={"batch": 2})
DOT, ADD = (site.key for site in sites(LIN))


def rounded(array: Any, kind: str) -> Any:
    """To a storage type, bf16 through f32."""
    return array.astype(np.float32).astype(BF16) if kind == "bf16" else np.asarray(array).astype(DTYPES[kind])


RANDOM = np.random.default_rng(3)
X, W, B = RANDOM.normal(size=(2, K)), RANDOM.normal(size=(K, N)), RANDOM.normal(size=N)


def computed(program: Program, realization: Realization, plan: Plan | None = None, **given: Any) -> Any:
    """The one output of a program under a realization; arguments are rounded as it stores them."""
    said = choices(realization, plan or Plan("default"), program)
    values = {"self.w": W, "self.b": B, "m.w": W, "m.b": B, "x": X} | given
    inputs: dict[str, Any] = {}
    for leaf in leaves_of(program):
        element, _ = said.parameter(leaf.full, leaf.tensor)
        inputs[leaf.full] = rounded(values[leaf.full], element.kind)
    (output,) = run(record(program, said), inputs)
    return output


def product(x: Any, w: Any, kind: Any = np.float32) -> Any:
    """Σ x·w in increasing order, every operation rounded to `kind`."""
    x, w = x.astype(kind), w.astype(kind)
    total = np.zeros((x.shape[0], w.shape[1]), kind)
    for k in range(x.shape[1]):
        total = total + x[:, k, None] * w[k]
    return total


def f32(array: Any) -> Any:
    return array.astype(np.float32)


def narrow(array: Any) -> Any:
    """In bf16 and back in f32."""
    return f32(rounded(array, "bf16"))


def same(found: Any, expected: Any) -> bool:
    return found.dtype == expected.dtype and found.tobytes() == expected.tobytes()


# Types of sites


@pytest.mark.parametrize("kind", ["f64", "f32"])
def test_one_type_for_all(kind: str) -> None:
    expected = product(rounded(X, kind), rounded(W, kind), DTYPES[kind]) + rounded(B, kind)
    assert same(computed(LIN, Realization(kind)), expected)


def test_bf16_rounds_what_is_stored_and_nothing_between() -> None:
    y = narrow(product(narrow(X), narrow(W)))
    assert same(computed(LIN, Realization("bf16")), rounded(y + narrow(B), "bf16"))


@pytest.mark.parametrize("kind", ["f64", "f32"])
def test_a_rounded_result_leaves_its_operands_as_they_are(kind: str) -> None:
    dtype = DTYPES[kind]
    wide = product(rounded(X, kind), rounded(W, kind), dtype)
    last = Realization(kind, round={ADD: "bf16"})
    assert same(computed(LIN, last), rounded(wide + rounded(B, kind), "bf16"))
    both = Realization(kind, round={DOT: "bf16", ADD: "bf16"})
    assert same(computed(LIN, both), rounded(rounded(wide, "bf16").astype(dtype) + rounded(B, kind), "bf16"))


def test_a_bf16_site_that_is_rounded_takes_parameters_as_they_rest() -> None:
    said = Realization("bf16", params={"w": "f32", "b": "f32"}, round={DOT: "bf16", ADD: "bf16"})
    y = narrow(product(narrow(X), f32(W)))
    assert same(computed(LIN, said), rounded(y + f32(B), "bf16"))


def test_a_single_number_that_is_rounded_is_held_in_its_arithmetic_type() -> None:
    alone = bind(loads("fn f(x: real[i: 19]) -> real { sum(x, axis = i) }"), "f")
    (site,) = sites(alone)
    found = computed(alone, Realization("f32", round={site.key: "bf16"}), x=X[0])
    total = np.float32(0)
    for value in f32(X[0]):
        total = total + value
    assert same(found, np.asarray(narrow(np.asarray(total))))


def test_the_storage_of_one_site_changes_its_rounding_alone() -> None:
    uniform = computed(LIN, Realization("f32"))
    assert same(uniform, product(f32(X), f32(W)) + f32(B))
    # The last sum in bf16: the product is the f32 one, and its reader takes it, as its other operand, in bf16.
    last = computed(LIN, Realization("f32", storage={ADD: "bf16"}))
    assert same(last, rounded(narrow(product(f32(X), f32(W))) + narrow(B), "bf16"))
    # The product in bf16: its own operands and result are narrow, the sum reads that result as it is.
    first = computed(LIN, Realization("f32", storage={DOT: "bf16"}))
    assert same(first, narrow(product(narrow(X), narrow(W))) + f32(B))
    # The product in f64: its operands are the f32 ones, exactly, and its reader takes it in f32.
    wide = computed(LIN, Realization("f32", storage={DOT: "f64"}))
    assert same(wide, f32(product(f32(X), f32(W), np.float64)) + f32(B))


def test_a_site_by_name_is_the_site_by_number() -> None:
    by_name = computed(LIN, Realization("f32", storage={"Lin.apply/y": "bf16"}))
    assert same(by_name, computed(LIN, Realization("f32", storage={DOT: "bf16"})))


def test_a_wider_buffer_is_converted_once_for_all_its_readers() -> None:
    program = bind(loads(TEXT), "shared")
    said = choices(Realization("f32", params={"x": "f64"}), Plan("default"), program)
    schedule = record(program, said)
    counts = sorted(step.count for step in schedule.steps if isinstance(step, Convert))
    assert counts == [2, K]  # the first two elements, and all of them for both others
    few, _, all_of_them = run(schedule, {"x": X[0]})
    x = f32(X[0])
    assert few == x[0] * x[0] + x[1] * x[1]
    assert all_of_them == np.cumsum(x, dtype=np.float32)[-1]


# Parameters at rest


def test_parameters_in_bf16_are_widened_in_the_load() -> None:
    realization = Realization("f32", params={"w": "bf16"})
    assert same(computed(LIN, realization), product(f32(X), narrow(W)) + f32(B))
    said = choices(realization, Plan("default"), LIN)
    schedule = record(LIN, said)
    assert not any(isinstance(step, Convert) for step in schedule.steps)
    assert schedule.kernels[0].inputs[1].element.kind == "bf16"


def test_parameters_in_f64_are_converted_at_the_edge() -> None:
    assert same(computed(LIN, Realization("f32", params={"w": "f64"})), product(f32(X), f32(W)) + f32(B))
    assert same(computed(LIN, Realization("f64", params={"w": "f32"})), product(X, f32(W), np.float64) + B)


# Sums


def test_accumulation_in_f64_over_f32_rounds_once() -> None:
    expected = f32(product(f32(X), f32(W), np.float64)) + f32(B)
    assert same(computed(LIN, Realization("f32", accum={DOT: "f64"})), expected)
    assert not same(expected, computed(LIN, Realization("f32")))


@pytest.mark.parametrize("partials", [2, 3, 8, 64])
def test_interleaved_partials_are_added_in_their_order(partials: int) -> None:
    expected = interleaved(f32(X), f32(W), partials) + f32(B)
    order = {"kind": "interleaved", "partials": partials}
    assert same(computed(LIN, Realization("f32", order=order)), expected)
    assert same(computed(LIN, Realization("f32", order={DOT: order})), expected)


def interleaved(x: Any, w: Any, partials: int) -> Any:
    parts = np.zeros((partials, x.shape[0], w.shape[1]), np.float32)
    for k in range(x.shape[1]):
        parts[k % partials] = parts[k % partials] + x[:, k, None] * w[k]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


@pytest.mark.parametrize("order", [{"kind": "sequential"}, {"kind": "blocked", "width": 4}])
def test_blocks_and_sequence_are_the_same_bits(order: dict[str, Any]) -> None:
    assert same(computed(LIN, Realization("f32", order=order)), computed(LIN, Realization("f32")))


def test_an_order_holds_for_means() -> None:
    program = bind(loads(TEXT), "mean_of", dims={"batch": 2})
    x = f32(X)
    parts = np.zeros((4, 2), np.float32)
    for k in range(K):
        parts[k % 4] = parts[k % 4] + x[:, k]
    expected = (((parts[0] + parts[1]) + parts[2]) + parts[3]) / np.float32(K)
    found = computed(program, Realization("f32", order={"kind": "interleaved", "partials": 4}))
    assert same(found, expected)


def fused(x: Any, w: Any, kind: Any) -> Any:
    """Σ x·w, each product and sum one rounding, by exact fractions."""
    total = np.zeros((x.shape[0], w.shape[1]), kind)
    for at in np.ndindex(*total.shape):
        for k in range(x.shape[1]):
            exact = Fraction(float(x[at[0], k])) * Fraction(float(w[k, at[1]])) + Fraction(float(total[at]))
            total[at] = nearest(exact, kind)
    return total


def nearest(exact: Fraction, kind: Any) -> Any:
    """The nearest number of a type, ties to even."""
    guess = kind(float(exact))
    around = [np.nextafter(guess, kind(-np.inf)), guess, np.nextafter(guess, kind(np.inf))]
    return min(around, key=lambda each: (abs(Fraction(float(each)) - exact), int(each.view(f"u{each.nbytes}")) & 1))


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_a_fused_multiply_add_rounds_once(kind: str) -> None:
    dtype = DTYPES[kind]
    x, w, b = (rounded(each, kind) for each in (X, W, B))
    assert same(computed(LIN, Realization(kind, fma=True)), fused(x, w, dtype) + b)


# Plans change no bit


@pytest.mark.parametrize("kind", ["f64", "f32"])
def test_no_layout_changes_a_bit(kind: str) -> None:
    expected = computed(LIN, Realization(kind))
    lanes = 4 if kind == "f32" else 2
    for stated in (
        {"form": "row-wise"},
        {"tile": [2, 4], "lanes": lanes},
        {"tile": [1, 8], "lanes": 1, "order": "JI"},
        {"tile": [4, 4], "kblock": 32, "order": "KIJ", "pack": True},
        {"split": {"depth": 0, "workers": 2}},
    ):
        assert same(computed(LIN, Realization(kind), Plan(layout={DOT: stated})), expected), stated


@pytest.mark.parametrize("kind", ["f64", "f32"])
def test_two_passes_of_a_softmax_are_the_bits_of_three(kind: str) -> None:
    program = bind(loads(TEXT), "soft", dims={"batch": 2})
    (site,) = sites(program)
    two = computed(program, Realization(kind), Plan(layout={site.key: {"passes": 2}}))
    assert same(two, computed(program, Realization(kind)))


# What can't be run is refused before anything runs


@pytest.mark.parametrize(
    ("realization", "layout", "condition"),
    [
        (Realization("f32"), {"tile": [3, 8]}, 2),
        (Realization("f32"), {"tile": [1, 16]}, 2),
        (Realization("f32"), {"passes": 2}, 2),
        (Realization("bf16"), {"tile": [1, 4], "kblock": 32, "order": "KIJ"}, 3),
        (Realization("f32", accum={DOT: "f64"}), {"tile": [1, 4]}, 7),
        (Realization("f32", order={"kind": "interleaved", "partials": 2}), {"lanes": 4}, 7),
        (Realization("f32"), {"split": {"depth": 2}}, 8),
        (Realization("bf16", accum={DOT: "bf16"}), {}, 9),
        (Realization("f64", accum={DOT: "f32"}), {}, 9),
        (Realization("f32", accum={ADD: "f64"}), {}, 9),
    ],
)
def test_conditions_of_lowering(realization: Realization, layout: dict[str, Any], condition: int) -> None:
    plan = Plan(layout={DOT: layout}) if layout else Plan("default")
    with pytest.raises(PreskError) as caught:
        record(LIN, choices(realization, plan, LIN))
    assert caught.value.code == "E7002"
    assert f"(condition {condition})" in str(caught.value)
    assert "Lin.apply/%" in str(caught.value)
