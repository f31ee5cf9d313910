"""PSK-Core compiled to Python closures, once a program: what is left for an evaluation is arithmetic.

A function becomes a list of steps over a frame's values, indexed by the lets' numbers; an operand becomes a reader; a
loop or map a step that runs the steps of its body on the same frame. Trees are dicts (records and modules) and tuples,
a stacked tree being the tree of its stacked tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from presk.core import nodes
from presk.exact.branches import Choice
from presk.exact.context import Frame, Run
from presk.exact.elements import Site, through
from presk.exact.facts import Facts, Step
from presk.exact.intervals import nonnegative
from presk.exact.loops import compile_loop, compile_map
from presk.exact.rules.elementwise import inject
from presk.exact.rules.table import RULES
from presk.exact.rules.task import Compute, Task, Value, replace, walk
from presk.shapes import constants
from presk.shapes.poly import number
from presk.shapes.types import BOOL, REAL, Tensor, Type, fields_of
from presk.text.diagnostics import InternalError

Read: TypeAlias = Callable[[Frame], Value]
Body: TypeAlias = Callable[[Frame], Value]


class CompiledFunction:
    """A function's steps, how many numbers a frame of it needs, and its result."""

    def __init__(self, function: nodes.Function) -> None:
        self.function = function
        self.numbers = tuple(parameter.number for parameter in function.parameters)
        self.size = 0
        self.body: Body = _unbuilt

    def __call__(self, run: Run, arguments: Iterable[Value], path: tuple[str, ...], indices: tuple[int, ...]) -> Value:
        """The function's value."""
        frame = Frame(run, self.size, path, indices)
        for place, value in zip(self.numbers, arguments, strict=True):
            frame.values[place] = value
        return self.body(frame)


class CompiledProgram:
    """An entry with all it calls, ready to be evaluated any number of times.

    `watched`: every primitive's value is shown to the run's `watch`. Kept apart, for the others pay nothing for it.
    """

    def __init__(self, program: nodes.Program, watched: bool = False) -> None:
        self.program = program
        self.functions: dict[str, CompiledFunction] = {}
        for function in program.functions:
            self.functions[function.name] = FunctionCompiler(function, self.functions, watched).compile()

    @property
    def entry(self) -> CompiledFunction:
        """The function that is called from outside."""
        return self.functions[self.program.entry.name]


class FunctionCompiler:
    """Compiles one function. `types` holds the types of what has been numbered so far."""

    def __init__(self, function: nodes.Function, known: Mapping[str, CompiledFunction], watched: bool = False) -> None:
        self.function = function
        self.known = known
        self.watched = watched
        self.types: dict[int, Type] = {}
        self.facts = Facts()
        self.size = 0

    def compile(self) -> CompiledFunction:
        """The whole function."""
        out = CompiledFunction(self.function)
        for parameter in self.function.parameters:
            self.declare(parameter.number, parameter.type)
        out.body = self.body(self.function.body)
        out.size = self.size
        return out

    def declare(self, place: int, of: Type) -> None:
        """Records a number's type."""
        self.types[place] = of
        self.size = max(self.size, place + 1)

    def body(self, body: nodes.Body) -> Body:
        """Lets in order, then the result."""
        steps = tuple(self.step(let) for let in body.lets)
        result = self.reader(body.result)

        def run(frame: Frame) -> Value:
            for step in steps:
                step(frame)
            return result(frame)

        return run

    def step(self, let: nodes.Let) -> Step:
        """One let."""
        compute = self.expression(let)
        self.declare(let.number, let.type)
        place = let.number

        def run(frame: Frame) -> None:
            frame.values[place] = compute(frame)

        self.facts = self.facts.again(let)
        self.facts.record(let, run, self.type_of)
        if self.facts.is_square(place):
            compute = not_negative(compute)
        return run

    def expression(self, let: nodes.Let) -> Read:
        """What one let's value is computed by."""
        match let.value:
            case nodes.Apply():
                return self.application(let, let.value)
            case nodes.Call(function, operands, path):
                return self.call(function, operands, path)
            case nodes.Loop():
                return compile_loop(self, let, let.value)
            case nodes.MapTrees():
                return compile_map(self, let.value, let.type)
            case nodes.MakeTuple(items):
                readers = tuple(self.reader(item) for item in items)
                return lambda frame: tuple([read(frame) for read in readers])
            case nodes.MakeRecord(fields):
                named = tuple((name, self.reader(operand)) for name, operand in fields)
                return lambda frame: {name: read(frame) for name, read in named}
            case nodes.SetField(base, path, value):
                tree, new = self.reader(base), self.reader(value)
                return lambda frame: replace(tree(frame), path, new(frame))

    def application(self, let: nodes.Let, value: nodes.Apply) -> Read:
        """A primitive on its operands."""
        planner = RULES.get(value.primitive)
        if planner is None:
            raise InternalError(f"the reference has no meaning for `{value.primitive}`")
        site = Site(self.function.name, let.number, let.name, value.primitive, let.span)
        operands = tuple(self.type_of(operand) for operand in value.operands)
        compute = planner(Task(site, operands, dict(value.attributes), let.type))
        readers = tuple(self.reader(operand) for operand in value.operands)
        if value.primitive == "where" and isinstance(let.type, Tensor) and let.type.kind == "real":
            compute = choosing(compute, Choice(let, value, self.facts, self.type_of, self.reader))
        if self.watched:
            return watching(site, lambda frame: compute(frame, *[read(frame) for read in readers]))
        match readers:
            case (one,):
                return lambda frame: compute(frame, one(frame))
            case (one, two):
                return lambda frame: compute(frame, one(frame), two(frame))
            case _:
                return lambda frame: compute(frame, *[read(frame) for read in readers])

    def call(self, name: str, operands: tuple[nodes.Operand, ...], path: str) -> Read:
        """A call of a function compiled before."""
        callee = self.known[name]
        readers = tuple(self.reader(operand) for operand in operands)
        segments = (path,) if path else ()

        def run(frame: Frame) -> Value:
            arguments = [read(frame) for read in readers]
            return callee(frame.run, arguments, frame.path + segments, frame.indices)

        return run

    def reader(self, operand: nodes.Operand) -> Read:
        """What reads an operand."""
        match operand:
            case nodes.Ref(place, ()):
                return lambda frame: frame.values[place]
            case nodes.Ref(place, path):
                steps = tuple(int(name) if name.isdigit() else name for name in path)
                return lambda frame: walk(frame.values[place], steps)
            case nodes.Literal(value, kind):
                return literal(value, kind)
            case nodes.Injected(inner):
                read = self.reader(inner)
                return lambda frame: inject(read(frame))

    def type_of(self, operand: nodes.Operand) -> Type:
        """An operand's type."""
        match operand:
            case nodes.Ref(place, path):
                return component(self.types[place], path)
            case nodes.Literal(value, kind):
                if kind == "real":
                    return REAL
                whole = constants.as_size(value)
                return BOOL if kind == "bool" or whole is None else Tensor("nat", (), whole + number(1))
            case nodes.Injected(inner):
                nats = self.type_of(inner)
                if not isinstance(nats, Tensor):
                    raise InternalError("only nats are injected")
                return Tensor("real", nats.axes)


def choosing(compute: Compute, choice: Choice) -> Compute:
    """A `where` that takes hulls where its mask is undecided."""

    def read(frame: Frame, chosen: list[Any], x: Value, y: Value) -> Value:
        found = compute(frame, chosen, x, y)
        return choice.resolve(frame, chosen, x, y, found) if frame.run.certify else found

    return read


def not_negative(compute: Read) -> Read:
    """A product that is a square: never below 0 when certifying."""

    def read(frame: Frame) -> Value:
        found = compute(frame)
        if not frame.run.certify:
            return found
        return frame.run.reals([through(nonnegative, x, "square") for x in found.entries()])

    return read


def watching(site: Site, compute: Read) -> Read:
    """The value that the run's watch makes of a let's."""

    def read(frame: Frame) -> Value:
        watch = frame.run.watch
        value = compute(frame)
        return value if watch is None else watch(frame.run, site, value)

    return read


def _unbuilt(frame: Frame) -> Value:
    raise InternalError("a function was called before it was compiled")


def component(of: Type, path: tuple[str, ...]) -> Type:
    """The type of a tree's component."""
    for name in path:
        fields = dict(fields_of(of) or ())
        if name not in fields:
            raise InternalError(f"there is no component `{name}` in {of}")
        of = fields[name]
    return of


def literal(value: constants.Constant, kind: str) -> Read:
    """A scalar that stands in the program."""
    if kind == "real":
        return lambda frame: frame.run.scalar(value)
    size = constants.as_size(value)
    whole = None if size is None else size.whole
    if whole is None:
        raise InternalError(f"a {kind} that is no whole number: {constants.show(value)}")
    plain: list[Any] = [bool(whole) if kind == "bool" else whole]
    return lambda frame: plain
