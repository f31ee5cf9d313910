"""Entries stated in NumPy: the numbers of the reference, and a refusal of what can't be stated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import presk
from presk.choose import libraries
from presk.core.nodes import Program
from presk.run import trees

NUMPY = libraries.MAKERS["numpy"](None)

STATED = {
    "products": "fn f(a: real[n: 3, k: 4], b: real[k: 4, m: 5]) -> real[n: 3, m: 5] { matmul(a, b) }",
    "batched": "fn f(a: real[b: 2, n: 3, k: 4], b: real[k: 4, m: 5]) -> real[b: 2, n: 3, m: 5] { matmul(a, b) }",
    "a bias by name": "fn f(x: real[n: 3, m: 5], b: real[n: 3]) -> real[n: 3, m: 5] { x + b }",
    "a transposed operand": "fn f(x: real[n: 3, m: 5], y: real[m: 5, n: 3]) -> real[n: 3, m: 5] { x * y }",
    "a constant": "fn f(x: real[n: 3]) -> real[n: 3] { 1 / (x * x + 0.1) }",
    "functions": "fn f(x: real[n: 3]) -> real[n: 3] { tanh(exp(x)) - relu(x) + sigmoid(x) * silu(x) }",
    "sums": "fn f(x: real[n: 3, m: 5]) -> real[m: 5] { sum(x, axis = 0) - mean(x, axis = 0) }",
    "softmax": "fn f(x: real[n: 3, m: 5]) -> real[n: 3, m: 5] { softmax(x, axis = -1) }",
    "rows": "fn f(x: real[n: 3, m: 5], t: nat[n: 3] < 5) -> real[n: 3]\n"
    "{ cross_entropy(x, t) + logsumexp(x, axis = m) + sum(log_softmax(x, axis = n), axis = 1) }",
    "a row of two axes": "fn f(x: real[n: 3, m: 5, k: 2]) -> real[n: 3, m: 5, k: 2] { softmax(x, axis = (n, k)) }",
    "a mask": "fn f(x: real[b: 2, q: 4, k: 4]) -> real[b: 2, q: 4, k: 4]\n"
    "{ softmax(x, axis = k, mask = causal_mask[q: 4, k: 4]) }",
    "a layer norm": "fn f(x: real[n: 3, m: 5]) -> real[n: 3, m: 5]\n"
    "{ let c = x - mean(x, axis = m)\n c * rsqrt(mean(square(c), axis = m) + 1e-5) }",
    "choices": "fn f(x: real[n: 3, m: 5], y: real[m: 5]) -> real[n: 3, m: 5]\n"
    "{ where(not (x < y) or x > 1, maximum(x, y), minimum(x, y) * sign(x) + floor(y)) }",
    "functions of one": "fn f(x: real[n: 3]) -> real[n: 3] { softplus(x) + gelu_tanh(x) + (x * x + 1) ** 0.3 }",
    "extremes": "fn f(x: real[n: 3, m: 5]) -> real[n: 3] { max(x, axis = m) - min(x, axis = m) }",
    "layout": "fn f(x: real[n: 3, m: 6]) -> real[n: 3, m: 6]\n"
    "{ let s = split[a: 2, b: 3](x, axis = m)\n"
    "rename(merge[b](transpose(s, (n, b, a)), axes = (b, a)), b = m) * 2 + broadcast_to[n: 3, m: 6](x[m = 1]) }",
    "joined": "fn f(x: real[n: 3], y: real[n: 3]) -> real[s: 2, n: 6]\n"
    "{ let z = concat(x, y, axis = n)\n stack[s](flip(z, axis = n), concat(x[n = 1..3], z[n = 0..4], axis = n)) }",
    "look-ups": "fn f(w: real[v: 4, d: 2], t: nat[n: 3] < 4) -> real[n: 3, d: 2]\n"
    "{ embed(w, t) + take(w, t, axis = v) * sum(one_hot[k: 4](t), axis = k) + positions[n: 3] * eye[n: 3, d: 2] }",
    "an update": "fn f(x: real[n: 3, m: 5], v: real[n: 3], i: nat < 5) -> real[n: 3, m: 5]\n{ {x with [m = i] = v} }",
    "nats passed on": "fn s(x: real[n], k: real) -> real[n] { x * k }\n"
    "fn f(x: real[n: 3], i: nat[n: 3] < 5) -> (real[n: 3], real[n: 3])\n"
    "{ (fold x = x over k in 0..3 { s(x, k + 0.5) + s(x, k) }, i) }",
    "a fold": "fn f(x: real[n: 3], w: real[l: 4, n: 3]) -> real[n: 3]\n"
    "{ let a = fold a = x over v in w along l { a * 0.5 + v }\n fold a = a over i in 0..3 { a + i } }",
    "a scan": "fn f(x: real[n: 3], w: real[n: 3, l: 4]) -> (real[n: 3], real[l: 4, n: 3])\n"
    "{ scan a = x over v in w along l { let a = a * 0.5 + v\n (a, square(a)) } }",
    "a record": "fn f(x: {a: real[n: 3], b: real[n: 3]}) -> {a: real[n: 3], b: real[n: 3]} { {x with b = x.a + x.b} }",
    "a call and a pair": "fn g(x: real[n: 3]) -> real[n: 3] { x + x }\n"
    "fn f(x: real[n: 3]) -> (real[n: 3], real[n: 3]) { (g(x), x) }",
}


def prepared(text: str, dims: dict[str, int] | None = None, entry: str = "f") -> tuple[Program, list[Any], Any]:
    """An entry's Core, made-up arguments, and the reference's result."""
    compiled = presk.compile(presk.loads(text)[entry], backend="interp", dims=dims)
    values = compiled.synthesize(seed=3)
    return compiled.core(**values), [values[name] for name in compiled.parameters], compiled(**values)


@pytest.mark.parametrize("text", STATED.values(), ids=STATED)
def test_numpy_computes_the_entry(text: str) -> None:
    core, values, exact = prepared(text)
    found = libraries.state(core, NUMPY, "f64")(*libraries.arguments(NUMPY, values))
    for (path, leaf), (wanted_path, wanted) in zip(trees.leaves(found), trees.leaves(exact), strict=True):
        assert path == wanted_path
        np.testing.assert_allclose(leaf, np.asarray(wanted), rtol=1e-12, atol=1e-14)


def test_a_layer_of_the_library_is_stated(examples: Path) -> None:
    entry = presk.load(examples / "tutorial" / "01_linear.psk")["Linear{3, 2}.apply"]
    compiled = presk.compile(entry, backend="interp", dims={"batch": 4})
    values = compiled.synthesize(seed=1)
    stated = libraries.state(compiled.core(**values), NUMPY, "f64")
    found = stated(*libraries.arguments(NUMPY, [values[name] for name in compiled.parameters]))
    np.testing.assert_allclose(found, np.asarray(compiled(**values)), rtol=1e-12)


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_models_are_stated_where_the_library_is_installed(name: str, examples: Path) -> None:
    pytest.importorskip(name, reason=f"{name} isn't installed")
    library = libraries.MAKERS[name](None)
    program = presk.load(examples / "minigpt" / "minigpt.psk")
    for entry in ("MiniGPT.apply", "MiniGPT.next_token", "loss"):
        compiled = presk.compile(program[entry], backend="interp", bits=64, dims={"batch": 2})
        values = compiled.synthesize(seed=1)
        given = [values[each] for each in compiled.parameters]
        found = libraries.state(compiled.core(**values), library, "f64")(*libraries.arguments(library, given))
        for (_, leaf), (_, wanted) in zip(trees.leaves(found), trees.leaves(compiled(**values)), strict=True):
            np.testing.assert_allclose(np.asarray(leaf), np.asarray(wanted), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, ml_dtypes.bfloat16, np.int64, np.bool_])
def test_arrays_keep_their_shape_and_values(name: str, dtype: Any) -> None:
    pytest.importorskip(name, reason=f"{name} isn't installed")
    library = libraries.MAKERS[name](None)
    for array in (np.asarray(1, dtype), np.ones((2, 3), dtype).T, np.zeros((0, 2), dtype)):
        entered = library.enter(array)
        assert tuple(entered.shape) == array.shape
        plain = entered.float() if name == "torch" and dtype == ml_dtypes.bfloat16 else entered
        np.testing.assert_array_equal(np.asarray(plain, np.float64), array.astype(np.float64))


def test_single_precision_stays_single() -> None:
    core, values, _ = prepared(STATED["a constant"])
    narrow = [np.asarray(each, dtype=np.float32) for each in values]
    assert libraries.state(core, NUMPY, "f32")(*narrow).dtype == np.float32


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("fn f(x: real[n: 3]) -> real[n: 3] { cumsum(x, axis = 0) }", "`cumsum`"),
        ("fn f(x: real[n: 3]) -> real[n: 3] { gelu(x) }", "`gelu`"),
        ("fn f(x: real[n: 3]) -> real[n: 3] { fold x = x over i in 0..4 { cumsum(x, axis = 0) } }", "`cumsum`"),
        ("fn f[P](p: P) -> P { map(p = p) { p + 1 } }\nfn g(x: {a: real[n: 3]}) -> {a: real[n: 3]} { f(x) }", "a map"),
    ],
)
def test_what_is_not_in_the_table_is_named(text: str, named: str) -> None:
    core, _, _ = prepared(text, entry="g" if "fn g" in text else "f")
    with pytest.raises(presk.PreskError) as caught:
        libraries.state(core, NUMPY, "f64")
    assert caught.value.diagnostics[0].code == "E9011"
    assert named in caught.value.diagnostics[0].message


def test_a_library_that_is_not_installed_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    assert libraries.find("torch", None) is None
