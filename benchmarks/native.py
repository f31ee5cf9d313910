"""How fast the native backend is, each figure beside the one wanted.

    python benchmarks/native.py [--ceiling PATH] [--quick]

Products of 1024³ at the best point of a sweep of plans, on one and two threads, beside NumPy and, with `--ceiling`,
beside the unfused 128-bit row that a program like it prints (`PATH float` and `PATH double`); MiniGPT.apply with its
parameters bound and passed; what a launch costs the host; and the first call in a fresh process. Each figure is a
median, and the best sample stands behind it: on a machine that does other things meanwhile, which the load at the top
tells, samples shorter than a time slice show in the best what the code takes, and the median what it shares. Ratios
within a run say more than figures of two runs.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import presk
from presk.core.sites import sites

SIZE = 1024
FLOPS = 2.0 * SIZE**3
MINIGPT = Path(__file__).parents[1] / "examples" / "minigpt" / "minigpt.psk"

PRODUCT = "fn product(a: real[i, k], b: real[k, j]) -> real[i, j] { matmul(a, b) }"
SITE = "product/%2"

STEPS = "fn steps(x: real[n]) -> real[n] { fold x = x over i in 0..R { x * 0.5 + 1 } }"
"""A launch each round, and nothing else."""

SPLIT_SIZE = 8192
ROUNDS = 1000

TILES = {"f32": [(4, 8), (2, 16), (4, 16), (4, 4)], "f64": [(4, 4), (2, 8), (4, 8), (2, 4)]}
BLOCKS: list[tuple[int | None, str]] = [(None, "IJ"), (None, "JI"), (128, "KJI"), (128, "JKI"), (32, "KJI")]

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


def product(kind: str, layout: dict[str, Any], threads: int) -> presk.Compiled:
    """The product under a layout."""
    plan = presk.Plan("default", {SITE: layout})
    entry = presk.loads(PRODUCT)["product"]
    return presk.compile(entry, realize=kind, backend="native", plan=plan, threads=threads)


def layouts(kind: str) -> list[dict[str, Any]]:
    """The points that are tried: tiles in lanes, with and without blocks of K and a pack."""
    found: list[dict[str, Any]] = []
    for tile in TILES[kind]:
        for block, order in BLOCKS:
            for pack in (False, True):
                at: dict[str, Any] = {"form": "tiled", "tile": list(tile), "order": order, "split": "none"}
                at |= {"lanes": 4 if kind == "f32" else 2, "pack": pack}
                found.append(at if block is None else at | {"kblock": block})
    return found


def ceiling(path: str | None, kind: str) -> float | None:
    """GFLOP/s of the unfused 128-bit row, where a program to measure it is given."""
    if path is None:
        return None
    word = {"f32": "float", "f64": "double"}[kind]
    out = subprocess.run([path, word], check=True, capture_output=True, text=True).stdout
    found = re.search(rf"{word} 128 bits unfused +([0-9.]+) GFLOP/s", out)
    return None if found is None else float(found[1])


def products(kind: str, path: str | None, quick: bool) -> None:
    """One type's product: the sweep, the best point again on one and two threads, and what stands beside it."""
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(SIZE, SIZE)).astype({"f32": np.float32, "f64": np.float64}[kind]) for _ in range(2))
    tried = layouts(kind)[::8] if quick else layouts(kind)
    times: list[tuple[float, dict[str, Any]]] = []
    for each in tried:
        f = product(kind, each, 1)
        times.append((seconds(lambda f=f: f(a, b), samples=3, clock=time.thread_time).best, each))
    times.sort(key=lambda each: each[0])
    best = times[0][1]
    shown = ", ".join(f"{name} {value}" for name, value in best.items() if name not in ("form", "split", "lanes"))
    print(f"{kind} {SIZE}³: best of {len(tried)} points: {shown}; the slowest {FLOPS / times[-1][0] / 1e9:.1f} GFLOP/s")
    outermost = 1 if best["order"].startswith("K") else 0
    one, two = product(kind, best, 1), product(kind, best | {"split": {"depth": outermost}}, 2)
    above = ceiling(path, kind)
    alone, shared = seconds(lambda: one(a, b)), seconds(lambda: two(a, b))
    tell(f"  {kind}, one thread", alone.rate())
    tell("  by the thread's own clock", seconds(lambda: one(a, b), clock=time.thread_time).rate())
    if above is not None:
        part = f"{FLOPS / alone.best / 1e9 / above:.2f} of {above:.1f}, best by best"
        tell("  beside the 128-bit unfused row", part, "at least 0.90")
    tell(f"  {kind}, two threads", shared.rate())
    ratio = f"{alone.median / shared.median:.2f}× (best {alone.best / shared.best:.2f})"
    tell("  two threads over one", ratio, "at least 1.80×")
    tell("  NumPy, as many threads as it takes", seconds(lambda: a @ b).rate())


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
    parser.add_argument("--quick", action="store_true", help="a few points and one sample of each")
    options = parser.parse_args(given)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    minigpt()
    launches()
    first_call()
    for kind in ("f32", "f64"):
        products(kind, options.ceiling, options.quick)


if __name__ == "__main__":
    main(sys.argv[1:])
