"""The examples' train blocks learn, and the loop written by hand is the one `presk train` runs."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import presk
from presk.train.events import Measurement
from presk.train.loop import parameter_hash


def test_the_loop_written_by_hand_gives_the_bits_of_the_block(examples: Path) -> None:
    path = examples / "tutorial" / "08_loop.py"
    spec = spec_from_file_location("loop", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    block = presk.load(examples / "tutorial" / "06_training.psk")["disc"]
    run = presk.train(block, settings={"lr": "0.02", "clip": "1e9"}, epochs=3)
    assert parameter_hash(module.loop(3)) == parameter_hash(run.params)


@pytest.mark.parametrize(
    ("example", "block", "loss"),
    [
        ("tutorial/06_training", "disc", 0.12),
        ("regression/regression", "regression", 0.03),
        ("classifier/classifier", "fruit", 0.5),
        ("vae/vae", "ring", None),
    ],
)
def test_a_block_learns(examples: Path, example: str, block: str, loss: float | None) -> None:
    run = presk.train(presk.load(examples / f"{example}.psk")[block])
    assert sum(run.losses[-10:]) < sum(run.losses[:10]) / 1.5
    measured = [each.loss for each in run.history if isinstance(each, Measurement)]
    assert bool(measured) == (loss is not None)
    assert loss is None or min(measured) < loss


def test_the_small_gpt_s_loss_falls(examples: Path) -> None:
    run = presk.train(presk.load(examples / "minigpt" / "minigpt.psk")["tiny"], steps=30)
    measured = [each.loss for each in run.history if isinstance(each, Measurement)]
    assert measured[1] < measured[0] < 4.1588831
