"""The experiment on reproducibility: presk's answers are the same bits, and a difference would be seen."""

from __future__ import annotations

import doctest
import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from presk.cli.guard import run as presk


@pytest.fixture(scope="module")
def experiment(root: Path) -> dict[str, Any]:
    return runpy.run_path(str(root / "experiments" / "reproducibility.py"))


QUESTIONS = ("sum", "gradient", "linear", "rows", "cache", "compiled", "draws")


def test_every_question_is_asked_here(experiment: dict[str, Any]) -> None:
    assert tuple(experiment["QUESTIONS"]) == QUESTIONS


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
def test_presk_gives_the_same_bits(experiment: dict[str, Any], question: str) -> None:
    assert experiment["answer"]("presk", question) == "the same bits"


def test_a_difference_is_seen(experiment: dict[str, Any]) -> None:
    compared = experiment["compared"]
    one = np.array([1.0, -1.0, 0.0], np.float32)
    other = np.array([np.nextafter(np.float32(1), np.float32(2)), -1.0, -0.0], np.float32)
    assert compared([one], [one.copy()]) == "the same bits"
    assert compared([one, one], [other, one]) == "2 of 6 differ, by 1 units in the last place at most"
    assert compared([np.array([True, False])], [np.array([True, True])]) == "1 of 2 differ"


def test_the_page_shows_the_experiments_questions(experiment: dict[str, Any], root: Path) -> None:
    page = (root / "docs" / "reproducibility.md").read_text("utf-8")
    assert [words for words in experiment["QUESTIONS"].values() if words not in page] == []


def test_the_page_says_what_python_says(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    assert doctest.testfile(str(root / "docs" / "reproducibility.md"), module_relative=False).failed == 0


@pytest.mark.slow
def test_the_page_s_commands_find_the_same_bits(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(root / "examples")
    page = (root / "docs" / "reproducibility.md").read_text("utf-8")
    commands = re.findall(r"^presk (.*)$", page, re.MULTILINE)
    commands += re.findall(r"`presk (diff runs.*?)`", page)
    assert len(commands) == 10
    capsys.readouterr()
    for command in commands:
        assert presk(shlex.split(command)) == 0, command
    out = capsys.readouterr().out
    assert out.count("equal, bit for bit") == 3
    ends = re.findall(r"step 30  parameters (sha256:\w+)", out)
    assert len(ends) == 3 and len(set(ends)) == 1
