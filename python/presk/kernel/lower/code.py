"""A kernel while it is written: its buffers, its variables, and the statements of the block at hand.

`Code` is given the inputs and outputs of the kernel, and is then told statements in order; `loop` and `when` open
blocks. Variables are numbered as they are asked for. Called by the modules of this folder.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager

from presk.kernel.lower.index import Position, at
from presk.kernel.lower.work import work_of
from presk.kernel.lowered import Buffered, Launch
from presk.kernel.nodes import (
    Access,
    Arithmetic,
    Assign,
    Binary,
    Buffer,
    BufferType,
    Call,
    Constant,
    Expression,
    For,
    If,
    Integer,
    Kernel,
    Load,
    Output,
    Splat,
    Statement,
    Store,
    Truth,
    Unary,
    Variable,
    VariableKind,
)
from presk.text.diagnostics import InternalError

KINDS: dict[str, VariableKind] = {"real": "s", "nat": "n", "bool": "b"}
"""The variables that hold values of a kind."""

DEEPEST = 8
"""How deep an expression is written before a part of it gets a variable: what a reader can follow."""


class Code:
    """The kernel that is being written."""

    def __init__(
        self,
        name: str,
        arithmetic: Arithmetic,
        inputs: Sequence[tuple[Buffered, BufferType]],
        outputs: Sequence[tuple[Buffered, BufferType]],
    ) -> None:
        self.name = name
        self.arithmetic: Arithmetic = arithmetic
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.scratches: list[BufferType] = []
        self.blocks: list[list[Statement]] = [[]]
        self.known: list[dict[object, Expression]] = [{}]
        self.next: dict[VariableKind, int] = dict.fromkeys(("i", "n", "s", "b", "v", "m"), 0)
        self.places = {source: number for number, (source, _) in enumerate(self.inputs)}

    # Buffers

    def output(self, number: int = 0) -> Buffer:
        """The buffer of an output."""
        return Buffer("%", len(self.inputs) + number)

    def scratch(self, each: BufferType) -> Buffer:
        """A new scratch buffer."""
        self.scratches.append(each)
        return Buffer("t", len(self.scratches) - 1)

    def load(self, source: Buffered, index: Sequence[Expression], vector: bool = False) -> Expression:
        """An element of an input. Of one that has no elements there is no index, and no code that runs reads it."""
        number = self.places.get(source)
        if number is None:
            raise InternalError(f"a kernel `{self.name}` reads {source}, which is no input of it")
        declared = self.inputs[number][1]
        if any(axis.size == 0 for axis in declared.axes):
            zero = {"i64": Integer(0), "bool": Truth(False)}.get(declared.element.kind, Constant(0.0))
            return Splat(zero) if vector else zero
        return Load(Access(Buffer("%", number), tuple(index)), vector)

    # Statements

    def fresh(self, kind: VariableKind) -> Variable:
        """A new variable."""
        self.next[kind] += 1
        return Variable(kind, self.next[kind] - 1)

    def assign(self, variable: Variable, value: Expression) -> None:
        """`s0 = value`"""
        self.blocks[-1].append(Assign(variable, value))

    def let(self, kind: str, value: Expression) -> Variable:
        """A new variable with a value of this kind: `real`, `nat` or `bool`."""
        variable = self.fresh(KINDS[kind])
        self.assign(variable, value)
        return variable

    def shared(self, kind: str, value: Expression) -> Expression:
        """The value for several readers: in a variable, unless it is one or a constant. An input is loaded once."""
        if isinstance(value, (Variable, Constant, Integer, Truth)):
            return value
        if not isinstance(value, Load) or not self.is_input(value.access.buffer):
            return self.let(kind, value)
        return self.recall(value) or self.note(value, self.let(kind, value))

    def is_input(self, buffer: Buffer) -> bool:
        """Whether a buffer is an input, which stays as it is."""
        return buffer.space == "%" and buffer.number < len(self.inputs)

    def recall(self, key: object) -> Expression | None:
        """What was noted under a key in this block or one around it."""
        return next((found[key] for found in reversed(self.known) if key in found), None)

    def note(self, key: object, value: Expression) -> Expression:
        """Notes a value under a key until the block ends."""
        self.known[-1][key] = value
        return value

    def shallow(self, kind: str, value: Expression) -> Expression:
        """The value, in a variable where it would be written too deep."""
        return self.let(kind, value) if depth_of(value) >= DEEPEST else value

    def store(self, buffer: Buffer, index: Sequence[Expression], value: Expression, vector: bool = False) -> None:
        """`%2[…] = value`"""
        self.blocks[-1].append(Store(Access(buffer, tuple(index)), value, vector))

    def add(self, statement: Statement) -> None:
        """A statement made elsewhere."""
        self.blocks[-1].append(statement)

    @contextmanager
    def loop(self, extent: int, counter: Variable | None = None) -> Generator[Variable]:
        """A loop around what is told within; with a counter of its own unless one is given."""
        counter = counter or self.fresh("i")
        self.open()
        yield counter
        body = self.close()
        self.blocks[-1].append(For(counter.number, extent, body))

    @contextmanager
    def when(self, condition: Expression) -> Generator[None]:
        """A condition around what is told within."""
        self.open()
        yield
        body = self.close()
        self.blocks[-1].append(If(condition, body))

    def open(self) -> None:
        """Begins a block."""
        self.blocks.append([])
        self.known.append({})

    def close(self) -> tuple[Statement, ...]:
        """Ends a block and gives its statements."""
        self.known.pop()
        return tuple(self.blocks.pop())

    @contextmanager
    def loops(self, sizes: Sequence[int], counters: Sequence[Variable] = ()) -> Generator[list[Position]]:
        """Loops over several axes, outermost first, and the position along each."""
        with ExitStack() as opened:
            yield [
                at(opened.enter_context(self.loop(size, counters[axis] if counters else None)), size)
                for axis, size in enumerate(sizes)
            ]

    # The kernel

    def kernel(self, shares: Sequence[int | None] = ()) -> Kernel:
        """The kernel as told; `shares` says which input's buffer each output takes."""
        given = shares or (None,) * len(self.outputs)
        outputs = tuple(Output(each, shared) for (_, each), shared in zip(self.outputs, given, strict=True))
        inputs = tuple(each for _, each in self.inputs)
        return Kernel(self.name, self.arithmetic, inputs, outputs, tuple(self.scratches), tuple(self.blocks[0]))

    def launch(self, shares: Sequence[int | None] = ()) -> Launch:
        """The kernel with its buffers."""
        kernel = self.kernel(shares)
        inputs, outputs = (tuple(each for each, _ in buffers) for buffers in (self.inputs, self.outputs))
        return Launch(kernel, inputs, outputs, work_of(kernel))


def depth_of(value: Expression) -> int:
    """How many operations stand one in the other; indices don't count."""
    match value:
        case Binary(_, left, right):
            return 1 + max(depth_of(left), depth_of(right))
        case Unary(_, operand) | Splat(operand):
            return 1 + depth_of(operand)
        case Call(_, arguments):
            return 1 + max(map(depth_of, arguments))
        case _:
            return 0
