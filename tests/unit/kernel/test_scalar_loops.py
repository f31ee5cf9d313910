"""Which loops of row groups, activations, their derivatives and an optimizer's step stay scalar, and why.

A loop that stays may carry a sum or an extreme from round to round, which no lane can, or be what lanes leave: fewer
rounds than there are lanes. Nothing else stays, and no function is called for one element.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import presk
from presk.kernel.lowered import Machine
from presk.kernel.native import rewrite_lanes
from presk.kernel.nodes import Kernel
from presk.kernel.printer import print_kernel
from presk.realization.model import Plan, Realization
from presk.run.record.choices import choices
from presk.run.record.recorder import record

PROGRAM = """
import adamw
fn entropy(x: real[b, n], t: nat[b] < n) -> real { mean(cross_entropy(x, t, axis = n)) }
fn logs(x: real[b, n]) -> real[b, n] { log_softmax(x, axis = n) }
fn whole(x: real[b, n]) -> real[b] { logsumexp(x, axis = n) }
fn soft(x: real[b, n]) -> real[b, n] { softmax(x, axis = n) }
fn rms(x: real[b, n], g: real[n]) -> real[b, n] { x * rsqrt(mean(square(x), axis = n) + 0.00001) * g }
fn layer(x: real[b, n], g: real[n], c: real[n]) -> real[b, n] {
  let centred = x - mean(x, axis = n)
  centred * rsqrt(mean(square(centred), axis = n) + 0.00001) * g + c
}
fn exact(x: real[b, n]) -> real[b, n] { gelu(x) }
fn near(x: real[b, n]) -> real[b, n] { gelu_tanh(x) }
fn gated(x: real[b, n]) -> real[b, n] { silu(x) }
fn bent(x: real[b, n]) -> real[b, n] { tanh(x) }
fn attended(x: real[2, b, n], m: bool[b, n]) -> real[2, b, n] { softmax(x * 0.125, axis = n, mask = m) }
fn stepped(p: real[b, n], g: real[b, n], m: real[b, n], v: real[b, n]) -> (real[b, n], {m: real[b, n], v: real[b, n]}) {
  adamw.step(p, g, {m = m, v = v}, 3, 0.01)
}
"""

WRT = {"rms": (0, 1), "layer": (0, 1, 2)}
ENTRIES = ("entropy", "logs", "whole", "soft", "rms", "layer", "exact", "near", "gated", "bent", "attended")
MACHINE = Machine(1, (1 << 15, 1 << 20, 1 << 25), 64)
SIZES = ((1021, 515), (64, 16), (3, 7001))

FUNCTION = re.compile(r"\b(pow|exp|expm1|log|log1p|tanh|sin|cos|erf)\(")


def kernels(entry: str, sizes: tuple[int, int], derivative: bool, kind: str) -> tuple[Kernel, ...]:
    """What the rule lays an entry out as, or its derivative."""
    program = presk.loads(PROGRAM)[entry]
    if derivative:
        program = presk.vjp(program, wrt=WRT.get(entry, 0))
    core = presk.compile(program, backend="interp", dims=dict(zip("bn", sizes, strict=True))).core()
    return record(core, choices(Realization(kind), Plan("auto"), core, MACHINE)).kernels


def innermost(text: str) -> Iterator[tuple[int, list[str]]]:
    """The loops without loops: how many rounds they have, and the lines within."""
    lines = text.splitlines()
    depths = [len(line) - len(line.lstrip()) for line in lines]
    for number, line in enumerate(lines):
        found = re.fullmatch(r"\s*for i\d+ in 0\.\.(\d+) \{", line)
        if found is None:
            continue
        end = next(at for at in range(number + 1, len(lines)) if depths[at] == depths[number])
        within = [each.strip() for each in lines[number + 1 : end]]
        if not any(each.startswith("for ") for each in within):
            yield int(found[1]), within


def reason(rounds: int, lines: list[str], lanes: int) -> str | None:
    """Why a loop may be as it is."""
    if any("<v" in line for line in lines):
        return "in lanes"
    if all(line.startswith(("apply ", "if ", "}")) for line in lines):
        return "over runs"
    if rounds < lanes:
        return "fewer rounds than lanes"
    read: set[str] = set()
    for line in lines:
        left, _, right = line.partition(" = ")
        read |= set(re.findall(r"\bs\d+", right))
        if left in read:
            return "carries"
    return None


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize(
    ("entry", "derivative"), [*((each, of) for each in ENTRIES for of in (False, True)), ("stepped", False)]
)
def test_only_what_carries_stays(entry: str, derivative: bool, sizes: tuple[int, int]) -> None:
    for kind, lanes in (("f32", 4), ("f64", 2)):
        for kernel in kernels(entry, sizes, derivative, kind):
            for rounds, lines in innermost(rewrite_lanes(print_kernel(kernel))):
                assert reason(rounds, lines, lanes), lines
                assert not any(FUNCTION.search(line) for line in lines if not line.startswith("apply ")), lines
