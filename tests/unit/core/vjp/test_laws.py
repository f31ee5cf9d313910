"""Laws that derivatives obey, on the reference: linearity, the chain rule, symmetry, calls, loops and nesting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from mpmath import mp
from tests.unit.core.vjp.witness import leaves

import presk


@pytest.fixture(autouse=True)
def digits() -> Iterator[None]:
    """mpmath works at the reference's precision."""
    with mp.workprec(BITS):
        yield


BITS = 300
CLOSE = 2.0**-200

MAPS = {
    "linear": "fn {name}(x: real[4]) -> real[4] { dot(x, positions[4] + eye[4, 4]) }",
    "waves": "fn {name}(x: real[4]) -> real[4] { sin(x) * exp(flip(x, axis = 0)) }",
    "row": "fn {name}(x: real[4]) -> real[4] { softmax(x) * logsumexp(x) }",
    "prefix": "fn {name}(x: real[4]) -> real[4] { cumsum(x * x, axis = 0) / (1 + sum(square(x))) }",
    "loop": "fn {name}(x: real[4]) -> real[4] { fold y = x over i in 0..5 { tanh(y + x * y) + y[0 = 1] } }",
    "steps": """fn {name}(x: real[4]) -> real[4] {
      let (last, all) = scan s = 1 over each in x along 0 { let s = s * each + sin(s); (s, s * each) }
      all * last
    }""",
}


def program(**functions: str) -> presk.Program:
    """A program of maps under names."""
    return presk.loads("\n".join(MAPS[which].replace("{name}", name) for name, which in functions.items()))


def exact(entry: Any, *arguments: Any) -> np.ndarray[Any, Any]:
    """The reference's value, as mpmath's numbers."""
    found = presk.compile(entry, backend="interp", bits=BITS)(*arguments)
    return np.concatenate([np.atleast_1d(each.mid).reshape(-1) for each in leaves(found)])


def near(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> bool:
    return all(abs(a - b) <= CLOSE * (1 + abs(b)) for a, b in zip(found, expected, strict=True))


X = np.array([0.5, -0.25, 1.5, 0.75])
C = np.array([1.0, -2.0, 0.5, 4.0])
D = np.array([-0.5, 0.25, 8.0, 1.0])


@pytest.mark.parametrize("which", MAPS)
def test_a_vjp_is_linear_in_its_cotangent(which: str) -> None:
    pull = presk.vjp(program(f=which)["f"])
    together = exact(pull, X, 2 * C - D)
    assert near(together, 2 * exact(pull, X, C) - exact(pull, X, D))


@pytest.mark.parametrize("first", MAPS)
@pytest.mark.parametrize("second", ["waves", "loop", "steps"])
def test_the_chain_rule(first: str, second: str) -> None:
    text = "fn h(x: real[4]) -> real[4] { g(f(x)) }"
    both = presk.loads("\n".join((MAPS[first].replace("{name}", "f"), MAPS[second].replace("{name}", "g"), text)))
    middle = presk.compile(both["f"], backend="interp", bits=BITS)(X)
    inner = presk.compile(presk.vjp(both["g"]), backend="interp", bits=BITS)(middle, C)
    assert near(exact(presk.vjp(both["h"]), X, C), exact(presk.vjp(both["f"]), X, inner))


@pytest.mark.parametrize("which", MAPS)
def test_second_derivatives_are_symmetric(which: str) -> None:
    """uᵀ·H·v = vᵀ·H·u for the Hessian H of Σ c·f: the gradient of (∇ · u), dotted with v."""
    text = (
        MAPS[which].replace("{name}", "f")
        + """
    fn slope(x: real[4], u: real[4], c: real[4]) -> real { sum(u * vjp(f)(x)(c)) }
    fn turned(x: real[4], u: real[4], v: real[4], c: real[4]) -> real { sum(v * grad(slope)(x, u, c)) }
    """
    )
    both = presk.loads(text)["turned"]
    u, v = np.array([1.0, 2.0, -1.0, 0.5]), np.array([0.25, -1.0, 3.0, 1.0])
    assert near(exact(both, X, u, v, C), exact(both, X, v, u, C))


def test_a_loop_is_what_it_is_unrolled() -> None:
    text = """
    fn once(y: real[4], x: real[4]) -> real[4] { tanh(y * x + 1) / (1 + square(y)) }
    fn looped(x: real[4]) -> real { sum(fold y = x over i in 0..3 { once(y, x) }) }
    fn unrolled(x: real[4]) -> real { sum(once(once(once(x, x), x), x)) }
    """
    both = presk.loads(text)
    assert near(exact(presk.grad(both["looped"]), X), exact(presk.grad(both["unrolled"]), X))


def test_stacked_parameters_are_what_they_are_apart() -> None:
    text = """
    module B { w: real[4, 4] = normal(std = 0.5) ; b: real[4] = zeros }
    module S { blocks: B * 3 }
    module A { x: B; y: B; z: B }
    fn block(b: B, x: real[4]) -> real[4] { x + tanh(dot(x, b.w) + b.b) }
    fn stacked(s: S, x: real[4]) -> real { sum(square(fold x = x over b in s.blocks { block(b, x) })) }
    fn apart(a: A, x: real[4]) -> real { sum(square(block(a.z, block(a.y, block(a.x, x))))) }
    """
    both = presk.loads(text)
    rng = np.random.default_rng(3)
    w, b = rng.standard_normal((3, 4, 4)), rng.standard_normal((3, 4))
    one = presk.compile(presk.grad(both["stacked"]), realize="f64")({"blocks": {"w": w, "b": b}}, X)
    trees = {name: {"w": w[at], "b": b[at]} for at, name in enumerate("xyz")}
    other = presk.compile(presk.grad(both["apart"]), realize="f64")(trees, X)
    for at, name in enumerate("xyz"):
        np.testing.assert_array_equal(one["blocks"]["w"][at], other[name]["w"])
        np.testing.assert_array_equal(one["blocks"]["b"][at], other[name]["b"])


def test_derivatives_in_loops_and_of_functions_passed() -> None:
    text = """
    fn newton(f: fn(real) -> real, x: real) -> real { fold x = x over i in 0..6 { x - f(x) / grad(f)(x) } }
    fn cube(x: real) -> real { x ** 3 - 2 }
    fn root(x: real) -> real { newton(cube, x) }
    """
    found = presk.compile(presk.loads(text)["root"], realize="f64")(1.5)
    assert float(found) == pytest.approx(2 ** (1 / 3), rel=1e-15)
    slope = presk.compile(presk.grad(presk.loads(text)["root"]), realize="f64")(1.5)
    assert abs(float(slope)) < 1e-12


def test_gradients_of_a_step_of_descent() -> None:
    """The derivative of a loss after a step by the loss's own derivative, through a leafwise map."""
    text = """
    module M { w: real[4] = zeros; s: real = zeros }
    fn loss(m: M, x: real[4]) -> real { square(sum(m.w * x) * m.s - 1) }
    fn after(m: M, x: real[4], lr: real) -> real {
      loss(map(p = m, g = grad(loss)(m, x)) { p - lr * g }, x)
    }
    fn slope(m: M, x: real[4], lr: real, h: real) -> real { (after(m, x, lr + h) - after(m, x, lr - h)) / (2 * h) }
    """
    both = presk.loads(text)
    m = {"w": C, "s": np.float64(0.5)}
    found = exact(presk.grad(both["after"], wrt=2), m, X, 0.0625)
    expected = exact(both["slope"], m, X, 0.0625, 2.0**-80)
    assert abs(found[0] - expected[0]) < 2.0**-140
    for wrt in (0, 1):
        assert len(exact(presk.grad(both["after"], wrt=wrt), m, X, 0.0625)) == (5, 4)[wrt]
