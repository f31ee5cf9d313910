"""How fast the exact reference is: MiniGPT.apply of the examples at 64 and at 256 bits, and what of it is flint's own.

    python benchmarks/reference.py

Parameters are drawn and held as exact values, as a call over bound parameters has them. Printed per precision: the
median and the best of a number of calls, and the cost of the operations no implementation over flint's balls avoids.
The first call, which compiles the program and makes tables and layouts, is timed apart.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx

from presk import draw
from presk.check.program import load
from presk.core.bind import bind
from presk.core.nodes import Program
from presk.exact.evaluate import evaluate
from presk.exact.values import ExactArray
from presk.shapes.types import Tensor, Type, fields_of

MINIGPT = Path(__file__).parents[1] / "examples" / "minigpt" / "minigpt.psk"
BATCH = 2
CALLS = 30
GOALS = {64: 12.0, 256: 30.0}
"""Milliseconds wanted, by bits."""

PARAMETER_SCALE = 0.3


def drawn(of: Type, path: str = "p") -> Any:
    """A parameter tree of normals, the standard deviation large enough that no part of the model is idle."""
    if isinstance(of, Tensor):
        key = draw.key(1, "benchmark", path)
        return ExactArray.from_floats(draw.normal(key, 0, of.sizes, std=PARAMETER_SCALE))
    return {name: drawn(each, f"{path}.{name}") for name, each in fields_of(of) or ()}


def timed(call: Callable[[], object], calls: int = CALLS) -> list[float]:
    """Milliseconds of each call."""
    out: list[float] = []
    for _ in range(calls):
        before = time.perf_counter()
        call()
        out.append((time.perf_counter() - before) * 1e3)
    return out


def floors(bits: int) -> dict[str, float]:
    """Milliseconds of what MiniGPT.apply can't do without, by flint alone: 2 048 erf, and its contractions."""
    ctx.prec = bits
    points = [(arb(value) / 3).mid() for value in np.random.default_rng(0).normal(size=2048)]
    products = [((16, 16, 48), 2), ((8, 8, 8), 16), ((16, 16, 16), 2), ((16, 16, 64), 3), ((16, 64, 16), 2)]
    pairs = [
        (arb_mat(i, k, (points * 2)[: i * k]), arb_mat(k, j, (points * 2)[: k * j]))
        for (i, k, j), times in products
        for _ in range(times)
    ]
    terms = sum(a.nrows() * a.ncols() * b.ncols() for a, b in pairs)
    return {
        "2 048 erf": min(timed(lambda: [x.erf() for x in points], 5)),
        f"{terms:,} terms of matrix products".replace(",", " "): min(timed(lambda: [a * b for a, b in pairs], 5)),
        "1 000 products of two numbers": min(timed(lambda: [x * x for x in points[:1000]], 5)),
    }


def minigpt() -> tuple[Program, list[Any]]:
    """The program, and a call's arguments."""
    program = bind(load(str(MINIGPT)), "MiniGPT.apply", dims={"batch": BATCH})
    model, symbols = program.entry.parameters
    assert isinstance(symbols.type, Tensor)
    tokens = np.random.default_rng(1).integers(0, 64, size=symbols.type.sizes)
    return program, [drawn(model.type), tokens]


def main() -> int:
    """Prints the table; the exit code is 1 where a goal is missed."""
    program, arguments = minigpt()
    missed = False
    for bits, goal in GOALS.items():
        first = timed(lambda bits=bits: evaluate(program, arguments, bits=bits), 1)[0]
        times = timed(lambda bits=bits: evaluate(program, arguments, bits=bits))
        median, best = statistics.median(times), min(times)
        missed |= median > goal
        print(
            f"MiniGPT.apply, {bits} bits: median {median:.1f} ms, best {best:.1f} (goal {goal:.0f}), first {first:.0f}"
        )
        for what, cost in floors(bits).items():
            print(f"    flint alone: {what}: {cost:.2f} ms")
        certified = min(timed(lambda bits=bits: evaluate(program, arguments, bits=bits, certify=True), 3))
        print(f"    certified: {certified:.1f} ms")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
