"""How fast the native backend is, each figure beside the one wanted.

    python benchmarks/native.py [--ceiling PATH] [--quick]

Products as the plan `auto` lays them out: 1024³ on one and two threads, beside NumPy and, with `--ceiling`, beside the
best unfused row that a program like it prints (`PATH float` and `PATH double`), and other shapes beside that;
MiniGPT.apply with its parameters bound and passed; what a launch costs the host; and the first call in a fresh process.
Each figure is a median, and the best sample stands behind it: on a machine that does other things meanwhile, which the
load at the top tells, samples shorter than a time slice show in the best what the code takes, and the median what it
shares; by the thread's own clock other work counts least. Ratios within a run say more than figures of two runs.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import presk
from presk.core.sites import sites

SIZE = 1024
FLOPS = 2.0 * SIZE**3
MINIGPT = Path(__file__).parents[1] / "examples" / "minigpt" / "minigpt.psk"

PRODUCT = "fn product(a: real[n, i, k], b: real[n, k, j]) -> real[n, i, j] { matmul(a, b) }"
DTYPES = {"f32": np.float32, "f64": np.float64}

STEPS = "fn steps(x: real[n]) -> real[n] { fold x = x over i in 0..R { x * 0.5 + 1 } }"
"""A launch each round, and nothing else."""

SPLIT_SIZE = 8192
ROUNDS = 1000

SHAPES = (
    ("1001³", (1, 1001, 1001, 1001), 0.8),
    ("[768, 128]·[128, 512]", (1, 768, 128, 512), 0.8),
    ("48 × [64, 32]·[32, 64]", (48, 64, 32, 64), 0.5),
)
"""Products, and the part of the rate of 1024³ that each should reach."""

FRESH = """
import time
import numpy, presk
from presk.run.native_backend import Native
import presk.api.compiled, presk.api.program, presk.realization.quantized, presk.kernel.lower.lower
tokens = numpy.arange(16).reshape(2, 8) % 64
program = presk.load({path!r})
params = presk.compile(program["MiniGPT.apply"], realize="f32", backend="native").init(seed=0)
begin = time.perf_counter()
f = presk.compile(program["MiniGPT.apply"], realize="f32", backend="native")
f(params, tokens)
print(time.perf_counter() - begin)
"""


class Time(NamedTuple):
    """Seconds of a call: over samples, the median and the best."""

    median: float
    best: float

    def shown(self, scale: float, unit: str) -> str:
        """Both, in a unit."""
        return f"{self.median * scale:.3f} {unit} (best {self.best * scale:.3f})"

    def rate(self) -> str:
        """Both as GFLOP/s of a product."""
        return f"{FLOPS / self.median / 1e9:.1f} GFLOP/s (best {FLOPS / self.best / 1e9:.1f})"


def seconds(
    run: Callable[[], object],
    samples: int = 9,
    least: float = 0.002,
    clock: Callable[[], float] = time.perf_counter,
) -> Time:
    """The time of a call over samples that last at least so long; by `time.thread_time`, what this thread worked."""
    run()
    begin = clock()
    run()
    calls = max(1, round(least / max(clock() - begin, 1e-9)))
    times: list[float] = []
    for _ in range(samples):
        begin = clock()
        for _ in range(calls):
            run()
        times.append((clock() - begin) / calls)
    return Time(statistics.median(times), min(times))


def tell(what: str, found: str, wanted: str = "") -> None:
    """One line of the report."""
    print(f"{what:<50} {found:>34}" + (f"   wanted {wanted}" if wanted else ""), flush=True)


def product(kind: str, sizes: tuple[int, int, int, int], threads: int) -> Callable[[], object]:
    """A call of so many products of these sizes, as the plan `auto` lays them out."""
    count, rows, terms, columns = sizes
    entry = presk.loads(PRODUCT)["product"]
    f = presk.compile(entry, realize=kind, backend="native", threads=threads)
    rng = np.random.default_rng(0)
    shapes = ((count, rows, terms), (count, terms, columns))
    a, b = (rng.normal(size=shape).astype(DTYPES[kind.partition("+")[0]]) for shape in shapes)
    return lambda: f(a, b)


def rate(time: Time, sizes: tuple[int, int, int, int]) -> float:
    """GFLOP/s of the best sample."""
    return 2.0 * math.prod(sizes) / time.best / 1e9


def ceiling(path: str | None, kind: str) -> float | None:
    """GFLOP/s of the fastest unfused row, where a program to measure it is given."""
    if path is None:
        return None
    word = {"f32": "float", "f64": "double"}[kind]
    # The program asks `python3` for the rate of NumPy: this one, which has it.
    beside = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    out = subprocess.run(
        [path, word], check=True, capture_output=True, text=True, env={**os.environ, "PATH": beside}
    ).stdout
    found = re.findall(rf"{word} \d+ bits unfused +([0-9.]+) GFLOP/s", out)
    return max(map(float, found), default=None)


def products(kind: str, path: str | None, quick: bool) -> None:
    """One type's products: 1024³ on one and two threads with what stands beside it, and other shapes beside that."""
    cube = (1, SIZE, SIZE, SIZE)
    samples = 3 if quick else 9
    one, two = product(kind, cube, 1), product(kind, cube, 2)
    above = ceiling(path, kind)
    alone, shared = seconds(one, samples), seconds(two, samples)
    worked = seconds(one, samples, clock=time.thread_time)
    tell(f"{kind} {SIZE}³, auto, one thread", alone.rate())
    tell("  by the thread's own clock", worked.rate())
    if above is not None:
        tell("  beside the best unfused row", f"{rate(alone, cube) / above:.2f} of {above:.1f}", "at least 0.90")
    tell(f"{kind} {SIZE}³, auto, two threads", shared.rate())
    tell("  over one", f"{alone.median / shared.median:.2f}× (best {alone.best / shared.best:.2f})", "at least 1.80×")
    a = np.random.default_rng(0).normal(size=(SIZE, SIZE)).astype(DTYPES[kind])
    library = seconds(lambda: a @ a, samples)
    tell("  NumPy, as many threads as it takes", library.rate())
    fused = seconds(product(f"{kind}+fma", cube, 1), samples, clock=time.thread_time)
    tell(f"{kind}+fma {SIZE}³, by the thread's own clock", fused.rate())
    for name, sizes, wanted in SHAPES:
        found = seconds(product(kind, sizes, 1), samples, clock=time.thread_time)
        part = f"{rate(found, sizes):.1f} GFLOP/s, {rate(found, sizes) / rate(worked, cube):.2f} of {SIZE}³"
        tell(f"  {kind} {name}", part, f"at least {wanted}")


def minigpt() -> None:
    """The small model, its parameters bound and passed."""
    program = presk.load(MINIGPT)
    f = presk.compile(program["MiniGPT.apply"], realize="f32", backend="native")
    params = f.init(seed=0)
    tokens = np.arange(16).reshape(2, 8) % 64
    bound = f.bind(params)
    fixed, passed = (seconds(run, samples=101) for run in (lambda: bound(tokens), lambda: f(params, tokens)))
    tell("MiniGPT.apply tiny, f32, parameters bound", fixed.shown(1e3, "ms"), "≤ 0.15 ms")
    tell("MiniGPT.apply tiny, f32, parameters passed", passed.shown(1e3, "ms"), "≤ 0.25 ms")


def per_round(size: int, split: object, threads: int) -> Time:
    """The time of one round of a loop that launches one kernel over so many elements, divided as `split` says."""
    times: list[Time] = []
    for rounds in (1, ROUNDS + 1):
        entry = presk.loads(STEPS.replace("R", str(rounds)))["steps"]
        core = presk.compile(entry, backend="interp", dims={"n": size}).core()
        plan = presk.Plan("default", {site.key: {"split": split} for site in sites(core)})
        f = presk.compile(entry, realize="f32", backend="native", plan=plan, threads=threads)
        x = np.ones(size, dtype=np.float32)
        times.append(seconds(lambda f=f, x=x: f(x), samples=51))
    one, all_ = times
    return Time((all_.median - one.median) / ROUNDS, (all_.best - one.best) / ROUNDS)


def launches() -> None:
    """What the host adds to a kernel."""
    small = per_round(1, "none", 1)
    tell("a launch, host side, with a kernel of one element", small.shown(1e6, "µs"), "≤ 0.5 µs")
    whole = per_round(SPLIT_SIZE // 2, "none", 1)
    divided = per_round(SPLIT_SIZE, {"depth": 0, "workers": 2}, 2)
    beyond = Time(divided.median - whole.median, divided.best - whole.best)
    tell("a launch over two threads, beyond its piece", beyond.shown(1e6, "µs"), "≤ 1 µs")


def first_call() -> None:
    """The first call of a process, its imports made before."""
    script = FRESH.format(path=str(MINIGPT))
    environment = {**os.environ, "PRESK_THREADS": "2"}
    times = [
        float(subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, env=environment).stdout)
        for _ in range(5)
    ]
    found = Time(statistics.median(times), min(times))
    tell("first call of MiniGPT.apply in a fresh process", found.shown(1, "s"), "≤ 0.25 s")


def main(given: Sequence[str]) -> None:
    """Prints the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ceiling", help="a program that prints what a core can do in strict order")
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    options = parser.parse_args(given)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    minigpt()
    launches()
    first_call()
    for kind in ("f32", "f64"):
        products(kind, options.ceiling, options.quick)


if __name__ == "__main__":
    main(sys.argv[1:])
