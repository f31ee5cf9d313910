"""Entries by their names, and what is said where a name means none."""

from __future__ import annotations

import pytest

from presk.check.entries import find_entry
from presk.check.program import loads
from presk.core.bind import bind
from presk.text.diagnostics import PreskError

PROGRAM = """\
import nn
from nn import Linear
const N = 3
fn f(m: Linear{3, 2}, x: real[batch, 3]) { m(x) }
fn double(x: real) -> real { x + x }
fn higher(g: fn(real) -> real, x: real) -> real { g(x) }
module A{I} {
  l: Linear{I, 2}
  fn g(self, x: real[b, I]) { self.l(x) }
  fn mixed[P](self, p: P, q: P) -> P { map(p = p, q = q) { p + q } }
}
"""


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("double", "double"),
        ("f", "f"),
        ("A{3}.g", "A{3}.g"),
        ("A{N}.g", "A{3}.g"),
        ("A{I = 3}.g", "A{3}.g"),
        ("A{2 + 1}.mixed[A{4}]", "A{3}.mixed[A{4}]"),
        ("Linear{3, 2}.apply", "Linear{3, 2}.apply"),
        ("nn.Linear{3, 2}.apply", "Linear{3, 2}.apply"),
        ("adamw.step[A{3}]", "adamw.step[A{3}]"),
        ("adamw.step[{a: real, b: (real[2], real)}]", "adamw.step[{a: real, b: (real[2], real)}]"),
    ],
)
def test_named(entry: str, name: str) -> None:
    dims = {"f": {"batch": 1}, "A": {"b": 1}, "L": {"batch": 1}, "n": {"batch": 1}}.get(entry[0], {})
    program = bind(loads(PROGRAM), entry, dims={} if "mixed" in entry else dims)
    assert program.entry.name == name


@pytest.mark.parametrize(
    ("entry", "code", "said"),
    [
        ("nothing", "E4002", "its entries: f, double, higher, A{I}.g"),
        ("dubble", "E4002", "did you mean `double`"),
        ("A{3}", "E4002", "did you mean"),
        ("A{3}.h", "E4002", "no entry"),
        ("A.g", "E3002", "needs its parameter `I`"),
        ("A{n}.g", "E2001", "numbers or constants"),
        ("A{3.5}.g", "E4003", "not a whole number"),
        ("A{3}.g{2}", "E4002", "takes no braces"),
        ("double{2}", "E4002", "takes no braces"),
        ("double[A{3}]", "E4002", "takes no trees in brackets, not 1"),
        ("A{3}.g[real]", "E4002", "takes no trees"),
        ("adamw.step", "E4002", "write `adamw.step[P]`"),
        ("adamw.step[A{3}, A{3}]", "E4002", "takes 1 tree in brackets, not 2"),
        ("adamw.step[f]", "E3001", "no type"),
        ("adamw.step[{a: nat[3] < 5}]", "E4002", "no tree of reals"),
        ("higher", "E4002", "call it from a function of its own"),
        ("nn.Nothing.apply", "E4002", "no entry"),
        ("", "E1010", "expected an entry's name"),
        ("f(", "E1010", "the end of the entry"),
    ],
)
def test_named_wrongly(entry: str, code: str, said: str) -> None:
    checked = loads(PROGRAM)
    with pytest.raises(PreskError) as error:
        bind(checked, entry, dims={})
    assert error.value.code == code, error.value.render()
    assert said in error.value.render()


def test_every_entry_listed_is_one() -> None:
    checked = loads(PROGRAM)
    for entry in checked.entries():
        name = entry.name.replace("{I}", "{3}").replace("[P]", "[A{3}]")
        assert find_entry(checked.session, checked, name).declaration.node.doc == entry.doc


@pytest.mark.parametrize(
    ("entry", "dims", "code", "said"),
    [
        ("f", {}, "E4001", "free dimensions: batch"),
        ("f", {"batch": 2, "n": 3}, "E4008", "no free dimension `n`"),
        ("f", {"bach": 2}, "E4008", "did you mean `batch`"),
        ("f", {"batch": -1}, "E4004", "is negative"),
        ("Linear{3, 2}.apply", {}, "E4001", "--dim batch="),
    ],
)
def test_dimensions_that_do_not_fit(entry: str, dims: dict[str, int], code: str, said: str) -> None:
    checked = loads(PROGRAM)
    with pytest.raises(PreskError) as error:
        bind(checked, entry, dims=dims)
    assert error.value.code == code
    assert said in error.value.render()


def test_names_do_not_depend_on_what_was_bound_before() -> None:
    alone, after = loads(PROGRAM), loads(PROGRAM)
    for entry in ("sgd.step[A{3}]", "lion.step[A{3}]", "nn.LayerNorm{4}.apply"):
        bind(after, entry, dims={"batch": 1} if "nn" in entry else {})
    for entry, dims in (("adamw.step[A{3}]", {}), ("A{3}.g", {"b": 2}), ("f", {"batch": 2})):
        names = [[each.name for each in bind(checked, entry, dims=dims).functions] for checked in (alone, after)]
        assert names[0] == names[1]
