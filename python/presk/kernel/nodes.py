"""PSK-Kernel's nodes: one loop nest over row-major buffers, specialised to sizes and types.

Frozen data without behaviour. `printer` writes them as kernel text, `reader` is its inverse, the lowering makes them;
the one verifier is the Rust side's, which reads the text. docs/kernels.md has the grammar and what operations mean.

What kind a value is follows from the node: variables say it in their letter (`i` loop counters and `n` integers, `s`
reals, `b` truth values, `v` vectors, `m` truth values in lanes), loads in their buffer's element, constants in their
class. A node with `vector=True` is marked `<v>` in the text: as many lanes as sixteen bytes of the kernel's arithmetic
type have, computed lane by lane.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Arithmetic: TypeAlias = Literal["f32", "f64"]
ElementKind: TypeAlias = Literal["f64", "f32", "bf16", "i64", "bool", "int8", "int4"]
VariableKind: TypeAlias = Literal["i", "n", "s", "b", "v", "m"]
UnaryOperator: TypeAlias = Literal["-", "not"]
BinaryOperator: TypeAlias = Literal["+", "-", "*", "/", "//", "%", "<", "<=", "==", "!=", ">=", ">", "and", "or"]
FunctionName: TypeAlias = Literal[
    "abs", "floor", "sqrt", "max", "min", "select", "fma", "pow",
    "exp", "expm1", "log", "log1p", "tanh", "sin", "cos", "erf", "erfc",
    "gaussian", "gelu", "gelu_slope", "silu", "silu_slope", "gelu_tanh", "gelu_tanh_slope",
    "f64", "f32", "bf16", "ramp",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Element:
    """What one element of a buffer is.

    `bound` is V of `i64<V`. `scales` are the axes first … end − 1 along which a quantised element's scales vary.
    """

    kind: ElementKind
    bound: int | None = None
    scales: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a buffer; the name is documentation."""

    name: str | None
    size: int


@dataclass(frozen=True, slots=True)
class BufferType:
    """Element and axes, outermost first; no axes for a single element."""

    element: Element
    axes: tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class Output:
    """An output; `shares` is the number of the input whose buffer it overwrites (`%2 in %0`)."""

    type: BufferType
    shares: int | None = None


@dataclass(frozen=True, slots=True)
class Buffer:
    """`%n` (inputs are numbered first, then outputs) or scratch `tn`."""

    space: Literal["%", "t"]
    number: int


@dataclass(frozen=True, slots=True)
class Access:
    """One element of a buffer, or a vector's first: an integer index for each axis."""

    buffer: Buffer
    index: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """A real: the value it has in the kernel's arithmetic type, inf and nan included."""

    value: float


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer −2⁶³ … 2⁶³ − 1."""

    value: int


@dataclass(frozen=True, slots=True)
class Truth:
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True, slots=True)
class Variable:
    """`i0`, `n0`, `s0`, `b0`, `v0`, `m0`."""

    kind: VariableKind
    number: int


@dataclass(frozen=True, slots=True)
class Load:
    """An element's value, widened exactly to the arithmetic type (of a quantised buffer: f32(q)·s)."""

    access: Access
    vector: bool = False


@dataclass(frozen=True, slots=True)
class Unary:
    """`(-a)`, `(not a)`."""

    operator: UnaryOperator
    operand: Expression
    vector: bool = False


@dataclass(frozen=True, slots=True)
class Binary:
    """`(a + b)`. The right operand of `//` and `%` is a positive `Integer`."""

    operator: BinaryOperator
    left: Expression
    right: Expression
    vector: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """`max(a, b)`, `select(c, a, b)`, `exp(a)`, the conversions `f64(x) f32(x) bf16(x)`, the lanes of `ramp(a, 1)`."""

    function: FunctionName
    arguments: tuple[Expression, ...]
    vector: bool = False


@dataclass(frozen=True, slots=True)
class Splat:
    """`splat(a)`: lanes that are all one real, integer or truth value."""

    operand: Expression


Expression: TypeAlias = Constant | Integer | Truth | Variable | Load | Unary | Binary | Call | Splat


@dataclass(frozen=True, slots=True)
class Assign:
    """`s0 = e`; never to a loop counter."""

    variable: Variable
    value: Expression


@dataclass(frozen=True, slots=True)
class Store:
    """`%2[…] = e`, rounded once to the buffer's type; as a vector, `%2[…] <v= e` along the last axis."""

    access: Access
    value: Expression
    vector: bool = False


@dataclass(frozen=True, slots=True)
class For:
    """`for iN in 0..extent { … }`."""

    counter: int
    extent: int
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class If:
    """`if c { … }`: c a truth value, or an integer that isn't 0."""

    condition: Expression
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Apply:
    """`apply exp(t0[0]) to t1[0] over 256`: an elementary function over a run of elements along the last axis.

    The accesses name the first elements; `pow` has two sources, the others one. Its expansion says what it means: a
    loop of `count` rounds that stores the function of one element in each.
    """

    function: FunctionName
    sources: tuple[Access, ...]
    target: Access
    count: int


@dataclass(frozen=True, slots=True)
class Run:
    """A counter of a tile and how many values it has."""

    counter: int
    extent: int


@dataclass(frozen=True, slots=True)
class Tile:
    """`tile<lanes> iR in 0..m, iC in 0..n, iK in 0..k { sum = (left * right) }`: m × n sums of k products each.

    `continues` (`+=`): the sums go on from where they stand. `fused`: a product and its addition are one operation.
    docs/kernels.md says what it expands to.
    """

    rows: Run
    columns: Run
    depth: Run
    lanes: int
    sum: Access
    left: Access
    right: Access
    continues: bool = False
    fused: bool = False


Statement: TypeAlias = Assign | Store | For | If | Apply | Tile


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel: inputs `%0` …, outputs numbered after them, scratch `t0` … and the statements."""

    name: str
    arithmetic: Arithmetic
    inputs: tuple[BufferType, ...]
    outputs: tuple[Output, ...]
    scratch: tuple[BufferType, ...]
    body: tuple[Statement, ...]
