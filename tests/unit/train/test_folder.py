"""A run's folder and its log."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from presk.text.diagnostics import PreskError
from presk.train import checkpoints
from presk.train.events import Measurement, Start, Step, from_data, scientific
from presk.train.folder import CONFIG, METRICS, RunFolder, read_config

STEPS = [Step(at, 1, 1 / at, 1e-3, 0.1 * at, {"accuracy": 0.5}, "sha256:0" if at == 2 else None) for at in range(1, 6)]
MEASURED = Measurement(3, 1, 1 / 3, {"accuracy": 1.0}, True)


def logged(folder: Path) -> RunFolder:
    run = RunFolder(folder)
    run.begin({"train": "t"})
    for each in (*STEPS[:3], MEASURED, *STEPS[3:]):
        run.write(each)
    run.close()
    return RunFolder(folder)


def test_the_line_of_a_step() -> None:
    assert (
        Step(100, 7, 4.1327754, 1.5e-5, 1.4102).line() == "step 100  epoch 7  loss 4.132775  lr 1.500e-5  |g| 1.4102e0"
    )
    assert Step(1, 1, 0.5, 12.0, 0.0, {"accuracy": 0.25}).line().endswith("lr 1.200e1  |g| 0.0000e0  accuracy 0.250000")
    assert Measurement(5, 2, 0.125, {}, True).line() == "step 5  epoch 2  measured  loss 0.125000  best"
    assert Start(0, 10, 7, 3).line() == "7 parameters, 3 rows, 10 steps"
    assert Start(4, 10, 7, 3).line().endswith("going on from step 4")


@pytest.mark.parametrize(("value", "shown"), [(1e-100, "1.00e-100"), (math.inf, "inf"), (-0.00015, "-1.50e-4")])
def test_exponents_without_zeros(value: float, shown: str) -> None:
    assert scientific(value, 2) == shown


@pytest.mark.parametrize("event", [*STEPS, MEASURED, Step(1, 1, math.nan, 0.0, math.inf)])
def test_events_read_back_to_the_bit(event: Step | Measurement) -> None:
    found = from_data(json.loads(json.dumps(event.data(), allow_nan=False)))
    assert repr(found) == repr(event)


def test_a_run_that_goes_on_cuts_off_what_is_behind_it(tmp_path: Path) -> None:
    run = logged(tmp_path)
    assert run.resume(3) == [*STEPS[:3], MEASURED]
    run.write(STEPS[3])
    run.close()
    lines = (tmp_path / METRICS).read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [1, 2, 3, 3, 4]


def test_git_ignores_a_folder_that_a_run_made(tmp_path: Path) -> None:
    logged(tmp_path / "made" / "run")
    assert (tmp_path / "made" / "run" / ".gitignore").read_text().splitlines()[-1] == "*"
    logged(tmp_path)
    assert not (tmp_path / ".gitignore").exists()  # a folder of one's own stays as it is


def test_a_line_that_was_cut_short_is_behind_the_checkpoint(tmp_path: Path) -> None:
    run = logged(tmp_path)
    path = tmp_path / METRICS
    path.write_bytes(path.read_bytes()[:-5])
    assert run.resume(4) == [*STEPS[:3], MEASURED, STEPS[3]]
    run.close()


def test_a_log_without_the_checkpoint_s_steps_is_damaged(tmp_path: Path) -> None:
    run = logged(tmp_path)
    path = tmp_path / METRICS
    path.write_bytes(b"nonsense\n" + path.read_bytes())
    with pytest.raises(PreskError, match="lines of 0 steps, and the checkpoint is behind step 4") as caught:
        run.resume(4)
    assert caught.value.code == "E8081"
    path.unlink()
    with pytest.raises(PreskError) as caught:
        run.resume(4)
    assert caught.value.code == "E8001"


def test_a_folder_that_holds_a_run_is_not_begun_again(tmp_path: Path) -> None:
    logged(tmp_path)
    again = RunFolder(tmp_path)
    again.begin({"train": "u"})  # no checkpoint: nothing is lost
    again.close()
    assert (tmp_path / METRICS).read_bytes() == b""
    checkpoints.write(
        tmp_path, {"w": np.zeros(1)}, {}, checkpoints.Mark({"program": "p", "realization": "f32", "seed": "0"}, 1, 1, 1)
    )
    with pytest.raises(PreskError) as caught:
        RunFolder(tmp_path).begin({})
    assert caught.value.code == "E8080"
    assert read_config(tmp_path) == {"train": "u"}


def test_a_folder_that_can_not_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PreskError) as caught:
        RunFolder(tmp_path / "file" / "run").begin({})
    assert caught.value.code == "E8002"


@pytest.mark.parametrize("text", [None, "{", "[]", "\udcff"])
def test_a_configuration_that_is_none(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / CONFIG).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(PreskError) as caught:
        read_config(tmp_path)
    assert caught.value.code == "E8081"
