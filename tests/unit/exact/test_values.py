"""ExactArray: what goes in comes out, exactly or correctly rounded."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp
from tests.unit.exact.building import run

from presk.exact.precision import working
from presk.exact.values import ExactArray, exact_number
from presk.text.diagnostics import PreskError


def sample(certified: bool = False) -> ExactArray:
    """[batch: 2, 3] of irrational numbers."""
    text = "fn f(x: real[batch: 2, 3]) -> real[batch: 2, 3] { sqrt(x) }"
    return run(text, np.arange(1.0, 7.0).reshape(2, 3), certify=certified)


def test_midpoints_are_mpmath_numbers() -> None:
    found = sample()
    assert found.shape == found.mid.shape == (2, 3)
    assert found.names == ("batch", None)
    assert found.ndim == 2
    assert found.size == 6
    assert isinstance(found.mid[0, 1], mpmath.mpf)
    with mp.workprec(200):
        assert abs(found.mid[0, 1] - mp.sqrt(2)) < mp.mpf(2) ** -126
    assert found.mid.dtype == np.object_


def test_it_becomes_machine_numbers_by_correct_rounding() -> None:
    found = sample()
    np.testing.assert_array_equal(np.asarray(found), np.sqrt(np.arange(1.0, 7.0).reshape(2, 3)))
    assert np.asarray(found).dtype == np.float64
    assert np.asarray(found, dtype=np.float32).dtype == np.float32
    np.testing.assert_array_equal(found.to_float("f32"), np.sqrt(np.arange(1.0, 7.0)).astype(np.float32).reshape(2, 3))
    assert found.to_float("bf16").dtype == ml_dtypes.bfloat16
    assert np.asarray(found, dtype=object)[0, 0] == 1
    assert float(found[1, 0]) == 2
    assert found.tolist()[1][0] == 2
    with pytest.raises(TypeError):
        float(found)
    with pytest.raises(ValueError):
        np.array(found, copy=False)


def test_f32_is_rounded_once() -> None:
    just_above_a_tie = 1 + Fraction(1, 2**24) + Fraction(1, 2**80)
    found = ExactArray.from_numbers([just_above_a_tie], (1,))
    assert found.to_float("f32")[0] == np.float32(1 + 2.0**-23)
    assert np.float32(found.to_float("f64")[0]) == 1


def test_a_proven_rounding_takes_a_ball_that_is_narrow_enough() -> None:
    np.testing.assert_array_equal(sample(certified=True).to_float("f64", proven=True), np.asarray(sample()))
    wide = ExactArray([arb(1, 0.5)], (1,), ("k",), certified=True)
    with pytest.raises(PreskError, match=r"k = 0") as caught:
        wide.to_float("f32", proven=True)
    assert caught.value.code == "E6005"
    assert wide.to_float("f32")[0] == 1


def test_indices_keep_names() -> None:
    found = sample()
    assert found[0].names == (None,)
    assert found[:, 1].names == ("batch",)
    assert found[..., 0].names == ("batch",)
    assert found[1, 2].shape == ()
    assert found[np.array([1, 0])].tolist() == np.asarray(found)[[1, 0]].tolist()
    assert found[1:, ::2].tolist() == np.asarray(found)[1:, ::2].tolist()
    assert [row.tolist() for row in found] == np.asarray(found).tolist()
    assert len(found) == 2
    assert found.reshape(3, -1).shape == (3, 2)
    with pytest.raises(IndexError):
        found[2]
    with pytest.raises(TypeError):
        len(found[0, 0])


@pytest.mark.parametrize("certified", [False, True])
def test_pickling_keeps_every_bit(certified: bool) -> None:
    found = sample(certified)
    again = pickle.loads(pickle.dumps(found))
    assert again.mid.tolist() == found.mid.tolist()
    assert (again.names, again.shape, again.bits) == (found.names, found.shape, found.bits)
    assert again.certified is certified
    if certified:
        assert again.radius.tolist() == found.radius.tolist()
    third = ExactArray.from_numbers([Fraction(1, 3)], (1,))
    assert pickle.loads(pickle.dumps(third)).numbers() == (fmpq(1, 3),)


def test_it_shows_itself() -> None:
    assert repr(sample()).splitlines()[0] == "ExactArray[batch: 2, 3] (128 bits, not proven)"
    assert repr(sample()).splitlines()[1].startswith("≈ [[1.0, 1.414213562373095, ")
    assert "1.4142135623730950" in repr(sample(certified=True))
    assert "≈" not in repr(sample(certified=True))
    wide = ExactArray([arb(1, 1e-10), arb(0, 1e-77)], (2,), certified=True)
    assert str(wide).splitlines()[1] == "[1.000000000 ± 2e-10, 0 ± 2e-77]"
    assert f"{wide:.3}" == "[1.00 0 ± 2e-77]"
    assert str(wide[0]).splitlines()[1] == f"{wide[0]:.40}" == "1.000000000 ± 2e-10"
    assert f"{wide}" == str(wide) == repr(wide)
    with pytest.raises(ValueError, match=r"\{:.30\}"):
        format(wide, "10.3f")
    assert "..." in repr(ExactArray.from_floats(np.zeros(1000)))


NUMBERS: list[Any] = [3, np.int64(-4), 0.1, np.float32(0.1), ml_dtypes.bfloat16(0.1), Fraction(1, 3), mp.mpf(2) ** -300]


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_go_in_exactly(number: Any) -> None:
    found = ExactArray.from_numbers([number], (1,))
    assert found.certified
    if isinstance(number, Fraction):
        assert found.numbers() == (fmpq(1, 3),)
    else:
        wanted = number if isinstance(number, mpmath.mpf) else mp.mpf(float(number))
        assert found.mid[0] == wanted


@pytest.mark.parametrize("number", [True, "1", None, 1j, [1]])
def test_what_is_no_number_is_refused(number: Any) -> None:
    with pytest.raises(TypeError):
        exact_number(number)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), mp.inf, arb("nan")])
def test_what_is_not_finite_is_refused(number: Any) -> None:
    with pytest.raises(ValueError):
        exact_number(number)


def test_fractions_become_balls_at_the_precision_that_reads_them() -> None:
    third = ExactArray.from_numbers([Fraction(1, 3)], ())
    text = "fn f(x: real) -> real { x * 3 - 1 }"
    for bits in (64, 500):
        found = run(text, third, bits=bits, certify=True)
        assert 0 < found.radius[()] < mp.mpf(2) ** (2 - bits)
        assert abs(found.mid[()]) <= found.radius[()]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
def test_floats_cross_exactly(values: list[float]) -> None:
    array = np.array(values)
    crossed = run(f"fn f(x: real[n: {len(values)}]) -> real[n: {len(values)}] {{ x }}", array, bits=2)
    np.testing.assert_array_equal(np.asarray(crossed), array)


def test_precisions_other_than_the_callers_do_not_matter() -> None:
    with working(10):
        assert float(ExactArray.from_floats(np.array([0.1]))) == 0.1
