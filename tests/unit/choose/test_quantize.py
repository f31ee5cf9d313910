"""Which parameters are quantised, into what, and the realization that names them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import presk
from presk import PreskError, Quantized, Realization
from presk.api.compiled import Compiled
from presk.choose.quantize import QuantizedWeights, quantize_weights
from presk.realization.quantized import quantize
from presk.run import trees

PROGRAM = """\
module Lin{I, O} { w: real[I, O] = normal(std = 1); b: real[O] = zeros
  fn apply(self, x: real[.., I]) -> real[.., O] { dot(x, self.w) + self.b } }
module Net { one: Lin{4, 4}; two: Lin{4, 4}; blocks: Lin{4, 4} * 3; head: Lin{4, 3}
  fn apply(self, x: real[batch, 4]) -> real[batch, 3] {
    let h = fold x = self.two(self.one(x)) over b in self.blocks { relu(b(x)) }
    self.head(h) } }
fn between(a: Lin{4, 3}, b: Lin{4, 3}, x: real[batch, 4]) -> real[batch, 3] { a(x) - b(x) }
"""
NET = presk.compile(presk.loads(PROGRAM)["Net.apply"], backend="interp", dims={"batch": 2})


def quantised(of: Compiled = NET, realization: Realization | None = None, **options: Any) -> QuantizedWeights:
    drawn = of.init(seed=1)
    weights = drawn if len(of.modules) > 1 else {of.modules[0]: drawn}
    return quantize_weights(of.core(), weights, realization or Realization(), **options)


def names(made: QuantizedWeights) -> list[str]:
    return [change.name for change in made.changes]


def test_weights_are_chosen_and_biases_are_not() -> None:
    made = quantised(kind="int8")
    assert names(made) == ["one.w", "two.w", "blocks.w", "head.w"]
    assert dict(made.realization.quant) == {name: {"type": "int8", "axis": 1} for name in names(made)}
    assert (made.realization.entry, made.realization.core) == ("Net.apply", None)
    tree, drawn = made.weights["self"], NET.init(seed=1)
    expected = quantize("w", drawn["blocks"]["w"], "int8", 1, 1)
    assert np.array_equal(tree["blocks"]["w"].q, expected.q)
    assert np.array_equal(tree["blocks"]["w"].scale, expected.scale)
    assert tree["blocks"]["b"] is not None
    assert not isinstance(tree["blocks"]["b"], Quantized)


def test_a_pattern_chooses_by_path() -> None:
    assert names(quantised(kind="int4", pattern="*.w")) == ["one.w", "two.w", "blocks.w", "head.w"]
    assert names(quantised(kind="int4", pattern="[ot]*.w")) == ["one.w", "two.w"]
    assert names(quantised(kind="int4", pattern="blocks.*")) == ["blocks.w", "blocks.b"]
    lin = presk.compile(presk.loads(PROGRAM)["Lin{4, 3}.apply"], backend="interp", dims={"batch": 2})
    assert names(quantised(lin, kind="int8", pattern="*.w")) == ["w"]


def test_a_name_of_two_modules_is_both() -> None:
    between = presk.compile(presk.loads(PROGRAM)["between"], backend="interp", dims={"batch": 2})
    made = quantised(between, kind="int8")
    assert names(made) == ["w", "w"]
    assert isinstance(made.weights["a"]["w"], Quantized)
    assert isinstance(made.weights["b"]["w"], Quantized)


def test_the_realization_given_is_kept() -> None:
    given = Realization("bf16", params={"head.b": "f32"}, quant={"head.w": {"type": "int8", "axis": 0}})
    made = quantised(realization=given, kind="int4", pattern="blocks.w", axis=0)
    assert made.realization.default == "bf16"
    assert dict(made.realization.params) == {"head.b": "f32"}
    assert dict(made.realization.quant) == {
        "head.w": {"type": "int8", "axis": 0},
        "blocks.w": {"type": "int4", "axis": 0},
    }


def test_what_changes_is_told() -> None:
    (change,) = quantised(kind="int4", pattern="head.w").changes
    drawn = NET.init(seed=1)["head"]["w"]
    off = np.abs(change.made.values().astype(np.float64) - drawn).max() / np.abs(drawn).max()
    assert change.error == pytest.approx(off)
    assert (change.bytes_before, change.bytes_after) == (12 * 8, 4 * 2 + 3 * 4)


def test_the_result_runs_on_the_reference_as_what_it_stands_for() -> None:
    tree, x = quantised(kind="int8").weights["self"], np.ones((2, 4))
    plain = trees.map_leaves(tree, lambda leaf: leaf.values() if isinstance(leaf, Quantized) else leaf)
    found, drawn = np.asarray(NET(tree, x)), np.asarray(NET(NET.init(1), x))
    assert np.array_equal(found, np.asarray(NET(plain, x)))
    assert not np.array_equal(found, drawn)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"kind": "int8", "pattern": "*.v"}, "E7002"),
        ({"kind": "int8", "pattern": "blocks.b", "axis": 1}, "E7003"),
        ({"kind": "int8", "pattern": "head.w", "realization": Realization(params={"head.w": "bf16"})}, "E7001"),
    ],
)
def test_what_cannot_be_quantised(options: dict[str, Any], code: str) -> None:
    with pytest.raises(PreskError) as caught:
        quantised(**options)
    assert caught.value.code == code


def test_weights_that_are_quantised_or_not_finite_are_refused() -> None:
    tree = NET.init()
    for strange in (quantize("w", tree["head"]["w"], "int8", 1), np.full((4, 3), np.nan)):
        weights = {"self": {**tree, "head": {**tree["head"], "w": strange}}}
        with pytest.raises(PreskError) as caught:
            quantize_weights(NET.core(), weights, Realization(), kind="int8")
        assert caught.value.code == "E7003"
        assert "`head.w`" in str(caught.value)
