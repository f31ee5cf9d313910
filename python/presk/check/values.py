"""What an expression is, to the elaborator: data of the run, or something known when the entry is bound.

Immutable. `Data` is computed by the program and has a handle in what is being emitted (None while only checking). The
others are known at binding: numbers (perhaps symbolic yet), truths, functions, and tuples and records of values that
have not been made into one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Union

from presk.check.emit import Handle
from presk.check.scope import Declaration, File
from presk.shapes import constants, types
from presk.shapes.constants import Constant
from presk.shapes.types import BOOL, REAL, Extent, ModuleOf, RecordOf, Tensor, TupleOf, Type, extent_of
from presk.text.spans import Span

SILENT = "E2009"
"""The code of what follows from another fault; shown only where that one isn't."""


@dataclass(frozen=True, slots=True)
class Data:
    """A value of the run. `origin` is the path of fields a module's tree came by, for draws; None for other values."""

    type: Type
    handle: Handle
    origin: str | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """An exact constant; `nat` where it is built of whole numbers by whole-number operations."""

    value: Constant
    nat: bool


@dataclass(frozen=True, slots=True)
class Truth:
    """A condition on numbers; None where it depends on what is not bound yet."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Items:
    """A tuple, item by item."""

    items: tuple[Value, ...]
    extent: Extent = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "extent", extent_of([_extent(item) for item in self.items]))


@dataclass(frozen=True, slots=True)
class Fields:
    """A record, field by field."""

    fields: tuple[tuple[str, Value], ...]
    extent: Extent = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "extent", extent_of([_extent(each) for _, each in self.fields]))


@dataclass(frozen=True, slots=True)
class FunctionValue:
    """A declared function; `module` is the type whose function it is. `self` stands first among its parameters.

    `stated`: what it gives as the function-typed parameter that it is.
    """

    declaration: Declaration
    module: ModuleOf | None = None
    trees: tuple[Type, ...] = ()
    stated: Type | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Method:
    """A module's function with the tree it is called on."""

    function: FunctionValue
    tree: Data


@dataclass(frozen=True, slots=True)
class Abstract:
    """A parameter of function type, while its function is not known."""

    name: str
    signature: FunctionType


@dataclass(frozen=True, slots=True)
class FunctionType:
    """`fn(real[s]) -> real[s]` with its types resolved."""

    parameters: tuple[Type, ...]
    result: Type


@dataclass(frozen=True, slots=True)
class Derived:
    """`grad(f)`, `value_and_grad(f)`, `vjp(f)`; `wrt` are argument numbers, `single` where one was asked for.

    Arguments are those that stand in the call's parentheses: a module's tree before the dot is none of them. `place` is
    where `wrt` was chosen.
    """

    kind: str
    function: FunctionValue | Method | Abstract | Derived
    wrt: tuple[int, ...]
    single: bool
    place: Span


@dataclass(frozen=True, slots=True)
class Cotangent:
    """`vjp(f)(args…)`, waiting for its cotangent; `emit` says the call then, and gives None while nothing is bound."""

    result: Type
    gradient: Type
    emit: Callable[[Handle], Data | None] = field(compare=False)


@dataclass(frozen=True, slots=True)
class ModuleName:
    """A module named, `Linear{3, 2}` in `grad(Linear{3, 2}.apply)`; `module` is None where it has no parameters yet."""

    declaration: Declaration
    module: ModuleOf | None


@dataclass(frozen=True, slots=True)
class FileName:
    """An imported file's name."""

    file: File


@dataclass(frozen=True, slots=True)
class PrimitiveName:
    """A primitive's name, not called yet."""

    name: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """What a name is whose value does not check: whatever uses it says nothing of its own."""


Value = Union[
    Unknown,
    Data,
    Number,
    Truth,
    Items,
    Fields,
    FunctionValue,
    Method,
    Abstract,
    Derived,
    Cotangent,
    ModuleName,
    FileName,
    PrimitiveName,
]


def _extent(value: Value) -> Extent:
    match value:
        case Data(type=each):
            return each.extent
        case Items() | Fields():
            return value.extent
        case _:
            return 1, 0


def describe(value: Value) -> str:
    """What the value is, for messages."""
    match value:
        case Unknown():
            return "a value that does not check"
        case Data(type=each):
            return types.show(each)
        case Number(constant, nat):
            return f"the {'nat' if nat else 'constant'} {constants.show(constant)}"
        case Truth():
            return "a truth known when bound"
        case Items(items):
            return f"({', '.join(describe(item) for item in items)})"
        case Fields(fields):
            return f"{{{', '.join(f'{name}: {describe(each)}' for name, each in fields)}}}"
        case FunctionValue(declaration) | Method(FunctionValue(declaration)):
            return f"the function `{declaration.name}`"
        case Abstract(name):
            return f"the function `{name}`"
        case Derived(kind):
            return f"a function made by `{kind}`"
        case Cotangent():
            return "a function of a cotangent"
        case ModuleName(declaration):
            return f"the module `{declaration.name}`"
        case FileName(file):
            return f"the file `{file.name}`"
        case PrimitiveName(name):
            return f"the primitive `{name}`"


def show_function(each: FunctionType) -> str:
    """The function type as PSK writes it."""
    return f"fn({', '.join(types.show(parameter) for parameter in each.parameters)}) -> {types.show(each.result)}"


def type_of(value: Value) -> Type | None:
    """The type a value has as data, or None where it can't be data."""
    match value:
        case Data(type=each):
            return each
        case Number():
            return REAL
        case Truth():
            return BOOL
        case Items(items):
            kinds = [type_of(item) for item in items]
            return TupleOf(tuple(each for each in kinds if each)) if all(kinds) else None
        case Fields(fields):
            named = [(name, type_of(each)) for name, each in fields]
            return RecordOf(tuple((name, each) for name, each in named if each)) if all(e for _, e in named) else None
        case _:
            return None


def is_tensor(value: Value, kind: str | None = None) -> bool:
    """Whether the value is a tensor or scalar of the run (of that kind)."""
    return isinstance(value, Data) and isinstance(value.type, Tensor) and (kind is None or value.type.kind == kind)
