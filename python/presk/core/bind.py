"""Binding an entry: a checked program, an entry's name and sizes to PSK-Core.

The elaborator runs again, at numbers: every function an entry calls becomes one Core function per instance, callees
before callers. The first instance of a function has its bare name, a further one `@` and what differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from presk.check.bound import BoundConstants
from presk.check.calls import default_of, elaborate, hide_names, session_signature
from presk.check.entries import find_entry
from presk.check.operators import NESTED_LIMIT, Operator, check_operator, split_operators
from presk.check.program import Checked
from presk.check.session import Instance
from presk.check.signature import RUN, Signature
from presk.check.solver import Mismatch, Solver
from presk.check.static import as_size, too_large
from presk.check.typing import DIMENSION
from presk.check.values import FunctionType, FunctionValue, Number
from presk.core.build import Builder
from presk.core.hash import core_hash
from presk.core.marks import without_idle_marks
from presk.core.nodes import Call, Function, Parameter, Program
from presk.core.printer import bodies
from presk.core.simplify import simplify
from presk.core.vjp.transform import Deriver
from presk.shapes import types
from presk.shapes.poly import number
from presk.shapes.types import Axis, ModuleOf, Shape, Type
from presk.text.diagnostics import PreskError, did_you_mean, fail, placed
from presk.text.spans import Span

ENTRY_RUN = "batch"
"""The axis that `..` of an entry's signature is, where no data says otherwise."""


def bind(
    checked: Checked,
    entry: str,
    *,
    dims: Mapping[str, int] | None = None,
    arguments: Sequence[Type | None] | None = None,
    training: bool = False,
    simplified: bool = True,
) -> Program:
    """The Core of an entry at its sizes.

    Sizes come from `arguments`, the types of the arguments given (None where one says nothing), and from `dims` by
    name. The entry may be a derivative, `grad(mse)` (`check.operators`). `training` makes dropout draw.
    `simplified=False` keeps Core as it was made. Raises PreskError: E4001 lists the dimensions that are still free.
    """
    session = BindSession(checked, training)
    operators, within = split_operators(entry)
    function = find_entry(session, checked, within)
    return bind_function(session, function, within, operators, dims=dims, arguments=arguments, simplified=simplified)


def bind_function(
    session: BindSession,
    function: FunctionValue,
    entry: str,
    operators: Sequence[Operator] = (),
    *,
    dims: Mapping[str, int] | None = None,
    arguments: Sequence[Type | None] | None = None,
    simplified: bool = True,
) -> Program:
    """`bind` for a function that a session knows, which messages call `entry`, under operators, innermost first."""
    cotangents = sum(operator.kind == "vjp" for operator in operators)
    given = None if arguments is None else arguments[: len(arguments) - cotangents]
    instance = _entry_instance(session, function, entry, dims or {}, given)
    name, result = session.instantiate(instance, instance.signature.declaration.node.span)
    data = [parameter.kind == "data" for parameter in instance.signature.parameters]
    for operator in operators:
        kinds = iter([each.type for each in session.parameters(name)])
        taken = [next(kinds) if each else None for each in data]
        check_operator(operator, taken, result, instance.signature.declaration.node.name_span)
        wrt = tuple(sum(data[:number]) for number in operator.wrt)
        made = Operator(operator.kind, wrt, operator.single)
        name, result = session.derivative(made, name, instance.signature.declaration.node.name_span)
        data += [True] if operator.kind == "vjp" else []
    program = Program(tuple(session.functions))
    return simplify(without_idle_marks(simplify(program))) if simplified else program


class BindSession(BoundConstants):
    """Elaborates functions at numbers, each instance once."""

    symbolic = False

    def __init__(self, checked: Checked, training: bool) -> None:
        super().__init__(checked.files, checked.overrides)
        self.training = training
        self.checks = checked.session
        self.paths = self.checks.paths
        self.reals = self.checks.reals
        self.functions: list[Function] = []
        self.made: dict[Instance, tuple[str, Type]] = {}
        self.names: dict[str, Instance] = {}
        self.draws: dict[str, Span | None] = {}
        self.deriver = Deriver(())
        self.derived: set[str] = set()
        self.hashes: dict[str, str] = {}
        self.derivatives: dict[tuple[Operator, str], str] = {}
        self.orders: dict[str, int] = {}

    def instantiate(self, instance: Instance, span: Span) -> tuple[str, Type]:
        """The name and result of the Core function of an instance, made now if it isn't yet."""
        if instance in self.made:
            return self.made[instance]
        outer, self.drawing = self.drawing, None
        function = instance.function
        owner = None if function.module is None else self.module_declaration(function.module)
        self.checks.ensure_checked(function, owner)
        name = self._name(instance)
        builder = Builder(instance.parameters)
        result = elaborate(self, instance, builder, builder.references())
        self.functions.append(builder.finish(name, result.type, result.handle))
        self.made[instance] = (name, result.type)
        self.draws[name], self.drawing = self.drawing, outer
        return self.made[instance]

    def drawn_in(self, name: str) -> Span | None:
        """Where a function that is bound draws, by its name; None where it doesn't."""
        return self.draws[name]

    def derive(self, operators: Sequence[Operator], instance: Instance, span: Span) -> tuple[str, Type]:
        """The name and result of a derivative's Core function, made of the simplified function. E5003."""
        name, result = self.instantiate(instance, span)
        for operator in operators:
            name, result = self.derivative(operator, name, span)
        return name, result

    def parameters(self, name: str) -> tuple[Parameter, ...]:
        """The parameters of a Core function made before."""
        return next(each.parameters for each in self.functions if each.name == name)

    def derivative(self, operator: Operator, name: str, span: Span) -> tuple[str, Type]:
        """The same of a Core function made before, by its name."""
        key = (operator, name)
        if key not in self.derivatives:
            if self.order(name) >= NESTED_LIMIT:
                message = f"derivatives are taken of derivatives more than {NESTED_LIMIT} times over"
                raise fail("E5003", message, span, "each makes a function several times as long")
            if name not in self.hashes:
                below = self.functions[: next(at for at, each in enumerate(self.functions) if each.name == name) + 1]
                program = simplify(Program(tuple(below)))
                self.deriver.functions |= {each.name: each for each in program.functions}
                self.hashes[name] = core_hash(program)
            self.deriver.taken |= self.names.keys() | {each.name for each in self.functions}
            before = len(self.deriver.made)
            made = self.deriver.operator(operator.kind, name, operator.wrt, operator.single, self.hashes[name])
            self.functions += self.deriver.made[before:]
            self.derived |= {each.name for each in self.deriver.made[before:]}
            self.derivatives[key] = made
            self.orders[made] = self.order(name) + 1
        made = self.derivatives[key]
        return made, self.deriver.functions[made].result

    def order(self, name: str) -> int:
        """How many derivatives of derivatives a Core function made before holds: of `grad(grad(f))` two."""
        if name not in self.orders:
            function = next(each for each in self.functions if each.name == name)
            lets = (let.value for body in bodies(function.body) for let in body.lets)
            self.orders[name] = max((self.order(each.function) for each in lets if isinstance(each, Call)), default=0)
        return self.orders[name]

    def _name(self, instance: Instance) -> str:
        base = _base_name(instance)
        while base in self.derived:
            base += "'"
        first = self.names.get(base)
        if first is None:
            self.names[base] = instance
            return base
        name = f"{base}@{_difference(first, instance)}"
        while name in self.names or name in self.derived:
            name += "'"
        self.names[name] = instance
        return name


def _base_name(instance: Instance) -> str:
    inside = [types.show(each) for _, each in instance.trees]
    for _, each in instance.functions:
        assert isinstance(each, FunctionValue), "a bound function parameter is a declared function"
        inside.append(_function_name(each))
    bracket = f"[{', '.join(inside)}]" if inside else ""
    return f"{_function_name(instance.function)}{bracket}"


def _function_name(function: FunctionValue) -> str:
    if function.module is None:
        return function.declaration.label
    return f"{function.module.label}.{function.declaration.name}"


def _difference(first: Instance, other: Instance) -> str:
    """`T=1,..=2x8`: what this instance has other than the first."""
    before = dict(first.sizes)
    parts = [f"{name}={size}" for name, size in other.sizes if before[name] != size]
    if first.run != other.run and other.run is not None:
        parts.append(f"..={'x'.join(str(axis.size) for axis in other.run if isinstance(axis, Axis)) or '1'}")
    return ",".join(parts) or "other"


def _entry_instance(
    session: BindSession,
    function: FunctionValue,
    entry: str,
    dims: Mapping[str, int],
    arguments: Sequence[Type | None] | None,
) -> Instance:
    signature = session_signature(session, function)
    span = signature.declaration.node.name_span
    solver = Solver()
    solver.trees.update(zip(signature.tree_variables, function.trees, strict=True))
    _take_dims(solver, signature, entry, dims)
    data = [parameter for parameter in signature.parameters if parameter.kind == "data"]
    given = list(arguments) if arguments is not None else [None] * len(data)
    if len(given) != len(data):
        raise fail("E4002", f"`{entry}` takes {len(data)} arguments, not {len(given)}", span)
    if any(parameter.kind == "function" for parameter in signature.parameters):
        raise fail(
            "E4002", f"`{entry}` takes a function, so it can't be an entry", span, "call it from a function of its own"
        )
    try:
        for parameter, actual in zip(data, given, strict=True):
            if actual is not None and parameter.type is not None and not isinstance(parameter.type, FunctionType):
                solver.match(parameter.type, actual, f"`{parameter.name}` of `{entry}`")
        solver.solve()
    except Mismatch as error:
        raise fail(error.code, error.message, span, error.hint) from None
    _take_defaults(session, solver, signature)
    run = _entry_run(solver, signature, dims)
    _require_bound(solver, signature, entry, run)
    hidden, _ = hide_names(run)
    runs = {RUN: hidden or ()}

    def bound(each: Type, place: Span) -> Type:
        try:
            return _with_whole_sizes(types.substitute(each, solver.sizes, runs, solver.trees), place)
        except PreskError as error:
            raise placed(error, place) from None

    parameters = tuple(
        (each.name, bound(each.type, each.span))
        for each in data
        if each.type is not None and not isinstance(each.type, FunctionType)
    )
    sizes = tuple((dim, solver.sizes[DIMENSION + dim]) for dim in signature.dims)
    trees = tuple((name, solver.trees[name]) for name in signature.tree_variables)
    result = None if signature.result is None else bound(signature.result, signature.result_span)
    return Instance(function, signature, sizes, hidden if signature.has_run else None, trees, (), parameters, result)


def _require_bound(solver: Solver, signature: Signature, entry: str, run: Shape | None) -> None:
    """Raises E4001 where dimensions are free."""
    free = [dim for dim in signature.dims if DIMENSION + dim not in solver.sizes]
    if signature.has_run and run is None:
        free.append(ENTRY_RUN)
    if free:
        shown = " ".join(f"--dim {dim}=…" for dim in free)
        message = f"`{entry}` has free dimensions: {', '.join(free)}"
        span = signature.declaration.node.name_span
        raise fail("E4001", message, span, f"give them: {shown} (in Python: dims={{…}})")


def _with_whole_sizes(each: Type, span: Span) -> Type:
    """The type itself. Raises E4004 where a size of it is none at the numbers it is bound at."""
    for _, tensor in types.leaves(each):
        sizes = [axis.size for axis in tensor.explicit]
        for size in [*sizes, *([] if tensor.bound is None else [tensor.bound])]:
            if size.whole is None or size.whole < 0:
                what = "is not a whole number" if size.whole is None else "is negative"
                raise fail("E4004", f"the size {size} of {types.show(tensor)} {what}", span)
            if size.whole >= types.SIZE_LIMIT:
                raise too_large(size, span)
    return each


def require_dims(signature: Signature, entry: str, names: Iterable[str]) -> None:
    """E4008 where one of these isn't a free dimension of the entry."""
    known = [*signature.dims, *([ENTRY_RUN] if signature.has_run else [])]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or (f"it has {', '.join(known)}" if known else "it has none")
            raise fail("E4008", f"`{entry}` has no free dimension `{name}`", signature.declaration.node.name_span, hint)


def _take_dims(solver: Solver, signature: Signature, entry: str, dims: Mapping[str, int]) -> None:
    require_dims(signature, entry, dims)
    for name, value in dims.items():
        if value < 0:
            raise fail("E4004", f"the size {name}={value} is negative", signature.declaration.node.name_span)
        if name in signature.dims:
            solver.sizes[DIMENSION + name] = number(value)


def _take_defaults(session: BindSession, solver: Solver, signature: Signature) -> None:
    """The defaults of nats that neither the arguments tell nor `dims`."""
    for parameter in signature.parameters:
        key = DIMENSION + parameter.name
        if parameter.kind == "static" and parameter.default is not None and key not in solver.sizes:
            value = default_of(session, signature, parameter)
            assert isinstance(value, Number), "the default of a nat is a number"
            solver.sizes[key] = as_size(value, parameter.default.span)


def _entry_run(solver: Solver, signature: Signature, dims: Mapping[str, int]) -> Shape | None:
    """The run of an entry: the data's, or the one axis `batch` of the size given."""
    if not signature.has_run:
        return None
    if solver.run is None and ENTRY_RUN in dims:
        solver.run = (Axis(ENTRY_RUN, number(dims[ENTRY_RUN])),)
    return solver.run


def entry_module(program: Program) -> ModuleOf | None:
    """The module whose parameters an entry takes, where one of its parameters is a module's tree."""
    for parameter in program.entry.parameters:
        if isinstance(parameter.type, ModuleOf):
            return parameter.type
    return None
