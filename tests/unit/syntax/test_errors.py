"""What is refused: the code, the caret, the hint; and that reading goes on behind an error."""

from __future__ import annotations

import inspect
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.syntax.trees import height

from presk.syntax import tree
from presk.syntax.parser import parse, parse_expression, parse_or_raise
from presk.syntax.reader import NESTING_LIMIT
from presk.text.diagnostics import PreskError
from presk.text.spans import Source

HEAD = "fn f(x: real, y: real) -> real {"

IN_BODY = [
    # what is written, the code, the caret's text, a part of the hint
    ("x @ y", "E1014", "@", "dot"),
    ("x && y", "E1014", "&&", "`and`"),
    ("x || y", "E1014", "||", "`or`"),
    ("!x", "E1014", "!", "`not`"),
    ("x ^ 2", "E1014", "^", "**"),
    ("x % y", "E1014", "%", "//"),
    ("+x", "E1014", "+", "leave it out"),
    ("x * +y", "E1014", "+", "leave it out"),
    ("x < y < 1", "E1015", "<", "x < y and y < …"),
    ("x == y != 1", "E1015", "!=", "and"),
    ("x\n- y", "E1016", "x", "end the line with `-`"),
    ("let z = x\n* y\nz", "E1016", "*", "end the line before with `*`"),
    ("x; y", "E1016", "x", "`let`"),
    ("let z = x", "E1017", "}", "`z`"),
    ("", "E1017", "}", "its value"),
    ("x = y; x", "E1018", "x", "let x = …"),
    ("(x = y)", "E1018", "=", "=="),
    ("x.a = y", "E1018", "=", "=="),
    ("if x = y { x } else { y }", "E1018", "=", "=="),
    ("return x", "E1019", "return", "last expression"),
    ("return", "E1019", "return", "last expression"),
    ("return -x", "E1019", "return", "last expression"),
    ("def g(x): x", "E1019", "def", "fn name"),
    ("for i in x { y }", "E1019", "for", "fold"),
    ("while x { y }", "E1019", "while", "fold"),
    ("class A { }", "E1019", "class", "module"),
    ("let g = lambda x: x; x", "E1019", "lambda", "closures"),
    ("let g = fn(x) { x }; x", "E1019", "fn", "closures"),
    ("x if y else 0", "E1019", "if", "if c { a } else { b }"),
    ("x ? y : 0", "E1019", "?", "if c { a } else { b }"),
    ("if x { y } elif y { x } else { 0 }", "E1019", "elif", "else if"),
    ("[x for x in y]", "E1023", "[", "stack"),
    ("where(True, x, y)", "E1019", "True", "true"),
    ("None", "E1019", "None", "()"),
    ("let z = x let w = y; z", "E1020", "let", "two statements"),
    ("x y", "E1020", "y", "two statements"),
    ("f(a = x, y)", "E1022", "y", ""),
    ("[x, y]", "E1023", "[", "stack"),
    ('"a"', "E1023", '"a"', ""),
    ("let r = 0..4; x", "E1024", "..", ""),
    ("f(0..4)", "E1024", "..", ""),
    ("x[1:3]", "E1027", ":", "x[axis = i]"),
    ("x[:, 0]", "E1027", ":", "x[axis = a..b]"),
    ("x[..., 0]", "E1027", "..", "x[axis = a..b]"),
    ("x[n = 1, 2]", "E1027", "2", "x[axis = i]"),
    ("{x, y}", "E1028", "{", "{x = …}"),
    ("f({x: y})", "E1028", "{", "{x = …}"),
    ("f({})", "E1028", "{", "()"),
    ("if x { y }", "E1029", "if", "else"),
    ("let (x, in) = y; x", "E1013", "in", "in_"),
    ("let z: real = x; z", "E1010", ":", "leave it out"),
    ("f(x, y", "E1011", "(", ""),
    ("f(x, y]", "E1012", "]", ""),
    ("f(x))", "E1012", ")", "delete it"),
    ("real(x)", "E1010", "real", "without a conversion"),
    ("x.", "E1010", "}", ""),
    ("f(x: y)", "E1010", ":", "name = value"),
    ("a == not b", "E1010", "not", "parentheses"),
    ("map(x) { y }", "E1010", ")", ""),
    ("fold x = x in y { x }", "E1010", "in", ""),
    ("fold x = x over y { x }", "E1010", "{", ""),
    ("x // a comment, they think", "E1020", "comment", "two statements"),
    ("let z = x // , a comment\nz", "E1010", ",", "a comment begins with #"),
]

ON_TOP = [
    ("def f(x): x", "E1019", "def", "fn name"),
    ("class A: x", "E1019", "class", "module"),
    ("let x = 1", "E1010", "let", "const"),
    ("x = 1", "E1010", "x", "const x"),
    ("const V: nat = 1", "E1010", ":", "leave it out"),
    ("fn f(x) { x }", "E1021", "x", "stated"),
    ("fn f(x: real) real { x }", "E1021", "real", "->"),
    ("fn f(x: real): real { x }", "E1021", ":", "->"),
    ("fn f(x: real) = x", "E1021", "=", "braces"),
    ("fn f(x: real) -> Linear{ x }", "E1010", "", "space before"),
    ("fn f(self) { 1 }", "E1010", "self", ""),
    ("fn f(x: float) -> real[] { x }", "E1010", "real[]", "scalar"),
    ("fn f(x: real[n, ..]) { x }", "E1024", "..", ""),
    ("fn f(x: real[in]) { x }", "E1013", "in", "in_"),
    ("fn f(x: real < 3) { x }", "E1010", "<", ""),
    ("fn f(x: nat < 3 * L / 2 - (1, fn)) { x }", "E1019", "fn", "closures"),
    ("fn f(x: P * L + 1) { x }", "E1010", "+", "parentheses"),
    ("fn f(x: Linear[3, 2]) { x }", "E1010", "[", "braces"),
    ("type F = fn(real) -> real", "E1010", "fn", "function values"),
    ("type R = {}", "E1028", "{}", "()"),
    ("module M{eps: real} { }", "E1010", "eps: real", "eps: real = …"),
    ("module M{N = 3} { }", "E1010", "N = 3", "real = …"),
    ("module M{eps: real = 1, N} { }", "E1022", "N", "first"),
    ("module M {N} { w: real }", "E1025", "{", "directly"),
    ("module M { l: Linear {3, 2} }", "E1025", "{", "without a space"),
    ("module M { w = zeros }", "E1021", "w", "real[…]"),
    ("module M { w: real, b: real }", "E1010", ",", "line break"),
    ("module M(N) { }", "E1010", "(", "braces"),
    ("module M { def f(self): 1 }", "E1019", "def", "fn name"),
    ("module M { l: A with { [s = 1] = x } }", "E1010", "[s = 1] = x", ""),
    ("import nn.layers", "E1026", ".", "path"),
    ("import a, b", "E1026", ",", "one import a line"),
    ('import "a.psk"', "E1026", "", "as …"),
    ("from nn import *", "E1026", "*", "list"),
    ("from nn import A as B", "E1026", "as", "file.Name"),
    ("train t { a: 1 }", "E1010", ":", "a = …"),
    ("train t { a = 1, b = 2 }", "E1010", ",", "without a comma"),
    ("const in = 3", "E1013", "in", "in_"),
    ("}", "E1012", "}", "delete it"),
    ("const V = 1 }", "E1012", "}", ""),
    ("const V = 007", "E1007", "007", "write `7`"),
    ("const V = 1.", "E1007", "1", "1.0"),
    ("@jit\nfn f() { 1 }", "E1010", "@", "declarations"),
]


@pytest.mark.parametrize(("text", "code", "caret", "hint"), IN_BODY)
def test_refused_in_a_body(text: str, code: str, caret: str, hint: str) -> None:
    _, found = parse(Source("x", f"{HEAD} {text} }}\nconst AFTER = 1"))
    first = found[0]
    assert first.span is not None
    assert (first.code, first.span.text) == (code, caret), first.render()
    assert hint in (first.hint or "")


@pytest.mark.parametrize(("text", "code", "caret", "hint"), ON_TOP)
def test_refused_at_the_top(text: str, code: str, caret: str, hint: str) -> None:
    _, found = parse(Source("x", f"{text}\nconst AFTER = 1"))
    first = found[0]
    assert first.span is not None
    assert first.code == code, first.render()
    assert not caret or first.span.text == caret, first.render()
    assert hint in (first.hint or "")


@pytest.mark.parametrize("text", [f"{HEAD} {text} }}" for text, *_ in IN_BODY] + [text for text, *_ in ON_TOP])
def test_an_error_is_one_error_and_what_follows_is_read(text: str) -> None:
    file, found = parse(Source("x", f"const BEFORE = 1\n{text}\n\nconst AFTER = x @ y\n\nfn g() {{ 1 }}\n"))
    names = [getattr(each, "name", None) for each in file.declarations]
    assert names[0] == "BEFORE"
    assert names[-1] == "g"
    assert found[-1].code == "E1014"
    assert len(found) <= 3, [each.render() for each in found]


def test_errors_are_found_side_by_side_in_the_order_of_the_text() -> None:
    source = Source(
        "x",
        "fn a() -> real {\n  let x = 1 +\n  let y = f(2\n  let z = {k: 1}\n  z ^ 2 ; x\n}\n"
        "module M {\n  w: real[\n  b = 3\n  fn f(self { 1 }\n  fn g(self) { 2 @ 3 }\n}\n"
        "train t {\n  a = \n  b = 'c'\n}\nfn ok() { 1 }\n",
    )
    file, found = parse(source)
    lines = [source.position(each.span.start)[0] for each in found if each.span is not None]
    assert lines == sorted(lines)
    assert {3, 4, 5, 9, 10, 11, 15} <= set(lines)
    assert [getattr(each, "name", None) for each in file.declarations] == ["ok"]


def test_at_most_twenty_errors_are_told() -> None:
    text = "".join(f"const V{number} = !1\n" for number in range(50))
    source = Source("x", text)
    _, found = parse(source)
    assert len(found) == 20
    with pytest.raises(PreskError) as error:
        parse_or_raise(source)
    assert error.value.diagnostics == found


@pytest.mark.parametrize(
    ("text", "line", "kept"),
    [
        ("fn a() {\n  let x = 1\n  x\n\nfn b() { 2 }\nfn c() { 3 }\n", 1, ["b", "c"]),
        ("module M {\n  fn a(self) {\n    1\n\n  fn b(self) { 2 }\n}\nfn c() { 3 }\n", 2, ["c"]),
        ("module M {\n  w: real\n\nmodule N {\n  w: real\n}\n", 1, ["N"]),
        ("fn a() {\n  if c {\n    1\n  else {\n    2\n  }\n}\nfn b() { 2 }\n", 2, ["b"]),
        ("fn a() {\n  f(1, (2)\n}\nfn b() { 2 }\n", 2, ["b"]),
        ("train t {\n  a = f(1\n  b = 2\n}\nfn b() { 2 }\n", 2, ["b"]),
        ("fn a() {\n  1\n}\n}\nfn b() { 2 }\n", 4, ["a", "b"]),
        ("fn a() {\n  fn c() { 1 }\n  c()\n}\nfn b() { 2 }\n", 2, ["b"]),
        ("fn a() { f(1", 1, []),
    ],
)
def test_a_forgotten_bracket_is_told_once_where_it_is(text: str, line: int, kept: list[str]) -> None:
    source = Source("x", text)
    file, found = parse(source)
    assert [getattr(each, "name", None) for each in file.declarations] == kept
    assert found[0].span is not None
    assert source.position(found[0].span.start)[0] == line, found[0].render()
    assert len(found) == 1, [each.render() for each in found]


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000,
        "[" * 10_000,
        "{" * 10_000,
        ")" * 10_000,
        "(" * 10_000 + ")" * 10_000,
        "f(" * 10_000 + "x" + ")" * 10_000,
        "x[i = " * 10_000 + "0" + "]" * 10_000,
        "{a = " * 10_000 + "0" + "}" * 10_000,
        "-" * 10_000 + "x",
        "not " * 10_000 + "x",
        "x" + " ** x" * 10_000,
        "x" + ".y()" * 10_000,
        "x" + "(y)" * 10_000,
        "if c { a } else " * 10_000 + "{ b }",
        "if c { " * 10_000,
        "fold x = " * 10_000,
        "(" * 5_000 + "]" * 5_000,
        "([{" * 3_000 + "\n)]}" * 3_000,
    ],
)
def test_deep_nesting_is_a_diagnostic(text: str) -> None:
    with pytest.raises(PreskError) as error:
        parse_expression(Source("x", text))
    assert error.value.code.startswith("E1")
    for wrapped in (f"fn f() {{ {text} }}", f"fn f(x: {text}) {{ x }}"):
        _, found = parse(Source("x", wrapped))
        assert found
        assert all(each.render() for each in found)


@pytest.mark.parametrize("text", ["{x: " * 9_000, "(" * 9_000 + "real" + ")" * 9_000, "real" + " * L" * 9_000])
def test_deep_types_are_a_diagnostic(text: str) -> None:
    _, found = parse(Source("x", f"type T = {text}\nconst V = 1"))
    assert found[0].code == "E1009"


def test_what_is_within_the_limit_is_read() -> None:
    depth = NESTING_LIMIT - 1
    parse_expression(Source("x", "(" * depth + "x" + ")" * depth))
    value = parse_expression(Source("x", "-" * depth + "x"))
    assert height(value) == NESTING_LIMIT
    many = "fn f() {\n" + "let x = f(a + b, (c, d)) * -e\n" * 500 + "x\n}"
    assert parse(Source("x", many))[1] == ()


@pytest.mark.parametrize("operator", ["+", "-", "*", "//", "and", "or"])
def test_a_row_of_operators_is_one_level(operator: str) -> None:
    value = parse_expression(Source("x", "x" + f" {operator} f(x)" * 10_000))
    assert isinstance(value, tree.Operation)
    assert [(step.op, step.span.start) for step in value.steps] == [(operator, 0)] * 10_000
    assert value.steps[0].span.text == f"x {operator} f(x)"
    assert height(value) == 5


def test_parentheses_around_what_comes_first_change_nothing() -> None:
    value = parse_expression(Source("x", "((a - b) + c) - d"))
    assert isinstance(value, tree.Operation)
    assert [step.span.text for step in value.steps] == ["a - b", "(a - b) + c", "((a - b) + c) - d"]
    assert height(value) == 3


@given(st.integers(0, 60), st.sampled_from(["(", "f(", "-", "x + (", "{a = ", "if c { "]))
def test_no_tree_is_higher_than_the_limit(count: int, piece: str) -> None:
    closing = {"(": ")", "f(": ")", "-": "", "x + (": ")", "{a = ": "}", "if c { ": "} else { y }"}[piece]
    text = piece * count + "x" + " + x" * count + closing * count
    try:
        value = parse_expression(Source("x", text))
    except PreskError as error:
        assert error.code == "E1009"  # noqa: PT017
    else:
        assert height(value) <= 2 * NESTING_LIMIT + 2


@pytest.mark.parametrize(
    "piece", ["(", "f(x, ", "a[i = ", "if c { let x = ", "{x = ", "fold a = a over b in c { ", "-"]
)
def test_the_limit_leaves_a_quarter_of_pythons_stack(piece: str) -> None:
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 750)
    try:
        _, found = parse(Source("x", f"fn f() {{ {piece * 300}"))
    finally:
        sys.setrecursionlimit(usual)
    assert "E1009" in [each.code for each in found]
