"""What a training is asked for: what can't run, what is told without being an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.train.programs import BLOCK, LINEAR, written
from tests.unit.train.test_loop import DATA, bits, fit, program

import presk
from presk.api.program import Program
from presk.text.diagnostics import PreskError
from presk.train.events import Remark


@pytest.mark.parametrize(
    ("keys", "settings", "code"),
    [
        ("", {"data": None}, "E8070"),
        ("", {"settings": {"batch": "50"}}, "E8075"),
        ("patience = 2\n", {}, "E8076"),
        ("", {"steps": 0}, "E8077"),
        ("", {"settings": {"batch": "x"}}, "E2001"),
        ("", {"realize": presk.Realization("f32", quant={"m.w": {"type": "int8", "axis": 0}})}, "E8079"),
        ("", {"resume": True}, "E8080"),
        ("", {"seed": 1 << 64}, "E6020"),
        ("", {"settings": {"seed": "2 ** 64"}}, "E6020"),
        ("clip = -sqrt(2)\n", {}, "E8028"),
        ("", {"settings": {"lr": "0 - sqrt(2)"}}, "E8026"),
        ("", {"settings": {"lr": "cosine(peak = 1, floor = sqrt(2))"}}, "E8026"),
        ("", {"settings": {"lr": "cosine(peak = 1, floor = 1 - sqrt(2))"}}, "E8026"),
        ('data = arrays("x.npz", split = sqrt(2))\n', {}, "E8027"),
        ('data = arrays("x.npz", split = 1 - sqrt(2))\n', {}, "E8027"),
        ("", {"backend": "cuda"}, "E9002"),
        ("", {"threads": 0}, "E9007"),
    ],
)
def test_what_can_not_run_says_so(keys: str, settings: dict[str, Any], code: str) -> None:
    with pytest.raises(PreskError) as caught:
        fit(keys, **settings)
    assert caught.value.code == code, caught.value.render()


def test_the_greatest_seed_trains_and_numbers_that_are_no_fractions_do() -> None:
    assert len(fit(seed=(1 << 64) - 1, steps=2).losses) == 2
    keys = 'clip = sqrt(2); data = arrays("x.npz", split = 1 / sqrt(2))\n'
    run = fit(keys, settings={"lr": "linear(peak = sqrt(2) / 10, floor = exp(-9))"}, steps=2)
    assert len(run.losses) == 2


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ("", None),
        ("eval = 1\n", "nothing is measured: no `split` leaves rows for it"),
        ('data = arrays("x.npz", split = 1)\n', None),
        ('data = arrays("x.npz", split = 0.5)\n', None),
        ('data = tokens("t.npy", split = 0.9)\n', "nothing is measured: what `split` leaves makes no row"),
    ],
)
def test_a_measurement_that_nothing_is_left_for_is_told(tmp_path: Path, keys: str, says: str | None) -> None:
    heard: list[str] = []
    text = f"{LINEAR}{BLOCK}{keys}\n}}\n"
    if "tokens" in keys:
        np.save(tmp_path / "t.npy", np.arange(50) % 4)
        text = f"""
        module E {{ w: real[4, 4] = zeros }}
        fn loss(m: E, batch: {{x: nat[b, t: 9] < 4, y: nat[b, t: 9] < 4}}) -> real {{ mean(embed(m.w, batch.x)) }}
        {BLOCK.replace("Linear{2, 1}", "E")}{keys}
        }}"""
    block = Program(written(tmp_path, text), "p")["fit"]
    data = None if "tokens" in keys else DATA
    listen = [lambda event: heard.append(event.text) if isinstance(event, Remark) else None]
    presk.train(block, data=data, steps=2, callbacks=listen)
    assert [each for each in heard if "measured" in each] == ([] if says is None else [says])


def test_a_run_that_has_ended_says_so(tmp_path: Path) -> None:
    heard: list[str] = []
    listen = [lambda event: heard.append(event.text) if isinstance(event, Remark) else None]
    first = fit(steps=4, out=tmp_path / "r", callbacks=listen)
    assert not any("its last" in each for each in heard)
    for steps in (4, 2):
        heard.clear()
        again = fit(steps=steps, out=tmp_path / "r", resume=True, callbacks=listen)
        assert bits(again) == bits(first)
        assert "the run is behind step 4, its last" in heard
    heard.clear()
    assert len(fit(steps=5, out=tmp_path / "r", resume=True, callbacks=listen).losses) == 5
    assert not any("its last" in each for each in heard)


def test_a_block_without_an_end_is_given_one() -> None:
    text = f"{LINEAR}{BLOCK.replace('epochs = 5; ', '')}\n}}\n"
    block = presk.loads(text)["fit"]
    with pytest.raises(PreskError) as caught:
        presk.train(block, data=DATA)
    assert caught.value.code == "E8077"
    assert len(presk.train(block, data=DATA, steps=7).losses) == 7


def test_a_name_that_is_no_block() -> None:
    with pytest.raises(PreskError) as caught:
        presk.train(program()["loss"], data=DATA)
    assert (caught.value.code, caught.value.hint) == ("E8084", "it has fit")
