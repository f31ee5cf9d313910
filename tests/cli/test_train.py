"""`presk train`: a run, its folder, its log; and what becomes of it when it is stopped or harmed."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import random
import resource
import shlex
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from tests.cli.conftest import Answer, Run, heed_signals

from presk.text.codes import all_codes
from presk.train import checkpoints
from presk.train.events import interval

PROGRAM = """\
module Line { w: real[1] = ones; b: real = zeros }
fn loss(m: Line, batch: {x: real[n, 1], y: real[n]}) -> real { mean(square(dot(batch.x, m.w) + m.b - batch.y)) }
train line {
  model = Line; objective = loss; optimizer = adamw; lr = cosine(peak = 0.1, warmup = 5, floor = 0.01)
  data = csv("line.csv", x = ["x"], y = "y", split = 0.75); batch = 3; epochs = 20; seed = 5
}
"""


@pytest.fixture
def line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program with a train block, in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("line.csv").write_text("x,y\n" + "".join(f"{at / 4},{at / 2 - 1}\n" for at in range(16)))
    Path("line.psk").write_text(PROGRAM)
    return Path("line.psk")


def digest(answer: Answer) -> str:
    """The hash of the parameters, from a run's last line."""
    assert answer.code == 0, answer.err
    return answer.out.splitlines()[-1].rpartition(" ")[2]


def refused(answer: Answer, code: str) -> str:
    assert answer.code == 1
    assert f"error[{code}]" in answer.err
    return answer.err


def test_a_run(presk: Run, line: Path) -> None:
    answer = presk("train", line, "--realize", "f64")
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    assert lines[0].startswith("step 1  epoch 1  loss ")
    assert [each.split("  ")[0] for each in lines if "lr" in each] == [
        "step 1",
        *(f"step {at}" for at in range(5, 81, 5)),
    ]
    assert any("measured" in each for each in lines)
    assert lines[-1].startswith("runs/line  step 80  parameters sha256:")
    assert answer.err.splitlines()[0] == "2 parameters, 12 rows, 80 steps"
    folder = Path("runs/line")
    assert {each.name for each in folder.iterdir()} >= {
        "config.json",
        "metrics.jsonl",
        "checkpoints",
        "best.safetensors",
    }
    assert json.loads((folder / "config.json").read_text())["settings"]["realization"] == "f64"
    assert checkpoints.steps(folder) == [72, 76, 80]
    newest = presk("hash", checkpoints.weights_path(folder, 80))
    assert newest.out.split()[0] == digest(answer)


def test_a_plot_or_a_note_that_there_is_none(presk: Run, line: Path) -> None:
    answer = presk("train", line, "--steps", 3)
    assert Path("runs/line/loss.png").is_file() == ("matplotlib isn't installed" not in answer.err)


def test_weights_of_a_run_are_an_entry_s(presk: Run, line: Path) -> None:
    presk("train", line)
    answer = presk("run", line, "-e", "loss", "--weights", "runs/line", "-i", 'batch={"x": [[1]], "y": [1]}')
    assert answer.code == 0, answer.err
    best = presk(
        "run", line, "-e", "loss", "--weights", "runs/line/best.safetensors", "-i", 'batch={"x":[[1]],"y":[1]}'
    )
    assert answer.out == best.out


def test_the_answer_as_data(presk: Run, line: Path) -> None:
    answer = presk("train", line, "--json", "--epochs", 2)
    found = json.loads(answer.out)
    assert (found["path"], found["last"]["step"], found["measured"]["epoch"]) == ("runs/line", 8, 2)
    assert float.fromhex(found["last"]["loss_hex"]) == found["last"]["loss"]
    assert "step 1  epoch 1" in answer.err
    quiet = presk("train", line, "-q", "--out", "quiet", "--epochs", 2)
    assert (len(quiet.out.splitlines()), quiet.err) == (1, "")
    assert digest(quiet) == found["parameters"]


def test_going_on_needs_only_the_folder(presk: Run, line: Path) -> None:
    options = ("--realize", "f64", "--set", "lr.peak=0.2", "--set", 'freeze=["b"]', "--seed", 8, "--epochs", 6)
    whole = presk("train", line, *options, "--out", "whole")
    presk("train", line, *options, "--out", "parts", "--steps", 7)
    rest = presk("train", line, "--resume", "--out", "parts", "--threads", 1)
    assert "going on from step 7" in rest.err
    assert digest(rest) == digest(whole)
    assert Path("parts/metrics.jsonl").read_bytes() == Path("whole/metrics.jsonl").read_bytes()
    assert digest(presk("train", line, "--resume", "--out", "parts")) == digest(whole)


def test_constants_are_remembered(presk: Run, line: Path) -> None:
    text = PROGRAM.replace("peak = 0.1", "peak = P")
    line.write_text(f"const P = 0.1\n{text}")
    presk("train", line, "--const", "P=0.3", "--steps", 5, "--out", "r")
    assert presk("train", line, "--resume", "--steps", 9, "--out", "r").code == 0
    assert "other constants" in refused(presk("train", line, "--resume", "--out", "r", "--const", "P=0.2"), "E8082")


def test_what_is_refused(presk: Run, line: Path) -> None:
    presk("train", line, "--steps", 3)
    assert "--resume goes on" in refused(presk("train", line), "E8080")
    refused(presk("train", line, "--resume", "--seed", 2), "E8082")
    refused(presk("train", line, "--resume", "--out", "none"), "E8081")
    refused(presk("train", line, "--train", "lime"), "E8084")
    refused(presk("train", line, "--set", "batch=100", "--out", "b"), "E8075")
    refused(presk("train", line, "--set", "lr.peak=", "--out", "b"), "E1010")
    refused(presk("train", line, "--set", "optimizer=sgd", "--set", "lr=1e30", "--out", "d"), "E8083")
    assert presk("train", line, "--set", "nonsense").code == 2
    assert presk("train", line, "--set", "batch=1", "--set", "batch=2").code == 2
    assert presk("train", line, "--steps", 0).code == 2


def test_programs_with_no_block_or_several(presk: Run, line: Path) -> None:
    line.write_text(PROGRAM.partition("train")[0])
    refused(presk("train", line), "E8084")
    line.write_text(PROGRAM + PROGRAM[PROGRAM.index("train") :].replace("train line", "train other"))
    assert "`line`, `other`" in refused(presk("train", line), "E8084")
    assert presk("train", line, "--train", "other", "--steps", 1).code == 0


def test_tables_that_are_wrong_say_where(presk: Run, line: Path) -> None:
    Path("line.csv").write_text("x,y\n1,2\n3,\n")
    assert "line.csv`, column `y`: the cell is empty" in refused(presk("train", line), "E8073")
    assert not Path("runs").exists()


def test_a_folder_that_can_not_be_written(presk: Run, line: Path) -> None:
    Path("file").write_text("")
    refused(presk("train", line, "--out", "file/run"), "E8002")


def test_damaged_checkpoints(presk: Run, line: Path) -> None:
    whole = presk("train", line, "--out", "whole")
    presk("train", line, "--steps", 30, "--out", "r")
    newest = checkpoints.weights_path(Path("r"), 30)
    newest.write_bytes(newest.read_bytes()[:100])
    rest = presk("train", line, "--resume", "--out", "r")
    assert "note: " in rest.err
    assert "going on from step 28" in rest.err
    assert digest(rest) == digest(whole)
    for step in checkpoints.steps(Path("r")):
        checkpoints.weights_path(Path("r"), step).write_bytes(b"")
    refused(presk("train", line, "--resume", "--out", "r"), "E8003")


@pytest.mark.parametrize("last", [1, 9, 10, 11, 150, 420, 10**6])
def test_a_training_has_ten_lines_or_more(last: int) -> None:
    lines = last // interval(last)
    assert min(last, 10) <= lines <= 25


Process = Callable[..., "subprocess.Popen[str]"]


def begun(run: subprocess.Popen[str], folder: Path) -> None:
    """Waits until a run has a checkpoint."""
    until = time.monotonic() + 100
    while not checkpoints.steps(folder):
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_to_the_same_bits(
    process: Process, presk: Run, line: Path, tmp_path: Path
) -> None:
    whole = presk("train", line, "--epochs", 200, "--out", "whole", "-q")
    seconds = random.Random()
    for at in range(3):
        run = process("train", line, "--epochs", 200, "--out", "r", "--threads", at + 1, *(["--resume"] if at else []))
        begun(run, tmp_path / "r")
        time.sleep(seconds.uniform(0, 1.5))
        run.kill()
        run.communicate()
    rest = presk("train", line, "--resume", "--out", "r", "--threads", 7, "-q")
    assert digest(rest) == digest(whole)
    assert Path("r/metrics.jsonl").read_bytes() == Path("whole/metrics.jsonl").read_bytes()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_saves_and_has_its_code(
    process: Process, presk: Run, line: Path, tmp_path: Path, number: int, code: int
) -> None:
    run = process("train", line, "--epochs", 2000, "--out", "r")
    begun(run, tmp_path / "r")
    run.send_signal(number)
    _, err = run.communicate(timeout=100)
    assert run.returncode == code, err
    assert err.splitlines()[-2].startswith("note: saved behind step ")
    assert err.splitlines()[-1] == ("interrupted" if number == signal.SIGINT else "ended by a signal")
    lines = (tmp_path / "r" / "metrics.jsonl").read_text().splitlines()
    last = json.loads([each for each in lines if '"norm"' in each][-1])["step"]
    assert checkpoints.steps(tmp_path / "r")[-1] == last
    assert not [each for each in os.listdir(tmp_path / "r" / "checkpoints") if each.endswith(".tmp")]  # noqa: PTH208
    rest = presk("train", line, "--resume", "--out", "r", "--steps", last + 20)
    assert digest(rest) == digest(presk("train", line, "--epochs", 2000, "--steps", last + 20, "--out", "whole"))


ENDLESS = """
import sys, time
from presk.cli import guard
from presk.train.loop import _Loop

def step(self, position, rows):
    print("in a step", flush=True)
    time.sleep(1000)

_Loop._step = step
sys.exit(guard.run(sys.argv[1:]))
"""
"""`presk` with steps that don't end."""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_second_signal_ends_a_step_that_runs(root: Path, line: Path, number: int, code: int) -> None:
    command = [sys.executable, "-c", ENDLESS, "train", str(line), "--out", "r"]
    environment = {**os.environ, "PYTHONPATH": str(root / "python")}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, preexec_fn=heed_signals, **streams) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "in a step\n"
        run.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        assert run.poll() is None
        run.send_signal(number)
        _, err = run.communicate(timeout=100)
    assert run.returncode == code, err
    assert err.splitlines()[-1] == ("interrupted" if number == signal.SIGINT else "ended by a signal")
    assert not checkpoints.steps(Path("r"))


def test_a_terminal_that_hangs_up_ends_a_run_that_is_saved(
    process: Process, presk: Run, line: Path, tmp_path: Path
) -> None:
    terminal, end = pty.openpty()

    def lead() -> None:
        fcntl.ioctl(end, termios.TIOCSCTTY, 0)

    streams = dict.fromkeys(("stdin", "stdout", "stderr"), end)
    run = process("train", line, "--epochs", 2000, "--out", "r", **streams, start_new_session=True, preexec_fn=lead)
    os.close(end)
    reader = Thread(target=drain, args=(terminal,), daemon=True)
    reader.start()
    begun(run, tmp_path / "r")
    os.close(terminal)
    assert run.wait(timeout=100) == 129
    last = checkpoints.steps(tmp_path / "r")[-1]
    assert f"going on from step {last}" in presk("train", line, "--resume", "--out", "r", "--steps", last + 1).err


def drain(terminal: int) -> None:
    """Reads what a process shows, so that it never waits for a reader."""
    with suppress(OSError):
        while os.read(terminal, 4096):
            pass


def test_who_has_no_use_for_a_hangup_trains_on(process: Process, line: Path, tmp_path: Path) -> None:
    def ignoring() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    run = process("train", line, "--epochs", 2000, "--out", "r", preexec_fn=ignoring)
    begun(run, tmp_path / "r")
    run.send_signal(signal.SIGHUP)
    first = checkpoints.steps(tmp_path / "r")[-1]
    until = time.monotonic() + 100
    while checkpoints.steps(tmp_path / "r")[-1] == first:
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < until
        time.sleep(0.01)
    run.send_signal(signal.SIGTERM)
    run.communicate(timeout=100)
    assert run.returncode == 143


def test_the_step_can_be_dumped(presk: Run, line: Path) -> None:
    text = presk("dump", line, "--train", "line").out
    assert text.startswith("fn train_step(m: Line, s: {m: Line, v: Line}, ")
    core = presk("dump", line, "--train", "line", "--stage", "core").out
    assert "fn line.train_step(" in core
    assert "fn loss_value_and_grad(" in core
    schedule = presk("dump", line, "--train", "line", "--stage", "schedule", "--realize", "f64").out
    assert '"m.w" donated' in schedule
    assert "kernel" in presk("dump", line, "--train", "line", "--stage", "kernel").out
    refused(presk("dump", line, "--train", "lime", "--stage", "core"), "E8084")
    assert presk("dump", line, "--train", "line", "--stage", "ast").code == 2
    assert presk("dump", line, "--train", "line", "--stage", "core", "--dim", "n=3").code == 2


SHOWN = [
    code for code in all_codes() if "E8070" <= code <= "E8084" and all_codes()[code].example.startswith("presk train")
]


@pytest.mark.parametrize("code", sorted(set(SHOWN) - {"E8079", "E8080", "E8082"}))
def test_the_example_of_a_code_shows_it(
    code: str, presk: Run, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    command = shlex.split(all_codes()[code].example)[1:]
    out = [] if "--out" in command else ["--out", tmp_path / "r"]
    refused(presk(*command, *out), code)


def test_the_examples_of_codes_that_need_a_run(
    presk: Run, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    for code in ("E8080", "E8082"):
        command = shlex.split(all_codes()[code].example)[1:]
        out = tmp_path / code
        assert presk("train", command[1], "--out", out, "--steps", 2).code == 0
        refused(presk(*(each for each in command if each not in ("--out", "runs/regression")), "--out", out), code)


def test_examples_that_are_programs_or_tables(presk: Run, line: Path) -> None:
    Path("line.csv").write_text(all_codes()["E8073"].example)
    refused(presk("train", line), "E8073")
    line.write_text(all_codes()["E8070"].example)
    refused(presk("train", line), "E8070")
    np.savez("x.npz", x=np.zeros(20))
    line.write_text(all_codes()["E8077"].example)
    refused(presk("train", line), "E8077")


def test_a_disk_that_takes_no_more_leaves_a_run_that_goes_on(process: Process, presk: Run, line: Path) -> None:
    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    whole = presk("train", line, "--out", "whole", "-q")
    run = process("train", line, "--out", "r", "-q", preexec_fn=small)
    _, err = run.communicate(timeout=100)
    assert run.returncode == 1
    assert "error[E8002]: `r/metrics.jsonl` can't be written: File too large" in err
    assert digest(presk("train", line, "--resume", "--out", "r", "-q")) == digest(whole)
    assert Path("r/metrics.jsonl").read_bytes() == Path("whole/metrics.jsonl").read_bytes()


def test_weights_of_a_training_take_raw_rows(
    presk: Run, examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = examples / "classifier" / "classifier.psk"
    assert presk("train", file, "--epochs", 5, "-q").code == 0
    asked = ["run", file, "-e", "classify", "--weights", "runs/fruit", "-i"]
    raw = "x=[[202, 8.1, 6.8, 0.2], [93, 5.8, 7.3, 0.79]]"
    answer = presk(*asked, raw)
    assert answer.out.splitlines()[-1] == "y = apple, lemon"
    assert "note: `x` is standardized as the training's `x` was; --raw takes it as it is" in answer.err
    assert "note: the labels of `y`: 0 = apple, 1 = lemon, 2 = orange" in answer.err
    answer = presk(*asked, raw, "--raw")
    assert answer.out.splitlines()[-1] == "y = orange, orange" and "isn't standardized" in answer.err
    assert json.loads(presk(*asked, raw, "--json", "-q").out)["labels"] == ["apple", "lemon"]
    answer = presk(*asked, "x=[[1, 2, 3]]")
    assert "error[E8035]" in answer.err
    asked[3] = "loss"
    assert "`batch.x` is standardized" in presk(*asked, 'batch={"x": [[202, 8.1, 6.8, 0.2]], "y": [0]}').err


def test_a_split_may_be_drawn(presk: Run, examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["train", examples / "classifier" / "classifier.psk", "--steps", 9, "--set"]
    found = {
        presk(*asked, key, "--out", f"runs/{key}").out.splitlines()[-2]
        for key in ("data.split=0.8", "data.shuffle=true", "data.stratify=y")
    }
    assert len(found) == 3
    assert "error[E8034]" in presk(*asked, "data.stratify=x").err
    assert "error[E8027]" in presk(*asked, "data.shuffle=1").err


def test_what_comes_next_is_said(presk: Run, examples: Path, line: Path, tmp_path: Path) -> None:
    answer = presk("train", line, "--steps", 1)
    assert answer.err.splitlines()[-1].startswith("note: next: presk run ")
    assert presk(*answer.err.splitlines()[-1].removeprefix("note: next: presk ").split()).code == 0
    answer = presk("train", examples / "minigpt" / "minigpt.psk", "--steps", 1, "--out", tmp_path / "g")
    assert answer.err.splitlines()[-1].startswith("note: next: presk generate ")


def test_weights_that_aren_t_there(presk: Run, line: Path) -> None:
    assert presk("train", line, "--steps", 1, "-q").code == 0
    answer = presk("run", line, "--weights", "runs/lime", "-e", "loss")
    assert "error[E8001]: there are no weights `runs/lime`" in answer.err and "did you mean `runs/line`?" in answer.err
