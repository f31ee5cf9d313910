"""Calls, loops, maps and trees: Core as a whole, from programs in PSK."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.exact.building import BITS, Lets, axes, bound, run

from presk.core.nodes import Apply, Body, Count, Each, Function, Let, Loop, MakeTuple, Parameter, Program, Ref
from presk.exact.evaluate import PROGRAMS_KEPT, compile_program, evaluate
from presk.exact.values import ExactArray
from presk.shapes.poly import number
from presk.shapes.types import REAL, Stacked, Tensor, TupleOf


def test_a_fold_threads_its_state() -> None:
    text = "fn f(x: real[n: 2]) -> real[n: 2] { fold s = x over i in 0..5 { s * 2 + i } }"
    np.testing.assert_array_equal(np.asarray(run(text, [1.0, -1.0])), [32 + 26, -32 + 26])


def test_a_scan_stacks_along_a_name() -> None:
    text = """fn f(x: real[n: 2], xs: real[n: 2, t: 3]) -> (real[n: 2], real[t: 3, n: 2]) {
      scan s = x over v in xs along t { let s = s + v; (s, s * 10) }
    }"""
    xs = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    last, stacked = run(text, [0.0, 1.0], xs)
    np.testing.assert_array_equal(np.asarray(last), [6, 16])
    np.testing.assert_array_equal(np.asarray(stacked), 10 * np.array([[1, 5], [3, 10], [6, 16]]))
    assert stacked.names == ("t", "n")


def test_loops_of_no_rounds() -> None:
    text = """fn f(x: real[n: 2]) -> (real[n: 2], real[t: 0, n: 2]) {
      scan s = x over t in 0..0 { (s + 1, s) }
    }"""
    last, stacked = run(text, [1.0, 2.0])
    np.testing.assert_array_equal(np.asarray(last), [1, 2])
    assert stacked.shape == (0, 2)


def test_loops_nest_and_zip() -> None:
    text = """fn f(a: real[t: 3], b: real[t: 3]) -> real {
      fold s = 0 over (x, y) in (a, b) along t { fold s = s over j in 0..2 { s + x * y + j } }
    }"""
    assert float(run(text, [1.0, 2.0, 3.0], [4.0, 5.0, 6.0])) == 2 * (4 + 10 + 18) + 3


MODEL = """
module Scale{N} { w: real[N] = ones; b: real = zeros
  fn apply(self, x: real[.., N]) -> real[.., N] { x * self.w + self.b } }
module Net{N} { first: Scale{N}; rest: Scale{N} * 3 }
fn f(m: Net{2}, x: real[batch: 2, 2]) -> real[batch: 2, 2] {
  fold x = m.first(x) over layer in m.rest { layer(x) }
}
fn g(m: Net{2}) -> Net{2} { {m with first.b = 7} }
fn norm(m: Net{2}) -> real { total(map(p = m) { square(p) }) }
fn step(m: Net{2}, g: Net{2}, lr: real) -> (Net{2}, Net{2}) { map(p = m, d = g) { (p - lr * d, d * mean(p)) } }
"""


def net(seed: int) -> dict[str, Any]:
    source = np.random.default_rng(seed)
    return {
        "first": {"w": source.normal(size=2), "b": source.normal(size=())},
        "rest": {"w": source.normal(size=(3, 2)), "b": source.normal(size=3)},
    }


def test_a_stacked_module_is_folded_layer_by_layer() -> None:
    m, x = net(0), np.random.default_rng(1).normal(size=(2, 2))
    wanted = x * m["first"]["w"] + m["first"]["b"]
    for w, b in zip(m["rest"]["w"], m["rest"]["b"], strict=True):
        wanted = wanted * w + b
    np.testing.assert_allclose(np.asarray(run(MODEL, m, x)), wanted, rtol=1e-14)


def test_an_updated_tree() -> None:
    m = net(0)
    found = run(MODEL, m, entry="g")
    assert float(found["first"]["b"]) == 7
    np.testing.assert_array_equal(np.asarray(found["rest"]["w"]), m["rest"]["w"])
    assert list(found) == ["first", "rest"]


def test_maps_go_leaf_by_leaf() -> None:
    m, d = net(0), net(1)
    leaves = [m["first"]["w"], m["first"]["b"], m["rest"]["w"], m["rest"]["b"]]
    assert float(run(MODEL, m, entry="norm")) == pytest.approx(
        sum(float((leaf**2).sum()) for leaf in leaves), rel=1e-15
    )
    new, scaled = run(MODEL, m, d, 0.1, entry="step")
    np.testing.assert_allclose(np.asarray(new["rest"]["w"]), m["rest"]["w"] - 0.1 * d["rest"]["w"], rtol=1e-14)
    np.testing.assert_allclose(np.asarray(scaled["rest"]["b"]), d["rest"]["b"] * m["rest"]["b"].mean(), rtol=1e-14)
    assert new["first"]["b"].shape == ()


def test_a_scan_over_trees_gives_stacked_trees() -> None:
    text = """type Pair = {a: real[k: 2], t: (real, nat < 3)}
    fn f(ps: Pair * 3) -> (real, Pair * 3) {
      scan s = 0 over p in ps { (s + sum(p.a), {a = p.a * s, t = (p.t.0 + 1, p.t.1)}) }
    }"""
    ps = {"a": np.arange(6.0).reshape(3, 2), "t": (np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]))}
    last, piled = run(text, ps)
    assert float(last) == 15
    np.testing.assert_array_equal(np.asarray(piled["a"]), ps["a"] * np.array([[0.0], [1.0], [6.0]]))
    np.testing.assert_array_equal(np.asarray(piled["t"][0]), [2, 3, 4])
    np.testing.assert_array_equal(piled["t"][1], [2, 0, 1])


def reversed_scan(kind: str = "scan") -> Program:
    """s ← 2·s + x[i] over i = 2, 1, 0; the results, s before, stand at i."""
    x = Tensor("real", axes((3,), ("t",)))
    counter = Tensor("nat", (), number(3))
    state, element, index = Parameter(2, "s", REAL), Parameter(3, "v", REAL), Parameter(4, "i", counter)
    inner = Lets([])
    inner.types = {2: REAL, 3: REAL, 4: counter, 9: REAL}
    total = inner.apply("add", inner.apply("add", 2, 2), 3)
    total = inner.apply("add", total, 9)
    pair = inner.let(MakeTuple((Ref(total), Ref(2))), TupleOf((REAL, REAL)))
    body = Body(tuple(inner.lets), Ref(pair if kind == "scan" else total))
    of = TupleOf((REAL, Tensor("real", axes((3,), ("t",))))) if kind == "scan" else REAL
    loop = Loop(kind, state, Ref(1), (element, index), (Each(Ref(0), 0), Count(0)), 3, body, along="t", reversed=True)
    zero = Let(9, None, Apply("zeros", (), (("new", ()),)), REAL)
    function = Function(
        "f", (Parameter(0, "x", x), Parameter(1, "s0", REAL)), of, Body((zero, Let(30, None, loop, of)), Ref(30))
    )
    return Program((function,))


def test_a_reversed_scan_goes_backward_and_stacks_in_place() -> None:
    last, stacked = evaluate(reversed_scan(), [np.array([1.0, 10.0, 100.0]), np.array(1.0)], bits=BITS)
    assert float(last) == 2 * (2 * (2 * 1 + 100) + 10) + 1
    np.testing.assert_array_equal(np.asarray(stacked), [2 * (2 + 100) + 10, 2 + 100, 1])


def test_a_reversed_fold() -> None:
    assert float(evaluate(reversed_scan("fold"), [np.array([1.0, 10.0, 100.0]), np.array(1.0)], bits=BITS)) == 429


def test_stacked_types_hold_tuples() -> None:
    pair = TupleOf((REAL, REAL))
    program = Program(
        (Function("f", (Parameter(0, "p", Stacked(pair, number(2))),), Stacked(pair, number(2)), Body((), Ref(0))),)
    )
    found = evaluate(program, [(np.array([1.0, 2.0]), np.array([3.0, 4.0]))], bits=BITS)
    assert isinstance(found, tuple)
    np.testing.assert_array_equal(np.asarray(found[1]), [3, 4])


def test_a_slice_of_a_tensor_at_a_run_time_nat() -> None:
    text = """fn f(x: real[seq: 3, k: 2], i: nat < 3, v: real[k: 2]) -> (real[k: 2], real[seq: 3, k: 2]) {
      (x[seq = i], {x with [seq = i] = v})
    }"""
    x = np.arange(6.0).reshape(3, 2)
    at, replaced = run(text, x, 1, [7.0, 8.0])
    np.testing.assert_array_equal(np.asarray(at), x[1])
    np.testing.assert_array_equal(np.asarray(replaced), [[0, 1], [7, 8], [4, 5]])


def test_arguments_are_left_alone_and_results_share_nothing_with_them() -> None:
    given = ExactArray.from_floats(np.array([1.0, 2.0]))
    text = "fn f(x: real[n: 2]) -> real[n: 2] { {x with [n = 0] = 5} }"
    program = bound(text)
    assert evaluate(program, [given]).tolist() == [5, 2]
    assert evaluate(program, [given]).tolist() == [5, 2]
    assert given.tolist() == [1, 2]


def test_compiled_programs_are_kept_and_let_go() -> None:
    program = bound("fn f(x: real) -> real { x + 1 }")
    first = compile_program(program)
    assert compile_program(program) is first
    others = [bound("fn f(x: real) -> real { x + 1 }") for _ in range(PROGRAMS_KEPT + 1)]
    for other in others:
        compile_program(other)
    assert compile_program(program) is not first


def test_radii_do_not_stop_a_chaotic_loop() -> None:
    """1 000 steps of the logistic map lose a ball's thousand bits; midpoints go on, as rounding at that precision."""
    text = "fn f(x: real) -> real { fold z = x over i in 0..1000 { 3.75 * z * (1 - z) } }"
    assert 0 < float(run(text, 0.3, bits=64)) < 1
    exactly = float(run(text, 0.3, bits=1200))
    assert float(run(text, 0.3, bits=1100)) == exactly


def test_long_chains_of_products_keep_their_radii_in_check() -> None:
    squarings = "; ".join(["let x = x * x"] * 300)
    found = run(f"fn f(x: real) -> real {{ {squarings}; log(x) }}", 0.5, bits=64)
    assert found.mid[()] == pytest.approx(-np.log(2) * 2.0**300)
