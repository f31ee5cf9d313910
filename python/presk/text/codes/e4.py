"""Codes E4xxx: binding an entry."""

from presk.text.codes import Code

CODES: dict[str, Code] = {
    "E4001": Code(
        "free dimensions",
        "To run, every size must be a number. The message lists the dimensions that neither the arguments nor `--dim` "
        "tell; from Python they are `dims={…}`. `..` counts as the one dimension `batch`.",
        "presk dump examples/tutorial/01_linear.psk --stage core --entry 'Linear{3, 2}.apply'",
    ),
    "E4002": Code(
        "no such entry",
        "An entry is a function with its parameters bound: `Linear{3, 2}.apply`, `mse`, `adamw.step[MiniGPT]`. A "
        "module without parameters needs no braces, and a function that takes a function can't be an entry. `presk "
        "check` lists a program's entries.",
        "presk dump examples/tutorial/01_linear.psk --stage core --entry 'Linear{3, 2}.forward'",
    ),
    "E4003": Code(
        "not a whole number",
        "A size, or another whole number known when an entry is bound, would be a fraction. `/` between sizes must "
        "be exact; `//` rounds down.",
        "fn f(x: real[d: 10]) -> real[h: 4, d: 10 / 4] { split[h: 4, d](x, axis = d) }    # 10 / 4 is 2.5",
    ),
    "E4004": Code(
        "a size that is none",
        "A size would be negative, or no whole number, at the numbers the entry is bound at.",
        "fn f(x: real[n: 2]) -> real[m: 2 - 3] { x }",
    ),
    "E4005": Code(
        "a number too large to keep exactly",
        "Constants and sizes are exact until they are read. One whose exact form has thousands of digits, or a size "
        "of more than a thousand terms or of 2 ** 62 and more, is refused. A power of a real number is not concerned: "
        "it is kept as a power.",
        "const A = 10 ** 3000",
    ),
    "E4006": Code(
        "an undefined constant",
        "An expression of numbers only is outside its domain: a division by zero, the root or logarithm of a "
        "negative number.",
        "const A = 1 / (2 - 2)",
    ),
    "E4007": Code(
        "no such constant",
        "`--const` overrides a constant that the program declares, or imports by its name; this one it does not.",
        "presk check examples/minigpt/minigpt.psk --const WIDTH=8",
    ),
    "E4008": Code(
        "no such dimension",
        "`--dim` binds a dimension of the entry's signature. Constants are overridden by `--const`, module parameters "
        "stand in the entry's braces.",
        "presk dump examples/tutorial/01_linear.psk --stage core --entry 'Linear{3, 2}.apply' --dim bach=4",
    ),
    "E4009": Code(
        "maps inside of maps over very many leaves",
        "A `map` whose body holds a derivative, a loop or another map is written leaf by leaf when an entry is bound. "
        "Maps inside of each other multiply their leaves, and a program may have 10000 such bodies.",
        "type T = {a: real, b: real, c: real, d: real, e: real, f: real, g: real, h: real, i: real, j: real}\n"
        "fn f(t: T) -> T {\n"
        "  map(p = t) { p + map(q = t) { q + map(r = t) { r + map(s = t) { s + map(u = t) { u + u }.a }.a }.a }.a }\n"
        "}",
    ),
    "E4020": Code(
        "a constant that is no exact number",
        "A constant is overridden by an exact number: a whole number, a decimal, a fraction such as 1/3, or from "
        "Python an int, Fraction, Decimal or float, which means its shortest decimal. Infinities and numbers of "
        "thousands of digits are refused.",
        "presk run examples/minigpt/minigpt.psk --entry MiniGPT.apply --const D=many",
    ),
    "E4021": Code(
        "no entry named",
        "A command or a call needs the name of a function, and the program has several, or none. `presk check` lists "
        "them.",
        "presk run examples/minigpt/minigpt.psk",
    ),
    "E4022": Code(
        "no module to draw",
        "`init` draws the parameters of the modules an entry takes; this one takes none.",
        "presk.compile('examples/tutorial/03_attention.psk:scores').init()",
    ),
}
