"""The sweep of the row forms: rows of all kinds, dominated ones dense, against the reference's balls.

The error of an element is counted in units in the last place of Σ|terms|, its form's last sum over absolute values:
for logsumexp |o| + L, for log_softmax |x − o| + L, for cross_entropy L + |x[target] − o|, where o is the row's maximum
and L the logarithm of the sum of exponentials; for softmax, a quotient, of itself.
`python tests/conformance/rows.py [rows]` prints the table.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray
from tests.conformance.forms import DIGITS, DTYPES, LEAST

import presk

PROGRAM = """
fn softmax_of(x: real[b, n]) -> real[b, n] { softmax(x, axis = n) }
fn logsumexp_of(x: real[b, n]) -> real[b] { logsumexp(x, axis = n) }
fn log_softmax_of(x: real[b, n]) -> real[b, n] { log_softmax(x, axis = n) }
fn cross_entropy_of(x: real[b, n], t: nat[b] < n) -> real[b] { cross_entropy(x, t, axis = n) }
"""

BITS = 1400
"""1 beside an exponential that is just normal, and what is asked for of that."""

NAMES = ("softmax", "logsumexp", "log_softmax", "cross_entropy")
WIDTHS = (1, 2, 10, 100, 1000)


def rows(count: int, width: int, type: str, random: np.random.Generator) -> NDArray[np.float64]:
    """Rows of every scale, with equals, with a maximum near 0, or far above the others."""
    scale = np.exp2(random.uniform(-30, 8, (count, 1)))
    x = random.standard_normal((count, width)) * scale
    kind = random.integers(0, 5, count)
    place = random.integers(0, width, count)
    every = np.arange(count)
    lift = np.exp2(random.uniform(-20, 9, count))
    x[every, place] = np.where(kind == 1, x.max(-1) + lift, x[every, place])
    x = np.where((kind == 2)[:, None], x - x.max(-1, keepdims=True), x)
    x = np.where((kind == 3)[:, None], -np.abs(x) - lift[:, None], x)
    x[every, place] = np.where(kind == 3, np.where(random.random(count) < 0.5, 0.0, 1e-3 / lift), x[every, place])
    second = random.integers(0, width, count)
    x[every, second] = np.where(kind == 4, x.max(-1), x[every, second])
    return x.astype(DTYPES[type]).astype(np.float64)


def excess(name: str, type: str, width: int, count: int, seed: int = 0) -> float:
    """The largest error in units, less the row's length (softmax: and less the distance from the maximum)."""
    random = np.random.default_rng(seed)
    x = rows(count, width, type, random)
    targets = np.where(random.random(count) < 0.5, x.argmax(-1), random.integers(0, width, count))
    arguments: tuple[Any, ...] = (x, targets) if name == "cross_entropy" else (x,)
    program = presk.loads(PROGRAM)
    dims = {"b": count, "n": width}
    machine = presk.compile(program[f"{name}_of"], realize=type, dims=dims)
    reference = presk.compile(program[f"{name}_of"], backend="interp", bits=BITS, dims=dims)
    sums = presk.compile(program["logsumexp_of"], backend="interp", bits=BITS, dims=dims)
    found = np.asarray(machine(*arguments)).astype(np.float64).reshape(-1)
    balls, logarithms = reference(*arguments).balls(), sums(x).balls()
    saved, ctx.prec = ctx.prec, BITS
    try:
        origins = x.max(-1)
        rest = np.array([float(ball - arb(o)) for ball, o in zip(logarithms, origins.tolist(), strict=True)])
        errors = np.array([float(abs(ball - arb(y))) for ball, y in zip(balls, found.tolist(), strict=True)])
        exact = np.array(list(map(float, balls)))
    finally:
        ctx.prec = saved
    distances = np.abs(x - origins[:, None])
    allowed = np.full(count, float(width))
    if name == "logsumexp":
        terms = np.abs(origins) + rest
    elif name == "log_softmax":
        terms, allowed = (distances + rest[:, None]).reshape(-1), np.repeat(allowed, width)
    elif name == "cross_entropy":
        terms = rest + distances[np.arange(count), targets]
    else:
        terms, allowed = exact, (allowed[:, None] + distances).reshape(-1)
    normal = terms >= 2.0 ** LEAST[type]
    _, exponents = np.frexp(np.where(normal, terms, 1.0))
    units = np.where(normal, errors * np.exp2(np.clip(DIGITS[type] - exponents.astype(float), -1000, 1000)), 0.0)
    return float((units - allowed).max())


if __name__ == "__main__":
    how_many = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for form in NAMES:
        for kind in ("f64", "f32", "bf16"):
            found = {width: excess(form, kind, width, max(4, how_many // width + 1)) for width in WIDTHS}
            print(f"{form:14} {kind:5}", *(f"{width}: {value:+.2f}" for width, value in found.items()), flush=True)
