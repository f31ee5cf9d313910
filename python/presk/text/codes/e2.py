"""Codes E2xxx: names and imports."""

from presk.text.codes import Code

CODES: dict[str, Code] = {
    "E2001": Code(
        "a name that means nothing here",
        "No local, parameter, dimension, declaration, import or primitive has this name, or what stands before the dot "
        "has no such field. Names are looked for in this order. The hint names what is spelled like it, or what PSK "
        "calls a thing of another library.",
        "fn f(x: real[n]) -> real { sun(x) }    # sum(x)",
    ),
    "E2002": Code(
        "a name given twice",
        "Declarations and imports of one file have different names, and so have parameters, fields and a module's "
        "members. Locals are another matter: `let x = …` may hide whatever was called x before.",
        "const D = 16\nmodule D { w: real = zeros }",
    ),
    "E2003": Code(
        "a file that can't be imported",
        "`import nn` looks for nn.psk beside the importing file, then in the library; a path is relative to the "
        "importing file. There is no such file, it is not a file, or the operating system refuses to read it.",
        "import neural",
    ),
    "E2004": Code(
        "files that import each other",
        "What a file imports must be complete before the file itself is read, so imports form no cycle. Move what both "
        "need to a third file.",
        "import example    # in example.psk",
    ),
    "E2005": Code(
        "a declaration with a primitive's name",
        "Primitives are not declared anywhere and can't be declared anew: `sum` means the same in every program. A "
        "local may have any name.",
        "fn softmax(x: real[n]) -> real[n] { exp(x) / sum(exp(x)) }",
    ),
    "E2006": Code(
        "recursion",
        "A function that calls itself, directly or through others; or a module, a type or a constant that contains "
        "itself. A program is finite before it runs: what is repeated is a `fold` or `scan` over a range, an axis or "
        "layers. The caret points at a call that closes the cycle.",
        "fn power(x: real, n: nat) -> real { if n == 0 { 1 } else { x * power(x, n - 1) } }",
    ),
    "E2007": Code(
        "a file that is too large",
        "A source file has at most 4 194 304 bytes.",
        "import big    # a file of some ten megabytes",
    ),
    "E2008": Code(
        "nested too deeply",
        "Expressions, types and calls stand inside each other at most 120 levels deep, those of the functions through "
        "which a place is reached counted. A function whose result is stated is not looked into while its callers are "
        "checked, so that stating results shortens chains. No program written by hand comes near the limit.",
        "# a function calls a function that calls a function …, none with a stated result, a hundred times",
    ),
    "E2009": Code(
        "a fault that follows from another",
        "What is used here does not check itself. It is told where that is; this is shown only where nothing else is.",
        "# `f` does not check, and `g` calls it",
    ),
}
