"""Random Core programs of every primitive, loops, maps, calls and trees: values, or a diagnostic that says why not.

A certified value holds what more bits give; what isn't certified is near it; sites, indices and truth values agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from mpmath import mp
from tests.unit.core.generate import ALL, TOTAL, arguments_of, random_program

from presk.core.nodes import Program
from presk.exact.evaluate import evaluate
from presk.exact.values import ExactArray
from presk.run.values import accept
from presk.text.diagnostics import PreskError

REFUSALS = {"E6003", "E6004", "E6005", "E6006"}
PROGRAMS = 250
SLOW_PROGRAMS = 6000


def leaves(tree: Any) -> Iterator[Any]:
    """A result's arrays."""
    if isinstance(tree, (dict, tuple)):
        for each in tree.values() if isinstance(tree, dict) else tree:
            yield from leaves(each)
    else:
        yield tree


def value_of(program: Program, arguments: list[Any], **options: Any) -> list[Any] | None:
    """The result's arrays, or None where the reference refuses."""
    try:
        return list(leaves(evaluate(program, arguments, seed=1, training=True, **options)))
    except PreskError as error:
        if error.code not in REFUSALS:
            raise
        return None


def agree(certified: list[Any], other: list[Any]) -> None:
    """Holds a result to a certified one's balls."""
    for proven, found in zip(certified, other, strict=True):
        if not isinstance(proven, ExactArray):
            np.testing.assert_array_equal(proven, found)
            continue
        assert proven.shape == found.shape
        assert proven.names == found.names
        slack = found.radius if found.certified else np.full(found.shape, mp.mpf(0), dtype=object)
        with mp.workprec(3000):
            rows = (each.reshape(-1) for each in (proven.mid, proven.radius, found.mid, slack))
            for mid, radius, point, more in zip(*rows, strict=True):
                assert abs(mid - point) <= radius + more + abs(mid) * mp.mpf(2) ** -150


def check(seed: int) -> bool | None:
    """One program; whether it had a certified value. None where it takes a nat below 0, which there is none of."""
    program = random_program(seed, ALL if seed % 2 else TOTAL)
    given = zip(program.entry.parameters, arguments_of(program, seed), strict=True)
    try:
        arguments = [accept(parameter.name or "", parameter.type, value, finite=True) for parameter, value in given]
    except PreskError as error:
        if error.code != "E6002":
            raise
        return None
    certified = value_of(program, arguments, bits=160, certify=True)
    plain = value_of(program, arguments, bits=400)
    if certified is None:
        return False
    assert plain is not None
    agree(certified, plain)
    better = value_of(program, arguments, bits=500, certify=True)
    assert better is not None
    agree(certified, better)
    return True


def test_random_programs_have_certified_values() -> None:
    found = [check(seed) for seed in range(PROGRAMS)]
    assert found.count(True) > PROGRAMS * 0.6


@pytest.mark.slow
def test_many_random_programs_have_certified_values() -> None:
    found = [check(seed) for seed in range(PROGRAMS, PROGRAMS + SLOW_PROGRAMS)]
    assert found.count(True) > SLOW_PROGRAMS * 0.6
