"""Every program that ships: it checks, it is in canonical form, it says what it is, and each of its entries runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import presk
import pytest
from presk.run.synthesis import synthesize
from presk.syntax.formatter import format_source
from presk.syntax.parser import parse_or_raise
from presk.text.spans import Source

from tests.unit.examples.running import EXAMPLES, PROGRAMS, ROOT, compiled, name_of, over

SMALL = {
    "examples/bert/bert.psk": {"V": 11, "D": 8, "H": 2, "L": 2, "F": 12, "T": 5},
    "examples/numerics/lorenz.psk": {"N": 20},
    "examples/cnn/cnn.psk": {"S": 4, "C": 2},
}
"""Constants that the tests reduce."""

SPECIAL_INPUTS = {
    ("examples/numerics/cholesky.psk", "a"): np.array([[4.0, 1.0], [1.0, 3.0]]),
    ("examples/numerics/cholesky.psk", "l"): np.array([[2.0, 0.0], [1.0, 3.0]]),
    ("examples/numerics/newton.psk", "x"): np.array(1.5),
}
"""Inputs where not every number will do, by program and parameter."""


@pytest.mark.parametrize("path", PROGRAMS, ids=name_of)
def test_it_is_in_canonical_form(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert format_source(Source(str(path), text)) == text


@pytest.mark.parametrize("path", PROGRAMS, ids=name_of)
def test_every_declaration_says_what_it_is(path: Path) -> None:
    file = parse_or_raise(Source(str(path), path.read_text(encoding="utf-8")))
    silent = [each.name for each in file.declarations if hasattr(each, "doc") and hasattr(each, "name") and not each.doc]
    tutorial = "tutorial" in path.parts
    assert not [name for name in silent if not tutorial and name not in _trains(file)]


def _trains(file: Any) -> set[str]:
    return {each.name for each in file.declarations if type(each).__name__ == "Train"}
