"""The forms keep their digits: elementwise ones and first derivatives 8 units in the last place, rows their length.

`make test-forms` takes 10⁶ places of each; here are a few. PRESK_FORMS gives another number.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.conformance.forms import FORMS, entries, sweep
from tests.conformance.rows import NAMES, WIDTHS, excess

import presk

FEW = 400
MANY = int(os.environ.get("PRESK_FORMS", "1000000"))

MOST = {"f64": 8.0, "f32": 8.0, "bf16": 1.0}

OTHERS = {("pow", "by_y", "bf16"): 2.0, ("pow near", "by_y", "bf16"): 2.0}
"""What docs/lowering.md, “Accuracy of the forms”, gives another figure for: the power it reads was stored in bf16."""

SWEPT = [(name, entry) for name, form in FORMS.items() for entry in entries(form)]

SUM = 4
"""What an error of a row form may have beyond the row's length."""


def hold(name: str, entry: str, type: str, places: int) -> None:
    worst = sweep(FORMS[name], entry, type, places)
    assert worst.units >= 0
    assert worst.units <= OTHERS.get((name, entry, type), MOST[type]), worst


@pytest.mark.parametrize("type", MOST)
@pytest.mark.parametrize(("name", "entry"), SWEPT, ids=lambda each: each)
def test_a_form_keeps_its_digits(name: str, entry: str, type: str) -> None:
    hold(name, entry, type, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("type", MOST)
@pytest.mark.parametrize(("name", "entry"), SWEPT, ids=lambda each: each)
def test_a_form_keeps_its_digits_at_many_places(name: str, entry: str, type: str) -> None:
    hold(name, entry, type, MANY)


@pytest.mark.parametrize("type", MOST)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_a_row_form_is_as_far_off_as_its_row_is_long(name: str, width: int, type: str) -> None:
    assert excess(name, type, width, 4 + 300 // width) <= SUM


@pytest.mark.slow
@pytest.mark.parametrize("type", MOST)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_a_row_form_of_many_rows(name: str, width: int, type: str) -> None:
    assert excess(name, type, width, 4 + MANY // 10 // width) <= SUM


def test_a_dominated_row_keeps_the_digits_of_its_others() -> None:
    """At the maximum log softmax is −log1p of the others, however small they are."""
    program = presk.loads("fn f(x: real[n]) -> real[n] { log_softmax(x) }")
    for type in ("f64", "f32"):
        found = np.asarray(presk.compile(program["f"], realize=type)(np.array([3.0, -57.0])))
        np.testing.assert_allclose(found, [-np.exp(-60.0), -60.0], rtol=1e-6)


def test_the_coefficients_are_what_the_tool_prints(root: Path) -> None:
    ran = subprocess.run(
        [sys.executable, str(root / "tools" / "forms.py"), "--check"], capture_output=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
