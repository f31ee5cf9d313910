"""What people who know other languages type, and what PSK writes instead.

Tables only: the parser recognizes these words and operators where nothing of PSK fits, reports them with the hint, and
reads on as if the right one stood there.
"""

from __future__ import annotations

FOREIGN_WORDS = {
    "return": "the last expression of a block is its value: leave `return` out",
    "def": "a function is declared by `fn name(x: real) -> real { … }`",
    "func": "a function is declared by `fn name(x: real) -> real { … }`",
    "function": "a function is declared by `fn name(x: real) -> real { … }`",
    "class": "a record of parameters with functions is declared by `module Name { … }`",
    "struct": "a record is abbreviated by `type Name = {x: real, y: real}`",
    "lambda": "there are no closures: declare a function and pass its name",
    "for": "a loop is `fold x = x0 over i in 0..N { … }`, or `scan` to keep every round's value",
    "while": "trip counts are known beforehand: use `fold … over i in 0..N { … }`",
    "elif": "write `else if`",
    "var": "a local is bound by `let x = …`",
    "mut": "a local never changes: bind the name anew by `let`",
    "pass": "a block ends in its value",
    "assert": "sizes are checked by types, values by the reference",
    "yield": "`scan` gives every round's value",
    "export": "every declaration can be imported: leave `export` out",
    "pub": "every declaration can be imported: leave `pub` out",
    "then": "write `if c { a } else { b }`",
    "is": "`==` compares",
}
"""A word that is a plain name in PSK, and the hint where it is used as in its own language."""

STATEMENT_WORDS = frozenset(
    {"return", "def", "for", "while", "class", "var", "assert", "yield", "elif", "struct", "func", "function"}
)
"""Those that begin a statement or declaration of their own language."""

FOREIGN_VALUES = {
    "True": "write `true`",
    "False": "write `false`",
    "None": "there is no absent value in PSK; `()` is the empty tuple",
}

FOREIGN_OPERATORS = {
    "&&": ("and", "write `and`"),
    "||": ("or", "write `or`"),
    "&": ("and", "write `and`"),
    "|": ("or", "write `or`"),
    "^": ("**", "a power is written `x ** n`"),
    "@": ("*", "a matrix product is `dot(x, w)`, `matmul(a, b)` or `ein[…](a, b)`"),
    "%": ("//", "a remainder is `i - i // n * n`"),
}
"""A binary operator of another language: the one whose precedence it takes here, and the hint."""

FOREIGN_PREFIXES = {
    "!": "write `not`",
    "~": "write `not`",
    "+": "a unary plus does nothing: leave it out",
}
