"""The properties of a partition that hold for every function, checked independently of how it was made."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from presk.core.groups import BodyGroups, Group, Groups
from presk.core.links import reduced_axes
from presk.core.nodes import Apply, Body, Function, Let, Loop, MapTrees, Ref
from presk.core.operands import numbers_in, operands_of, ref_of
from presk.core.printer import bodies
from presk.core.roles import ROLES, Role
from presk.core.typing import operand_type
from presk.shapes.types import Axis, Tensor, Type

Space = frozenset[int]


def check_partition(function: Function, groups: Groups) -> None:
    """Asserts every property of ir.md's list that a single partition can show."""
    types = types_of(function)
    owners: dict[int | None, Body] = {None: function.body}
    for body in bodies(function.body):
        for let in body.lets:
            if isinstance(let.value, (Loop, MapTrees)):
                owners[let.number] = let.value.body
    assert groups.bodies[0].owner is None
    assert {each.owner for each in groups.bodies} == set(owners)
    for each in groups.bodies:
        check_body(owners[each.owner], each, types)
    assert groups.launches == sum(group.kind != "view" for group in groups.groups)
    assert groups.saved >= 0


def types_of(function: Function) -> dict[int, Type]:
    """The type of every number of a function."""
    types: dict[int, Type] = {each.number: each.type for each in function.parameters}
    for body in bodies(function.body):
        for let in body.lets:
            types[let.number] = let.type
            if isinstance(let.value, Loop):
                types |= {each.number: each.type for each in (let.value.state, *let.value.elements)}
            if isinstance(let.value, MapTrees):
                types |= {each.number: each.type for each in let.value.parameters}
    return types


def check_body(body: Body, found: BodyGroups, types: dict[int, Type]) -> None:
    lets = {let.number: let for let in body.lets}
    held = [member.number for group in found.groups for member in group.members]
    assert len(held) == len(set(held)), "a let is in one group"
    computed = {number for group in found.groups for number in group.free}
    for let in body.lets:
        if isinstance(let.value, Apply):
            stored = let.number in held
            assert stored or let.number in computed or not _read(body, let.number), (
                "every primitive is computed somewhere"
            )
        else:
            assert let.number not in held, "groups hold primitives alone"
    assert [group.root for group in found.groups] == sorted(
        (group.root for group in found.groups), key=list(lets).index
    ), "groups stand in the order of their roots"
    for group in found.groups:
        check_group(body, lets, group, types)


def check_group(body: Body, lets: dict[int, Let], group: Group, types: dict[int, Type]) -> None:
    members = {member.number for member in group.members}
    assert group.root in members
    role = {number: ROLES[apply_of(lets[number]).primitive] for number in members}
    if Role.ALONE in role.values():
        assert len(members) == 1, "what is alone shares with none"
    if group.kind == "free":
        assert len(members) == 1 and escapes(body, group.root), "what readers compute is stored as a result only"
    for number in members - {group.root}:
        assert not escapes(body, number)
        assert final_readers(body, number, free_lets(body, types)) <= members, "an interior let is read inside alone"
    if group.kind in ("alone", "free") or apply_of(lets[group.root]).primitive == "unstack":
        return
    outer = frozenset(range(len(group.outer)))
    inner = frozenset(range(len(group.outer), len(group.outer) + len(group.inner)))
    sizes = [axis.size.whole if isinstance(axis, Axis) else -1 for axis in (*group.outer, *group.inner)]
    for member in group.members:
        space = level(member.places)
        assert space in (outer, outer | inner), "a member has the axes O or O + I"
        check_extents(operand_type(Ref(member.number), types), member.places, sizes)
        if role[member.number] is Role.REDUCTION:
            check_reduction(lets[member.number], group, types, space, (outer, inner))
        if role[member.number] is Role.ROW:
            tensor = operand_type(Ref(member.number), types)
            assert isinstance(tensor, Tensor)
            along = [member.places[axis] for axis in reduced_axes(apply_of(lets[member.number]), tensor)]
            assert level(tuple(along)) == inner, "rows lie along I"
    for read in group.reads:
        assert read.ref.number not in members or read.ref.path
        if read.places is not None:
            check_extents(operand_type(read.ref, types), read.places, sizes)


def check_reduction(let: Let, group: Group, types: dict[int, Type], space: Space, loops: tuple[Space, Space]) -> None:
    outer, inner = loops
    assert space == outer, "a reduction's result has the axes O"
    operand = ref_of(apply_of(let).operands[0])
    if operand is None:
        return
    known = {Ref(member.number): {member.places} for member in group.members}
    for read in group.reads:
        if read.places is not None:
            known.setdefault(read.ref, set()).add(read.places)
    if operand in known:
        assert outer | inner in {level(places) for places in known[operand]}, "its operand has the axes O + I"


def check_extents(found: Type, places: tuple[tuple[int, ...], ...], sizes: list[int | None]) -> None:
    """Every axis has as many elements as its loops together."""
    assert isinstance(found, Tensor)
    assert len(found.axes) == len(places)
    for axis, loops in zip(found.axes, places, strict=True):
        assert (axis.size.whole if isinstance(axis, Axis) else -1) == prod(sizes[loop] or 0 for loop in loops)
    used = [loop for loops in places for loop in loops]
    assert len(used) == len(set(used)), "two axes are different loops"


def level(places: tuple[tuple[int, ...], ...]) -> Space:
    return frozenset(loop for axis in places for loop in axis)


def apply_of(let: Let) -> Apply:
    assert isinstance(let.value, Apply)
    return let.value


def readers(body: Body, number: int) -> Iterator[Let]:
    for let in body.lets:
        if number in numbers_in(let.value):
            yield let


def _read(body: Body, number: int) -> bool:
    result = ref_of(body.result)
    return any(True for _ in readers(body, number)) or (result is not None and result.number == number)


def escapes(body: Body, number: int) -> bool:
    """Whether the result, or something that is no primitive, takes a let's value."""
    result = ref_of(body.result)
    taken = result is not None and result.number == number
    return taken or any(not isinstance(let.value, Apply) for let in readers(body, number))


def free_lets(body: Body, types: dict[int, Type]) -> set[int]:
    """What is computed at the element by each reader, by the words of the design."""
    free: set[int] = set()
    logic = {"eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not"}
    for let in body.lets:
        if not isinstance(let.value, Apply):
            continue
        operands = [(each, ref_of(each)) for each in operands_of(let.value)]
        role = ROLES[let.value.primitive]
        costless = [ref is None or (ref.number in free and not ref.path) for _, ref in operands]
        nats = [
            isinstance(each, Ref) and getattr(operand_type(each, types), "kind", "") == "nat" for each, _ in operands
        ]
        over_nats = all(a or b for a, b in zip(costless, nats, strict=True))
        if role is Role.FREE or (role is Role.MAP and all(costless)) or (let.value.primitive in logic and over_nats):
            free.add(let.number)
    return free


def final_readers(body: Body, number: int, free: set[int]) -> set[int]:
    """The lets that read a value, those that read it through something computed at the element too."""
    found: set[int] = set()
    for let in readers(body, number):
        found |= final_readers(body, let.number, free) if let.number in free else {let.number}
    return found
