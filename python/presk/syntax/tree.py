"""The syntax tree of PSK: what the parser makes, the formatter prints and the checker reads.

Pure data without behaviour. Every node knows its span. Sizes and bounds in types are ordinary expressions. What a
bracket or a name means (an axis label, a size, a primitive, a module) is the checker's to decide, so that the parser
needs no knowledge of primitives. `TypeExpr`, `Pattern`, `Expr` and `Declaration` are unions; isinstance and match
tell their members. The classes leave out what nobody asks of a node and loading them would pay for.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction

from presk.text.spans import Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Node:
    """The base of all nodes. A node is equal to itself alone."""

    span: Span

    def __repr__(self) -> str:
        shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.name != "span")
        return f"{type(self).__name__}({shown})"


# Axes, in types and behind primitives


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AxisItem(Node):
    """`name: size`, a lone size, or a bare word (`label` None, `size` a Name): its meaning depends on the place."""

    label: str | None
    size: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RunItem(Node):
    """`..`, any run of leading axes."""


AxisEntry = AxisItem | RunItem


# Types


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TensorType(Node):
    """`real`, `nat[axes] < V`, `bool[…]`. `axes` is None for a scalar; `kind` is `real`, `nat` or `bool`."""

    kind: str
    axes: tuple[AxisEntry, ...] | None
    bound: Expr | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TupleType(Node):
    """`(A, B)`."""

    items: tuple[TypeExpr, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecordType(Node):
    """`{x: A, y: B}`."""

    fields: tuple[tuple[str, TypeExpr], ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NamedType(Node):
    """A module with its parameters, an abbreviation or a tree variable: `nn.Linear{3, 2}`, `Cache`, `P`.

    `arguments` is None where no brace was written.
    """

    path: tuple[str, ...]
    arguments: tuple[Argument, ...] | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StackedType(Node):
    """`T * L`."""

    element: TypeExpr
    count: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FunctionType(Node):
    """`fn(real[s]) -> real[s]`, of a parameter only."""

    parameters: tuple[TypeExpr, ...]
    result: TypeExpr


TypeExpr = TensorType | TupleType | RecordType | NamedType | StackedType | FunctionType


# Expressions


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NatLiteral(Node):
    """An integer; `text` is as written."""

    value: int
    text: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RealLiteral(Node):
    """An exact decimal; `text` is as written."""

    value: Fraction
    text: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BoolLiteral(Node):
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StringLiteral(Node):
    """The characters of a string, escapes replaced; in train blocks only."""

    value: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ListLiteral(Node):
    """`[a, b]`, in train blocks only."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Name(Node):
    """A name, or `self`."""

    name: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Field(Node):
    """`base.name`; `name_span` is the field's own."""

    base: Expr
    name: str
    name_span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TupleIndex(Node):
    """`base.0`."""

    base: Expr
    index: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Unary(Node):
    """`op` is `-` or `not`."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Step(Node):
    """One operator of an Operation and its right operand. The span begins with the operation: it is that of the value.

    `op` is one of `+ - * / // ** == != < <= > >= and or`.
    """

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Operation(Node):
    """`a - b + c`: operators of one level, applied from the left. One node however long, so that trees stay flat."""

    first: Expr
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Argument(Node):
    """A positional (`name` None) or keyword argument."""

    name: str | None
    value: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call(Node):
    """`callee(arguments)`. The callee is a Name, a Field, an Axes, an Instance or another Call (`grad(f)(x)`)."""

    callee: Expr
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Axes(Node):
    """`base[axes]`: new axes of a primitive (`zeros[n]`, `split[h: 2, d]`) or an operand's labels in `ein`."""

    base: Expr
    axes: tuple[AxisEntry, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Instance(Node):
    """`Linear{3, 2}` in an expression, as in `grad(Linear{3, 2}.apply)`."""

    base: Expr
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Range(Node):
    """`a..b`: in an index, or as what a loop runs over. A missing end is None (`[seq = 1..]`)."""

    start: Expr | None
    stop: Expr | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IndexItem(Node):
    """`axis = i` or `axis = a..b`; the axis is a bare word or a position, negative from the end."""

    axis: str | int
    value: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Index(Node):
    """`base[seq = i, heads = 0..2]`."""

    base: Expr
    items: tuple[IndexItem, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tuple(Node):
    """`(a, b)`; `()` and `(a,)` have zero and one items."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Record(Node):
    """`{x = a, y = b}`."""

    fields: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FieldChange(Node):
    """`w = v` of an update; a dotted path reaches into submodules."""

    path: tuple[str, ...]
    value: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SliceChange(Node):
    """`[seq = i] = v` of an update."""

    items: tuple[IndexItem, ...]
    value: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Update(Node):
    """`{base with changes}`."""

    base: Expr
    changes: tuple[FieldChange | SliceChange, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NamePattern(Node):
    """A name that is bound."""

    name: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TuplePattern(Node):
    """`(a, (b, c))`."""

    items: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecordPattern(Node):
    """`{x, y = p}`: a lone field binds its own name."""

    fields: tuple[tuple[str, Pattern], ...]


Pattern = NamePattern | TuplePattern | RecordPattern


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Let(Node):
    """`let pattern = value`."""

    pattern: Pattern
    value: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Block(Node):
    """`{ lets; result }`."""

    lets: tuple[Let, ...]
    result: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class If(Node):
    """A choice on a value known when the entry is bound; `otherwise` is a Block or another If."""

    condition: Expr
    then: Block
    otherwise: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Loop(Node):
    """`fold state = start over element in source along axis { body }`, or `scan`.

    `source` is a tree, a tensor, a Range, or a Tuple of these (zipped). `along` is an axis name or a position.
    """

    kind: str
    state: Pattern
    start: Expr
    element: Pattern
    source: Expr
    along: str | int | None
    body: Block


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MapTrees(Node):
    """`map(p = params, g = grads) { body }`."""

    bindings: tuple[tuple[str, Expr], ...]
    body: Block


Expr = (
    NatLiteral
    | RealLiteral
    | BoolLiteral
    | StringLiteral
    | ListLiteral
    | Name
    | Field
    | TupleIndex
    | Unary
    | Operation
    | Call
    | Axes
    | Instance
    | Range
    | Index
    | Tuple
    | Record
    | Update
    | Block
    | If
    | Loop
    | MapTrees
)


# Declarations


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Import(Node):
    """`import nn`, `import "a/b.psk" as b`, `from nn import Linear, LayerNorm`.

    `target` is a module's name, or a path where `is_path`. `names` is None for a whole import.
    """

    target: str
    is_path: bool
    alias: str | None
    names: tuple[tuple[str, Span], ...] | None
    doc: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Const(Node):
    """`const V = 64`."""

    name: str
    name_span: Span
    value: Expr
    doc: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TypeAlias(Node):
    """`type Cache = {k: real[seq: T]}`."""

    name: str
    name_span: Span
    value: TypeExpr
    doc: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ModuleParameter(Node):
    """A nat parameter (`kind` is `nat`) or a real one (`real`) of a module, with its default if it has one."""

    name: str
    kind: str
    default: Expr | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MemberDecl(Node):
    """A parameter with its initializer, or a submodule with overridden initializers."""

    name: str
    name_span: Span
    type: TypeExpr
    initializer: Expr | None
    overrides: tuple[FieldChange, ...]
    doc: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FunctionParameter(Node):
    """A function's parameter, `self` aside."""

    name: str
    type: TypeExpr
    default: Expr | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Function(Node):
    """`fn name[P](parameters) -> result { body }`; `takes_self` in a module's functions."""

    name: str
    name_span: Span
    tree_variables: tuple[str, ...]
    takes_self: bool
    parameters: tuple[FunctionParameter, ...]
    result: TypeExpr | None
    body: Block
    doc: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Module(Node):
    """`module Linear{I, O} { … }`; members and functions each in the order of the text."""

    name: str
    name_span: Span
    parameters: tuple[ModuleParameter, ...]
    members: tuple[MemberDecl, ...]
    functions: tuple[Function, ...]
    doc: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TrainItem(Node):
    """`key = value` of a train block."""

    key: str
    key_span: Span
    value: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Train(Node):
    """`train tiny { … }`."""

    name: str
    name_span: Span
    items: tuple[TrainItem, ...]
    doc: str


Declaration = Import | Const | TypeAlias | Module | Function | Train


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class File(Node):
    """One source file."""

    declarations: tuple[Declaration, ...]


# Entries, as named on the command line and in `Program[...]`


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EntryPart(Node):
    """A name of an entry's path, with module parameters where a brace was written (else None)."""

    name: str
    arguments: tuple[Argument, ...] | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Entry(Node):
    """`nn.Linear{3, 2}.apply`, `adamw.step[MiniGPT]`: a path, and the types its tree variables stand for."""

    parts: tuple[EntryPart, ...]
    trees: tuple[TypeExpr, ...]
