"""Derivatives of the row primitives: of softmax y·(c − Σ c·y), the others by the softmax of their operand."""

from __future__ import annotations

from collections.abc import Callable

from presk.core.nodes import Operand
from presk.core.vjp.pullback import Pullback
from presk.core.vjp.rules.reductions import along, position_in_row
from presk.core.vjp.shaping import aligned, renamed, spread, summed
from presk.shapes.align import align

Rule = Callable[[Pullback], None]


def _row_sum(p: Pullback, value: Operand) -> Operand:
    """The sum along a row, repeated along it."""
    return along(p, summed(p.scope, value, p.axes()))


def _softmax(p: Pullback) -> None:
    y = p.y()
    mean = _row_sum(p, p.times(p.ct, y))
    p.give(0, p.times(p.do("sub", p.ct, mean), y))


def _shares(p: Pullback, mask: int) -> Operand:
    """The softmax of the operand under the same mask."""
    masks = [p.x(mask)] if mask < len(p.apply.operands) else []
    return p.do("softmax", p.x(), *masks, axis=p.axes())


def _log_softmax(p: Pullback) -> None:
    """c − softmax·Σ c, and 0 where the mask refuses."""
    mask = p.x(1) if len(p.apply.operands) > 1 else None
    axes = p.result.axes
    places = None if mask is None else align((axes, p.operand(1).axes)).places[1]
    ct = p.ct
    if mask is not None and places is not None:
        mask = aligned(p.scope, mask, places, axes)
        ct = p.choose(mask, ct, 0)
    found = p.do("sub", ct, p.times(_row_sum(p, ct), _shares(p, 1)))
    p.give(0, found if mask is None else p.choose(mask, found, 0))


def _cross_entropy(p: Pullback) -> None:
    """c·(softmax − 1 at the target)"""
    if p.gives_nothing(0):
        return
    logits, rows = p.operand(0).axes, p.axes()
    kept = tuple(at for at in range(len(logits)) if at not in rows)
    places = align((p.result.axes, p.operand(1).axes)).places[1]
    targets = spread(p.scope, p.x(1), tuple(kept[place] for place in places), logits)
    is_target = p.do("eq", position_in_row(p, logits, rows), targets)
    shares = renamed(p.scope, _shares(p, 2), logits)
    ct = spread(p.scope, p.ct, kept, logits)
    p.give(0, p.times(ct, p.do("sub", shares, p.choose(is_target, 1, 0))))


RULES: dict[str, Rule] = {"softmax": _softmax, "log_softmax": _log_softmax, "cross_entropy": _cross_entropy}
