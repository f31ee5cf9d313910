"""The page on Python says what happens: its blocks run, one after the other, in one namespace."""

from __future__ import annotations

import re
from pathlib import Path

import pytest


def test_the_page_on_python_runs(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root)
    page = (root / "docs" / "python.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) >= 6
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), namespace)
    out = capsys.readouterr().out
    assert "CacheInfo(hits=1, misses=2, currsize=2, maxsize=128)" in out
    assert "E6001" in out
