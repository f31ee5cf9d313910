"""Training notes once when a step's rounding loses most updates, with the numbers and a way out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import presk
from presk.train.events import Event, Remark

TEXT = """\
from losses import mse
module Net { w: real[4] = ones; still: real[6] = ones
  fn apply(self, x: real[batch, 4]) -> real[batch] { dot(x, self.w) } }
fn loss(m: Net, batch: {x: real[batch, 4], y: real[batch]}) -> real { mse(m(batch.x), batch.y) }
train net { model = Net; objective = loss; optimizer = OPTIMIZER; lr = 0.0005
  batch = 32; epochs = 2; seed = 1; data = arrays("x.npz") }
"""
X = np.random.default_rng(0).standard_normal((320, 4)).astype(np.float32)
DATA = {"x": X, "y": (X @ np.array([1.3, 0.7, 1.1, 0.9])).astype(np.float32)}


def notes(realization: Any, optimizer: str = "sgd()", **how: Any) -> list[str]:
    heard: list[Event] = []
    program = presk.loads(TEXT.replace("OPTIMIZER", optimizer))
    presk.train(program["net"], realize=realization, data=DATA, callbacks=[heard.append], **how)
    return [each.line() for each in heard if isinstance(each, Remark) and "unchanged" in each.line()]


@pytest.mark.parametrize("backend", ["kernel", "native"])
def test_bf16_that_stays_where_it_was_is_noted_once(backend: str) -> None:
    (note,) = notes("bf16", backend=backend)
    assert "step 1: rounding to bf16 left 4 of the 4 parameters whose update isn't 0 unchanged" in note
    assert "--realize bf16/f32" in note


def test_parameters_without_an_update_dont_count() -> None:
    """`still` has no gradient: six of ten parameters stay in every step, and none of these is lost."""
    assert notes("f32") == [] == notes("bf16/f32")
    assert notes("bf16", settings={"lr": "0.3"}, steps=4) == []


def test_decay_is_an_update_too() -> None:
    (note,) = notes("bf16", "adamw(weight_decay = 0.01)")
    assert "10 of the 10" in note


def test_f32_loses_updates_as_well() -> None:
    (note,) = notes("f32", settings={"lr": "1e-10"})
    assert "rounding to f32 left 4 of the 4" in note and "f64" in note
    assert notes("f64", settings={"lr": "1e-10"}) == []


def test_a_stated_update_site_is_looked_at_too() -> None:
    said = presk.Realization("bf16", storage={"adamw.step/%33": "bf16"})
    assert len(notes(said, "adamw()")) == 1
