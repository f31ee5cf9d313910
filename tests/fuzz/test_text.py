"""Malformed programs by the thousand: each ends in a diagnostic, and what parses formats to the same program.

`PRESK_FUZZ` is the number of cases in all; each sweep takes a share that its cost allows. The seeds are fixed, so that
a failure names its case.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from itertools import pairwise

import pytest
from tests.unit.syntax.trees import PROGRAMS, shape

from presk.syntax import formatter
from presk.syntax.formatter import WIDTH, format_source
from presk.syntax.lexer import KEYWORDS, tokenize
from presk.syntax.parser import parse, parse_entry, parse_expression
from presk.text.diagnostics import PreskError
from presk.text.sources import decode
from presk.text.spans import Source

CASES = int(os.environ.get("PRESK_FUZZ", "1000"))
SLOWEST = 5.0
"""Seconds of its own that no single case may take, on any machine that is not broken; others may keep it waiting."""

TEXTS = [path.read_text("utf-8") for path in PROGRAMS]

SOUP = [
    *sorted(KEYWORDS),
    *("( ) [ ] { } , ; : . .. -> = == != < <= > >= + - * / // ** @ ! && || ^ % ~ ? => & |".split()),
    *("x y N Linear grad return def lambda elif True None .0 .1 0 12 1_0 1.5 3e-4 1e9999 007 1. 0x1".split()),
    *('"a" "\\n" "\\q" "open \'q\' # ## $ ` \\ × − ≤ “ ” ä \u00a0 \u202e \x00 \ud800 \ufeff \r \n \t \r\n'.split(" ")),
]


def pieces(text: str) -> list[str]:
    """The tokens of a text, each with what stands before it."""
    tokens = tokenize(Source("x", text))[0].tokens
    ends = [0, *(token.end for token in tokens)]
    return [text[start:stop] for start, stop in pairwise(ends)]


PIECES = [pieces(text) for text in TEXTS]


def soup(rng: random.Random) -> str:
    return rng.choice(["", " "]).join(rng.choice(SOUP) for _ in range(rng.randrange(1, 60)))


def characters(rng: random.Random) -> str:
    return "".join(chr(rng.randrange(rng.choice([128, 0x3000, 0x110000]))) for _ in range(40))


def window(rng: random.Random) -> list[str]:
    """Some hundred tokens of a program."""
    program = rng.choice(PIECES)
    start = rng.randrange(max(1, len(program) - 20))
    return program[start : start + rng.randrange(10, 200)]


def mutated(rng: random.Random) -> str:
    """A piece of a program with some of its tokens deleted, doubled, swapped or replaced."""
    found = window(rng)
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(found))
        change = rng.randrange(5)
        if change == 0:
            del found[at]
        elif change == 1:
            found.insert(at, found[at])
        elif change == 2:
            other = rng.randrange(len(found))
            found[at], found[other] = found[other], found[at]
        elif change == 3:
            found[at] = " " + rng.choice(SOUP)
        else:
            found.insert(at, rng.choice(["\n", "\n\n", " # c\n", "\n# c\n", ";", " "]))
        if not found:
            break
    return "".join(found)


def nested(rng: random.Random) -> str:
    openers = ["(", "[", "{", "f(", "x[i = ", "{a = ", "if c { ", "-", "not ", "1 + (", "real[", "\nfn f() {"]
    opened = "".join(rng.choice(openers) for _ in range(3))
    closed = "".join(rng.choice([")", "]", "}", "} else { y }", ""]) for _ in range(2))
    depth = rng.choice([3, 10, 30, 33, 34, 35, 300])
    return rng.choice(["", "fn f() { ", "type T = "]) + opened * depth + "x" + closed * depth


def literal(rng: random.Random) -> str:
    digits = "".join(rng.choice("0123456789_.eE+-") for _ in range(rng.choice([3, 8, 2000])))
    return f"const V = {rng.randrange(10)}{digits}\nconst W = t.{digits}"


SHARES: dict[Callable[[random.Random], str], float] = {
    soup: 0.18, characters: 0.05, mutated: 0.2, nested: 0.02, literal: 0.01,
}  # fmt: skip


def refusal(run: Callable[[], object]) -> PreskError | None:
    """The diagnostics this ends in, or None. Anything else that is raised goes through."""
    try:
        run()
    except PreskError as error:
        return error
    return None


def check_refusal(run: Callable[[], object]) -> bool:
    """Whether this is refused, by diagnostics of this family that can be shown."""
    error = refusal(run)
    if error is not None:
        assert all(each.code.startswith("E1") for each in error.diagnostics)
        error.render().encode()
    return error is not None


@pytest.mark.parametrize("make", SHARES)
def test_any_text_is_read_or_refused(make: Callable[[random.Random], str]) -> None:
    for case in range(max(1, int(CASES * SHARES[make]))):
        text = make(random.Random(f"{make.__name__} {case}"))
        began = time.thread_time()
        source = Source("x", text)
        _, found = parse(source)
        assert len(found) <= 20
        for each in found:
            each.render().encode()
            assert each.span is None or 0 <= each.span.start <= each.span.end <= len(text)
        if not found or case % 8 == 0:
            assert check_refusal(lambda source=source: format_source(source)) == bool(found)
            check_refusal(lambda source=source: parse_expression(source))
            check_refusal(lambda text=text: parse_entry(text))
        assert time.thread_time() - began < SLOWEST, (make.__name__, case)


def test_any_bytes_are_read_or_refused() -> None:
    for case in range(max(1, int(CASES * 0.02))):
        rng = random.Random(f"bytes {case}")
        data = bytearray(mutated(rng).encode("utf-8", errors="surrogatepass"))
        for _ in range(rng.randrange(3)):
            data.insert(rng.randrange(len(data) + 1), rng.randrange(256))
        check_refusal(lambda data=data: parse(decode("x", bytes(data))))


PIECES_WITHOUT_END = ["(", "{", "[", "f(\nfn ", "if c {\n", "a.", "-", "1 ", "$ ", "x = ", '"', "/*\n", "};", "\n;"]


@pytest.mark.slow
@pytest.mark.parametrize("piece", PIECES_WITHOUT_END)
def test_the_time_grows_no_faster_than_the_text(piece: str) -> None:
    for closing in ("", ")", "}", "\n}", "]"):
        began = time.thread_time()
        check_refusal(lambda closing=closing: format_source(Source("x", piece * 20_000 + closing * 20_000)))
        assert time.thread_time() - began < SLOWEST, closing


def test_what_parses_formats_to_the_same_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comments, line breaks and `;`s are put between tokens; where the text still parses, it keeps its tree."""
    parsed = 0
    for case in range(max(20, int(CASES * 0.02))):
        rng = random.Random(f"format {case}")
        monkeypatch.setattr(formatter, "WIDTH", rng.choice([20, 60, WIDTH]))
        text, comments = decorated(rng)
        source = Source("x", text)
        file, found = parse(source)
        if found:
            continue
        parsed += 1
        out = format_source(source)
        again, errors = parse(Source("x", out))
        assert errors == (), case
        assert shape(again.declarations) == shape(file.declarations), case
        assert [word for word in comments if out.count(f"# {word} ") != 1] == [], case
        assert format_source(Source("x", out)) == out, case
    assert parsed > 0


def decorated(rng: random.Random) -> tuple[str, list[str]]:
    """A whole program with comments and blanks of all kinds between some of its tokens; and the comments' words."""
    share = rng.choice([0.01, 0.05, 0.3])
    out: list[str] = []
    comments: list[str] = []
    for piece in rng.choice(PIECES):
        if out and rng.random() < share:
            word = f"zz{len(comments)}"
            extra = rng.choice([" # {} .\n", "\n# {} .\n", "\n\n# {} .\n\n", "\n", "\n\n\n", "\t", ";"])
            if "{}" in extra:
                comments.append(word)
            out.append(extra.format(word))
        out.append(piece)
    return "".join(out), comments
