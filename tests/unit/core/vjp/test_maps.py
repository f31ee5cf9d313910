"""Derivatives, loops, calls and maps in the bodies of maps: what they mean, their Core, and their own derivatives."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.core.map_bodies import random_maps
from tests.unit.core.vjp.witness import Directions, agree, all_real, derivative, leaves, random_value, value

import presk
from presk.check.program import check_source
from presk.core.bind import bind
from presk.core.groups import partition
from presk.core.nodes import MapTrees, Program
from presk.core.printer import bodies, print_program
from presk.core.reader import read_program
from presk.core.simplify import simplify
from presk.core.verify import verify
from presk.text.diagnostics import PreskError
from presk.text.spans import Source

TREE = "module M { w: real[a: 3, 2] = zeros; s: real = zeros; e: real[0, 2] = zeros }\n"


def bound(text: str, entry: str) -> Program:
    """An entry's Core, lawful as it was made and as it was simplified."""
    checked, found = check_source(Source("maps.psk", text))
    assert found == (), text
    for simplified in (False, True):
        program = bind(checked, entry, simplified=simplified)
        verify(program)
        printed = print_program(program)
        assert print_program(read_program(printed)) == printed
    for function in program.functions:
        partition(function)
    assert print_program(simplify(program)) == printed
    return program


def same(found: Any, wanted: Any) -> bool:
    """Whether two trees of the reference are equal to many digits, leaf by leaf."""
    pairs = zip(leaves(found), leaves(wanted), strict=True)
    return all(agree(a, b) for one, other in pairs for a, b in zip(one.balls(), other.balls(), strict=True))


def check(random: Random) -> None:
    """A random program means what it means leaf by leaf, and so does its derivative."""
    text = random_maps(random)
    program = bound(text, "f")
    rng = np.random.default_rng(random.randrange(1000))
    arguments = [random_value(rng, each.type) for each in program.entry.parameters]
    assert same(value(program, arguments), value(bound(text, "by_hand"), arguments)), text
    wrt = tuple(each.number for each in program.entry.parameters if all_real(each.type))
    pull = simplify(derivative(program, "vjp", wrt))
    verify(pull)
    directions = Directions(program, arguments, wrt, 1)
    found, expected = directions.found(pull), directions.expected()
    assert agree(found, expected), (text, float(found), float(expected))


@settings(max_examples=10)
@given(st.randoms(use_true_random=False))
def test_random_maps(random: Random) -> None:
    check(random)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
def test_more_random_maps(part: int) -> None:
    for seed in range(part * 40, part * 40 + 40):
        check(Random(seed))


# What Core holds


def maps_in(program: Program) -> int:
    lets = (let for each in program.functions for body in bodies(each.body) for let in body.lets)
    return sum(isinstance(let.value, MapTrees) for let in lets)


@pytest.mark.parametrize(
    ("body", "maps"),
    [
        ("twice(x) + sum(x)", 1),
        ("let r = halves(x); r.a + {r with b = x}.b", 1),
        ("let (p, q) = both(x); p * q", 1),
        ("total({a = x, b = sum(x)}) * x", 0),
        ("fold y = x over i in 0..3 { y * y }", 0),
        ("map(y = x) { y * 2 } + x", 2),
        ("x * map(y = m) { y + y }.s", 2),
        ("grad(energy)(x)", 0),
        ("where(x > 0, vjp(twice)(x)(x), x)", 0),
    ],
)
def test_a_map_is_one_where_its_body_is_of_primitives(body: str, maps: int) -> None:
    """Core's map has a body of primitives; what else a map holds is written leaf by leaf."""
    text = TREE + (
        "fn twice(x: real[..]) -> real[..] { x + x }\n"
        "fn both(x: real[..]) { (x, x * x) }\n"
        "fn halves(x: real[..]) { {a = x / 2, b = x / 2} }\n"
        "fn energy(x: real[..]) -> real { sum(x ** 3) }\n"
    )
    program = bound(f"{text}fn f(m: M) -> M {{ map(x = m) {{ {body} }} }}", "f")
    assert maps_in(program) == maps


def test_a_call_in_the_body_of_a_map_has_its_own_names() -> None:
    """The names that a function gives to unnamed axes decide what meets what, written out as called."""
    text = """
    module M { w: real[2, 2] = zeros }
    fn g(w: real[p: 2, q: 2], u: real[p: 2]) -> real { sum(w * u * positions[q: 2]) }
    fn f(m: M, u: real[2]) -> M { map(x = m) { x * 0 + g(m.w, u) } }
    fn h(m: M, u: real[2]) -> real { g(m.w, u) }
    fn part(r: {a: real[p: 2, q: 2]}, u: real[p: 2]) -> {b: real[q: 2]} { {b = sum(r.a * u, axis = p)} }
    fn k(m: M, u: real[2], z: real[q: 2]) -> M { map(x = m) { x * 0 + sum(part({a = m.w}, u).b * z) } }
    fn l(m: M, u: real[2], z: real[q: 2]) -> real { sum(part({a = m.w}, u).b * z) }
    """
    program = presk.loads(text)
    m, u, z = {"w": np.array([[1.0, 2.0], [3.0, 4.0]])}, np.array([10.0, 100.0]), np.array([1.0, 3.0])
    for backend in ("interp", "kernel", "native"):
        for mapped, called, arguments in (("f", "h", (m, u)), ("k", "l", (m, u, z))):
            bound(text, mapped)
            found = presk.compile(program[mapped], backend=backend, realize="f64")(*arguments)["w"]
            wanted = float(presk.compile(program[called], backend=backend, realize="f64")(*arguments))
            assert np.asarray(found, dtype=float).tolist() == [[wanted] * 2] * 2


def test_calls_inside_of_calls_stay_calls_where_they_are_many() -> None:
    """Written out these would be 2 to the 20."""
    text = TREE + "fn f0(x: real[..]) -> real[..] { sin(x) }\n"
    text += "".join(f"fn f{k}(x: real[..]) -> real[..] {{ f{k - 1}(x) + f{k - 1}(x) / 2 }}\n" for k in range(1, 21))
    program = bound(f"{text}fn f(m: M) -> M {{ map(x = m) {{ f20(x) }} }}", "f")
    assert len(program.functions) == 2 * 21 + 1


# What is told


def refusal(text: str) -> str:
    checked, found = check_source(Source("maps.psk", TREE + text))
    if found:
        return found[0].code
    with pytest.raises(PreskError) as error:
        bind(checked, "f", training=True)
    return error.value.code


@pytest.mark.parametrize(
    "text",
    [
        "fn g(x: real[..]) -> real[..] { dropout(x, 0.5) }\nfn f(m: M) -> M { map(x = m) { g(x) } }",
        "fn g(x: real[..]) -> real { sum(dropout(x, 0.5)) }\nfn f(m: M) -> M { map(x = m) { grad(g)(x) } }",
        (
            "fn g(x: real[..]) -> real { sum(x) * normal[]() }\nfn h(x: real[..]) -> real { g(x) }\n"
            "fn f(m: M) -> M { map(x = m) { x + fold s = h(x) over i in 0..2 { h(x) } } }"
        ),
        (
            "fn g(x: real[..]) -> real { sum(x) * normal[]() }\nfn h(x: real[..]) -> real { sum(grad(g)(x)) }\n"
            "fn f(m: M) -> M { map(x = m) { grad(h)(x) } }"
        ),
        "fn f(m: M) -> M { map(x = m) { map(y = x) { dropout(y, 0.5) } } }",
    ],
)
def test_nothing_is_drawn_for_a_leaf(text: str) -> None:
    assert refusal(text) == "E3010"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("grad(count)(0 * sum(x), 2)", "E3003"),
        ("x + grad(count, wrt = 1)(sum(x), i)", "E5001"),
        ("grad(energies)(x)", "E5002"),
        ("grad(sin)(x)", "E5002"),
        ("map(y = m) { y + x }.w + x", "E3003"),
        ("grad(rows)(x)", "E3003"),
    ],
)
def test_what_has_no_derivative_has_none_in_a_map(body: str, code: str) -> None:
    text = """
    fn count(x: real, i: nat < 3) -> real { x * i }
    fn energies(x: real[..]) -> real[..] { x * x }
    fn rows(x: real[a, b]) -> real { sum(x) }
    """
    assert refusal(f"{text}fn f(m: M, i: nat < 3) -> M {{ map(x = m) {{ {body} }} }}") == code


# By name


def run(text: str, *arguments: Any, entry: str = "f") -> list[Any]:
    """The value of each executor in f64, the reference's first."""
    program = presk.loads(text)
    backends = ("interp", "kernel", "native")
    return [presk.compile(program[entry], backend=each, realize="f64")(*arguments) for each in backends]


def test_second_derivatives_in_a_map() -> None:
    text = (
        TREE
        + """
    fn energy(x: real[..]) -> real { sum(x ** 4) }
    fn pull(x: real[..], v: real[..]) -> real { sum(grad(energy)(x) * v) }
    fn f(m: M) -> M { map(x = m) { grad(pull)(x, x) } }
    """
    )
    m = {"w": np.arange(6.0).reshape(3, 2) - 2, "s": np.array(-3.0), "e": np.zeros((0, 2))}
    for found in run(text, m):
        for name, leaf in m.items():
            np.testing.assert_array_equal(np.asarray(found[name], dtype=float), 12 * leaf**3)


def test_a_step_of_newton_for_every_leaf_in_a_loop() -> None:
    text = (
        TREE
        + """
    fn slope(x: real[..], u: real[..]) -> real { sum(vjp(residual)(x)(u)) }
    fn residual(x: real[..]) -> real[..] { x * x - 2 }
    fn f(m: M) -> M { fold m = m over i in 0..6 { map(x = m) { x - residual(x) / vjp(residual)(x)(x * 0 + 1) } } }
    """
    )
    m = {"w": np.full((3, 2), 1.5), "s": np.array(1.0), "e": np.zeros((0, 2))}
    for found in run(text, m):
        for leaf in found.values():
            assert np.abs(np.asarray(leaf, dtype=float) - 2**0.5).max(initial=0) < 1e-15


def test_trees_without_leaves_and_stacks_without_layers() -> None:
    text = """
    module E { }
    module B { w: real[2] = zeros }
    module S { blocks: B * 0; e: E }
    fn energy(x: real[..]) -> real { sum(x ** 3) }
    fn f(s: S) -> (S, S) { map(x = s) { (grad(energy)(x), x) } }
    fn g(s: S) -> (S, S, S) { map(x = s) { let (v, d) = value_and_grad(energy)(x); (d * v, x, d) } }
    fn h(e: E) -> (E, E) { map(x = e) { (grad(energy)(x), x) } }
    """
    s = {"blocks": {"w": np.zeros((0, 2))}, "e": {}}
    bound(text, "f")
    for entry, count in (("f", 2), ("g", 3)):
        for found in run(text, s, entry=entry):
            assert [np.asarray(each["blocks"]["w"]).shape for each in found] == [(0, 2)] * count
    assert [len(each) for each in run(text, {}, entry="h")] == [2, 2, 2]


@pytest.mark.parametrize("body", ["x + max(x)", "x * mean(x)", "where(x > min(x), x, 1 / sum(x))"])
def test_a_leaf_without_elements_has_no_value_to_be_refused(body: str) -> None:
    """The body chooses among the elements of a leaf: in a leaf without any, nothing depends on that."""
    text = (
        TREE
        + f"""
    fn energy(x: real[..]) -> real {{ sum(x ** 3) }}
    fn f(m: M) -> M {{ map(x = m) {{ {body} }} }}
    fn g(m: M) -> M {{ map(x = m) {{ {body} + 0 * grad(energy)(x) }} }}
    fn h(m: M) -> (M, M) {{ map(x = m) {{ (grad(energy)(x), {body}) }} }}
    fn k(m: M) -> real {{ total(g(m)) + total(h(m).1) }}
    """
    )
    m = {"w": np.arange(6.0).reshape(3, 2) + 1, "s": np.array(2.0), "e": np.zeros((0, 2))}
    for once, by_leaf, both in zip(run(text, m), run(text, m, entry="g"), run(text, m, entry="h"), strict=True):
        for name in m:
            for other in (by_leaf, both[1]):
                np.testing.assert_array_equal(np.asarray(once[name], float), np.asarray(other[name], float))
    assert all(np.asarray(each["e"]).shape == (0, 2) for each in run(text, m, entry="grad(k)"))


def test_a_map_that_differentiates_by_what_is_around_it() -> None:
    """The derivative of a function of the whole tree, in the body and with the leaf as a part of it."""
    text = (
        TREE
        + """
    fn loss(m: M, c: real) -> real { sum(m.w ** 2) * m.s * c }
    fn f(m: M, c: real) -> M { map(x = m) { x * grad(loss, wrt = 1)(m, sum(x)) + grad(loss)(m, c).s } }
    """
    )
    m = {"w": np.arange(6.0).reshape(3, 2), "s": np.array(2.0), "e": np.zeros((0, 2))}
    for found in run(text, m, 3.0):
        np.testing.assert_array_equal(np.asarray(found["w"], dtype=float), m["w"] * 110 + 165)
        assert float(found["s"]) == 2 * 110 + 165


def test_an_axis_of_the_leaf_may_have_a_name_that_the_body_uses() -> None:
    text = """
    module M { w: real[k: 3, j: 2] = zeros; k: real[k: 2] = zeros }
    fn energy(x: real[..], v: real[k]) -> real { sum(ein[.., k](x, v) ** 2) }
    fn f(m: M, v: real[k: 4]) -> M { map(x = m) { grad(energy)(x, v) + x * sum(v * grad(logs)(v)) } }
    fn logs(v: real[k]) -> real { sum(log(v)) }
    """
    m, v = {"w": np.arange(6.0).reshape(3, 2), "k": np.array([1.0, -1.0])}, np.array([1.0, 2.0, 1.0, 1.0])
    bound(text, "f")
    for found in run(text, m, v):
        for name, leaf in m.items():
            np.testing.assert_array_equal(np.asarray(found[name], dtype=float), leaf * (2 * 7 + 4))
