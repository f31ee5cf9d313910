"""The library's losses against NumPy formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.examples import formulas
from tests.unit.examples.running import LIBRARY, call, compiled, load


@pytest.fixture(scope="module")
def losses() -> Any:
    return load(LIBRARY / "losses.psk")


@pytest.fixture
def source() -> np.random.Generator:
    return np.random.default_rng(11)


def huber(y: Any, target: Any, delta: float = 1.0) -> Any:
    d = np.abs(y - target)
    return np.mean([e * e / 2 if e <= delta else delta * (e - delta / 2) for e in d.ravel()])


@pytest.mark.parametrize(
    ("entry", "formula"),
    [
        ("mse", lambda y, t: np.mean((y - t) ** 2)),
        ("mae", lambda y, t: np.mean(np.abs(y - t))),
        ("huber", huber),
        ("binary_cross_entropy", lambda y, t: np.mean(np.log1p(np.exp(-y)) + (1 - t) * y)),
    ],
)
@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 2)])
def test_a_loss_of_elements(losses: Any, source: np.random.Generator, entry: str, formula: Any, shape: Any) -> None:
    y, target = source.normal(size=shape) * 2, source.random(shape)
    np.testing.assert_allclose(call(compiled(losses, entry), y, target), formula(y, target), rtol=1e-13)


def test_huber_of_another_delta(losses: Any, source: np.random.Generator) -> None:
    y, target = source.normal(size=20), source.normal(size=20)
    result = call(compiled(losses, "huber"), y, target, delta=0.25)
    np.testing.assert_allclose(result, huber(y, target, 0.25), rtol=1e-13)


@pytest.mark.parametrize("rows", [(6,), (2, 3)])
def test_losses_of_rows(losses: Any, source: np.random.Generator, rows: tuple[int, ...]) -> None:
    logits, targets = source.normal(size=(*rows, 4)), source.integers(0, 4, rows)
    targets.flat[:2] = [3, 1]
    each = formulas.cross_entropy(logits, targets)
    np.testing.assert_allclose(call(compiled(losses, "mean_cross_entropy"), logits, targets), each.mean(), rtol=1e-13)
    ignoring = call(compiled(losses, "cross_entropy_ignoring"), logits, targets, 3)
    np.testing.assert_allclose(ignoring, each[targets != 3].mean(), rtol=1e-13)
    right = (logits.argmax(-1) == targets).mean()
    np.testing.assert_allclose(call(compiled(losses, "accuracy"), logits, targets), right, rtol=1e-13)


def test_nothing_but_ignored_rows_is_no_loss(losses: Any) -> None:
    result = call(compiled(losses, "cross_entropy_ignoring"), np.ones((2, 3)), np.array([2, 2]), 2)
    assert float(result) == 0
