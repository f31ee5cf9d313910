"""Updates that a step's rounding loses: whether most parameters that a step would move stay where they were.

A step is looked at where its number is a power of two or a multiple of `EVERY`. Where more parameters stay than move,
it is run once more with parameters resting in the next wider type, which says of each whether its update was 0. That
is noted once. Called by the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from presk.core.nodes import Program
from presk.core.sites import NoSite, find_sites, sites
from presk.realization.mixed import expanded
from presk.realization.model import Realization
from presk.realization.rest import makers
from presk.run import trees
from presk.run.backend import Entry, Executable
from presk.text.diagnostics import PreskError
from presk.train.prepare import Training
from presk.train.step import DONATED

EVERY = 50
"""Steps between those that are looked at, powers of two aside."""

WIDER = {"bfloat16": "f32", "float32": "f64"}
"""The type in which an update shows that the parameter's own type loses, by NumPy's name of that."""

REMEDY = {
    "bfloat16": "--realize bf16/f32, which rests parameters in f32, or a larger learning rate",
    "float32": "a larger learning rate, or --realize f64",
}


@dataclass(frozen=True)
class Before:
    """Copies of what a step is given, whose buffers it overwrites."""

    parameters: Any
    state: Any


class Stagnation:
    """What watches the steps of a training for lost updates."""

    def __init__(self, training: Training) -> None:
        self.training = training
        self.is_over = training.how.backend.name == "interp"
        self._wide: dict[int, Executable | None] = {}

    def before(self, step: int, parameters: Any, state: Any) -> Before | None:
        """Copies of what a step is given that is to be looked at, else None."""
        is_looked_at = step & (step - 1) == 0 or step % EVERY == 0
        if self.is_over or not is_looked_at:
            return None
        return Before(trees.map_leaves(parameters, copied), trees.map_leaves(state, copied))

    def lost(self, before: Before, after: Any, size: int, step: Callable[[Executable, Any, Any], Any]) -> str | None:
        """What to note of a step that gave the parameters `after`; `step` runs its like on other trees."""
        pairs = list(zip(_arrays(before.parameters), _arrays(after), strict=True))
        old, new = [_as(given, made.dtype) for given, made in pairs], [made for _, made in pairs]
        still = sum(int((was == now).sum()) for was, now in zip(old, new, strict=True))
        count = sum(each.size for each in new)
        types = {each.dtype.name for each in new}
        if 2 * still <= count or not types <= WIDER.keys():
            return None
        executable = self._wider(size, after)
        if executable is None:
            return None
        narrowed = iter(old)
        rounded = trees.map_leaves(before.parameters, lambda _: next(narrowed))
        wide = _arrays(step(executable, rounded, before.state)[0])
        moved = [now.astype(np.float64) != was.astype(np.float64) for was, now in zip(old, wide, strict=True)]
        wanted = sum(int(each.sum()) for each in moved)
        lost = sum(int((each & (was == now)).sum()) for each, was, now in zip(moved, old, new, strict=True))
        if 2 * lost <= wanted:
            return None
        self.is_over = True
        narrowest = "bfloat16" if "bfloat16" in types else "float32"
        rests = "bf16" if narrowest == "bfloat16" else "f32"
        share = f"{lost} of the {wanted} parameters whose update isn't 0 unchanged"
        return f"rounding to {rests} left {share}; try {REMEDY[narrowest]}"

    def _wider(self, size: int, after: Any) -> Executable | None:
        """The step with its parameters resting in wider types; None where the realization can't be changed so."""
        if size not in self._wide:
            how, program = self.training.how, self.training.core(size)
            try:
                realization = _widened(how.realization, program, after)
                self._wide[size] = how.backend.prepare(
                    Entry(f"{self.training.task.block.name}.step", program),
                    realization,
                    threads=how.threads,
                    training=True,
                    donate=DONATED,
                )
            except PreskError:
                self._wide[size] = None
        return self._wide[size]


def _widened(realization: Realization, program: Program, after: Any) -> Realization:
    """The realization with parameters in wider types, and nothing said of the sites that make them."""
    made = expanded(realization, program)
    known = sites(program)
    wide = {".".join(path): WIDER[leaf.dtype.name] for path, leaf in trees.leaves(after)}
    leaving = {site for name in wide for site in makers(program, f"{DONATED[0]}.{name}" if name else f"{DONATED[0]}")}

    def is_left(key: str) -> bool:
        try:
            return leaving.isdisjoint(find_sites(known, key))
        except NoSite:
            return True

    return replace(
        made,
        storage={key: said for key, said in made.storage.items() if is_left(key)},
        round={key: said for key, said in made.round.items() if is_left(key)},
        accum={key: said for key, said in made.accum.items() if is_left(key)},
        params={**made.params, **wide},
    )


def _arrays(tree: Any) -> list[Any]:
    return [np.asarray(leaf) for _, leaf in trees.leaves(tree)]


def copied(leaf: Any) -> Any:
    """A leaf that no later step overwrites; the exact reference's are never overwritten."""
    return np.array(cast(Any, leaf)) if isinstance(leaf, np.ndarray) else leaf


def _as(array: Any, dtype: Any) -> Any:
    """The array in a narrower type: bf16 through f32, as everywhere."""
    if array.dtype == dtype:
        return array
    return array.astype(np.float32).astype(dtype) if dtype.name == "bfloat16" else array.astype(dtype)
