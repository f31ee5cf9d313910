"""The caller's rounding mode reaches nothing: no bit of a result, no digit of a text, no line of a log."""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import platform
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import presk
from presk.choose.quantize import quantize_weights
from presk.realization.model import Realization
from presk.run import tensor_files
from presk.run.bits import hash_arrays

MODES = {"x86_64": (0x800, 0x400, 0xC00), "aarch64": (0x400000, 0x800000, 0xC00000)}
UPWARD, DOWNWARD, TO_ZERO = MODES[platform.machine()]
NEAREST = 0
"""What fesetround takes."""

LIBM = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")

TEXT = """
module Net { w: real[2, 1] = normal(std = 0.5)
  fn apply(self, x: real[batch, 2]) -> real[batch, 1] { gelu(dot(x, self.w)) * 0.1 + 1 / 3 } }
fn loss(m: Net, batch: {x: real[batch, 2], y: real[batch, 1]}) -> real { mean(square(m(batch.x) - batch.y)) }
fn rows(row: nat[batch] < 48) -> {x: real[batch, 2], y: real[batch, 1]} {
  {x = uniform[batch, 2](), y = uniform[batch, 1]()} }
train fit { model = Net; objective = loss; optimizer = adamw(); lr = cosine(peak = 1e-2, warmup = 3)
  data = synthetic(rows, count = 48, split = 0.8); batch = 6; epochs = 2; seed = 7 }
"""

PROGRAM = presk.loads(TEXT)
WEIGHTS = {"w": np.array([[0.3], [0.7]])}
X = np.linspace(-1, 1, 6).reshape(3, 2)


def compiled(**options: Any) -> presk.Compiled:
    return presk.compile(PROGRAM["Net.apply"], dims={"batch": 3}, **options)


def trained(realize: str) -> Any:
    run = presk.train(PROGRAM["fit"], realize=realize)
    return [run.params["w"].tobytes(), *(json.dumps(event.data()) for event in run.history)]


def left_by_a_callback() -> Any:
    def callback(_event: Any) -> None:
        LIBM.fesetround(UPWARD)

    run = presk.train(PROGRAM["fit"], realize="f64", callbacks=[callback])
    return run.params["w"].tobytes()


def gap(**options: Any) -> Any:
    found = compiled(realize="f32").gap(WEIGHTS, X, **options)
    return found.worst("rel"), found.worst("abs"), str(found), json.dumps(found.json())


def exactly(**options: Any) -> Any:
    found = compiled(backend="interp", **options)(WEIGHTS, X)
    return str(found), np.asarray(found).tobytes()


def quantized() -> Any:
    module = compiled(realize="f32")
    made = quantize_weights(module.core(), {"self": WEIGHTS}, Realization("f32"), kind="int8")
    held = made.weights["self"]["w"]
    return held.q.tobytes(), held.scale.tobytes()


CALLS: dict[str, Callable[[], Any]] = {
    "train f64": lambda: trained("f64"),
    "train f32": lambda: trained("f32"),
    "train with a callback": left_by_a_callback,
    "gap": gap,
    "gap by sites": lambda: gap(sites=True),
    "gap from rounded": lambda: gap(from_rounded=True),
    "kernels": lambda: compiled(realize="f32").kernels,
    "schedule": lambda: compiled(realize="bf16").schedule,
    "plan": lambda: json.dumps(compiled().plan.json()),
    "call f64": lambda: compiled(realize="f64")(WEIGHTS, X).tobytes(),
    "call of float32": lambda: compiled()(WEIGHTS, X.astype(np.float32)).tobytes(),
    "call of lists": lambda: compiled()(WEIGHTS, X.tolist()).tobytes(),
    "call bf16": lambda: np.asarray(compiled(realize="bf16")(WEIGHTS, X)).tobytes(),
    "bound": lambda: compiled().bind(WEIGHTS)(X).tobytes(),
    "exact": exactly,
    "certified": lambda: exactly(certify=True),
    "init": lambda: compiled().init(seed=3)["w"].tobytes(),
    "synthesize": lambda: compiled().synthesize(seed=3)["x"].tobytes(),
    "quantized": quantized,
    "trace": lambda: [np.asarray(each).tobytes() for found in compiled().trace(WEIGHTS, X).values() for each in found],
    "hash": lambda: Realization("f32", order={"kind": "interleaved", "partials": 4}).hash,
    "consts": lambda: presk.loads("const C = 1.5\nfn f() -> real { C }", consts={"C": 0.1}).consts,
}


@pytest.fixture(autouse=True)
def nearest() -> Iterator[None]:
    yield
    LIBM.fesetround(NEAREST)


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_the_same_in_every_mode(name: str) -> None:
    wanted = CALLS[name]()
    LIBM.fesetround(NEAREST)
    for mode in (UPWARD, DOWNWARD, TO_ZERO):
        LIBM.fesetround(mode)
        found = CALLS[name]()
        left = LIBM.fegetround()
        LIBM.fesetround(NEAREST)
        assert found == wanted
        assert left == mode or name == "train with a callback", "the caller's mode is set again"


def test_a_run_on_disk_is_the_same(tmp_path: Path) -> None:
    found: list[Any] = []
    for mode in (NEAREST, UPWARD):
        folder = tmp_path / str(mode)
        LIBM.fesetround(mode)
        presk.train(PROGRAM["fit"], out=folder)
        LIBM.fesetround(NEAREST)
        files = {path.name: tensor_files.read(path) for path in folder.glob("**/*.safetensors")}
        contents = {name: (hash_arrays(dict(file.arrays)), file.metadata) for name, file in files.items()}
        found.append((contents, (folder / "metrics.jsonl").read_bytes()))
    assert found[0] == found[1]
