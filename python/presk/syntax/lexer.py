"""The tokens of PSK.

Kinds: `name`, `integer`, `decimal`, `string`, `index` (`.0`), and every keyword and operator under its own text.
Operators of other languages are tokens too, so that the parser can say what PSK writes instead. Called by the parser
and the formatter.
"""

from __future__ import annotations

import re

from presk.text.cursor import shown
from presk.text.diagnostics import Diagnostic
from presk.text.lexer import Lexicon, Scan, scan
from presk.text.sources import verify
from presk.text.spans import Source, Span

DECLARATION_WORDS = frozenset({"import", "from", "const", "type", "module", "fn", "train"})

KEYWORDS = DECLARATION_WORDS | {
    *("as", "let", "if", "else", "fold", "scan", "map", "over", "in", "along", "with"),
    *("and", "or", "not", "true", "false", "real", "nat", "bool", "self"),
}
"""Reserved: none of these can name anything."""

_DIGITS = r"[0-9]+(?:_[0-9]+)*"

_PATTERN = re.compile(
    r"""[ \t\ufeff]*(?:
      (?P<newline>(?:\r\n?|\n)[ \t\r\n]*)
    | (?P<comment>\#[^\r\n]*)
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*(?!\w))
    | (?P<index>\.[ \t]*[0-9]+(?!\w))
    | (?P<bad_comment>/\*[^\r\n]*?(?:\*/|(?=[\r\n]|\Z)))
    | (?P<operator>\*\*|//|==|!=|<=|>=|->|=>|&&|\|\||\.\.|[-+*/<>=()\[\]{},;:.@!%^&|~?])
    | (?P<decimal>DIGITS\.DIGITS(?:[eE][+-]?DIGITS)?(?!\w)|DIGITS[eE][+-]?DIGITS(?!\w))
    | (?P<integer>DIGITS(?!\w|\.[0-9]))
    | (?P<string>"(?:[^"\\\r\n]|\\[^\r\n])*")
    | (?P<bad_string>"(?:[^"\\\r\n]|\\[^\r\n])*\\?)
    | (?P<bad_quote>'[^'\r\n]*'?|[“”][^“”"\r\n]*[“”"])
    | (?P<bad_number>[0-9](?:\w|\.(?=\w))*)
    | (?P<bad_word>\w+)
    | (?P<bad_character>[^ \t\ufeff])
    )""".replace("DIGITS", _DIGITS),
    re.VERBOSE,
)

_LEXICON = Lexicon(_PATTERN, KEYWORDS)

_LOOK_ALIKES = {
    "−": "-", "–": "-", "—": "-", "×": "*", "·": "*", "⋅": "*", "∗": "*", "÷": "/", "≤": "<=", "≥": ">=", "≠": "!=",
    "→": "->", "…": "..", "∧": "and", "∨": "or", "¬": "not", "（": "(", "）": ")", "，": ",", "：": ":", "；": ";",
}  # fmt: skip

_NUMBER_HINTS = (
    (re.compile(r"0[xXbBoO]\w*"), "integers are decimal"),
    (re.compile(r"\d+[fFdDlLuUjJ]\d*|[\d.]+[fFdDlLjJ]"), "a literal is an exact number and has no machine type"),
    (re.compile(r".*(__|_$|_\.|_[eE])"), "an underscore stands between two digits"),
    (re.compile(r"[\d.]+[eE]"), "an exponent has digits, as in 3e-4"),
)


def tokenize(source: Source) -> tuple[Scan, list[Diagnostic]]:
    """The tokens and comments of a program, and what is wrong with its characters.

    Faults don't end the scan: what stands there is skipped or read as what it looks like. A source that is too large
    gives its one diagnostic and no tokens.
    """
    found = list(verify(source))
    if found and found[0].span is None:
        return scan(Source(source.name, ""), _LEXICON, lambda kind, match: None), found
    seen = {diagnostic.span.start for diagnostic in found if diagnostic.span is not None}

    def fault(kind: str, match: re.Match[str]) -> tuple[str, str] | None:
        span = Span(source, match.start(kind), match.end(kind))
        diagnostic, replacement = _fault(kind, match.group(kind), span)
        if span.start not in seen:
            found.append(diagnostic)
        return replacement

    result = scan(source, _LEXICON, fault)
    return result, found


def _fault(kind: str, text: str, span: Span) -> tuple[Diagnostic, tuple[str, str] | None]:
    """The diagnostic of a fault, and the token to go on with."""
    if kind == "bad_comment":
        return Diagnostic("E1003", "`/*` does not begin a comment", span, "a comment begins with #"), None
    if kind == "bad_string":
        return Diagnostic("E1005", "this string has no end on its line", span, 'close it with `"`'), ("string", '""')
    if kind == "bad_quote":
        hint = 'a string stands between two `"`'
        return Diagnostic("E1003", f"`{text[0]}` does not begin a string", span, hint), ("string", '""')
    if kind == "bad_number":
        hint = next((hint for form, hint in _NUMBER_HINTS if form.match(text)), None)
        return Diagnostic("E1007", f"`{shown(text)}` is not a number", span, hint), ("integer", "0")
    if kind == "bad_word":
        hint = "a name consists of the letters A to Z, a to z, digits and _"
        return Diagnostic("E1003", f"`{shown(text)}` is not a name", span, hint), ("name", text)
    alike = _LOOK_ALIKES.get(text)
    if alike is not None:
        message = f"`{text}` (U+{ord(text):04X}) is not a character of PSK"
        return Diagnostic("E1003", message, span, f"write `{alike}`"), (alike, alike)
    if text.isspace():
        message = f"a blank that is no space (U+{ord(text):04X}) stands here"
        return Diagnostic("E1003", message, span, "write a space"), None
    named = f"`{text}` (U+{ord(text):04X})" if text.isprintable() else f"U+{ord(text):04X}"
    return Diagnostic("E1003", f"{named} is not a character of PSK", span), None
