"""Codes E4xxx: binding an entry."""

from presk.text.codes import Code

CODES: dict[str, Code] = {
    "E4003": Code(
        "not a whole number",
        "A size, or another whole number known when an entry is bound, would be a fraction. `/` between sizes must "
        "be exact; `//` rounds down.",
        "fn f(x: real[d: 10]) -> real[h: 4, d] { split[h: 4, d](x) }    # 10 / 4",
    ),
    "E4004": Code(
        "a size that is none",
        "A size would be negative, or no whole number, at the numbers the entry is bound at.",
        "fn f(x: real[n: 2]) -> real[m: 2 - 3] { x }",
    ),
    "E4005": Code(
        "a number too large to keep exactly",
        "Constants and sizes are exact until they are read. One whose exact form has thousands of digits, or a "
        "size of more than a thousand terms, is refused. A power of a real number is not concerned: it is kept as "
        "a power.",
        "const A = 10 ** 3000",
    ),
    "E4006": Code(
        "an undefined constant",
        "An expression of numbers only is outside its domain: a division by zero, the root or logarithm of a "
        "negative number.",
        "const A = 1 / (2 - 2)",
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
