"""The tutorial's pages print what presk prints, and the commands in the examples' comments work.

A `console` block begins with one command, `$ presk …`; what follows is its output, stdout then stderr. `--bless` writes
it. A `pycon` block is a doctest.
"""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest
from tests.unit.examples.running import EXAMPLES, ROOT, name_of

from presk.cli.guard import run

PAGES = sorted((ROOT / "docs" / "tutorial").glob("*.md"))
CONSOLE = re.compile(r"```console\n\$ presk (.*)\n((?:.*\n)*?)```\n")
SHOWN = re.compile(r"^#   presk ((?:.*\\\n#)*.*)$", re.MULTILINE)
LATER = ("--resume", "--weights runs/")
"""What goes on from a command shown before; the tests of training and generation do."""


def output(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    run(shlex.split(command))
    shown = capsys.readouterr()
    return shown.out + shown.err


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_shows_what_is_printed(
    page: Path, bless: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    text = page.read_text(encoding="utf-8")
    made = CONSOLE.sub(lambda found: f"```console\n$ presk {found[1]}\n{output(found[1], capsys)}```\n", text)
    if bless:
        page.write_text(made, encoding="utf-8")
    assert made == page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_says_what_python_says(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert doctest.testfile(str(page), module_relative=False).failed == 0


def shown_commands() -> list[tuple[str, str]]:
    """The files and commands of the examples' comments, those that end a line with a backslash joined."""
    return [
        (name_of(path), re.sub(r"\\\n# *", "", found))
        for path in sorted(EXAMPLES.rglob("*.psk"))
        for found in SHOWN.findall(path.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize(
    "command", [pytest.param(command, id=f"presk {command[:70]}") for _, command in shown_commands()]
)
def test_a_shown_command_works(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    if any(each in command for each in LATER):
        pytest.skip("needs the run that a command before it makes")
    few = ["--steps", "2", "--out", str(tmp_path / "run")] if command.startswith("train ") else []
    assert run([*shlex.split(command), *few]) == 0
    assert capsys.readouterr().out


def test_every_example_shows_a_command() -> None:
    shown = {name for name, _ in shown_commands()}
    assert [name_of(path) for path in sorted(EXAMPLES.rglob("*.psk")) if name_of(path) not in shown] == []
