"""The pages for people stay true: whatever path, target or link they name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]

PATH = re.compile(r"`((?:python|rust|tests|examples|docs|benchmarks)/[\w./-]+)`")
TARGET = re.compile(r"(?:`|^)make ([a-z][a-z0-9-]+)", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]+)\)")


@pytest.fixture(scope="module")
def targets() -> set[str]:
    return set(re.findall(r"^([a-z0-9-]+):.*##", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize("page", PAGES)
def test_every_path_and_link_is_there(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    named = PATH.findall(text) + LINK.findall(text)
    assert named
    assert not [path for path in named if not (ROOT / path).exists()]


@pytest.mark.parametrize("page", PAGES)
def test_every_target_is_there(page: str, targets: set[str]) -> None:
    assert set(TARGET.findall((ROOT / page).read_text("utf-8"))) <= targets


def test_every_layer_is_on_the_map() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    package = ROOT / "python" / "presk"
    layers = [path.name for path in package.iterdir() if path.is_dir() and path.name not in ("__pycache__", "examples")]
    assert not [layer for layer in layers if f"`python/presk/{layer}/`" not in text]
