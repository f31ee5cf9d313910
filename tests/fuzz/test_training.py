"""Untrusted data of a training by the thousand: tables, checkpoints, logs and settings, each cut, changed or made up.

Each is taken or refused by a diagnostic. `PRESK_FUZZ` is the number of cases in all; the seeds are fixed, so that a
failure names its case.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.train.programs import linear

from presk import PreskError
from presk.run import tensor_files
from presk.train import checkpoints
from presk.train.checkpoints import Mark
from presk.train.exact_text import from_text
from presk.train.folder import CONFIG, METRICS, RunFolder, read_config
from presk.train.overrides import override
from presk.train.tables import read_column, read_table

CASES = int(os.environ.get("PRESK_FUZZ", "2000"))

BITS = ["x", "y", ",", "\n", '"', "1", "-0.5", "e9", "", " ", "nan", "\r", "\ufeff", "a,b\n", "\x00", "é", "1" * 40]
VALUES: list[Any] = [
    None,
    0,
    -1,
    1e400,
    "",
    "0x1p-3",
    "step",
    [],
    {},
    [1],
    {"loss": 1},
    True,
    "9" * 5000,
    {"loss_hex": "0x1"},
]


def share(part: float) -> int:
    return max(50, int(CASES * part))


def refusal(call: Callable[[], object]) -> str | None:
    """The code of the diagnostic by which a call is refused, or None where it is not."""
    try:
        call()
    except PreskError as error:
        return error.code
    return None


def changed(source: random.Random, data: bytes) -> bytes:
    """Bytes cut, flipped, doubled or with something put in."""
    at = source.randrange(len(data) + 1)
    match source.randrange(4):
        case 0:
            return data[:at]
        case 1 if data:
            at %= len(data)
            return data[:at] + bytes([data[at] ^ (1 << source.randrange(8))]) + data[at + 1 :]
        case 2:
            return data[:at] + data[max(0, at - 9) :]
        case _:
            return data[:at] + source.randbytes(source.randrange(1, 9)) + data[at:]


def column(path: Path, kind: str) -> object:
    return read_column(read_table(path), "x", kind)


@pytest.mark.parametrize("seed", [1])
def test_tables(seed: int, tmp_path: Path) -> None:
    source = random.Random(seed)
    path = tmp_path / "t.csv"
    taken = 0
    for _ in range(share(0.4)):
        text = "x,y\n" if source.random() < 0.5 else ""
        text += "".join(source.choice(BITS) for _ in range(source.randrange(12)))
        path.write_bytes(changed(source, text.encode()) if source.random() < 0.3 else text.encode())
        for kind in ("real", "nat", "bool"):
            code = refusal(partial(column, path, kind))
            assert code in (None, "E8072", "E8073"), text
            taken += code is None
    assert taken


@pytest.mark.parametrize("seed", [2])
def test_checkpoints(seed: int, tmp_path: Path) -> None:
    source = random.Random(seed)
    (tmp_path / checkpoints.FOLDER).mkdir()
    mark = Mark({"program": "p", "realization": "f32", "seed": "1"}, 1, 1, 1)
    checkpoints.write(tmp_path, {"w": np.arange(3.0)}, {"m": np.zeros(2)}, mark)
    weights = checkpoints.weights_path(tmp_path, 1)
    state = weights.with_suffix(".state.safetensors")
    whole = {path: path.read_bytes() for path in (weights, state)}
    for _ in range(share(0.2)):
        path = source.choice([weights, state])
        path.write_bytes(changed(source, whole[path]))
        code = refusal(partial(checkpoints.read, weights))
        assert code in (None, "E8001", "E8003", "E8081")
        if code is None:
            assert checkpoints.read(weights).parameters["w"].tolist() == [0, 1, 2]
        path.write_bytes(whole[path])


@pytest.mark.parametrize("seed", [3])
def test_what_a_checkpoint_says_of_itself(seed: int, tmp_path: Path) -> None:
    source = random.Random(seed)
    names = ("settings", "step", "epoch", "place", "best", "stale", "parameters", "format")
    for _ in range(share(0.2)):
        metadata = {name: str(source.choice(VALUES)) for name in names if source.random() < 0.8}
        metadata |= {"format": checkpoints.FORMAT, "settings": source.choice(["{}", "[]", "1", "{", '{"seed": 1}'])}
        metadata = checkpoints.sealed(metadata) if source.random() < 0.8 else metadata
        assert refusal(partial(checkpoints.read_mark, tmp_path, metadata)) in (None, "E8081")
        tensor_files.write(tmp_path / "w.safetensors", {"w": np.zeros(1)}, metadata)
        assert refusal(partial(checkpoints.read, tmp_path / "w.safetensors")) == "E8081"


@pytest.mark.parametrize("seed", [4])
def test_exact_numbers(seed: int) -> None:
    source = random.Random(seed)
    for _ in range(share(0.1)):
        text = "".join(source.choice(["-", "1f", " ", "\n", "3", "x", "9" * 30]) for _ in range(source.randrange(8)))
        shape = source.choice(["", "1", "2", "1,1", "-1", "x", "9" * 5000, ","])
        tree = {"a": {f"w#{shape}": np.frombuffer(text.encode() or b"0", np.uint8)}}
        assert refusal(partial(from_text, tree)) in (None, "E8081")


@pytest.mark.parametrize("seed", [5])
def test_logs_and_configurations(seed: int, tmp_path: Path) -> None:
    source = random.Random(seed)
    line = b'{"step": 1, "epoch": 1, "loss_hex": "0x1p0", "lr_hex": "0x1p0", "norm_hex": "0x1p0", "metrics": {}}\n'
    for _ in range(share(0.1)):
        (tmp_path / METRICS).write_bytes(changed(source, line))
        (tmp_path / CONFIG).write_bytes(changed(source, b'{"set": {}, "consts": {}}'))
        run = RunFolder(tmp_path)
        for read in (partial(run.resume, 1), partial(read_config, tmp_path)):
            assert refusal(read) in (None, "E8081")
        run.close()


@pytest.mark.parametrize("seed", [6])
def test_settings(seed: int) -> None:
    source = random.Random(seed)
    checked = linear("clip = 1\n")
    keys = [
        "batch",
        "lr",
        "lr.peak",
        "optimizer.beta1",
        "clip",
        "freeze",
        "data",
        "model",
        "objective",
        "last",
        "lr.",
        "x.y",
    ]
    texts = [
        "1",
        "0",
        "-1",
        "1e-3",
        '["w"]',
        "keep",
        "sgd",
        "adamw()",
        'csv("a")',
        "[",
        ")",
        "",
        "Linear{2, 1}",
        "loss",
        "f(x)(y)",
    ]
    for _ in range(share(0.1)):
        changes = {source.choice(keys): source.choice(texts) for _ in range(source.randrange(1, 4))}
        code = refusal(partial(override, checked, checked.trains["fit"], changes))
        assert code is None or code.startswith(("E1", "E2", "E3", "E80")), changes
