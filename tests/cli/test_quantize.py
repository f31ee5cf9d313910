"""`presk quantize`, and realizations and plans on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Run

import presk as library
from presk import Quantized
from presk.run import tensor_files

ENTRY = ["-e", "Linear{3, 2}.apply", "--dim", "batch=2"]
QUANTIZE = ["quantize", "p.psk", *ENTRY, "--weights", "w.safetensors", "--backend", "interp", "--no-gap", "-q"]


@pytest.fixture
def weights(program: Path) -> Path:
    """A file of weights for the program's module."""
    tensor_files.write("w.safetensors", {"w": np.linspace(-1, 1, 6).reshape(3, 2), "b": np.array([0.5, -0.5])})
    return program


def test_it_writes_integers_and_the_realization_that_names_them(presk: Run, weights: Path) -> None:
    answer = presk(*QUANTIZE, "--type", "int4", "-o", "w4.safetensors")
    assert answer.code == 0, answer.err
    assert "w  int4 along 1  3×2  48 → 11 bytes  worst weight off by" in answer.out
    assert json.loads(Path("w4.json").read_text()) == {
        "entry": "Linear{3, 2}.apply",
        "default": "f32",
        "quant": {"w": {"type": "int4", "axis": 1}},
    }
    tree = library.load_file("w4.safetensors")
    assert isinstance(tree["w"], Quantized)
    assert tree["b"].tolist() == [0.5, -0.5]
    metadata = tensor_files.read("w4.safetensors").metadata
    assert metadata["realization"] == library.Realization.read("w4.json").name
    ran = presk(
        "run", "p.psk", *ENTRY, "--weights", "w4.safetensors", "--realize", "@w4.json", "--backend", "interp", "-q"
    )
    assert ran.code == 0, ran.err


def test_json_says_what_changed(presk: Run, weights: Path) -> None:
    answer = presk(*QUANTIZE, "--type", "int8", "--axis", "0", "--realize", "bf16", "-o", "w8.safetensors", "--json")
    said = json.loads(answer.out)
    assert said["weights"] == "w8.safetensors"
    assert said["realization"] == "w8.json"
    (parameter,) = said["parameters"]
    assert (parameter["name"], parameter["axis"], parameter["bytes"]) == ("w", 0, [48, 6 + 12])
    assert json.loads(Path("w8.json").read_text())["default"] == "bf16"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--type", "int8", "-o", "w8.npz"], 2),
        (["--type", "int2", "-o", "w8.safetensors"], 2),
        (["--type", "int8"], 2),
        (["--type", "int8", "--match", "*.v", "-o", "w8.safetensors"], "E7002"),
        (["--type", "int8", "--axis", "2", "-o", "w8.safetensors"], "E7003"),
        (["--type", "int8", "-o", "missing/w8.safetensors"], "E8002"),
    ],
)
def test_what_cannot_be_done_is_told(presk: Run, weights: Path, arguments: list[str], code: int | str) -> None:
    answer = presk(*QUANTIZE, *arguments)
    assert answer.code == (code if isinstance(code, int) else 1)
    assert isinstance(code, int) or f"error[{code}]" in answer.err
    assert not Path("w8.safetensors").exists()


def test_an_entry_without_modules_has_nothing_to_quantise(presk: Run, weights: Path) -> None:
    answer = presk(
        "quantize",
        "p.psk",
        "-e",
        "double",
        "--weights",
        "w.safetensors",
        "--type",
        "int8",
        "-o",
        "w8.safetensors",
        "-q",
    )
    assert answer.code == 2
    assert "takes no module" in answer.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"default": "f16"}', "--> r.json:1:13"),
        ('{"default": "f32", "default": "f32"}', "stands here twice"),
        ("{", "a key is missing"),
        ("", "a value is missing"),
    ],
)
def test_a_file_that_is_wrong_is_pointed_at(presk: Run, weights: Path, text: str, says: str) -> None:
    Path("r.json").write_text(text)
    for option in ("--realize", "--plan"):
        answer = presk("run", "p.psk", *ENTRY, option, "@r.json", "--backend", "interp", "-q")
        assert answer.code == 1
        assert "error[E7001]" in answer.err
        if option == "--realize":
            assert says in answer.err
