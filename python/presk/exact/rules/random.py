"""Draws. Each is decided by the seed, the step, its place in the program, and nothing else (language reference,
Randomness).

The reference starts from the very f64 numbers every machine starts from; they are exact here. What is made of them is
decided exactly: dropout keeps an element where its uniform is at least p; `sample` takes, in the order of the
positions, the first at which the running sum of the probabilities allowed passes the uniform times their whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from presk import draw
from presk.exact import decisions
from presk.exact.bounds import drawn_within, no_number
from presk.exact.constants import round_constant
from presk.exact.context import Frame, Run
from presk.exact.elements import Depends, Element, Site, Undefined
from presk.exact.layouts import Flat
from presk.exact.reals import Reals
from presk.exact.rules.functions import quotients
from presk.exact.rules.reductions import Rows, distances, total_of
from presk.exact.rules.task import Compute, Task, names_of
from presk.shapes.types import Tensor

BATCH = "batch"
"""The axis whose indices are rows: a draw that has it numbers its elements with it outermost."""

STREAMS = {"dropout_mask": "dropout"}
"""Streams of primitives that draw what another one stands for; the others' are their names."""


class Place:
    """Where a draw stands in the program, and which of its axes are rows."""

    def __init__(self, task: Task, shape: Tensor) -> None:
        self.stream = STREAMS.get(task.site.primitive, task.site.primitive)
        self.number = task.whole("draw", 0)
        self.sizes = shape.sizes
        names = names_of(shape)
        self.batch = names.index(BATCH) if BATCH in names else None

    def key(self, frame: Frame) -> bytes:
        """The key in one activation: the calls' path from the entry down, the draw's number, the loops' indices."""
        path = ".".join(segment for segment in frame.path if segment)
        return draw.key(frame.run.seed, self.stream, f"{path}#{self.number}", frame.indices)

    def uniforms(
        self, frame: Frame, lo: float = 0.0, hi: float = 1.0, within: tuple[float, float] | None = None
    ) -> Flat:
        """Uniforms as f64, one for each element."""
        run = frame.run
        found = draw.uniform(
            self.key(frame),
            run.step,
            self.sizes,
            lo=lo,
            hi=hi,
            within=within,
            batch_axis=self.batch,
            row_offset=run.row_offset,
        )
        return found.reshape(-1).tolist()


def balls_of(run: Run, values: Flat | NDArray[np.float64]) -> Reals:
    """Drawn f64 numbers, exactly."""
    return run.given([arb(value) for value in values])


def plan_normal(task: Task) -> Compute:
    """normal"""
    place = Place(task, task.output)
    std, mean = (float(round_constant(task.real(*each), "f64")) for each in (("std", 1), ("mean", 0)))

    def compute(frame: Frame) -> Reals:
        run = frame.run
        found = draw.normal(
            place.key(frame),
            run.step,
            place.sizes,
            std=std,
            mean=mean,
            batch_axis=place.batch,
            row_offset=run.row_offset,
        )
        return balls_of(run, found.reshape(-1).tolist())

    return compute


def plan_uniform(task: Task) -> Compute:
    """uniform"""
    place = Place(task, task.output)
    ends = [task.real(*each) for each in (("lo", 0), ("hi", 1))]
    lo, hi = (float(round_constant(each, "f64")) for each in ends)
    within = drawn_within(ends[0], ends[1], "f64")
    if within is None:
        raise no_number(task.site.label, ends[0], ends[1], "f64")

    def compute(frame: Frame) -> Reals:
        return balls_of(frame.run, place.uniforms(frame, lo, hi, within))

    return compute


def _factors(run: Run, site: Site, uniforms: Flat, p: Element) -> Flat:
    """0 where the uniform is below p, else 1 / (1 − p)."""
    kept = quotients(run, site, [arb(1)], [1 - p])[0]
    out: Flat = []
    for value in uniforms:
        dropped = decisions.less(run, site, arb(value), p)
        out.append(dropped if isinstance(dropped, Undefined) else arb(0) if dropped else kept)
    return out


def plan_dropout_mask(task: Task) -> Compute:
    """dropout_mask"""
    place = Place(task, task.output)
    site = task.site

    def compute(frame: Frame, p: Reals) -> Reals:
        return frame.run.reals(_factors(frame.run, site, place.uniforms(frame), p.points()[0]))

    return compute


def plan_dropout(task: Task) -> Compute:
    """dropout: the identity unless training."""
    place = Place(task, task.tensor(0))
    site = task.site

    def compute(frame: Frame, x: Reals, p: Reals) -> Reals:
        run = frame.run
        if not run.training:
            return x
        factors = _factors(run, site, place.uniforms(frame), p.points()[0])
        return run.reals([each * factor for each, factor in zip(x.points(), factors, strict=True)])

    return compute


def plan_sample(task: Task) -> Compute:
    """sample; the largest of the row where the temperature is 0."""
    logits = task.tensor(0)
    axis = task.axis()
    rows = Rows(logits.sizes, (axis,))
    place = Place(task, task.output)
    top_k = task.whole("top_k", 0)
    site = task.site

    def compute(frame: Frame, x: Reals, *settings: Reals) -> Flat:
        run = frame.run
        temperature, top_p = (each.points()[0] for each in (settings if len(settings) == 2 else _defaults(settings)))
        found = rows.of(x.points())
        positive = decisions.less(run, site, arb(0), temperature)
        if positive is False:
            if not decisions.equal(run, site, temperature, arb(0)):
                return [Undefined(site, "samples at a negative temperature")] * len(found)
            return [decisions.position_of_extreme(run, site, row, sign=1, last=True) for row in found]
        if isinstance(positive, Undefined):
            return [positive] * len(found)
        out: Flat = []
        for row, uniform in zip(found, place.uniforms(frame), strict=True):
            try:
                out.append(_sampled(run, site, row, temperature, top_k, top_p, uniform))
            except Depends as undefined:
                out.append(undefined.element)
        return out

    return compute


def _defaults(settings: tuple[Reals, ...]) -> tuple[Reals, Reals]:
    one = Reals([arb(1)], settled=True, age=0)
    return (settings[0] if settings else one, one)


def _sampled(run: Run, site: Site, row: Flat, temperature: Element, top_k: int, top_p: Element, uniform: float) -> Any:
    """The position that one uniform chooses. Depends where it can't be told."""
    _, _, rest = distances(run, row)
    weights = [(element / temperature).exp() for element in rest]
    weights = [weight if run.certify or isinstance(weight, Undefined) else weight.mid() for weight in weights]
    allowed = list(range(len(row)))
    if top_k or not decisions.at_most(run, site, arb(1), top_p):
        order = decisions.ordered(run, site, row, range(len(row) - 1, -1, -1))
        allowed = sorted(_nucleus(run, site, weights, order[: top_k or len(row)], top_p))
    threshold = arb(uniform) * total_of([weights[at] for at in allowed])
    reached: Element = arb(0)
    for at in allowed[:-1]:
        reached = reached + weights[at]
        if decisions.less(run, site, _point(run, threshold), _point(run, reached)):
            return at
    return allowed[-1]


def _nucleus(run: Run, site: Site, weights: Flat, order: list[int], top_p: Element) -> list[int]:
    """The fewest of the likeliest positions that reach the probability top_p; one at least."""
    if decisions.at_most(run, site, arb(1), top_p):
        return order  # all of them reach 1, which no ball of their sum would tell
    wanted = top_p * total_of([weights[at] for at in order])
    reached: Element = arb(0)
    for taken, at in enumerate(order, start=1):
        reached = reached + weights[at]
        if decisions.at_most(run, site, _point(run, wanted), _point(run, reached)):
            return order[:taken]
    return order


def _point(run: Run, element: Element) -> Element:
    return element if run.certify else element.mid()


PLANNERS: dict[str, Callable[[Task], Compute]] = {
    "normal": plan_normal,
    "uniform": plan_uniform,
    "dropout": plan_dropout,
    "dropout_mask": plan_dropout_mask,
    "sample": plan_sample,
}
