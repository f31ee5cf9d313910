"""Optimizers and learning rates of the library against NumPy formulas, and known values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.unit.examples import formulas
from tests.unit.examples.running import LIBRARY, call, compiled, load, over

import presk

STEPS = 5
PROGRAM = """
import adamw
import sgd
import lion
from nn import Linear
"""


@pytest.fixture(scope="module")
def program() -> Any:
    return presk.loads(PROGRAM)


@pytest.fixture
def source() -> np.random.Generator:
    return np.random.default_rng(13)


def stepped(program: Any, optimizer: str, p: Any, gradients: list[Any], lr: float, **options: float) -> tuple[Any, Any]:
    """All steps of an optimizer on a Linear{3, 2}, from its own first state."""
    state = compiled(program, f"{optimizer}.init[Linear{{3, 2}}]")(p)
    step = compiled(program, f"{optimizer}.step[Linear{{3, 2}}]")
    for at, g in enumerate(gradients, start=1):
        p, state = step(p, g, state, t=at, lr=lr, **options)
    return over(p, np.asarray), over(state, np.asarray)


def drawn(source: np.random.Generator) -> Any:
    return {"w": source.normal(size=(3, 2)), "b": source.normal(size=2)}


@pytest.mark.parametrize(
    "options", [{}, {"beta1": 0.8, "beta2": 0.95, "weight_decay": 0.0}, {"beta1": 0.0, "eps": 1e-3}]
)
def test_adamw(program: Any, source: np.random.Generator, options: dict[str, float]) -> None:
    p, gradients = drawn(source), [drawn(source) for _ in range(STEPS)]
    out, state = stepped(program, "adamw", p, gradients, 0.01, **options)
    for leaf in p:
        expected = formulas.adamw(p[leaf], [g[leaf] for g in gradients], 0.01, **options)
        np.testing.assert_allclose(out[leaf], expected[0], rtol=1e-11)
        np.testing.assert_allclose(state["m"][leaf], expected[1], rtol=1e-11)
        np.testing.assert_allclose(state["v"][leaf], expected[2], rtol=1e-11)


def test_the_first_step_of_adamw_has_the_length_of_the_rate(program: Any, source: np.random.Generator) -> None:
    p, g = drawn(source), drawn(source)
    out, _ = stepped(program, "adamw", p, [g], 0.25, eps=0.0, weight_decay=0.0)
    np.testing.assert_allclose(out["w"], p["w"] - 0.25 * np.sign(g["w"]), rtol=1e-14)


def test_sgd(program: Any, source: np.random.Generator) -> None:
    p, gradients = drawn(source), [drawn(source) for _ in range(STEPS)]
    out, state = stepped(program, "sgd", p, gradients, 0.1, momentum=0.9, weight_decay=0.02)
    for leaf in p:
        x, v = p[leaf], np.zeros_like(p[leaf])
        for g in gradients:
            v = 0.9 * v + g[leaf] + 0.02 * x
            x = x - 0.1 * v
        np.testing.assert_allclose(out[leaf], x, rtol=1e-12)
        np.testing.assert_allclose(state["v"][leaf], v, rtol=1e-12)


def test_sgd_by_itself_is_gradient_descent(program: Any, source: np.random.Generator) -> None:
    p, g = drawn(source), drawn(source)
    out, _ = stepped(program, "sgd", p, [g], 0.1)
    np.testing.assert_allclose(out["w"], p["w"] - 0.1 * g["w"], rtol=1e-14)


def test_lion(program: Any, source: np.random.Generator) -> None:
    p, gradients = drawn(source), [drawn(source) for _ in range(STEPS)]
    out, state = stepped(program, "lion", p, gradients, 0.1, weight_decay=0.05)
    for leaf in p:
        x, m = p[leaf], np.zeros_like(p[leaf])
        for g in gradients:
            x = x - 0.1 * (np.sign(0.9 * m + 0.1 * g[leaf]) + 0.05 * x)
            m = 0.99 * m + 0.01 * g[leaf]
        np.testing.assert_allclose(out[leaf], x, rtol=1e-12)
        np.testing.assert_allclose(state["m"][leaf], m, rtol=1e-12)


def rate(shape: str, step: int, peak: float, warmup: int, floor: float, steps: int) -> float:
    if step < warmup:
        return peak * step / warmup
    share = min((step - warmup) / (steps - warmup), 1.0)
    return {
        "constant": peak,
        "linear": peak + (floor - peak) * share,
        "cosine": floor + (peak - floor) * (1 + math.cos(math.pi * share)) / 2,
    }[shape]


@pytest.mark.parametrize("shape", ["constant", "linear", "cosine"])
@pytest.mark.parametrize("warmup", [0, 4])
def test_learning_rates(shape: str, warmup: int) -> None:
    f = compiled(load(LIBRARY / "rates.psk"), f"{shape}_rate")
    keywords = {"warmup": warmup} if shape == "constant" else {"steps": 20, "warmup": warmup, "floor": 0.125}
    for step in (1, 3, 4, 5, 11, 20, 30):
        expected = rate(shape, step, 0.5, warmup, 0.125, 20)
        np.testing.assert_allclose(call(f, t=step, peak=0.5, **keywords), expected, rtol=1e-14)
