"""Undefined values travel, and are an error only where a result depends on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.exact.building import Given, exact, run

from presk.text.diagnostics import PreskError

UNDEFINED = [
    ("div", (1.0, 0.0), "divides by zero"),
    ("div", (0.0, 0.0), "divides by zero"),
    ("recip", (0.0,), "divides by zero"),
    ("log", (0.0,), "logarithm"),
    ("log", (-1.0,), "logarithm"),
    ("log1p", (-1.0,), "log1p"),
    ("sqrt", (-1e-300,), "square root"),
    ("rsqrt", (0.0,), "inverse root"),
    ("pow", (-2.0, 0.5), "power"),
    ("pow", (0.0, -1.0), "power"),
    ("pow", (0.0, -0.5), "power"),
]


@pytest.mark.parametrize("certify", [False, True])
@pytest.mark.parametrize(("name", "operands", "words"), UNDEFINED)
def test_a_value_outside_the_domain_is_refused(
    name: str, operands: tuple[float, ...], words: str, certify: bool
) -> None:
    good = [abs(each) + 1 for each in operands]
    arrays = [Given(np.array([fine, bad])) for fine, bad in zip(good, operands, strict=True)]
    with pytest.raises(PreskError, match=words) as caught:
        exact(name, *arrays, certify=certify)
    assert caught.value.code == "E6003"
    assert "f/%" in str(caught.value)
    assert "element 1" in str(caught.value)


def test_where_does_not_depend_on_the_branch_it_refuses() -> None:
    text = "fn f(x: real[n]) -> real[n] { where(x > 0, log(x), 1 / (x - 1)) }"
    found = run(text, [-1.0, 0.0, 1.0, 2.0], dims={"n": 4})
    np.testing.assert_allclose(np.asarray(found), [-0.5, -1.0, 0.0, np.log(2)])


def test_a_mask_that_is_undefined_makes_its_element_undefined() -> None:
    text = "fn f(x: real[n], y: real[n]) -> real[n] { where(y > 0, where(1 / x > 0, x, -x), y) }"
    np.testing.assert_array_equal(np.asarray(run(text, [0.0, 2.0], [-1.0, 1.0], dims={"n": 2})), [-1.0, 2.0])
    with pytest.raises(PreskError, match="divides by zero"):
        run(text, [0.0, 2.0], [1.0, 1.0], dims={"n": 2})


def test_logic_decided_alone_does_not_depend_on_the_other_operand() -> None:
    text = "fn f(x: real[n]) -> bool[n] { x != 0 and 1 / x > 0 }"
    assert run(text, [0.0, 1.0, -1.0], dims={"n": 3}).tolist() == [False, True, False]
    text = "fn f(x: real[n]) -> bool[n] { 1 / x > 0 or x == 0 }"
    assert run(text, [0.0, 1.0, -1.0], dims={"n": 3}).tolist() == [True, True, False]
    with pytest.raises(PreskError, match="divides by zero"):
        run("fn f(x: real[n]) -> bool[n] { not (1 / x > 0) }", [0.0], dims={"n": 1})


PASSES = [
    "1 / x + 1",
    "0 * (1 / x)",
    "exp(log(x))",
    "relu(1 / x)",
    "maximum(1 / x, 3)",
    "gelu(1 / x)",
    "abs(-(1 / x))",
    "sign(1 / x)",
    "floor(1 / x)",
    "sigmoid(1 / x)",
    "broadcast_to[n: 2](sum(1 / x))",
    "broadcast_to[n: 2](max(1 / x))",
    "cumsum(1 / x, axis = n)",
    "softmax(1 / x, axis = n)",
    "sort(1 / x)",
    "dot(1 / x, eye[n: 2, m: 2])",
    "flip(1 / x, axis = n)",
    "take(x, argmax(1 / x, axis = n), axis = n)",
    "{x with [n = 1] = 1 / x[n = 0]}",
    "(1 / x) ** 7",
]


@pytest.mark.parametrize("certify", [False, True])
@pytest.mark.parametrize("expression", PASSES)
def test_an_undefined_element_passes_through(expression: str, certify: bool) -> None:
    with pytest.raises(PreskError) as caught:
        run(f"fn f(x: real[n: 2]) {{ {expression} }}", [0.0, 2.0], certify=certify)
    assert caught.value.code == "E6003"


def test_an_unused_undefined_element_is_dropped() -> None:
    text = "fn f(x: real[n: 3]) -> real { let y = 1 / x; sum(y[n = 1..3]) + 0 * y[n = 2] }"
    assert float(run(text, [0.0, 2.0, 4.0])) == 0.75


def test_a_contraction_sums_the_rows_that_are_defined() -> None:
    text = "fn f(x: real[i: 2, k: 2], w: real[2, 2]) -> real[2] { let y = dot(1 / x, w); y[i = 1] }"
    np.testing.assert_array_equal(np.asarray(run(text, [[0.0, 1.0], [2.0, 4.0]], np.eye(2))), [0.5, 0.25])


def test_an_undefined_index_spoils_what_is_read_with_it_alone() -> None:
    text = "fn f(x: real[n: 2, m: 2], t: real[v: 2]) -> real[n: 2] { take(t, argmax(1 / x, axis = m), axis = v) }"
    with pytest.raises(PreskError, match="divides by zero"):
        run(text, [[0.0, 1.0], [2.0, 4.0]], [5.0, 6.0])
    alone = text.replace("-> real[n: 2] {", "-> real {").replace("axis = v) }", "axis = v)[n = 1] }")
    assert float(run(alone, [[0.0, 1.0], [2.0, 4.0]], [5.0, 6.0])) == 5.0


# Masks


def masked(mask: Any, **options: Any) -> Any:
    text = "fn f(x: real[n: 2, m: 3], k: bool[n: 2, m: 3]) -> real[n: 2, m: 3] { softmax(log(x), axis = m, mask = k) }"
    return run(text, [[1.0, 2.0, 0.0], [1.0, 1.0, 2.0]], mask, **options)


@pytest.mark.parametrize("certify", [False, True])
def test_a_refused_position_may_be_undefined(certify: bool) -> None:
    found = np.asarray(masked([[True, True, False], [True, True, True]], certify=certify))
    np.testing.assert_allclose(found, [[1 / 3, 2 / 3, 0], [0.25, 0.25, 0.5]])


@pytest.mark.parametrize("certify", [False, True])
def test_an_allowed_position_may_not(certify: bool) -> None:
    with pytest.raises(PreskError, match="logarithm"):
        masked([[True, True, True], [True, True, True]], certify=certify)


@pytest.mark.parametrize("certify", [False, True])
def test_a_row_that_allows_nothing_is_refused(certify: bool) -> None:
    with pytest.raises(PreskError, match=r"row \[n = 1\]") as caught:
        masked([[True, True, False], [False, False, False]], certify=certify)
    assert caught.value.code == "E6004"


def test_an_empty_row_that_nothing_depends_on_is_no_error() -> None:
    text = "fn f(x: real[n: 2, m: 2], k: bool[n: 2, m: 2]) -> real[m: 2] { softmax(x, axis = m, mask = k)[n = 0] }"
    found = run(text, [[0.0, 0.0], [1.0, 2.0]], [[True, True], [False, False]])
    np.testing.assert_array_equal(np.asarray(found), [0.5, 0.5])


def test_log_softmax_has_no_value_where_the_mask_refuses() -> None:
    text = "fn f(x: real[m: 2], k: bool[m: 2]) -> real[m: 2] { log_softmax(x, axis = m, mask = k) }"
    with pytest.raises(PreskError, match="mask makes 0"):
        run(text, [1.0, 2.0], [True, False])
    chosen = text.replace("{ log_softmax(x, axis = m, mask = k) }", "{ where(k, log_softmax(x, mask = k), 0) }")
    np.testing.assert_array_equal(np.asarray(run(chosen, [1.0, 2.0], [True, False])), [0.0, 0.0])


def test_a_target_that_the_mask_refuses_has_no_entropy() -> None:
    text = "fn f(x: real[m: 2], t: nat < 2, k: bool[m: 2]) -> real { cross_entropy(x, t, mask = k) }"
    assert float(run(text, [1.0, 2.0], 0, [True, False])) == 0
    with pytest.raises(PreskError, match="target"):
        run(text, [1.0, 2.0], 1, [True, False])


# Range


@pytest.mark.parametrize("certify", [False, True])
def test_numbers_out_of_range_are_refused(certify: bool) -> None:
    text = "fn f(x: real[n]) -> real[n] { where(x > 9, exp(exp(exp(x))), x) }"
    np.testing.assert_array_equal(np.asarray(run(text, [1.0], dims={"n": 1}, certify=certify)), [1.0])
    with pytest.raises(PreskError, match="range") as caught:
        run(text, [100.0], dims={"n": 1}, certify=certify)
    assert caught.value.code == "E6006"


def test_large_numbers_are_no_overflow() -> None:
    text = "fn f(x: real[n]) -> real[n] { log(exp(x)) + softplus(x) - log(1 + exp(x)) }"
    x = np.array([-1e5, -700.0, 700.0, 1e5, 1e12])
    np.testing.assert_allclose(np.asarray(run(text, x, dims={"n": 5})), x, rtol=1e-15)


def test_softmax_far_from_zero() -> None:
    huge = np.array([[2.0**200, 2.0**200], [-(2.0**200), -(2.0**201)]])
    found = exact("softmax", Given(huge), axis=1)
    np.testing.assert_array_equal(np.asarray(found), [[0.5, 0.5], [1.0, 0.0]])
