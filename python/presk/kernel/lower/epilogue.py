"""Which add may join a contraction's store.

Called by the recorder where a plan states an epilogue, before it lowers the contraction; the add's own group then runs
no more.
"""

from __future__ import annotations

from collections.abc import Sequence

from presk.core.groups import Group
from presk.core.nodes import Apply, Body, Ref
from presk.core.operands import numbers_in, ref_of
from presk.core.typing import Types, operand_type
from presk.shapes.align import align
from presk.shapes.types import Tensor


def following_add(body: Body, groups: Sequence[Group], group: Group, types: Types) -> Group | None:
    """The group of the add that alone reads a contraction's value, adds to it what may repeat, and holds nothing else.

    None where there is none: the value has another reader, or what reads it is no such add.
    """
    number = group.root
    readers = [let for let in body.lets if number in numbers_in(let.value)]
    result = ref_of(body.result)
    if len(readers) != 1 or (result is not None and result.number == number):
        return None
    (add,) = readers
    found = next((each for each in groups if each.root == add.number), None)
    if not isinstance(add.value, Apply) or add.value.primitive != "add" or found is None or len(found.members) != 1:
        return None
    operands = add.value.operands
    if operands.count(Ref(number)) != 1 or any(ref_of(each) == Ref(number) for each in operands if each != Ref(number)):
        return None
    axes = [operand_type(each, types) for each in operands]
    places = align([each.axes for each in axes if isinstance(each, Tensor)]).places[operands.index(Ref(number))]
    mine, whole = types[number], types[add.number]
    if not isinstance(mine, Tensor) or not isinstance(whole, Tensor) or len(whole.axes) != len(mine.axes):
        return None
    return found if places == tuple(range(len(mine.axes))) else None
