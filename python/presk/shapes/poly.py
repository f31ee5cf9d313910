"""Sizes: polynomials with rational coefficients over named variables, kept in a normal form.

A size in PSK is built from nat parameters, constants and dimension variables with `+ - * / //`. `/` is exact, so that
`(D / H) * H` is `D`: a quotient by a monomial is a monomial with a negative exponent, a quotient by a sum an atom of
its own that cancels against a numerator it divides. `//` is taken apart as far as whole-valued terms allow, the rest is
an atom, and so is a maximum or minimum that isn't decided. Two sizes with equal normal forms are equal; sizes without
sums in denominators, floors, maxima and minima are equal only if their normal forms are. Immutable and hashable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor, lcm

from presk.text.diagnostics import Diagnostic, PreskError


@dataclass(frozen=True, slots=True)
class Floor:
    """The atom `numerator // denominator`."""

    numerator: Poly
    denominator: Poly


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum with at least two terms as an atom, where it stands in a denominator."""

    value: Poly


@dataclass(frozen=True, slots=True)
class Extreme:
    """The atom `maximum(left, right)`, or `minimum`; which is which size is decided when they are known."""

    kind: str
    left: Poly
    right: Poly


Atom = str | Floor | Sum | Extreme
Monomial = tuple[tuple[Atom, int], ...]


MARKS = "?'"
"""What tells apart variables of one name that belong to a caller, a callee and a constant; no user sees it."""

TERMS_LIMIT = 1024
"""Terms of one size. No program comes near it but by repeated products of sums, whose terms grow exponentially."""

BITS_LIMIT = 1 << 12
"""Bits of a coefficient's numerator or denominator."""

DEPTH_LIMIT = 32
"""How deep floors, denominators, maxima and minima nest."""

WEIGHT_LIMIT = 1 << 10
"""Atoms of one size that has nested ones, these counted each time they occur: what printing and comparing it takes."""


COMPARED_DEPTH = 6
"""How deep nested maxima and minima are looked into to compare them; each level doubles the work."""


class SizeTooLarge(PreskError):
    """A size past TERMS_LIMIT, BITS_LIMIT, DEPTH_LIMIT or WEIGHT_LIMIT (E4005)."""

    def __init__(self, diagnostics: Sequence[Diagnostic] | None = None) -> None:
        hint = f"at most {TERMS_LIMIT} terms, and floors and quotients nested {DEPTH_LIMIT} deep"
        super().__init__(diagnostics or Diagnostic("E4005", "this size is too large to be kept exactly", hint=hint))


class DividesByZero(PreskError, ZeroDivisionError):
    """A quotient by a size that is zero (E4006)."""

    def __init__(self, diagnostics: Sequence[Diagnostic] | None = None) -> None:
        super().__init__(diagnostics or Diagnostic("E4006", "a size divides by zero"))


class Poly:
    """A size. Build it with `number`, `variable` and the operators."""

    def __init__(self, terms: Mapping[Monomial, Fraction]) -> None:
        kept = [term for term in terms.items() if term[1]]
        if len(kept) > 1:
            kept.sort(key=_term_order)
        self.terms: tuple[tuple[Monomial, Fraction], ...] = tuple(kept)

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
                if isinstance(atom, str):
                    found.add(atom)
                else:
                    found.update(*(part.variables() for part in _parts(atom)))
        return frozenset(found)

    def __add__(self, other: Poly) -> Poly:
        terms = dict(self.terms)
        for monomial, factor in other.terms:
            terms[monomial] = terms[monomial] + factor if monomial in terms else factor
        return _normal(terms)

    @cached_property
    def depth(self) -> int:
        """How deep atoms nest."""
        parts = (part for monomial, _ in self.terms for atom, _ in monomial for part in _parts(atom))
        return max((1 + part.depth for part in parts), default=0)

    @cached_property
    def weight(self) -> int:
        """How many atoms there are, those inside atoms included."""
        return sum(1 + sum(part.weight for part in _parts(atom)) for monomial, _ in self.terms for atom, _ in monomial)

    def __neg__(self) -> Poly:
        return Poly({monomial: -factor for monomial, factor in self.terms})

    def __sub__(self, other: Poly) -> Poly:
        return self + (-other)

    def __mul__(self, other: Poly) -> Poly:
        if len(self.terms) * len(other.terms) > TERMS_LIMIT**2:
            raise SizeTooLarge
        return _normal(_product(dict(self.terms), other))

    def __truediv__(self, other: Poly) -> Poly:
        """The exact quotient; raises DividesByZero for a zero divisor."""
        if not other.terms:
            raise DividesByZero
        content, rest = _content(other)
        leading = rest.terms[0][1]
        inverse: Monomial = tuple((atom, -power) for atom, power in content if not isinstance(atom, Sum))
        if len(rest.terms) > 1:
            monic = _limited(Poly({monomial: factor / leading for monomial, factor in rest.terms}))
            inverse = _multiply(inverse, ((Sum(monic), -1),))
        quotient = self * Poly({inverse: 1 / leading})
        for atom, power in content:
            if isinstance(atom, Sum):
                for _ in range(-power):
                    quotient = quotient * atom.value
        return quotient

    def __floordiv__(self, other: Poly) -> Poly:
        """The floor of the quotient: whole-valued terms stand outside, the rest is an atom where it isn't decided."""
        if not other.terms:
            raise DividesByZero
        quotient = self / other
        outside = {monomial: factor for monomial, factor in quotient.terms if _is_whole(monomial, factor)}
        constant = dict(quotient.terms).get((), Fraction(0))
        outside[()] = Fraction(floor(constant))
        whole = Poly(outside)
        rest = quotient - whole
        if rest.constant is not None:
            return whole
        return whole + _floor_atom(rest, other)

    def substitute(self, values: Mapping[str, Poly]) -> Poly:
        """The size with variables replaced. Raises DividesByZero where a denominator becomes zero."""
        if self.variables().isdisjoint(values):
            return self
        if (lone := self.sole_variable) is not None:
            return values[lone]
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


def _parts(atom: Atom) -> tuple[Poly, ...]:
    """The sizes inside an atom."""
    match atom:
        case str():
            return ()
        case Floor(numerator, denominator):
            return numerator, denominator
        case Extreme(_, left, right):
            return left, right
        case Sum(value):
            return (value,)


def number(value: int | Fraction) -> Poly:
    """The size that is this number."""
    return _NUMBERS[value] if value in _NUMBERS else Poly({(): Fraction(value)})


def variable(name: str) -> Poly:
    """The size that is this variable."""
    return Poly({((name, 1),): Fraction(1)})


_NUMBERS: dict[int | Fraction, Poly] = {value: Poly({(): Fraction(value)}) for value in range(-1, 17)}
"""The commonest sizes, made once."""


def maximum(left: Poly, right: Poly) -> Poly:
    """The larger of two sizes: an atom where that isn't decided."""
    return _extreme("maximum", left, right)


def minimum(left: Poly, right: Poly) -> Poly:
    """The smaller of two sizes: an atom where that isn't decided."""
    return _extreme("minimum", left, right)


def provably_at_most(small: Poly, large: Poly, *, least: int = 1) -> bool:
    """Whether `small ≤ large` for all values of the variables from `least`, by the signs of the difference's terms."""
    for lone, other_way in ((small, "minimum"), (large, "maximum")):
        extreme = _lone_extreme(lone)
        if extreme is not None and small != large and lone.depth <= COMPARED_DEPTH:
            parts = (extreme.left, extreme.right)
            pairs = [(part, large) if lone is small else (small, part) for part in parts]
            verdicts = [provably_at_most(*pair, least=least) for pair in pairs]
            return any(verdicts) if extreme.kind == other_way else all(verdicts)
    difference = large - small
    lowest = Fraction(0)
    for monomial, factor in difference.terms:
        if monomial:
            if factor < 0 or any(not isinstance(atom, str) or power < 0 for atom, power in monomial):
                return False
            lowest += factor * least
        else:
            lowest += factor
    return lowest >= 0


def _extreme(kind: str, left: Poly, right: Poly) -> Poly:
    for small, large in ((left, right), (right, left)):
        if provably_at_most(small, large, least=0):
            return large if kind == "maximum" else small
    first, second = sorted((left, right), key=str)
    return _limited(Poly({((Extreme(kind, first, second), 1),): Fraction(1)}))


def _lone_extreme(size: Poly) -> Extreme | None:
    """The maximum or minimum this size is, standing alone, or None."""
    if len(size.terms) == 1 and size.terms[0][1] == 1 and len(size.terms[0][0]) == 1:
        atom, power = size.terms[0][0][0]
        return atom if power == 1 and isinstance(atom, Extreme) else None
    return None


def _limited(size: Poly) -> Poly:
    """The size itself. Raises SizeTooLarge where it is past a limit."""
    if len(size.terms) > TERMS_LIMIT or size.depth > DEPTH_LIMIT:
        raise SizeTooLarge
    if size.depth and size.weight > WEIGHT_LIMIT:
        raise SizeTooLarge
    for _, factor in size.terms:
        if max(factor.numerator.bit_length(), factor.denominator.bit_length()) > BITS_LIMIT:
            raise SizeTooLarge
    return size


def _product(terms: Mapping[Monomial, Fraction], other: Poly) -> dict[Monomial, Fraction]:
    out: dict[Monomial, Fraction] = {}
    for left, left_factor in terms.items():
        for right, right_factor in other.terms:
            product = _multiply(left, right)
            out[product] = out.get(product, Fraction(0)) + left_factor * right_factor
    return out


def _normal(terms: Mapping[Monomial, Fraction]) -> Poly:
    """The size of these terms: one common power of each sum in the denominator, as low as the numerator allows."""
    powers: dict[Poly, int] = {}
    for monomial in terms:
        for atom, power in monomial:
            if isinstance(atom, Sum):
                powers[atom.value] = max(powers.get(atom.value, 0), -power)
    if not powers:
        return _limited(Poly(terms))
    numerator: dict[Monomial, Fraction] = {}
    for monomial, factor in terms.items():
        missing = dict(powers)
        for atom, power in monomial:
            if isinstance(atom, Sum):
                missing[atom.value] += power
        expanded = {tuple(entry for entry in monomial if not isinstance(entry[0], Sum)): factor}
        for value, count in missing.items():
            for _ in range(count):
                expanded = _product(expanded, value)
        for each, part in expanded.items():
            numerator[each] = numerator.get(each, Fraction(0)) + part
    reduced = _limited(Poly(numerator))
    below: Monomial = ()
    for value, power in powers.items():
        left = power
        while left and (quotient := _divided(reduced, value)) is not None:
            reduced, left = quotient, left - 1
        below = _multiply(below, _monomial({Sum(value): -left}))
    return _limited(Poly({_multiply(monomial, below): factor for monomial, factor in reduced.terms}))


def _content(size: Poly) -> tuple[Monomial, Poly]:
    """The greatest monomial that divides every term, negative powers included, and the quotient."""
    first, *others = (dict(monomial) for monomial, _ in size.terms)
    common: dict[Atom, int] = dict(first)
    for powers in others:
        for atom in {**common, **powers}:
            common[atom] = min(common.get(atom, 0), powers.get(atom, 0))
    content = _monomial(common)
    inverse = tuple((atom, -power) for atom, power in content)
    return content, Poly({_multiply(monomial, inverse): factor for monomial, factor in size.terms})


def _divided(numerator: Poly, divisor: Poly) -> Poly | None:
    """The quotient where it leaves no remainder, else None. The divisor is monic with no monomial as a factor."""
    content, left = _content(numerator) if numerator.terms else ((), numerator)
    atoms = sorted({atom for monomial, _ in (*left.terms, *divisor.terms) for atom, _ in monomial}, key=_atom_name)
    rest = {_exponents(monomial, atoms): factor for monomial, factor in left.terms}
    below = {_exponents(monomial, atoms): factor for monomial, factor in divisor.terms}
    leading = max(below)
    quotient: dict[Monomial, Fraction] = {}
    while rest:
        highest = max(rest)
        step = tuple(high - low for high, low in zip(highest, leading, strict=True))
        if any(power < 0 for power in step) or len(quotient) > TERMS_LIMIT:
            return None
        factor = rest[highest] / below[leading]
        quotient[_multiply(content, _monomial(dict(zip(atoms, step, strict=True))))] = factor
        for exponents, each in below.items():
            target = tuple(a + b for a, b in zip(exponents, step, strict=True))
            value = rest.get(target, Fraction(0)) - factor * each
            if value:
                rest[target] = value
            else:
                rest.pop(target, None)
    return Poly(quotient)


def _exponents(monomial: Monomial, atoms: list[Atom]) -> tuple[int, ...]:
    powers = dict(monomial)
    return tuple(powers.get(atom, 0) for atom in atoms)


def _is_whole(monomial: Monomial, factor: Fraction) -> bool:
    """Whether the term has whole values only, variables and floors being whole."""
    return factor.denominator == 1 and all(power > 0 and _is_whole_atom(atom) for atom, power in monomial)


def _is_whole_atom(atom: Atom) -> bool:
    match atom:
        case Sum():
            return False
        case Extreme(_, left, right):
            return all(_is_whole(*term) for term in (*left.terms, *right.terms))
        case _:
            return True


def _floor_atom(rest: Poly, divisor: Poly) -> Poly:
    """`floor(rest)` for a rest of which no whole-valued term can be taken out; `divisor` is what it was divided by."""
    if divisor.constant is None:
        return _limited(Poly({((Floor(rest * divisor, divisor), 1),): Fraction(1)}))
    scale = lcm(*(factor.denominator for _, factor in rest.terms))
    numerator = rest * number(scale)
    for monomial, factor in numerator.terms:
        if len(monomial) == 1 and isinstance(monomial[0][0], Floor) and factor == monomial[0][1] == 1:
            inner = monomial[0][0]
            others = numerator - Poly({monomial: factor})
            if inner.denominator.constant is not None and all(_is_whole(*term) for term in others.terms):
                return (inner.numerator + others * inner.denominator) // (inner.denominator * number(scale))
    return _limited(Poly({((Floor(numerator, number(scale)), 1),): Fraction(1)}))


def _multiply(left: Monomial, right: Monomial) -> Monomial:
    if not left:
        return right
    if not right:
        return left
    powers: dict[Atom, int] = dict(left)
    for atom, power in right:
        powers[atom] = powers.get(atom, 0) + power
    return _monomial(powers)


def _monomial(powers: Mapping[Atom, int]) -> Monomial:
    return tuple(sorted(((atom, power) for atom, power in powers.items() if power), key=_atom_order))


def _atom_order(entry: tuple[Atom, int]) -> tuple[int, str, int]:
    atom, power = entry
    return (*_atom_name(atom), power)


def _atom_name(atom: Atom) -> tuple[int, str]:
    return (0, atom) if isinstance(atom, str) else (1, _show_atom(atom))


def _term_order(term: tuple[Monomial, Fraction]) -> tuple[int, list[tuple[int, str, int]]]:
    monomial = term[0]
    return (-sum(power for _, power in monomial), [_atom_order(entry) for entry in monomial])


def _substitute_atom(atom: Atom, values: Mapping[str, Poly]) -> Poly:
    match atom:
        case str():
            return values[atom] if atom in values else variable(atom)
        case Floor(numerator, denominator):
            return numerator.substitute(values) // denominator.substitute(values)
        case Extreme(kind, left, right):
            return _extreme(kind, left.substitute(values), right.substitute(values))
        case Sum(value):
            return value.substitute(values)


def _show_atom(atom: Atom) -> str:
    match atom:
        case str():
            return atom.strip(MARKS)
        case Floor(numerator, denominator):
            return f"({_parenthesized(numerator)} // {_as_divisor(denominator)})"
        case Extreme(kind, left, right):
            return f"{kind}({left}, {right})"
        case Sum(value):
            return f"({value})"


def _as_divisor(size: Poly) -> str:
    """The size so that it binds closer than `//`."""
    if size.whole is not None and size.whole >= 0:
        return str(size)
    single = len(size.terms) == 1 and size.terms[0][1] == 1 and len(size.terms[0][0]) == 1
    return str(size) if single and size.terms[0][0][0][1] == 1 else f"({size})"


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
