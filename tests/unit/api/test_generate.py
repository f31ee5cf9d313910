"""`presk.generate`: a text as an iterator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import presk
from presk.text.diagnostics import PreskError
from presk.train.tokenizers import METADATA, Chars

CORPUS = "the cat and the dog and the bird\n"


@pytest.fixture(scope="module")
def program(examples: Path) -> presk.Program:
    return presk.load(examples / "minigpt/minigpt.psk")


@pytest.fixture(scope="module")
def parameters(program: presk.Program) -> Any:
    tree = presk.compile(program["MiniGPT.next_token"], dims={"batch": 1}).init(seed=3)
    tree["head"]["w"] = np.random.default_rng(3).normal(size=tree["head"]["w"].shape) / 4
    return tree


def test_the_pieces_are_the_text(program: presk.Program, parameters: Any) -> None:
    tokenizer = Chars.of(CORPUS)
    pieces = list(presk.generate(program, parameters, "the", tokens=30, tokenizer=tokenizer))
    again = presk.generate(program["MiniGPT.next_token"], parameters, "the", tokens=30, tokenizer=tokenizer)
    assert len(pieces) == 30 and all(pieces)
    assert next(again) == pieces[0]
    assert again.symbols == tokenizer.encode(pieces[0]).tolist()
    assert again.text() == again.text() == "".join(pieces)
    assert repr(again) == "<presk.Generation of 30 symbols so far>"


def test_weights_and_programs_may_be_files(
    program: presk.Program, parameters: Any, examples: Path, tmp_path: Path
) -> None:
    path = tmp_path / "w.safetensors"
    presk.save_file(parameters, path, metadata={METADATA: Chars.of(CORPUS).to_metadata()})
    file = str(examples / "minigpt/minigpt.psk")
    texts = [
        presk.generate(each, path, tokens=20, temperature=0.7, seed=2).text()
        for each in (program, file, f"{file}:MiniGPT.next_token")
    ]
    assert len(set(texts)) == 1


def test_characters_of_several_symbols_come_whole(examples: Path) -> None:
    program = presk.load(examples / "llama/llama.psk")
    tree = presk.compile(program["Llama.next_token"], dims={"batch": 1}).init(seed=3)
    made = presk.generate(program, tree, "é", tokens=40, tokenizer="bytes", temperature=2)
    pieces = list(made)
    assert "".join(pieces) == bytes(made.symbols).decode("utf-8", "replace")


def test_numbers_mean_their_decimals(program: presk.Program, parameters: Any) -> None:
    asked = {"tokens": 30, "tokenizer": Chars.of(CORPUS), "backend": "kernel"}
    texts = {presk.generate(program, parameters, temperature=each, **asked).text() for each in (0.7, "0.7", "7/10")}
    assert len(texts) == 1


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"tokens": -1}, "E8053"),
        ({"tokens": 1.5}, "E6034"),
        ({"temperature": float("nan")}, "E4020"),
        ({"top_p": 1.5}, "E8053"),
        ({"top_k": "3"}, "E6034"),
        ({"tokenizer": None}, "E8051"),
        ({"prompt": "?"}, "E8040"),
        ({"seed": -1}, "E6020"),
        ({"dims": {"batch": 3}}, "E8050"),
        ({"weights": {}}, "E6030"),
        ({"weights": "missing.safetensors"}, "E8001"),
    ],
)
@pytest.mark.parametrize("backend", ["native", "interp"])
def test_what_cannot_be_done_is_told(
    program: presk.Program, parameters: Any, settings: dict[str, Any], code: str, backend: str
) -> None:
    asked = {"tokenizer": Chars.of(CORPUS), "weights": parameters, "backend": backend, "bits": 64} | settings
    with pytest.raises(PreskError) as error:
        presk.generate(program, **asked).text()
    assert error.value.code == code


def test_machine_backends_want_threads(program: presk.Program, parameters: Any) -> None:
    with pytest.raises(PreskError) as error:
        presk.generate(program, parameters, tokenizer=Chars.of(CORPUS), threads=0)
    assert error.value.code == "E9007"
