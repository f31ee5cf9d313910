"""Training against training over the reals: what `experiments/exact_vs_almost.py` prints, and bounds on it.

The bounds are the measured gaps with room for another machine's threads to change nothing at all: bits don't vary, so a
larger gap means that the arithmetic changed.
"""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import presk
from presk.choose import libraries


@pytest.fixture(scope="module")
def experiment(root: Path) -> ModuleType:
    spec = spec_from_file_location("exact_vs_almost", root / "experiments" / "exact_vs_almost.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["exact_vs_almost"] = module
    spec.loader.exec_module(module)
    return module


def measured(experiment: ModuleType, block: str, steps: int, bits: int) -> dict[str, tuple[float, float, float]]:
    """Worst, median and worst to the tensor's top, by the lines' names."""
    lines = experiment.compare(block, steps, bits, None)
    return {each.name: (each.worst[-1], each.median, each.to_top) for each in lines if not isinstance(each, str)}


def test_the_experiment_runs(
    experiment: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(libraries, "find", lambda *_: None)
    monkeypatch.setattr(
        sys, "argv", ["x", "regression", "--steps", "3", "--bits", "80", "--plot", str(tmp_path / "p.png")]
    )
    experiment.main()
    out = capsys.readouterr().out
    assert "regression: 3 steps, 49 parameters" in out
    assert "torch f64           PyTorch isn't installed" in out
    assert (tmp_path / "p.png").exists() != ("no plot" in out)


def test_gaps_are_measured_to_the_last_digit(experiment: ModuleType) -> None:
    f = presk.compile(presk.loads("fn f(x: real[n]) -> real[n] { x / 3 }")["f"], backend="interp", bits=200)
    exact = experiment.exact({"w": f(np.array([1.0, 2.0, 1e-300]))})
    third = np.array([1 / 3, np.nextafter(2 / 3, 1), 0.0])
    relative, to_top = experiment.gaps(exact, {"w": third}, 0.0)
    assert relative.tolist() == pytest.approx([2.0**-54, 2.0**-53], rel=1e-12)  # the third stays at 0
    assert to_top == pytest.approx(2.0**-53, rel=1e-12)


@pytest.mark.slow
def test_the_regression_stays_close_to_exact(experiment: ModuleType) -> None:
    found = measured(experiment, "regression", 200, 128)
    for name, bounds in {"presk f64": (5e-14, 1e-15, 2e-15), "presk f32": (1e-4, 5e-7, 4e-6)}.items():
        assert all(value <= bound for value, bound in zip(found[name], bounds, strict=True)), (name, found[name])
    # with every operation in f64, and only what a step leaves behind in f32, most elements are as far
    assert found["presk f32"][1] < 2 * found["exact, at rest f32"][1]
    # rounding what goes in to f32 costs more than a fiftieth of what all of the arithmetic in f32 does
    assert found["f32 inputs"][0] > found["presk f32"][0] / 50


@pytest.mark.slow
def test_the_small_gpt_stays_close_to_exact(experiment: ModuleType) -> None:
    found = measured(experiment, "tiny", 20, 128)
    for name, bounds in {"presk f64": (6e-13, 3e-16, 1e-12), "presk f32": (5e-4, 2e-7, 4e-4)}.items():
        assert all(value <= bound for value, bound in zip(found[name], bounds, strict=True)), (name, found[name])
    assert found["f32 inputs"][0] > found["presk f32"][0] / 50
