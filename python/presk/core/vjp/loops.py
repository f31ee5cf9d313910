"""The adjoint of a fold or scan: a loop over the same rounds in the other direction.

Its state holds the cotangents of the primal's state, then a sum for each leaf from around the loop that the body
differentiates. It goes over what the primal keeps of each round, over those elements of the primal's that it reads, and
over the cotangents of what a scan gave; it gives the cotangents of the elements. Called by `adjoint`.
"""

from __future__ import annotations

from collections.abc import Mapping

from presk.core.nodes import Body, Count, Each, Let, Loop, MakeTuple, Operand, Parameter, Ref
from presk.core.typing import operand_type
from presk.core.vjp.activity import Leaf, Path
from presk.core.vjp.scope import KEPT, Scope
from presk.core.vjp.shaping import renamed, transposed
from presk.core.vjp.writing import Writing, checked, real_type, within
from presk.shapes.poly import number
from presk.shapes.types import Axis, Shape, Tensor, TupleOf, Type, leaves, stack
from presk.text.diagnostics import InternalError


class LoopScope(Scope):
    """The body of a loop's adjoint."""

    def __init__(self, writing: Writing, around: Scope, let: Let, loop: Loop) -> None:
        parameters = (loop.state, *loop.elements)
        own = frozenset((*(each.number for each in parameters), *(inner.number for inner in loop.body.lets)))
        super().__init__(around.primal, around.numbers, around.functions, own)
        self.writing = writing
        self.around = around
        self.loop = loop
        self.number = let.number
        writing.kept[let.number] = []

    @property
    def outer(self) -> Scope:
        """The body in which the loop stands."""
        return self.around

    def keep(self, ref: Ref, type_: Type) -> Operand:
        """A leaf of a round, kept by the primal and stacked; an axis that has the stack's name is renamed for that."""
        rows = self.writing.kept[self.number]
        leaf = real_type(type_)
        names = self.aliases(leaf.axes)
        axes = tuple(Axis(dict(names).get(each.name or "", each.name), each.size) for each in leaf.explicit)
        stacked = stack(Tensor(leaf.kind, axes, leaf.bound), number(self.loop.trips), self.loop.along)
        rows.append((ref, names))
        place = Ref(self.number, (KEPT, str(len(rows) - 1)))
        element = self.over(self.around.kept_value(place, stacked), 0)
        return renamed(self, element, leaf.axes)

    def aliases(self, axes: Shape) -> tuple[tuple[str, str], ...]:
        """Other names for axes that are named as the stack's."""
        taken = {axis.name for axis in axes if isinstance(axis, Axis)}
        along = self.loop.along
        if along is None or along not in taken:
            return ()
        other = along
        while other in taken:
            other += "_"
        return ((along, other),)

    def parameter(self, ref: Ref) -> Operand:
        """The state at a round's beginning is kept; an element is taken from its source once more."""
        if ref.number == self.loop.state.number:
            return self.keep(ref, operand_type(ref, self.primal.types))
        at = next(at for at, each in enumerate(self.loop.elements) if each.number == ref.number)
        source = self.loop.sources[at]
        if isinstance(source, Count):
            element = self.declare(self.loop.elements[at].type)
            self.elements.append((element, source))
            return Ref(element.number)
        whole = self.around.value(checked(within(source.operand, ref.path)))
        return self.over(whole, source.axis or 0)

    def over(self, whole: Operand, axis: int) -> Ref:
        """A new element, that goes over an axis of a tensor."""
        tensor = self.tensor(whole)
        element = self.declare(Tensor(tensor.kind, tensor.axes[:axis] + tensor.axes[axis + 1 :], tensor.bound))
        self.elements.append((element, Each(whole, axis)))
        return Ref(element.number)


class LoopAdjoint:
    """Writes one loop's adjoint into `scope`."""

    def __init__(self, writing: Writing, scope: Scope, let: Let, loop: Loop) -> None:
        self.writing = writing
        self.scope = scope
        self.let = let
        self.loop = loop

    def write(self, found: Mapping[Path, Operand]) -> None:
        """The loop, and what it gives. `found` are the cotangents of the loop's result."""
        scanned = self.loop.kind == "scan"
        last = {path[1:]: value for path, value in found.items() if path[0] == "0"} if scanned else dict(found)
        given = {path: value for path, value in found.items() if scanned and path[0] == "1"}
        states = list(last)
        marks = [(each, each.mark()) for each in self.scope.chain()]
        kept = {at: list(rows) for at, rows in self.writing.kept.items()}
        while True:
            inner, state = self.round(states, given)
            more = [path for place, path in inner.cotangents if place == self.loop.state.number and path not in states]
            if not more:
                break
            states += more
            for each, mark in marks:
                each.reset(mark)
            self.writing.kept = {at: list(rows) for at, rows in kept.items()}
        self.close(inner, state, states, last)

    def round(self, states: list[Path], given: Mapping[Path, Operand]) -> tuple[LoopScope, Parameter]:
        """One round's adjoint, the state's leaves `states` having cotangents."""
        inner = LoopScope(self.writing, self.scope, self.let, self.loop)
        types = dict(leaves(self.loop.state.type))
        state = inner.declare(TupleOf(tuple(types[path] for path in states)))
        prefix = ("0",) if self.loop.kind == "scan" else ()
        seeds: dict[Path, Operand] = {(*prefix, *path): Ref(state.number, (str(at),)) for at, path in enumerate(states)}
        seeds |= {path: inner.over(value, 0) for path, value in given.items()}
        self.writing.body(inner, self.loop.body, seeds)
        return inner, state

    def close(self, inner: LoopScope, state: Parameter, states: list[Path], last: Mapping[Path, Operand]) -> None:
        """Ends the round and writes the loop."""
        types = dict(leaves(self.loop.state.type))
        following = [inner.cotangents.pop((self.loop.state.number, path), None) for path in states]
        items = [
            inner.zeros(types[path]) if value is None else value for path, value in zip(states, following, strict=True)
        ]
        elements = {each.number for each in self.loop.elements}
        outputs = [(leaf, value) for leaf, value in inner.cotangents.items() if leaf[0] in elements]
        sums = [(leaf, value) for leaf, value in inner.cotangents.items() if leaf[0] not in elements]
        kinds = [real_type(operand_type(Ref(*leaf), inner.primal.types)) for leaf, _ in sums]
        whole = TupleOf((*(types[path] for path in states), *kinds))
        state = Parameter(state.number, None, whole)
        inner.numbers.types[state.number] = whole
        for at, (_, value) in enumerate(sums):
            items.append(inner.apply("add", Ref(state.number, (str(len(states) + at),)), value))
        start = [last.get(path) or self.scope.zeros(types[path]) for path in states]
        start += [self.scope.zeros(kind) for kind in kinds]
        made = self.loop_let(inner, state, start, items, [value for _, value in outputs])
        prefix = ("0",) if outputs else ()
        for at, path in enumerate(states):
            self.writing.give(self.scope, within(self.loop.start, path), Ref(made.number, (*prefix, str(at))))
        for at, (leaf, _) in enumerate(sums):
            self.writing.give(self.scope, Ref(*leaf), Ref(made.number, (*prefix, str(len(states) + at))))
        for at, (leaf, _) in enumerate(outputs):
            self.give_element(leaf, Ref(made.number, ("1", str(at))))

    def loop_let(
        self, inner: LoopScope, state: Parameter, start: list[Operand], items: list[Operand], outputs: list[Operand]
    ) -> Ref:
        """The loop itself."""
        first = self.scope.let(MakeTuple(tuple(start)))
        result = inner.let(MakeTuple(tuple(items)))
        if outputs:
            result = inner.let(MakeTuple((result, inner.let(MakeTuple(tuple(outputs))))))
        if not inner.elements:
            counter = inner.declare(Tensor("nat", (), number(self.loop.trips)))
            inner.elements.append((counter, Count(0)))
        loop = Loop(
            "scan" if outputs else "fold",
            state,
            first,
            tuple(element for element, _ in inner.elements),
            tuple(source for _, source in inner.elements),
            self.loop.trips,
            Body(tuple(inner.lets), result),
            None,
            not self.loop.reversed,
        )
        return self.scope.let(loop)

    def give_element(self, leaf: Leaf, stacked: Ref) -> None:
        """The cotangent of a source's leaf from those of its elements, which are stacked along the first axis."""
        at = next(at for at, each in enumerate(self.loop.elements) if each.number == leaf[0])
        source = self.loop.sources[at]
        if not isinstance(source, Each):
            raise InternalError("a counter has no cotangent")
        axis = source.axis or 0
        rank = len(self.scope.tensor(stacked).axes)
        order = (*range(1, axis + 1), 0, *range(axis + 1, rank))
        self.writing.give(self.scope, within(source.operand, leaf[1]), transposed(self.scope, stacked, order))
