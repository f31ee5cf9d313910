"""The command line as a process: exit codes, pipes, interrupts, faults."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import PROGRAM, Run

from presk.cli import guard
from presk.run.array_files import read

Process = Callable[..., subprocess.Popen[str]]


def test_exit_codes(process: Process, tmp_path: Path) -> None:
    (tmp_path / "p.psk").write_text(PROGRAM)
    runs = {
        0: process("check", "p.psk"),
        1: process("check", "missing.psk"),
        2: process("check", "--nonsense"),
    }
    for code, run in runs.items():
        out, err = run.communicate(timeout=60)
        assert run.returncode == code
        assert bool(out) == (code == 0)
        assert "Traceback" not in err


def test_help_lists_every_command(process: Process) -> None:
    from presk.cli.application import COMMANDS

    run = process("--help")
    out, err = run.communicate(timeout=60)
    assert (run.returncode, err) == (0, "")
    assert all(f"\n  {name}" in out for name in COMMANDS)


def test_help_loads_no_library_but_click() -> None:
    script = (
        "import sys; from presk.cli.guard import run; run(['--help']); print(*sorted(sys.modules), file=sys.stderr)"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stderr.split()
    heavy = {"numpy", "flint", "mpmath", "rich", "safetensors", "ml_dtypes", "presk.text.diagnostics", "json"}
    assert not heavy & set(loaded)


def test_a_closed_pipe_is_quiet(process: Process) -> None:
    with process("check", "--primitives") as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.close()
        assert run.stderr.read() == ""
        assert run.wait(timeout=60) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_standard_output_is_a_diagnostic(process: Process) -> None:
    with Path("/dev/full").open("w") as full:
        run = process("check", "--primitives", stdout=full)
        _, err = run.communicate(timeout=60)
    assert run.returncode == 1
    assert err.startswith("error[E8002]")
    assert "Traceback" not in err


CLOSED = {
    ">&-": {"check p.psk": 0, "check --nonsense": 2, "run p.psk -e double -o y.npz": 0},
    "2>&-": {"check missing.psk": 1, "bench p.psk -e double --native-only --repeat 1": 0},
    "<&-": {"fmt -": 0},
    "<&- >&- 2>&-": {"run p.psk -e double -o y.npz": 0},
}


@pytest.mark.parametrize("closed", CLOSED)
def test_a_closed_stream_is_an_empty_one(tmp_path: Path, closed: str) -> None:
    (tmp_path / "p.psk").write_text(PROGRAM)
    for command, code in CLOSED[closed].items():
        script = f"'{sys.executable}' -m presk {command} {closed}"
        run = subprocess.run(
            ["sh", "-c", script], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        assert run.returncode == code, (command, run.stderr)
        assert "Traceback" not in run.stderr
        assert "fault of presk" not in run.stderr
        if "y.npz" in command:
            assert read(tmp_path / "y.npz") is not None, "the file isn't mixed up with a stream's number"


@pytest.mark.parametrize("backend", ["interp", "native"])
def test_an_interrupt_is_130(process: Process, tmp_path: Path, backend: str) -> None:
    (tmp_path / "slow.psk").write_text(
        "fn slow(x: real[n]) -> real[n] { fold x = x over i in 0..10_000_000 { tanh(x) } }\n"
    )
    run = process("run", "slow.psk", "--dim", "n=1000", "--backend", backend, "-q")
    time.sleep(2.5)
    assert run.poll() is None
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert err.strip() == "interrupted"


def test_output_reaches_a_terminal_that_claims_to_be_ascii(process: Process, tmp_path: Path) -> None:
    (tmp_path / "p.psk").write_text("## × ≤ ü\nfn f(x: real) -> real { x }\n")
    environment = {"PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "presk", "check", "p.psk", "--docs"]
    run = subprocess.run(command, cwd=tmp_path, env=os.environ | environment, capture_output=True, encoding="utf-8")
    assert run.returncode == 0
    assert "× ≤ ü" in run.stdout


def test_a_name_with_bytes_that_are_no_text(process: Process, tmp_path: Path) -> None:
    run = process("check", b"\xff.psk".decode("utf-8", "surrogateescape"))
    _, err = run.communicate(timeout=60)
    assert run.returncode == 1
    assert "error[E2003]" in err


def test_a_fault_of_presk_says_so_in_one_line(presk: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("of\nsome kind")

    monkeypatch.setattr("presk.run.machine.threads", fail)
    answer = presk("env")
    assert answer.code == guard.FAILED
    assert answer.err.splitlines()[0] == "presk failed, and that is a fault of presk: RuntimeError: of some kind"
    assert "PRESK_DEBUG=1" in answer.err
    assert "Traceback" not in answer.err
    monkeypatch.setenv("PRESK_DEBUG", "1")
    assert "Traceback" in presk("env").err


def test_too_little_memory_is_a_diagnostic(presk: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("presk.run.machine.threads", fail)
    answer = presk("env")
    assert answer.code == 1
    assert "error[E9004]" in answer.err


def test_diagnostics_are_data_where_data_was_asked_for(presk: Run, program: Path) -> None:
    import json

    answer = presk("check", "missing.psk", "--json")
    assert answer.code == 1
    assert json.loads(answer.out)["diagnostics"][0]["code"] == "E2003"
    assert answer.err == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_are_given_a_completion(tmp_path: Path, shell: str) -> None:
    environment = os.environ | {"_PRESK_COMPLETE": f"{shell}_source"}
    run = subprocess.run([sys.executable, "-m", "presk"], env=environment, capture_output=True, text=True)
    assert "_PRESK_COMPLETE" in run.stdout


def test_entries_are_completed(tmp_path: Path) -> None:
    (tmp_path / "p.psk").write_text(PROGRAM)
    environment = os.environ | {
        "_PRESK_COMPLETE": "bash_complete",
        "COMP_WORDS": "presk run p.psk --entry d",
        "COMP_CWORD": "4",
    }
    command = [sys.executable, "-m", "presk"]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "plain,double" in run.stdout
    environment |= {"COMP_WORDS": "presk run missing.psk --entry d"}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (run.stdout.strip(), run.stderr) == ("", "")


def test_paths_that_cannot_be_looked_at(presk: Run, program: Path) -> None:
    """A link to itself stands for a folder one may not enter, which root may; a name may be too long."""
    Path("loop").symlink_to("loop")
    Path("long.psk").write_text(f"import {'n' * 300}\n")
    commands = [
        ("run", program, "-e", "Linear{3, 2}.apply", "--dim", "batch=1", "--weights", "loop"),
        ("run", program, "-e", "Linear{3, 2}.apply", "--dim", "batch=1", "--weights", "n" * 300),
        ("generate", program, "--weights", "loop"),
        ("hash", "loop"),
        ("diff", "loop", "n" * 300),
        ("train", program, "--out", "loop", "--resume"),
        ("check", "loop"),
        ("check", "long.psk"),
        ("fmt", "loop"),
        ("dump", "loop", "--stage", "ast"),
    ]
    for arguments in commands:
        answer = presk(*arguments)
        assert answer.code == 1, arguments
        assert answer.err.startswith("error[E"), arguments
        assert "fault of presk" not in answer.err, arguments
