"""The command line in this process, and in one of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from presk.cli import guard


@dataclass(frozen=True)
class Answer:
    """What a command did."""

    code: int
    out: str
    err: str


Run = Callable[..., Answer]


@pytest.fixture
def presk(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `presk ARGUMENTS` under its guard, in this process."""

    def run(*arguments: object) -> Answer:
        capsys.readouterr()
        code = guard.run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Answer(code, out, err)

    return run


@pytest.fixture
def process(root: Path, tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Starts `python -m presk ARGUMENTS` in an empty folder."""

    def start(*arguments: object, **options: object) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": str(root / "python"), "COLUMNS": "100"}
        settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": tmp_path} | options
        prepare = settings.pop("preexec_fn", None)

        def begin() -> None:
            heed_signals()
            if callable(prepare):
                prepare()

        settings["preexec_fn"] = begin
        command = [sys.executable, "-m", "presk", *map(str, arguments)]
        return subprocess.Popen(command, env=environment, **settings)  # type: ignore[call-overload]

    return start


def heed_signals() -> None:
    """Tests that run in a shell's background, or under `nohup`, ignore signals, and so would whatever they start."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


PROGRAM = """\
## A line.
module Linear{I, O} {
  w: real[I, O] = normal(std = 1 / sqrt(I))
  b: real[O] = zeros

  ## Its values.
  fn apply(self, x: real[batch, I]) -> real[batch, O] { dot(x, self.w) + self.b }
}

const SCALE = 2

## Doubles.
fn double(x: real[n: 3]) -> {y: real[n: 3], t: (nat[n: 3] < 3, bool[n: 3])} {
  {y = x * SCALE, t = (positions[n: 3], x > 0)}
}
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small program in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.psk").write_text(PROGRAM)
    return Path("p.psk")
