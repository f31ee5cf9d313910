"""Sizes: polynomials with rational coefficients over named variables, kept in a normal form.

A size in PSK is built from nat parameters, constants and dimension variables with `+ - * / //`. `/` is exact, so that
`(D / H) * H` is `D`: a quotient by a monomial is a monomial with a negative exponent, a quotient by a sum an atom of its
own. `//` is an opaque atom unless it can be decided. Two sizes are equal if and only if their normal forms are; a size
without variables is a number. Immutable and hashable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Union


@dataclass(frozen=True, slots=True)
class Floor:
    """The atom `numerator // denominator`."""

    numerator: Poly
    denominator: Poly


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum with at least two terms as an atom, where it stands in a denominator."""

    value: Poly


Atom = Union[str, Floor, Sum]
Monomial = tuple[tuple[Atom, int], ...]


class InexactDivision(ArithmeticError):
    """A `/` between sizes that leaves a remainder; `numerator` and `denominator` are numbers."""

    def __init__(self, numerator: Fraction, denominator: Fraction) -> None:
        super().__init__(f"{numerator} / {denominator} is not a whole number")
        self.numerator = numerator
        self.denominator = denominator


class Poly:
    """A size. Build it with `number`, `variable` and the operators."""

    def __init__(self, terms: Mapping[Monomial, Fraction]) -> None:
        kept = {monomial: factor for monomial, factor in terms.items() if factor}
        self.terms: tuple[tuple[Monomial, Fraction], ...] = tuple(sorted(kept.items(), key=_term_order))

    @cached_property
    def _hash(self) -> int:
        return hash(self.terms)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self.terms == other.terms

    def __repr__(self) -> str:
        return f"Poly({self})"

    @cached_property
    def constant(self) -> Fraction | None:
        """The number this size is, or None where it has variables."""
        if not self.terms:
            return Fraction(0)
        if len(self.terms) == 1 and not self.terms[0][0]:
            return self.terms[0][1]
        return None

    @property
    def whole(self) -> int | None:
        """The whole number this size is, or None."""
        value = self.constant
        return int(value) if value is not None and value.denominator == 1 else None

    @property
    def sole_variable(self) -> str | None:
        """The variable this size is, standing alone, or None."""
        if len(self.terms) == 1 and self.terms[0][1] == 1 and len(self.terms[0][0]) == 1:
            atom, power = self.terms[0][0][0]
            return atom if power == 1 and isinstance(atom, str) else None
        return None

    def variables(self) -> frozenset[str]:
        """Every variable that occurs, inside atoms too."""
        return self._variables

    @cached_property
    def _variables(self) -> frozenset[str]:
        found: set[str] = set()
        for monomial, _ in self.terms:
            for atom, _ in monomial:
                match atom:
                    case str():
                        found.add(atom)
                    case Floor(numerator, denominator):
                        found |= numerator.variables() | denominator.variables()
                    case Sum(value):
                        found |= value.variables()
        return frozenset(found)

    def __add__(self, other: Poly) -> Poly:
        terms = dict(self.terms)
        for monomial, factor in other.terms:
            terms[monomial] = terms.get(monomial, Fraction(0)) + factor
        return Poly(terms)

    def __neg__(self) -> Poly:
        return Poly({monomial: -factor for monomial, factor in self.terms})

    def __sub__(self, other: Poly) -> Poly:
        return self + (-other)

    def __mul__(self, other: Poly) -> Poly:
        terms: dict[Monomial, Fraction] = {}
        for left, left_factor in self.terms:
            for right, right_factor in other.terms:
                product = _multiply(left, right)
                terms[product] = terms.get(product, Fraction(0)) + left_factor * right_factor
        return Poly(terms)

    def __truediv__(self, other: Poly) -> Poly:
        """The exact quotient; raises ZeroDivisionError for a zero divisor."""
        if not other.terms:
            raise ZeroDivisionError
        if len(other.terms) == 1:
            monomial, factor = other.terms[0]
            return self * Poly({tuple((atom, -power) for atom, power in monomial): 1 / factor})
        if self == other:
            return number(1)
        leading = other.terms[0][1]
        monic = Poly({monomial: factor / leading for monomial, factor in other.terms})
        return self * Poly({((Sum(monic), -1),): 1 / leading})

    def __floordiv__(self, other: Poly) -> Poly:
        """The floor of the quotient: a number where both are, else an atom."""
        if not other.terms:
            raise ZeroDivisionError
        left, right = self.constant, other.constant
        if left is not None and right is not None:
            return number(left // right)
        return Poly({((Floor(self, other), 1),): Fraction(1)})

    def substitute(self, values: Mapping[str, Poly]) -> Poly:
        """The size with variables replaced. Raises ZeroDivisionError where a denominator becomes zero."""
        if self.variables().isdisjoint(values):
            return self
        total = number(0)
        for monomial, factor in self.terms:
            product = number(factor)
            for atom, power in monomial:
                value = _substitute_atom(atom, values)
                for _ in range(abs(power)):
                    product = product * value if power > 0 else product / value
            total = total + product
        return total

    def solve(self, variable: str, value: Poly) -> Poly | None:
        """What `variable` must be for this size to equal `value`, where the size is linear in it, else None."""
        slope: dict[Monomial, Fraction] = {}
        rest: dict[Monomial, Fraction] = {}
        for monomial, factor in self.terms:
            powers = dict(monomial)
            if powers.pop(variable, None) == 1:
                slope[tuple(powers.items())] = factor
            else:
                rest[monomial] = factor
        remaining = Poly(rest)
        divisor = Poly(slope)
        if not slope or variable in remaining.variables() | divisor.variables():
            return None
        return (value - remaining) / divisor

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        shown = ""
        for monomial, factor in self.terms:
            text = _show_term(monomial, abs(factor))
            if not shown:
                shown = f"-{text}" if factor < 0 else text
            else:
                shown += f" - {text}" if factor < 0 else f" + {text}"
        return shown


def number(value: int | Fraction) -> Poly:
    """The size that is this number."""
    return Poly({(): Fraction(value)})


def variable(name: str) -> Poly:
    """The size that is this variable."""
    return Poly({((name, 1),): Fraction(1)})


def provably_at_most(small: Poly, large: Poly) -> bool:
    """Whether `small ≤ large` for all positive values of the variables, by the signs of the difference's terms."""
    difference = large - small
    constant = Fraction(0)
    least = Fraction(0)
    for monomial, factor in difference.terms:
        if not monomial:
            constant = factor
            continue
        if factor < 0 or any(not isinstance(atom, str) or power < 0 for atom, power in monomial):
            return False
        least += factor
    return constant + least >= 0


def _multiply(left: Monomial, right: Monomial) -> Monomial:
    if not left:
        return right
    if not right:
        return left
    powers: dict[Atom, int] = dict(left)
    for atom, power in right:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(((atom, power) for atom, power in powers.items() if power), key=_atom_order))


def _atom_order(entry: tuple[Atom, int]) -> tuple[int, str, int]:
    atom, power = entry
    return (0 if isinstance(atom, str) else 1, atom if isinstance(atom, str) else _show_atom(atom), power)


def _term_order(term: tuple[Monomial, Fraction]) -> tuple[int, list[tuple[int, str, int]]]:
    monomial = term[0]
    return (-sum(power for _, power in monomial), [_atom_order(entry) for entry in monomial])


def _substitute_atom(atom: Atom, values: Mapping[str, Poly]) -> Poly:
    match atom:
        case str():
            return values.get(atom) or (number(0) if atom in values else variable(atom))
        case Floor(numerator, denominator):
            return numerator.substitute(values) // denominator.substitute(values)
        case Sum(value):
            return value.substitute(values)


def _show_atom(atom: Atom) -> str:
    match atom:
        case str():
            return atom
        case Floor(numerator, denominator):
            return f"({_parenthesized(numerator)} // {_parenthesized(denominator)})"
        case Sum(value):
            return f"({value})"


def _parenthesized(size: Poly) -> str:
    return f"({size})" if len(size.terms) > 1 else str(size)


def _show_term(monomial: Monomial, factor: Fraction) -> str:
    above = [_show_atom(atom) for atom, power in monomial for _ in range(max(power, 0))]
    below = [_show_atom(atom) for atom, power in monomial for _ in range(max(-power, 0))]
    if factor.numerator != 1 or not above:
        above.insert(0, str(factor.numerator))
    if factor.denominator != 1:
        below.append(str(factor.denominator))
    return " / ".join([" * ".join(above), *below])
