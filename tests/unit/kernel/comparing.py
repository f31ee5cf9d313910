"""What tests of lowering share: programs from text, values to compare, and the tolerances of conformance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from tests.unit.kernel.machine import Machine, given

from presk.check.program import loads
from presk.core.bind import bind
from presk.core.nodes import Apply, Program
from presk.exact.evaluate import evaluate
from presk.exact.values import ExactArray
from presk.kernel.lower.contraction import LABELS
from presk.kernel.lowered import Layout, SiteChoice

STORAGES = ("f64", "f32", "bf16")

TOLERANCES = {"f64": (2.0**-40, 2.0**-50), "f32": (2.0**-15, 2.0**-20), "bf16": (2.0**-4, 2.0**-5)}
"""ε and a of |x − x̂| ≤ ε·(|x| + a), by storage (numerics.md 11)."""


@lru_cache(maxsize=256)
def _bound(text: str, entry: str, dims: tuple[tuple[str, int], ...]) -> Program:
    return bind(loads(text, "test.psk"), entry, dims=dict(dims))


def program(text: str, entry: str, **dims: int) -> Program:
    """The simplified Core of one function without calls."""
    return _bound(text, entry, tuple(dims.items()))


def machine(of: Program, choice: SiteChoice | str, layout: Layout | None = None) -> Machine:
    """A machine whose sites are all realized alike; the layout is for contractions alone where there are any."""
    made = SiteChoice(choice) if isinstance(choice, str) else choice
    contracts = any(isinstance(let.value, Apply) and let.value.primitive in LABELS for let in of.entry.body.lets)

    def laid(let: Any) -> Layout:
        return layout if layout is not None and (not contracts or let.value.primitive in LABELS) else Layout()

    return Machine(of.entry, lambda let: made, laid)


def run(of: Program, arguments: Sequence[Any], choice: SiteChoice | str, layout: Layout | None = None) -> Any:
    """The entry's value on arguments of any float type."""
    storage = choice if isinstance(choice, str) else choice.storage
    return machine(of, choice, layout).run(given(of.entry, arguments, storage))


def leaves(tree: Any) -> Iterator[Any]:
    """The arrays of a tree."""
    if isinstance(tree, Mapping):
        for each in tree.values():
            yield from leaves(each)
    elif isinstance(tree, tuple):
        for each in tree:
            yield from leaves(each)
    else:
        yield tree


def assert_close(found: Any, exact: Any, storage: str, terms: float = 0) -> None:
    """Reals within the tolerance of their storage, nats and booleans equal. `terms` is the size of what cancels."""
    relative, absolute = TOLERANCES[storage]
    for mine, reference in zip(leaves(found), leaves(exact), strict=True):
        if not isinstance(reference, ExactArray):
            np.testing.assert_array_equal(mine, reference)
            continue
        wanted = np.array([float(ball) for ball in reference.balls()]).reshape(reference.shape)
        gap = np.abs(mine.astype(np.float64) - wanted)
        assert np.all(gap <= relative * (np.abs(wanted) + terms + absolute)), (mine, wanted)


def assert_conforms(of: Program, arguments: Sequence[Any], storage: str, layout: Layout | None = None) -> None:
    """The entry's value on numbers that every storage holds, against the reference's."""
    assert_close(run(of, arguments, storage, layout), evaluate(of, arguments, bits=256), storage)


def bits(tree: Any) -> list[bytes]:
    """The bytes of a tree's arrays, NaNs made one."""
    found: list[bytes] = []
    for each in leaves(tree):
        array = np.array(each)
        if array.dtype.kind not in "ib":
            array[np.isnan(array.astype(np.float64))] = np.nan
        found.append(array.tobytes())
    return found


def eighths(rng: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    """Small numbers that every storage holds."""
    return rng.integers(-12, 13, shape) / 8.0


def normals(rng: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    """Numbers that round in every storage."""
    return rng.standard_normal(shape)
