"""`bf16/f32` is decided by dataflow on Core: what is in f32, and that what is written out is the same realization."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import presk
from presk.api.training import step_core
from presk.choose.conformance.suite import narrowest
from presk.core.bind import bind
from presk.core.nodes import Program
from presk.realization.mixed import expanded

TEXT = """\
module Head { w: real[8, 3] = normal(std = 1); b: real[3] = zeros
  fn apply(self, x: real[batch, 8]) -> real[batch, 3] { dot(x, self.w) + self.b } }
fn spread(x: real[batch, 8], w: real[8, 8]) -> (real[batch, 8], real[batch]) {
  let y = dot(x, w)
  let m = mean(y, axis = -1)
  (y - m, m)
}
fn ratio(x: real[batch, 8]) -> (real[batch], real[batch]) { let m = mean(x, axis = -1); (m, 1 / (m + 1)) }
fn later(m: real[batch]) -> real[batch] { sqrt(m) }
fn called(x: real[batch, 8]) -> (real[batch], real[batch]) { let m = sum(square(x), axis = -1); (m + 1, later(m)) }
fn per_row(h: Head, x: real[batch, 8], y: nat[batch] < 3) -> real[batch] { cross_entropy(h(x), y, axis = -1) }
fn loss(h: Head, x: real[batch, 8], y: nat[batch] < 3) -> real { mean(per_row(h, x, y)) }
fn penalized(h: Head, x: real[batch, 8], y: nat[batch] < 3) -> real {
  loss(h, x, y) + 0.5 * mean(mean(h(x), axis = -1))
}
fn slopes(h: Head, x: real[batch, 8], y: nat[batch] < 3) -> Head { grad(loss)(h, x, y) }
fn waves(x: real[batch, 8]) -> real[batch, 8] { x * cos(turns()) }
fn turns() -> real[8] { sin(positions[8]() / 7) }
fn best(h: Head, x: real[batch, 8]) -> nat[batch] < 3 { argmax(h(x), axis = -1) }
"""

PROGRAM = presk.loads(TEXT)


def of(entry: str, **stated: dict[str, str]) -> presk.Realization:
    core = bind(PROGRAM.checked, entry, dims={"batch": 2})
    return expanded(presk.Realization("bf16/f32", **stated), core)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("entry", "wide", "rounded"),
    [
        ("Head.apply", [], ["Head.apply/%2", "Head.apply/%3"]),
        ("spread", [], ["spread/%2", "spread/%3", "spread/%4"]),
        ("ratio", ["ratio/%1"], ["ratio/%3"]),
        ("called", ["called/%2"], ["called/%3", "later/%1"]),
        ("loss", ["loss/%4", "per_row/%4"], ["Head.apply/%2", "Head.apply/%3"]),
        ("waves", ["turns/%2", "waves/%2"], ["waves/%3"]),
        ("best", ["best/%3"], ["Head.apply/%2", "Head.apply/%3"]),
    ],
)
def test_what_is_in_f32(entry: str, wide: list[str], rounded: list[str]) -> None:
    made = of(entry)
    assert (sorted(made.storage), sorted(made.round)) == (wide, rounded)
    assert set(made.storage.values()) <= {"f32"} and set(made.round.values()) <= {"bf16"}
    assert dict(made.params) == ({"w": "f32", "b": "f32"} if entry in ("Head.apply", "loss", "best") else {})


def test_what_reaches_the_loss_by_means_alone_is_in_f32() -> None:
    assert "Head.apply/%3" in of("penalized").storage


def test_adjoints_of_parameters_are_in_f32_and_those_between_arent() -> None:
    made = of("slopes")
    assert {"Head.apply_adjoint/%2", "Head.apply_adjoint/%3"} <= set(made.storage)
    assert "per_row_adjoint/%12" in made.round


def test_what_is_stated_goes_first() -> None:
    made = of("loss", storage={"Head.apply/%2": "f64"}, round={"per_row/%4": "bf16"}, params={"w": "bf16"})
    assert made.storage["Head.apply/%2"] == "f64" and "Head.apply/%2" not in made.round
    assert made.round["per_row/%4"] == "bf16" and "per_row/%4" not in made.storage
    assert made.params["w"] == "bf16" and made.params["b"] == "f32"


def test_a_step_keeps_parameters_and_moments_in_f32(examples: Path) -> None:
    core: Program = step_core(presk.load(examples / "minigpt" / "minigpt.psk")["tiny"])
    made = expanded(presk.Realization("bf16/f32"), core)
    assert set(made.params.values()) == {"f32"} and {"tok.w", "m.tok.w", "v.tok.w"} <= set(made.params)
    updates = [key for key in made.storage if key.startswith("adamw.step")]
    assert len(updates) == 3 and not any(key.startswith("adamw") for key in made.round)
    assert any(key.startswith("Block.apply/") for key in made.round)


def test_the_expansion_is_the_realization(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(4, 8))
    named = presk.compile(PROGRAM["Head.apply"], realize="bf16/f32")
    parameters = named.init(seed=1)
    made = expanded(presk.Realization("bf16/f32"), named.core(parameters, x))
    made.write(tmp_path / "R.json")
    written = presk.compile(PROGRAM["Head.apply"], realize=f"@{tmp_path / 'R.json'}")
    assert named(parameters, x).tobytes() == written(parameters, x).tobytes()
    gaps = [each.gap(parameters, x).json()["hashes"]["realization"] for each in (named, written)]
    assert gaps == [made.hash, made.hash] and named.schedule == written.schedule


def test_weights_are_read_as_they_rest() -> None:
    """Rounded to bf16 is the result of each site, not what it reads: f32 weights have their part."""
    x = np.ones((1, 8), np.float32)
    w, b = np.full((8, 3), 1 + 2**-12, np.float32), np.zeros(3, np.float32)
    w[:, 1] = 1 + 2**-7
    found = presk.compile(PROGRAM["Head.apply"], realize="bf16/f32")({"w": w, "b": b}, x)
    assert found.dtype.name == "bfloat16"
    narrow = presk.compile(PROGRAM["Head.apply"], realize="bf16")({"w": w, "b": b}, x)
    assert found.astype(float).tolist() == narrow.astype(float).tolist() == [[8.0, 8.0625, 8.0]]
    shifted = presk.compile(PROGRAM["Head.apply"], realize="bf16/f32")({"w": w, "b": b - 8}, x)
    assert shifted.astype(float).tolist() == [[0.0, 0.0625, 0.0]]


def test_conformance_holds_it_to_the_band_of_bf16() -> None:
    rule, written = presk.Realization("bf16/f32"), of("loss")
    assert narrowest(rule) == narrowest(written) == "bf16"
    assert narrowest(presk.Realization("f32", round={"f/%1": "bf16"})) == "bf16"
    assert narrowest(presk.Realization("f64", storage={"f/%1": "f32"})) == "f32"
