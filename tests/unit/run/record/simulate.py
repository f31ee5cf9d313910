"""A machine for schedules that computes with tokens: what an element is made of, in place of a number.

The same steps give the same tokens in the outputs wherever the buffers lie, unless a buffer was overwritten while
somebody still needed it. `run_recorded` gives every buffer memory of its own; `run_placed` uses the arena's offsets.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from presk.kernel.nodes import Element
from presk.run.record.coalesce import Either, Recorded
from presk.run.record.schedule import Copy, Launch, Name, Region, Repeat, Step, Swap, View

SIZE = 4
"""Bytes of an element: every buffer of these tests is f32."""

Memory = dict[tuple[Name, int], object]


class Machine:
    """Runs steps over a place for each element of each buffer. `sizes` are the elements a launch reads and writes."""

    def __init__(self, place: Callable[[Name, int], object], sizes: dict[Name, int], inputs: dict[Name, int]) -> None:
        self.place = place
        self.sizes = sizes
        self.memory: dict[object, object] = {}
        self.counters: dict[int, int] = {}
        self.swapped: dict[Name, Name] = {}
        for name, size in inputs.items():
            for at in range(size):
                self.memory[self.where(View(name), at)] = ("given", name.number, at)

    def where(self, view: View, at: int) -> object:
        """The place of an element of a view."""
        name = self.swapped.get(view.buffer, view.buffer)
        offset = view.start + sum(stride * self.counters[counter] for counter, stride in view.strides)
        return self.place(name, offset + at)

    def run(self, steps: tuple[Recorded, ...]) -> None:
        """Runs the steps in order."""
        for step in steps:
            self.step(step)

    def step(self, step: Recorded) -> None:
        """Runs one step."""
        match step:
            case Repeat(counter, trips, backward, steps):
                for round_ in reversed(range(trips)) if backward else range(trips):
                    self.counters[counter] = round_
                    self.run(steps)
            case Copy(_, amount, source, target):
                values = [self.memory.get(self.where(source, at), "nothing") for at in range(amount)]
                for at, value in enumerate(values):
                    self.memory[self.where(target, at)] = value
            case Swap(first, second):
                one, other = self.swapped.get(first, first), self.swapped.get(second, second)
                self.swapped[first], self.swapped[second] = other, one
            case Either(launches):
                self.run(launches)
            case Launch():
                self.launch(step)
            case _:
                raise AssertionError("no such step in these tests")

    def launch(self, launch: Launch) -> None:
        """Every element of an output is made of the kernel and of all the inputs' elements; sizes stand in the site."""
        amounts = [int(each) for each in launch.site.split()]
        reads, writes = amounts[: len(launch.inputs)], amounts[len(launch.inputs) :]
        given = hash(
            tuple(
                self.memory.get(self.where(view, at), "nothing")
                for view, amount in zip(launch.inputs, reads, strict=True)
                for at in range(amount)
            )
        )
        for number, (view, amount) in enumerate(zip(launch.outputs, writes, strict=True)):
            for at in range(amount):
                self.memory[self.where(view, at)] = hash((launch.kernel, number, at, given))


def run_recorded(
    steps: tuple[Recorded, ...], sizes: dict[Name, int], inputs: dict[Name, int], outputs: dict[Name, int]
) -> list[object]:
    """The outputs' tokens with a memory for every buffer."""
    machine = Machine(lambda name, at: (name, at), sizes, inputs)
    machine.run(steps)
    return [machine.memory.get((name, at)) for name, size in outputs.items() for at in range(size)]


def run_placed(
    steps: tuple[Step, ...],
    regions: tuple[Region, ...],
    inputs: dict[Name, int],
    outputs: dict[Name, int],
    shared: dict[int, int],
) -> list[object]:
    """The outputs' tokens with the arena's places, and outputs in the inputs they share."""

    def place(name: Name, at: int) -> object:
        if name.space == "a":
            return ("arena", regions[name.number].offset // SIZE + at)
        if name.space == "o" and name.number in shared:
            return (Name("h", shared[name.number]), at)
        return (name, at)

    machine = Machine(place, {}, inputs)
    machine.run(steps)
    return [machine.memory.get(place(name, at)) for name, size in outputs.items() for at in range(size)]


F32 = Element("f32")
KERNELS = count()
