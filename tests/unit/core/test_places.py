"""The loops that a group gives for each axis are the indices its members and reads really have, checked on values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.unit.core.generate import arguments_of, random_program
from tests.unit.core.laws import types_of

from presk.core.groups import Group, Member, partition
from presk.core.nodes import Apply, Body, Function, Let, MakeTuple, Program, Ref
from presk.core.operands import ref_of
from presk.core.simplify import simplify
from presk.core.typing import expression_type
from presk.exact.evaluate import evaluate
from presk.shapes.types import Axis, Tensor

MOVED = frozenset("rename transpose split merge split_heads merge_heads broadcast_to stop_gradient".split())
"""Maps whose result is the operand's value at the same place of the nest."""

USED = MOVED | frozenset("neg add mul exp sum prod tanh".split())

Places = tuple[tuple[int, ...], ...]


def values_of(function: Function, arguments: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
    """The value of every parameter and let of a function without trees."""
    tensors = [let.number for let in function.body.lets if isinstance(let.type, Tensor)]
    refs = tuple(Ref(number) for number in tensors)
    types = types_of(function)
    gathered = Let(10_000, None, MakeTuple(refs), expression_type(MakeTuple(refs), types, {}))
    body = Body((*function.body.lets, gathered), Ref(10_000))
    result = evaluate(Program((replace(function, result=gathered.type, body=body),)), arguments, bits=64)
    found = {number: np.asarray(value) for number, value in zip(tensors, result, strict=True)}
    return found | {at: np.asarray(value) for at, value in enumerate(arguments)}


def points(group: Group) -> tuple[list[int], Iterator[tuple[int, ...]]]:
    """The sizes of a group's loops, and every point of its nest."""
    sizes = [axis.size.whole or 0 for axis in (*group.outer, *group.inner) if isinstance(axis, Axis)]
    return sizes, product(*(range(size) for size in sizes))


def index_at(point: tuple[int, ...], places: Places, sizes: list[int]) -> tuple[int, ...]:
    """Where a value with these places is read at a point of the nest."""
    index: list[int] = []
    for loops in places:
        at = 0
        for loop in loops:
            at = at * sizes[loop] + point[loop]
        index.append(at)
    return tuple(index)


def candidates(group: Group, ref: Ref) -> list[Places]:
    """The places at which a group holds or reads a value."""
    held = [member.places for member in group.members if Ref(member.number) == ref]
    return held + [read.places for read in group.reads if read.ref == ref and read.places is not None]


def reads_its_operand(group: Group, member: Member, ref: Ref, values: dict[int, Any]) -> bool:
    """Whether the operand has, at one of its places, what the map's result is at every point of the nest."""
    sizes, nest = points(group)
    every = list(nest)
    result = [values[member.number][index_at(point, member.places, sizes)] for point in every]
    return any(
        [values[ref.number][index_at(point, places, sizes)] for point in every] == result
        for places in candidates(group, ref)
    )


@pytest.mark.parametrize("seed", range(150))
def test_maps_read_their_operand_where_the_group_says(seed: int) -> None:
    program = simplify(random_program(seed, USED, lets=10, trees=False))
    function = program.entry
    values = values_of(function, arguments_of(program, seed))
    lets = {let.number: let for let in function.body.lets}
    for group in partition(function).groups:
        for member in group.members:
            apply = lets[member.number].value
            assert isinstance(apply, Apply)
            ref = ref_of(apply.operands[0])
            if apply.primitive in MOVED and ref is not None and ref.number in values:
                assert reads_its_operand(group, member, ref, values) or merged_by_another(group, ref)


def merged_by_another(group: Group, ref: Ref) -> bool:
    """Whether a value is read with an index of its reader's making alone: an axis that another member merged."""
    return any(read.ref == ref and read.places is None for read in group.reads)
