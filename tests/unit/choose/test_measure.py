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

from presk.choose.measure import Decided, OutputGap, closer_bits, measure
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
    assert found.radius == 0, "fractions are exact"


def test_an_exact_result_has_no_gap() -> None:
    found = gap([Fraction(1, 2), Fraction(0)], np.array([0.5, -0.0]))
    assert found.absolute.worst == found.relative.worst == found.scaled == 0
    assert found.worst is None
    assert found.absolute.where is None


@given(st.fractions(), st.floats(allow_nan=False, allow_infinity=False))
def test_distances_are_upper_bounds_and_hardly_more(exact: Fraction, machine: float) -> None:
    found = gap([exact], np.array([machine]))
    distance = abs(Fraction(machine) - exact)
    assert Fraction(found.by("abs")) >= distance if math.isfinite(found.by("abs")) else distance > 10**308
    assert found.by("abs") <= float(distance) * (1 + 1e-15) + 5e-324 if distance < 10**308 else True
    if exact and math.isfinite(found.by("rel")):
        assert Fraction(found.by("rel")) >= distance / abs(exact)


def test_a_ball_is_measured_from_its_far_end() -> None:
    found = gap([arb(1, 0.001)], np.array([1.25]))
    assert found.absolute.worst is not None
    assert found.relative.worst is not None
    assert 0.251 <= found.absolute.worst < 0.25101
    assert 0.251 / 0.999 <= found.relative.worst < 0.2513
    assert found.radius is not None
    assert 0.001 <= found.radius < 0.0010001
    assert found.bound("abs") == found.absolute.worst


@pytest.mark.parametrize("machine", [1.0, 1.2, 2.0])
def test_a_radius_is_never_passed_off_as_an_error(machine: float) -> None:
    found = gap([arb(1, 0.25)], np.array([machine]))
    assert found.absolute.worst is found.relative.worst is None
    assert (found.within, found.rough) == (0, 1)
    assert machine - 0.75 <= found.rough_by < machine - 0.7499
    assert found.bound("abs") == found.rough_by
    assert math.isnan(found.by("rel"))
    assert found.bound("rel") >= found.rough_by


def test_a_negligible_radius_makes_a_number_exact_within_it() -> None:
    found = gap([arb(1, 1e-70), arb(1)], np.array([1.0, 1.5]))
    assert (found.within, found.rough, found.absolute.worst) == (1, 0, 0.5)
    assert found.absolute.where == (1,)
    assert 1e-70 <= found.within_by < 1.01e-70
    close = gap([arb(1) + arb(0, 1e-26)], np.array([1.0]))
    assert (close.within, close.rough) == (1, 0), "2 ** -80 is 8.3e-25"
    assert gap([arb(1) + arb(0, 1e-24)], np.array([1.0])).rough == 1


def test_what_can_not_be_told_from_zero_has_no_relative_figure() -> None:
    found = gap([Fraction(0), arb(0, 1e-70), Fraction(1)], np.array([1e-20, 1e-20, 1.0]))
    assert found.relative.worst == math.inf, "of the one that is 0"
    assert (found.zeros, found.untold) == (1, 1)
    assert found.absolute.worst is not None
    assert found.scaled is not None
    assert found.absolute.worst < 1.01e-20
    assert found.scaled < 1.01e-20
    only = gap([arb(1e-87, 1e-77)], np.array([1e-20]))
    assert only.relative.worst is only.scaled is None
    assert not only.told
    assert only.bound("rel") == only.bound("max") == math.inf
    assert only.worst is not None
    assert only.worst.exact == "0 ± 2e-77"


def test_what_is_zero_exactly_is_told() -> None:
    same = gap([Fraction(0), Fraction(0)], np.array([0.0, -0.0]))
    assert same.by("rel") == same.by("abs") == same.by("max") == same.bound("rel") == 0
    assert same.told
    off = gap([Fraction(0)], np.array([1e-30]))
    assert off.by("rel") == off.by("max") == math.inf
    assert off.zeros == 1


def test_midpoints_of_cancelled_terms_have_no_relative_figure() -> None:
    def found(middle: arb, bits: int) -> OutputGap:
        exact = ExactArray([middle], (1,), ("n",), bits)
        (only,) = measure(real(1), exact, np.array([1e-9]))
        assert isinstance(only, OutputGap)
        return only

    assert not found(arb(1e-70), 256).told
    assert math.isnan(found(arb(1e-70), 256).by("rel"))
    assert found(arb(1e-30), 256).told
    assert found(arb(1e-30), 256).by("rel") > 1e20


def test_the_bits_asked_for_are_those_that_the_figure_lacks() -> None:
    def wanted(ball: arb, machine: float) -> int:
        exact = ExactArray.from_numbers([ball], (1,))
        return closer_bits(real(1), exact, np.array([machine]), 64)

    assert wanted(arb(1, 0.001), 1.25) == wanted(arb(1), 1.0) == wanted(arb(1, 1e-26), 1.0) == 64
    assert 64 < wanted(arb(1, 0.01), 1.25) < 70
    assert 64 + 70 < wanted(arb(1, 0.01), 1.0) < 64 + 80, "down to what is negligible"
    assert wanted(arb(0, 1e-70), 0.0) == 128, "nothing to go by"
    assert wanted(arb(0, 1e-70), 1e-60) == 64
    assert wanted(arb(1, 0.01), math.nan) == 64, "lost is lost"


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
    assert Fraction(found.by("abs")) >= exact
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
