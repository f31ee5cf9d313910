"""Precedence, line breaks, braces, literals: what an expression means, and what it can't be."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.unit.syntax.trees import shape

from presk.syntax import tree
from presk.syntax.parser import parse, parse_expression
from presk.text.diagnostics import PreskError
from presk.text.spans import Source


def expression(text: str) -> tree.Expr:
    return parse_expression(Source("x", text))


def body(text: str) -> tree.Block:
    file, found = parse(Source("x", f"fn f() {{\n{text}\n}}"))
    assert found == ()
    function = file.declarations[0]
    assert isinstance(function, tree.Function)
    return function.body


def same(one: str, other: str) -> bool:
    return shape(expression(one)) == shape(expression(other))


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("a + b * c", "a + (b * c)"),
        ("a - b - c", "(a - b) - c"),
        ("a / b * c", "(a / b) * c"),
        ("a // b / c", "(a // b) / c"),
        ("-x ** 2", "-(x ** 2)"),
        ("x ** -2", "x ** (-2)"),
        ("a ** b ** c", "a ** (b ** c)"),
        ("-a * b", "(-a) * b"),
        ("a * -b + c", "(a * (-b)) + c"),
        ("- -a", "-(-a)"),
        ("not a and b", "(not a) and b"),
        ("not a == b", "not (a == b)"),
        ("not not a", "not (not a)"),
        ("a or b and c", "a or (b and c)"),
        ("a + b < c * d", "(a + b) < (c * d)"),
        ("a < b and c >= d", "(a < b) and (c >= d)"),
        ("-f(x).y", "-((f(x)).y)"),
        ("f(x) ** 2", "(f(x)) ** 2"),
        ("(((a)))", "a"),
        ("f(a, b,)", "f(a, b)"),
        ("x[i = a..b + 1]", "x[i = a..(b + 1)]"),
    ],
)
def test_precedence(text: str, grouped: str) -> None:
    assert same(text, grouped)


def test_products_are_from_the_left_and_powers_from_the_right() -> None:
    assert not same("a - b - c", "a - (b - c)")
    assert not same("a ** b ** c", "(a ** b) ** c")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x[seq = i]", tree.Index),
        ("x[0 = i, -1 = 2..]", tree.Index),
        ("x[seq = ..]", tree.Index),
        ("zeros[n, m: 3]", tree.Axes),
        ("ein[](a, b)", tree.Call),
        ("Linear{3, 2}.apply", tree.Field),
        ("grad(Linear{3, 2}.apply)(m, x)", tree.Call),
        ("t.0.1", tree.TupleIndex),
        ("()", tree.Tuple),
        ("(a,)", tree.Tuple),
        ("{k = k}", tree.Record),
        ("{m with head.w = zeros, [seq = 1..2] = v}", tree.Update),
        ("{let y = x; y}", tree.Block),
        ("if n == 0 { a } else if n == 1 { b } else { c }", tree.If),
        ("fold x = x over b in self.blocks { b(x) }", tree.Loop),
        ("scan (s, n) = s over {x, y = (a, b)} in xs along -1 { (s, x) }", tree.Loop),
        ("fold a = a over (i, b) in (0..N, blocks) { a }", tree.Loop),
        ("map(p = p, g = g) { p - g }", tree.MapTrees),
        ("scan s = s over i in 0..4 { (s, s) }.1", tree.TupleIndex),
    ],
)
def test_constructs(text: str, kind: type) -> None:
    assert isinstance(expression(text), kind)


def test_a_range_in_a_tuple_is_for_loops_only() -> None:
    with pytest.raises(PreskError) as error:
        expression("(0..4, x)")
    assert error.value.code == "E1024"


def test_a_line_break_ends_a_statement_only_in_a_block() -> None:
    assert shape(body("let x = a\nx").lets) == shape(body("let x = a; x").lets)
    assert shape(body("f(\na\n,\nb\n)")) == shape(body("f(a, b)"))
    assert shape(body("a +\nb")) == shape(body("a + b"))
    assert shape(body("(a\n+ b)")) == shape(body("a + b"))
    assert shape(body("let x =\n  a\nx")) == shape(body("let x = a; x"))
    assert shape(body("{a\n+ b\nwith x = c}")) == shape(body("{a + b with x = c}"))
    assert shape(body("x\n  .y\n  .0")) == shape(body("x.y.0"))
    assert shape(body("if c { a }\nelse { b }")) == shape(body("if c { a } else { b }"))


def test_the_innermost_bracket_decides() -> None:
    block = body("f(fold a = a over i in 0..2 {\nlet b = a\n(b)\n})")
    assert isinstance(block.result, tree.Call)
    inner = block.result.arguments[0].value
    assert isinstance(inner, tree.Loop)
    assert len(inner.body.lets) == 1
    with pytest.raises(PreskError) as error:
        parse_expression(Source("x", "(fold a = a over i in 0..2 {\na\n- b\n})"))
    assert error.value.code == "E1016"


def test_a_call_on_a_line_of_its_own_is_a_statement() -> None:
    _, found = parse(Source("x", "fn f() {\n  g\n  (x)\n}"))
    assert [each.code for each in found] == ["E1016"]


def test_a_brace_after_a_space_is_the_body_whatever_follows() -> None:
    block = body("if c { x } else { y }")
    assert isinstance(block.result, tree.If)
    file, found = parse(Source("x", "train t { a = 1; b = 2 }\nmodule M { a: real; b: real }"))
    assert found == ()
    assert [type(each) for each in file.declarations] == [tree.Train, tree.Module]


def test_literals_are_exact() -> None:
    assert shape(expression("0.1")) == ("RealLiteral", None, Fraction(1, 10), "0.1")
    assert shape(expression("3e-4")) == ("RealLiteral", None, Fraction(3, 10000), "3e-4")
    assert shape(expression("1_0.5e2")) == ("RealLiteral", None, Fraction(1050), "1_0.5e2")
    assert shape(expression("1_000")) == ("NatLiteral", None, 1000, "1_000")
    assert shape(expression("9" * 1000)) == ("NatLiteral", None, 10**1000 - 1, "9" * 1000)


@pytest.mark.parametrize("text", ["9" * 1001, "1." + "0" * 1000, "1e3001", "1e-3001", "1e999999999999", "t.1234567"])
def test_huge_literals_are_refused(text: str) -> None:
    with pytest.raises(PreskError) as error:
        expression(text)
    assert error.value.code == "E1008"


def test_escapes() -> None:
    file, found = parse(Source("x", r'train t { a = "\n\t\r\\\"\u{e4}\u{1F600}#" }'))
    assert found == ()
    train = file.declarations[0]
    assert isinstance(train, tree.Train)
    assert shape(train.items[0].value) == ("StringLiteral", None, '\n\t\r\\"ä😀#')


@pytest.mark.parametrize("escape", [r"\a", r"\u{}", r"\u{110000}", r"\u{d800}", r"\u{zz}", r"\u{41", r"\x41", r"\u"])
def test_escapes_that_are_none(escape: str) -> None:
    _, found = parse(Source("x", f'train t {{ a = "{escape}" }}'))
    assert [each.code for each in found] == ["E1006"]


def test_spans_cover_what_was_written() -> None:
    call = expression("f( a + b , c = d ).e")
    assert call.span.text == "f( a + b , c = d ).e"
    assert isinstance(call, tree.Field)
    assert call.name_span.text == "e"
    assert isinstance(call.base, tree.Call)
    assert [each.span.text for each in call.base.arguments] == ["a + b", "c = d"]
