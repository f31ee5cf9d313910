"""How far training in machine numbers strays from training over the reals: presk and PyTorch, f64 and f32.

    python experiments/exact_vs_almost.py                        # two regressions' 200 steps, the tiny MiniGPT's 20
    python experiments/exact_vs_almost.py regression --steps 50 --plot gaps.png

Every run begins with the same parameters and takes the same batches at the same rates. The exact run is presk's
reference. For each of the others the parameters behind the last step are held against the exact ones: the worst and the
median of |x - x̂| / (|x| + a), where a is 2⁻⁵⁰ for f64 and 2⁻²⁰ for f32, and the worst of |x - x̂| over the largest
element of its tensor. Elements that stay at 0, because their derivative is 0, are counted and left out.

The line `exact, at rest f32` computes every step over the reals and rounds only what the step leaves, parameters and
moments, to f32: no arithmetic in f32 can be expected to come closer. The line `f32 inputs` is exact arithmetic that
began with parameters, data, rates and the optimizer's numbers rounded to f32: what is lost before the first operation.

PyTorch runs the same objective, stated by `presk.choose.libraries`, with its own derivative and its own AdamW. Where it
isn't installed its lines say so. The plot needs matplotlib.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import presk
from presk.choose import libraries
from presk.realization.model import Realization, read_plan
from presk.run import registry, trees
from presk.shapes.constants import Rational
from presk.train.batch_types import settle
from presk.train.overrides import override
from presk.train.prepare import How, Training, prepare
from presk.train.step import bind_objective

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = {
    "regression": (ROOT / "examples" / "regression" / "regression.psk", 200),
    "away": (ROOT / "experiments" / "away_from_zero.psk", 200),
    "tiny": (ROOT / "examples" / "minigpt" / "minigpt.psk", 20),
}
"""Blocks by name: their files and steps. `away` is a regression whose parameters stay away from 0."""
ABSOLUTE = {"f64": 2.0**-50, "f32": 2.0**-20}
TYPES = {"f64": np.float64, "f32": np.float32}
STILL = 2.0**-100
"""An exact parameter below this never moved: the reference's own rounding is all that is seen of it."""

Flat = dict[str, np.ndarray]


@dataclass(frozen=True)
class Exact:
    """Exact parameters as sums of two doubles, so that differences lose nothing."""

    high: Flat
    low: Flat


@dataclass(frozen=True)
class Line:
    """How far one run is from the exact one, step by step: the worst gap, the median, the worst to the tensor's top."""

    name: str
    worst: list[float]
    median: float
    to_top: float


ADAMW = {"beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.01}
"""What the optimizer's numbers are where a block doesn't say."""


def ready(
    block: str,
    backend: str,
    realization: str | Realization,
    steps: int,
    bits: int,
    seed: int | None,
    *,
    round_inputs: bool = False,
) -> Training:
    """A block ready to run; `round_inputs`: the optimizer's numbers are those that f32 makes of them."""
    checked = presk.load(PROGRAMS[block][0]).checked
    made = registry.make(backend, bits=bits)
    chosen = Realization(realization) if isinstance(realization, str) else realization
    how = How(made, chosen, chosen.name, read_plan("auto"), steps=steps, seed=seed)
    found = checked.trains[block]
    if round_inputs:
        numbers = ADAMW | {name: float(each.value) for name, each in found.optimizer.numbers.items()}
        exactly = {name: format(Decimal(float(np.float32(each))), "f") for name, each in numbers.items()}
        recipe = f"adamw({', '.join(f'{name} = {each}' for name, each in exactly.items())})"
        found = override(checked, found, {"optimizer": recipe})
    return prepare(checked, found, how)


def resting(leaf: Any, dtype: str) -> Any:
    """An exact leaf, rounded once; nats as they are."""
    return np.asarray(leaf, dtype=TYPES[dtype]) if isinstance(leaf, presk.ExactArray) else leaf


def rounded(tree: Any) -> Any:
    """A tree's reals rounded to f32."""
    return trees.map_leaves(tree, lambda leaf: leaf.astype(np.float32) if leaf.dtype.kind == "f" else leaf)


def walk(
    training: Training, keep: Callable[[Any], Any], *, round_inputs: bool = False, rest: str | None = None
) -> Iterator[Any]:
    """What `keep` makes of the parameters after each step; `rest` rounds to that type all that a step leaves."""
    parameters, state = training.begin()
    if round_inputs:
        parameters = rounded(parameters)
    for number, rows in enumerate(islice(training.batches.from_step(1), training.last), 1):
        batch, rate = training.tree(rows), np.array(training.rate(number))
        if round_inputs:
            batch, rate = rounded(batch), rate.astype(np.float32)
        step = training.step(training.batches.size)
        parameters, state, _ = step(
            parameters, state, batch, np.array(float(number)), rate, seed=training.seed, step=number
        )
        if rest is not None:
            parameters = trees.map_leaves(parameters, lambda leaf: resting(leaf, rest))
            state = trees.map_leaves(state, lambda leaf: resting(leaf, rest))
        yield keep(parameters)


def flat(parameters: Any) -> Flat:
    """A copy of machine parameters, by path."""
    return {".".join(path): np.array(leaf, dtype=np.float64) for path, leaf in trees.leaves(parameters)}


def exact(parameters: Any) -> Exact:
    """Exact parameters, by path."""
    high, low = {}, {}
    for path, leaf in trees.leaves(parameters):
        name = ".".join(path)
        high[name] = np.asarray(leaf)
        rest = [ball - float(top) for ball, top in zip(leaf.balls(), high[name].reshape(-1), strict=True)]
        low[name] = np.array([float(each) for each in rest]).reshape(leaf.shape)
    return Exact(high, low)


def torch_walk(training: Training, dtype: str) -> Iterator[Flat] | str:
    """The parameters behind each step in PyTorch, or why there are none."""
    library = libraries.find("torch", None)
    if library is None:
        return "PyTorch isn't installed"
    library = replace(library, compile=lambda function: function)
    task = training.task
    sample = next(training.batches.from_step(1))
    program = bind_objective(task, settle(task.batch, sample, training.batches.size))
    return _torch_steps(training, library, libraries.state(program, library, dtype), dtype)


def _torch_steps(training: Training, library: Any, objective: Callable[..., Any], dtype: str) -> Iterator[Flat]:
    torch: Any = library.functions

    def enter(leaf: np.ndarray) -> Any:
        return library.enter(leaf.astype(TYPES[dtype]) if leaf.dtype.kind == "f" else leaf)

    parameters = trees.map_leaves(training.begin()[0], lambda leaf: enter(leaf).requires_grad_())
    leaves = [leaf for _, leaf in trees.leaves(parameters)]
    block = training.task.block
    given = block.optimizer.numbers
    numbers = ADAMW | {name: float(each.value) for name, each in given.items() if isinstance(each, Rational)}
    betas = (numbers["beta1"], numbers["beta2"])
    optimizer = torch.optim.AdamW(leaves, betas=betas, eps=numbers["eps"], weight_decay=numbers["weight_decay"])
    for number, rows in enumerate(islice(training.batches.from_step(1), training.last), 1):
        for group in optimizer.param_groups:
            group["lr"] = training.rate(number)
        optimizer.zero_grad()
        found = objective(parameters, trees.map_leaves(training.tree(rows), enter))
        (found[0] if isinstance(found, tuple) else found).backward()
        if isinstance(block.clip, Rational):
            most = float(block.clip.value)
            norm = torch.sqrt(sum((leaf.grad**2).sum() for leaf in leaves))
            for leaf in leaves:
                leaf.grad *= most / torch.clamp(norm, min=most)
        optimizer.step()
        yield flat(trees.map_leaves(parameters, lambda leaf: leaf.detach().numpy()))


def gaps(reference: Exact, found: Flat | Exact, absolute: float) -> tuple[np.ndarray, float]:
    """The relative gap of every element that moves, and the worst gap over its tensor's largest element."""
    relative, to_top = [], 0.0
    for name, high in reference.high.items():
        x = found.high[name] if isinstance(found, Exact) else found[name]
        rest = reference.low[name] - (found.low[name] if isinstance(found, Exact) else 0.0)
        difference = np.abs((high - x) + rest)
        moves = np.abs(high) > STILL
        relative.append((difference / (np.abs(high) + absolute))[moves])
        to_top = max(to_top, float(difference.max() / (np.abs(high).max() or 1.0)))
    return np.concatenate(relative), to_top


def line(name: str, references: list[Exact], walked: Iterator[Any] | str, absolute: float) -> Line | str:
    """One run against the exact one."""
    if isinstance(walked, str):
        return f"{name:<19} {walked}"
    worst, relative, to_top = [], np.zeros(1), 0.0
    for reference, found in zip(references, walked, strict=True):
        relative, to_top = gaps(reference, found, absolute)
        worst.append(float(relative.max()))
    return Line(name, worst, float(np.median(relative)), to_top)


def compare(block: str, steps: int, bits: int, seed: int | None) -> list[Line | str]:
    """All lines of one program, printed as they come."""
    begun = ready(block, "interp", "f64", steps, bits, seed)
    references = list(walk(begun, exact))
    last = references[-1]
    still = sum(int((np.abs(each) <= STILL).sum()) for each in last.high.values())
    whole = sum(each.size for each in last.high.values())
    print(f"\n{block}: {steps} steps, {whole} parameters, {still} of which stay at 0; exact to {bits} bits")
    print(f"{'':<19} {'worst':>9} {'median':>9} {'to top':>9}")
    found = []
    for dtype in ("f64", "f32"):
        runs: list[tuple[str, Iterator[Any] | str]] = [
            (f"presk {dtype}", walk(ready(block, registry.fastest(), dtype, steps, bits, seed), flat)),
            (f"torch {dtype}", torch_walk(begun, dtype)),
        ]
        again = ready(block, "interp", "f64", steps, bits, seed)
        runs.append((f"exact, at rest {dtype}", walk(again, flat, rest=dtype)))
        if dtype == "f32":
            rounded_numbers = ready(block, "interp", "f64", steps, bits, seed, round_inputs=True)
            runs.append(("f32 inputs", walk(rounded_numbers, exact, round_inputs=True)))
        for name, walked in runs:
            each = line(name, references, walked, ABSOLUTE[dtype])
            found.append(each)
            print(
                each
                if isinstance(each, str)
                else f"{name:<19} {each.worst[-1]:9.1e} {each.median:9.1e} {each.to_top:9.1e}",
                flush=True,
            )
    return found


def plot(path: Path, lines: dict[str, list[Line | str]]) -> None:
    """The worst gap behind every step."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("\nno plot: matplotlib isn't installed")
        return
    figure = Figure(figsize=(5.0 * len(lines), 4.0), layout="constrained")
    for axes, (block, found) in zip(np.ravel(figure.subplots(1, len(lines))), lines.items(), strict=True):
        for each in found:
            if isinstance(each, Line):
                axes.semilogy(range(1, len(each.worst) + 1), each.worst, label=each.name)
        axes.set(title=block, xlabel="step", ylabel="worst relative gap")
        axes.legend()
    figure.savefig(path, dpi=120)
    print(f"\n{path}")


def main() -> None:
    """Compares what the command line asks for."""
    parser = argparse.ArgumentParser(description="Training in machine numbers against training over the reals.")
    parser.add_argument("program", nargs="*", metavar="PROGRAM", help=f"of {', '.join(PROGRAMS)}; all by default")
    parser.add_argument("--steps", type=int, help="in place of the program's own number")
    parser.add_argument("--bits", type=int, default=256, help="of the reference")
    parser.add_argument("--seed", type=int, help="of parameters and batches, in place of the program's own")
    parser.add_argument("--plot", type=Path, default=Path("exact_vs_almost.png"), help="where the plot goes")
    given = parser.parse_args()
    unknown = [name for name in given.program if name not in PROGRAMS]
    if unknown:
        parser.error(f"there is no program {unknown[0]}")
    names = given.program or list(PROGRAMS)
    plot(given.plot, {name: compare(name, given.steps or PROGRAMS[name][1], given.bits, given.seed) for name in names})


if __name__ == "__main__":
    main()
