"""Entries stated in NumPy: the numbers of the reference, and a refusal of what can't be stated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
    "a call and a pair": "fn g(x: real[n: 3]) -> real[n: 3] { x + x }\n"
    "fn f(x: real[n: 3]) -> (real[n: 3], real[n: 3]) { (g(x), x) }",
}


def prepared(text: str, dims: dict[str, int] | None = None) -> tuple[Program, list[Any], Any]:
    """An entry's Core, made-up arguments, and the reference's result."""
    compiled = presk.compile(presk.loads(text)["f"], backend="interp", dims=dims)
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


def test_single_precision_stays_single() -> None:
    core, values, _ = prepared(STATED["a constant"])
    narrow = [np.asarray(each, dtype=np.float32) for each in values]
    assert libraries.state(core, NUMPY, "f32")(*narrow).dtype == np.float32


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("fn f(x: real[n: 3]) -> real[n: 3] { cumsum(x, axis = 0) }", "`cumsum`"),
        ("fn f(x: real[n: 3]) -> real[n: 3] { gelu(x) }", "`gelu`"),
        ("fn f(x: real[n: 3]) -> real[n: 3] { fold x = x over i in 0..4 { x + 1 } }", "a loop"),
        (
            "fn f(x: real[n: 3], m: bool[n: 3]) -> real[n: 3] { softmax(x, mask = m, axis = 0) }",
            "a softmax under a mask",
        ),
    ],
)
def test_what_is_not_in_the_table_is_named(text: str, named: str) -> None:
    core, _, _ = prepared(text)
    with pytest.raises(presk.PreskError) as caught:
        libraries.state(core, NUMPY, "f64")
    assert caught.value.diagnostics[0].code == "E9011"
    assert named in caught.value.diagnostics[0].message


def test_a_library_that_is_not_installed_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    assert libraries.find("torch", None) is None
