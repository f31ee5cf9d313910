"""What the kernels of primitives that share no nest have in common: one root, its buffers, element by element.

Called by `gathers`, `joins`, `running` and `sorting`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from presk.core.nodes import Operand, Ref
from presk.kernel.lower.choices import check_accumulation, check_layout, split, split_where_parallel
from presk.kernel.lower.code import Code
from presk.kernel.lower.index import Position
from presk.kernel.lower.points import RULES
from presk.kernel.lower.reader import Reader
from presk.kernel.lower.task import Task
from presk.kernel.lowered import Buffered, InPlace, Launch, Lowered
from presk.kernel.nodes import BufferType, Expression
from presk.shapes.types import TupleOf

SPLIT = frozenset(("split",))


def check(task: Task, has_sums: bool = False) -> None:
    """The choices of such a nest: a split, and where it sums the accumulation."""
    check_layout(task, SPLIT)
    check_accumulation(task, has_sums)


def begin(task: Task, outputs: Sequence[tuple[Buffered, BufferType]] | None = None) -> Reader:
    """A kernel named for the root that reads its operands; the outputs are the root's own unless they are given."""
    apply = task.apply(task.root)
    code = Code(apply.primitive, task.arithmetic, task.inputs(apply.operands), outputs or stored(task))
    return Reader(task, code, RULES)


def stored(task: Task) -> list[tuple[Ref, BufferType]]:
    """What the root is stored in, component by component where it is a tuple."""
    number, of = task.root.number, task.types[task.root.number]
    if isinstance(of, TupleOf):
        parts = ((Ref(number, (str(at),)), task.tensor(Ref(number, (str(at),)))) for at in range(len(of.items)))
        return [(ref, task.stored_type(tensor)) for ref, tensor in parts]
    return [(Ref(number), task.stored_type(task.result(task.root)))]


def finished(task: Task, reader: Reader, in_place: tuple[InPlace, ...] = ()) -> Lowered:
    """The group as the one launch that was written."""
    return Lowered((split(task, reader.code.launch()),), tuple(stored(task)), in_place=in_place)


def by_element(task: Task, value: Callable[[Reader, list[Position]], Expression]) -> Lowered:
    """The root computed element by element."""
    check(task)
    reader = begin(task)
    with reader.code.loops(task.result(task.root).sizes) as found:
        reader.code.store(reader.code.output(), [each.index for each in found], value(reader, found))
    return finished(task, reader)


def overwriting(task: Task, write: Callable[[Reader], None]) -> tuple[InPlace, ...]:
    """The launch that writes into operand 0's buffer and reads nothing of it, if it is held as the root is stored."""
    first, *others = task.apply(task.root).operands
    ((output, wanted),) = stored(task)
    if not isinstance(first, Ref) or task.is_free(first) or first in dict(task.inputs(tuple(others))):
        return ()
    if task.elements.get(first, wanted.element).kind != wanted.element.kind:
        return ()
    if task.read_type(first).element != wanted.element:
        return ()
    reader = begin(task)
    write(reader)
    launch = split_where_parallel(task, _shared(reader, first))
    return () if launch is None else (InPlace(output, first, (launch,)),)


def _shared(reader: Reader, first: Ref) -> Launch:
    return reader.code.launch((reader.code.places[first],))


def operand(task: Task, number: int) -> Operand:
    """One of the root's operands."""
    return task.apply(task.root).operands[number]
