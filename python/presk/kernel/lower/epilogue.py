"""Which group may join a contraction's store: elementwise work that alone reads the product, each element at its place.

A bias, an activation, a residual, a scaling, or several of them, as they share a group. Called by the recorder before
it lowers the contraction; the group then has no launch of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from presk.core.groups import Group
from presk.core.links import Same, links_of
from presk.core.nodes import Apply, Body, Let
from presk.core.operands import numbers_in, ref_of
from presk.core.typing import Types
from presk.kernel.lower.task import WIDTH
from presk.kernel.lowered import Machine
from presk.primitives.attributes import cotangents_of
from presk.shapes.types import Tensor

FUNCTIONS = frozenset(
    "exp expm1 log log1p tanh sin cos erf erfc pow sigmoid silu softplus gelu gelu_tanh".split()
) | frozenset("gaussian gelu_slope silu_slope gelu_tanh_slope".split())
"""Elementwise primitives that call elementary functions."""

SECOND_CACHE = 1 << 20
"""Bytes of the second cache where the system doesn't say."""


def following_group(body: Body, groups: Sequence[Group], group: Group, types: Types) -> Group | None:
    """The group without reductions that alone reads a contraction's value, and whose root is real and has its axes.

    None where there is none: the value has another reader, is a result, or an element of the root isn't made of the
    product's element at the same place. Nor of a product that is mended after it is stored.
    """
    number = group.root
    lets = {let.number: let for let in body.lets}
    value = lets[number].value
    if isinstance(value, Apply) and cotangents_of(dict(value.attributes)):
        return None
    found = _sole_reader(body, groups, number)
    if found is None or found.kind != "nest" or found.inner:
        return None
    product, root = types[number], types[found.root]
    if not isinstance(product, Tensor) or not isinstance(root, Tensor) or root.kind != "real":
        return None
    carriers = _carriers(number, [lets[each.number] for each in found.members], types)
    return found if carriers is not None and found.root in carriers and root.sizes == product.sizes else None


def pays(members: Sequence[Let], result: Tensor, storage: str, machine: Machine) -> bool:
    """Whether the rule `auto` joins a group: a sole addition; what has no functions where the result is far.

    There a group of its own reads the product back from beyond the second cache. Functions take so much longer that it
    makes no difference, and bf16 is finished number by number.
    """
    if len(members) == 1 and isinstance(members[0].value, Apply) and members[0].value.primitive == "add":
        return True
    second = machine.caches[1] if len(machine.caches) > 1 else SECOND_CACHE
    is_quick = storage != "bf16" and not has_functions(members)
    return is_quick and prod(result.sizes) * WIDTH[storage] // 8 > second


def has_functions(lets: Iterable[Let]) -> bool:
    """Whether any of these lets calls an elementary function."""
    return any(isinstance(let.value, Apply) and let.value.primitive in FUNCTIONS for let in lets)


def _sole_reader(body: Body, groups: Sequence[Group], number: int) -> Group | None:
    """The group whose members alone read a value."""
    result = ref_of(body.result)
    readers = [each for each in groups if any(read.ref.number == number for read in each.reads)]
    if len(readers) != 1 or (result is not None and result.number == number):
        return None
    members = {each.number for each in readers[0].members}
    reading = {let.number for let in body.lets if number in numbers_in(let.value)}
    return readers[0] if reading <= members else None


def _carriers(number: int, members: Sequence[Let], types: Types) -> set[int] | None:
    """The values that are made of a product's; None where one isn't made of the element at its own place."""
    product = types[number]
    assert isinstance(product, Tensor), "a contraction gives a tensor"
    here = tuple(map(Same, range(len(product.axes))))
    found = {number}
    for let in members:
        assert isinstance(let.value, Apply), "a group's members are primitives"
        for operand, links in zip(let.value.operands, links_of(let, types), strict=True):
            ref = ref_of(operand)
            if ref is None or ref.number not in found:
                continue
            if links != here or not isinstance(let.type, Tensor) or len(let.type.axes) != len(here):
                return None
            found.add(let.number)
    return found
