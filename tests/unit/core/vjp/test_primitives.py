"""Every primitive's derivative against central differences of the exact reference."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.core.vjp.cases import CASES
from tests.unit.core.vjp.witness import Directions, agree, all_real, derivative, random_value

from presk.check.program import loads
from presk.core.bind import bind
from presk.core.simplify import simplify
from presk.core.verify import verify
from presk.core.vjp.rules.table import RULES, WITHOUT
from presk.primitives.all import TABLE

SEEDS = (1, 2)
ALL = [(name, at) for name, cases in CASES.items() for at in range(len(cases))]


def test_each_primitive_has_a_derivative_or_a_reason() -> None:
    assert RULES.keys() | WITHOUT.keys() == TABLE.keys()
    assert not RULES.keys() & WITHOUT.keys()


def test_each_derivative_is_tested() -> None:
    assert CASES.keys() == RULES.keys()


@pytest.mark.parametrize(("name", "at"), ALL, ids=[f"{name}-{at}" for name, at in ALL])
def test_derivative(name: str, at: int) -> None:
    case = CASES[name][at]
    program = bind(loads(case.text), "f")
    wrt = tuple(each.number for each in program.entry.parameters if all_real(each.type))
    pull = simplify(derivative(program, "vjp", wrt))
    verify(pull)
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        arguments = [random_value(rng, each.type, case.low, case.high) for each in program.entry.parameters]
        directions = Directions(program, arguments, wrt, seed)
        found, expected = directions.found(pull), directions.expected()
        assert agree(found, expected), (float(found), float(expected))
