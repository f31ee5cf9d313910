"""A schedule divided at bind: the steps that only pack bound inputs, and the rest, which read what these made.

Such a step copies or converts elements, one by one, of bound inputs, of constants and of what other such steps made: a
launch whose kernel only moves (`is_packing`), a conversion at a kernel's edge, a copy. Its buffer leaves the arena and
is an input of the rest. Where the step stands in a loop and takes another layer each round, all layers are packed, one
behind the other, and the rounds read theirs. Nothing else is computed ahead: what it would save could be more memory
than the inputs are. Called by `run.scheduled`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from presk.kernel.nodes import Constant, Element, For, Integer, Kernel, Load, Statement, Store, Truth
from presk.run.record.arena import place
from presk.run.record.coalesce import changed, names, reads, writes
from presk.run.record.handles import shifted
from presk.run.record.numbering import numbered
from presk.run.record.schedule import Convert, Copy, Input, Launch, Name, Output, Repeat, Schedule, Step, Swap, View


@dataclass(frozen=True, slots=True)
class Divided:
    """Both parts of a schedule.

    `packing` makes, of the bound inputs `taken`, one output for each of the last inputs of `rest`; None where there is
    nothing to pack. The inputs of `rest` are those that aren't bound, in their order, then the bound ones `kept`, those
    it still reads, then what was packed.
    """

    packing: Schedule | None
    taken: tuple[int, ...]
    rest: Schedule
    kept: tuple[int, ...]


def divide(schedule: Schedule, bound: Sequence[int]) -> Divided:
    """The schedule with these inputs bound, by their numbers."""
    division = _Division(schedule, frozenset(bound))
    division.find(schedule.steps, ())
    rest_steps = division.rest(schedule.steps)
    read = {view.buffer for step in _flat(rest_steps) for view in (*reads(step), *writes(step))}
    # What only packing steps read is made on the way, and not kept.
    made = [each for each in division.packs if each.kept in read]
    shared = {output.shares for output in schedule.outputs}
    kept = tuple(at for at in sorted(bound) if Name("h", at) in read or at in shared)
    rest = _rest(schedule, rest_steps, [at for at in range(len(schedule.inputs)) if at not in bound], kept, made)
    if not made:
        return Divided(None, (), rest, kept)
    packing, taken = _packing(schedule, division, made)
    return Divided(packing, taken, rest, kept)


def is_packing(kernel: Kernel) -> bool:
    """Whether a kernel only moves elements: every statement stores a load or a constant."""

    def moves(body: tuple[Statement, ...]) -> bool:
        return all(
            moves(each.body)
            if isinstance(each, For)
            else isinstance(each, Store) and isinstance(each.value, Load | Constant | Integer | Truth)
            for each in body
        )

    return not kernel.scratch and moves(kernel.body)


Loops = tuple[tuple[int, int], ...]
"""The counters of the loops around a step and their rounds, outermost first."""


@dataclass(frozen=True, slots=True)
class _Pack:
    """A buffer of the arena that is made ahead: the step, the loops it is repeated in, and what it becomes."""

    step: Launch | Convert | Copy
    loops: Loops
    region: int
    kept: Name
    layers: tuple[tuple[int, int], ...]
    rounds: int
    source: int


@dataclass
class _Division:
    """What is found out about a schedule. Buffers that are made ahead have names of their own, in the space `h`."""

    schedule: Schedule
    bound: frozenset[int]
    packs: list[_Pack] = field(default_factory=list[_Pack])
    moved: dict[Name, _Pack] = field(default_factory=dict[Name, _Pack])
    known: dict[object, Name] = field(default_factory=dict[object, Name])
    ahead: set[int] = field(default_factory=set[int])

    def __post_init__(self) -> None:
        self.writers: dict[Name, int] = {}
        self.around: dict[Name, list[Loops]] = {}
        self.count(self.schedule.steps, ())

    def count(self, steps: tuple[Step, ...], loops: Loops) -> None:
        """How many steps write each buffer, a swap being several, and the loops around each that touches it."""
        for step in steps:
            if isinstance(step, Repeat):
                self.count(step.steps, (*loops, (step.counter, step.trips)))
                continue
            for name in names(step):
                self.around.setdefault(name, []).append(loops)
            for view in writes(step):
                self.writers[view.buffer] = self.writers.get(view.buffer, 0) + 1
            if isinstance(step, Swap):
                for name in names(step):
                    self.writers[name] = self.writers.get(name, 0) + 2

    def find(self, steps: tuple[Step, ...], loops: Loops) -> None:
        """Notes every step that is made ahead."""
        for step in steps:
            if isinstance(step, Repeat):
                if step.trips:
                    self.find(step.steps, (*loops, (step.counter, step.trips)))
            elif isinstance(step, Launch | Convert | Copy) and self.packs_bound(step):
                self.note(step, loops)

    def packs_bound(self, step: Launch | Convert | Copy) -> bool:
        """Whether a step packs bound inputs alone into a buffer that nobody else writes."""
        sources = [view.buffer for view in reads(step)]
        if not any(self.source(name) is not None for name in sources):
            return False
        if not all(name.space == "c" or self.source(name) is not None for name in sources):
            return False
        targets = [view.buffer for view in writes(step)]
        if len(targets) != 1 or targets[0].space != "a" or self.writers[targets[0]] != 1:
            return False
        return not isinstance(step, Launch) or is_packing(self.schedule.kernels[step.kernel])

    def source(self, name: Name) -> int | None:
        """The bound input a buffer is, or was packed from."""
        if name in self.moved:
            return self.moved[name].source
        return name.number if name.space == "h" and name.number in self.bound else None

    def note(self, step: Launch | Convert | Copy, loops: Loops) -> None:
        """Notes a step, unless somebody reads its buffer outside of a loop whose rounds give it other elements."""
        (target,) = writes(step)
        views = [self.place(view) for view in reads(step)]
        differs = {counter for view in views for counter, _ in view.strides}
        inside = {counter for counter, _ in target.strides}
        repeated = tuple(each for each in loops if each[0] in differs | inside)
        fresh = [each for each in repeated if each[0] not in inside]
        if any(
            not {counter for counter, _ in fresh} <= {each[0] for each in uses} for uses in self.around[target.buffer]
        ):
            return
        region = self.schedule.regions[target.buffer.number]
        rounds, layers = 1, list[tuple[int, int]]()
        for counter, trips in reversed(fresh):
            layers.append((counter, rounds * region.count))
            rounds *= trips
        source = next(found for view in reads(step) if (found := self.source(view.buffer)) is not None)
        self.ahead.add(id(step))
        fresh_name = Name("h", len(self.schedule.inputs) + len(self.packs))
        kept = self.known.setdefault(self.made(step, views, target, repeated, tuple(layers)), fresh_name)
        pack = _Pack(step, repeated, target.buffer.number, kept, tuple(layers), rounds, source)
        if kept == fresh_name:
            self.packs.append(pack)
        self.moved[target.buffer] = pack

    def made(
        self, step: Launch | Convert | Copy, views: Sequence[View], target: View, loops: Loops, layers: Loops
    ) -> object:
        """What a step makes of its views, whatever its loops' counters are: equal packs are made once."""
        places = {counter: at for at, (counter, _) in enumerate(loops)}

        def named(strides: Loops) -> Loops:
            return tuple(sorted((places[counter], stride) for counter, stride in strides))

        what = step.kernel if isinstance(step, Launch) else (type(step), step.element, step.count)
        sources = tuple((view.buffer, view.start, named(view.strides)) for view in views)
        rounds = tuple(trips for _, trips in loops)
        region = self.schedule.regions[target.buffer.number]
        return what, sources, rounds, region.element, region.count, target.start, named(target.strides), named(layers)

    def place(self, view: View) -> View:
        """A view, in what is made ahead where its buffer is."""
        pack = self.moved.get(view.buffer)
        return view if pack is None else shifted(View(pack.kept, 0), view.start, (*pack.layers, *view.strides))

    def rest(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """The steps without those made ahead, and without loops that have none left."""
        found: list[Step] = []
        for step in steps:
            if isinstance(step, Repeat):
                inner = self.rest(step.steps)
                if inner or not step.steps:
                    found.append(replace(step, steps=inner))
            elif id(step) not in self.ahead:
                found.append(cast(Step, changed(step, self.place)))
        return tuple(found)


def _flat(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step in steps:
        if isinstance(step, Repeat):
            yield from _flat(step.steps)
        else:
            yield step


def _rest(
    schedule: Schedule, steps: tuple[Step, ...], given: Sequence[int], kept: Sequence[int], made: Sequence[_Pack]
) -> Schedule:
    """The schedule of these steps, over the inputs that are given, kept and packed."""
    numbers = {Name("h", old): Name("h", new) for new, old in enumerate((*given, *kept))}
    numbers |= {pack.kept: Name("h", len(numbers) + at) for at, pack in enumerate(made)}
    regions, arena, placed = place(_renamed(steps, numbers), [(each.element, each.count) for each in schedule.regions])
    taken, kernels = numbered(placed, schedule.kernels)
    inputs = [schedule.inputs[at] for at in (*given, *kept)] + [_input(schedule, pack) for pack in made]
    outputs = tuple(
        each if each.shares is None else replace(each, shares=numbers[Name("h", each.shares)].number)
        for each in schedule.outputs
    )
    return replace(
        schedule,
        inputs=tuple(inputs),
        outputs=outputs,
        regions=regions,
        arena=arena,
        kernels=kernels,
        steps=taken,
    )


def _input(schedule: Schedule, pack: _Pack) -> Input:
    region = schedule.regions[pack.region]
    path = f"{schedule.inputs[pack.source].path} packed"
    layers = () if pack.rounds == 1 else (pack.rounds,)
    return Input(path, region.element, (*layers, region.count))


def _packing(schedule: Schedule, division: _Division, made: Sequence[_Pack]) -> tuple[Schedule, tuple[int, ...]]:
    """The schedule that packs, each step in loops of its own, and the inputs it takes."""
    numbers: dict[Name, Name] = {pack.kept: Name("o", at) for at, pack in enumerate(made)}
    regions: list[tuple[Element, int]] = []
    steps: list[Step] = []
    for pack in division.packs:
        region = schedule.regions[pack.region]
        if pack.kept not in numbers:
            numbers[pack.kept] = Name("a", len(regions))
            regions.append((region.element, region.count * pack.rounds))
        step = cast(Step, changed(pack.step, division.place))
        for counter, trips in reversed(pack.loops):
            step = Repeat(counter, trips, False, (step,))
        steps.append(step)
    touched = {view.buffer for step in _flat(tuple(steps)) for view in reads(step)}
    taken = tuple(sorted(division.bound & {name.number for name in touched if name.space == "h"}))
    numbers |= {Name("h", old): Name("h", new) for new, old in enumerate(taken)}
    regions_placed, arena, placed = place(_renamed(tuple(steps), numbers), regions)
    ordered, kernels = numbered(placed, schedule.kernels)
    outputs = tuple(Output(each.path, each.element, each.shape) for each in (_input(schedule, pack) for pack in made))
    inputs = tuple(replace(schedule.inputs[at], donated=False) for at in taken)
    packing = replace(
        schedule,
        name=f"{schedule.name} packing",
        inputs=inputs,
        outputs=outputs,
        regions=regions_placed,
        arena=arena,
        kernels=kernels,
        steps=ordered,
    )
    return packing, taken


def _renamed(steps: tuple[Step, ...], numbers: Mapping[Name, Name]) -> tuple[Step, ...]:
    """The steps over other buffers, all renamed at once."""

    def change(view: View) -> View:
        return replace(view, buffer=numbers.get(view.buffer, view.buffer))

    return tuple(
        replace(step, steps=_renamed(step.steps, numbers))
        if isinstance(step, Repeat)
        else cast(Step, changed(step, change))
        for step in steps
    )
