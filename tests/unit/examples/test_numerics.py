"""The numerical examples against NumPy formulas and known values."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from tests.unit.examples.running import call, compiled, load


@pytest.fixture
def source() -> np.random.Generator:
    return np.random.default_rng(19)


def test_kmeans_finds_separate_clusters(source: np.random.Generator) -> None:
    program = load("numerics/kmeans.psk")
    truth = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    points = np.concatenate([centre + source.normal(size=(8, 2)) for centre in truth])
    found = call(compiled(program, "kmeans"), points[[0, 8, 16]], points)
    np.testing.assert_allclose(found, [points[at : at + 8].mean(0) for at in (0, 8, 16)], rtol=1e-12)
    distances = ((points[:, None] - found[None]) ** 2).sum(-1)
    np.testing.assert_array_equal(call(compiled(program, "nearest"), found, points), distances.argmin(-1))
    np.testing.assert_allclose(call(compiled(program, "inertia"), found, points), distances.min(-1).sum(), rtol=1e-12)


def test_the_last_of_equally_near_centres_is_nearest() -> None:
    program = load("numerics/kmeans.psk")
    centres = np.array([[1.0], [-1.0], [1.0]])
    np.testing.assert_array_equal(
        call(compiled(program, "nearest"), centres, np.array([[0.0], [2.0], [-3.0]])), [2, 2, 1]
    )


def lorenz(x: Any) -> Any:
    a, b, c = x
    return np.array([10 * (b - a), a * (28 - c) - b, a * b - 8 / 3 * c])


def test_orbit() -> None:
    program = load("numerics/lorenz.psk", N=50)
    found = call(compiled(program, "orbit"), np.ones(3), 0.01)
    assert found.shape == (50, 3)
    x, h = np.ones(3), 0.01
    for row in found:
        k1 = lorenz(x)
        k2 = lorenz(x + h / 2 * k1)
        k3 = lorenz(x + h / 2 * k2)
        k4 = lorenz(x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        np.testing.assert_allclose(row, x, rtol=1e-11)


def positive_definite(source: np.random.Generator, size: int) -> Any:
    root = source.normal(size=(size, size))
    return root @ root.T + np.eye(size)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_cholesky(source: np.random.Generator, size: int) -> None:
    program = load("numerics/cholesky.psk")
    a, b = positive_definite(source, size), source.normal(size=size)
    lower = np.linalg.cholesky(a)
    np.testing.assert_allclose(call(compiled(program, "cholesky"), a), lower, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(call(compiled(program, "forward"), lower, b), np.linalg.solve(lower, b), rtol=1e-10)
    np.testing.assert_allclose(call(compiled(program, "backward"), lower, b), np.linalg.solve(lower.T, b), rtol=1e-10)
    np.testing.assert_allclose(call(compiled(program, "solve"), a, b), np.linalg.solve(a, b), rtol=1e-10)
    determinant = call(compiled(program, "log_determinant"), a)
    np.testing.assert_allclose(determinant, np.linalg.slogdet(a).logabsdet, rtol=1e-10, atol=1e-13)


def test_newton_doubles_the_digits() -> None:
    """Nine steps from 1.5 reach more digits than 512 bits hold."""
    program = load("numerics/newton.psk")
    with mpmath.workprec(600):
        root = compiled(program, "cube_root", bits=512)(1.5)
        assert abs(root.mid.item() - mpmath.cbrt(2)) < mpmath.mpf(2) ** -500
        anomaly = compiled(program, "kepler", bits=512)(1.0)
        expected = mpmath.findroot(lambda e: e - mpmath.sin(e) / 2 - 1, 1.5)
        assert abs(anomaly.mid.item() - expected) < mpmath.mpf(2) ** -500
