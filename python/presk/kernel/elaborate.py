"""Written expressions to nodes: every place wants a kind, and literals become what is wanted.

A literal of digits alone is an integer or a real; operands of a comparison and a conversion's argument want what the
first of them that isn't such a literal is, else an integer. Whatever doesn't fit is E9202. Called by the reader; the
Rust side follows the same rules (rust/presk-kernel/src/elaborate.rs).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NoReturn, TypeAlias, cast

from presk.kernel import limits
from presk.kernel.literal import is_plain, read_real
from presk.kernel.nodes import (
    Access,
    Arithmetic,
    Binary,
    BinaryOperator,
    Buffer,
    BufferType,
    Call,
    Constant,
    Expression,
    FunctionName,
    Integer,
    Load,
    Splat,
    Truth,
    Unary,
    Variable,
    VariableKind,
)
from presk.kernel.raw import Raw, RawAccess, RawLiteral, RawOperation, RawTruth, RawVariable
from presk.text.cursor import shown
from presk.text.diagnostics import did_you_mean, fail
from presk.text.spans import Source, Span

Kind: TypeAlias = Literal["real", "integer", "truth", "vector", "wholes", "mask"]

IN_LANES: dict[Kind, Kind] = {"real": "vector", "integer": "wholes", "truth": "mask"}
"""The kind whose lanes are of a kind."""

LANES: dict[Kind, Kind] = {lanes: scalar for scalar, lanes in IN_LANES.items()}
"""What the lanes of a kind are."""

VARIABLE_KINDS: dict[VariableKind, Kind] = {
    "i": "integer", "n": "integer", "s": "real", "b": "truth", "v": "vector", "m": "mask",
}  # fmt: skip

ELEMENT_KINDS: dict[str, Kind] = {"i64": "integer", "bool": "truth"}
"""What loads of an element are, of those that aren't reals."""

ARITY = {
    "abs": 1, "floor": 1, "sqrt": 1, "max": 2, "min": 2, "select": 3, "fma": 3, "pow": 2,
    "exp": 1, "expm1": 1, "log": 1, "log1p": 1, "tanh": 1, "sin": 1, "cos": 1, "erf": 1, "erfc": 1,
    "gaussian": 1, "gelu": 1, "gelu_slope": 1, "silu": 1, "silu_slope": 1, "gelu_tanh": 1, "gelu_tanh_slope": 1,
    "f64": 1, "f32": 1, "bf16": 1, "splat": 1, "ramp": 2,
}  # fmt: skip

COMPARISONS = frozenset(("<", "<=", "==", "!=", ">=", ">"))
CONVERSIONS = frozenset(("f64", "f32", "bf16"))
OPEN_OPERATORS = frozenset(("+", "-", "*"))
OPEN_FUNCTIONS = frozenset(("max", "min", "abs", "select"))
DIVISIONS = frozenset(("//", "%"))
KIND_OPERATORS: dict[Kind, frozenset[str]] = {
    "truth": frozenset(("and", "or")),
    "integer": OPEN_OPERATORS,
    "real": OPEN_OPERATORS | {"/"},
    "vector": OPEN_OPERATORS | {"/"},
    "mask": frozenset(("and", "or")),
    "wholes": frozenset(),
}
"""The operators whose operands are of the kind of their result."""

ELEMENTARY = frozenset(
    "exp expm1 log log1p tanh sin cos erf erfc gaussian pow".split()
    + "gelu gelu_slope silu silu_slope gelu_tanh gelu_tanh_slope".split()
)
"""The functions that may be applied to runs."""

VECTOR_FUNCTIONS = frozenset(("abs", "floor", "sqrt", "max", "min", "fma", "select", "f64", "f32", "bf16"))

_INTEGER_DIGITS = 20


class Elaborator:
    """Turns written expressions of one kernel into nodes."""

    def __init__(self, source: Source, arithmetic: Arithmetic, buffers: dict[Buffer, BufferType]) -> None:
        self.source = source
        self.arithmetic: Arithmetic = arithmetic
        self.buffers = buffers

    def access(self, raw: RawAccess) -> Access:
        """The access, its indices integers, one for each axis."""
        buffer = self.buffers.get(raw.buffer)
        name = f"{raw.buffer.space}{raw.buffer.number}"
        if buffer is None:
            self.fault(f"{name} is not declared", raw)
        if len(buffer.axes) != len(raw.index):
            self.fault(f"{name} has {len(buffer.axes)} axes, not {len(raw.index)}", raw)
        return Access(raw.buffer, tuple(self.expression(each, "integer") for each in raw.index))

    def real_load(self, raw: RawAccess) -> Access:
        """The access of an element that is loaded as a real."""
        access = self.access(raw)
        buffer, name = self.buffers[raw.buffer], f"{raw.buffer.space}{raw.buffer.number}"
        if self.element_kind(raw.buffer) != "real":
            self.fault(f"{name} holds no reals", raw)
        if buffer.element.kind == "f64" and self.arithmetic == "f32":
            self.fault(f"{name} is wider than the kernel's arithmetic; convert it first", raw)
        return access

    def element_kind(self, buffer: Buffer) -> Kind | None:
        """What loads of a buffer are; None of one that isn't declared."""
        declared = self.buffers.get(buffer)
        return None if declared is None else ELEMENT_KINDS.get(declared.element.kind, "real")

    def condition(self, raw: Raw) -> Expression:
        """What an `if` tests: a truth value, or an integer."""
        return self.expression(raw, "truth" if self.kind(raw) not in (None, "integer") else "integer")

    def kind(self, *raws: Raw) -> Kind | None:
        """The kind the first of these has whose kind doesn't depend on what is wanted; None of digits alone."""
        open_ones = list(reversed(raws))
        while open_ones:
            raw = open_ones.pop()
            if isinstance(raw.content, RawOperation):
                name, operands = raw.content.name, raw.content.operands
                if name in OPEN_OPERATORS or name in OPEN_FUNCTIONS:
                    open_ones.extend(reversed(operands[1:] if name == "select" else operands))
                    continue
            kind = self.certain_kind(raw)
            if kind is not None:
                return kind
        return None

    def certain_kind(self, raw: Raw) -> Kind | None:
        """The kind of an expression that says it by itself, whatever its operands are."""
        match raw.content:
            case RawLiteral(text, _):
                return None if is_plain(text) else "real"
            case RawTruth():
                return "truth"
            case RawVariable(kind, _):
                return VARIABLE_KINDS[kind]
            case RawAccess(buffer):
                kind = self.element_kind(buffer)
            case RawOperation("call", "splat", operands):
                kind = self.kind(*operands)
                return None if kind is None else IN_LANES.get(kind, kind)
            case RawOperation("call", "ramp", _):
                return "wholes"
            case RawOperation(form, name, _):
                kind = "integer" if name in DIVISIONS else "real" if form == "call" or name == "/" else "truth"
        return IN_LANES[kind] if raw.vector and kind is not None else kind

    def expression(self, raw: Raw, wanted: Kind) -> Expression:
        """The node of an expression where a kind is wanted."""
        match raw.content:
            case RawLiteral():
                return self.literal(raw.content, raw, wanted)
            case RawTruth(value):
                return self.fitting(Truth(value), "truth", raw, wanted)
            case RawVariable(kind, number):
                if number >= limits.VARIABLES:
                    self.fault(f"the number of a variable exceeds {limits.VARIABLES - 1}", raw, "E9206")
                return self.fitting(Variable(kind, number), VARIABLE_KINDS[kind], raw, wanted)
            case RawAccess():
                return self.load(raw.content, raw, wanted)
            case RawOperation(form, name, operands):
                if form == "unary":
                    return self.unary(name, operands[0], raw, wanted)
                if form == "binary":
                    return self.binary(name, operands, raw, wanted)
                return self.call(name, operands, raw, wanted)

    def fitting(self, node: Expression, kind: Kind, raw: Raw, wanted: Kind) -> Expression:
        """The node, which is of that kind, where it is wanted."""
        if kind != wanted or raw.vector:
            self.mismatch(raw, wanted)
        return node

    def literal(self, literal: RawLiteral, raw: Raw, wanted: Kind) -> Expression:
        """An integer or a real, as is wanted."""
        sign = "-" if literal.negative else ""
        if wanted == "real":
            if literal.text == "nan":
                return Constant(math.nan)
            if literal.text == "inf":
                return Constant(-math.inf if literal.negative else math.inf)
            value = read_real(literal.text, self.arithmetic)
            if value is None:
                self.fault(f"this literal is beyond the range of {self.arithmetic}; infinity is `inf`", raw)
            return Constant(-value if literal.negative else value)
        if wanted != "integer" or not is_plain(literal.text):
            self.mismatch(raw, wanted)
        digits = literal.text.lstrip("0") or "0"
        value = int(sign + digits) if len(digits) <= _INTEGER_DIGITS else 1 << 64
        if not -(1 << 63) <= value < 1 << 63:
            self.fault("this integer is beyond 64 bits", raw)
        return Integer(value)

    def load(self, access: RawAccess, raw: Raw, wanted: Kind) -> Expression:
        """A load, of a kind its buffer has."""
        node = Load(self.access(access), raw.vector)
        declared = self.buffers[access.buffer]
        name = f"{access.buffer.space}{access.buffer.number}"
        if declared.element.kind == "f64" and self.arithmetic == "f32":
            self.fault(f"{name} is wider than the kernel's arithmetic; convert it first", access)
        if raw.vector and wanted in LANES and not declared.axes:
            self.fault(f"{name} has no axis a vector could lie along", access)
        if self.certain_kind(raw) != wanted:
            self.mismatch(raw, wanted)
        return node

    def unary(self, name: str, operand: Raw, raw: Raw, wanted: Kind) -> Expression:
        """`(-a)` of reals, integers and lanes of reals, `(not a)` of truth values."""
        kinds = ("truth", "mask") if name == "not" else ("real", "integer", "vector")
        if wanted not in kinds or raw.vector != (wanted in LANES):
            self.mismatch(raw, wanted)
        return Unary("not" if name == "not" else "-", self.expression(operand, wanted), raw.vector)

    def binary(self, name: str, operands: Sequence[Raw], raw: Raw, wanted: Kind) -> Expression:
        """An operation of two operands between its parentheses."""
        operator = cast(BinaryOperator, name)
        if raw.vector != (wanted in LANES):
            self.mismatch(raw, wanted)
        if wanted in ("truth", "mask") and name in COMPARISONS:
            inner = self.kind(*operands) or ("integer" if wanted == "truth" else "wholes")
            if inner not in (("real", "integer") if wanted == "truth" else ("vector", "wholes")):
                compared = "reals and integers" if wanted == "truth" else "vectors of reals and of integers"
                self.fault(f"{compared} are compared, not {_named(inner)}", operands[0])
        elif wanted == "integer" and name in DIVISIONS:
            divisor = self.expression(operands[1], "integer")
            if not isinstance(divisor, Integer) or divisor.value < 1:
                self.fault("a divisor of integers is a positive literal", operands[1])
            return Binary(operator, self.expression(operands[0], "integer"), divisor)
        elif name in KIND_OPERATORS[wanted]:
            inner = wanted
        else:
            self.mismatch(raw, wanted)
        left, right = operands
        return Binary(operator, self.expression(left, inner), self.expression(right, inner), raw.vector)

    def call(self, name: str, arguments: Sequence[Raw], raw: Raw, wanted: Kind) -> Expression:
        """A function of its arguments."""
        arity = ARITY.get(name)
        if arity is None:
            message = f"there is no function `{shown(name)}`"
            raise fail("E9202", message, Span(self.source, raw.start, raw.end), did_you_mean(name, ARITY))
        if len(arguments) != arity:
            self.fault(f"`{name}` takes {arity} argument{'s' * (arity > 1)}, not {len(arguments)}", raw)
        if name == "splat":
            if wanted not in LANES or raw.vector:
                self.mismatch(raw, wanted)
            return Splat(self.expression(arguments[0], LANES[wanted]))
        if name == "ramp":
            return self.ramp(arguments, raw, wanted)
        if raw.vector != (wanted == "vector") or not self.yields(name, wanted):
            self.mismatch(raw, wanted)
        return Call(cast(FunctionName, name), self.arguments(name, arguments, raw, wanted), raw.vector)

    def ramp(self, arguments: Sequence[Raw], raw: Raw, wanted: Kind) -> Expression:
        """The integers from one on, in steps of a literal."""
        if wanted != "wholes" or raw.vector:
            self.mismatch(raw, wanted)
        first, step = (self.expression(each, "integer") for each in arguments)
        if not isinstance(step, Integer):
            self.fault("the step of a ramp is a literal", arguments[1])
        return Call("ramp", (first, step))

    def yields(self, name: str, wanted: Kind) -> bool:
        """Whether a function has a form of that kind."""
        if wanted == "vector":
            return name in VECTOR_FUNCTIONS
        return wanted == "real" or (wanted == "integer" and name in OPEN_FUNCTIONS)

    def arguments(self, name: str, arguments: Sequence[Raw], raw: Raw, wanted: Kind) -> tuple[Expression, ...]:
        """The arguments of a function that is to yield that kind."""
        if name == "select":
            chosen = tuple(self.expression(each, wanted) for each in arguments[1:])
            return (self.expression(arguments[0], "mask" if wanted == "vector" else "truth"), *chosen)
        if name in CONVERSIONS:
            if name == "f64" and self.arithmetic == "f32":
                self.fault("reals of an f32 kernel are f32: f64(x) has no meaning here", raw)
            whole: Kind = "integer" if wanted == "real" else "wholes"
            inner = whole if self.kind(arguments[0]) in (None, whole) else wanted
            if name == "f64" and inner == "vector":
                self.fault("reals are f64 here: `f64` of a vector has no form", raw)
            return (self.expression(arguments[0], inner),)
        return tuple(self.expression(each, wanted) for each in arguments)

    def mismatch(self, raw: Raw, wanted: Kind) -> NoReturn:
        """Says what was wanted and what was found."""
        found = self.kind(raw)
        message = f"expected {_named(wanted)}"
        self.fault(message if found in (None, wanted) else f"{message}, found {_named(found)}", raw)

    def fault(self, message: str, at: Raw | RawAccess, code: str = "E9202") -> NoReturn:
        """Raises the diagnostic of a type that doesn't fit."""
        raise fail(code, message, Span(self.source, at.start, at.end))


_NAMES: dict[Kind, str] = {
    "real": "a real",
    "integer": "an integer",
    "truth": "a truth value",
    "vector": "a vector",
    "wholes": "a vector of integers",
    "mask": "a vector of truth values",
}


def _named(kind: Kind) -> str:
    return _NAMES[kind]
