"""`presk demo`: the tour at a size that takes seconds, the text it learns, and what it proposes."""

from __future__ import annotations

import json
import shlex
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from presk.cli.demo import tour as tour_module
from presk.cli.demo.corpus import read_corpus, standard_library
from presk.cli.demo.screen import Screen
from presk.cli.demo.tour import NEXT, Settings, Size, Tour
from presk.text.diagnostics import PreskError

TINY = Size({"D": 8, "H": 2, "L": 1, "T": 8}, 2)
SMALL = Settings(steps=6, seed=1, size=TINY, small=TINY, written=30, bits=64)
TEXT = "def f(x):\n    return x + 1\n\n\ndef g(x):\n    return f(x) * 2\n" * 6


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What a tour at that size prints, and its folder."""
    folder = tmp_path_factory.mktemp("tour") / "out"
    with redirect_stdout(StringIO()) as shown:
        Tour(Screen(quiet=False), SMALL, TEXT, "a text of the tests", folder).take()
    return shown.getvalue(), folder


def test_the_tour_goes_from_checking_to_measuring(tour: tuple[str, Path]) -> None:
    shown, _ = tour
    for at, title in enumerate(("Check", "Train", "Write", "Again", "Measure"), start=1):
        assert f"{at}. {title}" in shown
    assert "6 steps of 16 characters, in f32" in shown
    assert f"{len(TEXT)} characters of a text of the tests, 0.3 times over" in shown
    assert "--steps 6 --seed 1 gives the same bits on any machine" in shown
    for line in shown.splitlines():
        assert line == line.rstrip()
        assert len(line) <= 80 or line.startswith(("  presk", "In "))
    assert "equal, bit for bit" in shown and "NOT" not in shown
    hashes = [word for word in shown.split() if word.startswith("sha256:")]
    assert len(hashes) == 4
    rows = [line for line in shown.splitlines() if line.strip("│ ").startswith(("f64", "f32", "bf16"))]
    assert len(rows) == 3 and all("yes" in row for row in rows)
    assert all(line in shown for line, _ in NEXT)


def test_it_leaves_a_run_that_writes_and_can_be_hashed(presk: Run, tour: tuple[str, Path], examples: Path) -> None:
    run = tour[1] / "run"
    config = json.loads((run / "config.json").read_text())
    assert (config["train"], config["consts"]["D"]) == ("demo", "8")
    assert (tour[1] / "corpus.txt").read_text() == TEXT
    written = presk("generate", examples / "demo/demo.psk", "--weights", run, "--prompt", "def", "-q")
    assert written.code == 0 and set(written.out) <= set(TEXT)
    assert presk("hash", run / "checkpoints/step-6.safetensors").out.startswith("sha256:")
    assert len((run / "metrics.jsonl").read_text().splitlines()) >= 6


@pytest.mark.parametrize("line", [line for line, _ in NEXT])
def test_what_it_proposes_works(
    presk: Run, root: Path, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examples").symlink_to(root / "examples")
    monkeypatch.chdir(tmp_path)
    assert presk(*shlex.split(line)[1:]).code == 0


def test_the_standard_library_is_a_text_of_the_wanted_length() -> None:
    text, source = read_corpus(None, 50_000)
    assert len(text) == 50_000 and text.isascii() and "def " in text
    assert source == "Python's standard library"
    assert read_corpus(None, 50_000)[0] == text


def test_lines_that_would_fill_a_window_with_spaces_are_left_out(tmp_path: Path) -> None:
    kept = "if a:\n" + " " * 16 + "b\n\n\nc\n"
    (tmp_path / "a.py").write_text(kept.replace("b\n\n\n", "b\n" + " " * 17 + "x\n\n\n\n\n"))
    assert standard_library(tmp_path, 100) == kept


def test_modules_that_are_no_ascii_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 'é'\n", "utf-8")
    (tmp_path / "b.py").write_text("b = 1\n")
    (tmp_path / "c.py").mkdir()
    assert standard_library(tmp_path, 100) == "b = 1\n"
    with pytest.raises(PreskError) as error:
        standard_library(tmp_path / "missing", 100)
    assert error.value.code == "E8001" and "--corpus" in str(error.value.hint)


@pytest.mark.parametrize(
    ("content", "code"), [(None, "E8001"), (b"\xff" * 50_000, "E8043"), (b"", "E8075"), (b"short", "E8075")]
)
def test_a_corpus_that_will_not_do_is_told(
    presk: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, code: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path("c.txt").write_bytes(content)
    answer = presk("demo", "--corpus", "c.txt", "-q")
    assert answer.code == 1 and f"error[{code}]" in answer.err, answer.err


def test_a_machine_that_is_slow_takes_fewer_steps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    now, a_step = [0.0], [0.0]

    def clock() -> float:
        now[0] += a_step[0]
        return now[0]

    monkeypatch.setattr(tour_module, "perf_counter", clock)
    made = Tour(Screen(quiet=True), replace(SMALL, steps=None), TEXT, "a text", tmp_path / "out")
    made.begin()
    for a_step[0], steps in ((1e-4, 1000), (0.099, 500), (0.07, 700), (9.0, 300)):
        settled = made.settled(made.load(TINY))
        assert settled.steps == steps
        assert settled.settings == replace(made.settings, steps=steps)
    assert not (tmp_path / "out" / "run").exists()


def test_a_folder_with_a_tour_is_left_as_it_is(presk: Run, tour: tuple[str, Path], tmp_path: Path) -> None:
    before = (tour[1] / "corpus.txt").read_bytes()
    (tmp_path / "c.txt").write_text(TEXT * 10)
    answer = presk("demo", "--corpus", tmp_path / "c.txt", "--out", tour[1], "-q", "--steps", 1)
    assert answer.code == 1 and "error[E8080]" in answer.err and "--out NAME" in answer.err
    assert answer.out == ""
    assert (tour[1] / "corpus.txt").read_bytes() == before


@pytest.mark.parametrize("text", ["a" * 1000, "äöü€\r\n\t\0 " * 200, "[bold]x[/bold] \\[ " * 80])
def test_any_text_will_do(tmp_path: Path, text: str) -> None:
    with redirect_stdout(StringIO()) as shown:
        Tour(Screen(quiet=False), replace(SMALL, steps=2), text, "[red]x[/red].txt", tmp_path / "[o]").take()
    assert "equal, bit for bit" in shown.getvalue()
    assert "[red]x[/red].txt" in shown.getvalue() and "[o]" in shown.getvalue()


def test_a_folder_that_can_not_be_written_is_told(presk: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "c.txt").write_text(TEXT * 10)
    answer = presk("demo", "--corpus", tmp_path / "c.txt", "--out", tmp_path / "file" / "out", "-q")
    assert answer.code == 1 and "error[E8002]" in answer.err
