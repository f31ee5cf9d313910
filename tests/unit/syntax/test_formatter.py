"""The canonical layout: it keeps the program, every comment and what the author decides, and is stable."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from tests.unit.syntax.trees import PROGRAMS, ROOT, shape

from presk.syntax import formatter
from presk.syntax.formatter import WIDTH, format_source
from presk.syntax.parser import parse_or_raise
from presk.text.diagnostics import PreskError
from presk.text.spans import Source


def formatted(text: str) -> str:
    out = format_source(Source("x", text))
    assert shape(parse_or_raise(Source("x", out)).declarations) == shape(parse_or_raise(Source("x", text)).declarations)
    assert format_source(Source("x", out)) == out
    return out


def lines(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


def test_the_page_formats_to_itself() -> None:
    page = (ROOT / "tests" / "psk" / "page.psk").read_text("utf-8")
    assert formatted(page) == page
    assert max(map(len, page.splitlines())) == WIDTH


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
@pytest.mark.parametrize("width", [20, 60, WIDTH])
def test_programs_keep_their_meaning_at_any_width(path: Path, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formatter, "WIDTH", width)
    formatted(path.read_text("utf-8"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("const  V=64", "const V = 64\n"),
        ("", ""),
        ("\n\n# only a comment\n\n\n", "# only a comment\n"),
        ("const V = 1;const D = 2", "const V = 1; const D = 2\n"),
        ("const V = 1;\n;\nconst D = 2;", "const V = 1\nconst D = 2\n"),
        ("const V = 1\n\n\n\nconst D = 2\n\n\n", "const V = 1\n\nconst D = 2\n"),
        ("const V = 1\r\n\r\nconst D = 2\r\n", "const V = 1\n\nconst D = 2\n"),
        ("const V = - 1 ** - 2 - - 3", "const V = -1 ** -2 - -3\n"),
        ("const V = 1_000.50e-3", "const V = 1_000.50e-3\n"),
        ("const V = (((1)))", "const V = (((1)))\n"),
        ("const V = f( a,b , )", "const V = f(a, b)\n"),
        ("const V = (a,)", "const V = (a,)\n"),
        ("const V = t . 0 . 1 . x", "const V = t.0.1.x\n"),
        ("const V = not  a and(b or c)", "const V = not a and (b or c)\n"),
        ("const V = x [ seq=1 .. n+1,0=.. ]", "const V = x[seq = 1..n + 1, 0 = ..]\n"),
        ("const V = {x=1 ,y=2 }", "const V = {x = 1, y = 2}\n"),
        ("const V = {m with a.b=1,[s=2]=3}", "const V = {m with a.b = 1, [s = 2] = 3}\n"),
        ("const V = grad( Linear{3,2} . apply )( m , x )", "const V = grad(Linear{3, 2}.apply)(m, x)\n"),
        ("const V = if a {b}else{c}", "const V = if a { b } else { c }\n"),
        ("type T={k:real[ ..,seq : T ]}*L", "type T = {k: real[.., seq: T]} * L\n"),
        ("fn f( g:fn( real )->real ,x:real=.5e1)->real{ g( x ) }".replace(".5e1", "5.0"),
         "fn f(g: fn(real) -> real, x: real = 5.0) -> real { g(x) }\n"),
        ("fn f[P](p:P)->P {map ( q=p ){ -q } }", "fn f[P](p: P) -> P { map(q = p) { -q } }\n"),
        ("import \"a.psk\"  as a;from nn import A,B", 'import "a.psk" as a; from nn import A, B\n'),
        ("module M { }", "module M {}\n"),
        ("module M{N} { l:A*N with{ w=zeros } }", "module M{N} { l: A * N with { w = zeros } }\n"),
        ("fn f() { let y = fold a=a over(i, b)in(0 .. N,c)along - 1{ a }; y }",
         "fn f() { let y = fold a = a over (i, b) in (0..N, c) along -1 { a }; y }\n"),
    ],
)  # fmt: skip
def test_blanks(text: str, expected: str) -> None:
    assert formatted(text) == expected


def test_a_block_on_several_lines_stays_so_and_one_on_a_line_too() -> None:
    assert formatted("fn f() { let x = 1; x }") == "fn f() { let x = 1; x }\n"
    assert formatted("fn f() {let x = 1; x\n}") == "fn f() {\n  let x = 1; x\n}\n"
    assert formatted("fn f() {let x = 1\n\n\n x }") == "fn f() {\n  let x = 1\n\n  x\n}\n"


def test_statements_share_a_line_while_they_fit() -> None:
    long = "; ".join(f"let variable{number} = {number}" for number in range(8))
    out = formatted(f"fn f() {{\n  {long}\n  x\n}}")
    assert out.count("\n") == 11
    assert ";" not in out


def test_a_long_head_breaks_its_parameters_first() -> None:
    parameters = ", ".join(f"parameter{number}: real[batch, n]" for number in range(4))
    assert formatted(f"fn f({parameters}) -> (real[batch, n], real) {{ x }}") == lines(
        """
        fn f(
          parameter0: real[batch, n],
          parameter1: real[batch, n],
          parameter2: real[batch, n],
          parameter3: real[batch, n],
        ) -> (real[batch, n], real) { x }
        """
    )


def test_long_sums_end_lines_with_their_loosest_operator() -> None:
    factor = "some_long_name * another_long_name"
    assert formatted(f"fn f() {{\n  let x = {' + '.join([factor] * 4)}\n  x\n}}") == lines(
        f"""
        fn f() {{
          let x = {factor} +
            {factor} +
            {factor} +
            {factor}
          x
        }}
        """
    )


def test_long_imports_and_calls() -> None:
    names = [f"SomeRatherLongName{number}" for number in range(8)]
    assert formatted(f"from nn import {', '.join(names)}") == f"from nn import {(',' + chr(10) + '  ').join(names)}\n"
    call = f"const V = f({', '.join(names)})"
    assert formatted(call) == "const V = f(\n" + "".join(f"  {name},\n" for name in names) + ")\n"


def test_the_keys_of_a_train_block_are_aligned_by_paragraph() -> None:
    assert formatted("train t {\n  a = 1\n  longer = 2\n\n  b = 3 # c\n  # d\n  cc = 4\n}") == lines(
        """
        train t {
          a      = 1
          longer = 2

          b  = 3  # c
          # d
          cc = 4
        }
        """
    )


def test_comments_stay_where_they_are() -> None:
    text = lines(
        """
        # first

        ## Doc.
        const V = 1  # trailing
        # between

        module M {
          # leading
          w: real      # short
          long: real   # long
          other: real

          # before the end
        }
        fn f(
          x: real,  # of x
          # of y
          y: real,
          # last
        ) -> real {
          # inside
          let a = x +  # why
            y
          if c {
            # then
            a
          } else {
            a  # otherwise
          }
        }
        # the end
        """
    )
    expected = text.replace("w: real      #", "w: real     #").replace("long: real   #", "long: real  #")
    assert formatted(text) == expected


def test_a_comment_in_an_odd_place_is_not_lost() -> None:
    out = formatted(
        "fn # a\nf # b\n( # c\n) # d\n-> # e\nreal # f\n{ # g\nlet # h\nx = # i\n1 # j\n; # k\nx # l\n} # m\n"
    )
    for letter in "abcdefghijklm":
        assert f"# {letter}" in out


def test_text_with_errors_is_not_formatted() -> None:
    with pytest.raises(PreskError) as error:
        format_source(Source("x", "const = 1\nconst V = @"))
    assert len(error.value.diagnostics) == 2


def test_a_comment_behind_a_key_stays_there_where_one_of_its_own_line_follows() -> None:
    out = format_source(Source("x", "train t {\n  model # one\n     =\n# two\n VAE\n  objective = f\n}\n"))
    assert "model     =  # one\n" in out
    assert format_source(Source("x", out)) == out
