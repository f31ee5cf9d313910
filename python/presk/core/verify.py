"""The verifier of PSK-Core: what every program of this form keeps to, whoever made it.

`verify` raises CoreInvalid, which names the function and the number at fault. Passes run it in tests after each step;
`core.reader` runs it on text and makes a diagnostic (E9103) of what it finds. The invariants (docs/core.md lists them):

1. Functions have different, well-formed names, and stand behind those they call; the entry is last.
2. Numbers are unique in a function; its parameters are 0, 1, 2 …
3. An operand refers to a number that stands before it in the same body or an enclosing one, and to a component it has.
4. Sizes are whole numbers from 0; axis names of one tensor differ; a run stands only in the body of a map, as `leaf`.
5. A let has the type that its expression's rule gives.
6. Attributes are the table's, in its order, in normal form; a primitive takes nats as reals by `real(…)`,
   everything else by the primitive `inject`.
7. Two draws of one primitive in a function have different numbers; none stands in the body of a map.
8. A literal is a value of its kind, without symbols.
9. A call's operands fit its parameters, and its path is words joined by dots.
10. A loop's start and next state fit its state, names included; its elements are those of its sources, which all have
    its number of rounds; only a scan has `along`.
11. A map's trees have one shape, its parameters one leaf each, and its body holds primitives and tuples alone.
12. Fields of a record differ and are words; a module's tree fits its module, and one label means one module.
13. A function's result fits its stated type.
"""

from __future__ import annotations

from presk.core.attributes import DRAW, fault_in
from presk.core.names import is_call_path, is_function_name, is_word
from presk.core.nodes import (
    Apply,
    Body,
    Call,
    Count,
    Function,
    Injected,
    Let,
    Literal,
    Loop,
    MakeRecord,
    MakeTuple,
    MapTrees,
    Operand,
    Parameter,
    Program,
)
from presk.core.operands import operands_of
from presk.core.typing import LEAF, element_type, expression_type, fits, operand_type, source_trips
from presk.primitives.all import TABLE
from presk.primitives.table import Misfit
from presk.shapes import constants
from presk.shapes.types import (
    Axis,
    ModuleOf,
    RecordOf,
    Run,
    Stacked,
    Tensor,
    TreeVariable,
    TupleOf,
    Type,
    fields_of,
    show,
)
from presk.text.diagnostics import InternalError

KINDS = ("real", "nat", "bool")


class CoreInvalid(InternalError):
    """Core that breaks an invariant: in `function`, at the let or parameter `number` (None: at its head)."""

    def __init__(self, function: str, number: int | None, message: str) -> None:
        self.function = function
        self.number = number
        self.message = message
        place = function if number is None else f"{function}/%{number}"
        super().__init__(f"{place}: {message}")


def verify(program: Program) -> None:
    """Raises CoreInvalid where the program breaks an invariant."""
    if not program.functions:
        raise CoreInvalid("", None, "a program has an entry")
    before: dict[str, Function] = {}
    modules: dict[str, ModuleOf] = {}
    for function in program.functions:
        if not is_function_name(function.name):
            raise CoreInvalid(function.name, None, "this is no function's name")
        if function.name in before:
            raise CoreInvalid(function.name, None, "two functions have this name")
        _Verifier(function, before, modules).function_body()
        before[function.name] = function


class _Verifier:
    """Walks one function. `scope` holds the types of the numbers that may be referred to."""

    def __init__(self, function: Function, functions: dict[str, Function], modules: dict[str, ModuleOf]) -> None:
        self.function = function
        self.functions = functions
        self.modules = modules
        self.numbers: set[int] = set()
        self.draws: set[tuple[str, object]] = set()
        self.at: int | None = None

    def fail(self, message: str) -> CoreInvalid:
        return CoreInvalid(self.function.name, self.at, message)

    def function_body(self) -> None:
        scope: dict[int, Type] = {}
        for place, parameter in enumerate(self.function.parameters):
            if parameter.number != place:
                raise self.fail(f"the parameters are numbered from 0, not {parameter.number}")
            self.declare(parameter, scope, in_map=False)
        self.type(self.function.result, in_map=False)
        found = self.body(self.function.body, scope, in_map=False)
        self.at = None
        if not fits(found, self.function.result):
            raise self.fail(f"its result is {show(found)}, which doesn't fit {show(self.function.result)}")

    def body(self, body: Body, scope: dict[int, Type], *, in_map: bool) -> Type:
        """Checks a body in its own copy of the scope; gives its result's type."""
        scope = dict(scope)
        for let in body.lets:
            self.at = let.number
            if let.name is not None and not is_word(let.name):
                raise self.fail(f"{let.name!r} is no name")
            for operand in operands_of(let.value):
                self.operand(operand, scope)
                if isinstance(operand, Injected) and not isinstance(let.value, Apply):
                    raise self.fail("only a primitive takes nats as reals; `inject` makes reals of them")
            self.value(let, scope, in_map=in_map)
            self.at = let.number
            self.number(let.number)
            self.type(let.type, in_map=in_map)
            found = self.derived(let, scope)
            if found != let.type:
                raise self.fail(f"its type is {show(found)} by rule, but {show(let.type)} is stated")
            scope[let.number] = let.type
        self.operand(body.result, scope)
        if isinstance(body.result, Injected):
            raise self.fail("a result isn't nats as reals; `inject` makes reals of them")
        return operand_type(body.result, scope)

    def derived(self, let: Let, scope: dict[int, Type]) -> Type:
        try:
            return expression_type(let.value, scope, self.functions)
        except Misfit as error:
            raise self.fail(error.message) from None

    def value(self, let: Let, scope: dict[int, Type], *, in_map: bool) -> None:
        """What a let's expression must keep to beyond its operands and its type."""
        value = let.value
        if let.again and not isinstance(value, Apply):
            raise self.fail("only a primitive is computed again")
        if in_map and not isinstance(value, (Apply, MakeTuple)):
            raise self.fail("the body of a map holds primitives and tuples alone")
        match value:
            case Apply():
                self.apply(value, in_map=in_map)
            case Call(path=path):
                if not is_call_path(path):
                    raise self.fail(f"{path!r} is no draw's path")
            case Loop():
                self.loop(value, scope)
            case MapTrees():
                self.leafwise(value, scope)
            case MakeRecord(fields):
                for name, _ in fields:
                    if not is_word(name):
                        raise self.fail(f"{name!r} is no field's name")
            case _:
                return

    def apply(self, apply: Apply, *, in_map: bool) -> None:
        primitive = TABLE.get(apply.primitive)
        if primitive is None:
            raise self.fail(f"there is no primitive `{apply.primitive}`")
        fault = fault_in(primitive, apply.attributes)
        if fault is not None:
            raise self.fail(f"{apply.primitive} {fault}")
        if not primitive.draws:
            return
        draw = (apply.primitive, dict(apply.attributes)[DRAW])
        if in_map:
            raise self.fail("no draw stands in the body of a map")
        if draw in self.draws:
            raise self.fail(f"two draws of {apply.primitive} have the number {draw[1]}")
        self.draws.add(draw)

    def loop(self, loop: Loop, scope: dict[int, Type]) -> None:
        if loop.kind not in ("fold", "scan"):
            raise self.fail(f"a loop is a fold or a scan, not {loop.kind!r}")
        if not loop.sources or len(loop.sources) != len(loop.elements):
            raise self.fail("a loop has at least one source, and an element for each")
        if loop.trips < 0 or any(isinstance(source, Count) and source.start < 0 for source in loop.sources):
            raise self.fail("a loop counts upward from 0 or more")
        if loop.along is not None and (loop.kind != "scan" or not is_word(loop.along)):
            raise self.fail("only a scan has `along`, an axis's name")
        inner = dict(scope)
        self.declare(loop.state, inner, in_map=False)
        start = operand_type(loop.start, scope)
        if not fits(start, loop.state.type):
            raise self.fail(f"the state starts as {show(start)}, which doesn't fit {show(loop.state.type)}")
        for element, source in zip(loop.elements, loop.sources, strict=True):
            self.declare(element, inner, in_map=False)
            try:
                taken, trips = element_type(source, scope, loop.trips), source_trips(source, scope)
            except Misfit as error:
                raise self.fail(error.message) from None
            if trips is not None and trips != loop.trips:
                raise self.fail(f"a source has {trips} elements, and the loop {loop.trips} rounds")
            if taken != element.type:
                raise self.fail(f"the element %{element.number} is {show(taken)}, not {show(element.type)}")
        result = self.body(loop.body, inner, in_map=False)
        if loop.kind == "scan" and isinstance(result, TupleOf) and result.items:
            result = result.items[0]
        if not _same_state(result, loop.state.type):
            raise self.fail(f"the next state is {show(result)}, not {show(loop.state.type)}")

    def leafwise(self, leafwise: MapTrees, scope: dict[int, Type]) -> None:
        if not leafwise.parameters or len(leafwise.parameters) != len(leafwise.operands):
            raise self.fail("a map has at least one tree, and a parameter for each")
        inner = dict(scope)
        for parameter in leafwise.parameters:
            self.declare(parameter, inner, in_map=True)
            if not isinstance(parameter.type, Tensor) or parameter.type.axes != (LEAF,):
                raise self.fail(f"a map's parameter is one leaf, `real[..]`, not {show(parameter.type)}")
        result = self.body(leafwise.body, inner, in_map=True)
        arity = len(result.items) if isinstance(result, TupleOf) else None
        if arity != leafwise.arity:
            raise self.fail("a map's arity is the number of its body's results")

    # Numbers, operands and types

    def declare(self, parameter: Parameter, scope: dict[int, Type], *, in_map: bool) -> None:
        outer, self.at = self.at, parameter.number
        self.number(parameter.number)
        self.type(parameter.type, in_map=in_map)
        scope[parameter.number] = parameter.type
        self.at = outer

    def number(self, number: int) -> None:
        if number < 0 or number in self.numbers:
            raise self.fail(f"the number {number} occurs twice" if number in self.numbers else "numbers count from 0")
        self.numbers.add(number)

    def operand(self, operand: Operand, scope: dict[int, Type]) -> None:
        if isinstance(operand, Literal) and not _is_exact(operand.value):
            raise self.fail(f"the constant {constants.show(operand.value)} has symbols")
        try:
            operand_type(operand, scope)
        except Misfit as error:
            raise self.fail(error.message) from None

    def type(self, tree: Type, *, in_map: bool) -> None:
        """Sizes are numbers, names differ, runs stand where they may, one label means one module."""
        match tree:
            case Tensor():
                self.tensor(tree, in_map=in_map)
            case TreeVariable(name):
                raise self.fail(f"the tree variable {name} is not bound")
            case Stacked(element, count):
                if isinstance(element, Tensor) or count.whole is None or count.whole < 0:
                    raise self.fail(f"{show(tree)} is no stacked tree")
                self.type(element, in_map=False)
            case ModuleOf(fields=fields):
                if self.modules.setdefault(tree.label, tree) != tree:
                    raise self.fail(f"two modules are named {tree.label}")
                self.fields(fields, words=True)
            case RecordOf(fields):
                self.fields(fields, words=True)
            case TupleOf(items):
                for item in items:
                    self.type(item, in_map=in_map)

    def fields(self, fields: tuple[tuple[str, Type], ...], *, words: bool) -> None:
        names = [name for name, _ in fields]
        if len(set(names)) != len(names) or not all(is_word(name) for name in names):
            raise self.fail(f"the fields {', '.join(names)} are not different words")
        for _, each in fields:
            self.type(each, in_map=False)

    def tensor(self, tensor: Tensor, *, in_map: bool) -> None:
        if tensor.kind not in KINDS or (tensor.kind == "nat") != (tensor.bound is not None):
            raise self.fail(f"{show(tensor)} is no tensor's type")
        if tensor.bound is not None and (tensor.bound.whole is None or tensor.bound.whole < 0):
            raise self.fail(f"the bound {tensor.bound} is no number")
        names = [axis.name for axis in tensor.axes if isinstance(axis, Axis) and axis.name is not None]
        if len(set(names)) != len(names) or not all(is_word(name) for name in names):
            raise self.fail(f"the axis names of {show(tensor)} are not different words")
        for place, axis in enumerate(tensor.axes):
            if isinstance(axis, Run):
                if not in_map or place or axis != LEAF:
                    raise self.fail("a run stands only in the body of a map, as its leaf")
            elif axis.size.whole is None or axis.size.whole < 0:
                raise self.fail(f"the size {axis.size} is no whole number from 0")


def _same_state(result: Type, state: Type) -> bool:
    """Whether a next state has the state's type, names included, but for a smaller bound."""
    if isinstance(result, Tensor) and isinstance(state, Tensor):
        return result.axes == state.axes and fits(result, state)
    mine, theirs = fields_of(result), fields_of(state)
    if mine is None or theirs is None or len(mine) != len(theirs):
        return False
    return fits(result, state) and all(
        _same_state(each, other) for (_, each), (_, other) in zip(mine, theirs, strict=True)
    )


def _is_exact(constant: constants.Constant) -> bool:
    match constant:
        case constants.Rational():
            return True
        case constants.Symbolic():
            return False
        case constants.Apply(_, arguments):
            return all(_is_exact(argument) for argument in arguments)
