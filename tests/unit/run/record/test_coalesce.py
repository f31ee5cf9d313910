"""Copies taken out and places in the arena change no element of any result."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.run.record.simulate import F32, run_placed, run_recorded

from presk.kernel.nodes import Element
from presk.run.record.arena import ALIGNMENT, place
from presk.run.record.coalesce import Either, Recorded, Saved, coalesce
from presk.run.record.schedule import Copy, Input, Launch, Name, Region, Repeat, Step, Swap, View


@dataclass
class Program:
    """A random recording, written as the recorder writes: fresh buffers, copies wherever a value must be laid out."""

    draw: st.DrawFn
    regions: list[tuple[Element, int]] = field(default_factory=list[tuple[Element, int]])
    kernels: int = 0
    loops: int = 0

    def fresh(self, size: int) -> View:
        self.regions.append((F32, size))
        return View(Name("a", len(self.regions) - 1))

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def launch(self, values: list[tuple[View, int]]) -> tuple[Recorded, tuple[View, int]]:
        """A launch on a few values with one new result; where one has its size, a way in place too."""
        given = [values[self.number(0, len(values) - 1)] for _ in range(self.number(1, 2))]
        size = self.number(1, 3) if self.draw(st.booleans()) else given[0][1]
        result = self.fresh(size)
        self.kernels += 1
        plain = self.one(given, result, size)
        ways = tuple(
            Saved(result, view, (self.one(given, result, size),)) for view, amount in given[:1] if amount == size
        )
        return Either((plain,), ways), (result, size)

    def one(self, given: list[tuple[View, int]], result: View, size: int) -> Launch:
        sizes = " ".join(str(amount) for _, amount in (*given, (result, size)))
        return Launch(self.kernels, tuple(view for view, _ in given), (result,), None, sizes)

    def block(self, values: list[tuple[View, int]], depth: int) -> tuple[list[Recorded], list[tuple[View, int]]]:
        steps: list[Recorded] = []
        inside = list(values)
        for _ in range(self.number(1, 5)):
            if depth and self.number(0, 3) == 0:
                inner, results = self.loop(inside, depth - 1)
                steps.extend(inner)
                inside.extend(results)
            else:
                step, result = self.launch(inside)
                steps.append(step)
                inside.append(result)
        return steps, inside

    def layers(self, values: list[tuple[View, int]], counter: int, trips: int) -> list[tuple[View, int]]:
        """The round's own layers of values that are stacks of so many: mostly of inputs, which may be donated."""
        stacks = [(view, size) for view, size in values if trips and not size % trips and not view.strides]
        chosen = [each for each in stacks if self.number(0, 1 if each[0].buffer.space == "h" else 4) == 0]
        return [(View(view.buffer, 0, ((counter, size // trips),)), size // trips) for view, size in chosen]

    def loop(self, values: list[tuple[View, int]], depth: int) -> tuple[list[Recorded], list[tuple[View, int]]]:
        """A loop with one or two states, and a stack of what a round gives."""
        counter, trips = self.loops, self.number(0, 3)
        self.loops += 1
        steps: list[Recorded] = []
        states: list[tuple[View, int]] = []
        for _ in range(self.number(1, 2)):
            source, size = values[self.number(0, len(values) - 1)]
            state = self.fresh(size)
            steps.append(Copy(F32, size, source, state))
            states.append((state, size))
        body, inside = self.block([*values, *states, *self.layers(values, counter, trips)], depth)
        given, size = inside[self.number(0, len(inside) - 1)]
        stack = self.fresh(size * trips)
        body.append(Copy(F32, size, given, View(stack.buffer, 0, ((counter, size),))))
        swaps: list[Step] = []
        for state, wanted in states:
            same = [view for view, amount in inside if amount == wanted]
            following = same[self.number(0, len(same) - 1)]
            if following == state:
                continue
            twin = self.fresh(wanted)
            body.append(Copy(F32, wanted, following, twin))
            swaps.append(Swap(state.buffer, twin.buffer))
        backward = self.draw(st.booleans())
        steps.append(Repeat(counter, trips, backward, (*body, *swaps)))  # type: ignore[arg-type]
        results = [*states, *([(stack, size * trips)] if trips else [])]
        return steps, results


@st.composite
def programs(draw: st.DrawFn) -> tuple[list[Recorded], list[tuple[Element, int]], dict[Name, int], dict[Name, int]]:
    """Steps, regions, and the sizes of inputs and outputs."""
    program = Program(draw)
    inputs = {Name("h", at): program.number(1, 6) for at in range(program.number(1, 3))}
    values = [(View(name), size) for name, size in inputs.items()]
    steps, inside = program.block(values, 2)
    outputs: dict[Name, int] = {}
    for at in range(program.number(1, 3)):
        view, size = inside[program.number(0, len(inside) - 1)]
        outputs[Name("o", at)] = size
        steps.append(Copy(F32, size, view, View(Name("o", at))))
    return steps, program.regions, inputs, outputs


@settings(max_examples=400, deadline=None)
@given(programs(), st.booleans())
def test_results_are_the_recordings(program: tuple, donated: bool) -> None:
    steps, regions, inputs, outputs = program
    sizes = {Name("a", at): size for at, (_, size) in enumerate(regions)}
    wanted = run_recorded(tuple(steps), sizes, inputs, outputs)
    given_inputs = [Input(str(name.number), F32, (size,), donated) for name, size in inputs.items()]
    coalesced, shared = coalesce(steps, regions, given_inputs)
    places, arena, placed = place(coalesced, regions)
    assert run_placed(placed, places, inputs, outputs, shared) == wanted
    assert all(each.offset % ALIGNMENT == 0 and each.offset + 4 * each.count <= arena for each in places)
    assert donated or not shared


def layered(*between: Recorded, after: tuple[Recorded, ...] = (), loops: int = 1) -> tuple[str, dict[int, int]]:
    """A loop of three rounds that updates each layer of a donated stack, `between` the update and the stacking."""
    layer = view("h", 0, 0, (0, 2))
    update = Either(
        (Launch(0, (layer,), (view("a", 0),), None, "2 2"),),
        (Saved(view("a", 0), layer, (Launch(1, (layer,), (view("a", 0),), None, "2 2"),)),),
    )
    stacked = Copy(F32, 2, view("a", 0), view("a", 1, 0, (0, 2)))
    steps: tuple[Step, ...] = (Repeat(0, 3, False, (update, *between, stacked)),)  # type: ignore[arg-type]
    for outer in range(1, loops):
        steps = (Repeat(outer, 3, False, steps),)
    returned = Copy(F32, 6, view("a", 1), view("o", 0))
    regions = [(F32, 2), (F32, 6), (F32, 2)]
    coalesced, shared = coalesce([*steps, *after, returned], regions, [Input("x", F32, (3, 2), donated=True)])
    return str(coalesced), shared


def test_a_stack_of_layers_is_the_donated_stack_it_is_made_of() -> None:
    made, shared = layered()
    layer = view("h", 0, 0, (0, 2))
    assert made == str((Repeat(0, 3, False, (Launch(1, (layer,), (layer,), None, "2 2"),)),))
    assert shared == {0: 0}


def test_a_donated_stack_that_is_needed_still_is_left_alone() -> None:
    other = Launch(2, (view("h", 0, 2),), (view("a", 2),), None, "2 2")
    for made, shared in (
        layered(other),
        layered(Launch(2, (view("h", 0, 0, (0, 2)),), (view("a", 2),), None, "2 2")),
        layered(after=(Launch(2, (view("h", 0),), (view("a", 2),), None, "6 2"),)),
        layered(loops=2),
    ):
        assert "kernel=0" in made
        assert not shared


def test_a_stack_that_is_read_while_it_grows_is_no_donated_one() -> None:
    made, shared = layered(Launch(2, (view("a", 1),), (view("a", 2),), None, "6 2"))
    assert "kernel=1" in made, "the layer itself may be overwritten"
    assert not shared


def straight(*steps: Recorded, sizes: tuple[int, ...]) -> tuple[tuple[Step, ...], tuple[Region, ...], int]:
    regions = [(F32, size) for size in sizes]
    coalesced, _ = coalesce(list(steps), regions, [Input("x", F32, (4,))])
    places, arena, placed = place(coalesced, regions)
    return placed, places, arena


def view(space: str, number: int, start: int = 0, *strides: tuple[int, int]) -> View:
    return View(Name(space, number), start, strides)  # type: ignore[arg-type]


def test_a_result_is_made_in_the_output() -> None:
    launch = Launch(0, (view("h", 0),), (view("a", 0),), None, "4 4")
    placed, places, arena = straight(launch, Copy(F32, 4, view("a", 0), view("o", 0)), sizes=(4,))
    assert placed == (Launch(0, (view("h", 0),), (view("o", 0),), None, "4 4"),)
    assert (places, arena) == ((), 0)


def test_an_input_returned_is_copied() -> None:
    placed, _, _ = straight(Copy(F32, 4, view("h", 0), view("o", 0)), sizes=())
    assert placed == (Copy(F32, 4, view("h", 0), view("o", 0)),)


def test_a_value_returned_twice_is_copied_once() -> None:
    launch = Launch(0, (view("h", 0),), (view("a", 0),), None, "4 4")
    copies = (Copy(F32, 4, view("a", 0), view("o", 0)), Copy(F32, 4, view("a", 0), view("o", 1)))
    placed, _, _ = straight(launch, *copies, sizes=(4,))
    assert sum(isinstance(step, Copy) for step in placed) == 1


def test_a_scans_results_are_made_in_their_stack() -> None:
    launch = Launch(0, (view("h", 0),), (view("a", 1),), None, "4 4")
    body = (launch, Copy(F32, 4, view("a", 1), view("a", 0, 0, (0, 4))))
    last = Copy(F32, 12, view("a", 0), view("o", 0))
    placed, _, arena = straight(Repeat(0, 3, False, body), last, sizes=(12, 4))
    made = Launch(0, (view("h", 0),), (view("o", 0, 0, (0, 4)),), None, "4 4")
    assert placed == (Repeat(0, 3, False, (made,)),)
    assert arena == 0


def test_buffers_whose_lives_are_apart_share_a_place() -> None:
    steps = [Launch(0, (view("h", 0),), (view("a", 0),), None, "4 4")]
    steps += [Launch(1, (view("a", at - 1),), (view("a", at),), None, "4 4") for at in range(1, 5)]
    placed, places, arena = straight(*steps, sizes=(4, 4, 4, 4, 4))
    assert arena == 2 * ALIGNMENT
    assert len(places) == 5
    assert len(placed) == 5


def test_a_copy_stays_where_its_target_is_read_meanwhile() -> None:
    steps = (
        Copy(F32, 4, view("h", 0), view("a", 1)),
        Launch(0, (view("h", 0),), (view("a", 0),), None, "4 4"),
        Launch(1, (view("a", 1),), (view("o", 0),), None, "4 4"),
        Copy(F32, 4, view("a", 0), view("a", 1)),
        Launch(2, (view("a", 1),), (view("o", 1),), None, "4 4"),
    )
    placed, _, _ = straight(*steps, sizes=(4, 4))
    assert sum(isinstance(step, Copy) for step in placed) == 2


def test_a_buffer_read_through_two_inputs_is_not_overwritten() -> None:
    first = Launch(0, (view("h", 0),), (view("a", 0),), None, "4 4")
    plain = Launch(1, (view("a", 0), view("a", 0, 1)), (view("a", 1),), None, "4 3 4")
    either = Either((plain,), (Saved(view("a", 1), view("a", 0), (plain,)),))
    placed, _, _ = straight(first, either, Copy(F32, 4, view("a", 1), view("o", 0)), sizes=(4, 4))
    assert [step.outputs for step in placed if isinstance(step, Launch)] == [(view("a", 0),), (view("o", 0),)]
