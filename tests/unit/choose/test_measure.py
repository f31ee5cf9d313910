"""Distances are proven upper bounds, and nothing that is lost is averaged away."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from presk.choose.measure import Decided, OutputGap, measure
from presk.exact.values import ExactArray
from presk.shapes.poly import number
from presk.shapes.types import Axis, RecordOf, Tensor

THIRD = Fraction(1, 3)


def real(size: int) -> Tensor:
    return Tensor("real", (Axis("n", number(size)),))


def gap(exact: Any, machine: Any) -> OutputGap:
    """The gap of a vector of exact numbers, Fractions or balls."""
    found = ExactArray.from_numbers(exact, (len(exact),), ("n",))
    (only,) = measure(real(len(exact)), found, np.asarray(machine))
    assert isinstance(only, OutputGap)
    return only


def test_worst_median_and_where() -> None:
    found = gap([Fraction(1), Fraction(2), Fraction(4)], np.array([1.0, 2.5, 5.0]))
    assert (found.absolute.worst, found.absolute.median, found.absolute.where) == (1.0, 0.5, (2,))
    assert (found.relative.worst, found.relative.median, found.relative.where) == (0.25, 0.25, (1,))
    assert found.scaled == 0.25
    assert found.worst is not None
    assert (found.worst.place, found.worst.exact, found.worst.machine) == ("[n = 1]", "2.0", 2.5)
    assert found.radius is None, "points carry none"


def test_an_exact_result_has_no_gap() -> None:
    found = gap([Fraction(1, 2), Fraction(0)], np.array([0.5, -0.0]))
    assert found.absolute.worst == found.relative.worst == found.scaled == 0
    assert found.worst is None
    assert found.absolute.where is None


@given(st.fractions(), st.floats(allow_nan=False, allow_infinity=False))
def test_distances_are_upper_bounds_and_hardly_more(exact: Fraction, machine: float) -> None:
    found = gap([exact], np.array([machine]))
    distance = abs(Fraction(machine) - exact)
    assert Fraction(found.absolute.worst) >= distance if math.isfinite(found.absolute.worst) else distance > 10**308
    assert found.absolute.worst <= float(distance) * (1 + 1e-15) + 5e-324 if distance < 10**308 else True
    if exact and math.isfinite(found.relative.worst):
        assert Fraction(found.relative.worst) >= distance / abs(exact)


def test_a_ball_is_measured_from_its_far_end() -> None:
    ball = arb(1, 0.25)
    found = gap([ball], np.array([1.0]))
    assert 0.25 <= found.absolute.worst < 0.2501
    assert 0.25 / 0.75 <= found.relative.worst < 0.334
    assert found.radius is not None
    assert 0.25 <= found.radius < 0.2501


def test_what_can_not_be_told_from_zero_has_no_relative_gap() -> None:
    found = gap([Fraction(0), arb(0, 1e-70), Fraction(1)], np.array([1e-20, 1e-20, 1.0]))
    assert found.relative.worst == math.inf
    assert found.zeros == 2
    assert found.absolute.worst < 1.01e-20
    assert found.scaled < 1.01e-20


def test_lost_numbers_are_infinitely_far() -> None:
    found = gap([THIRD, THIRD, THIRD, THIRD], np.array([1 / 3, np.nan, np.inf, -np.inf]))
    assert (found.nan, found.infinite, found.lost) == (1, 2, 3)
    assert found.by("rel") == found.by("abs") == found.by("max") == math.inf
    assert found.worst is not None
    assert found.worst.where == (1,)
    assert found.zeros == 0


@pytest.mark.parametrize("kind", [np.float64, np.float32, ml_dtypes.bfloat16])
def test_every_float_type_is_taken_for_its_exact_value(kind: Any) -> None:
    machine = np.array([1 / 3]).astype(kind)
    found = gap([THIRD], machine)
    assert found.stored == machine.dtype.name
    exact = abs(Fraction(float(machine[0])) - THIRD)
    assert Fraction(found.absolute.worst) >= exact
    assert found.absolute.worst == pytest.approx(float(exact))


def test_decisions_are_right_or_wrong() -> None:
    kind = Tensor("nat", (Axis(None, number(3)),), number(5))
    (found,) = measure(kind, np.array([1, 2, 3]), np.array([1, 4, 4]))
    assert isinstance(found, Decided)
    assert (found.different, found.first, found.exact, found.machine) == (2, (1,), 2, 4)
    assert found.by("abs") == math.inf
    (same,) = measure(kind, np.array([1, 2, 3]), np.array([1, 2, 3]))
    assert same.by("rel") == 0


def test_trees_have_a_gap_for_each_tensor() -> None:
    of = RecordOf((("a", real(1)), ("b", Tensor("bool"))))
    exact = {"a": ExactArray.from_numbers([1], (1,)), "b": np.array(True)}
    found = measure(of, exact, {"a": np.array([1.0]), "b": np.array(False)})
    assert [each.name for each in found] == ["a", "b"]
    assert found[1].by("rel") == math.inf


def test_no_elements_have_no_gap() -> None:
    found = gap([], np.zeros(0))
    assert found.by("rel") == found.by("abs") == found.by("max") == 0
