"""Every primitive and example entry on the machine, against the exact reference: in its band, and as the table has it.

`pytest tests/conformance --bless` writes the table anew from a whole run; the change is then reviewed like code.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from presk.choose.conformance.cases import Case, cases
from presk.choose.conformance.listed import LISTED
from presk.choose.conformance.suite import BEYOND, LISTED_BEYOND, Row, run_case
from presk.choose.conformance.table import Key, changes, gaps_of, read_table, write_table
from presk.run import registry

TABLE = Path(__file__).parent / "table.json"
CASES = cases()
BACKEND = "kernel"
"""The yardstick: every other machine backend is held to its bits elsewhere."""

FIGURES = {
    ("example", "01_linear: mse"): {"f64": 1.2e-16, "f32": 6.4e-8, "bf16": 2.4e-3},
    ("example", "norms: LayerNorm{8}.apply"): {"f64": 1.2e-15, "f32": 2.4e-7, "bf16": 3.2e-2},
    ("example", "norms: RMSNorm{8}.apply"): {"f64": 2.2e-16, "f32": 8.2e-8, "bf16": 6.1e-3},
    ("example", "minigpt: loss"): {"f64": 2.1e-16, "f32": 1.1e-7, "bf16": 6.3e-4},
    ("gradient", "01_linear: grad(mse)"): {"f64": 1.5e-14, "f32": 2.0e-6, "bf16": 1.2e-2},
    ("example", "library: adamw.step[gpt.MiniGPT]"): {"f64": 1.0e-14, "f32": 1.8e-6, "bf16": 7.6e-3},
}
"""What another implementation of the same rules has measured, on inputs of its own."""

DRAW = 3
"""A worst element is a draw: over seeds these gaps vary by more than this factor (docs/conformance.md)."""


@pytest.fixture(scope="module")
def measured(request: pytest.FixtureRequest) -> Iterator[dict[tuple[str, str], list[Row]]]:
    """Rows by case as they are measured; with `--bless` they become the table."""
    found: dict[tuple[str, str], list[Row]] = {}
    yield found
    if request.config.getoption("--bless"):
        assert len(found) == len(CASES), "a table is blessed from a whole run"
        write_table(TABLE, gaps_of(row for rows in found.values() for row in rows))


@pytest.fixture(scope="module")
def table(request: pytest.FixtureRequest) -> dict[Key, float]:
    return {} if request.config.getoption("--bless") else read_table(TABLE)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.group} {case.name}")
def test_conformance(
    case: Case, table: dict[Key, float], measured: dict[tuple[str, str], list[Row]], bless: bool
) -> None:
    rows = measured[case.group, case.name] = run_case(
        registry.make(BACKEND), case, eased=(case.group, case.name) in FIGURES
    )
    assert not [row for row in rows if row.verdict == BEYOND]
    listed = LISTED.get((case.group, case.name), {}).keys()
    assert {row.realization for row in rows if row.verdict == LISTED_BEYOND} == listed, "nothing is listed in vain"
    assert all(map(reaches, rows))
    if not bless:
        assert not [change.text for change in changes(table, gaps_of(rows), complete=False)]


def test_the_table_is_of_these_cases(table: dict[Key, float], bless: bool) -> None:
    if not bless:
        wanted = {(case.group, case.name, realization) for case in CASES for realization in case.realizations}
        assert table.keys() == wanted


def reaches(row: Row) -> bool:
    """Whether a row is of the size that is known of its case, if one is.

    Where an element lies nearer to zero than theirs did, the gap over its terms' magnitudes is what counts.
    """
    known = FIGURES.get((row.group, row.name))
    return known is None or (row.eased is not None and min(row.gap, row.eased) <= DRAW * known[row.realization])
