"""Quantised arrays in files of weights, and as arguments of the reference."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

import presk
from presk import PreskError, Quantized
from presk.realization.quantized import quantize
from presk.run import tensor_files

PROGRAM = """\
module Lin{I, O} { w: real[I, O] = normal(std = 1)
  fn apply(self, x: real[.., I]) -> real[.., O] { dot(x, self.w) } }
module Net { blocks: Lin{3, 3} * 2; head: Lin{3, 5}
  fn apply(self, x: real[batch, 3]) -> real[batch, 5] {
    let h = fold x = x over b in self.blocks { b(x) }
    self.head(h) } }
fn truth(x: bool[n]) -> bool[n] { not x }
"""


def weights(kind: str, axis: int) -> dict[str, Any]:
    random = np.random.default_rng(0)
    return {
        "blocks": {"w": quantize("w", random.normal(size=(2, 3, 3)), kind, axis, 1)},
        "head": {"w": quantize("w", random.normal(size=(3, 5)), kind, axis)},
    }


@pytest.mark.parametrize("kind", ["int8", "int4"])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_file_keeps_integers_and_scales(tmp_path: Path, kind: str, axis: int) -> None:
    tree = {**weights(kind, axis), "b": np.ones(2)}
    presk.save_file(tree, tmp_path / "w.safetensors")
    file = tensor_files.read(tmp_path / "w.safetensors")
    assert list(file.arrays) == ["blocks.w", "blocks.w.scale", "head.w", "head.w.scale", "b"]
    assert file.arrays["head.w"].nbytes == (15 if kind == "int8" else 9)
    again = presk.load_file(tmp_path / "w.safetensors")
    for one, other in ((again["blocks"]["w"], tree["blocks"]["w"]), (again["head"]["w"], tree["head"]["w"])):
        assert isinstance(one, Quantized)
        assert (one.type, one.axis, one.layers) == (kind, axis, other.layers)
        assert np.array_equal(one.values(), other.values())
    assert np.array_equal(again["b"], tree["b"])


def write(path: Path, arrays: dict[str, Any], said: object) -> None:
    text = said if isinstance(said, str) else json.dumps(said)
    save_file(arrays, str(path), metadata={"quantized": text})


INTEGERS = {"w": np.zeros((2, 2), np.int8), "w.scale": np.ones(2, np.float32)}


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        (INTEGERS, {"v": {"type": "int8", "axis": 0, "shape": [2, 2]}}),
        ({"w": INTEGERS["w"]}, {"w": {"type": "int8", "axis": 0, "shape": [2, 2]}}),
        (INTEGERS, {"w": {"type": "int8", "axis": 5, "shape": [2, 2]}}),
        (INTEGERS, {"w": {"type": "int8", "axis": 0, "shape": [4]}}),
        (INTEGERS, {"w": {"type": "int8", "axis": 0, "shape": [-2, -2]}}),
        ({**INTEGERS, "w.scale": np.ones(2)}, {"w": {"type": "int8", "axis": 0, "shape": [2, 2]}}),
        ({**INTEGERS, "w": np.zeros((2, 2), np.float32)}, {"w": {"type": "int8", "axis": 0, "shape": [2, 2]}}),
        ({**INTEGERS, "w": np.full((2, 1), 0x88, np.uint8)}, {"w": {"type": "int4", "axis": 0, "shape": [2, 2]}}),
        (INTEGERS, "[" * 100_000),
        (INTEGERS, '{"w": {"axis": 1e999, "shape": []}}'),
        (INTEGERS, [1, 2]),
    ],
)
def test_what_the_metadata_says_is_not_trusted(tmp_path: Path, arrays: dict[str, Any], said: object) -> None:
    write(tmp_path / "w.safetensors", arrays, said)
    with pytest.raises(PreskError) as caught:
        presk.load_file(tmp_path / "w.safetensors")
    assert caught.value.code in ("E8003", "E6031")


def test_the_reference_reads_what_integers_stand_for() -> None:
    f = presk.compile(presk.loads(PROGRAM)["Net.apply"], backend="interp")
    tree = weights("int8", 1)
    plain = {"blocks": {"w": tree["blocks"]["w"].values()}, "head": {"w": tree["head"]["w"].values()}}
    x = np.eye(3)
    assert np.array_equal(np.asarray(f(tree, x)), np.asarray(f(plain, x)))
    assert np.array_equal(np.asarray(f.bind(tree)(x)), np.asarray(f(plain, x)))
    alone = presk.compile(presk.loads(PROGRAM)["Lin{3, 5}.apply"], backend="interp")(tree["head"], x)
    assert Fraction(float(np.asarray(alone)[1, 2])) == Fraction(float(plain["head"]["w"][1, 2]))


def test_quantised_arrays_of_another_shape_or_kind_are_refused() -> None:
    program = presk.loads(PROGRAM)
    f = presk.compile(program["Lin{3, 5}.apply"], backend="interp")
    with pytest.raises(PreskError) as caught:
        f({"w": quantize("w", np.ones((5, 3)), "int8", 0)}, np.eye(3))
    assert caught.value.code == "E6030"
    with pytest.raises(PreskError) as caught:
        presk.compile(program["truth"], backend="interp")(quantize("x", np.ones(3), "int8", 0))
    assert caught.value.code == "E6001"
