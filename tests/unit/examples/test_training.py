"""The examples' train blocks learn, and the loop written by hand is the one `presk train` runs."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import presk
from presk.train.events import Measurement
from presk.train.loop import parameter_hash
from presk.train.tokenizers import Chars


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
    run = presk.train(presk.load(examples / "minigpt" / "minigpt.psk")["tiny"], steps=150)
    assert run.losses[0] == pytest.approx(4.1588831, abs=1e-3)
    assert sum(run.losses[-10:]) < 25


WORDS = re.compile("[a-z]+")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("example", "block", "share"), [("minigpt/minigpt", "tiny", 0.6), ("tutorial/07_generation", "alice", 0.9)]
)
def test_the_first_trainings_write_words_of_their_text(examples: Path, example: str, block: str, share: float) -> None:
    """A text of many windows: past the first one a model that knows windows by their places would fall apart."""
    program = presk.load(examples / f"{example}.psk")
    run = presk.train(program[block])
    corpus = (examples / "minigpt" / "corpus.txt").read_text("utf-8")
    text = presk.generate(program, run.params, "Alice ", tokens=600, seed=3, tokenizer=Chars.of(corpus)).text()
    known = set(WORDS.findall(corpus.lower()))
    words = WORDS.findall(text.lower())[1:-1]
    assert sum(word in known for word in words) > share * len(words), text


def test_a_training_knows_its_text_wherever_it_is_read_from(examples: Path) -> None:
    program = presk.load(examples / "minigpt" / "minigpt.psk")
    run = presk.train(program["tiny"], steps=300)
    corpus = (examples / "minigpt" / "corpus.txt").read_text("utf-8")
    symbols = Chars.of(corpus).encode(corpus)
    loss = presk.compile(program["loss"])
    losses = [
        float(loss(run.params, {name: batch.reshape(-1, 8) for name, batch in shifted(symbols, at)})) for at in range(8)
    ]
    assert max(losses) < min(losses) * 1.1


def shifted(symbols: NDArray[np.int64], at: int) -> list[tuple[str, np.ndarray]]:
    """Windows of eight symbols from one place on, and from the next."""
    return [(name, np.array(symbols[at + more : at + more + 4000])) for name, more in (("x", 0), ("y", 1))]
