"""Trees in safetensors files: round trips, order, renaming, and hostile files."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from presk.run import tensor_files, trees
from presk.text.diagnostics import PreskError

TREE = {
    "tok": {"w": np.arange(6, dtype=np.float32).reshape(2, 3)},
    "blocks": {"b": np.ones((2, 3), ml_dtypes.bfloat16), "a": np.array([1.5, np.nan])},
    "pair": (np.array(3), np.zeros((0, 2))),
    "mask": np.array([True, False]),
}


def same(left: Any, right: Any) -> None:
    assert [path for path, _ in trees.leaves(left)] == [path for path, _ in trees.leaves(right)]
    for (path, a), (_, b) in zip(trees.leaves(left), trees.leaves(right), strict=True):
        assert a.dtype == b.dtype, path
        assert a.shape == b.shape, path
        assert a.tobytes() == b.tobytes(), path


def test_a_tree_comes_back_with_its_order_types_and_bits(tmp_path: Path) -> None:
    tensor_files.write(tmp_path / "w", TREE, {"program": "sha256:1"})
    same(TREE, tensor_files.read_tree(tmp_path / "w"))
    metadata = tensor_files.read(tmp_path / "w").metadata
    assert metadata["program"] == "sha256:1"
    assert json.loads(metadata["order"])[0] == "tok.w"


def test_columns_slices_and_the_other_byte_order_are_written_as_their_values(tmp_path: Path) -> None:
    plain = np.arange(12.0).reshape(3, 4)
    tree = {"f": np.asfortranarray(plain), "s": plain[:, ::2], "b": plain.astype(">f8")}
    tensor_files.write(tmp_path / "w", tree)
    read = tensor_files.read_tree(tmp_path / "w")
    for name, array in tree.items():
        np.testing.assert_array_equal(read[name], array)


def test_names_rename_transpose_and_stack(tmp_path: Path) -> None:
    foreign = {f"layers.{at}.attn.weight": np.full((2, 3), at) for at in range(11)} | {"lm.weight": np.ones((5, 4))}
    from safetensors.numpy import save_file

    save_file(foreign, tmp_path / "w")
    tree = tensor_files.read_tree(
        tmp_path / "w", {"blocks.q.w": "layers.{}.attn.weight.T", "head.w": "lm.weight.T", "raw": "lm.weight"}
    )
    assert tree["blocks"]["q"]["w"].shape == (11, 3, 2)
    assert [int(layer[0, 0]) for layer in tree["blocks"]["q"]["w"]] == list(range(11))
    assert tree["head"]["w"].shape == (4, 5)
    assert tree["raw"].shape == (5, 4)


def test_names_the_file_lacks_are_listed_with_a_hint(tmp_path: Path) -> None:
    tensor_files.write(tmp_path / "w", {"head": {"weight": np.ones(3)}})
    with pytest.raises(PreskError) as caught:
        tensor_files.read_tree(tmp_path / "w", {"a": "head.weigth", "b": "layers.{}.w"})
    assert caught.value.code == "E8004"
    assert "`head.weigth`, `layers.{}.w`" in str(caught.value)
    assert caught.value.hint == "did you mean `head.weight`?"


def test_a_lone_array_and_a_vector_to_transpose_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PreskError) as caught:
        tensor_files.write(tmp_path / "w", np.ones(3))
    assert caught.value.code == "E6031"
    tensor_files.write(tmp_path / "w", {"v": np.ones(3)})
    with pytest.raises(PreskError) as caught:
        tensor_files.read_tree(tmp_path / "w", {"v": "v.T"})
    assert caught.value.code == "E8004"


@pytest.mark.parametrize("leaf", ["text", None, 1j, np.array(["a"]), np.array([object()])])
def test_what_no_file_can_hold_is_refused_and_writes_nothing(tmp_path: Path, leaf: Any) -> None:
    with pytest.raises(PreskError) as caught:
        tensor_files.write(tmp_path / "w", {"x": leaf})
    assert caught.value.code == "E6031"
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize("path", ["missing", "."])
def test_a_file_that_cannot_be_opened(tmp_path: Path, path: str) -> None:
    with pytest.raises(PreskError) as caught:
        tensor_files.read(tmp_path / path)
    assert caught.value.code == "E8001"


@given(st.binary(max_size=64), st.integers(0, 400), st.integers(0, 40))
def test_mutated_files_are_read_or_refused(tmp_path_factory: Any, noise: bytes, at: int, cut: int) -> None:
    path = tmp_path_factory.getbasetemp() / "mutated"
    tensor_files.write(path, TREE)
    data = path.read_bytes()
    at = min(at, len(data))
    path.write_bytes(data[:at] + noise + data[at + cut :])
    codes: set[str] = set()
    try:
        tensor_files.read_tree(path)
    except PreskError as error:
        codes.add(error.code)
    assert codes <= {"E8003", "E6031"}


def test_a_file_has_the_permissions_of_the_umask(tmp_path: Path) -> None:
    previous = os.umask(0o027)
    try:
        tensor_files.write(tmp_path / "w.safetensors", TREE)
    finally:
        os.umask(previous)
    assert stat.S_IMODE((tmp_path / "w.safetensors").stat().st_mode) == 0o640
