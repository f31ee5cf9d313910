"""The wheel works where it is all there is: an empty environment, and no Rust on the PATH."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CALL = """
import numpy as np
import presk
from importlib.resources import files

program = presk.load(files("presk") / "examples/tutorial/01_linear.psk")
linear = presk.compile(program["Linear{3, 2}.apply"], backend="interp")
parameters = {"w": np.eye(3, 2), "b": np.array([0.0, 1.0])}
print(np.asarray(linear(parameters, np.array([[1.0, 2.0, 3.0]]))).tolist())
"""


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this source tree, built from what Cargo has compiled already."""
    out = tmp_path_factory.mktemp("dist")
    tools = Path(sys.executable).parent
    environment = {"CARGO_TARGET_DIR": str(root / "rust" / "target"), **os.environ}
    environment["PATH"] = f"{tools}{os.pathsep}{environment['PATH']}"
    subprocess.run([tools / "maturin", "build", "--quiet", "--out", out], cwd=root, env=environment, check=True)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(root: Path, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of a fresh environment that holds the wheel and what it depends on."""
    home = tmp_path_factory.mktemp("empty")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    pip = [sys.executable, "-m", "pip", "--python", home / "bin" / "python", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "install", "--no-compile", "-c", root / "requirements-dev.lock", wheel], check=True)
    return home / "bin"


def run(installed: Path, *command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A command of the environment, in a folder that is not the project's, with nothing else on the PATH."""
    environment = {"PATH": str(installed), "HOME": str(cwd), "LANG": "C.UTF-8"}
    return subprocess.run(
        [installed / command[0], *command[1:]], cwd=cwd, env=environment, capture_output=True, text=True
    )


def test_the_wheel_serves_every_python_from_the_oldest_on(wheel: Path) -> None:
    assert "-cp311-abi3-" in wheel.name


def test_there_is_no_rust(installed: Path, tmp_path: Path) -> None:
    script = "import shutil; print([shutil.which(tool) for tool in ('cargo', 'rustc', 'cc', 'gcc', 'clang')])"
    assert run(installed, "python", "-c", script, cwd=tmp_path).stdout.strip() == str([None] * 5)


def test_the_command_checks_a_program_of_the_wheel(installed: Path, tmp_path: Path) -> None:
    script = "from importlib.resources import files; print(files('presk') / 'examples/tutorial/01_linear.psk')"
    program = run(installed, "python", "-c", script, cwd=tmp_path).stdout.strip()
    assert installed.parent in Path(program).parents
    done = run(installed, "presk", "check", program, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Linear" in done.stdout


def test_a_call_from_python(installed: Path, tmp_path: Path) -> None:
    done = run(installed, "python", "-c", CALL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[[1.0, 3.0]]"


def test_every_example_and_library_file_is_in_it(root: Path, installed: Path, tmp_path: Path) -> None:
    script = "from importlib.resources import files; print(files('presk'))"
    package = Path(run(installed, "python", "-c", script, cwd=tmp_path).stdout.strip())
    for folder, inside in ((root / "python/presk/std", "std"), (root / "examples", "examples")):
        programs = {path.relative_to(folder) for path in folder.rglob("*.psk")}
        assert programs
        assert {path.relative_to(package / inside) for path in (package / inside).rglob("*.psk")} == programs
