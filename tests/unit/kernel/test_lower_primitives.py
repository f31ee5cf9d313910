"""Every primitive has a kernel, and its kernel computes what the reference does, in every storage."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.unit.core.generate import ALL, DRAWING, arguments_of, programs
from tests.unit.kernel.comparing import STORAGES, assert_close, machine, run
from tests.unit.kernel.machine import given as held_arguments
from tests.unit.kernel.machine import quantised

from presk.core.groups import partition
from presk.core.nodes import Ref
from presk.exact.evaluate import evaluate
from presk.kernel.lower.elementwise import DEAR
from presk.kernel.lower.table import HOST, NEVER, RULES
from presk.primitives.all import TABLE
from presk.shapes.types import Tensor
from presk.text.diagnostics import PreskError

LOWERED = sorted(ALL - DRAWING)

NOT_OVER_THE_REALS = ("E6003", "E6004", "E6006")
"""What the reference says of a value that isn't defined."""


def test_every_primitive_is_lowered_or_has_a_reason() -> None:
    assert RULES.keys() | HOST.keys() | NEVER.keys() == TABLE.keys()
    assert not RULES.keys() & (HOST.keys() | NEVER.keys())
    assert HOST.keys() == {name for name, row in TABLE.items() if row.draws} - NEVER.keys()


def test_what_is_dear_is_a_primitive() -> None:
    assert TABLE.keys() >= DEAR


@pytest.mark.parametrize("name", LOWERED)
@settings(max_examples=8, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(data=st.data())
def test_a_primitive_is_what_the_reference_says(name: str, data: st.DataObject) -> None:
    program = data.draw(programs(frozenset({name}), lets=1, functions=0, trees=False))
    assume(program.entry.body.lets)
    arguments = arguments_of(program, data.draw(st.integers(0, 1000)))
    try:
        exact = evaluate(program, arguments, bits=256)
    except PreskError as error:
        assume(error.code not in NOT_OVER_THE_REALS)
        raise
    for storage in STORAGES:
        assert_close(run(program, arguments, storage), exact, storage)


@pytest.mark.parametrize("name", LOWERED)
@settings(max_examples=4, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(data=st.data())
def test_a_primitive_takes_integers_with_scales(name: str, data: st.DataObject) -> None:
    program = data.draw(programs(frozenset({name}), lets=1, functions=0, trees=False))
    assume(program.entry.body.lets)
    arguments = arguments_of(program, data.draw(st.integers(0, 1000)))
    held = held_arguments(program.entry, arguments, "f32")
    views = {read.ref for group in partition(program.entry).groups if group.kind == "view" for read in group.reads}
    for at, parameter in enumerate(program.entry.parameters):
        tensor = parameter.type
        if not isinstance(tensor, Tensor) or tensor.kind != "real" or not tensor.axes or 0 in tensor.sizes:
            continue
        if Ref(parameter.number) not in views:
            type_, axis = data.draw(st.sampled_from(("int8", "int4"))), data.draw(st.integers(0, len(tensor.axes) - 1))
            held[at], arguments[at] = quantised(tensor.sizes, type_, axis, data.draw(st.integers(0, 100)))
    try:
        exact = evaluate(program, arguments, bits=256)
    except PreskError as error:
        assume(error.code not in NOT_OVER_THE_REALS)
        raise
    # In 1 + erf(x / √2), of a negative x, the two cancel; x is the size of their product's terms.
    terms = 4 if name in ("gelu", "gelu_tanh") else 0
    assert_close(machine(program, "f32").run(held), exact, "f32", terms)
