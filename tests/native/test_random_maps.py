"""Random maps whose bodies hold derivatives, loops, calls and maps have the interpreter's bits, derived too."""

from __future__ import annotations

from random import Random

import pytest
from tests.native.test_random_programs import check
from tests.unit.core.map_bodies import random_maps
from tests.unit.core.vjp.witness import all_real, derivative

import presk
from presk.core.bind import bind

PROGRAMS = 6
SLOW_PROGRAMS = 200


def check_maps(seed: int) -> None:
    """A program and its derivative, as they are and simplified."""
    checked = presk.loads(random_maps(Random(seed))).checked
    check(seed, bind(checked, "f", simplified=False))
    program = bind(checked, "f")
    wrt = tuple(each.number for each in program.entry.parameters if all_real(each.type))
    check(seed, derivative(program, "vjp", wrt))


def test_random_maps() -> None:
    for seed in range(PROGRAMS):
        check_maps(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_more_random_maps(part: int) -> None:
    count = SLOW_PROGRAMS // 10
    for seed in range(PROGRAMS + part * count, PROGRAMS + (part + 1) * count):
        check_maps(seed)
