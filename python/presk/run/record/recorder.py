"""The recorder: a Core program and a realization to a Schedule.

Core is evaluated once over handles: calls are followed, loops are recorded once and stay loops, trees are taken
apart; what is left are launches of kernels, one lowered group after another, and the few steps of the host. Copies
are recorded generously where a value must be laid out (a loop's next state, a scan's results, an output, an update)
and taken out again by `record.coalesce`; `record.arena` then gives every buffer its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from presk.core.groups import BodyGroups, Group, partition
from presk.core.nodes import (
    Apply,
    Body,
    Call,
    Function,
    Injected,
    Let,
    Literal,
    Loop,
    MakeRecord,
    MakeTuple,
    MapTrees,
    Operand,
    Program,
    Ref,
    SetField,
)
from presk.kernel.lowered import Chosen, Lowered
from presk.kernel.nodes import Element, Kernel
from presk.realization.rest import handed_on, loses_its_type
from presk.run.record import groups, loops, random
from presk.run.record.arena import place
from presk.run.record.coalesce import Recorded, coalesce
from presk.run.record.epilogues import joins_of
from presk.run.record.frame import Choices, Frame
from presk.run.record.fuse import fused
from presk.run.record.handles import Handle, Held, Known, Tree, build, component, leaves, replaced, volume
from presk.run.record.loops import LeafMap, moved
from presk.run.record.numbering import numbered
from presk.run.record.quantised import quantised
from presk.run.record.schedule import Fixed, Input, Name, Output, Schedule, View
from presk.run.record.stacks import stacked_in_place
from presk.shapes.types import Shape, Tensor
from presk.shapes.types import leaves as type_leaves


@dataclass
class Recorder:
    """The state of a recording. `steps` is the list being written; loops nest it. `counters` are the loops around.

    `maps` are maps at one leaf's axes. They are kept: what is lowered goes by its body's identity.
    """

    functions: dict[str, Function]
    choices: Choices
    steps: list[Recorded] = field(default_factory=list[Recorded])
    regions: list[tuple[Element, int]] = field(default_factory=list[tuple[Element, int]])
    kernels: dict[Kernel, int] = field(default_factory=dict[Kernel, int])
    constants: dict[Fixed, int] = field(default_factory=dict[Fixed, int])
    partitions: dict[str, dict[int | None, BodyGroups]] = field(default_factory=dict[str, dict[int | None, BodyGroups]])
    lowered: dict[object, Lowered] = field(default_factory=dict[object, Lowered])
    converted: list[dict[tuple[View, Element, Element, int], View]] = field(default_factory=lambda: [{}])
    counters: list[int] = field(default_factory=list[int])
    loops: int = 0
    maps: dict[tuple[str, int, Shape], LeafMap] = field(default_factory=dict[tuple[str, int, Shape], LeafMap])
    chosen: dict[str, list[Chosen]] = field(default_factory=dict[str, "list[Chosen]"])

    def fresh(self, element: Element, count: int) -> View:
        """A new buffer of the arena."""
        self.regions.append((element, count))
        return View(Name("a", len(self.regions) - 1))

    def constant(self, fixed: Fixed) -> View:
        """The buffer of a constant."""
        return View(Name("c", self.constants.setdefault(fixed, len(self.constants))))

    def kernel(self, kernel: Kernel) -> int:
        """The number of a kernel; equal kernels share one."""
        return self.kernels.setdefault(kernel, len(self.kernels))

    def enter(self, function: Function, arguments: Sequence[Handle], path: tuple[str, ...]) -> Handle:
        """Follows a function's body; its result."""
        if function.name not in self.partitions:
            self.partitions[function.name] = {each.owner: each for each in partition(function).bodies}
        frame = Frame(function, self.partitions[function.name], path)
        for parameter, argument in zip(function.parameters, arguments, strict=True):
            frame.values[parameter.number] = argument
        return self.body(frame, function.body, None)

    def body(self, frame: Frame, body: Body, owner: int | None) -> Handle:
        """Follows the lets of a body; its result."""
        found = frame.bodies[owner].groups
        roots = {group.root: group for group in found}
        joins = joins_of(self, frame, body, found)
        joined = {join.root.number: join for join in joins.values()}
        for let in body.lets:
            group = roots.get(let.number)
            if let.number in joins:
                continue
            if let.number in joined:
                frame.values[let.number] = groups.launch_joined(self, frame, body, joined[let.number])
            elif group is not None or not isinstance(let.value, Apply):
                frame.values[let.number] = self.let(frame, body, let, group)
        return self.operand(frame, body.result)

    def let(self, frame: Frame, body: Body, let: Let, group: Group | None) -> Handle:
        """The handle of one let, its steps recorded."""
        match let.value:
            case Apply() as apply:
                assert group is not None, "an interior let has no value of its own"
                if apply.primitive in random.STEPS:
                    return random.STEPS[apply.primitive](self, frame, let, apply)
                return groups.emit(self, frame, body, let, group)
            case Call(name, operands, path):
                arguments = [self.operand(frame, each) for each in operands]
                return self.enter(self.functions[name], arguments, (*frame.path, path) if path else frame.path)
            case Loop() as loop:
                return loops.repeat(self, frame, let, loop)
            case MapTrees() as mapped:
                return loops.map_leaves(self, frame, let, mapped)
            case MakeTuple(items):
                return Tree(tuple((str(at), self.operand(frame, each)) for at, each in enumerate(items)))
            case MakeRecord(fields):
                return Tree(tuple((name, self.operand(frame, each)) for name, each in fields))
            case SetField(base, path, value):
                return replaced(self.operand(frame, base), path, self.operand(frame, value))

    def operand(self, frame: Frame, operand: Operand) -> Handle:
        """The handle of an operand; an injected nat stays the nat that the primitive converts which takes it."""
        match operand:
            case Ref(number, path):
                return component(frame.values[number], path)
            case Injected(inner):
                return component(frame.values[inner.number], inner.path)
            case Literal(value, kind):
                return Known(value, kind)


def record(
    program: Program,
    choices: Choices,
    donate: Sequence[int] = (),
    chosen: dict[str, list[Chosen]] | None = None,
) -> Schedule:
    """The schedule of an entry. `donate` are the numbers of parameters whose buffers may be overwritten.

    `chosen`, where it is given, gets what the plan `auto` chose, by site, once for each way the site is lowered. Raises
    PreskError E7002 where a choice can't be run as stated.
    """
    recorder = Recorder({each.name: each for each in program.functions}, choices)
    if chosen is not None:
        recorder.chosen = chosen
    inputs: list[Input] = []
    arguments: list[Handle] = []
    for number, parameter in enumerate(program.entry.parameters):

        def leaf(path: tuple[str, ...], tensor: Tensor, donated: bool = number in donate) -> Handle:
            return _input(inputs, choices, path, tensor, donated)

        name = parameter.name or f"%{parameter.number}"
        arguments.append(build(parameter.type, leaf, (name,)))
    result = recorder.enter(program.entry, arguments, ())
    outputs = _outputs(recorder, program, result, _at_rest(program, inputs, donate))
    steps, shared = coalesce(recorder.steps, recorder.regions, inputs)
    steps = stacked_in_place(steps, recorder.regions)
    outputs = [Output(o.path, o.element, o.shape, shared.get(at)) for at, o in enumerate(outputs)]
    if choices.fuses:
        same = {Name("o", output): Name("h", taken) for output, taken in shared.items()}
        steps = fused(steps, recorder.kernels, same)
    regions, arena, steps = place(steps, recorder.regions)
    steps, kernels = numbered(steps, list(recorder.kernels))
    return Schedule(
        program.entry.name,
        choices.name,
        tuple(inputs),
        tuple(outputs),
        tuple(recorder.constants),
        regions,
        arena,
        kernels,
        steps,
    )


def _input(inputs: list[Input], choices: Choices, path: tuple[str, ...], tensor: Tensor, donated: bool) -> Handle:
    element, layers = choices.parameter(".".join(path), tensor)
    view = View(Name("h", len(inputs)))
    inputs.append(Input(".".join(path), element, tensor.sizes, donated))
    if element.scales is None:
        return Held(view, element, tensor)
    first, end = element.scales
    scale_shape = tuple(size for at, size in enumerate(tensor.sizes) if at < layers or first <= at - layers < end)
    inputs.append(Input(f"{'.'.join(path)}.scale", Element("f32"), scale_shape))
    return quantised(view, element, tensor, View(Name("h", len(inputs) - 1)), layers)


def _at_rest(program: Program, inputs: Sequence[Input], donate: Sequence[int]) -> dict[str, Element]:
    """The types that leaves of the result keep, by their paths: those of the arguments they take the place of."""
    elements = {each.path: each.element for each in inputs}
    return {result: elements[given] for given, result in handed_on(program, donate) if elements[given].scales is None}


def _outputs(recorder: Recorder, program: Program, result: Handle, rest: Mapping[str, Element]) -> list[Output]:
    """Copies the result's leaves to outputs; what has a type at rest is brought to it, or refused if it is narrower."""
    outputs: list[Output] = []
    kinds = list(type_leaves(program.entry.result))
    for (path, tensor), handle in zip(kinds, leaves(result), strict=True):
        held = groups.held(recorder, handle, tensor)
        target = View(Name("o", len(outputs)))
        name = ".".join(path)
        element = rest.get(name, held.element)
        if groups.WIDTH.get(held.element.kind, 0) < groups.WIDTH.get(element.kind, 0):
            raise loses_its_type(program, name, element.kind, held.element.kind)
        outputs.append(Output(name, element, tensor.sizes))
        recorder.steps.append(moved(held, element, volume(tensor), target))
    return outputs
