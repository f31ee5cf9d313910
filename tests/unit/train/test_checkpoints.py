"""Checkpoints: what is written reads back, bit by bit, and what is damaged or foreign is told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import presk
from presk.exact.values import ExactArray
from presk.run import tensor_files, trees
from presk.text.diagnostics import PreskError
from presk.train import checkpoints
from presk.train.checkpoints import Mark, sealed

SETTINGS = {"program": "sha256:00", "realization": "f32", "seed": "7", "batch": "4"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / checkpoints.FOLDER).mkdir()
    return tmp_path


def parameters(value: float = 0.1) -> dict[str, Any]:
    return {"b": np.float32([value, -0.0, np.nan]), "a": {"w": np.full((2, 2), value, ml_dtypes.bfloat16)}}


def mark(step: int, **others: Any) -> Mark:
    return replace(Mark(SETTINGS, step, 2, 1, notes={"tokenizer": "{}"}), **others)


def write(folder: Path, step: int, tree: Any = None) -> None:
    checkpoints.write(folder, tree or parameters(step), {"m": parameters(step + 0.5)}, mark(step))


def leaves(tree: Any) -> list[Any]:
    return [leaf for _, leaf in trees.leaves(tree)]


def same(left: Any, right: Any) -> bool:
    return checkpoints.tree_hash(left) == checkpoints.tree_hash(right)


def test_what_is_written_reads_back(folder: Path) -> None:
    write(folder, 3)
    found = checkpoints.read(checkpoints.weights_path(folder, 3))
    assert same(found.parameters, parameters(3))
    assert list(found.parameters) == ["b", "a"]
    assert same(found.state, {"m": parameters(3.5)})
    assert found.mark == mark(3)


def test_the_mark_keeps_the_best_loss_to_the_bit(folder: Path) -> None:
    checkpoints.write(folder, parameters(), {}, mark(1, best=0.1 + 0.2, stale=4))
    found = checkpoints.read(checkpoints.weights_path(folder, 1)).mark
    assert (found.best, found.stale) == (0.1 + 0.2, 4)


def test_weights_are_a_file_like_any_other(folder: Path) -> None:
    write(folder, 3)
    assert same(presk.load_file(checkpoints.weights_path(folder, 3)), parameters(3))
    metadata = tensor_files.read(checkpoints.weights_path(folder, 3)).metadata
    assert metadata["parameters"] == checkpoints.tree_hash(parameters(3))
    named = [metadata[name] for name in ("program", "realization", "seed", "step", "epoch", "place", "tokenizer")]
    assert named == ["sha256:00", "f32", "7", "3", "2", "1", "{}"]
    assert json.loads(metadata["settings"]) == SETTINGS


def test_exact_numbers_are_kept_whole(folder: Path) -> None:
    third = presk.compile(presk.loads("fn f(x: real[n]) -> real[n] { x / 3 }")["f"], backend="interp", bits=200)
    exact = third(np.array([1.0, -2.0, 0.0, 3e-300]))
    assert isinstance(exact, ExactArray)
    scalar = exact[1].reshape()
    tree = {"w": exact.reshape(2, 2), "b": scalar, "n": np.arange(3.0)}
    checkpoints.write(folder, tree, {"s": exact}, mark(1))
    found = checkpoints.read(checkpoints.weights_path(folder, 1))
    for (path, leaf), (_, expected) in zip(trees.leaves(found.parameters), trees.leaves(tree), strict=True):
        if path == ("n",):
            assert leaf.tolist() == expected.tolist()
        else:
            assert leaf.shape == expected.shape
            assert leaf.mid.tolist() == expected.mid.tolist()
    assert found.state["s"].mid.tolist() == exact.mid.tolist()
    assert presk.load_file(checkpoints.weights_path(folder, 1))["b"] == np.float64(-2 / 3)


def test_the_newest_are_kept(folder: Path) -> None:
    for step in (9, 10, 100, 99):
        write(folder, step)
    assert checkpoints.steps(folder) == [9, 10, 99, 100]
    checkpoints.prune(folder, 2)
    assert checkpoints.steps(folder) == [99, 100]
    assert len(list((folder / checkpoints.FOLDER).iterdir())) == 4
    assert checkpoints.newest(folder, SETTINGS)[0].mark.step == 100


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def remove(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("harm", [cut, flip, remove])
@pytest.mark.parametrize("of_state", [False, True])
def test_a_damaged_one_is_passed_over(folder: Path, harm: Any, of_state: bool) -> None:
    write(folder, 1)
    write(folder, 2)
    path = checkpoints.weights_path(folder, 2)
    harm(path.with_suffix(".state.safetensors") if of_state else path)
    found, told = checkpoints.newest(folder, SETTINGS)
    assert found.mark.step == 1
    assert same(found.parameters, parameters(1))
    assert [each.code in ("E8001", "E8003", "E8081") for each in told] == [True] * (harm is not remove or of_state)


@pytest.mark.parametrize("of_state", [False, True])
def test_weights_whose_bits_are_others_are_taken_by_nobody(folder: Path, of_state: bool) -> None:
    write(folder, 1)
    path = checkpoints.weights_path(folder, 1)
    path = path.with_suffix(".state.safetensors") if of_state else path
    assert leaves(presk.load_file(path))
    flip(path)
    for take in (presk.load_file, checkpoints.read_weights):
        with pytest.raises(PreskError, match="its bits aren't those that were written") as caught:
            take(path)
        assert caught.value.code == "E8081"


def test_damaged_weights_of_a_folder_are_told(folder: Path) -> None:
    checkpoints.write_best(folder, parameters(), mark(1))
    assert same(presk.load_file(folder), parameters())
    flip(folder / checkpoints.BEST)
    with pytest.raises(PreskError, match="is damaged"):
        presk.load_file(folder)


def test_weights_and_state_of_two_runs_do_not_go_together(folder: Path) -> None:
    write(folder, 1)
    state = checkpoints.weights_path(folder, 1).with_suffix(".state.safetensors")
    kept = state.read_bytes()
    write(folder, 1, parameters(5))
    state.write_bytes(kept)
    with pytest.raises(PreskError, match="belongs to other weights"):
        checkpoints.read(checkpoints.weights_path(folder, 1))


def test_what_is_no_checkpoint(folder: Path) -> None:
    path = checkpoints.weights_path(folder, 1)
    tensor_files.write(path, parameters())
    with pytest.raises(PreskError, match="isn't a checkpoint") as caught:
        checkpoints.read(path)
    assert caught.value.code == "E8081"
    tensor_files.write(path, parameters(), sealed({"format": checkpoints.FORMAT, "step": "one"}))
    with pytest.raises(PreskError, match="doesn't say what it belongs to"):
        checkpoints.read(path)
    with pytest.raises(PreskError) as caught:
        checkpoints.newest(folder, SETTINGS)
    assert [each.code for each in caught.value.diagnostics] == ["E8081", "E8081"]


def test_a_foreign_one_is_refused_by_what_differs(folder: Path) -> None:
    write(folder, 1)
    with pytest.raises(PreskError, match="another seed: 7, not 8") as caught:
        checkpoints.newest(folder, {**SETTINGS, "seed": "8"})
    assert caught.value.code == "E8082"
    for others in ({}, {"batch": "9", "seed": "8"}):
        with pytest.raises(PreskError, match="another program, or other constants"):
            checkpoints.newest(folder, {**SETTINGS, "program": "sha256:01", **others})


def test_weights_of_a_folder_are_the_best_else_the_newest(folder: Path) -> None:
    with pytest.raises(PreskError, match="has no checkpoint"):
        checkpoints.find_weights(folder)
    write(folder, 1)
    write(folder, 2)
    assert checkpoints.find_weights(folder) == checkpoints.weights_path(folder, 2)
    checkpoints.write_best(folder, parameters(), mark(1))
    assert checkpoints.find_weights(folder).name == checkpoints.BEST
    assert checkpoints.find_weights(folder / "x.safetensors") == folder / "x.safetensors"


def test_a_folder_that_can_not_be_written_keeps_what_it_has(folder: Path) -> None:
    write(folder, 1)
    (folder / checkpoints.FOLDER / "step-2.safetensors").mkdir()
    with pytest.raises(PreskError) as caught:
        write(folder, 2)
    assert caught.value.code == "E8002"
    (folder / checkpoints.FOLDER / "step-2.safetensors").rmdir()
    assert checkpoints.newest(folder, SETTINGS)[0].mark.step == 1


BARE = {"format": checkpoints.FORMAT, "settings": "{}", "step": "1", "epoch": "1", "place": "0", "stale": "0"}


@pytest.mark.parametrize("best", ["0x1p99999", "nan?", ""])
def test_a_best_loss_that_is_no_number_is_refused(best: str) -> None:
    assert checkpoints.read_mark(Path("x"), sealed({**BARE, "best": "-0x1.8p+1"})).best == -3
    with pytest.raises(PreskError) as error:
        checkpoints.read_mark(Path("x"), sealed({**BARE, "best": best}))
    assert error.value.code == "E8081"


def test_a_renamed_checkpoint_is_refused(folder: Path) -> None:
    write(folder, 3)
    for ending in (".safetensors", ".state.safetensors"):
        (folder / checkpoints.FOLDER / f"step-3{ending}").rename(folder / checkpoints.FOLDER / f"step-4{ending}")
    with pytest.raises(PreskError, match="is the checkpoint of step 3"):
        checkpoints.read(checkpoints.weights_path(folder, 4))


def test_a_checkpoint_of_the_form_before_gives_weights_alone(folder: Path) -> None:
    metadata = {**BARE, "format": checkpoints.UNSEALED, "parameters": checkpoints.tree_hash(parameters())}
    path = checkpoints.weights_path(folder, 1)
    tensor_files.write(path, parameters(), metadata)
    assert checkpoints.read_weights(path)[1]["step"] == "1"
    with pytest.raises(PreskError, match="an earlier version"):
        checkpoints.read(path)


@pytest.mark.parametrize("state", [False, True], ids=["weights", "state"])
def test_any_changed_character_of_the_metadata_is_refused(folder: Path, state: bool) -> None:
    """In the weights' file and in the state's: every value, and a key that would no longer be seen."""
    checkpoints.write(folder, parameters(), {"m": np.ones(2)}, replace(mark(2), best=0.5, stale=1, notes={"said": "x"}))
    path = checkpoints.weights_path(folder, 2)
    changed = path.with_suffix(".state.safetensors") if state else path
    whole = changed.read_bytes()
    metadata = tensor_files.read(changed).metadata
    for name, text in metadata.items():
        if name in ("presk", "order"):
            continue
        for before, after in (
            (f'"{name}":"', f'"{name[:-1]}_":"'),
            (f'"{name}":"{text[:1]}', f'"{name}":"{other(text)}'),
        ):
            assert before.encode() in whole
            changed.write_bytes(whole.replace(before.encode(), after.encode(), 1))
            with pytest.raises(PreskError) as caught:
                checkpoints.read(path)
            assert caught.value.code == "E8081", name
            if not state:
                with pytest.raises(PreskError):
                    checkpoints.read_weights(path)
    changed.write_bytes(whole)
    assert checkpoints.read(path).mark.best == 0.5


def other(text: str) -> str:
    """Another first character of the same length in the file."""
    return "y" if text[:1] == "x" else "x"
