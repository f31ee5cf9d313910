"""Learning rates: what a train block's `lr` says for each step, computed in f64 with the libm port.

The shapes are those of the library's rates.psk. Steps count from 1, and a fall from the peak to the floor ends at step
`steps`: the number the block states, or that of the whole training. The rate is rounded once more where the step's
arithmetic is narrower. Called by the loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from presk.check.recipes import Recipe
from presk.draw import libm
from presk.exact.constants import round_constant


@dataclass(frozen=True, slots=True)
class Rate:
    """A shape with its numbers in f64: a warmup to `peak`, then a way to `floor` that ends at step `steps`."""

    shape: str
    peak: float
    warmup: float
    floor: float
    steps: float

    def __call__(self, step: int) -> float:
        """The rate of a step, from 1 on."""
        if step < self.warmup:
            return self.peak * step / self.warmup
        return SHAPES[self.shape](self, _progress(self, step))


def read_rate(recipe: Recipe, steps: int) -> Rate:
    """The rate a block names; `steps` is the length of the training, which a fall takes where the block doesn't say."""
    numbers = {name: float(round_constant(value, "f64")) for name, value in recipe.numbers.items()}
    length = numbers.get("steps", float(steps))
    return Rate(recipe.name, numbers["peak"], numbers.get("warmup", 0.0), numbers.get("floor", 0.0), length)


def depends_on_length(recipe: Recipe) -> bool:
    """Whether the rate is another where the training has another length."""
    return recipe.name != "constant" and "steps" not in recipe.numbers


def _progress(rate: Rate, step: int) -> float:
    """The share of the way from the end of the warmup to the last step."""
    return min((step - rate.warmup) / max(rate.steps - rate.warmup, 1.0), 1.0)


def _constant(rate: Rate, _progress: float) -> float:
    return rate.peak


def _linear(rate: Rate, progress: float) -> float:
    return rate.peak + (rate.floor - rate.peak) * progress


def _cosine(rate: Rate, progress: float) -> float:
    return rate.floor + (rate.peak - rate.floor) * (1.0 + libm.at("cos", math.pi * progress)) / 2.0


SHAPES: dict[str, Callable[[Rate, float], float]] = {"constant": _constant, "linear": _linear, "cosine": _cosine}
"""What follows the warmup, as a function of the share of the way."""
