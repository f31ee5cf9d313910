"""A host for schedules in Python, for tests: NumPy buffers, steps one by one, kernels on the interpreter.

Every buffer has memory of its own, so nothing depends on the arena's places; views are bytes from an offset on, of int4
whole rows, as docs/schedule.md says.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from presk.kernel.native import Program
from presk.kernel.nodes import BufferType, Element
from presk.kernel.printer import print_kernel
from presk.run.record.schedule import Convert, Copy, Launch, Name, Repeat, Schedule, SetCount, Step, Swap, View

DTYPES: dict[str, Any] = {
    "f64": np.float64,
    "f32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "i64": np.int64,
    "bool": np.bool_,
    "int8": np.int8,
    "int4": np.uint8,
}


def run(schedule: Schedule, inputs: Mapping[str, Any]) -> list[Any]:
    """The outputs; `inputs` by path, exactly of the schedule's elements."""
    return _Host(schedule, inputs).run()


class _Host:
    def __init__(self, schedule: Schedule, inputs: Mapping[str, Any]) -> None:
        self.schedule = schedule
        self.programs = [Program(print_kernel(kernel)) for kernel in schedule.kernels]
        self.counters: dict[int, int] = {}
        self.memory: dict[Name, Any] = {}
        self.rows: dict[Name, int] = {}
        for number, each in enumerate(schedule.inputs):
            array = inputs[each.path]
            assert array.dtype == DTYPES[each.element.kind], each.path
            self.memory[Name("h", number)] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            if each.element.kind == "int4":
                self.rows[Name("h", number)] = each.shape[-1]
        for number, each in enumerate(schedule.outputs):
            self.memory[Name("o", number)] = empty(each.element, prod(each.shape))
        for number, each in enumerate(schedule.regions):
            self.memory[Name("a", number)] = empty(each.element, each.count)
        for number, each in enumerate(schedule.constants):
            self.memory[Name("c", number)] = np.array([each.value], DTYPES[each.element.kind]).view(np.uint8)

    def run(self) -> list[Any]:
        for step in self.schedule.steps:
            self.step(step)
        return [
            self.memory[Name("o", number)].view(DTYPES[each.element.kind]).reshape(each.shape)
            for number, each in enumerate(self.schedule.outputs)
        ]

    def step(self, step: Step) -> None:
        match step:
            case Launch(kernel, inputs, outputs):
                self.launch(kernel, inputs, outputs)
            case Repeat(counter, trips, backward, steps):
                for at in reversed(range(trips)) if backward else range(trips):
                    self.counters[counter] = at
                    for each in steps:
                        self.step(each)
            case Copy(element, count, source, target):
                self.bytes(target, element, count)[:] = self.bytes(source, element, count).copy()
            case Convert(before, element, count, source, target):
                with np.errstate(over="ignore"):
                    found = self.bytes(source, before, count).view(DTYPES[before.kind])
                    if element.kind == "bf16":
                        found = found.astype(np.float32)
                    found = found.astype(DTYPES[element.kind])
                self.bytes(target, element, count)[:] = found.view(np.uint8)
            case SetCount(counter, start, target):
                self.bytes(target, Element("i64"), 1).view(np.int64)[0] = self.counters[counter] + start
            case Swap(first, second):
                self.memory[first], self.memory[second] = self.memory[second], self.memory[first]
            case _:
                raise AssertionError("no such step in these tests")

    def launch(self, kernel: int, inputs: tuple[View, ...], outputs: tuple[View, ...]) -> None:
        """One kernel; of an input whose buffer an output shares, the output's array is given."""
        found = self.schedule.kernels[kernel]
        views = iter(inputs)
        given: list[Any] = []
        shared = {each.shares for each in found.outputs}
        for number, wanted in enumerate(found.inputs):
            view = next(views)
            array = self.buffer(view, wanted)
            given.append(np.empty(0, np.uint8) if number in shared else array.copy())
            if wanted.element.scales is not None:
                first, end = wanted.element.scales
                count = prod(axis.size for axis in wanted.axes[first:end])
                given.append(self.bytes(next(views), Element("f32"), count).copy())
        made = [self.buffer(view, each.type).copy() for view, each in zip(outputs, found.outputs, strict=True)]
        self.programs[kernel].run(given, made, shadow=True)
        for view, each, array in zip(outputs, found.outputs, made, strict=True):
            self.buffer(view, each.type)[:] = array

    def buffer(self, view: View, of: BufferType) -> Any:
        return self.bytes(view, of.element, prod(axis.size for axis in of.axes))

    def bytes(self, view: View, element: Element, count: int) -> Any:
        """The bytes of so many elements from a view on."""
        start = view.start + sum(stride * self.counters[counter] for counter, stride in view.strides)
        if element.kind == "int4":
            row = self.rows[view.buffer]
            assert start % max(row, 1) == 0, "int4 is addressed by rows"
            begin, size = (each // max(row, 1) * -(-row // 2) for each in (start, count))
        else:
            begin, size = (each * np.dtype(DTYPES[element.kind]).itemsize for each in (start, count))
        found = self.memory[view.buffer][begin : begin + size]
        assert len(found) == size, "a view lies in its buffer"
        return found


def empty(element: Element, count: int) -> Any:
    """Room full of what mustn't be read."""
    return np.full(count * np.dtype(DTYPES[element.kind]).itemsize, 0xFF, np.uint8)
