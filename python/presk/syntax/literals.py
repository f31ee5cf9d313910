"""The values of literals: exact decimals, strings with escapes, tuple indices. All of bounded size."""

from __future__ import annotations

import re
from fractions import Fraction

from presk.syntax import tree
from presk.syntax.reader import Reader
from presk.text.cursor import shown
from presk.text.lexer import Token

DIGIT_LIMIT = 1000
"""Digits of one literal."""

EXPONENT_LIMIT = 3000
"""The size of a literal's exponent: with DIGIT_LIMIT it keeps every literal printable by Python, which stops at
4300."""

INDEX_DIGITS = 6
"""Digits of a tuple index or an axis position."""

_ESCAPE = re.compile(r"\\(?:u\{([^}]*)\}|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"'}


class LiteralReader(Reader):
    """Reads literals into nodes and values."""

    def nat(self) -> tree.Expr:
        """`12`, `1_000`."""
        token = self.advance()
        span = self.span_of(token)
        digits = token.text.replace("_", "")
        if len(digits) > DIGIT_LIMIT:
            self.report("E1008", f"this literal has {len(digits)} digits, at most {DIGIT_LIMIT} are read", span)
            digits = "0"
        if len(digits) > 1 and digits.startswith("0"):
            plain = digits.lstrip("0") or "0"
            self.report("E1007", f"`{shown(token.text)}` begins with a zero", span, f"write `{shown(plain)}`")
        return tree.NatLiteral(span, int(digits), token.text)

    def real(self) -> tree.Expr:
        """`1.5`, `3e-4`: exactly."""
        token = self.advance()
        span = self.span_of(token)
        mantissa, _, exponent = token.text.replace("_", "").lower().partition("e")
        if len(mantissa) > DIGIT_LIMIT + 1:
            self.report("E1008", f"this literal has {len(mantissa) - 1} digits, at most {DIGIT_LIMIT} are read", span)
            return tree.RealLiteral(span, Fraction(0), token.text)
        sizes = exponent.lstrip("+-").lstrip("0")
        if len(sizes) > INDEX_DIGITS or int(sizes or "0") > EXPONENT_LIMIT:
            self.report("E1008", f"this literal's exponent is beyond ±{EXPONENT_LIMIT}", span)
            return tree.RealLiteral(span, Fraction(0), token.text)
        whole, _, decimals = mantissa.partition(".")
        value = Fraction(int(whole + decimals), 10 ** len(decimals)) * Fraction(10) ** int(exponent or "0")
        return tree.RealLiteral(span, value, token.text)

    def truth(self) -> tree.Expr:
        """`true`, `false`."""
        token = self.advance()
        return tree.BoolLiteral(self.span_of(token), token.kind == "true")

    def tuple_index(self, token: Token) -> int:
        """The value of `.0` or of an axis position."""
        digits = token.text.lstrip(". \t").replace("_", "")
        if len(digits) > INDEX_DIGITS:
            self.report("E1008", f"this position has more than {INDEX_DIGITS} digits", self.span_of(token))
            return 0
        return int(digits)

    def string_value(self, token: Token) -> str:
        """The characters a string literal stands for."""

        def replace(match: re.Match[str]) -> str:
            code, letter = match.groups()
            if letter in _ESCAPED:
                return _ESCAPED[letter]
            if code and re.fullmatch("[0-9A-Fa-f]{1,6}", code):
                point = int(code, 16)
                if point <= 0x10FFFF and not 0xD800 <= point <= 0xDFFF:
                    return chr(point)
            start = token.start + 1 + match.start()
            span = self.span_of(token._replace(start=start, end=start + len(match.group())))
            hint = r"the escapes are \n, \t, \r, \\, \" and \u{…} with a code point in hexadecimal"
            self.report("E1006", f"`{shown(match.group())}` is no escape", span, hint)
            return ""

        return _ESCAPE.sub(replace, token.text[1:-1])
