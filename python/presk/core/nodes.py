"""PSK-Core: the program in A-normal form, one function per source function at its sizes.

Pure data without behaviour. Invariants (checked by `core.verify`, listed in docs/core.md): numbers are unique in a
function, parameters first; binding gives them in textual order, a loop's state and elements before its body's lets, and
passes leave gaps; an operand refers to what stands before it in the same body or an enclosing one; sizes are numbers,
except that in the body of a `MapTrees` a leaf is one `Run`; a let's type is what its expression's rule gives
(`core.typing`); called functions stand before their callers and the entry last.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Union

from presk.primitives.table import Attribute
from presk.shapes.constants import Constant
from presk.shapes.types import ModuleOf, Type
from presk.text.spans import Span

# Operands


@dataclass(frozen=True, slots=True)
class Ref:
    """`%3`, or a component of it: `%0.w`, `%4.1`. The path walks fields, a tuple's being `0`, `1` …"""

    number: int
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Literal:
    """An exact constant as a scalar of kind `real`, `nat` or `bool` (1 is true)."""

    value: Constant
    kind: str = "real"


@dataclass(frozen=True, slots=True)
class Injected:
    """`real(%3)`: nats as exact reals."""

    operand: Ref


Operand = Union[Ref, Literal, Injected]


# What a let holds


@dataclass(frozen=True, slots=True)
class Apply:
    """A primitive on operands. `attributes` are in normal form (primitives.table.Attribute), in the table's order.

    A draw has the attribute `draw`: the n-th draw of that primitive in its function's text.
    """

    primitive: str
    operands: tuple[Operand, ...]
    attributes: tuple[tuple[str, Attribute], ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the program by its name. `path` is what the call adds to a draw's path: `blocks.att.step`."""

    function: str
    operands: tuple[Operand, ...]
    path: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A function's or map's parameter, or a loop's state or element.

    The name is the caller's business (an argument's keyword, a label in listings), no part of equality: the text of a
    function's head leaves it out.
    """

    number: int
    name: str | None = field(compare=False)
    type: Type


@dataclass(frozen=True, slots=True)
class Each:
    """A loop's source: the elements of a stacked tree (`axis` None), or of a tensor along its axis number `axis`."""

    operand: Operand
    axis: int | None


@dataclass(frozen=True, slots=True)
class Count:
    """A loop's source: the numbers `start` up to `start + trips - 1`, each a run-time `nat < start + trips`."""

    start: int


Source = Union[Each, Count]


@dataclass(frozen=True, slots=True)
class Body:
    """Lets in order and the operand that is the result."""

    lets: tuple[Let, ...]
    result: Operand


@dataclass(frozen=True, slots=True)
class Loop:
    """A fold or a scan (`kind`) of `trips` rounds, in a reversed one round i takes element trips − 1 − i.

    A fold's body gives the next state and the loop the last. A scan's body gives (state, y) and the loop (last state,
    ys), ys stacked along a leading axis named `along` (None: unnamed).
    """

    kind: str
    state: Parameter
    start: Operand
    elements: tuple[Parameter, ...]
    sources: tuple[Source, ...]
    trips: int
    body: Body
    along: str | None = None
    reversed: bool = False


@dataclass(frozen=True, slots=True)
class MapTrees:
    """The body for every leaf of trees of one shape. A tuple body gives a tuple of trees (`arity`; None: one tree).

    In the body a parameter has the type `real[..]`, its Run labelled `leaf`.
    """

    parameters: tuple[Parameter, ...]
    operands: tuple[Operand, ...]
    body: Body
    arity: int | None = None


@dataclass(frozen=True, slots=True)
class MakeTuple:
    """A tuple."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class MakeRecord:
    """A record, or a module's tree where `module` is its type."""

    fields: tuple[tuple[str, Operand], ...]
    module: ModuleOf | None = None


@dataclass(frozen=True, slots=True)
class SetField:
    """The tree `base` with the component at `path` replaced."""

    base: Operand
    path: tuple[str, ...]
    value: Operand


Expression = Union[Apply, Call, Loop, MapTrees, MakeTuple, MakeRecord, SetField]


@dataclass(frozen=True, slots=True)
class Let:
    """`%17 logits = …`; `name` where the source names it, `span` where the source says it (no part of equality).

    `again`: a primitive of the forward half that an adjoint computes once more. It belongs to every group reading it.
    """

    number: int
    name: str | None
    value: Expression
    type: Type
    span: Span | None = field(default=None, compare=False, repr=False)
    again: bool = False


@dataclass(frozen=True, slots=True)
class Primal:
    """What a forward half is the half of: the function whose name its sites have, and the roots of its groups there.

    The numbers are the function's own; those that the half needs no more are among them. A function that is a whole
    derivative has the hash of the Core of what it is the derivative of (`core`), and no roots.
    """

    name: str
    roots: tuple[int, ...]
    core: str | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """A source function at its sizes: `Linear{16, 48}.apply`. Its result fits the stated type (`core.typing.fits`).

    `primal`: the function is the forward half of a derivative, and keeps the groups and sites of the function it is of.
    """

    name: str
    parameters: tuple[Parameter, ...]
    result: Type
    body: Body
    primal: Primal | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """An entry and all it calls: callees before callers, the entry last."""

    functions: tuple[Function, ...]

    @property
    def entry(self) -> Function:
        """The function that is called from outside."""
        return self.functions[-1]
