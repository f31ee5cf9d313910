"""The first operation that spoils a result, and that what spoils nothing isn't blamed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import presk
from presk.choose.blame import Blame, blame


def blamed(
    text: str, *values: Any, realize: str = "f32", backend: str = "native", derive: bool = False
) -> Blame | None:
    entry: Any = presk.loads(text)["f"]
    compiled = presk.compile(presk.value_and_grad(entry) if derive else entry, realize="f32", backend=backend)
    specializer = compiled._specializer
    given, sizes, _ = specializer.enter(compiled.parameters, values, {})
    made, fitted = specializer.specialize(given, sizes)
    return blame(specializer.backend, specializer.call(made, fitted, {"seed": 0, "step": 0, "row_offset": 0}))


X = np.array([0.5, -1.0, 2.0, 0.0])
CASES = [
    ("fn f(x: real[n]) -> real { sum(log(x)) }", (X,), ("log", (1,), ("-1.0",))),
    ("fn f(x: real[n]) -> real { sum(1 / x) }", (X,), ("div", (3,), ("1", "0.0"))),
    ("fn f(x: real[n]) -> real[n] { exp(x * 100) * 0 + sqrt(x) }", (X,), ("exp", (2,), ("200.0",))),
    ("fn f(x: real[n]) -> real { let y = sqrt(x - 2); let z = sqrt(y); sum(z) }", (X,), ("sqrt", (0,), ("-1.5",))),
    # an argument of a call, and a callee's own operation
    (
        "fn g(x: real[n]) -> real[n] { log(x + 1) }\nfn f(x: real[n]) -> real { sum(g(x - 1)) }",
        (X,),
        ("log", (1,), ("-1.0",)),
    ),
    # rounds of a fold, and of a scan over layers
    ("fn f(x: real) -> real { fold x = x over i in 0..9 { exp(x) } }", (1.0,), ("exp", (), None)),
    ("fn f(x: real[n]) -> real { fold s = 0 over v in x along n { s + log(v) } }", (X,), ("log", (), ("-1.0",))),
    # a contraction, and a reduction that overflows
    (
        "fn f(x: real[n], w: real[n, m]) -> real[m] { dot(x, w) }",
        (np.full(3, 1e30), np.full((3, 2), 1e30)),
        (None, (0,), ("3 elements from 1e+30 to 1e+30", "6 elements from 1e+30 to 1e+30")),
    ),
    ("fn f(x: real[n]) -> real { sum(x) + 1 }", (np.full(4, 2e38),), ("sum", (), None)),
]


@pytest.mark.parametrize(("text", "values", "expected"), CASES)
@pytest.mark.parametrize("backend", ["native", "kernel"])
def test_the_first_operation_is_blamed(
    text: str,
    values: tuple[Any, ...],
    expected: tuple[str | None, tuple[int, ...], tuple[str, ...] | None],
    backend: str,
) -> None:
    found = blamed(text, *(np.asarray(each, np.float32) for each in values), backend=backend)
    assert found is not None
    primitive, position, operands = expected
    assert found.position == position and not np.isfinite(found.value)
    assert primitive is None or primitive in (found.primitive or "")
    rounded = tuple(each.replace("1.0000000150474662e+30", "1e+30") for each in found.operands)
    assert operands is None or rounded == operands, found
    assert found.span is not None and found.span.text in text


@pytest.mark.parametrize(
    "text",
    [
        "fn f(x: real[n]) -> real { sum(where(x > 0, log(x), 0)) }",
        "fn f(x: real[n]) -> real { sum(where(x > 0, 2 * log(x) + 1, 0)) }",
        "fn f(x: real[n]) -> real { sum(where(x > 0, sqrt(x), where(x < 0, sqrt(-x), 0))) }",
        "fn f(x: real[n]) -> real { sum(x) }",
        "fn g(x: real[n]) -> real[n] { where(x > 0, log(x), 0) }\nfn f(x: real[n]) -> real { sum(g(x)) }",
    ],
)
def test_what_spoils_nothing_is_not_blamed(text: str) -> None:
    assert blamed(text, X) is None


def test_a_refused_branch_is_passed_over_for_what_spoils() -> None:
    text = "fn f(x: real[n]) -> real { sum(where(x > 0, log(x), 0)) + sum(exp(100 * x)) }"
    found = blamed(text, X.astype(np.float32))
    assert found is not None and found.primitive == "exp"


def test_a_derivative_is_blamed_where_it_begins() -> None:
    found = blamed("fn f(x: real[n]) -> real { sum(sqrt(x)) }", np.array([1.0, 0.0]), derive=True)
    assert found is not None and found.position == (1,)


def test_an_input_is_named_by_its_path() -> None:
    text = "fn f(batch: {x: real[n, 2]}) -> real { sum(batch.x) }"
    found = blamed(text, {"x": np.array([[0.0, 1.0], [2.0, np.nan]])})
    assert found is not None
    assert found.text() == "`batch.x` is nan at [1, 1]"
