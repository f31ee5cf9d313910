"""Folds apart: what a loop computes of each round, then the sums and extremes of it, each in a loop of its own.

A kernel-to-kernel pass that changes no bit. Where a loop carries sums (or maxima, minima) of values that it computes,
the values are stored in a row of scratch, unless they are elements of a row already or stored in one anyway, and a loop
that does nothing else folds the row. The first loop can then run in lanes, the second, of several rows side by side, in
vectors that go across them. Called by `nest`, before rows are taken together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from presk.kernel.lower.values import statements, values_of, variables, visited
from presk.kernel.lower.work import work_of
from presk.kernel.lowered import Launch
from presk.kernel.nodes import (
    Access,
    Assign,
    Axis,
    Binary,
    Buffer,
    BufferType,
    Call,
    Element,
    Expression,
    For,
    If,
    Kernel,
    Load,
    Statement,
    Store,
    Variable,
)

LEAST = 32
"""Rounds of a loop worth cutting."""


def launch_apart(launch: Launch) -> Launch:
    """The launch of a kernel with its folds apart."""
    kernel = apart(launch.kernel)
    return launch if kernel == launch.kernel else replace(launch, kernel=kernel, work=work_of(kernel))


def apart(kernel: Kernel) -> Kernel:
    """The kernel with its folds apart, where there are any."""
    rewriter = _Rewriter(kernel)
    body = rewriter.block(kernel.body)
    return kernel if body == kernel.body else replace(kernel, scratch=tuple(rewriter.scratch), body=body)


@dataclass(frozen=True, slots=True)
class _Fold:
    """A variable that each round takes one more value into, by an operation."""

    variable: Variable
    operation: str
    term: Expression

    def of(self, term: Expression) -> Assign:
        """The statement that takes this value."""
        if self.operation == "+":
            return Assign(self.variable, Binary("+", self.variable, term))
        return Assign(self.variable, Call("max" if self.operation == "max" else "min", (self.variable, term)))


class _Rewriter:
    """The rewrite of one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.scratch = list(kernel.scratch)

    def block(self, body: Sequence[Statement]) -> tuple[Statement, ...]:
        return tuple(each for statement in body for each in self.statement(statement))

    def statement(self, statement: Statement) -> tuple[Statement, ...]:
        match statement:
            case For(_, extent, body) if all(isinstance(each, (Assign, Store)) for each in body):
                return self.loop(statement) if extent >= LEAST else (statement,)
            case For(counter, extent, body):
                return (For(counter, extent, self.block(body)),)
            case If(condition, body):
                return (If(condition, self.block(body)),)
            case _:
                return (statement,)

    def loop(self, loop: For) -> tuple[Statement, ...]:
        """The loop cut, or as it is where it has no folds, or those of one operation alone."""
        folds = {fold.variable: fold for fold in _folds(loop)}
        others = [each for each in loop.body if not (isinstance(each, Assign) and each.variable in folds)]
        if not folds or not _is_single(others) or self.is_read_after(loop, others):
            return (loop,)
        counter = Variable("i", loop.counter)
        made: list[Statement] = []
        left: dict[str, list[Statement]] = {}
        for each in loop.body:
            fold = folds.get(each.variable) if isinstance(each, Assign) else None
            if fold is None:
                made.append(each)
                continue
            access = self.row(fold.term, others, counter)
            if access is None:
                access = Access(Buffer("t", len(self.scratch)), (counter,))
                self.scratch.append(BufferType(Element(self.kernel.arithmetic), (Axis(None, loop.extent),)))
                made.append(Store(access, fold.term))
            left.setdefault(fold.operation, []).append(fold.of(Load(access)))
        if (not made and len(left) == 1) or (made and all(_is_spread(fold, others) for fold in folds.values())):
            return (loop,)
        bodies = (made, *left.values()) if made else tuple(left.values())
        return tuple(For(loop.counter, loop.extent, tuple(each)) for each in bodies)

    def row(self, term: Expression, others: Sequence[Statement], counter: Variable) -> Access | None:
        """Where the values of a term lie after the loop, in elements of a row: loaded, or stored by the loop."""
        stored = {each.value: each.access for each in others if isinstance(each, Store)}
        access = stored.get(term)
        if access is None and isinstance(term, Load):
            overwritten = {self.memory(each.buffer) for each in stored.values()}
            access = None if self.memory(term.access.buffer) in overwritten else term.access
        return access if access is not None and self.is_run(access, counter) else None

    def memory(self, buffer: Buffer) -> Buffer:
        """The buffer whose memory this is."""
        shared = {each.shares: number for number, each in enumerate(self.kernel.outputs, len(self.kernel.inputs))}
        taken = shared.get(buffer.number) if buffer.space == "%" else None
        return buffer if taken is None else Buffer("%", taken)

    def is_run(self, access: Access, counter: Variable) -> bool:
        """Whether the counter goes along the last axis of a buffer of the arithmetic type, element by element."""
        outputs = tuple(output.type for output in self.kernel.outputs)
        buffers = (*self.kernel.inputs, *outputs)
        of = self.scratch[access.buffer.number] if access.buffer.space == "t" else buffers[access.buffer.number]
        if of.element != Element(self.kernel.arithmetic) or not access.index:
            return False
        *others, last = access.index
        if isinstance(last, Binary) and last.operator == "+" and last.right == counter:
            others.append(last.left)
        elif last != counter:
            return False
        return not any(isinstance(each, Load) or each == counter for other in others for each in visited(other))

    def is_read_after(self, loop: For, others: Sequence[Statement]) -> bool:
        """Whether what a round assigns besides the folds is read by another round or loop."""
        assigned = {each.variable for each in others if isinstance(each, Assign)}
        seen: set[Variable] = set()
        for each in loop.body:
            if not seen.issuperset(_read([each]) & assigned):
                return True
            if isinstance(each, Assign):
                seen.add(each.variable)
        inside = {id(each) for each in loop.body}
        elsewhere = [each for each in statements(self.kernel.body) if id(each) not in inside]
        return not assigned.isdisjoint(_read(elsewhere))


def _read(statements: Sequence[Statement]) -> set[Variable]:
    """The variables that statements read themselves."""
    return {one for each in statements for value in values_of(each) for one in variables(value)}


def _is_single(others: Sequence[Statement]) -> bool:
    """Whether each variable is assigned at one place and each buffer stored to at one, element by element."""
    assigned = [each.variable for each in others if isinstance(each, Assign)]
    stored = [each.access.buffer for each in others if isinstance(each, Store)]
    return (
        len(set(assigned)) == len(assigned)
        and len(set(stored)) == len(stored)
        and not any(each.vector for each in others if isinstance(each, Store))
    )


def _folds(loop: For) -> list[_Fold]:
    """The variables of a loop that carry a fold and are read by nothing else in it."""
    reads: dict[Variable, int] = {}
    writes: dict[Variable, int] = {}
    for statement in loop.body:
        for value in values_of(statement):
            for each in visited(value):
                if isinstance(each, Variable):
                    reads[each] = reads.get(each, 0) + 1
        if isinstance(statement, Assign):
            writes[statement.variable] = writes.get(statement.variable, 0) + 1
    found: list[_Fold] = []
    for statement in loop.body:
        if isinstance(statement, Assign) and reads.get(statement.variable) == writes[statement.variable] == 1:
            fold = _fold(statement.variable, statement.value)
            if fold is not None:
                found.append(fold)
    return found


def _is_spread(fold: _Fold, others: Sequence[Statement]) -> bool:
    """Whether a sum is of squares of an element's difference from a number: native code takes it as it stands."""
    match fold.operation, fold.term:
        case "+", Binary("*", Variable() as difference, right, False) if difference == right:
            values = [each.value for each in others if isinstance(each, Assign) and each.variable == difference]
            return len(others) == 1 and [type(each) for each in values] == [Binary] and _is_difference(values[0])
        case _:
            return False


def _is_difference(value: Expression) -> bool:
    match value:
        case Binary("-", Load(), Variable(), False):
            return True
        case _:
            return False


def _fold(variable: Variable, value: Expression) -> _Fold | None:
    match value:
        case Binary("+", left, term, False) if left == variable and variable.kind == "s":
            return _Fold(variable, "+", term)
        case Call("max" | "min" as operation, (left, term), False) if left == variable and variable.kind == "s":
            return _Fold(variable, operation, term)
        case _:
            return None
