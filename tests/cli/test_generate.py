"""`presk generate`: text as it comes, and what can't be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen

import numpy as np
import pytest
from tests.cli.conftest import Answer, Run

import presk as library
from presk.run import tensor_files
from presk.train.tokenizers import METADATA, Bytes, Chars

CORPUS = "the cat and the dog and the bird\n"


@pytest.fixture(scope="module")
def weights(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of weights of MiniGPT that carries a tokenizer of the corpus's characters."""
    folder = tmp_path_factory.mktemp("weights")
    program = library.load(examples / "minigpt/minigpt.psk")
    tree = library.compile(program["MiniGPT.next_token"], dims={"batch": 1}).init(seed=3)
    tree["head"]["w"] = np.random.default_rng(3).normal(size=tree["head"]["w"].shape) / 4
    tensor_files.write(folder / "plain.safetensors", tree)
    tensor_files.write(folder / "w.safetensors", tree, {METADATA: Chars.of(CORPUS).to_metadata()})
    (folder / "corpus.txt").write_text(CORPUS)
    return folder / "w.safetensors"


@pytest.fixture
def generate(presk: Run, examples: Path, weights: Path) -> Run:
    def run(*arguments: object, file: str = "minigpt/minigpt.psk", of: object = weights) -> Answer:
        return presk("generate", examples / file, "--weights", of, "--tokens", 20, *arguments)

    return run


def test_it_prints_the_prompt_and_as_many_symbols(generate: Run) -> None:
    answer = generate("--prompt", "the cat")
    assert answer.code == 0, answer.err
    assert answer.out.startswith("the cat")
    assert len(answer.out.removeprefix("the cat").removesuffix("\n")) in (19, 20)
    assert set(answer.out) <= set(CORPUS)
    assert answer.err.startswith("20 symbols, ")
    assert generate("--prompt", "the cat", "-q").err == ""


def test_the_same_seed_gives_the_same_text(generate: Run) -> None:
    texts = [generate("-q", *settings).out for settings in ([], ["--backend", "kernel"], ["--threads", 1])]
    assert len(set(texts)) == 1
    assert generate("-q", "--seed", 1).out not in texts


def test_settings_change_the_draw(generate: Run) -> None:
    greedy = generate("-q", "--temperature", 0).out
    assert generate("-q", "--temperature", 0, "--seed", 5).out == greedy
    assert generate("-q", "--top-k", 1).out == greedy
    assert generate("-q", "--top-p", "1e-9").out == greedy
    assert generate("-q").out != greedy


def test_json_is_the_text_and_its_symbols(generate: Run) -> None:
    said = json.loads(generate("--json", "--prompt", "the", "--temperature", "0.8").out)
    assert len(said["symbols"]) == 20
    assert said["text"] == Chars.of(CORPUS).decode(said["symbols"])
    assert (said["prompt"], said["seed"], said["temperature"]) == ("the", 0, "0.8")


def test_the_tokenizer_may_be_named(generate: Run, weights: Path) -> None:
    plain = weights.with_name("plain.safetensors")
    named = generate("-q", "--tokenizer", f"chars:{weights.with_name('corpus.txt')}", of=plain)
    assert named.out == generate("-q").out
    assert "error[E8051]" in generate(of=plain).err
    assert "error[E8051]" in generate("--tokenizer", "chars", of=plain).err
    assert "error[E8045]" in generate("--tokenizer", "bytes", of=plain).err
    assert "error[E8001]" in generate("--tokenizer", "missing.json", of=plain).err


def test_bytes_are_printed_as_characters(presk: Run, examples: Path, tmp_path: Path) -> None:
    program = library.load(examples / "llama/llama.psk")
    tree = library.compile(program["Llama.next_token"], dims={"batch": 1}).init(seed=3)
    tensor_files.write(tmp_path / "w.safetensors", tree, {METADATA: Bytes().to_metadata()})
    asked = ["generate", examples / "llama/llama.psk", "--weights", tmp_path / "w.safetensors", "--tokens", 12]
    said = json.loads(presk(*asked, "--prompt", "é", "--json").out)
    assert said["text"] == bytes(said["symbols"]).decode("utf-8", "replace")
    assert presk(*asked, "--prompt", "é", "-q").out.removesuffix("\n") == "é" + said["text"].removesuffix("\n")


def test_no_symbols_leave_the_prompt(generate: Run) -> None:
    assert generate("--prompt", "the", "--tokens", 0).out == "the\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--prompt", "X"], "E8040"),
        (["--prompt", ""], "E8052"),
        (["--temperature", "-1"], "E8053"),
        (["--temperature", "warm"], "E4020"),
        (["--top-p", "0"], "E8053"),
        (["--const", "D=32"], "E6001"),
        (["--const", "V=4"], "E8045"),
        (["--dim", "seq=3"], "E4008"),
        (["--dim", "batch=2"], "E8050"),
        (["--entry", "MiniGPT.apply"], "E8050"),
        (["--entry", "GPT.next_token"], "E4002"),
        (["--backend", "abacus"], "E9002"),
        (["--realize", "f8"], "E7001"),
        (["--top-k", "-1"], 2),
        (["--tokens", "many"], 2),
    ],
)
def test_what_cannot_be_done_is_told(generate: Run, arguments: list[str], code: int | str) -> None:
    answer = generate(*arguments)
    assert answer.code == (code if isinstance(code, int) else 1), answer.err
    assert isinstance(code, int) or f"error[{code}]" in answer.err
    assert not answer.out


def test_a_program_without_a_language_model_is_told(generate: Run) -> None:
    answer = generate(file="regression/regression.psk")
    assert (answer.code, "error[E4021]" in answer.err) == (1, True)


def test_several_language_models_are_listed(presk: Run, tmp_path: Path, weights: Path) -> None:
    one = "fn next_token(self, cache: real[batch], t: nat[batch] < 8, pos: nat < 4) -> (real[batch, 8], real[batch]) "
    module = "module {0} {{\n  w: real[8] = zeros\n  {1}{{ (broadcast_to[batch, 8](self.w), cache) }}\n}}\n"
    (tmp_path / "two.psk").write_text(module.format("A", one) + module.format("B", one))
    answer = presk("generate", tmp_path / "two.psk", "--weights", weights)
    assert "`A.next_token`, `B.next_token`" in answer.err
    tensor_files.write(tmp_path / "b.safetensors", {"w": np.zeros(8)}, {METADATA: Chars("\nabcdefg").to_metadata()})
    chosen = presk("generate", tmp_path / "two.psk", "-e", "B.next_token", "--weights", tmp_path / "b.safetensors")
    assert chosen.code == 0, chosen.err


def test_text_comes_as_it_is_drawn(process: Callable[..., Popen[str]], examples: Path, weights: Path) -> None:
    asked = ["generate", examples / "minigpt/minigpt.psk", "--weights", weights, "--tokens", 1_000_000_000]
    with process(*asked) as running:
        assert running.stdout is not None
        assert running.stdout.read(300)
        running.stdout.close()  # whoever read it had enough
        assert running.wait(timeout=60) == 0


SPLIT = ("--set", "data.split=0.9")
"""Of the text trains, so that there are best weights."""


def test_a_run_s_weights_carry_their_tokenizer(presk: Run, examples: Path, tmp_path: Path) -> None:
    file, run = examples / "minigpt/minigpt.psk", tmp_path / "run"
    trained = presk("train", file, "--steps", 3, "--set", "eval=2", *SPLIT, "--out", run, "-q")
    assert trained.code == 0, trained.err
    asked = ["generate", file, "--prompt", "Alice", "--tokens", 20, "-q", "--weights"]
    best, last = presk(*asked, run), presk(*asked, run / "checkpoints" / "step-3.safetensors")
    assert best.code == last.code == 0, best.err + last.err
    assert presk(*asked, run / "best.safetensors").out == best.out
    (run / "best.safetensors").unlink()
    assert presk(*asked, run).out == last.out
    assert "error[E8081]" in presk(*asked, tmp_path).err


def test_a_run_s_constants_need_not_be_given_again(presk: Run, examples: Path, tmp_path: Path) -> None:
    file, run = examples / "minigpt/minigpt.psk", tmp_path / "run"
    trained = presk("train", file, "--steps", 1, "--const", "D=8", "--set", "eval=1", *SPLIT, "--out", run, "-q")
    assert trained.code == 0, trained.err
    asked = ["generate", file, "--tokens", 20, "-q", "--weights"]
    texts = {
        presk(*asked, path).out for path in (run, run / "best.safetensors", run / "checkpoints/step-1.safetensors")
    }
    assert len(texts) == 1 and texts != {""}
    assert "error[E6001]" in presk(*asked, run, "--const", "D=16").err
    (run / "config.json").write_text("[")
    assert "error[E8081]" in presk(*asked, run).err


def test_quantised_weights_keep_the_tokenizer_and_write_the_same_text_everywhere(
    presk: Run, generate: Run, weights: Path, examples: Path, tmp_path: Path
) -> None:
    small, realization = tmp_path / "w8.safetensors", tmp_path / "w8.json"
    entry = ["-e", "MiniGPT.next_token", "--dim", "batch=1", "--no-gap", "--type", "int8"]
    made = presk("quantize", examples / "minigpt/minigpt.psk", *entry, "--weights", weights, "-o", small, "-q")
    assert made.code == 0, made.err
    settings = ([], ["--backend", "kernel"], ["--threads", 1])
    texts = {generate("-q", "--realize", f"@{realization}", *each, of=small).out for each in settings}
    assert len(texts) == 1 and texts != {""}
