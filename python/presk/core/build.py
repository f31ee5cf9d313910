"""The emitter that makes PSK-Core of what the elaborator says; one builder per function. Used by `core.bind`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from presk.check.emit import Handle, LoopSource, NeedsLeaf
from presk.core import nodes
from presk.core.attributes import in_order
from presk.core.nodes import Body, Let, Literal, Operand, Ref
from presk.core.renaming import renames
from presk.core.typing import expression_type, operand_type
from presk.primitives.all import TABLE
from presk.primitives.table import Attribute
from presk.shapes.constants import Constant
from presk.shapes.types import ModuleOf, Tensor, Type, fields_of
from presk.text.spans import Span


@dataclass
class _Open:
    """A body being built: its lets, and the number and parameters of the loop or map it belongs to."""

    lets: list[Let] = field(default_factory=list[Let])
    number: int = -1
    parameters: tuple[nodes.Parameter, ...] = ()
    in_map: bool = False


@dataclass(frozen=True, slots=True)
class _Parts:
    """A tree in the body of a map, which has no let for it: what its fields are."""

    fields: tuple[tuple[str, Handle], ...]


class Builder:
    """Numbers parameters, then lets in textual order, and collects them.

    A tuple or record has the type its items have in Core, which may have names that a stated type leaves out.
    """

    def __init__(self, parameters: Sequence[tuple[str, Type]]) -> None:
        self.parameters = tuple(nodes.Parameter(at, name, each) for at, (name, each) in enumerate(parameters))
        self.next = len(self.parameters)
        self.bodies = [_Open()]
        self.types: dict[int, Type] = dict(enumerate(each for _, each in parameters))

    def references(self) -> tuple[Ref, ...]:
        """The parameters as operands."""
        return tuple(Ref(parameter.number) for parameter in self.parameters)

    def finish(self, name: str, result: Type, value: Handle) -> nodes.Function:
        """The function, its result being `value`."""
        return nodes.Function(name, self.parameters, result, self._close(value, None))

    def apply(
        self,
        primitive: str,
        operands: Sequence[Handle],
        attributes: Sequence[tuple[str, Attribute]],
        result: Type,
        span: Span,
    ) -> Handle:
        if any(isinstance(each, _Parts) for each in operands):
            raise NeedsLeaf
        expression = nodes.Apply(primitive, tuple(_operand(each) for each in operands), tuple(attributes))
        return self._let(expression, result, span)

    def literal(self, value: Constant, kind: str) -> Handle:
        return Literal(value, kind)

    def inject(self, operand: Handle, span: Span) -> Handle:
        if isinstance(operand, Literal):
            return Literal(operand.value, "real")
        assert isinstance(operand, Ref), "only a let or a parameter is injected"
        return nodes.Injected(operand)

    def project(self, tree: Handle, field: str) -> Handle:
        if isinstance(tree, _Parts):
            return dict(tree.fields)[field]
        assert isinstance(tree, Ref), "a tree is a let or a parameter"
        return Ref(tree.number, (*tree.path, field))

    def make_tuple(self, items: Sequence[Handle], result: Type, span: Span) -> Handle:
        if self.bodies[-1].in_map:
            return _Parts(tuple((str(at), item) for at, item in enumerate(items)))
        made = nodes.MakeTuple(tuple(self._passed(item, span) for item in items))
        return self._let(made, expression_type(made, self.types, {}), span)

    def make_record(
        self, fields: Sequence[tuple[str, Handle]], module: ModuleOf | None, result: Type, span: Span
    ) -> Handle:
        if self.bodies[-1].in_map:
            return _Parts(tuple(fields))
        given = tuple((name, self._passed(each, span)) for name, each in fields)
        made = nodes.MakeRecord(given, module)
        return self._let(made, expression_type(made, self.types, {}), span)

    def set_field(self, tree: Handle, path: tuple[str, ...], value: Handle, result: Type, span: Span) -> Handle:
        if self.bodies[-1].in_map:
            return self._with(tree, path, value)
        return self._let(nodes.SetField(_operand(tree), path, self._passed(value, span)), result, span)

    def _with(self, tree: Handle, path: tuple[str, ...], value: Handle) -> Handle:
        """A tree in the body of a map with the component at `path` replaced."""
        if not path:
            return value
        parts = self._parts(tree)
        return _Parts(
            tuple((name, self._with(each, path[1:], value) if name == path[0] else each) for name, each in parts.fields)
        )

    def _parts(self, tree: Handle) -> _Parts:
        """A tree as its components."""
        if isinstance(tree, _Parts):
            return tree
        fields = fields_of(operand_type(_operand(tree), self.types)) or ()
        return _Parts(tuple((name, self.project(tree, name)) for name, _ in fields))

    def call(self, function: str, operands: Sequence[Handle], path: str, result: Type, span: Span) -> Handle:
        return self._let(nodes.Call(function, tuple(self._passed(each, span) for each in operands), path), result, span)

    def renamed(self, value: Handle, type: Type, span: Span) -> Handle:
        if isinstance(value, Literal):
            return value
        if isinstance(value, nodes.Injected):
            return self.inject(self.renamed(value.operand, type, span), span)
        if not isinstance(type, Tensor):
            if isinstance(value, Ref) and operand_type(value, self.types) == type:
                return value
            parts = self._parts(value)
            inside = dict(fields_of(type) or ())
            return _Parts(tuple((name, self.renamed(each, inside[name], span)) for name, each in parts.fields))
        assert isinstance(value, Ref), "a tensor is a let, a parameter or a constant"
        found = operand_type(value, self.types)
        assert isinstance(found, Tensor), "a tensor is renamed as one"
        for primitive, attributes in renames(found.axes, type.axes):
            row = TABLE[primitive]
            given = {keyword.name: keyword.default for keyword in row.keywords} | attributes
            made = nodes.Apply(primitive, (value,), in_order(row, given))
            value = self._let(made, expression_type(made, self.types, {}), span)
        return value

    def name(self, value: Handle, name: str) -> None:
        if not isinstance(value, Ref) or value.path:
            return
        lets = self.bodies[-1].lets
        if lets and lets[-1].number == value.number and lets[-1].name is None:
            lets[-1] = replace(lets[-1], name=name)

    def open_loop(
        self, state: Type, state_name: str | None, elements: Sequence[tuple[str | None, Type]]
    ) -> tuple[Handle, tuple[Handle, ...]]:
        opened = _Open(number=self._take())
        state_parameter = nodes.Parameter(self._take(), state_name, state)
        others = tuple(nodes.Parameter(self._take(), name, each) for name, each in elements)
        self._open(opened, (state_parameter, *others))
        return Ref(state_parameter.number), tuple(Ref(each.number) for each in others)

    def close_loop(
        self,
        kind: str,
        start: Handle,
        sources: Sequence[LoopSource],
        trips: int | None,
        along: str | None,
        body: Handle,
        result: Type,
        span: Span,
    ) -> Handle:
        assert trips is not None, "trips are known when bound"
        opened = self.bodies[-1]
        state, *elements = opened.parameters
        inside = self._close(body, span)
        loop = nodes.Loop(
            kind,
            state,
            self._passed(start, span),
            tuple(elements),
            tuple(self._source(source, span) for source in sources),
            trips,
            inside,
            along if kind == "scan" else None,
        )
        return self._keep(opened.number, loop, result, span)

    def open_map(self, parameters: Sequence[tuple[str, Type]]) -> tuple[Handle, ...]:
        opened = _Open(number=self._take(), in_map=True)
        self._open(opened, tuple(nodes.Parameter(self._take(), name, each) for name, each in parameters))
        return tuple(Ref(each.number) for each in opened.parameters)

    def close_map(
        self, operands: Sequence[Handle], body: Handle, arity: int | None, result: Type, span: Span
    ) -> Handle:
        opened = self.bodies[-1]
        if isinstance(body, _Parts):
            made = nodes.MakeTuple(tuple(self._passed(each, span) for _, each in body.fields))
            body = self._let(made, expression_type(made, self.types, {}), span)
        inside = self._close(body, span)
        given = tuple(self._passed(each, span) for each in operands)
        expression = nodes.MapTrees(opened.parameters, given, inside, arity)
        return self._keep(opened.number, expression, result, span)

    def drop_map(self) -> None:
        opened = self.bodies.pop()
        assert opened.in_map, "the body of a map is dropped"
        self.types = {number: each for number, each in self.types.items() if number < opened.number}
        self.next = opened.number

    def _open(self, opened: _Open, parameters: tuple[nodes.Parameter, ...]) -> None:
        opened.parameters = parameters
        self.types |= {each.number: each.type for each in parameters}
        self.bodies.append(opened)

    def _close(self, value: Handle, span: Span | None) -> Body:
        result = self._passed(value, span)
        return Body(tuple(self.bodies.pop().lets), result)

    def _passed(self, handle: Handle, span: Span | None) -> Operand:
        """An operand of what isn't a primitive. Only primitives read nats as reals: for all else they are made such."""
        operand = _operand(handle)
        if not isinstance(operand, nodes.Injected):
            return operand
        made = nodes.Apply("inject", (operand.operand,))
        return self._let(made, operand_type(operand, self.types), span)

    def _take(self) -> int:
        self.next += 1
        return self.next - 1

    def _source(self, source: LoopSource, span: Span) -> nodes.Source:
        kind, handle, number = source
        if kind == "count":
            assert number is not None
            return nodes.Count(number)
        return nodes.Each(self._passed(handle, span), number)

    def _let(self, expression: nodes.Expression, result: Type, span: Span | None) -> Ref:
        return self._keep(self._take(), expression, result, span)

    def _keep(self, number: int, expression: nodes.Expression, result: Type, span: Span | None) -> Ref:
        self.bodies[-1].lets.append(Let(number, None, expression, result, span))
        self.types[number] = result
        return Ref(number)


def _operand(handle: Handle) -> Operand:
    assert isinstance(handle, (Ref, Literal, nodes.Injected)), "an operand of Core"
    return handle
