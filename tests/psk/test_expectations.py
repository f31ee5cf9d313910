"""The runner notices what differs, and refuses a claim it doesn't understand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.psk.expectations import differences, read_claims


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (np.array(1.0), 1.0 + 1e-6),
        (np.array([1.0, 2.0]), np.array([1.0, 2.0, 3.0])),
        (np.array([1.0]), 1.0),
        (np.array(1), np.array(2)),
        (np.array(True), np.array(1)),
        (np.array(1.0), np.array(np.nan)),
        ((np.array(1.0),), np.array(1.0)),
        ({"a": np.array(1.0)}, {"b": np.array(1.0)}),
        ({"a": {"b": np.array(1.0)}}, {"a": {"b": np.array(2.0)}}),
    ],
)
def test_a_difference_is_told(expected: object, actual: object) -> None:
    assert differences(expected, actual, 1e-9)


def test_what_is_equal_is_equal() -> None:
    value = {"a": (np.array([1.0, 2.0]), np.array(3)), "b": np.array([True])}
    assert differences(value, value, 0) == []
    assert differences(np.array(1e9), 1e9 + 0.5, 1e-9) == []


@pytest.mark.parametrize(
    "line",
    [
        "eror E1004 3:7",
        "error E1004",
        "output 3",
        "entry f",
        "entry f\n#: output [1",
        "entry f\n#: output 1\n#: fails E6001",
        "entry f\n#: fails soon",
        "entry f\n#: output 1\n#: dim n",
    ],
)
def test_a_claim_that_makes_no_sense_is_an_error(line: str, tmp_path: Path) -> None:
    path = tmp_path / "claims.psk"
    path.write_text(f"# About.\n#: {line}\nconst V = 1\n", "utf-8")
    with pytest.raises(ValueError, match=r"claims\.psk"):
        read_claims(path)
