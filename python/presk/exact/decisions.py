"""Decisions between real elements: on midpoints, or on balls when certifying.

Midpoints always decide. Balls decide where they don't overlap; where both are exact; and where two elements are
identical, the same object or the same expression, which is a tie. Otherwise the answer is an undecided `Undefined`,
which asks for a new run with more bits if a result depends on it. Hulls (`largest`, `maximum`) never decide. An
interval counts as a ball, by its bounds.

Every answer may be an `Undefined` where an operand is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key
from typing import Any

from flint import arb

from presk.exact.context import Run
from presk.exact.elements import Depends, Element, Site, Tracked, Undefined, enclosure_of, identical
from presk.exact.intervals import Enclosure, between, ends


def less(run: Run, site: Site, left: Element, right: Element) -> Any:
    """left < right"""
    if not run.certify:
        return left < right
    found = compare(site, left, right)
    return found if isinstance(found, Undefined) else found < 0


def at_most(run: Run, site: Site, left: Element, right: Element) -> Any:
    """left ≤ right"""
    if not run.certify:
        return left <= right
    found = compare(site, left, right)
    if not isinstance(found, Undefined):
        return found <= 0
    return True if _surely_at_most(left, right) else found


def equal(run: Run, site: Site, left: Element, right: Element) -> Any:
    """left = right"""
    if not run.certify:
        return left == right
    found = compare(site, left, right)
    return found if isinstance(found, Undefined) else found == 0


def compare(site: Site, left: Element, right: Element) -> int | Undefined:
    """−1, 0 or 1 on balls."""
    for element in (left, right):
        if isinstance(element, Undefined):
            return element.closed()
    if identical(left, right):
        return 0
    a, b = enclosure_of(left), enclosure_of(right)
    if a < b:
        return -1
    if a > b:
        return 1
    if a == b:
        return 0
    return undecided(site, a, b)


def undecided(site: Site, left: Enclosure, right: Enclosure) -> Undefined:
    """What two overlapping balls give."""
    alike = same_ball(left, right)
    return Undefined(site, "compares numbers that are too close to tell apart", undecided=True, alike=alike, open=True)


def same_ball(left: Enclosure, right: Enclosure) -> bool:
    """Whether two balls, or the balls around two intervals, are equal bit for bit."""
    return bool(left.mid() == right.mid() and left.rad() == right.rad())


def sign_of(run: Run, site: Site, element: Element) -> int | Undefined:
    """−1, 0 or 1."""
    if run.certify:
        return compare(site, element, arb(0))
    if isinstance(element, Undefined):
        return element
    return int(element > 0) - int(element < 0)


def maximum(run: Run, left: Element, right: Element) -> Element:
    """The larger one, or the hull of both where balls overlap."""
    if run.certify:
        return _extreme_ball([left, right], 1)
    above = left >= right
    return above if isinstance(above, Undefined) else left if above else right


def minimum(run: Run, left: Element, right: Element) -> Element:
    """The smaller one, or the hull of both where balls overlap."""
    if run.certify:
        return _extreme_ball([left, right], -1)
    below = left <= right
    return below if isinstance(below, Undefined) else left if below else right


def largest(run: Run, row: Sequence[Element]) -> Element:
    """The largest of a row that isn't empty, or the hull of those that may be."""
    return _extreme(run, row, 1)


def smallest(run: Run, row: Sequence[Element]) -> Element:
    """The smallest of a row that isn't empty, or the hull of those that may be."""
    return _extreme(run, row, -1)


def _extreme(run: Run, row: Sequence[Element], sign: int) -> Element:
    if run.certify:
        return _extreme_ball(row, sign)
    try:
        return max(row) if sign > 0 else min(row)
    except Depends as found:
        return found.element


def _extreme_ball(row: Sequence[Element], sign: int) -> Element:
    """The extreme of a row of balls: one of them where it is known, else a ball around it."""
    for element in row:
        if isinstance(element, Undefined):
            return element
    first, *others = _candidates(row, sign)
    found = row[first]
    if all(identical(found, row[other]) for other in others):
        return found
    parts = [enclosure_of(row[at]) for at in (first, *others)]
    if isinstance(found, arb) and all(isinstance(part, arb) and same_ball(found, part) for part in parts[1:]):
        return found  # whichever of them is the extreme lies in this ball
    bounds = [ends(part) for part in parts]
    choose = max if sign > 0 else min
    hull = between(choose(low for low, _ in bounds), choose(high for _, high in bounds))
    if isinstance(found, Tracked):
        members = sorted({row[at].term for at in (first, *others)})
        return Tracked(hull, found.terms, found.terms.of("max" if sign > 0 else "min", *members))
    return hull


def _candidates(row: Sequence[Element], sign: int) -> list[int]:
    """Positions of a row of balls that may hold the extreme. The row isn't empty and has no `Undefined`."""
    parts = [enclosure_of(element) if sign > 0 else -enclosure_of(element) for element in row]
    highest = max(part.lower() for part in parts)
    return [at for at, part in enumerate(parts) if not part < highest]


def position_of_extreme(run: Run, site: Site, row: Sequence[Element], *, sign: int, last: bool) -> Any:
    """The position of the largest (`sign` 1) or smallest (−1) of a row with elements; of equals the last or first."""
    for element in row:
        if isinstance(element, Undefined):
            return element.closed()
    if run.certify:
        return _position_of_ball(site, row, sign, last=last)
    extreme = max(row) if sign > 0 else min(row)
    if not last:
        return row.index(extreme)
    return len(row) - 1 - next(at for at, element in enumerate(reversed(row)) if element == extreme)


def ordered(run: Run, site: Site, row: Sequence[Element], positions: Sequence[int]) -> list[int]:
    """The positions by their elements, from the largest down, equals as given. Depends where it can't be told."""
    if not run.certify:
        for element in row:
            if isinstance(element, Undefined):
                raise Depends(element)
        return sorted(positions, key=row.__getitem__, reverse=True)

    def order(left: int, right: int) -> int:
        found = compare(site, row[left], row[right])
        if isinstance(found, Undefined):
            raise Depends(found)
        return found

    return sorted(positions, key=cmp_to_key(order), reverse=True)


def _position_of_ball(site: Site, row: Sequence[Element], sign: int, *, last: bool) -> Any:
    found = _candidates(row, sign)
    for other in found[1:]:
        tie = compare(site, row[found[0]], row[other])
        if isinstance(tie, Undefined):
            return tie
        if tie != 0:
            return undecided(site, enclosure_of(row[found[0]]), enclosure_of(row[other]))
    return found[-1] if last else found[0]


def _surely_at_most(left: Element, right: Element) -> bool:
    return (
        not isinstance(left, Undefined)
        and not isinstance(right, Undefined)
        and enclosure_of(left) <= enclosure_of(right)
    )
