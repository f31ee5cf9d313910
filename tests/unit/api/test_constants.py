"""Constants given from Python mean the exact number their text says."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from presk.api.constants import exact_number
from presk.text.diagnostics import PreskError


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (64, Fraction(64)),
        (np.int32(7), Fraction(7)),
        (0.1, Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.5), Fraction(1, 2)),
        (1e-5, Fraction(1, 100000)),
        (Decimal("0.30"), Fraction(3, 10)),
        (Fraction(1, 3), Fraction(1, 3)),
        ("1/3", Fraction(1, 3)),
        (" -2.5 / 4 ", Fraction(-5, 8)),
        ("3e-4", Fraction(3, 10000)),
        ("1_000", Fraction(1000)),
        ("+7", Fraction(7)),
    ],
)
def test_a_number_is_exactly_what_its_text_says(value: Any, expected: Fraction) -> None:
    assert exact_number("V", value) == expected


@given(st.decimals(allow_nan=False, allow_infinity=False, places=8, min_value=-(10**9), max_value=10**9))
def test_every_finite_decimal_is_itself(value: Decimal) -> None:
    assert exact_number("V", str(value)) == Fraction(value)


HOSTILE = [True, None, "", "x", "1/0", "1/", "/2", "1/2/3", "nan", "inf", float("nan"), float("inf"), Decimal("NaN")]
HOSTILE += ["1e99999999", "1e-99999999", "1" * 5000, 10**40000, [1], 1j, "0x10", "١", "1__", "."]


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_what_is_no_exact_number_is_refused(value: Any) -> None:
    with pytest.raises(PreskError) as caught:
        exact_number("V", value)
    assert caught.value.code == "E4020"
    assert len(str(caught.value)) < 400
