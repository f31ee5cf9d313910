"""The generator itself: it makes every primitive and every form, and nothing that is not well-typed."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.unit.core.generate import ALL, NOT_IN_CORE, arguments_of, random_program
from tests.unit.core.recipes import RECIPES

from presk.core.nodes import Apply, Program
from presk.core.printer import bodies
from presk.core.verify import verify
from presk.primitives.all import TABLE


def test_every_primitive_has_a_recipe() -> None:
    assert RECIPES.keys() | NOT_IN_CORE == TABLE.keys()


def count(program: Program) -> Counter[str]:
    """How often each primitive and each other form occurs."""
    found: Counter[str] = Counter()
    for function in program.functions:
        for body in bodies(function.body):
            for let in body.lets:
                found[let.value.primitive if isinstance(let.value, Apply) else type(let.value).__name__] += 1
    return found


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_primitive_is_made(name: str) -> None:
    assert any(count(random_program(seed, frozenset({name}), lets=4, trees=False))[name] for seed in range(40))


def test_every_form_is_made() -> None:
    found: Counter[str] = Counter()
    for seed in range(240):
        program = random_program(seed, lets=10)
        verify(program)
        found += count(program)
    for form in ("Call", "Loop", "MapTrees", "MakeTuple", "MakeRecord", "SetField"):
        assert found[form] > 5, form


def test_arguments_fit_the_parameters() -> None:
    for seed in range(30):
        program = random_program(seed)
        assert len(arguments_of(program, seed)) == len(program.entry.parameters)
