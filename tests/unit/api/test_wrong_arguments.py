"""What Python callers give in place of a text, a path or a table is a diagnostic, whatever it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.train.programs import BLOCK, LINEAR

import presk
from presk.text.diagnostics import PreskError

DATA = {"x": np.ones((8, 2)), "y": np.ones((8, 1))}
MODEL = """
type Cache = real[batch, t: 4]
module E { w: real[256, 256] = zeros
  fn next_token(self, cache: Cache, t: nat[batch] < 256, pos: nat < 4) -> (real[batch, 256], Cache) {
    (embed(self.w, t), cache)
  }
}
"""


class Bytes:
    """A path that is bytes."""

    def __fspath__(self) -> bytes:
        return b"x"


def fit(**given: Any) -> presk.Run:
    block = presk.loads(f"{LINEAR}{BLOCK}}}\n")["fit"]
    return presk.train(given.pop("block", block), **{"data": DATA, "steps": 1, **given})


def write(**given: Any) -> str:
    program = presk.loads(MODEL)
    settings = {"model": program, "weights": {"w": np.zeros((256, 256))}, "tokenizer": "bytes", "tokens": 1, **given}
    return presk.generate(**settings).text()


WRONG: list[tuple[Callable[..., Any], str, Any]] = [
    *((fit, "block", each) for each in (None, 3, presk.loads(LINEAR))),
    *((fit, "data", each) for each in ("x.csv", (1, 2), {1: 2})),
    *((fit, "settings", each) for each in (["batch=8"], {"batch": None}, {"batch": object()}, {1: "8"}, "batch=8")),
    *((fit, "callbacks", each) for each in (None, print, [1], 3)),
    *((fit, "out", each) for each in (3, b"x", "a\0b", "", Bytes())),
    (fit, "backend", 3),
    *((write, "model", each) for each in (None, 3)),
    *((write, "prompt", each) for each in (None, 3, b"A")),
    *((write, "tokenizer", each) for each in (3, b"bytes", [])),
    (write, "weights", Bytes()),
    *((presk.load_file, "path", each) for each in (None, 3, b"x", Bytes())),
]


@pytest.mark.parametrize(("call", "name", "value"), WRONG)
def test_a_wrong_argument_is_told_by_its_name(call: Callable[..., Any], name: str, value: Any) -> None:
    with pytest.raises(PreskError) as error:
        call(**{name: value})
    assert error.value.code == "E6034"
    assert name.removesuffix("block") in error.value.diagnostics[0].message


@pytest.mark.parametrize(
    "given",
    [
        {"metadata": 3},
        {"metadata": {"a": 3}},
        {"metadata": {3: "a"}},
        {"of": 3},
        {"of": "f"},
        {"path": 3},
    ],
)
def test_a_file_is_written_of_what_it_should_be(tmp_path: Path, given: dict[str, Any]) -> None:
    with pytest.raises(PreskError) as error:
        presk.save_file(**{"tree": {"w": np.ones(2)}, "path": tmp_path / "w.safetensors", **given})
    assert error.value.code == "E6034"
    assert not list(tmp_path.iterdir())


def test_names_are_texts(tmp_path: Path) -> None:
    presk.save_file({"w": np.ones(2)}, tmp_path / "w.safetensors")
    for names in (3, [], {"w": 3}, {3: "w"}):
        with pytest.raises(PreskError) as error:
            presk.load_file(tmp_path / "w.safetensors", names=names)  # type: ignore[arg-type]
        assert error.value.code == "E6034"


def test_a_block_is_named_by_a_path_and_numbers_may_be_of_numpy(tmp_path: Path) -> None:
    (tmp_path / "p.psk").write_text(f"{LINEAR}{BLOCK}}}\n")
    given = {"epochs": np.int64(1), "seed": np.uint64(2**64 - 1), "steps": np.int8(2), "out": tmp_path / "r"}
    run = fit(block=f"{tmp_path / 'p.psk'}:fit", **given)
    assert len(run.losses) == 2
    config = json.loads((tmp_path / "r" / "config.json").read_text())
    assert (config["epochs"], config["seed"]) == (1, 2**64 - 1)
