"""What is refused before any lexer sees it, and where lines and columns are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presk.text.diagnostics import PreskError
from presk.text.sources import decode, verify
from presk.text.spans import Source, Span


def test_a_byte_order_mark_is_dropped() -> None:
    assert decode("x", b"\xef\xbb\xbfconst V = 1").text == "const V = 1"


@pytest.mark.parametrize(
    ("data", "offset", "column"),
    [
        (b"ab\xffc", 2, 3),
        (b"\xc3\xa4\xc3", 2, 2),
        (b"\xef\xbb\xbfa\x80", 4, 2),
        (b"\xed\xa0\x80", 0, 1),
        (b"\xff", 0, 1),
    ],
)
def test_the_first_byte_that_is_not_utf8_is_named(data: bytes, offset: int, column: int) -> None:
    with pytest.raises(PreskError) as error:
        decode("x", data)
    diagnostic = error.value.diagnostics[0]
    assert diagnostic.code == "E1001"
    assert f"offset {offset} " in diagnostic.message
    assert diagnostic.span is not None
    assert diagnostic.span.place == f"x:1:{column}"


def test_utf16_gets_a_hint_of_its_own() -> None:
    with pytest.raises(PreskError) as error:
        decode("x", "const V = 1".encode("utf-16"))
    assert error.value.hint == "the file looks like UTF-16: save it as UTF-8"


@given(st.binary())
def test_any_bytes_are_a_source_or_a_diagnostic(data: bytes) -> None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        with pytest.raises(PreskError) as error:
            decode("x", data)
        assert error.value.code == "E1001"
        assert error.value.render()
    else:
        assert decode("x", data).text == text.removeprefix("\ufeff")


@pytest.mark.parametrize("char", ["\0", "\x07", "\x1b", "\x7f", "\u202e", "\u2066", "\ud800"])
def test_control_characters_are_refused_in_comments_too(char: str) -> None:
    found = verify(Source("x", f"const V = 1\n# a{char}b"))
    assert [(each.code, each.span and each.span.place) for each in found] == [("E1002", "x:2:4")]
    assert char not in found[0].render()


@pytest.mark.parametrize("char", ["\t", "\n", "\r", "ä", "→", "\u200d", "😀"])
def test_other_characters_are_left_to_the_lexer(char: str) -> None:
    assert verify(Source("x", f"# {char}")) == ()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_and_columns_count_from_one_whatever_ends_a_line(end: str) -> None:
    source = Source("x", f"ab{end}cd{end}{end}e")
    assert source.position(0) == (1, 1)
    assert source.position(source.text.index("d")) == (2, 2)
    assert source.position(source.text.index("e")) == (4, 1)
    assert [source.line(number) for number in range(1, 5)] == ["ab", "cd", "", "e"]


@given(st.text(), st.integers(-3, 40), st.integers(-3, 40))
def test_any_span_has_a_place(text: str, start: int, end: int) -> None:
    source = Source("x", text)
    line, column = source.position(start)
    assert 1 <= line <= len(source.line_starts)
    assert column >= 1
    assert Span(source, start, end).place == f"x:{line}:{column}"
