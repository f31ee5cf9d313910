"""Parameters saved and loaded through the API."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import presk
from presk.run import tensor_files

TEXT = "module M { w: real[2, 3] = normal(std = 1); fn apply(self, x: real[n: 2]) -> real[3] { dot(x, self.w) } }"


def test_parameters_come_back_and_the_file_says_whose_they_are(tmp_path: Path) -> None:
    program = presk.loads(TEXT)
    f = presk.compile(program["M.apply"], backend="interp", realize="bf16")
    presk.save_file(f.init(seed=1), tmp_path / "w.safetensors", of=f, metadata={"note": "first"})
    tree = presk.load_file(tmp_path / "w.safetensors")
    np.testing.assert_array_equal(tree["w"], f.init(seed=1)["w"])
    assert np.asarray(f(tree, [1, 1])).shape == (3,)
    metadata = tensor_files.read(tmp_path / "w.safetensors").metadata
    assert metadata["program"] == program.hash
    assert (metadata["entry"], metadata["realization"], metadata["note"]) == ("M.apply", "bf16", "first")


def test_weights_from_elsewhere_are_renamed_and_transposed(tmp_path: Path) -> None:
    presk.save_file({"fc": {"weight": np.arange(6.0).reshape(3, 2)}}, tmp_path / "torch.safetensors")
    tree = presk.load_file(tmp_path / "torch.safetensors", names={"w": "fc.weight.T"})
    np.testing.assert_array_equal(tree["w"], np.arange(6.0).reshape(3, 2).T)


def test_a_tree_of_another_module_is_found_out_where_it_is_used(tmp_path: Path) -> None:
    presk.save_file({"v": np.ones(2)}, tmp_path / "w.safetensors", of=presk.loads(TEXT))
    f = presk.compile(presk.loads(TEXT)["M.apply"], backend="interp")
    with pytest.raises(presk.PreskError) as caught:
        f.bind(presk.load_file(tmp_path / "w.safetensors"))
    assert caught.value.code == "E6030"
    assert "it lacks `w`; it has no business with `v`" in str(caught.value)


def test_modules_without_parameters_need_no_place_in_a_file(examples: Path, tmp_path: Path) -> None:
    program = presk.load(examples / "llama/llama.psk")
    f = presk.compile(program["Llama.apply"], dims={"S": 3})
    parameters, t = f.init(seed=1), np.array([[1, 2, 3]])
    presk.save_file(parameters, tmp_path / "w.safetensors")
    assert (f(presk.load_file(tmp_path / "w.safetensors"), t) == f(parameters, t)).all()
