"""One loop nest while it grows from its root over the lets that it may compute: the heart of the group partition.

The nest's loops are *atoms*; every axis of a member is a row-major run of atoms (most often one, several behind a
split or merge). The atoms are outer (O) or inner (I); a member has the atoms O or O + I, and a reduction goes from O +
I to O. Which they are is open until a reduction, a row primitive or a member with fewer axes than the root decides it.
No size is read: that two axes are one loop follows from `links.Extents`. docs/core.md tells the algorithm. Called by
`core.groups`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush

from presk.core.links import Extents, Link, Links, Part, Parts, Place, Reduced, Same, links_of, reduced_axes
from presk.core.nodes import Apply, Let, Ref
from presk.core.operands import ref_of
from presk.core.roles import ROLES, Role
from presk.core.typing import Types, operand_type
from presk.shapes.types import Axis, AxisOrRun, Tensor

Atoms = tuple[int, ...]
"""An axis as loops of the nest, outermost first."""

Places = tuple[Atoms, ...]
"""Each axis of a value."""

SHARED = frozenset({Role.ELEMENTWISE, Role.MAP, Role.REDUCTION, Role.ROW})
"""The roles that share a nest with others."""

OUTSIDE = -1
"""Among the readers of a let: something that no nest holds."""


@dataclass(frozen=True)
class Scope:
    """What a body's nests ask about its lets. `readers` see through the values that are computed at the element
    (`free`).

    `order` is each let's position in the body, `taken` are the lets that something else than a primitive takes. `again`
    are those that join every nest that reads them, `pinned` those that join none.
    """

    lets: Mapping[int, Let]
    types: Types
    order: Mapping[int, int]
    free: frozenset[int]
    taken: frozenset[int]
    readers: Mapping[int, frozenset[int]]
    extents: Extents
    again: frozenset[int] = frozenset()
    pinned: frozenset[int] = frozenset()

    @cached_property
    def read_by(self) -> Mapping[int, tuple[int, ...]]:
        """The lets that each let reads, as `readers` has it the other way round."""
        found: dict[int, list[int]] = {}
        for number, readers in self.readers.items():
            for reader in readers:
                found.setdefault(reader, []).append(number)
        return {reader: tuple(numbers) for reader, numbers in found.items()}

    def links(self, number: int) -> Links:
        """The links of a let's operands."""
        return links_of(self.lets[number], self.types)

    def tensor(self, ref: Ref) -> Tensor:
        """The type of a tensor that is referred to."""
        found = operand_type(ref, self.types)
        assert isinstance(found, Tensor), "nests read tensors"
        return found

    def apply(self, number: int) -> Apply:
        """The primitive a let holds."""
        value = self.lets[number].value
        assert isinstance(value, Apply), "nests hold primitives"
        return value

    def role(self, number: int) -> Role:
        """The role of the primitive a let holds."""
        return ROLES[self.apply(number).primitive]


@dataclass
class Nest:
    """A root and what joined it. `inner` is None while O and I are open; `atoms` are all, `axes` what each loop is."""

    scope: Scope
    root: int
    places: dict[int, Places] = field(default_factory=dict[int, Places])
    reduced: dict[int, Places] = field(default_factory=dict[int, Places])
    atoms: list[int] = field(default_factory=list[int])
    axes: dict[int, AxisOrRun] = field(default_factory=dict[int, AxisOrRun])
    inner: list[int] | None = None
    reads: dict[Ref, set[Places | None]] = field(default_factory=dict[Ref, set["Places | None"]])
    known: list[tuple[Place, Atoms]] = field(default_factory=list[tuple[Place, Atoms]])
    free: set[int] = field(default_factory=set[int])
    computed: set[tuple[int, Places | None]] = field(default_factory=set[tuple[int, "Places | None"]])
    rows: int = 0
    queue: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """A heap of what may join, the last lets first: a member reads it, or the last of its readers joined."""
    queued: set[int] = field(default_factory=set[int])

    def copy(self) -> Nest:
        """A nest that grows on its own from here."""
        return Nest(
            self.scope,
            self.root,
            dict(self.places),
            dict(self.reduced),
            list(self.atoms),
            dict(self.axes),
            None if self.inner is None else list(self.inner),
            {ref: set(places) for ref, places in self.reads.items()},
            list(self.known),
            set(self.free),
            set(self.computed),
            self.rows,
            list(self.queue),
            set(self.queued),
        )

    @property
    def outer(self) -> list[int]:
        """The atoms of O: all of them while I is open."""
        inner = self.inner or ()
        return [atom for atom in self.atoms if atom not in inner]

    # Growing

    def plant(self) -> None:
        """Takes the root in."""
        axes = self.scope.tensor(Ref(self.root)).axes
        places = tuple((self.loop(axis),) for axis in axes)
        fits = self.admit(self.root, places)
        assert fits, "a root fits its own nest"

    def grow(self) -> Nest:
        """The nest with all that may join it, itself or a copy of it."""
        nest = self
        while True:
            if nest.admit_next():
                continue
            best = nest.divided(nest.candidates()) if nest.inner is None else None
            if best is None:
                return nest
            nest = best

    def admit_next(self) -> bool:
        """Takes in the last let that may join; whether one did. What can't join yet is tried again after the next."""
        left: list[int] = []
        joined = False
        while self.queue and not joined:
            _, number = heappop(self.queue)
            self.queued.discard(number)
            if Ref(number) not in self.reads or not self.may_join(number):
                continue
            place = self.one_place(number)
            joined = place is not None and self.admit(number, place)
            if not joined:
                left.append(number)
        for number in left:
            self.wait(number)
        return joined

    def wait(self, number: int) -> None:
        """Puts a let where it is looked at as one that may join."""
        if number not in self.queued and number in self.scope.order:
            self.queued.add(number)
            heappush(self.queue, (-self.scope.order[number], number))

    def candidates(self) -> list[tuple[int, Places]]:
        """Lets all of whose readers are in the nest and read them at one place, last ones first."""
        found = ((number, self.one_place(number)) for _, number in sorted(self.queue) if self.may_join(number))
        return [(number, place) for number, place in found if place is not None]

    def one_place(self, number: int) -> Places | None:
        """Where all readers in the nest read a let; None where they read it at several places."""
        places = self.reads.get(Ref(number), set())
        return next(iter(places)) if len(places) == 1 else None

    def may_join(self, number: int) -> bool:
        """Whether all readers of a let are in the nest, and it is one of those that nests hold."""
        scope = self.scope
        if number in self.places or number not in scope.readers or number in scope.free or number in scope.pinned:
            return False
        has_all = number in scope.again or scope.readers[number] <= self.places.keys()
        return has_all and isinstance(scope.lets[number].value, Apply) and scope.role(number) in SHARED

    def divided(self, waiting: Iterable[tuple[int, Places]]) -> Nest | None:
        """The nest with O chosen so that the most joins it; None where nothing would.

        What waits has fewer axes than the nest. Its axes become O if a row's reduction joins then, or else if they are
        the root's first axes, so that what joins is computed outside the inner loops. The choice with the most
        reductions wins, then that with the most members, then the later let.
        """
        best: Nest | None = None
        order = [atom for axis in self.places[self.root] for atom in axis]
        for outer in dict.fromkeys(frozenset(_flat(places)) for _, places in waiting):
            trial = self.copy()
            trial.inner = [atom for atom in self.atoms if atom not in outer]
            trial = trial.grow()
            if len(trial.places) == len(self.places):
                continue
            if trial.rows == self.rows and outer != frozenset(order[: len(outer)]):
                continue
            if best is None or (trial.rows, len(trial.places)) > (best.rows, len(best.places)):
                best = trial
        return best

    def admit(self, number: int, places: Places) -> bool:
        """Takes a let in at these places, where O and I allow it."""
        role = self.scope.role(number)
        level = frozenset(_flat(places))
        if role is Role.REDUCTION:
            rows = self.rows_of(number, level)
        elif role is Role.ROW:
            rows = () if self.fix_row(number, places) else None
        else:
            whole = level == frozenset(self.atoms)
            rows = () if whole or (self.inner is not None and level == frozenset(self.outer)) else None
        if rows is None:
            return False
        self.rows += role in (Role.REDUCTION, Role.ROW)
        self.places[number] = places
        self.reads.pop(Ref(number), None)  # looked at in vain from now on
        self.reduced[number] = rows
        for read in self.scope.read_by.get(number, ()):
            self.wait(read)
        self.learn(Ref(number), places)
        self.read_operands(number, rows)
        return True

    def rows_of(self, number: int, level: frozenset[int]) -> Places | None:
        """The places of the axes a reduction takes away, which are all of I; None where its result isn't at O."""
        apply = self.scope.apply(number)
        operand = ref_of(apply.operands[0]) or Ref(number)
        tensor = self.scope.tensor(operand)
        gone = reduced_axes(apply, tensor)
        if self.inner is None and level == frozenset(self.atoms):
            rows = tuple((self.loop(tensor.axes[axis]),) for axis in gone)
            self.inner = list(_flat(rows))
            for axis, row in zip(gone, rows, strict=True):
                self.known.append((self.scope.extents.of(operand, axis), row))
            return rows
        inner = self.inner if self.inner is not None else [atom for atom in self.atoms if atom not in level]
        if level != frozenset(self.atoms) - frozenset(inner):
            return None
        rows = self.matching(operand, gone, inner)
        if rows is not None and self.inner is None:
            self.inner = inner
        return rows

    def matching(self, operand: Ref, gone: tuple[int, ...], inner: list[int]) -> Places | None:
        """For each reduced axis the atoms of I that are of its extent; together they are all of I, each once."""
        free = set(inner)
        rows: list[Atoms] = []
        for axis in gone:
            extent = self.scope.extents.of(operand, axis)
            row = next((atoms for known, atoms in self.known if known == extent and free.issuperset(atoms)), None)
            if row is None:
                return None
            free -= set(row)
            rows.append(row)
        return None if free else tuple(rows)

    def fix_row(self, number: int, places: Places) -> bool:
        """Whether a row primitive at these places has its rows along I, which it settles where that is open."""
        apply = self.scope.apply(number)
        along = [atom for axis in reduced_axes(apply, self.scope.tensor(Ref(number))) for atom in places[axis]]
        if frozenset(_flat(places)) != frozenset(self.atoms):
            return False
        if self.inner is None:
            self.inner = along
        return frozenset(along) == frozenset(self.inner)

    # What members read

    def read_operands(self, number: int, rows: Places) -> None:
        """Notes where a member, or a value computed at the element, reads its operands."""
        places = self.places.get(number)
        assert places is not None, "a member has places"
        self.read(number, self.parts_apart(number, places), rows)

    def read(self, number: int, places: Places | None, rows: Places) -> None:
        """Notes what a let at these places reads, by way of values computed at the element too, each place once."""
        waiting = [(number, places, rows)]
        while waiting:
            number, places, rows = waiting.pop()
            apply = self.scope.apply(number)
            for operand, links in zip(apply.operands, self.scope.links(number), strict=True):
                ref = ref_of(operand)
                if ref is None:
                    continue
                where = None if places is None or links is None else self.places_of(ref, links, places, rows)
                if where is not None:
                    self.learn(ref, where)
                if ref.number not in self.scope.free or ref.path:
                    self.reads.setdefault(ref, set()).add(where)
                    self.wait(ref.number)
                elif (ref.number, where) not in self.computed:
                    self.computed.add((ref.number, where))
                    self.free.add(ref.number)
                    waiting.append((ref.number, where, ()))

    def places_of(self, ref: Ref, links: tuple[Link, ...], places: Places, rows: Places) -> Places | None:
        """The places of an operand's axes; None where an axis merged with others has no loop of its own."""
        found: list[Atoms] = []
        for axis, link in enumerate(links):
            match link:
                case Same(at):
                    found.append(places[at])
                case Parts(at):
                    found.append(tuple(atom for each in at for atom in places[each]))
                case Part(at, which, of):
                    atoms = places[at][which : which + 1]
                    if len(places[at]) != of or (self.scope.extents.of(ref, axis), atoms) not in self.known:
                        return None
                    found.append(atoms)
                case Reduced(which):
                    found.append(rows[which])
        return tuple(found)

    def parts_apart(self, number: int, places: Places) -> Places:
        """The places of a member, an axis that merges several having an atom for each."""
        apply = self.scope.apply(number)
        for operand, links in zip(apply.operands, self.scope.links(number), strict=True):
            ref = ref_of(operand)
            merged = [
                (axis, link) for axis, link in enumerate(links or ()) if isinstance(link, Part) and link.which == 0
            ]
            if ref is None or not merged or len(places[merged[0][1].at]) != 1:
                continue
            first, link = merged[0]
            axes = self.scope.tensor(ref).axes[first : first + link.of]
            atoms = [self.loop(each) for each in axes]
            self.refine(places[link.at][0], atoms)
            self.known += [(self.scope.extents.of(ref, first + at), (atom,)) for at, atom in enumerate(atoms)]
            return self.places[number]
        return places

    def refine(self, atom: int, by: list[int]) -> None:
        """Puts several atoms in the place of one, everywhere."""
        self.atoms = _replaced([each for each in self.atoms if each not in by], atom, by)
        if self.inner is not None:
            self.inner = _replaced(self.inner, atom, by)

        def apart(places: Places) -> Places:
            return tuple(tuple(_replaced(list(axis), atom, by)) for axis in places)

        self.places = {number: apart(places) for number, places in self.places.items()}
        self.reduced = {number: apart(places) for number, places in self.reduced.items()}
        self.known = [(extent, apart((atoms,))[0]) for extent, atoms in self.known]
        self.reads = {
            ref: {None if places is None else apart(places) for places in several}
            for ref, several in self.reads.items()
        }

    def loop(self, axis: AxisOrRun) -> int:
        """A new atom."""
        atom = len(self.axes)
        self.axes[atom] = axis
        self.atoms.append(atom)
        return atom

    def learn(self, ref: Ref, places: Places) -> None:
        """Remembers of what extent the atoms of a value's axes are."""
        self.known += [(self.scope.extents.of(ref, axis), atoms) for axis, atoms in enumerate(places)]


def _flat(places: Places) -> Iterable[int]:
    return (atom for axis in places for atom in axis)


def _replaced(atoms: list[int], atom: int, by: list[int]) -> list[int]:
    return [each for old in atoms for each in (by if old == atom else [old])]


def shape_of(nest: Nest, atoms: Iterable[int]) -> tuple[AxisOrRun, ...]:
    """The loops of these atoms as axes; a name that two of them have is left out of the second."""
    taken: set[str] = set()
    shape: list[AxisOrRun] = []
    for atom in atoms:
        axis = nest.axes[atom]
        if isinstance(axis, Axis) and axis.name in taken:
            axis = Axis(None, axis.size)
        elif isinstance(axis, Axis) and axis.name is not None:
            taken.add(axis.name)
        shape.append(axis)
    return tuple(shape)
