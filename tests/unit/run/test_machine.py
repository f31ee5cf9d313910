"""Threads, caches and processors as the system tells them."""

from __future__ import annotations

from pathlib import Path

import pytest

from presk.run import machine
from presk.text.diagnostics import PreskError


def test_threads_come_of_the_variable_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRESK_THREADS", "7")
    assert machine.threads() == 7
    for bad in ("0", "-1", "two", "", "1025", "99999", "１"):
        monkeypatch.setenv("PRESK_THREADS", bad)
        with pytest.raises(PreskError) as caught:
            machine.threads()
        assert caught.value.code == "E9007"


def test_one_limit_holds_for_every_way_of_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Path(__file__).resolve().parents[3] / "rust" / "presk-rt" / "src" / "pool.rs"
    assert f"pub const MOST_THREADS: usize = {machine.MOST_THREADS};" in pool.read_text()
    monkeypatch.setenv("PRESK_THREADS", str(machine.MOST_THREADS))
    assert machine.threads() == machine.MOST_THREADS
    for count in (0, -1, machine.MOST_THREADS + 1):
        with pytest.raises(PreskError) as caught:
            machine.require_threads(count, "")
        assert caught.value.code == "E9007"


@pytest.mark.parametrize(
    ("quota", "expected"), [("max 100000", 8), ("150000 100000", 2), ("50000 100000", 1), ("?", 8)]
)
def test_affinity_and_a_containers_quota_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quota: str, expected: int
) -> None:
    monkeypatch.delenv("PRESK_THREADS", raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)))
    (tmp_path / "cpu.max").write_text(quota + "\n")
    monkeypatch.setattr(machine, "CGROUP_QUOTA", tmp_path / "cpu.max")
    assert machine.threads() == expected


def test_caches_are_read_nearest_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for at, (kind, level, size, shared) in enumerate(
        [("Data", "1", "32K", "0-1"), ("Instruction", "1", "64K", "0"), ("Unified", "3", "8M", "0-3,8,10-11")]
    ):
        folder = tmp_path / f"index{at}"
        folder.mkdir()
        for name, text in zip(("type", "level", "size", "shared_cpu_list"), (kind, level, size, shared), strict=True):
            (folder / name).write_text(text + "\n")
    (tmp_path / "index9").mkdir()
    monkeypatch.setattr(machine, "CACHES", tmp_path)
    assert machine.caches() == (machine.Cache(1, 32 << 10, 2), machine.Cache(3, 8 << 20, 7))


def test_instruction_sets_are_the_flags_presk_knows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("model name\t: A Processor\nflags\t: fpu sse2 avx2 bmi\n\nprocessor : 1\n")
    monkeypatch.setattr(machine, "CPU_INFO", tmp_path / "cpuinfo")
    assert machine.processor() == "A Processor"
    assert machine.instruction_sets() == ("sse2", "avx2")
