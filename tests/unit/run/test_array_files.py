"""npy, npz and safetensors files: what NumPy writes is read, what is hostile is refused."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from presk.run import array_files, tensor_files
from presk.text.diagnostics import PreskError

ANY_ARRAY = arrays.arrays(
    st.sampled_from([np.float64, np.float32, np.int64, np.int8, np.bool_, np.dtype(">f8")]),
    arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


@given(ANY_ARRAY, st.booleans())
def test_an_npy_file_comes_back(tmp_path_factory: Any, array: Any, in_columns: bool) -> None:
    path = tmp_path_factory.getbasetemp() / "x.npy"
    np.save(path, np.asfortranarray(array) if in_columns else array)
    read = array_files.read(path)[array_files.SOLE]
    assert read.dtype == array.dtype
    np.testing.assert_array_equal(read, array)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_npz_file_comes_back_in_its_order(tmp_path: Path, save: Any) -> None:
    save(tmp_path / "x.npz", b=np.arange(3), a=np.ones((2, 2)))
    read = array_files.read(tmp_path / "x.npz")
    assert list(read) == ["b", "a"]
    np.testing.assert_array_equal(read["b"], np.arange(3))


def test_an_npz_file_is_written_that_numpy_reads(tmp_path: Path) -> None:
    halves = np.array([0.5, 1.25], ml_dtypes.bfloat16)
    array_files.write_npz(tmp_path / "y.npz", {"a.b": np.arange(3.0), "h": halves})
    with np.load(tmp_path / "y.npz") as read:
        np.testing.assert_array_equal(read["a.b"], np.arange(3.0))
        np.testing.assert_array_equal(read["h"], np.array([0.5, 1.25], np.float32))


def test_the_first_bytes_decide_and_not_the_name(tmp_path: Path) -> None:
    tensor_files.write(tmp_path / "x.npy", {"a": np.ones(2)})
    assert list(array_files.read(tmp_path / "x.npy")) == ["a"]


def test_a_folder_is_all_its_tensor_files(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    np.save(tmp_path / "x.npy", np.ones(1))
    np.savez(tmp_path / "sub" / "y.npz", a=np.ones(2))
    (tmp_path / "notes.txt").write_text("no tensors")
    assert list(array_files.read_folder(tmp_path)) == ["sub/y.npz/a", "x.npy"]
    (tmp_path / "none").mkdir()
    with pytest.raises(PreskError) as caught:
        array_files.read_folder(tmp_path / "none")
    assert caught.value.code == "E8003"


def _npy(header: str, data: bytes = b"") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


HOSTILE = {
    "empty": b"",
    "magic alone": b"\x93NUMPY",
    "pickled": _npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", b"cos\nsystem\n."),
    "announces terabytes": _npy("{'descr': '<f8', 'fortran_order': False, 'shape': (10**14,), }"),
    "huge": _npy("{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000000,), }"),
    "negative": _npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -8), }", b"\0" * 64),
    "short": _npy("{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }", b"\0" * 31),
    "no dict": _npy("__import__('os').system('true')"),
    "nested": _npy("(" * 5000),
    "no type": _npy("{'descr': 'nonsense', 'fortran_order': False, 'shape': (1,), }", b"\0" * 8),
    "version": b"\x93NUMPY\x09\x00" + b"\0" * 32,
    "archive cut short": b"PK\x03\x04" + b"\0" * 40,
    "noise": bytes(range(256)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "x.npy").write_bytes(HOSTILE[name])
    with pytest.raises(PreskError) as caught:
        array_files.read(tmp_path / "x.npy")
    assert caught.value.code == "E8003"


def test_an_archive_that_unpacks_past_the_memory_is_refused(tmp_path: Path) -> None:
    member = zipfile.ZipInfo("a.npy")
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr(member, _npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }", b"\0"))
        member.file_size = 1 << 60
    (tmp_path / "x.npz").write_bytes(held.getvalue())
    with pytest.raises(PreskError) as caught:
        array_files.read(tmp_path / "x.npz")
    assert caught.value.code == "E8003"


@given(st.integers(0, 300), st.integers(0, 20), st.binary(max_size=20), st.booleans())
def test_mutated_files_are_read_or_refused(
    tmp_path_factory: Any, at: int, cut: int, noise: bytes, packed: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "mutated"
    held = io.BytesIO()
    if packed:
        np.savez(held, a=np.arange(4.0), b=np.ones(2))
    else:
        np.save(held, np.arange(4.0))
    data = held.getvalue()
    path.write_bytes(data[:at] + noise + data[at + cut :])
    codes = {"E8003"}
    try:
        array_files.read(path)
    except PreskError as error:
        codes.add(error.code)
    assert codes == {"E8003"}
