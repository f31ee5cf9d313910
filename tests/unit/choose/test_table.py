"""The table: written and read back, and every difference of a number told."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from presk.choose.conformance.table import Change, changes, read_table, write_table
from presk.text.diagnostics import PreskError

GAPS = {
    ("primitive", "exp", "f64"): 1.1102230246251565e-16,
    ("primitive", "exp", "f32"): 5.9e-08,
    ("example", "minigpt: loss", "bf16"): math.inf,
    ("example", 'a "quoted" é', "f64"): 0.0,
}


def test_a_table_reads_back_to_the_bit(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    write_table(path, GAPS)
    assert read_table(path) == GAPS
    assert path.read_text("utf-8").count("\n") == 12, "a line for each case, so that a change is a line"


def test_every_difference_is_a_change() -> None:
    key = ("primitive", "exp", "f64")
    grown = {**GAPS, key: math.nextafter(GAPS[key], 1)}
    assert changes(GAPS, grown, complete=True) == [Change(key, GAPS[key], grown[key])]
    less = {each: gap for each, gap in GAPS.items() if each != key}
    assert changes(GAPS, less, complete=True) == [Change(key, GAPS[key], None)]
    assert changes(GAPS, less, complete=False) == []
    (found,) = changes(less, GAPS, complete=False)
    assert found.text == "primitive exp in f64: none in the table, 1.1102230246251565e-16 now"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"form": "other"}',
        '{"form": "presk-conformance-1"}',
        '{"form": "presk-conformance-1", "gaps": {"a": {"b": {"f64": "x"}}}}',
        '{"form": "presk-conformance-1", "gaps": [1]}',
        "[" * 100_000,
        "\xff",
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "table.json"
    path.write_text(text, "latin-1")
    with pytest.raises(PreskError) as caught:
        read_table(path)
    assert caught.value.code == "E8003"
