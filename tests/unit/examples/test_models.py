"""The examples' models against NumPy formulas, at small sizes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.unit.examples import formulas
from tests.unit.examples.running import call, compiled, drawn, load, over

from presk import draw
from presk.shapes.types import leaves

TOLERANCE = 1e-11


@pytest.fixture
def source() -> np.random.Generator:
    return np.random.default_rng(17)


def close(actual: Any, expected: Any) -> None:
    np.testing.assert_allclose(actual, expected, rtol=TOLERANCE, atol=TOLERANCE)


def test_linear_lesson(source: np.random.Generator) -> None:
    program = load("tutorial/01_linear.psk")
    f = compiled(program, "Linear{3, 2}.apply")
    p, x, y = drawn(f, source), source.normal(size=(4, 3)), source.normal(size=(4, 2))
    close(call(f, p, x), formulas.linear(p, x))
    close(call(compiled(program, "mse"), p, x, y), np.mean((formulas.linear(p, x) - y) ** 2))


def test_mlp_lesson(source: np.random.Generator) -> None:
    program = load("tutorial/02_mlp.psk")
    f = compiled(program, "MLP.apply")
    p, x, y = drawn(f, source), source.normal(size=(4, 4)), np.array([0, 2, 1, 1])
    h = formulas.linear(p["first"], x)
    for each in formulas.layers(p["layers"]):
        h = h + formulas.feed_forward(each, formulas.layer_norm(each["norm"], h))
    logits = formulas.linear(p["last"], h)
    close(call(f, p, x), logits)
    loss, metrics = call(compiled(program, "loss"), p, x, y)
    close(loss, formulas.cross_entropy(logits, y).mean())
    close(metrics["accuracy"], (logits.argmax(-1) == y).mean())


def test_attention_lesson(source: np.random.Generator) -> None:
    program = load("tutorial/03_attention.psk")
    q, k, v = (source.normal(size=(2, 2, 5, 4)) for _ in range(3))
    close(call(compiled(program, "scores"), q, k), q @ k.swapaxes(2, 3))
    expected = formulas.softmax(q @ k.swapaxes(2, 3) / 2, np.tril(np.ones((5, 5), bool)))
    close(call(compiled(program, "weights"), q, k), expected)
    heads_last = (each.swapaxes(1, 2) for each in (q, k, v))
    mixed = formulas.attention(*heads_last, mask=formulas.causal(2, 5)).swapaxes(1, 2)
    close(call(compiled(program, "attention"), q, k, v), mixed)


@pytest.mark.parametrize("path", ["tutorial/04_minigpt.psk", "minigpt/minigpt.psk"])
def test_gpt(source: np.random.Generator, path: str) -> None:
    program = load(path)
    name = "GPT" if path.startswith("tutorial") else "MiniGPT"
    f = compiled(program, f"{name}.apply")
    p, x, y = drawn(f, source), source.integers(0, 27, (2, 8)), source.integers(0, 27, (2, 8))
    logits = formulas.gpt(p, x, 2, formulas.minigpt_block(2))
    close(call(f, p, x), logits)
    loss = compiled(program, "loss")
    result = call(loss, p, x, y) if name == "GPT" else call(loss, p, {"x": x, "y": y})
    close(result, formulas.cross_entropy(logits, y).mean())


def test_minigpt_begins_with_equally_likely_symbols() -> None:
    program = load("minigpt/minigpt.psk")
    f = compiled(program, "MiniGPT.apply")
    x = np.arange(16).reshape(2, 8)
    assert not call(f, f.init(seed=1), x).any()
    close(call(compiled(program, "loss"), f.init(seed=1), {"x": x, "y": x}), np.log(64))


def test_minigpt_parameters_have_the_paths_that_plans_and_weights_name() -> None:
    f = compiled(load("minigpt/minigpt.psk"), "MiniGPT.apply")
    shapes = over(f.init(seed=0), np.shape)
    assert shapes["blocks"]["att"]["qkv"] == {"w": (2, 16, 48), "b": (2, 48)}
    assert shapes["blocks"]["ff"]["up"]["w"] == (2, 16, 64)
    assert shapes["tok"] == {"w": (64, 16)}
    assert shapes["head"] == {"w": (16, 64), "b": (64,)}


@pytest.mark.parametrize(
    ("path", "model", "cache"),
    [("minigpt/minigpt.psk", "MiniGPT", (2, 2, 8, 2, 8)), ("llama/llama.psk", "Llama", (2, 2, 64, 2, 16))],
)
def test_next_token_is_the_whole_pass(
    source: np.random.Generator, path: str, model: str, cache: tuple[int, ...]
) -> None:
    """`cache`: layers, batch, places, heads, size of a head."""
    program = load(path)
    whole, step = compiled(program, f"{model}.apply"), compiled(program, f"{model}.next_token")
    p, t = drawn(whole, source), source.integers(0, 64, (2, 8))
    logits = call(whole, p, t)
    state = {"k": np.zeros(cache), "v": np.zeros(cache)}
    for at in range(t.shape[1]):
        y, state = step(p, state, t[:, at], at)
        np.testing.assert_allclose(np.asarray(y), logits[:, at], rtol=1e-15)


def test_regression(source: np.random.Generator) -> None:
    program = load("regression/regression.psk")
    f = compiled(program, "loss")
    p, x, y = drawn(f, source), source.normal(size=(5, 1)), source.normal(size=(5, 1))
    predicted = formulas.linear(p["down"], np.tanh(formulas.linear(p["up"], x)))
    close(call(f, p, {"x": x, "y": y}), np.mean((predicted - y) ** 2))


def test_norms(source: np.random.Generator) -> None:
    program = load("norms/norms.psk")
    x = source.normal(size=(4, 8))
    for entry, formula in [
        ("LayerNorm{8}.apply", formulas.layer_norm),
        ("RMSNorm{8}.apply", formulas.rms_norm),
        ("layer_norm", formulas.layer_norm),
        ("rms_norm", formulas.rms_norm),
    ]:
        f = compiled(program, entry, dims={"N": 8} if entry.islower() else None)
        p = drawn(f, source)
        close(call(f, p, x), formula(p, x))
    p = {"g": np.ones(8), "b": np.zeros(8)}
    out = call(compiled(program, "moments"), p, x)
    close(out["mean"], np.zeros(4))
    close(out["variance"], x.var(-1) / (x.var(-1) + 1e-5))


def test_classifier(source: np.random.Generator) -> None:
    program = load("classifier/classifier.psk")
    f = compiled(program, "loss")
    p, x, y = drawn(f, source), source.normal(size=(6, 4)), np.array([0, 1, 2, 0, 1, 2])
    logits = formulas.linear(p["down"], np.maximum(formulas.linear(p["up"], x), 0))
    loss, metrics = call(f, p, {"x": x, "y": y})
    close(loss, formulas.cross_entropy(logits, y).mean())
    close(metrics["accuracy"], (logits.argmax(-1) == y).mean())
    close(call(compiled(program, "probabilities"), p, x), formulas.softmax(logits))


def test_cnn(source: np.random.Generator) -> None:
    program = load("cnn/cnn.psk")
    f = compiled(program, "CNN.apply")
    p, image = drawn(f, source), source.normal(size=(2, 8, 8, 1))
    h = image
    for name in ("c1", "c2"):
        h = formulas.pool2d(np.max, np.maximum(formulas.conv2d(p[name], h, padding=1), 0), 2, 2)
    close(call(f, p, image), formulas.linear(p["head"], h.reshape(2, -1)))


def test_bars_are_rows_and_columns() -> None:
    program = load("cnn/cnn.psk")
    out = call(compiled(program, "draw_bars"), np.arange(64))
    row_means, column_means = out["image"][..., 0].mean(2), out["image"][..., 0].mean(1)
    assert ((row_means.max(1) > column_means.max(1)) == (out["label"] == 0)).mean() > 0.95
    assert 0.25 < out["label"].mean() < 0.75


def test_forecast(source: np.random.Generator) -> None:
    program = load("lstm/lstm.psk")
    f = compiled(program, "Forecast.apply")
    p, x = drawn(f, source), source.normal(size=(2, 6, 1))
    close(call(f, p, x), formulas.linear(p["read"], formulas.lstm(p["memory"], x)))


def test_waves_are_sines_one_place_apart() -> None:
    out = call(compiled(load("lstm/lstm.psk"), "draw_waves"), np.arange(3))
    np.testing.assert_array_equal(out["x"][:, 1:], out["y"][:, :-1])
    wave = out["x"][..., 0]
    middle = (wave[:, 2:] + wave[:, :-2]) / wave[:, 1:-1] / 2
    close(middle, np.broadcast_to(np.median(middle, 1)[:, None], middle.shape))


def test_vae(source: np.random.Generator) -> None:
    program = load("vae/vae.psk")
    f = compiled(program, "VAE.apply")
    p, x = drawn(f, source), source.normal(size=(5, 2))
    parts = formulas.feed_forward(p["encoder"], x)
    mean, log_variance = parts[:, :1], parts[:, 1:]

    def decoded(path: str) -> Any:
        noise = draw.normal(draw.key(3, "normal", path), 0, (5, 1), batch_axis=0)
        return formulas.feed_forward(p["decoder"], mean + np.exp(log_variance / 2) * noise)

    out = call(f, p, x, seed=3)
    close(out["mean"], mean)
    close(out["log_variance"], log_variance)
    close(out["x"], decoded("#0"))
    loss, metrics = call(compiled(program, "loss"), p, {"x": x}, seed=3)
    close(metrics["error"], ((decoded("apply#0") - x) ** 2).sum(-1).mean() / 0.08)
    variance = np.exp(log_variance)
    close(metrics["divergence"], ((mean**2 + variance - 1 - log_variance) / 2).sum(-1).mean())
    close(loss, metrics["error"] + metrics["divergence"])
    codes = source.normal(size=(3, 1))
    close(call(compiled(program, "VAE.decode"), p, codes), formulas.feed_forward(p["decoder"], codes))


def test_ring_has_radius_one() -> None:
    points = call(compiled(load("vae/vae.psk"), "draw_ring"), np.arange(200))["x"]
    radius = np.hypot(points[:, 0], points[:, 1])
    assert abs(radius.mean() - 1) < 0.05
    assert 0.05 < radius.std() < 0.15


def test_bert(source: np.random.Generator) -> None:
    program = load("bert/bert.psk", V=11, D=8, H=2, L=3, F=12, T=7)
    f = compiled(program, "Bert.apply")
    p = drawn(f, source)
    t, segment = source.integers(0, 11, (2, 5)), source.integers(0, 2, (2, 5))
    keep = np.array([[True, True, True, False, False], [True, False, True, True, True]])
    close(call(f, p, t, segment, keep), formulas.bert(p, t, segment, keep, heads=2))
    hidden = source.normal(size=(2, 5, 8))
    close(call(compiled(program, "Bert.pool"), p, hidden), np.tanh(formulas.linear(p["pooler"], hidden[:, 0])))


def test_bert_loss(source: np.random.Generator) -> None:
    program = load("bert/bert.psk", V=11, D=8, H=2, L=1, F=12, T=5)
    f = compiled(program, "loss")
    p = drawn(f, source)
    t, segment, target = source.integers(0, 11, (2, 5)), source.integers(0, 2, (2, 5)), source.integers(0, 11, (2, 5))
    keep, masked = np.ones((2, 5), bool), source.random((2, 5)) < 0.4
    masked[0, 0] = True
    h = formulas.bert(p["bert"], t, segment, keep, heads=2)
    h = formulas.layer_norm(p["norm"], formulas.gelu(formulas.linear(p["dense"], h)), 1e-12)
    rows = formulas.cross_entropy(h @ p["bert"]["tok"]["w"].T + p["bias"], target)
    batch = {"t": t, "segment": segment, "keep": keep, "masked": masked, "target": target}
    close(call(f, p, batch), rows[masked].mean())


@pytest.mark.parametrize(
    ("path", "entry", "consts", "count"),
    [
        ("bert/bert.psk", "Bert.apply", {}, 335_141_888),
        (
            "llama/llama.psk",
            "Llama.next_token",
            {"V": 128256, "D": 4096, "H": 32, "G": 8, "L": 32, "F": 14336, "T": 8192, "BASE": 500000},
            8_030_261_248,
        ),
    ],
)
def test_a_published_model_binds_and_has_its_number_of_parameters(
    path: str, entry: str, consts: dict[str, int], count: int
) -> None:
    """BERT-large and Llama 3 8B, at the numbers their checkpoints have."""
    dims = {"batch": 1} | ({"S": 512} if entry == "Bert.apply" else {})
    core = compiled(load(path, **consts), entry, dims=dims).core()
    model = core.entry.parameters[0].type
    assert sum(math.prod(leaf.sizes) for _, leaf in leaves(model)) == count


def test_llama(source: np.random.Generator) -> None:
    program = load("llama/llama.psk")
    f = compiled(program, "Llama.apply")
    p, x, y = drawn(f, source), source.integers(0, 256, (2, 6)), source.integers(0, 256, (2, 6))
    logits = formulas.llama(p, x, heads=4, groups=2)
    close(call(f, p, x), logits)
    close(call(compiled(program, "loss"), p, {"x": x, "y": y}), formulas.cross_entropy(logits, y).mean())
