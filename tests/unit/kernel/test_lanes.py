"""Which loops run in lanes: all that elementwise primitives make along contiguous elements, and the masks around them.

What stays scalar is listed with its reason, so that a change of either kind is seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from tests.unit.kernel.comparing import STORAGES, machine, program
from tests.unit.kernel.machine import given

from presk.kernel.lower.values import statements
from presk.kernel.lowered import Layout
from presk.kernel.native import rewrite_lanes
from presk.kernel.nodes import Assign, For, Statement, Store
from presk.kernel.reader import read_kernel
from presk.primitives.elementwise import ROWS
from presk.primitives.table import Primitive

SIZES = {"b": 3, "n": 64}

TYPES = {"real": "real[b, n]", "nat": "nat[b, n] < 9", "bool": "bool[b, n]"}

OPEN = {"number": ("real", "nat"), "alike": ("real", "nat", "bool")}
"""The kinds of an operand that takes several."""

WORDS = {"and": "a0 and a1", "or": "a0 or a1", "not": "not a0"}
"""Primitives whose names are words of the language."""

INTEGERS = "integers in lanes are compared and converted, not computed or stored"

SCALAR = {("add", "nat"): INTEGERS, ("mul", "nat"): INTEGERS, ("where", "nat"): INTEGERS}
"""Primitives, by the kind of their operands, whose loops stay scalar."""

MASKS = {
    "causal": "where(causal_mask[b, n], x, 0)",
    "behind": "where(positions[n] <= at, x, -y)",
    "one_hot": "where(k == positions[n], y, 0)",
    "padding": "where(keep and (x < y), x * y, 0)",
    "ignored": "where(k != 3, square(x), 0)",
    "slope_of_relu": "where(x > 0, y, 0)",
    "clamp": "where(x > 1, 1, where(x < -1, -1, x))",
    "huber": "where(abs(x) <= 1, square(x) / 2, abs(x) - 1 / 2)",
    "gate": "silu(x) * sigmoid(y) + softplus(x)",
    "stored": "(x < y) or not (keep and k == 2)",
    "turned": "x * positions[n]",
    "counted": "x * k",
}
"""Expressions over reals x and y, nats k, truth values keep and a nat at."""


def kinds(row: Primitive) -> Iterator[str]:
    """What the operands of a primitive may all be."""
    several = {OPEN[each.kind] for each in row.operands if each.kind in OPEN}
    yield from several.pop() if several else ("",)


def text(row: Primitive, kind: str) -> str:
    """A program that is the primitive."""
    of = [kind if each.kind in OPEN else each.kind for each in row.operands]
    parameters = ", ".join(f"a{number}: {TYPES[each]}" for number, each in enumerate(of))
    arguments = ", ".join(f"a{number}" for number in range(len(of)))
    body = WORDS.get(row.name, f"{row.name}({arguments})")
    return f"fn f({parameters}) {{ {body} }}"


def values(types: Sequence[str]) -> list[Any]:
    rng = np.random.default_rng(5)
    shape = tuple(SIZES.values())
    of = {"real": rng.standard_normal(shape), "nat": rng.integers(0, 9, shape), "bool": rng.random(shape) < 0.5}
    return [of[each.split("[", maxsplit=1)[0].split(" ", maxsplit=1)[0]] if "[" in each else 7 for each in types]


def scalar_loops(body: Sequence[Statement]) -> list[For]:
    """Innermost loops that store or assign one element in each round."""
    loops = [each for each in statements(body) if isinstance(each, For)]
    inner = [each for each in loops if not any(isinstance(other, For) for other in each.body)]
    return [each for each in inner if any(is_scalar(statement) for statement in each.body)]


def is_scalar(statement: Statement) -> bool:
    match statement:
        case Assign(variable, _):
            return variable.kind not in "vm"
        case Store(_, _, vector):
            return not vector
        case _:
            return False


def stays_scalar(source: str, types: Sequence[str], storage: str) -> bool:
    """Whether some loop of the program's kernels doesn't run in lanes."""
    of = program(source, "f", **SIZES)
    host = machine(of, storage, Layout(runs=True))
    host.run(given(of.entry, values(types), storage))
    assert host.kernels
    return any(scalar_loops(read_kernel(rewrite_lanes(each)).body) for each in host.kernels)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("row", [row for row in ROWS if not row.internal], ids=lambda row: row.name)
def test_elementwise_primitives_run_in_lanes(row: Primitive, storage: str) -> None:
    for kind in kinds(row):
        types = [TYPES[kind if each.kind in OPEN else each.kind] for each in row.operands]
        assert stays_scalar(text(row, kind), types, storage) == ((row.name, kind) in SCALAR), kind


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("name", MASKS)
def test_masks_run_in_lanes(name: str, storage: str) -> None:
    parameters = {
        "x": TYPES["real"],
        "y": TYPES["real"],
        "k": TYPES["nat"],
        "keep": TYPES["bool"],
        "at": "nat < 64",
    }
    listed = ", ".join(f"{each}: {type_}" for each, type_ in parameters.items())
    source = f"fn f({listed}) {{ {MASKS[name]} }}"
    assert not stays_scalar(source, list(parameters.values()), storage)
