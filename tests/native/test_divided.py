"""Sweeps, row groups and optimizer steps of any size, divided over any number of threads, have the interpreter's bits.

What is so small as here isn't divided: the rule is told that everything pays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.native.comparing import TYPES, assert_same

import presk
from presk.kernel.lower import auto

SWEEPS = """
fn added(x: real[b, n], y: real[b, n]) -> real[b, n] { x + y * 3 }
fn shared(x: real[b, n], y: real[n]) -> real[b, n] { sqrt(abs(x / (1 + abs(y)))) }
fn one(x: real[b, n], y: real) -> real[b, n] { exp(x * y) }
fn gated(x: real[b, n], y: real[b, n]) -> real[b, n] { silu(x) * y - gelu(y) }
fn nested(x: real[b, n], y: real[n]) -> real[b, n] { softplus(x) - log(1 + exp(tanh(y))) }
"""

ROWS = """
fn norm(x: real[b, n], g: real[n]) -> real[b, n] {
  let c = x - mean(x, axis = n)
  c * rsqrt(mean(square(c), axis = n) + 0.00001) * g
}
fn soft(x: real[b, n], y: real[n]) -> real[b, n] { softmax(x + y, axis = n) }
fn logs(x: real[b, n], y: real[n]) -> real[b, n] { log_softmax(x, axis = n) + y }
fn totals(x: real[b, n], y: real[n]) -> real[b] { sum(x * y, axis = n) + max(x, axis = n) }
fn down(x: real[b, n], y: real[n]) -> real[n] { sum(x, axis = b) * y }
"""

STEP = """
import adamw
fn step(p: real[b, n], g: real[b, n], m: real[b, n], v: real[b, n]) -> (real[b, n], {m: real[b, n], v: real[b, n]}) {
  adamw.step(p, g, {m = m, v = square(v)}, 3, 0.01)
}
"""

SIZES = ((1, 1), (3, 5), (1, 2053), (2, 1031), (13, 37), (9, 515), (1021, 3))
THREADS = (1, 2, 3, 7)


def both(text: str, entry: str, sizes: tuple[int, int], kind: str, operands: tuple[Any, ...]) -> None:
    """The entry on the interpreter and on machine code."""
    program = presk.loads(text)[entry]
    dims = dict(zip("bn", sizes, strict=True))
    plain = presk.compile(program, backend="kernel", realize=kind, plan=presk.Plan("default"), dims=dims)
    with np.errstate(all="ignore"):
        wanted = plain(*operands)
        for threads in THREADS:
            assert_same(
                presk.compile(program, backend="native", realize=kind, dims=dims, threads=threads)(*operands), wanted
            )


def values(*shape: int) -> Any:
    rng = np.random.default_rng(sum(shape))
    return rng.standard_normal(shape) * 3


@pytest.fixture(autouse=True)
def everything_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "DIVIDED_FROM", 1)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("entry", ["added", "shared", "one", "gated", "nested"])
def test_sweeps(entry: str, kind: str) -> None:
    for sizes in SIZES:
        other = {"shared": sizes[1:], "nested": sizes[1:], "one": ()}.get(entry, sizes)
        both(SWEEPS, entry, sizes, kind, (values(*sizes), values(*other)))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("entry", ["norm", "soft", "logs", "totals", "down"])
def test_rows(entry: str, kind: str) -> None:
    for sizes in SIZES:
        both(ROWS, entry, sizes, kind, (values(*sizes), values(sizes[1])))


@pytest.mark.parametrize("kind", TYPES)
def test_steps_of_an_optimizer(kind: str) -> None:
    for sizes in SIZES:
        both(STEP, "step", sizes, kind, tuple(values(*sizes) + number for number in range(4)))
