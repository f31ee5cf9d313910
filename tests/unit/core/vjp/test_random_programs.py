"""Random Core programs, of every primitive without a domain, calls, loops, maps and trees: their derivatives.

Each is held against central differences of the reference, is verified, prints and reads back, and gives what it gives
when it is simplified.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.core.generate import TOTAL, random_program
from tests.unit.core.vjp.witness import Directions, agree, all_real, derivative, random_value, value

from presk.core.printer import print_program
from presk.core.reader import read_program
from presk.core.simplify import simplify
from presk.core.verify import verify
from presk.shapes.types import leaves
from presk.text.diagnostics import PreskError

PRIMITIVES = TOTAL - {"stop_gradient", "dropout_mask"}
"""Those whose derivative is what central differences find: these two are constants to it that do vary."""

UNDEFINED = {"E6003", "E6004", "E6006"}
"""What a program may be refused with: a mean of nothing, a masked row that allows nothing, an overflow."""

PROGRAMS = 100
SLOW_PROGRAMS = 3000


def check(seed: int) -> bool:
    """Whether the program had something to differentiate; asserts that its derivative is right."""
    program = simplify(random_program(seed, PRIMITIVES))
    wrt = tuple(each.number for each in program.entry.parameters if all_real(each.type))
    if not wrt or not any(leaf.kind == "real" for _, leaf in leaves(program.entry.result)):
        return False
    pull = derivative(program, "vjp", wrt)
    verify(pull)
    simple = simplify(pull)
    verify(simple)
    text = print_program(simple)
    assert print_program(read_program(text)) == text
    rng = np.random.default_rng(seed)
    arguments = [random_value(rng, each.type) for each in program.entry.parameters]
    try:
        value(program, arguments)
    except PreskError as error:
        if error.code in UNDEFINED:
            return False
        raise
    directions = Directions(program, arguments, wrt, seed)
    expected = directions.expected()
    for each in (pull, simple):
        found = directions.found(each)
        assert agree(found, expected), (seed, float(found), float(expected))
    return True


def test_random_programs() -> None:
    assert sum(check(seed) for seed in range(PROGRAMS)) > PROGRAMS // 2


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_more_random_programs(part: int) -> None:
    count = SLOW_PROGRAMS // 10
    first = PROGRAMS + part * count
    assert sum(check(first + at) for at in range(count)) > count // 2


def check_twice(seed: int) -> bool:
    """The same of the derivative of a program's derivative."""
    program = simplify(random_program(seed, PRIMITIVES))
    wrt = tuple(each.number for each in program.entry.parameters if all_real(each.type))
    if not wrt or not any(leaf.kind == "real" for _, leaf in leaves(program.entry.result)):
        return False
    first = simplify(derivative(program, "vjp", wrt))
    wrt = tuple(each.number for each in first.entry.parameters if all_real(each.type))
    pull = simplify(derivative(first, "vjp", wrt))
    verify(pull)
    rng = np.random.default_rng(seed)
    arguments = [random_value(rng, each.type) for each in first.entry.parameters]
    try:
        value(first, arguments)
    except PreskError as error:
        if error.code in UNDEFINED:
            return False
        raise
    directions = Directions(first, arguments, wrt, seed)
    found, expected = directions.found(pull), directions.expected()
    assert agree(found, expected), (seed, float(found), float(expected))
    return True


def test_second_derivatives() -> None:
    assert sum(check_twice(seed) for seed in range(40)) > 20


@pytest.mark.slow
def test_more_second_derivatives() -> None:
    assert sum(check_twice(seed) for seed in range(40, 400)) > 200
