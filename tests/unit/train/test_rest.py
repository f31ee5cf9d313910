"""A parameter's or moment's type at rest is kept through training, or refused before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import presk
from presk.run import trees

TEXT = """\
from losses import mse
module Net { w: real[4] = ones; b: real = zeros
  fn apply(self, x: real[batch, 4]) -> real[batch] { dot(x, self.w) + self.b } }
fn loss(m: Net, batch: {x: real[batch, 4], y: real[batch]}) -> real { mse(m(batch.x), batch.y) }
train net { model = Net; objective = loss; optimizer = adamw(weight_decay = 0.01); lr = 0.0001
  batch = 32; epochs = 6; seed = 1; data = arrays("x.npz") }
"""
PROGRAM = presk.loads(TEXT)
X = np.random.default_rng(0).standard_normal((320, 4)).astype(np.float32)
DATA = {"x": X, "y": (X @ np.array([1.3, 0.7, 1.1, 0.9])).astype(np.float32)}


def trained(realization: Any, **how: Any) -> presk.Run:
    said = realization if isinstance(realization, str) else presk.Realization(**realization)
    return presk.train(PROGRAM["net"], realize=said, data=DATA, **how)


def types(run: presk.Run) -> dict[str, str]:
    return {".".join(path): leaf.dtype.name for path, leaf in trees.leaves(run.params)}


@pytest.mark.parametrize(
    ("realization", "w"),
    [
        ("bf16/f32", "float32"),
        ({"default": "bf16", "params": {"w": "f32"}}, "float32"),
        ({"default": "bf16", "params": {"w": "f64"}}, "float64"),
        ({"default": "f32", "params": {"w": "bf16"}}, "bfloat16"),
        ({"default": "f32", "storage": {"adamw.step/%33": "f64"}}, "float32"),
        ("bf16", "bfloat16"),
    ],
)
def test_types_are_kept_on_every_backend(realization: Any, w: str) -> None:
    found = [trained(realization, steps=4, backend=backend) for backend in ("kernel", "native")]
    assert types(found[0])["w"] == types(found[1])["w"] == w
    assert found[0].params["w"].tobytes() == found[1].params["w"].tobytes()


def test_parameters_in_f32_learn_where_all_else_is_bf16() -> None:
    wide = trained({"default": "f32"}).params["w"]
    for realization in ("bf16/f32", {"default": "bf16", "params": {"w": "f32"}}):
        np.testing.assert_allclose(trained(realization).params["w"], wide, atol=2e-4)
    assert np.abs(wide - 1).max() > 3e-3


@pytest.mark.parametrize("realization", ["bf16/f32", {"default": "bf16", "params": {"w": "f32", "v.w": "f32"}}])
def test_a_run_that_goes_on_keeps_types_and_bits(tmp_path: Path, realization: Any) -> None:
    whole = trained(realization, steps=40)
    trained(realization, steps=17, out=tmp_path)
    found = trained(realization, steps=40, out=tmp_path, resume=True)
    assert types(found) == types(whole)
    assert found.params["w"].tobytes() == whole.params["w"].tobytes()


@pytest.mark.parametrize("key", ["storage", "round"])
def test_a_narrower_site_is_refused_before_anything_runs(tmp_path: Path, key: str) -> None:
    with pytest.raises(presk.PreskError) as caught:
        trained({"default": "f32", key: {"adamw.step/%33": "bf16"}}, out=tmp_path / "run")
    assert caught.value.code == "E7005"
    assert "`w` rests in f32" in str(caught.value) and "adamw.step[Net]/%33" in str(caught.value)
    assert not (tmp_path / "run").exists()
