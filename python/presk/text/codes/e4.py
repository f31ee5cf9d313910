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
}
