"""Derivatives where functions bend, break or aren't defined, and what is never differentiated (language.md 6)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import presk

NUMBERS = [
    ("relu(x)", 0.0, 0.0),
    ("abs(x)", 0.0, 0.0),
    ("abs(x)", -2.0, -1.0),
    ("sign(x)", 1.5, 0.0),
    ("floor(x)", 1.0, 0.0),
    ("x * floor(x)", 2.5, 2.0),
    ("maximum(x, 1)", 1.0, 0.5),
    ("maximum(x, x)", 3.0, 1.0),
    ("minimum(x, 1)", 1.0, 0.5),
    ("minimum(x, abs(x))", 0.0, 0.5),
    ("where(x > 0, sqrt(x), 0)", -1.0, 0.0),
    ("where(x > 0, log(x), 3 * x)", 0.0, 3.0),
    ("where(x == 0, 1, sin(x) / x)", 0.0, 0.0),
    ("where(x < 0, recip(x), x ** 2)", 0.0, 0.0),
    ("where(x > 0, x ** 0.5, x)", -4.0, 1.0),
    ("pow(x, 0)", 0.0, 0.0),
    ("x ** 1", 0.0, 1.0),
    ("x ** 3", 0.0, 0.0),
    ("x ** 5", 0.0, 0.0),
    ("x * stop_gradient(x)", 3.0, 3.0),
    ("stop_gradient(x ** 2) + x", 3.0, 1.0),
    ("tanh(x)", 0.0, 1.0),
]
"""f(x), x and f′(x), on the reference and on the machine."""


@pytest.mark.parametrize("backend", ["interp", "kernel", "native"])
@pytest.mark.parametrize(("text", "x", "slope"), NUMBERS, ids=[f"{text} at {x}" for text, x, _ in NUMBERS])
def test_of_a_number(text: str, x: float, slope: float, backend: str) -> None:
    program = presk.loads(f"fn f(x: real) -> real {{ {text} }}")
    found = presk.compile(presk.grad(program["f"]), realize="f64", backend=backend)(x)
    assert float(found) == slope or (backend != "interp" and np.isnan(float(found)) and "where" in text)


TENSORS: list[tuple[str, list[float], list[float]]] = [
    ("max(x)", [1, 3, 3], [0, 0, 1]),
    ("min(x)", [1, 1, 3], [0, 1, 0]),
    ("prod(x)", [0, 2, 3], [6, 0, 0]),
    ("prod(x)", [0, 2, 0], [0, 0, 0]),
    ("sum(top_k(x, 2).0)", [2, 5, 5], [0, 1, 1]),
    ("sum(top_k(x, 1).0)", [2, 5, 5], [0, 0, 1]),
    ("sort(x)[0 = 2]", [7, 1, 2], [1, 0, 0]),
    ("sum(softmax(x, mask = positions[3] < 2) * x)", [0, 0, 9], [0.5, 0.5, 0]),
    ("sum(maximum(x, 1))", [0, 1, 2], [0, 0.5, 1]),
]


@pytest.mark.parametrize("backend", ["interp", "native"])
@pytest.mark.parametrize(("text", "x", "slope"), TENSORS, ids=[f"{text} at {x}" for text, x, _ in TENSORS])
def test_of_a_tensor(text: str, x: list[float], slope: list[float], backend: str) -> None:
    program = presk.loads(f"fn f(x: real[3]) -> real {{ {text} }}")
    found = presk.compile(presk.grad(program["f"]), realize="f64", backend=backend)(np.array(x))
    np.testing.assert_array_equal(np.asarray(found), slope)


def test_equals_share_a_maximum_between_two_arguments() -> None:
    program = presk.loads("fn f(x: real, y: real) -> real { maximum(x, y) }")
    assert [float(each) for each in presk.compile(presk.grad(program["f"], wrt=(0, 1)))(2.0, 2.0)] == [0.5, 0.5]


def test_an_undefined_derivative_is_refused_where_it_counts() -> None:
    program = presk.loads("fn f(x: real) -> real { sqrt(x) }")
    with pytest.raises(presk.PreskError, match="E6003"):
        presk.compile(presk.grad(program["f"]), backend="interp")(0.0)


def test_the_power_by_its_exponent_at_zero() -> None:
    program = presk.loads("fn f(x: real, y: real) -> real { x ** y }")
    assert float(presk.compile(presk.grad(program["f"], wrt=1), backend="interp")(0.0, 2.0)) == 0.0


def test_dropout_passes_what_its_mask_passed() -> None:
    program = presk.loads("fn f(x: real[batch: 4, 16]) -> real { sum(dropout(x, 0.25) * x) }")
    x = np.linspace(1, 2, 64).reshape(4, 16)
    for backend in ("interp", "native"):
        options: dict[str, Any] = {"backend": backend, "realize": "f64", "training": True}
        found = np.asarray(presk.compile(presk.grad(program["f"]), **options)(x, seed=3, step=5), dtype=np.float64)
        mask = found / (2 * x)
        assert set(np.round(mask, 12).reshape(-1)) == {0.0, round(4 / 3, 12)}
        value = float(presk.compile(program["f"], **options)(x, seed=3, step=5))
        assert value == pytest.approx(float(np.sum(mask * x * x)), rel=1e-12)


# What is asked for, and what can't be


def test_an_objective_carries_its_record_along() -> None:
    head = "fn f(x: real[3]) -> (real, {largest: real, at: nat < 3})"
    program = presk.loads(f"{head} {{ (sum(x * x), {{largest = max(x), at = argmax(x)}}) }}")
    x = np.array([1.0, 3, 2])
    (value, metrics), gradient = presk.compile(presk.value_and_grad(program["f"]), realize="f64")(x)
    assert (float(value), float(metrics["largest"]), int(metrics["at"])) == (14.0, 3.0, 1)
    np.testing.assert_array_equal(gradient, [2.0, 6.0, 4.0])
    np.testing.assert_array_equal(presk.compile(presk.grad(program["f"]), realize="f64")(x), gradient)


def test_arguments_are_chosen_by_number() -> None:
    program = presk.loads("fn f(x: real, n: nat[2] < 3, y: {a: real, b: real}) -> real { x * y.a + sum(n) * y.b }")
    arguments = (2.0, np.array([1, 2]), {"a": 5.0, "b": 7.0})
    assert float(presk.compile(presk.grad(program["f"]))(*arguments)) == 5.0
    one = presk.compile(presk.grad(program["f"], wrt=2))(*arguments)
    assert {name: float(each) for name, each in one.items()} == {"a": 2.0, "b": 3.0}
    both = presk.compile(presk.grad(program["f"], wrt=(2, 0)))(*arguments)
    assert (float(both[0]["b"]), float(both[1])) == (3.0, 5.0)
    single = presk.compile(presk.grad(program["f"], wrt=(0,)))(*arguments)
    assert isinstance(single, tuple)


REFUSED = [
    ("fn f(n: nat[2] < 3) -> real { sum(n) }", 0, "E5001"),
    ("fn f(x: real[2]) -> real[2] { x }", 0, "E5002"),
    ("fn f(x: real) -> (real, real) { (x, x) }", 0, "E5002"),
    ("fn f(x: real) -> real { x }", 1, "E5002"),
    ("fn f(x: real, n: nat) -> real { x * n }", 1, "E5001"),
]


@pytest.mark.parametrize(("text", "wrt", "code"), REFUSED)
def test_what_has_no_derivative(text: str, wrt: int, code: str) -> None:
    program = presk.loads(text)
    with pytest.raises(presk.PreskError) as error:
        presk.compile(presk.grad(program["f"], wrt=wrt), dims={"n": 1} if "n: nat)" in text else None).core()
    assert error.value.code == code
    assert error.value.span is not None


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ("grad(g)", "E4002"),
        ("grad()", "E1010"),
        ("grad(f, wrt = x)", "E1010"),
        ("grad(f", "E1010"),
        ("gradient(f)", "E1010"),
        ("grad(" * 9 + "f" + ")" * 9, "E4002"),
    ],
)
def test_entries_that_are_none(entry: str, code: str) -> None:
    program = presk.loads("fn f(x: real) -> real { x }")
    with pytest.raises(presk.PreskError) as error:
        _ = program[entry]
    assert error.value.code == code


def test_a_vjp_wants_its_result_stated() -> None:
    program = presk.loads("fn f(x: real) { x }")
    with pytest.raises(presk.PreskError, match="E5002"):
        presk.compile(presk.vjp(program["f"]))


def test_names_of_entries_read_back() -> None:
    program = presk.loads("fn f(x: real, y: real) -> real { x * y * y }")
    for wrt in (0, 1, (0, 1), (1,)):
        entry = presk.value_and_grad(program["f"], wrt=wrt)
        again = program[entry.name]
        assert again.name == entry.name
        assert presk.compile(again)(2.0, 3.0) == presk.compile(entry)(2.0, 3.0)
    nested = presk.grad(presk.grad(program["f"], wrt=1), wrt=1)
    assert nested.name == "grad(grad(f, wrt = 1), wrt = 1)"
    assert float(presk.compile(nested)(2.0, 3.0)) == 4.0
