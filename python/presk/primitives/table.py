"""What a row of the table of primitives is, and how a shape rule is asked.

A row says all that the front end needs to know of a primitive: its operands, its keywords with their defaults,
whether it takes new axes in brackets, its shape rule and its doc line. Every later pass keeps its own rules by the
primitive's name; a test joins those tables with this one. The rows themselves stand in the files beside this one, a
file a family; `presk.primitives.all` collects them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from presk.shapes.constants import Constant
from presk.shapes.types import AxisOrRun, Type

Kind = Literal["real", "nat", "bool", "number", "alike", "any", "tree"]
"""What an operand takes. `real`: a real, a nat is injected. `number`: a real or a nat, kept as it is, unless another
`number` operand of the call is real: then all are. `alike`: as `number`, or all of them bool. `any`: any tensor.
`tree`: any value."""

KeywordKind = Literal["axis", "axes", "order", "nat", "int", "real", "word", "names"]
"""`axis`: one axis by name or position · `axes`: one or several, or all where the default is None · `order`: several
whose
order counts · `nat`: a size · `int`: a whole number of either sign · `real`: an exact constant · `word`: one of
`Keyword.words` · `names`: free keywords `old = new`, a tuple of pairs (rename's)."""

NewAxes = Literal["none", "sizes", "labels", "sizes_or_label"]
"""What brackets behind the name hold: nothing · axes with sizes (`zeros[n]`) · bare words that are names, sizes
following
from the operands (`ein`, `stack`, `merge`) · sizes where at most one bare word is only a name (`split`)."""

Attribute = None | bool | int | str | Constant | tuple[int, ...] | tuple[AxisOrRun, ...] | tuple[tuple[str, ...], ...]
"""A keyword's value in normal form. An axis is its index in the operand's `axes` (a run counts as one entry); several
are a sorted tuple, all of them is None; an `order` is a tuple as given. New axes are `new`: a tuple of Axis with
sizes, those that follow from the operands filled in (`..` is a Run). `ein` has `out`, a tuple holding one tuple of
names, and `labels`, a tuple of names for each operand. A `nat` or `int` is an int once bound, a Constant while
symbolic. A draw has `draw`. A product in an adjoint has `cotangent`, the operand that is one: where that is exactly 0
the term is 0, whatever the other operand is."""

Attributes = Mapping[str, Attribute]


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand. `default` makes it optional; `scalar` allows rank 0 only; the last one may be `variadic`."""

    name: str
    kind: Kind = "real"
    default: Constant | None = None
    optional: bool = False
    scalar: bool = False
    variadic: bool = False


@dataclass(frozen=True, slots=True)
class Keyword:
    """One keyword argument. Without a default it must be given (`required`). An axis refers to operand `of`."""

    name: str
    kind: KeywordKind
    default: Attribute = None
    required: bool = False
    words: tuple[str, ...] = ()
    of: int = 0


class Misfit(Exception):
    """A call that its primitive's shape rule refuses: a code, a sentence, and a hint where it helps.

    `about` is the operand or keyword that it is about, where it is about one.
    """

    def __init__(self, code: str, message: str, hint: str | None = None, about: str | None = None) -> None:
        super().__init__(message)
        self.about = about
        self.code = code
        self.message = message
        self.hint = hint


Rule = Callable[[tuple[Type, ...], Attributes], Type]
"""The result's type from the operands' types and the attributes. Raises Misfit or `shapes.align.Misaligned`."""


@dataclass(frozen=True, slots=True)
class Primitive:
    """One row of the table. An `internal` one is made by passes and can't be written in a program.

    `positional` names what may be given by position, in order (empty: the operands); all else is given by keyword. A
    `product`'s terms are products or quotients of its two operands: an adjoint marks which one is the cotangent.
    """

    name: str
    family: str
    operands: tuple[Operand, ...]
    rule: Rule
    doc: str
    keywords: tuple[Keyword, ...] = ()
    new_axes: NewAxes = "none"
    internal: bool = False
    draws: bool = False
    product: bool = False
    positional: tuple[str, ...] = ()
