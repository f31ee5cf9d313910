"""Codes E1xxx: text and syntax."""

from presk.text.codes import Code

CODES: dict[str, Code] = {
    "E1001": Code(
        "not UTF-8",
        "A text file of presk is UTF-8. The message gives the first byte that isn't, and its offset in the file. "
        "Files of an editor that saves in Latin-1 or UTF-16 are the usual case; a byte order mark is accepted.",
        "const V = 64    # naïve, saved in Latin-1",
    ),
    "E1002": Code(
        "a control character",
        "Control characters, and those that make an editor show text in another order than it is read, have no place "
        "in a program, comments and strings included. A string writes them by an escape.",
        "const V = 64\x7f",
    ),
    "E1003": Code(
        "a character that isn't PSK's",
        "Names and operators are ASCII. Letters of other alphabets, typographic quotes and signs such as × are "
        "reported with what to write instead; they are welcome in comments and strings. A comment begins with #.",
        "fn f(x: real) -> real { 2 × x }",
    ),
    "E1004": Code(
        "a source that is too large",
        "A source has at most 4 194 304 characters, which is a program of some hundred thousand lines.",
        "# a file of some ten megabytes",
    ),
    "E1005": Code(
        "a string without an end",
        'A string begins and ends with `"` on one line. A line break in it is written `\\n`.',
        'import "models/bert.psk as bert',
    ),
    "E1006": Code(
        "an escape that isn't one",
        r"The escapes of a string are `\n`, `\t`, `\r`, `\\`, `\"` and `\u{…}` with a character's hexadecimal number. "
        "A path on Windows is written with / or with two backslashes.",
        r'import "models\bert.psk" as bert',
    ),
    "E1007": Code(
        "a number that isn't one",
        "Integers are decimal, `12` or `1_000`, without leading zeros; reals have digits on both sides of the point, "
        "`1.5` or `3e-4`. A literal is an exact number and carries no machine type.",
        "const RATE = .5",
    ),
    "E1008": Code(
        "a literal that is too large",
        "A literal is an exact number, so its size is bounded: 1 000 digits, an exponent of at most ±3 000, and six "
        "digits for a position in a tuple.",
        "const HUGE = 1e9999",
    ),
    "E1009": Code(
        "nested too deeply",
        "Brackets, operators and blocks may be nested 100 levels deep; a sum of n terms counts as n − 1 levels. Name "
        "parts by `let`, or move them to functions.",
        "const V = " + "(" * 101 + "1" + ")" * 101,
    ),
    "E1010": Code(
        "something else was expected",
        "The text can't go on like this. The message names what could stand here and what does; where it is a habit "
        "from another language, the hint says what PSK writes.",
        "fn f(x: real) -> real { let y: real = x; y }",
    ),
    "E1011": Code(
        "a bracket that is never closed",
        "The caret points at the bracket, the note at the place where its end is missing at the latest. Where a brace "
        "is forgotten, indentation decides which one is blamed.",
        "fn f(x: real) -> real { exp(x }",
    ),
    "E1012": Code(
        "a bracket that closes nothing",
        "A closing bracket has no opening one, or one of another kind.",
        "fn f(x: real) -> real { exp(x] }",
    ),
    "E1013": Code(
        "a keyword as a name",
        "Keywords are reserved: `as along and bool const else fn fold from if import in let map module nat not or over "
        "real scan self train true false type with` can't name a parameter, a field or an axis.",
        "fn f(over: real) -> real { 1 }",
    ),
    "E1014": Code(
        "an operator of another language",
        "PSK writes `and`, `or`, `not`, and `**` for powers. A matrix product is `dot`, `matmul` or `ein`, so that the "
        "axes it sums over are told. A unary plus does nothing and is refused.",
        "fn f(x: real[n, m], y: real[m]) -> real[n] { x @ y }",
    ),
    "E1015": Code(
        "chained comparisons",
        "`a < b < c` means different things in different languages, so it means nothing here: join two comparisons by "
        "`and`.",
        "fn f(x: real[n]) -> bool[n] { 0 < x < 1 }",
    ),
    "E1016": Code(
        "an expression whose value is lost",
        "Only the last expression of a block is its value, and nothing else has an effect. Most often a line begins "
        "with an operator that should end the line before: a line break ends a statement unless it stands in brackets "
        "or behind an operator.",
        "fn f(x: real, y: real) -> real {\n  x\n  - y\n}",
    ),
    "E1017": Code(
        "a block without a value",
        "A block is `let`s and a last expression, its value.",
        "fn f(x: real) -> real { let y = x * x }",
    ),
    "E1018": Code(
        "`=` where nothing is bound",
        "`let x = …` binds a name, anew if there is one already; nothing is ever assigned to. `==` compares.",
        "fn f(x: real) -> real { x = x + 1; x }",
    ),
    "E1019": Code(
        "a construct of another language",
        "What Python, Rust or C write here PSK writes otherwise, as the hint says: `fn` for a function, `module` for a "
        "class, `fold` and `scan` for loops, a block's last expression for `return`. Declarations stand at the top of "
        "a file, functions in a module too; there are no closures.",
        "fn f(x: real) -> real { return x }",
    ),
    "E1020": Code(
        "two statements without an end between",
        "Statements, members and declarations end at a line break or a `;`.",
        "const V = 64 const D = 16",
    ),
    "E1021": Code(
        "a signature that isn't complete",
        "The types of a function's parameters are stated, and the type of its result, if it is, follows `->`. A "
        "module's parameter has a type as well.",
        "fn f(x) -> real { x }",
    ),
    "E1022": Code(
        "arguments out of order",
        "Positional arguments come before those with a name; in a module's braces, nat parameters before real ones.",
        "fn f(x: real[n, m]) -> real[n] { sum(axis = 1, x) }",
    ),
    "E1023": Code(
        "a list or string in an expression",
        "Lists and strings are values of train blocks; a string also names a file to import. Several tensors become "
        "one by `stack[n](a, b)`, several values are a tuple.",
        "fn f(x: real) -> real[2] { [x, x] }",
    ),
    "E1024": Code(
        "a range out of place",
        "`a..b` stands in an index, `x[seq = 0..4]`, or behind the `in` of a loop. In a type `..` stands for leading "
        "axes and comes first.",
        "fn f(x: real[n, ..]) -> real { sum(x) }",
    ),
    "E1025": Code(
        "a brace in the wrong place",
        "A brace directly after a name holds module parameters, `Linear{I, O}`; one after a space begins a body.",
        "module Linear {I, O} { w: real[I, O] = zeros }",
    ),
    "E1026": Code(
        "an import that can't be",
        'The forms are `import nn`, `from nn import Linear, LayerNorm` and `import "models/bert.psk" as bert`.',
        "from nn import *",
    ),
    "E1027": Code(
        "an index of another language",
        "An index names its axis: `x[seq = i]`, `x[seq = a..b]`, or by position `x[0 = i]`. Axes that aren't named "
        "are kept whole. A bracket without `=` holds new axes, `zeros[n, m]`.",
        "fn f(x: real[n]) -> real[n] { x[1:3] }",
    ),
    "E1028": Code(
        "a record that isn't one",
        "A record gives each field its value, `{x = a, y = b}`; its type gives each its type, `{x: real, y: real}`; an "
        "update changes some, `{r with x = a}`. Each has at least one field.",
        "fn f(x: real, y: real) -> {x: real, y: real} { {x, y} }",
    ),
    "E1029": Code(
        "an `if` without an `else`",
        "An `if` is an expression that chooses between two values of one type, so both ways need one.",
        "fn f(x: real, n: nat) -> real { if n == 0 { x } }",
    ),
}
