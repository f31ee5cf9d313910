"""Φ, the normal distribution function, from tables of Taylor polynomials: what gelu is made of, and faster than erfc.

Over a cell around c, Φ is its Taylor polynomial at c. The coefficients are those of φ, integrated: (n + 1)·bₙ₊₁ =
−(c·bₙ + bₙ₋₁), as φ′ = −x·φ. On the disk of radius r around c, |φ(c + w)| ≤ φ(c)·exp(|c|·r + r²/2), so the tail from
degree n on is at most φ(c)·exp(|c|·r + r²/2) · r · (h/r)ⁿ / (n·(1 − h/r)) for |h| half a cell: n is the least that
brings this below the precision, relative to Φ(c). Cells are made when first met and kept by precision. Used where
radii are dropped; a certifying evaluation calls erfc itself, which the tests hold the tables against.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, inf, log, log2, sqrt
from typing import cast

import numpy as np
from flint import arb, arb_poly

from presk.exact.elements import Element, Undefined, ball_of
from presk.exact.precision import guarded

CELL_BITS = 6
"""A cell is 2 to minus this wide. Narrower ones save little: 10 for 6 saves a tenth, and makes five times as many."""

WIDEST = 8.0
"""Beyond this Φ is left to erfc: hardly any argument is there."""

GUARD_BITS = 20
LARGEST_BITS = 512
"""Above this erfc is hardly slower. Below, all cells together take a few megabytes."""

ARGUMENT_GUARD = 8
"""Extra bits of erfc's argument."""

Cell = tuple[arb, arb_poly]


def gelu(flat: list[Element], bits: int) -> list[Element] | None:
    """x·Φ(x) of every element, all of them points; None where the tables don't serve."""
    if bits > LARGEST_BITS:
        return None
    try:
        with np.errstate(over="ignore"):
            places = np.array(list(map(float, flat))) * (1 << CELL_BITS)
    except TypeError:
        return None
    far = np.abs(places) > WIDEST * (1 << CELL_BITS)
    if far.any():
        near = iter(gelu([x for x, away in zip(flat, far, strict=True) if not away], bits) or ())
        return [x * distributions([x])[0] if away else next(near) for x, away in zip(flat, far, strict=True)]
    cells = _cells(bits)
    wanted = np.rint(places).astype(np.int64).tolist()
    found = list(map(cells.get, wanted))
    if None in found:
        for place in set(wanted) - cells.keys():
            cells[place] = _make_cell(place / (1 << CELL_BITS), bits)
        found = [cells[place] for place in wanted]
    return [x * polynomial(x - centre) for x, (centre, polynomial) in zip(flat, cast(list[Cell], found), strict=True)]


def distributions(flat: list[Element]) -> list[Element]:
    """Φ of every element by erfc, whose argument carries the bits that its size costs: δ of x is x²·δ of Φ(x)."""
    balls = [ball_of(x) for x in flat if not isinstance(x, Undefined)]
    size = max((abs(float(ball.mid())) for ball in balls), default=0.0)
    lost = 2 * ceil(log2(size)) if 1 < size < inf else 0
    with guarded(ARGUMENT_GUARD + lost):
        scale = -arb(2).rsqrt()
        found = [(x * scale).erfc() / 2 for x in flat]
    return [+each for each in found]


@lru_cache(maxsize=8)
def _cells(bits: int) -> dict[int, Cell]:
    return {}


def _make_cell(centre: float, bits: int) -> Cell:
    """The centre, and Φ around it as a polynomial in the distance from it."""
    terms = terms_needed(ceil(abs(centre)), bits)
    c = arb(centre)
    with guarded(GUARD_BITS):
        density = [(-c * c / 2).exp() / (2 * arb.pi()).sqrt()]
        density.append(-c * density[0])
        for n in range(1, terms - 2):
            density.append(-(c * density[n] + density[n - 1]) / (n + 1))
        exact = [*distributions([c]), *(each / (n + 1) for n, each in enumerate(density))]
    return c, arb_poly([(+each).mid() for each in exact[:terms]])


@lru_cache(maxsize=256)
def terms_needed(c: int, bits: int) -> int:
    """How many coefficients a cell within [−c, c] takes: from there on the tail doesn't matter."""
    half = 0.5 / (1 << CELL_BITS)
    mills = c + 1  # at least φ(x) / Φ(−x) for x up to c
    wanted = -bits - GUARD_BITS / 2 - log2(mills)
    for n in range(2, bits + 64):
        r = (sqrt(c * c + 4 * n) - c) / 2
        tail = (c * r + r * r / 2) / log(2) + log2(r) + n * log2(half / r) - log2(n * (1 - half / r))
        if tail < wanted:
            return n
    return bits + 64
