"""Where the elaborator stands: one function's body, what its names mean, and the emitter it speaks to.

The rules for each kind of expression register themselves in `RULES`; `Context.evaluate` finds them. A context is
copied for every inner block, so that a local name ends with its block.
"""

from __future__ import annotations

from collections.abc import Callable as Function
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from presk.check import static
from presk.check.draws import number_draws
from presk.check.emit import Emitter, Handle
from presk.check.nesting import NESTING_LIMIT
from presk.check.scope import File
from presk.check.session import Session
from presk.check.solver import meet
from presk.check.typing import TypeScope
from presk.check.values import Data, Fields, Items, Number, Truth, Value, describe
from presk.primitives.table import Misfit
from presk.shapes import constants, types
from presk.shapes.align import Misaligned
from presk.shapes.types import BOOL, REAL, ModuleOf, RecordOf, Shape, Tensor, TupleOf, Type
from presk.syntax import tree
from presk.text.diagnostics import Diagnostic, PreskError, fail, placed
from presk.text.spans import Span

RULES: dict[type, Function[..., Value]] = {}
"""What to do with each kind of expression."""

Node = TypeVar("Node", bound=tree.Node)


def rule(kind: type[Node]) -> Function[[Function[[Context, Node], Value]], Function[[Context, Node], Value]]:
    """Registers the rule of one kind of expression."""

    def register(function: Function[[Context, Node], Value]) -> Function[[Context, Node], Value]:
        RULES[kind] = function
        return function

    return register


@dataclass
class Counters:
    """What is kept through a whole function: the paths of calls, draws, and what doesn't check."""

    function: tree.Function
    paths: set[str] = field(default_factory=set[str])
    faults: list[Diagnostic] = field(default_factory=list[Diagnostic])

    @cached_property
    def draws(self) -> dict[int, int]:
        """The numbers of the function's draws, by where they start."""
        return number_draws(self.function)


@dataclass
class LeafBody:
    """The body of a map as Core holds it: over `..`, of primitives alone, what it calls written out: `calls` so far."""

    calls: int = 0


@dataclass
class Context:
    """One place in a function's body. `numbers` are module parameters and static nats, `dims` dimension variables.

    `naming` are the dims that name the axis they stand alone for. `in_map`: inside of the body of a leafwise map, where
    nothing is drawn; `leaf_body`: of one that Core is to hold, while binding.
    """

    session: Session
    file: File
    emitter: Emitter
    module: ModuleOf | None
    numbers: dict[str, Number]
    dims: dict[str, Number]
    naming: frozenset[str]
    run: Shape | None
    trees: dict[str, Type]
    counters: Counters
    values: dict[str, Value] = field(default_factory=dict[str, Value])
    in_map: bool = False
    leaf_body: LeafBody | None = None

    def inner(self) -> Context:
        """A copy whose local names end with it."""
        return replace(self, values=dict(self.values))

    def evaluate(self, expression: tree.Expr) -> Value:
        """What an expression is. Raises PreskError."""
        nesting = self.session.nesting
        if nesting.level >= NESTING_LIMIT:
            raise nesting.too_deep(expression.span)
        nesting.level += 1
        try:
            return RULES[type(expression)](self, expression)
        except PreskError as error:
            raise placed(error, expression.span) from None
        finally:
            nesting.level -= 1

    def postpone(self, error: PreskError) -> None:
        """Keeps what is wrong for the function's end, so that the rest is checked too; raises it while binding."""
        if not self.session.symbolic:
            raise error
        self.counters.faults.extend(error.diagnostics)

    def type_scope(self) -> TypeScope:
        """What names mean in the sizes of new axes here: dims, static nats, module parameters, then local numbers."""
        local = {name: value for name, value in self.values.items() if isinstance(value, Number)}
        others = {name: value for name, value in self.values.items() if name not in local}
        dims = {name: number for name, number in self.dims.items() if name not in self.values}
        numbers = {name: number for name, number in self.numbers.items() if name not in self.values}
        unnamed = frozenset(dims) - self.naming
        return TypeScope(
            self.session, self.file, numbers | local, self.trees, dims, unnamed=unnamed, run=self.run, others=others
        )

    def note_reals(self, span: Span, has: Type) -> None:
        """What stands at this place has reals where this type has them, whichever way it comes about."""
        self.session.reals[self.counters.function, span.start, span.end] = has

    def noted(self, span: Span, value: Value) -> Value:
        """The value with reals where checking found them."""
        has = self.session.reals.get((self.counters.function, span.start, span.end))
        return value if has is None else with_reals(self, value, has, span)

    def size_name(self, name: str) -> Number | None:
        """The number a name is as a size here, or None."""
        return self.numbers.get(name) or self.dims.get(name)


@contextmanager
def located(span: Span) -> Generator[None]:
    """Turns what a shape rule refuses into a diagnostic at `span`."""
    try:
        yield
    except Misfit as error:
        raise fail(error.code, error.message, span, error.hint) from None
    except Misaligned as error:
        raise fail("E3003", error.message, span, error.hint) from None


def handle_of(context: Context, value: Value, span: Span) -> Handle:
    """The handle of a value as data: numbers become literals, tuples and records are made."""
    return as_data(context, value, span).handle


def as_data(context: Context, value: Value, span: Span) -> Data:
    """The value as data of the run. A number is a real scalar."""
    match value:
        case Data():
            return value
        case Number(constant):
            return Data(REAL, context.emitter.literal(constant, "real"))
        case Truth(truth):
            return Data(BOOL, context.emitter.literal(constants.rational(bool(truth)), "bool"))
        case Items(items):
            parts = [as_data(context, item, span) for item in items]
            result = TupleOf(tuple(part.type for part in parts))
            return Data(result, context.emitter.make_tuple([part.handle for part in parts], result, span))
        case Fields(fields):
            named = [(name, as_data(context, each, span)) for name, each in fields]
            record = RecordOf(tuple((name, part.type) for name, part in named))
            return Data(record, context.emitter.make_record([(n, p.handle) for n, p in named], None, record, span))
        case _:
            raise fail("E3001", f"a value of the run is needed here, not {describe(value)}", span)


def as_real(context: Context, value: Value, span: Span) -> Data:
    """The value as a real tensor: a nat is injected exactly, a bool is refused."""
    data = as_data(context, value, span)
    if not isinstance(data.type, Tensor):
        raise fail("E3001", f"a real is needed here, not {types.show(data.type)}", span)
    if data.type.kind == "bool":
        raise fail(
            "E3001", f"a real is needed here, not {types.show(data.type)}", span, "`where(m, 1, 0)` makes numbers of it"
        )
    if data.type.kind == "real":
        return data
    return Data(Tensor("real", data.type.axes), context.emitter.inject(data.handle, span))


def with_reals(context: Context, value: Value, wanted: Type, span: Span) -> Value:
    """The value with reals for its nats wherever `wanted` has reals; nothing else of it changes."""
    match value, wanted:
        case Data(type=Tensor(kind="nat")), Tensor(kind="real"):
            return as_real(context, value, span)
        case Data(type=each), _ if not isinstance(each, Tensor) and _takes_nats(wanted, each):
            return with_reals(context, _taken_apart(context, value), wanted, span)
        case Items(items), TupleOf(kinds) if len(items) == len(kinds):
            pairs = zip(items, kinds, strict=True)
            return Items(tuple([with_reals(context, item, kind, span) for item, kind in pairs]))
        case Fields(fields), RecordOf(kinds):
            known = dict(kinds)
            return Fields(tuple([(n, with_reals(context, v, known[n], span) if n in known else v) for n, v in fields]))
        case _:
            return value


def _takes_nats(wanted: Type, given: Type) -> bool:
    """Whether a tree has nats where the one wanted has reals."""
    if isinstance(wanted, Tensor) or isinstance(given, Tensor):
        return isinstance(wanted, Tensor) and isinstance(given, Tensor) and (wanted.kind, given.kind) == ("real", "nat")
    inside = dict(types.fields_of(wanted) or ())
    return any(name in inside and _takes_nats(inside[name], each) for name, each in types.fields_of(given) or ())


def _taken_apart(context: Context, value: Data) -> Value:
    """A tuple or record of the run by its components."""
    names = [name for name, _ in types.fields_of(value.type) or ()]
    parts = [(name, part) for name in names if (part := field_of(context, value, name)) is not None]
    if isinstance(value.type, TupleOf):
        return Items(tuple(part for _, part in parts))
    return Fields(tuple(parts)) if isinstance(value.type, RecordOf) else value


def coerce(context: Context, value: Value, wanted: Type, what: str, span: Span, stated: Span | None = None) -> Data:
    """The value as data of a type stated at `stated`; the caller sees the stated type. Raises PreskError."""
    value = with_reals(context, value, wanted, span)
    if isinstance(value, Number) and isinstance(wanted, Tensor) and wanted.kind == "nat" and not wanted.axes:
        return nat_literal(context, value, wanted, what, span)
    if isinstance(value, Items) and isinstance(wanted, TupleOf) and len(value.items) == len(wanted.items):
        parts = [
            coerce(context, v, w, f"item {at} of {what}", span, stated)
            for at, (v, w) in enumerate(zip(value.items, wanted.items, strict=True))
        ]
        return as_data(context, Items(tuple(parts)), span)
    if isinstance(value, Fields) and isinstance(wanted, RecordOf):
        named = dict(value.fields)
        if named.keys() == {name for name, _ in wanted.fields}:
            fields = tuple(
                (n, coerce(context, named[n], w, f"`{n}` of {what}", span, stated)) for n, w in wanted.fields
            )
            return as_data(context, Fields(fields), span)
    data = as_data(context, value, span)
    meet(wanted, data.type, what, span, stated)
    return Data(wanted, data.handle, data.origin)


def nat_literal(context: Context, value: Number, wanted: Tensor, what: str, span: Span) -> Data:
    """A number where a `nat < N` of the run is asked: its bound is checked."""
    size = static.as_size(value, span)
    bound = wanted.bound
    assert bound is not None
    least = size + static.as_size(Number(constants.rational(1), True), span)
    if not static.at_most(least, bound) and (context.session.symbolic is False or (least - bound).constant is not None):
        raise fail("E3007", f"{what} is {size}, which is not < {bound}", span)
    return Data(wanted, context.emitter.literal(value.value, "nat"))


def field_of(context: Context, value: Value, name: str) -> Value | None:
    """A component of a tree by its field's name (a tuple's are `0`, `1` …), or None where there is none."""
    match value:
        case Items(items):
            return items[int(name)] if name.isdigit() and int(name) < len(items) else None
        case Fields(fields):
            return dict(fields).get(name)
        case Data(type=each, handle=handle, origin=origin):
            found = dict(types.fields_of(each) or ()).get(name)
            if found is None:
                return None
            path = None
            if isinstance(each, (ModuleOf, types.Stacked)) and origin is not None:
                path = f"{origin}.{name}" if origin else name
            elif _has_module(found):
                path = origin or ""
            return Data(found, context.emitter.project(handle, name), path)
        case _:
            return None


def _has_module(each: Type) -> bool:
    match each:
        case ModuleOf():
            return True
        case types.Stacked(element):
            return _has_module(element)
        case TupleOf(items):
            return any(_has_module(item) for item in items)
        case RecordOf(fields):
            return any(_has_module(item) for _, item in fields)
        case _:
            return False


def origin_of(each: Type) -> str | None:
    """The origin of a parameter of this type: the empty path where it holds a module's tree."""
    return "" if _has_module(each) else None
