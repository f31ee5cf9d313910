"""What holds of the exact values whatever the operands: identities, to nearly the working precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from tests.unit.exact.building import BITS, Given, exact

from presk.exact.rules.table import RULES, WITHOUT_MEANING
from presk.exact.values import ExactArray
from presk.primitives.all import TABLE

EXAMPLES = settings(max_examples=60)
matrices = st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**32 - 1))


def drawn(rows: int, columns: int, seed: int, scale: float = 3.0) -> Any:
    return np.random.default_rng(seed).normal(size=(rows, columns)) * scale


def close(found: ExactArray, wanted: Any, lost: int = 16) -> None:
    """Holds exact results to BITS − lost bits of others, relative to the largest."""
    left = found.mid
    right = wanted.mid if isinstance(wanted, ExactArray) else np.asarray(wanted, dtype=object)
    with mp.workprec(2 * BITS):
        limit = mp.mpf(2) ** (lost - BITS) * max([abs(each) for each in left.reshape(-1)], default=mp.mpf(0))
        assert all(abs(a - b) <= limit for a, b in np.broadcast(left, right))


def test_every_primitive_has_a_meaning_or_a_reason() -> None:
    assert set(RULES) == set(TABLE) - set(WITHOUT_MEANING)
    assert all(len(reason) > 20 for reason in WITHOUT_MEANING.values())


@EXAMPLES
@given(matrices)
def test_softmax_rows_sum_to_one(case: tuple[int, int, int]) -> None:
    rows = exact("softmax", Given(drawn(*case)), axis=1)
    close(exact("sum", Given(rows), axis=(1,)), np.full(case[0], mp.mpf(1)))


@EXAMPLES
@given(matrices, st.floats(-1e6, 1e6))
def test_softmax_ignores_a_shift(case: tuple[int, int, int], shift: float) -> None:
    x = drawn(*case)
    moved = exact("add", Given(x), Given(np.array(shift)), bits=2 * BITS)
    close(exact("softmax", Given(moved), axis=1), exact("softmax", Given(x), axis=1), lost=40)


@EXAMPLES
@given(matrices)
def test_log_softmax_is_the_logarithm_of_softmax(case: tuple[int, int, int]) -> None:
    x = Given(drawn(*case))
    close(exact("log_softmax", x, axis=1), exact("log", Given(exact("softmax", x, axis=1))), lost=24)


@EXAMPLES
@given(matrices)
def test_exp_undoes_log_and_squares_undo_roots(case: tuple[int, int, int]) -> None:
    x = np.abs(drawn(*case)) + 0.01
    close(exact("exp", Given(exact("log", Given(x)))), [[mp.mpf(e) for e in row] for row in x])
    close(exact("square", Given(exact("sqrt", Given(x)))), [[mp.mpf(e) for e in row] for row in x])


@EXAMPLES
@given(matrices)
def test_even_and_odd_functions(case: tuple[int, int, int]) -> None:
    x = drawn(*case)
    for name in ("tanh", "erf", "sin"):
        close(exact(name, Given(-x)), exact("neg", Given(exact(name, Given(x)))))
    close(exact("cos", Given(-x)), exact("cos", Given(x)))
    for name in ("gelu", "silu", "softplus", "relu"):
        difference = exact("sub", Given(exact(name, Given(x))), Given(exact(name, Given(-x))))
        close(difference, [[mp.mpf(e) for e in row] for row in x], lost=20)


@EXAMPLES
@given(matrices, st.integers(1, 5))
def test_matmul_is_dot_is_ein_is_a_naive_sum(case: tuple[int, int, int], columns: int) -> None:
    rows, inner, seed = case
    a, b = drawn(rows, inner, seed), drawn(inner, columns, seed + 1)
    found = exact("dot", Given(a), Given(b))
    labels = (("i", "k"), ("k", "j"))
    with mp.workprec(4 * BITS):
        naive = [
            [mp.fsum(mp.mpf(x) * mp.mpf(y) for x, y in zip(row, column, strict=True)) for column in b.T] for row in a
        ]
    close(found, naive)
    close(exact("matmul", Given(a), Given(b)), naive)
    close(exact("ein", Given(a), Given(b), out=(("i", "j"),), labels=labels), naive)


@EXAMPLES
@given(matrices)
def test_products_are_exact_where_they_fit(case: tuple[int, int, int]) -> None:
    x = drawn(*case)
    found = exact("mul", Given(x), Given(x))
    assert found.mid.tolist() == [[mp.fmul(e, e, exact=True) for e in row] for row in x.tolist()]


@pytest.mark.parametrize(("name", "pick"), [("argmax", 3), ("argmin", 2)])
def test_of_equal_extremes_the_last_is_named(name: str, pick: int) -> None:
    x = Given(np.array([[1.0, 7.0, -2.0, 7.0], [7.0, 7.0, 7.0, 7.0]]))
    assert exact(name, x, axis=1).tolist() == [pick, 3]
    assert exact(name, x, axis=1, certify=True).tolist() == [pick, 3]


def test_the_last_maximum_among_computed_equals() -> None:
    x = Given(np.array([0.1, 0.3, 0.3, 0.2]))
    grown = exact("exp", x)
    assert exact("argmax", Given(grown)).tolist() == 2
    assert exact("argmax", Given(grown), ties="first").tolist() == 1
