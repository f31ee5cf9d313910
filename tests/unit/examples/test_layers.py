"""Layers of the library against NumPy formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.examples import formulas
from tests.unit.examples.running import call, compiled, drawn

import presk

TOLERANCE = 1e-12


@pytest.fixture
def source() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture(scope="module")
def layers() -> Any:
    """A program that has all of the library's layers in reach."""
    return presk.loads(TEXT)


TEXT = """
from nn import Linear, Projection, Embedding, LayerNorm, RMSNorm, FeedForward, SwiGLU, Dropout, Rotary
from nn import MultiHeadAttention, GroupedQueryAttention, LSTMCell, LSTM, GRUCell, GRU, Conv1d, Conv2d
from nn import max_pool1d, mean_pool1d, max_pool2d, mean_pool2d, causal_padding_mask

fn deep(m: Linear{3, 2}, x: real[a, b, c, 3]) -> real[a, b, c, 2] { m(x) }
fn vector(m: Linear{3, 2}, x: real[3]) -> real[2] { m(x) }
fn conv1d(m: Conv1d{2, 3, 3}, x: real[batch, seq: T, 2]) -> real[batch, seq: (T - 1) // 2, 3] {
  m(x, stride = 2, padding = 1, dilation = 2)
}
fn plain1d(m: Conv1d{2, 3, 3}, x: real[batch, seq: T, 2]) -> real[batch, seq: T - 2, 3] { m(x) }
fn conv2d(m: Conv2d{2, 3, 3}, x: real[batch, y: 6, x: 5, 2]) -> real[batch, y: 3, x: 3, 3] {
  m(x, stride = 2, padding = 1)
}
fn plain2d(m: Conv2d{2, 3, 2}, x: real[y: Y, x: X, 2]) -> real[y: Y - 1, x: X - 1, 3] { m(x) }
fn pools1d(x: real[batch, seq: 7, 2]) -> (real[batch, seq: 3, 2], real[batch, seq: 5, 2]) {
  (max_pool1d(x), mean_pool1d(x, size = 3, stride = 1))
}
fn pools2d(x: real[batch, y: 6, x: 7, 2]) -> (real[batch, y: 3, x: 3, 2], real[batch, y: 2, x: 2, 2]) {
  (max_pool2d(x), mean_pool2d(x, size = 3, stride = 3))
}
fn causal_padded(
  m: MultiHeadAttention{6, 2},
  x: real[batch, seq: T, 6],
  keep: bool[batch, keys: T],
) -> real[batch, seq: T, 6] {
  m.masked(x, causal_padding_mask(keep))
}
"""


def test_linear_works_on_any_leading_axes(layers: Any, source: np.random.Generator) -> None:
    for entry, shape in [("Linear{3, 2}.apply", (4, 3)), ("deep", (2, 3, 2, 3)), ("vector", (3,))]:
        f = compiled(layers, entry)
        p, x = drawn(f, source), source.normal(size=shape)
        np.testing.assert_allclose(call(f, p, x), formulas.linear(p, x), rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize(
    ("entry", "formula"),
    [
        ("Projection{3, 2}.apply", formulas.linear),
        ("LayerNorm{3}.apply", formulas.layer_norm),
        ("LayerNorm{3, eps = 0.5}.apply", lambda p, x: formulas.layer_norm(p, x, eps=0.5)),
        ("RMSNorm{3}.apply", formulas.rms_norm),
        ("FeedForward{3, 5}.apply", formulas.feed_forward),
        ("SwiGLU{3, 5}.apply", formulas.swiglu),
    ],
)
def test_a_layer_of_the_last_axis(layers: Any, source: np.random.Generator, entry: str, formula: Any) -> None:
    f = compiled(layers, entry)
    p, x = drawn(f, source), source.normal(size=(4, 3))
    np.testing.assert_allclose(call(f, p, x), formula(p, x), rtol=TOLERANCE, atol=TOLERANCE)


def test_initial_values(layers: Any) -> None:
    linear = compiled(layers, "Linear{400, 50}.apply").init(seed=3)
    assert abs(np.asarray(linear["w"], float).std() * 20 - 1) < 0.03
    assert not np.asarray(linear["b"], float).any()
    norm = compiled(layers, "LayerNorm{5}.apply").init(seed=3)
    assert (np.asarray(norm["g"], float) == 1).all()
    assert not np.asarray(norm["b"], float).any()


def test_embedding_takes_rows(layers: Any, source: np.random.Generator) -> None:
    f = compiled(layers, "Embedding{6, 3}.apply")
    p, i = drawn(f, source), np.array([5, 0, 5, 2])
    np.testing.assert_array_equal(call(f, p, i), p["w"][i])


def test_dropout_is_the_identity_outside_training(layers: Any, source: np.random.Generator) -> None:
    f = compiled(layers, "Dropout{0.25}.apply")
    x = source.normal(size=16)
    np.testing.assert_array_equal(call(f, {}, x), x)


def test_dropout_in_training_zeroes_or_scales(layers: Any) -> None:
    f = compiled(layers, "Dropout{0.25}.apply", training=True)
    y = call(f, {}, np.ones(2000))
    dropped = y == 0
    np.testing.assert_allclose(y[~dropped], 4 / 3, rtol=1e-15)
    assert 0.2 < dropped.mean() < 0.3


def test_rotary_turns_pairs(layers: Any, source: np.random.Generator) -> None:
    f = compiled(layers, "Rotary{6}.apply")
    x = source.normal(size=(2, 5, 3, 6))
    np.testing.assert_allclose(call(f, {}, x), formulas.rotary(x), rtol=TOLERANCE, atol=TOLERANCE)


def test_rotary_at_one_position(layers: Any, source: np.random.Generator) -> None:
    f = compiled(layers, "Rotary{6, base = 100}.at", dims={"T": 8})
    x = source.normal(size=(2, 3, 6))
    expected = formulas.rotary(x[:, None], base=100, first=5)[:, 0]
    np.testing.assert_allclose(call(f, {}, x, 5), expected, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("form", ["apply", "causal", "padded", "masked", "causal_padded"])
def test_multi_head_attention(layers: Any, source: np.random.Generator, form: str) -> None:
    f = compiled(layers, form if form == "causal_padded" else f"MultiHeadAttention{{6, 2}}.{form}")
    p, x = drawn(f, source), source.normal(size=(2, 4, 6))
    keep = np.array([[True, True, True, False], [True, False, True, True]])
    arbitrary = source.random((2, 4, 4)) < 0.5
    arbitrary[:, :, 1] = True
    causal = formulas.causal(2, 4)
    given, mask = {
        "apply": ((), None),
        "causal": ((), causal),
        "padded": ((keep,), np.broadcast_to(keep[:, None], (2, 4, 4))),
        "masked": ((arbitrary,), arbitrary),
        "causal_padded": ((keep,), causal & keep[:, None]),
    }[form]
    expected = formulas.multi_head_attention(p, x, 2, mask)
    np.testing.assert_allclose(call(f, p, x, *given), expected, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize(
    ("name", "kept"),
    [("MultiHeadAttention{8, 4}", 4), ("GroupedQueryAttention{8, 4, 2}", 2)],
)
def test_steps_over_a_cache_are_the_causal_pass(layers: Any, source: np.random.Generator, name: str, kept: int) -> None:
    whole = compiled(layers, f"{name}.causal" if name.startswith("Multi") else f"{name}.apply")
    step = compiled(layers, f"{name}.step")
    p, x = drawn(whole, source), source.normal(size=(2, 5, 8))
    expected = call(whole, p, x)
    zeros = np.zeros((2, 7, kept, 2))
    cache = {"k": zeros, "v": zeros}
    for at in range(x.shape[1]):
        y, cache = step(p, x[:, at], cache, at)
        np.testing.assert_allclose(np.asarray(y), expected[:, at], rtol=1e-15)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_grouped_query_attention(layers: Any, source: np.random.Generator, groups: int) -> None:
    f = compiled(layers, f"GroupedQueryAttention{{8, 4, {groups}}}.apply")
    p, x = drawn(f, source), source.normal(size=(2, 5, 8))
    expected = formulas.grouped_query_attention(p, x, 4, groups)
    np.testing.assert_allclose(call(f, p, x), expected, rtol=TOLERANCE, atol=TOLERANCE)


def test_lstm(layers: Any, source: np.random.Generator) -> None:
    f = compiled(layers, "LSTM{2, 3}.apply")
    p, x = drawn(f, source), source.normal(size=(2, 5, 2))
    np.testing.assert_allclose(call(f, p, x), formulas.lstm(p, x), rtol=TOLERANCE, atol=TOLERANCE)


def test_lstm_cell(layers: Any, source: np.random.Generator) -> None:
    f = compiled(layers, "LSTMCell{2, 3}.apply")
    p = drawn(f, source)
    x, h, c = (source.normal(size=(4, n)) for n in (2, 3, 3))
    out = call(f, p, x, {"h": h, "c": c})
    expected = formulas.lstm_cell(p, x, h, c)
    np.testing.assert_allclose(out["h"], expected[0], rtol=TOLERANCE, atol=TOLERANCE)
    np.testing.assert_allclose(out["c"], expected[1], rtol=TOLERANCE, atol=TOLERANCE)


def test_gru(layers: Any, source: np.random.Generator) -> None:
    f = compiled(layers, "GRU{2, 3}.apply")
    p, x = drawn(f, source), source.normal(size=(2, 5, 2))
    np.testing.assert_allclose(call(f, p, x), formulas.gru(p, x), rtol=TOLERANCE, atol=TOLERANCE)


def test_conv1d(layers: Any, source: np.random.Generator) -> None:
    f, plain = compiled(layers, "conv1d"), compiled(layers, "plain1d")
    p, x = drawn(f, source), source.normal(size=(2, 8, 2))
    expected = formulas.conv1d(p, x, stride=2, padding=1, dilation=2)
    np.testing.assert_allclose(call(f, p, x), expected, rtol=TOLERANCE, atol=TOLERANCE)
    np.testing.assert_allclose(call(plain, p, x), formulas.conv1d(p, x), rtol=TOLERANCE, atol=TOLERANCE)


def test_conv2d(layers: Any, source: np.random.Generator) -> None:
    f = compiled(layers, "conv2d")
    p, x = drawn(f, source), source.normal(size=(2, 6, 5, 2))
    expected = formulas.conv2d(p, x, stride=2, padding=1)
    np.testing.assert_allclose(call(f, p, x), expected, rtol=TOLERANCE, atol=TOLERANCE)


def test_conv2d_of_one_picture(layers: Any, source: np.random.Generator) -> None:
    f = compiled(layers, "plain2d")
    p, x = drawn(f, source), source.normal(size=(4, 5, 2))
    np.testing.assert_allclose(call(f, p, x), formulas.conv2d(p, x[None])[0], rtol=TOLERANCE, atol=TOLERANCE)


def test_pooling(layers: Any, source: np.random.Generator) -> None:
    row, picture = source.normal(size=(2, 7, 2)), source.normal(size=(2, 6, 7, 2))
    largest, mean = call(compiled(layers, "pools1d"), row)
    np.testing.assert_array_equal(largest, formulas.pool1d(np.max, row, 2, 2))
    np.testing.assert_allclose(mean, formulas.pool1d(np.mean, row, 3, 1), rtol=TOLERANCE)
    largest, mean = call(compiled(layers, "pools2d"), picture)
    np.testing.assert_array_equal(largest, formulas.pool2d(np.max, picture, 2, 2))
    np.testing.assert_allclose(mean, formulas.pool2d(np.mean, picture, 3, 3), rtol=TOLERANCE)
