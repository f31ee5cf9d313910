"""Random programs of every primitive, loops, maps, calls, trees and draws among them, have the interpreter's bits."""

from __future__ import annotations

import pytest
from tests.native.comparing import assert_same
from tests.unit.core.generate import arguments_of, random_program
from tests.unit.core.vjp.test_random_programs import PRIMITIVES
from tests.unit.core.vjp.witness import all_real, derivative

from presk.core.nodes import Program
from presk.core.simplify import simplify
from presk.realization.model import Plan, Realization
from presk.run.backend import Backend, Entry, Value
from presk.run.kernel_backend import KernelInterpreter
from presk.run.native_backend import Native
from presk.shapes.types import leaves
from presk.text.diagnostics import PreskError

PROGRAMS = 120
SLOW_PROGRAMS = 6000

FAULTS = ("E91", "E92")
"""Codes of texts that presk itself has written: for a program these are faults of presk."""


def outcome(backend: Backend, program: Program, seed: int, kind: str, plan: str) -> Value | str:
    """What a call gives, or the code of what it is refused with."""
    try:
        entry = Entry(program.entry.name, program)
        made = backend.prepare(entry, Realization(kind), Plan(plan), threads=1 + seed % 2)
        return made(*arguments_of(program, seed), seed=3)
    except PreskError as error:
        if error.code.startswith(FAULTS):
            raise
        return error.code


def check(seed: int, whole: Program) -> None:
    """A program as it is and simplified; a type, a plan and a number of threads by turns."""
    for at, program in enumerate((whole, simplify(whole))):
        kind, plan = ("f64", "f32", "bf16")[(seed + at) % 3], ("auto", "default")[seed // 3 % 2]
        found, wanted = (outcome(each, program, seed, kind, plan) for each in (Native(), KernelInterpreter(watch=True)))
        if isinstance(wanted, str) or isinstance(found, str):
            assert found == wanted, seed
        else:
            assert_same(found, wanted)


def check_slope(seed: int) -> bool:
    """The same of a program's derivative, if it has one."""
    program = simplify(random_program(seed, PRIMITIVES))
    wrt = tuple(each.number for each in program.entry.parameters if all_real(each.type))
    if not wrt or not any(leaf.kind == "real" for _, leaf in leaves(program.entry.result)):
        return False
    check(seed, derivative(program, "vjp", wrt))
    return True


def test_random_programs() -> None:
    for seed in range(PROGRAMS):
        check(seed, random_program(seed))


def test_derivatives_of_random_programs() -> None:
    assert sum(check_slope(seed) for seed in range(PROGRAMS)) > PROGRAMS // 2


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_more_random_programs(part: int) -> None:
    count = SLOW_PROGRAMS // 10
    for seed in range(PROGRAMS + part * count, PROGRAMS + (part + 1) * count):
        check(seed, random_program(seed))
        check_slope(seed)


@pytest.mark.parametrize("seed", [53, 275, 286, 499, 830, 1374, 1530, 1597])
def test_programs_that_were_refused(seed: int) -> None:
    """Views in a map's body and of counters, draws of what is computed at the element, constants that are stacked."""
    check(seed, random_program(seed))
