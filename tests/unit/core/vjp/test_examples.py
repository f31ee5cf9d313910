"""The derivatives of every example's objective against central differences of the reference."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.core.vjp.witness import Directions, Exact, agree, all_real, derivative, map_leaves

import presk
from presk.choose.conformance.cases import Case, cases, prepare
from presk.core.bind import bind
from presk.core.simplify import simplify
from presk.exact.values import ExactArray

EXAMPLES = Path(presk.__file__).parent / "examples"
LARGE = {"bert", "llama", "04_minigpt", "cnn"}
"""Examples whose evaluations take seconds."""

PARAMETERS = [
    pytest.param(case, id=case.name, marks=[pytest.mark.slow] if case.path.stem in LARGE else [])
    for case in cases(("gradient",))
    if case.path.is_relative_to(EXAMPLES)
]


@pytest.mark.parametrize("case", PARAMETERS)
def test_objective(case: Case) -> None:
    within = case.entry.removeprefix("grad(").partition(",")[0].removesuffix(")")
    program = bind(presk.load(case.path, consts=dict(case.consts)).checked, within, dims=case.dims)
    wrt = tuple(each.number for each in program.entry.parameters if all_real(each.type))[:1]
    rng = np.random.default_rng(5)

    def exactly(leaf: Any) -> Any:
        """A real leaf exactly, with noise in the place of what begins as zeros, so that nothing sits at a kink."""
        if isinstance(leaf, ExactArray):
            numbers = [Fraction(float(ball)) for ball in leaf.balls()]
            return Exact(numbers, leaf.shape)
        array = np.asarray(leaf)
        if array.dtype.kind != "f":
            return array
        noise = rng.integers(1, 1 << 20, array.shape) / float(1 << 24)
        return Exact([Fraction(each) for each in (array + noise).reshape(-1).tolist()], array.shape)

    arguments = [map_leaves(exactly, value) for value in prepare(case).values]
    directions = Directions(program, arguments, wrt, 7)
    found = directions.found(simplify(derivative(program, "vjp", wrt)))
    expected = directions.expected()
    assert agree(found, expected), (float(found), float(expected))
