"""Tokens, comments, and what is said about characters that are neither."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presk.syntax.lexer import KEYWORDS, tokenize
from presk.text.spans import Source


def kinds(text: str) -> list[str]:
    scan, found = tokenize(Source("x", text))
    assert found == []
    return [token.kind for token in scan.tokens[:-1]]


def faults(text: str) -> list[tuple[str, int]]:
    _, found = tokenize(Source("x", text))
    return [(each.code, each.span.start) for each in found if each.span is not None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1..5", ["integer", "..", "integer"]),
        ("1.5", ["decimal"]),
        ("1.5..2", ["decimal", "..", "integer"]),
        ("t.0.1", ["name", "index", "index"]),
        ("t.0e", ["name", ".", "integer"]),
        ("3e-4 1_000 1_0.2_5e+1_0", ["decimal", "integer", "decimal"]),
        ("a**b//c<=d->e..f", ["name", "**", "name", "//", "name", "<=", "name", "->", "name", "..", "name"]),
        ('"a\\"b" "#"', ["string", "string"]),
        ("a # b\n##c\r\nd", ["name", "name"]),
        ("\ufefffold over_ in", ["fold", "name", "in"]),
        ("trueish true", ["name", "true"]),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    if text == "t.0e":
        assert faults(text) == [("E1007", 2)]
        return
    assert kinds(text) == expected


@pytest.mark.parametrize("word", sorted(KEYWORDS))
def test_keywords_are_tokens_of_their_own(word: str) -> None:
    assert kinds(f"{word} {word}_ _{word}") == [word, "name", "name"]


@pytest.mark.parametrize(
    ("text", "code", "start"),
    [
        ("1__0", "E1007", 0),
        ("1_", "E1007", 0),
        ("0x1F", "E1007", 0),
        ("12px", "E1007", 0),
        ("1.5f", "E1007", 0),
        ("1e", "E1007", 0),
        ("1.5e+", "E1007", 0),
        ("a $ b", "E1003", 2),
        ("naïve", "E1003", 0),
        ("x − 1", "E1003", 2),
        ("a\u00a0b", "E1003", 1),
        ("'a'", "E1003", 0),
        ("“a”", "E1003", 0),
        ("a /* b */ c", "E1003", 2),
        ('"abc', "E1005", 0),
        ('"abc\\', "E1005", 0),
        ('"abc\n"', "E1005", 0),
    ],
)
def test_what_is_no_token(text: str, code: str, start: int) -> None:
    assert (code, start) in faults(text)


def test_a_look_alike_is_read_as_what_it_looks_like() -> None:
    scan, found = tokenize(Source("x", "a × b ≤ c → d"))
    assert [token.kind for token in scan.tokens] == ["name", "*", "name", "<=", "name", "->", "name", "end"]
    assert [each.hint for each in found] == ["write `*`", "write `<=`", "write `->`"]


def test_a_token_knows_whether_a_line_break_stands_before_it() -> None:
    scan, _ = tokenize(Source("x", "a b # c\n\n # d\nc;d"))
    assert [token.line_break for token in scan.tokens] == [True, False, True, False, False, True]
    assert [(each.text, each.own_line, each.blank_before) for each in scan.comments[2]] == [
        ("# c", False, False),
        ("# d", True, True),
    ]


@given(st.text())
def test_tokens_and_comments_cover_the_text_in_order(text: str) -> None:
    scan, _ = tokenize(Source("x", text))
    ends = 0
    for token in scan.tokens:
        assert ends <= token.start <= token.end
        ends = token.end
    assert ends == len(text)
