"""The partition of a function's lets into groups: lets that share one loop nest and store only their root.

A fixed algorithm over Core after simplification, body by body; it reads no size, realization, plan or backend, because
with bf16 storage what is stored decides what is rounded. docs/core.md states it and its properties; `core.nests` grows
the single nest, `core.roles` says what each primitive is. Called by lowering, by `core.sites` and by `presk dump
--stage groups` (`core.group_text`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from presk.core.links import Extents, links_of
from presk.core.nests import OUTSIDE, SHARED, Nest, Places, Scope, shape_of
from presk.core.nodes import Apply, Body, Count, Function, Injected, Let, Literal, Loop, MapTrees, Operand, Ref
from presk.core.operands import numbers_in, operands_of, ref_of
from presk.core.roles import LOGIC, ROLES, Role, keeps_order
from presk.core.typing import Types, operand_type
from presk.primitives.all import TABLE
from presk.shapes.types import Shape, Tensor, Type


@dataclass(frozen=True, slots=True)
class Member:
    """A let of a group. `places` gives for each axis of its value the loops it is, as numbers into outer + inner.

    An axis is several loops, row-major, behind a split or a merge. `reduced` gives the same for each axis that a
    reduction takes away, in the order of its operand.
    """

    number: int
    places: Places
    reduced: Places = ()


@dataclass(frozen=True, slots=True)
class Read:
    """A value from outside that a group reads, at the loops `places`; None where its readers make the index."""

    ref: Ref
    places: Places | None


@dataclass(frozen=True, slots=True)
class Group:
    """Lets that share a nest, in order, the root last.

    `kind`: `nest` · `row`, a nest with reductions · `alone`, a primitive that shares with none · `view`, no launch, the
    operand's elements as they are · `free`, a value its readers compute themselves, stored because something else takes
    it too. `outer` and `inner` are O and I; of a group alone the result's axes and nothing. `free` are the lets
    computed at the element for this group.
    """

    kind: str
    root: int
    members: tuple[Member, ...]
    outer: Shape
    inner: Shape
    reads: tuple[Read, ...]
    free: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BodyGroups:
    """The groups of one body, in the order of their roots.

    `owner` is the let of the loop or map whose body it is; None for the function's own. `unfused` are the launches
    there would be if each primitive were a group.
    """

    owner: int | None
    groups: tuple[Group, ...]
    unfused: int

    @property
    def saved(self) -> int:
        """Launches that fusion saves in one run of the body."""
        return self.unfused - sum(group.kind != "view" for group in self.groups)


@dataclass(frozen=True, slots=True)
class Groups:
    """A function's groups, its own body first. Counts are of the text: a loop's body counts once."""

    function: str
    bodies: tuple[BodyGroups, ...]
    unfused: int

    @property
    def groups(self) -> Iterator[Group]:
        """All groups, body by body."""
        for body in self.bodies:
            yield from body.groups

    @property
    def launches(self) -> int:
        """Groups that run: all but views."""
        return sum(group.kind != "view" for group in self.groups)

    @property
    def saved(self) -> int:
        """Launches that fusion saves against one a primitive."""
        return self.unfused - self.launches


def partition(function: Function) -> Groups:
    """The groups of a simplified function."""
    types: dict[int, Type] = {each.number: each.type for each in function.parameters}
    pinned = frozenset(() if function.primal is None else function.primal.roots)
    counters: set[Ref] = set()
    bodies: list[BodyGroups] = []
    unfused = 0
    waiting: list[tuple[int | None, Body]] = [(None, function.body)]
    while waiting:
        owner, body = waiting.pop(0)
        types |= {let.number: let.type for let in body.lets}
        found, launches = _partition_body(body, types, frozenset(counters), pinned)
        bodies.append(BodyGroups(owner, found, launches))
        unfused += launches
        for let in body.lets:
            match let.value:
                case Loop(state=state, elements=elements, sources=sources, body=inner):
                    types |= {each.number: each.type for each in (state, *elements)}
                    pairs = zip(elements, sources, strict=True)
                    counters |= {Ref(each.number) for each, source in pairs if isinstance(source, Count)}
                    waiting.append((let.number, inner))
                case MapTrees(parameters=parameters, body=inner):
                    types |= {each.number: each.type for each in parameters}
                    waiting.append((let.number, inner))
                case _:
                    continue
    return Groups(function.name, tuple(bodies), unfused)


def _partition_body(
    body: Body, types: Types, counters: frozenset[Ref], pinned: frozenset[int]
) -> tuple[tuple[Group, ...], int]:
    """The groups of one body, and how many launches its primitives were, each on its own.

    `pinned` are roots whatever reads them.
    """
    scope = _scope(body, types, pinned)
    held: set[int] = set()
    read: set[int] = set(scope.taken)
    groups: list[Group] = []
    for let in reversed(body.lets):
        if not isinstance(let.value, Apply) or (let.number in held and let.number not in read):
            continue
        if let.number in scope.free and let.number not in scope.taken:
            continue
        group = _group(let, scope, counters)
        held |= {member.number for member in group.members}
        read |= {each.ref.number for each in group.reads} & scope.again
        groups.append(group)
    groups.reverse()
    alone = sum(_launches(let, scope, counters) for let in body.lets if isinstance(let.value, Apply))
    return tuple(groups), alone


def _launches(let: Let, scope: Scope, counters: frozenset[Ref]) -> bool:
    """Whether a primitive would be a launch if every primitive were a group."""
    assert isinstance(let.value, Apply), "only primitives launch"
    if let.number in scope.free:
        return let.number in scope.taken
    return _kind(let, _reads_at_element(let, scope)[1], scope, counters) != "view"


def _group(let: Let, scope: Scope, counters: frozenset[Ref]) -> Group:
    """The group with this root."""
    assert isinstance(let.value, Apply), "a root is a primitive"
    if ROLES[let.value.primitive] not in SHARED or let.number in scope.free:
        return _single(let, scope, counters)
    nest = Nest(scope, let.number)
    nest.plant()
    nest = nest.grow()
    loops = {atom: at for at, atom in enumerate((*nest.outer, *(nest.inner or ())))}

    def numbered(places: Places) -> Places:
        return tuple(tuple(loops[atom] for atom in axis) for axis in places)

    members = sorted(nest.places, key=lambda number: scope.order[number])
    reads = [
        Read(ref, None if places is None else numbered(places))
        for ref, several in sorted(nest.reads.items(), key=lambda each: (each[0].number, each[0].path))
        if ref.path or ref.number not in nest.places
        for places in sorted(several, key=lambda places: (places is None, places or ()))
    ]
    interior = tuple(number for number in members if number != let.number)
    return Group(
        _kind(let, (*interior, *nest.free), scope, counters),
        let.number,
        tuple(
            Member(number, numbered(nest.places[number]), numbered(nest.reduced.get(number, ()))) for number in members
        ),
        shape_of(nest, nest.outer),
        shape_of(nest, nest.inner or ()),
        tuple(reads),
        tuple(sorted(nest.free, key=lambda number: scope.order[number])),
    )


def _single(let: Let, scope: Scope, counters: frozenset[Ref]) -> Group:
    """A group of one let: alone, a view of a tuple's pieces, or a value at the element that is stored too."""
    outer = let.type.axes if isinstance(let.type, Tensor) else ()
    member = Member(let.number, tuple((at,) for at in range(len(outer))))
    refs, free = _reads_at_element(let, scope)
    reads = tuple(Read(ref, None) for ref in refs)
    kind = _kind(let, free, scope, counters)
    return Group(kind, let.number, (member,), outer, (), reads, free)


def _reads_at_element(let: Let, scope: Scope) -> tuple[tuple[Ref, ...], tuple[int, ...]]:
    """What a let reads from memory, and the free lets it computes on the way."""
    refs: dict[Ref, None] = {}
    free: dict[int, None] = {}
    waiting = list(operands_of(let.value))
    while waiting:
        ref = ref_of(waiting.pop(0))
        if ref is not None and ref.number not in scope.free:
            refs[ref] = None
        elif ref is not None and ref.number not in free:
            free[ref.number] = None
            waiting += operands_of(scope.lets[ref.number].value)
    return tuple(refs), tuple(sorted(free, key=lambda number: scope.order[number]))


def _kind(let: Let, others: tuple[int, ...], scope: Scope, counters: frozenset[Ref]) -> str:
    """The kind of the group of a root and these other lets, free ones among them."""
    if let.number in scope.free:
        return "free"
    lets = (let, *(scope.lets[number] for number in others))
    if all(isinstance(each.value, Apply) and keeps_order(each.value, counters) for each in lets):
        return "view"
    roles = {ROLES[each.value.primitive] for each in lets if isinstance(each.value, Apply)}
    if not roles <= SHARED | {Role.FREE}:
        return "alone"
    return "row" if roles & {Role.REDUCTION, Role.ROW} else "nest"


def _scope(body: Body, types: Types, pinned: frozenset[int]) -> Scope:
    """What nests ask about a body: who reads what, what is computed at the element, which axes are of one size."""
    lets = {let.number: let for let in body.lets}
    order = {let.number: at for at, let in enumerate(body.lets)}
    free: set[int] = set()
    extents = Extents()
    for let in body.lets:
        if isinstance(let.value, Apply):
            extents.join(let, links_of(let, types))
            if _is_free(let.value, free, types):
                free.add(let.number)
    taken, readers = _readers(body, free)
    again = frozenset(let.number for let in body.lets if let.again)
    return Scope(lets, types, order, frozenset(free), taken, readers, extents, again, pinned)


def _is_free(apply: Apply, free: set[int], types: Types) -> bool:
    """Whether every reader computes the value itself: constants by their axes, maps of these, logic over nats and
    these.
    """
    role = ROLES[apply.primitive]
    if role is Role.FREE:
        return True
    if role is Role.MAP:
        return all(_costs_nothing(operand, free) for operand in apply.operands)
    if apply.primitive not in LOGIC:
        return False
    return all(_costs_nothing(operand, free) or _is_nat(operand, types) for operand in apply.operands)


def _costs_nothing(operand: Operand, free: set[int]) -> bool:
    ref = ref_of(operand)
    return ref is None or (ref.number in free and not ref.path)


def _is_nat(operand: Operand, types: Types) -> bool:
    if isinstance(operand, (Literal, Injected)):
        return False
    found = operand_type(operand, types)
    return isinstance(found, Tensor) and found.kind == "nat"


def _readers(body: Body, free: set[int]) -> tuple[frozenset[int], dict[int, frozenset[int]]]:
    """The lets that something else than a primitive takes, and the lets that read each let.

    What reads a free value reads what that value reads; a free value that is taken stands for OUTSIDE itself, as do the
    body's result, calls, trees, loops and maps, and draws, which are no kernels.
    """
    readers: dict[int, set[int]] = {let.number: set() for let in body.lets}
    result = ref_of(body.result)
    taken: set[int] = set() if result is None else {result.number} & readers.keys()
    for let in body.lets:
        if not isinstance(let.value, Apply) or TABLE[let.value.primitive].draws:
            taken |= numbers_in(let.value) & readers.keys()
    for number in taken:
        readers[number].add(OUTSIDE)
    for let in reversed(body.lets):
        if isinstance(let.value, Apply):
            by = readers[let.number] if let.number in free else {let.number}
            for number in numbers_in(let.value) & readers.keys():
                readers[number] |= by
    return frozenset(taken), {number: frozenset(found) for number, found in readers.items()}
