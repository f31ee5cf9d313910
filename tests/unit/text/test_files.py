"""Files are replaced whole or stay as they were, and every refusal is a diagnostic."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from presk.run import array_files, tensor_files
from presk.text import files, sources
from presk.text.diagnostics import PreskError
from presk.text.files import is_file, is_folder, read_bytes, replacing, shown, write_bytes


def names(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


def fail_while_writing(path: Path, error: BaseException) -> None:
    with replacing(path) as temporary:
        temporary.write_bytes(b"half")
        raise error


def test_a_file_is_replaced_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a.psk"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_bytes(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert names(tmp_path) == ["a.psk"]


def test_a_new_file_has_the_permissions_of_the_umask(tmp_path: Path) -> None:
    previous = os.umask(0o027)
    try:
        write_bytes(tmp_path / "a", b"x")
    finally:
        os.umask(previous)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_a_failure_while_writing_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(PreskError) as caught:
        fail_while_writing(path, OSError(28, "No space left on device"))
    assert caught.value.code == "E8002"
    assert "No space left" in str(caught.value)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_an_interrupt_while_writing_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        fail_while_writing(path, KeyboardInterrupt())
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_bytes(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_device_is_written_to_and_not_replaced() -> None:
    write_bytes("/dev/null", b"gone")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_pipe_gets_what_a_file_would_hold(tmp_path: Path) -> None:
    """Archives are written with steps back, and libraries put a file of their own in place of what they are given."""
    os.mkfifo(tmp_path / "pipe")
    arrays: dict[str, Any] = {"a": np.arange(3.0), "b": np.zeros(0)}
    writers: dict[str, Callable[[Path], None]] = {
        "npz": lambda path: array_files.write_npz(path, arrays),
        "safetensors": lambda path: tensor_files.write(path, arrays),
    }
    for name, write in writers.items():
        write(tmp_path / f"a.{name}")
        with ThreadPoolExecutor() as pool:
            received = pool.submit((tmp_path / "pipe").read_bytes)
            write(tmp_path / "pipe")
        (tmp_path / f"b.{name}").write_bytes(received.result())
        assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
        for found in (array_files.read(tmp_path / f"a.{name}"), array_files.read(tmp_path / f"b.{name}")):
            assert {key: each.tolist() for key, each in found.items()} == {"a": [0, 1, 2], "b": []}


@pytest.mark.parametrize("path", ["{}", "{}/missing/a", "{}/a\0b", "{}/" + "n" * 300, "{}/file/a"])
def test_what_cannot_be_written_is_a_diagnostic(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(PreskError) as caught:
        write_bytes(path.format(tmp_path), b"x")
    assert caught.value.code == "E8002"


@pytest.mark.parametrize("path", ["{}", "{}/missing", "{}/a\0b", "{}/" + "n" * 300])
def test_what_cannot_be_read_is_a_diagnostic(tmp_path: Path, path: str) -> None:
    with pytest.raises(PreskError) as caught:
        read_bytes(path.format(tmp_path))
    assert caught.value.code == "E8001"


def test_a_path_is_shown_without_what_would_garble_a_terminal() -> None:
    assert shown("a\nb\udcff\x1b") == "a\ufffdb?\ufffd"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_a_device_that_goes_on_for_ever_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "STREAM_LIMIT", 1 << 20)
    with pytest.raises(PreskError) as caught:
        read_bytes("/dev/zero")
    assert caught.value.code == "E8001"
    assert "no regular file" in str(caught.value)
    with pytest.raises(PreskError) as caught:
        sources.read_source("/dev/zero", "the program")
    assert caught.value.code == "E1004"


def test_of_a_file_no_more_is_read_than_wanted(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert read_bytes(tmp_path / "a", most=2) == b"ab"
    assert read_bytes(tmp_path / "a") == read_bytes(tmp_path / "a", most=9) == b"abc"
    assert read_bytes(os.devnull) == b""


def test_what_is_there_is_told_by_its_kind(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "link").symlink_to("file")
    found = {name: (is_file(tmp_path / name), is_folder(tmp_path / name)) for name in ("file", "link", "no", "file/a")}
    assert found == {"file": (True, False), "link": (True, False), "no": (False, False), "file/a": (False, False)}
    assert (is_file(tmp_path), is_folder(tmp_path), is_folder("a\0b")) == (False, True, False)


def test_what_cannot_be_looked_at_is_a_diagnostic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for look in (is_file, is_folder):
        for path in (tmp_path / "loop", tmp_path / ("n" * 300)):
            with pytest.raises(PreskError) as caught:
                look(path)
            assert caught.value.code == "E8001"

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(PreskError) as caught:
        is_folder(tmp_path)
    assert "Permission denied" in str(caught.value)
