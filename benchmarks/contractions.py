"""Contractions in wide tiles, as ratios of one run, each beside the one wanted.

    python benchmarks/contractions.py [--ceiling PATH] [--rounds N]

On one thread: products of 1024³ beside NumPy and, with `--ceiling`, beside the best unfused row that a program like it
prints (`PATH float` and `PATH double`); then shapes beside the rate of 1024³, bf16 beside f32, and weights of one row
that are integers with scales beside f32. A candidate
is a point of the layout space that suits a shape, and the best of each is taken. All cases run in turn, round by
round, so that a machine that is busy meanwhile slows all of them; the best time of a case counts, of what this thread
worked. The program of `--ceiling` counts the time that passes: on a busy machine it tells less than C reaches.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import presk

BLAS_THREADS = "OPENBLAS_NUM_THREADS"

PROGRAM = """
fn product(b: real[k, j], a: real[i, k]) -> real[i, j] { dot(a, b) }
fn batched(b: real[n, k, j], a: real[n, i, k]) -> real[n, i, j] { matmul(a, b) }
"""

LARGE = [
    {"tile": [12, 16], "lanes": 8, "pack": "panel", "kblock": 256, "rows": 128},
    {"tile": [8, 32], "lanes": 16, "pack": "panel", "kblock": 256, "rows": 64},
    {"tile": [12, 32], "lanes": 16, "pack": "panel", "kblock": 256, "rows": 128},
]
SMALL = [{"tile": [12, 16], "lanes": 8, "pack": "panel"}, {"tile": [8, 32], "lanes": 16, "pack": "panel"}]
MANY = [{"tile": [12, 64], "lanes": 8}, {"tile": [12, 64], "lanes": 16}, {"tile": [4, 8], "lanes": 4}]
ROW = [
    {"form": "row-wise"},
    {"tile": [1, 64], "lanes": 8, "kblock": 32},
    {"tile": [1, 1024], "lanes": 8},
    {"tile": [1, 1024], "lanes": 16},
    {"tile": [1, 4096], "lanes": 8},
    {"tile": [1, 4096], "lanes": 16},
]
ROUNDED = [{"tile": [6, 64], "lanes": 8, "pack": "panel"}, {"tile": [12, 64], "lanes": 16, "pack": "panel"}]
"""Points by shape. Those of f64 have half the lanes."""

INT8 = presk.Realization("f32", quant={"b": {"type": "int8", "axis": 1}})
INT4 = presk.Realization("f32", quant={"b": {"type": "int4", "axis": 1}})


@dataclass
class Case:
    """Calls that do the same, of which the fastest counts, and the best time so far."""

    flops: float
    calls: list[Callable[[], object]]
    best: float = field(default=float("inf"))

    def run(self) -> None:
        """Each call once."""
        for call in self.calls:
            begin = time.thread_time()
            call()
            self.best = min(self.best, time.thread_time() - begin)

    @property
    def rate(self) -> float:
        """GFLOP/s."""
        return self.flops / self.best / 1e9


def numbers(kind: str, *shape: int) -> np.ndarray[Any, Any]:
    """An operand."""
    types = {"f64": "f8", "bf1": ml_dtypes.bfloat16}
    return np.random.default_rng(0).standard_normal(shape).astype(types.get(kind[:3], "f4"))


def case(realize: str | presk.Realization, entry: str, shapes: tuple[tuple[int, ...], ...], points: list[Any]) -> Case:
    """An entry on operands of these shapes, at each of some points, with operand 1 bound."""
    kind = realize if isinstance(realize, str) else "f32"
    left, right = (numbers(kind, *shape) for shape in shapes)
    loaded = presk.loads(PROGRAM)[entry]
    dims = dict(zip("nik"[-len(shapes[0]) :], shapes[0], strict=True)) | {"j": shapes[1][-1]}
    calls: list[Callable[[], object]] = []
    for point in points:
        at = dict(point)
        if kind.startswith("f64") and "lanes" in at:
            at["lanes"] //= 2
        plan = presk.Plan("default", {f"{entry}/%2": at})
        made = presk.compile(loaded, realize=realize, backend="native", plan=plan, threads=1, dims=dims)
        bound = made.bind(b=right)
        bound(left)
        calls.append(lambda bound=bound: bound(left))
    return Case(2.0 * np.prod(shapes[0], dtype=float) * shapes[1][-1], calls)


def blas(kind: str) -> Case:
    """NumPy's product of 1024³."""
    a, b = numbers(kind, 1024, 1024), numbers(kind, 1024, 1024)
    return Case(2.0 * 1024**3, [lambda: a @ b])


def ceiling(program: Path | None, kind: str) -> float | None:
    """The best unfused row of the program, in GFLOP/s."""
    if program is None:
        return None
    name = {"f32": "float", "f64": "double"}[kind]
    # Its last line wants another Python's NumPy, whose lack is no matter here.
    text = subprocess.run([str(program), name], capture_output=True, text=True, check=False).stdout
    rows = re.findall(r"unfused\s+([0-9.]+) GFLOP/s", text)
    return max(map(float, rows)) if rows else None


def tell(what: str, found: float, rate: float, wanted: float) -> None:
    """One ratio."""
    mark = "" if found >= wanted else "   below"
    print(f"{what:<58} {found:5.2f} × {rate:8.1f}   wanted {wanted}{mark}", flush=True)


def main() -> None:
    """The report."""
    if os.environ.get(BLAS_THREADS) != "1":
        # NumPy reads it as it is imported.
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, BLAS_THREADS: "1"})
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--ceiling", type=Path, help="a program that prints what C reaches")
    reader.add_argument("--rounds", type=int, default=7)
    given = reader.parse_args()
    square = ((1024, 1024), (1024, 1024))
    cases = {kind: case(kind, "product", square, LARGE) for kind in ("f32", "f64", "f32+fma", "f64+fma")}
    cases |= {f"NumPy {kind}": blas(kind) for kind in ("f32", "f64")}
    shapes = {
        "1001³": ("product", ((1001, 1001), (1001, 1001)), LARGE, 0.8),
        "[768, 128] · [128, 512]": ("product", ((768, 128), (128, 512)), SMALL, 0.8),
        "48 × [64, 32] · [32, 64]": ("batched", ((48, 64, 32), (48, 32, 64)), MANY, 0.5),
    }
    cases |= {what: case("f32", entry, operands, points) for what, (entry, operands, points, _) in shapes.items()}
    row = ((1, 4096), (4096, 4096))
    cases |= {"row f32": case("f32", "product", row, ROW), "row int8": case(INT8, "product", row, ROW)}
    cases |= {"row int4": case(INT4, "product", row, ROW), "bf16": case("bf16", "product", square, ROUNDED)}
    print(f"load {os.getloadavg()[0]:.1f}; ratios, and the GFLOP/s (or ms) they are taken to")
    tops = {kind: ceiling(given.ceiling, kind) for kind in ("f32", "f64")}
    for _ in range(given.rounds):
        for each in cases.values():
            each.run()
    for kind in ("f32", "f64"):
        top = tops[kind]
        if top is not None:
            tell(f"{kind} 1024³, unfused, of the best unfused row in C", cases[kind].rate / top, top, 0.9)
        other = cases[f"NumPy {kind}"].rate
        tell(f"{kind}+fma 1024³, of NumPy", cases[f"{kind}+fma"].rate / other, other, 0.9)
        print(f"{kind} 1024³, unfused, of NumPy: {cases[kind].rate / other:.2f}")
    for what, (*_, wanted) in shapes.items():
        tell(f"f32 {what}, of 1024³", cases[what].rate / cases["f32"].rate, cases["f32"].rate, wanted)
    print(f"bf16 1024³, of f32: {cases['bf16'].rate / cases['f32'].rate:.2f}")
    for kind in ("int8", "int4"):
        times = cases["row f32"].best, cases[f"row {kind}"].best
        tell(f"[1, 4096] · [4096, 4096]: f32 time by {kind} time", times[0] / times[1], times[0] * 1e3, 2.5)


if __name__ == "__main__":
    main()
