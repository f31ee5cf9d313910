"""Σ|terms| in the place of a sum: against sums written out, and on everything the suite measures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from presk.check.program import loads
from presk.choose.conformance.cancellation import magnitudes
from presk.choose.conformance.cases import Case, cases, prepare
from presk.core.bind import bind
from presk.core.verify import verify
from presk.exact.evaluate import evaluate
from presk.exact.values import ExactArray
from presk.run import trees
from presk.run.values import accept

X = np.array([3.0, -2.0, -1.0])
Y = np.array([-1.0, 5.0, 2.0])

SUMS = [
    ("sum(x)", 6),
    ("x + y - 2", [6, 9, 5]),
    ("sum(x - y)", 14),
    ("-sum(x)", 6),
    ("dot(x, y)", 15),
    ("mean(x * 2)", 4),
    ("cumsum(x, axis = n)", [3, 5, 6]),
    ("exp(sum(x))", 1),
    ("sum(x) + exp(sum(y))", 6 + np.exp(6)),
    ("where(x > 0, x - y, 1)", [4, 1, 1]),
    ("sum(x) / dot(x, y)", 6 / 15),
    ("fold s = 1 over i in 0..3 { s - sum(x) }", 7),
    ("half(x) - half(y)", 7),
]


@pytest.mark.parametrize(("text", "expected"), SUMS)
def test_sums_written_out(text: str, expected: Any) -> None:
    result = "real" if np.ndim(expected) == 0 else "real[n: 3]"
    program = bind(
        loads(
            f"fn half(x: real[n]) -> real {{ sum(x) / 2 }}\nfn f(x: real[n: 3], y: real[n: 3]) -> {result} {{ {text} }}"
        ),
        "f",
    )
    made = magnitudes(program)
    verify(made)
    np.testing.assert_allclose(np.asarray(evaluate(made, [X, Y])), expected)


@pytest.mark.parametrize("case", cases(["example"]), ids=lambda case: case.name)
def test_magnitudes_bound_every_result(case: Case) -> None:
    prepared = prepare(case)
    program = magnitudes(prepared.program)
    verify(program)
    parameters = prepared.program.entry.parameters
    values = [accept("x", each.type, value) for each, value in zip(parameters, prepared.values, strict=True)]
    plain = evaluate(prepared.program, values, bits=64, training=case.training)
    sums = evaluate(program, values, bits=64, training=case.training)
    for (_, x), (_, terms) in zip(trees.leaves(plain), trees.leaves(sums), strict=True):
        if isinstance(x, ExactArray):
            assert np.all(np.abs(np.asarray(x)) <= np.asarray(terms) * (1 + 1e-12) + 1e-15)
        else:
            np.testing.assert_array_equal(x, terms)
