"""Functions over runs: innermost loops that call elementary functions, cut so that a routine computes a run at once.

A kernel-to-kernel pass that changes no bit. Of a loop's rounds a run of about a kilobyte is taken at a time: a loop
computes the arguments of a function into scratch, `apply` replaces them by its values, and a last loop does the rest of
each round in order, reading those values where the calls stood. So what is summed is summed as before, and what isn't
can run in lanes. A function of a function has its run after the inner one's.

Calls that are given the same number are one, as are those of the absolute values of a number and of its negation.

A call moves where what it is given depends on its own round alone: on loads of buffers the loop doesn't store to (an
input whose place an output takes is loaded before that element is stored) or of the one element that the round stores
later, on counters, and on variables that the round assigns once, before any reading. Called by `lower`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

from presk.kernel.elaborate import ELEMENTARY
from presk.kernel.limits import BUFFERS
from presk.kernel.lower.index import in_blocks
from presk.kernel.lower.numbers import Numbers
from presk.kernel.lower.values import (
    counters,
    mapped,
    mapped_access,
    nested,
    operands,
    statements,
    values_of,
    variables,
    visited,
)
from presk.kernel.lower.work import work_of
from presk.kernel.lowered import Launch, Lowered
from presk.kernel.nodes import (
    Access,
    Apply,
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
    Integer,
    Kernel,
    Load,
    Statement,
    Store,
    Variable,
)
from presk.text.diagnostics import InternalError

RUN_BYTES = 1024
"""Bytes of a run: its scratch and what the loops around it touch stay in the first cache."""

WHOLE_BYTES = 2 * RUN_BYTES
"""A loop of no more bytes is one run, where all runs beside each other take no more than ALL_BYTES; so is one of
ALL_BYTES that needs no scratch."""

ALL_BYTES = 8 * RUN_BYTES
"""A quarter of a usual first cache."""

LEAST = 4
"""Rounds of a loop worth a routine's call."""

LEAST_OF = {"erf": 13, "erfc": 13}
"""The same where a routine first tells elements by their ranges."""

STEP = 8
"""A run is a multiple of the lanes, so that its loops run in vectors."""


def laid_in_runs(lowered: Lowered) -> Lowered:
    """A lowered group with the functions of all its kernels over runs."""
    launches = tuple(map(launch_in_runs, lowered.launches))
    ways = tuple(replace(way, launches=tuple(map(launch_in_runs, way.launches))) for way in lowered.in_place)
    return replace(lowered, launches=launches, in_place=ways)


def has_runs(kernel: Kernel) -> bool:
    """Whether a kernel has a statement over runs."""
    return any(isinstance(each, Apply) for each in statements(kernel.body))


def launch_in_runs(launch: Launch) -> Launch:
    """The launch of a kernel with its functions over runs."""
    kernel = in_runs(launch.kernel)
    return launch if kernel == launch.kernel else replace(launch, kernel=kernel, work=work_of(kernel))


def in_runs(kernel: Kernel) -> Kernel:
    """The kernel with its functions over runs, where there are any that can be."""
    return _Rewriter(kernel).kernel()


@dataclass(frozen=True, slots=True)
class _Moved:
    """A call that moves.

    `slot` is the first of its arguments' scratch buffers, where its values come to lie; `level` how many functions
    stand one in the other, it included.
    """

    call: Call
    slot: int
    level: int


class _Rewriter:
    """The rewrite of one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.before = kernel
        self.size = 4 if kernel.arithmetic == "f32" else 8
        self.scratch = list(kernel.scratch)
        self.next_counter = 1 + max(counters(kernel.body), default=-1)

    def kernel(self) -> Kernel:
        body = self.block(self.before.body, is_alone=True)
        return self.before if body == self.before.body else replace(self.before, scratch=tuple(self.scratch), body=body)

    def block(self, body: Sequence[Statement], *, is_alone: bool) -> tuple[Statement, ...]:
        """`is_alone`: the loops around are a perfect nest, so that a launch may divide any of them."""
        is_alone = is_alone and nested(body) is not None
        return tuple(each for statement in body for each in self.statement(statement, is_alone))

    def statement(self, statement: Statement, is_alone: bool) -> tuple[Statement, ...]:
        match statement:
            case For(body=body) if _is_straight(body):
                return self.loop(statement, is_alone)
            case For(counter, extent, body):
                return (For(counter, extent, self.block(body, is_alone=is_alone)),)
            case If(condition, body):
                return (If(condition, self.block(body, is_alone=False)),)
            case _:
                return (statement,)

    def loop(self, loop: For, is_alone: bool) -> tuple[Statement, ...]:
        """The loop cut into runs, or as it is where nothing in it moves, or more than a kernel has scratch for.

        What the runs leave of a loop that a launch may divide is their loop's last round: it stays one loop.
        """
        plan = _Plan(self.before, loop)
        if not plan.calls or loop.extent < max(LEAST_OF.get(each.function, LEAST) for each in plan.calls):
            return (loop,)
        if len(self.scratch) + plan.buffers > BUFFERS:
            return (loop,)
        run = _run_of(loop.extent, self.size, plan.buffers)
        axes = (Axis(None, run),)
        first = len(self.scratch)
        self.scratch += [BufferType(Element(self.before.arithmetic), axes)] * plan.buffers
        if run == loop.extent:
            return plan.statements(first, run, Integer(0))
        outer = self.next_counter
        self.next_counter += 1
        begin = Binary("*", Variable("i", outer), Integer(run))
        whole, rest = divmod(loop.extent, run)
        if rest and is_alone:
            return (in_blocks(outer, whole, plan.statements(first, run, begin), plan.statements(first, rest, begin)),)
        cut: list[Statement] = [For(outer, whole, plan.statements(first, run, begin))]
        if rest:
            cut += plan.statements(first, rest, Integer(whole * run))
        return tuple(cut)


def _run_of(extent: int, size: int, buffers: int) -> int:
    """The length of a run: all of a short loop, else the greatest part that leaves no rest, if one is long enough.

    Else the least that makes no more runs than the greatest does, so that the rest is long too.
    """
    if extent * size <= (WHOLE_BYTES if buffers else ALL_BYTES) and extent * size * buffers <= ALL_BYTES:
        return extent
    most = RUN_BYTES // size
    parts = (part for part in range(most, most // 4 - 1, -STEP) if extent % part == 0)
    even = -(-extent // -(-extent // most))
    return next(parts, min(most, -(-even // STEP) * STEP))


def _is_straight(body: Sequence[Statement]) -> bool:
    """Whether a body is made of scalar assignments and stores alone."""
    for statement in body:
        match statement:
            case Assign(variable, _) if variable.kind not in "vm":
                continue
            case Store(_, _, False):
                continue
            case _:
                return False
    return True


class _Plan:
    """What moves out of one loop, and the statements that are left of it."""

    def __init__(self, kernel: Kernel, loop: For) -> None:
        self.kernel = kernel
        self.loop = loop
        self.counter = Variable("i", loop.counter)
        self.assigned = {each.variable for each in loop.body if isinstance(each, Assign)}
        self.stored = self._stored()
        self.definitions = self._definitions()
        self.varying = self._varying()
        self.calls: dict[Call, _Moved] = {}
        self.same: dict[int, _Moved] = {}
        self.levels: dict[Variable, int] = {}
        for statement in loop.body:
            for value in values_of(statement):
                self._find(value)
        self.is_whole = self._is_whole()
        self.direct = None if self.is_whole else self._direct()

    @cached_property
    def numbers(self) -> Numbers:
        """Which values of a round are one, for loops that have calls to move."""
        return Numbers(self.definitions)

    @property
    def buffers(self) -> int:
        """Scratch buffers that runs need."""
        if self.is_whole or self.direct is not None:
            return 0
        return sum(len(each.call.arguments) for each in self.same.values())

    def _stored(self) -> set[Buffer]:
        """The buffers a round stores to, but for one whose element at hand it loads, then stores, and no other."""
        stores: dict[Buffer, Access] = {}
        loads: dict[Buffer, set[Access]] = {}
        spoiled: set[Buffer] = set()  # loaded after it was stored to, or stored to twice
        for statement in self.loop.body:
            for value in values_of(statement):
                for each in visited(value):
                    if isinstance(each, Load):
                        loads.setdefault(each.access.buffer, set()).add(each.access)
                        if each.access.buffer in stores:
                            spoiled.add(each.access.buffer)
            if isinstance(statement, Store):
                if statement.access.buffer in stores:
                    spoiled.add(statement.access.buffer)
                stores[statement.access.buffer] = statement.access
        moving = {self.counter, *self.assigned}

        def is_in_place(buffer: Buffer, store: Access) -> bool:
            return self._is_along(store, moving) and loads.get(buffer, {store}) == {store}

        return {buffer for buffer, store in stores.items() if buffer in spoiled or not is_in_place(buffer, store)}

    def _definitions(self) -> Mapping[Variable, Expression]:
        """The variables each round assigns once, before any reading, from what its own round alone decides."""
        read: set[Variable] = set()
        spoiled: set[Variable] = set()
        found: dict[Variable, Expression] = {}
        for statement in self.loop.body:
            read |= {each for value in values_of(statement) for each in variables(value)}
            if isinstance(statement, Assign):
                if statement.variable in read or statement.variable in found:
                    spoiled.add(statement.variable)
                found[statement.variable] = statement.value
        own: dict[Variable, Expression] = {}
        for variable, value in found.items():
            if variable not in spoiled and self._is_own(value, own):
                own[variable] = value
        return own

    def _is_own(self, value: Expression, own: Mapping[Variable, Expression]) -> bool:
        """Whether a value is the same whenever it is computed, before the loop's stores or after."""
        return all(each in own or each not in self.assigned for each in variables(value)) and not any(
            isinstance(each, Load) and each.access.buffer in self.stored for each in visited(value)
        )

    def _varying(self) -> set[Variable]:
        varying = {self.counter}
        for variable, value in self.definitions.items():
            if not varying.isdisjoint(variables(value)):
                varying.add(variable)
        return varying

    def _find(self, value: Expression) -> int:
        """Moves the calls within a value; how many of them stand one in the other."""
        if isinstance(value, Variable):
            if value in self.definitions and value not in self.levels:
                self.levels[value] = self._find(self.definitions[value])
            return self.levels.get(value, 0)
        level = max((self._find(each) for each in operands(value)), default=0)
        if not isinstance(value, Call) or not self._moves(value):
            return level
        if value not in self.calls:
            slot = sum(len(each.call.arguments) for each in self.same.values())
            self.calls[value] = self.same.setdefault(self.numbers.of(value), _Moved(value, slot, level + 1))
        return self.calls[value].level

    def _moves(self, call: Call) -> bool:
        if call.function not in ELEMENTARY or not self._is_own(call, self.definitions):
            return False
        return not self.varying.isdisjoint(variables(call))

    def _is_whole(self) -> bool:
        """Whether the loop is one function from one run of a buffer to another."""
        match self.loop.body:
            case (Store(access, Call() as call),) if call in self.calls:
                accesses = [each.access for each in call.arguments if isinstance(each, Load)]
                taken = [each for each in accesses if self._is_run(each)]
                in_place = [each for each in taken if self.memory(each.buffer) == self.memory(access.buffer)]
                return (
                    len(taken) == len(call.arguments)
                    and self._is_run(access)
                    and all(each.index == access.index for each in in_place)
                )
            case _:
                return False

    def _direct(self) -> Access | None:
        """The run that a function's argument can be computed into and the function applied in: all that is stored."""
        *others, last = self.loop.body
        if len(self.calls) != 1 or not isinstance(last, Store) or not self._is_run(last.access):
            return None
        if any(self.memory(Buffer("%", number)) == last.access.buffer for number in range(len(self.kernel.inputs))):
            # No element is stored twice where an output takes an input's place.
            return None
        (call,) = self.calls
        if self._defined(last.value) != call or len(call.arguments) != 1:
            return None
        if not all(isinstance(each, Assign) and each.variable in self.definitions for each in others):
            return None
        return None if self._is_read_elsewhere() else last.access

    def _defined(self, value: Expression) -> Expression:
        """What a value is defined as."""
        while isinstance(value, Variable) and value in self.definitions:
            value = self.definitions[value]
        return value

    def _is_read_elsewhere(self) -> bool:
        """Whether anything outside of the loop reads a variable that it assigns."""

        def reads(body: Sequence[Statement]) -> int:
            values = (value for each in statements(body) for value in values_of(each))
            return sum(each in self.assigned for value in values for each in visited(value))

        return reads(self.kernel.body) != reads(self.loop.body)

    def _is_run(self, access: Access) -> bool:
        """Whether the loop goes along the last axis of a buffer of the arithmetic type, element by element."""
        return self._type(access.buffer).element == Element(self.kernel.arithmetic) and self._is_along(
            access, self.varying
        )

    def _is_along(self, access: Access, varying: Set[Variable]) -> bool:
        """Whether each round has the next element along the last axis."""
        if not access.index:
            return False
        *others, last = access.index
        match last:
            case Binary("+", other, last) if last == self.counter:
                others.append(other)
            case _ if last != self.counter:
                return False
            case _:
                pass
        return varying.isdisjoint(each for other in others for each in variables(other))

    def _type(self, buffer: Buffer) -> BufferType:
        if buffer.space == "t":
            return self.kernel.scratch[buffer.number]
        outputs = tuple(output.type for output in self.kernel.outputs)
        return (*self.kernel.inputs, *outputs)[buffer.number]

    def memory(self, buffer: Buffer) -> Buffer:
        """The buffer whose memory this is."""
        shared = {each.shares: number for number, each in enumerate(self.kernel.outputs, len(self.kernel.inputs))}
        taken = shared.get(buffer.number) if buffer.space == "%" else None
        return buffer if taken is None else Buffer("%", taken)

    # One run

    def statements(self, first: int, run: int, begin: Expression) -> tuple[Statement, ...]:
        """The statements of the rounds from `begin` on, `run` of them; the scratch is that from `first` on."""
        placing = _Placing(self, first, run, begin)
        if self.is_whole:
            return (placing.whole(),)
        if self.direct is not None:
            return tuple(placing.direct(self.direct))
        levels = sorted({each.level for each in self.same.values()})
        made = [each for level in levels for each in placing.level(level)]
        return (*made, For(self.loop.counter, run, placing.body(self.loop.body)))

    def needed(self, values: Sequence[Expression]) -> list[Statement]:
        """The assignments that values need, in the order of the loop. What a call that has moved needs, they don't."""
        needed: set[Variable] = set()
        waiting = list(values)
        while waiting:
            value = waiting.pop()
            if isinstance(value, Call) and value in self.calls:
                continue
            if isinstance(value, Variable) and value in self.definitions and value not in needed:
                needed.add(value)
                waiting.append(self.definitions[value])
            waiting += operands(value)
        return [each for each in self.loop.body if isinstance(each, Assign) and each.variable in needed]

    def source(self, argument: Expression) -> Access | Call | None:
        """Where the values of an argument lie in a run already: in a buffer nobody writes, or as another call's."""
        argument = self._defined(argument)
        match argument:
            case Call() if argument in self.calls:
                return argument
            case Load(access) if self._is_run(access) and self.memory(access.buffer) == access.buffer:
                return access
            case _:
                return None


class _Placing:
    """The statements of one run of a plan."""

    def __init__(self, plan: _Plan, first: int, run: int, begin: Expression) -> None:
        self.plan = plan
        self.first = first
        self.run = run
        self.begin = begin
        is_first = begin == Integer(0)
        self.here = plan.counter if is_first else Binary("+", begin, plan.counter)

    def level(self, level: int) -> Iterator[Statement]:
        """The functions that have as many within them: what they are given that lies nowhere yet, then they."""
        calls = [each for each in self.plan.same.values() if each.level == level]
        given = [
            (number, argument)
            for each in calls
            for number, argument in enumerate(each.call.arguments, each.slot)
            if self.plan.source(argument) is None
        ]
        stores = [Store(self.slot(number, self.plan.counter), self.value(argument)) for number, argument in given]
        if stores:
            before = self.body(self.plan.needed([argument for _, argument in given]))
            yield For(self.plan.loop.counter, self.run, (*before, *stores))
        for each in calls:
            sources = tuple(map(self.source, each.call.arguments, range(each.slot, each.slot + 2)))
            yield Apply(each.call.function, sources, self.slot(each.slot, Integer(0)), self.run)

    def source(self, argument: Expression, slot: int) -> Access:
        """The first element of an argument's run."""
        found = self.plan.source(argument)
        if isinstance(found, Call):
            return self.slot(self.plan.calls[found].slot, Integer(0))
        return self.slot(slot, Integer(0)) if found is None else self.begun(found)

    def slot(self, number: int, index: Expression) -> Access:
        """An element of a run's own scratch."""
        return Access(Buffer("t", self.first + number), (index,))

    def whole(self) -> Apply:
        """The loop that is one function of runs."""
        store = cast(Store, self.plan.loop.body[0])
        call = cast(Call, store.value)
        sources = tuple(self.begun(cast(Load, each).access) for each in call.arguments)
        return Apply(call.function, sources, self.begun(store.access), self.run)

    def direct(self, target: Access) -> Iterator[Statement]:
        """The argument computed where the function's values go, unless it lies in a run, and the function of it."""
        ((call, _),) = self.plan.calls.items()
        (argument,) = call.arguments
        source = self.plan.source(argument)
        if not isinstance(source, Access) or self.plan.memory(source.buffer) == self.plan.memory(target.buffer):
            before = self.body(self.plan.needed([argument]))
            store = Store(mapped_access(target, self.value), self.value(argument))
            yield For(self.plan.loop.counter, self.run, (*before, store))
            source = target
        yield Apply(call.function, (self.begun(source),), self.begun(target), self.run)

    def begun(self, access: Access) -> Access:
        """The element of the run's first round."""

        def index(value: Expression) -> Expression:
            match value:
                case Binary("+", other, counter) if counter == self.plan.counter and self.begin == Integer(0):
                    return other
                case _ if value == self.plan.counter:
                    return self.begin
                case _:
                    return mapped(value, index)

        return mapped_access(access, index)

    def body(self, statements: Sequence[Statement]) -> tuple[Statement, ...]:
        """Statements of the loop in this run, with the values of calls that have moved read where they are."""
        made: list[Statement] = []
        for statement in statements:
            match statement:
                case Assign(variable, value):
                    made.append(Assign(variable, self.value(value)))
                case Store(access, value):
                    made.append(Store(mapped_access(access, self.value), self.value(value)))
                case _:
                    raise InternalError("a loop that is cut into runs is straight")
        return tuple(made)

    def value(self, value: Expression) -> Expression:
        """A value of the loop in this run."""
        if value == self.plan.counter:
            return self.here
        if isinstance(value, Call) and value in self.plan.calls:
            return Load(self.slot(self.plan.calls[value].slot, self.plan.counter))
        return mapped(value, self.value)
