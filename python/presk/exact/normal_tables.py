"""Φ, the normal distribution function, from tables of Taylor polynomials: what gelu is made of, several times as fast as erfc.

Over a cell of width 2^−CELL_BITS around c, Φ is its Taylor polynomial at c. With the disk of radius r around c,
|φ(c + w)| ≤ φ(c)·exp(|c|·r + r²/2) there, so the tail from degree n on is at most
φ(c)·exp(|c|·r + r²/2) · r · (h/r)ⁿ / (n·(1 − h/r)) for |h| half a cell: n is the least that brings this below the
precision, relative to Φ(c). Cells are made when first met and kept by precision. Used where radii are dropped; a
certifying evaluation calls erfc itself, which the tests hold the tables against.
"""

from __future__ import annotations

from functools import lru_cache
from math import log, log2, sqrt

from flint import arb, arb_poly, arb_series, ctx

from presk.exact.elements import Element

CELL_BITS = 7
"""Cells are 1/128 wide: fewer terms with narrower ones, but more of them to make and keep (1 024 for |x| < 4)."""

WIDEST = 8.0
"""Beyond this Φ is left to erfc: hardly any argument is there."""

GUARD_BITS = 12
LARGEST_BITS = 1024
"""From here on flint's erfc is as fast."""

Cell = tuple[arb, arb_poly]


def normal_distribution(flat: list[Element], bits: int) -> list[Element] | None:
    """Φ of every element, all of them points; None where the tables don't serve."""
    if bits > LARGEST_BITS:
        return None
    cells = _cells(bits)
    steps = float(1 << CELL_BITS)
    out: list[Element] = []
    for x in flat:
        try:
            place = round(float(x) * steps)
        except (TypeError, OverflowError, ValueError):
            return None
        cell = cells.get(place)
        if cell is None:
            if abs(place) > WIDEST * steps:
                out.append(distribution_at(x))
                continue
            cell = cells[place] = _make_cell(place, bits)
        out.append(cell[1](x - cell[0]))
    return out


def distribution_at(x: Element) -> Element:
    """Φ(x) by erfc."""
    return (x * -arb(2).rsqrt()).erfc() / 2


@lru_cache(maxsize=8)
def _cells(bits: int) -> dict[int, Cell]:
    return {}


def _make_cell(place: int, bits: int) -> Cell:
    """The centre, and Φ around it as a polynomial in the distance from it."""
    centre = place / (1 << CELL_BITS)
    terms = _terms(centre, bits)
    before = ctx.prec
    ctx.prec = bits + GUARD_BITS
    try:
        distance = arb_series([-arb(centre) / arb(2).sqrt(), -arb(2).rsqrt()], terms)
        coefficients = [each.mid() for each in list(distance.erfc() / 2)]
    finally:
        ctx.prec = before
    return arb(centre), arb_poly([+each for each in coefficients])


def _terms(centre: float, bits: int) -> int:
    """The degree from which on the tail doesn't matter."""
    half = 0.5 / (1 << CELL_BITS)
    c = abs(centre)
    mills = c + 1 if c < 1 else c + 1 / c  # at least φ(c) / Φ(−c)
    wanted = -bits - GUARD_BITS - log2(mills)
    for n in range(2, bits + 64):
        r = (sqrt(c * c + 4 * n) - c) / 2
        tail = (c * r + r * r / 2) / log(2) + log2(r) + n * log2(half / r) - log2(n * (1 - half / r))
        if tail < wanted:
            return n
    return bits + 64
