"""Programs that grow without end: each is refused by a diagnostic or taken, soon, and far from Python's own limit."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Iterator

import pytest

from presk.check.program import check_source
from presk.core.bind import bind
from presk.text.diagnostics import PreskError
from presk.text.spans import Source

SECONDS = 20.0
"""What no case may take of the processor, on a machine that is busy."""

COUNT = 500


def chain(first: str, link: str) -> str:
    """`link` with `{n}` and `{m}`, its own number and the one before."""
    return "\n".join([first, *(link.format(n=n, m=n - 1) for n in range(1, COUNT))])


def backwards(text: str) -> str:
    return "\n".join(reversed(text.split("\n")))


STATED = chain("fn f0(x: real) -> real { x }", "fn f{n}(x: real) -> real {{ f{m}(x) }}")
CONSTANTS = chain("const A0 = 1", "const A{n} = A{m} + 1")
MODULES = chain("module M0 { w: real = zeros }", "module M{n} {{ a: M{m} }}")
TWICE = chain("module M0 { w: real = zeros }", "module M{n} {{ a: M{m}; b: M{m} }}")
ALIASES = chain("type A0 = real", "type A{n} = A{m}")
PAIRS = chain("type A0 = real", "type A{n} = (A{m}, A{m})")
OPEN_PAIRS = chain("type A0 = real[k]", "type A{n} = (A{m}, A{m})")
SQUARES = chain("const A0 = sqrt(2)", "const A{n} = A{m} * A{m}")


def lets(value: str, count: int = 60) -> str:
    """A function that binds `a` to `value`, which names it, again and again."""
    return "fn f(x: real[n]) {\n  let a = x\n" + f"  let a = {value}\n" * count + "  a\n}"


SIZES = "fn f(x: real[n]) {\n  let k = n\n" + "  let k = k // 2 + k // 3\n" * 60 + "  zeros[k]\n}"
PARAMETERS = ", ".join(f"a{n}: real[n{n}]" for n in range(40))
FACTORS = " * ".join(f"(n{n} + 1)" for n in range(40))
WAYS = "".join(f"if n == {n} {{ x }} else " for n in range(95))
PARTS = "n > 1" + " and n > 2" * 3_000

CHECKED: dict[str, tuple[str, set[str]]] = {
    "a chain of calls, results stated": (STATED, set()),
    "the same backwards": (backwards(STATED), set()),
    "a chain of constants": (CONSTANTS, set()),
    "constants backwards": (backwards(CONSTANTS), {"E2008"}),
    "modules in modules": (MODULES, {"E3013"}),
    "modules backwards": (backwards(MODULES), {"E2008"}),
    "modules that double": (TWICE, {"E3013"}),
    "abbreviations of abbreviations": (ALIASES, set()),
    "pairs of pairs": (PAIRS, {"E3013"}),
    "pairs of pairs with a dimension": (OPEN_PAIRS, {"E3013"}),
    "constants that double": (SQUARES, {"E4005"}),
    "a tuple that doubles": (lets("(a, a)"), {"E3013"}),
    "a tuple in tuples": (lets("(a,)", 600), {"E3013"}),
    "a record that doubles": (lets("{u = a, v = a}"), {"E3013"}),
    "a map that doubles": (lets("map(p = a) { (p, p) }"), {"E3013"}),
    "a call that doubles": ("fn g[P](p: P) { (p, p) }\n" + lets("g(a)"), {"E3013"}),
    "a size that doubles": (SIZES, {"E4005"}),
    "a size of many factors": (f"fn f({PARAMETERS}) {{ zeros[{FACTORS}] }}", {"E4005"}),
    "a tower of powers": ("const A = 2 ** 2 ** 2 ** 2 ** 2 ** 2", {"E4005"}),
    "a sum of constants": (f"const A = 1{' + 1' * 10_000}", set()),
    "a sum of sizes": (f"fn f(x: real[n{' + n' * 10_000}]) -> real {{ sum(x) }}", set()),
    "a condition of many parts": (f"fn f(x: real, n: nat) -> real {{ if {PARTS} {{ x }} else {{ -x }} }}", set()),
    "ways of ways": (f"fn f(x: real, n: nat) -> real {{ {WAYS}{{ x }} }}", set()),
    "calls in calls": (f"fn g(x: real) -> real {{ x }}\nfn f(x: real) -> real {{ {'g(' * 90}x{')' * 90} }}", set()),
    "loops in loops": (f"fn f(x: real) -> real {{ {'fold x = x over i in 0..2 { ' * 40}x + 1{' }' * 40} }}", set()),
}  # fmt: skip

BOUND: dict[str, tuple[str, str, dict[str, int], str]] = {
    "a sum of ten thousand terms": (f"fn f(x: real) -> real {{ x{' + x' * 10_000} }}", "f", {}, ""),
    "a chain of calls": (STATED, "f499", {}, "E2008"),
    "a chain of fifty calls": (STATED, "f50", {}, ""),
    "a division by a size of 0": ("fn f(x: real[n], y: real[m: 8 / n]) -> real { sum(x) }", "f", {"n": 0}, "E4006"),
    "a floor by a size that is 0": ("fn f(x: real[n]) -> real { sum(zeros[8 // n]) }", "f", {"n": 0}, "E4006"),
    "a size that is too large": ("fn f(x: real[n]) -> real { sum(x) }", "f", {"n": 10**30}, "E4005"),
    "a size that grows too large": (
        "fn f(x: real[n]) -> real { sum(merge[m](broadcast_to[a: n, b: n](sum(x)), axes = (a, b))) }",
        "f", {"n": 10**10}, "E4005",
    ),
    "a bound that grows too large": ("fn f(i: nat < n) -> real { i * i * 1 }", "f", {"n": 10**10}, "E4005"),
    "a size that is negative": ("fn f(x: real[n], y: real[m: n - 5]) -> real { sum(y) }", "f", {"n": 2}, "E4004"),
    "a size that is a fraction": ("fn f(x: real[n], y: real[m: n / 2]) -> real { sum(y) }", "f", {"n": 3}, "E4004"),
    "a fraction in a result": ("fn f(x: real[n]) -> real[m: n / 2] { zeros[m: n / 2] }", "f", {"n": 3}, "E4004"),
}  # fmt: skip


@pytest.fixture
def little_stack() -> Iterator[None]:
    """Three quarters of the frames Python allows by default: the rest is for whoever calls presk."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 750)
    yield
    sys.setrecursionlimit(usual)


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.usefixtures("little_stack")
def test_checking(name: str) -> None:
    text, codes = CHECKED[name]
    began = time.process_time()
    _, found = check_source(Source("example.psk", text))
    assert {each.code for each in found} == codes
    assert all(each.span is not None and len(each.render()) < 100_000 for each in found)
    assert time.process_time() - began < SECONDS


@pytest.mark.parametrize("name", BOUND)
@pytest.mark.usefixtures("little_stack")
def test_binding(name: str) -> None:
    text, entry, dims, code = BOUND[name]
    checked, found = check_source(Source("example.psk", text))
    assert found == ()
    began = time.process_time()
    if code:
        with pytest.raises(PreskError) as error:
            bind(checked, entry, dims=dims)
        assert error.value.code == code
        assert error.value.span is not None
    else:
        assert bind(checked, entry, dims=dims).entry.name == entry
    assert time.process_time() - began < SECONDS
