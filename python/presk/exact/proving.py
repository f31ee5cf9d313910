"""Bits raised by themselves until what was asked for is proven.

A `Precision` says where an evaluation begins, how many digits must be proven, and where it gives up. `prove` evaluates
with certificates, looks at what the radii prove, and evaluates again at more bits where that isn't enough; what was
compiled, laid out and tracked for one evaluation serves the next. Called by the backend `interp` and by `choose.gap`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeAlias, cast

from flint import arb

from presk.core.nodes import Program
from presk.exact.digits import DIGITS_PER_BIT
from presk.exact.evaluate import DEFAULT_BITS, DOUBLINGS, ExactTree, attempt, refusal
from presk.exact.precision import LARGEST_BITS, working
from presk.exact.values import ExactArray
from presk.text.diagnostics import fail

DEFAULT_DIGITS = 15
"""Decimal digits that are proven where none are asked for: as many as every double has."""

DEFAULT_MOST = 4096
"""Bits above which nothing is raised, unless asked for."""

NEGLIGIBLE_BITS = 64
"""A radius so many bits below the last asked-for digit of the tensor's largest number needs no digits of its own."""

SPARE_BITS = 32
"""Beyond what the digits asked for fill."""

MOST_DIGITS = int(LARGEST_BITS * DIGITS_PER_BIT)


@dataclass(frozen=True, slots=True)
class Precision:
    """The precision of a certified evaluation: its first bits, the digits to be proven, and its most bits.

    `digits` None: any radius will do, and only decisions ask for more bits. `most` = `bits`: nothing is raised.
    """

    bits: int = DEFAULT_BITS
    digits: int | None = DEFAULT_DIGITS
    most: int = DEFAULT_MOST

    @staticmethod
    def fixed(bits: int) -> Precision:
        """These bits and no more."""
        return Precision(bits, None, bits)

    @staticmethod
    def deciding(bits: int) -> Precision:
        """More bits for decisions alone."""
        return Precision(bits, None, max(bits, min(bits << DOUBLINGS, LARGEST_BITS)))

    @staticmethod
    def chosen(bits: int | None = None, digits: int | None = None, most: int | None = None) -> Precision:
        """What a user asks for: bits alone are fixed; beside digits, or a limit, they are where it begins.

        E6012 for bits that can't be worked with, E6014 for digits that can't be asked for and for a start above the
        limit.
        """
        for given in (bits, most):
            if given is not None:
                with working(given):
                    pass
        if digits is not None and not 1 <= digits <= MOST_DIGITS:
            raise fail("E6014", f"{digits} digits can't be proven", hint=f"1 … {MOST_DIGITS} digits are possible")
        if bits is not None and digits is None and most is None:
            return Precision.fixed(bits)
        wanted = DEFAULT_DIGITS if digits is None else digits
        limit = DEFAULT_MOST if most is None else most
        if bits is None:
            bits = min(max(DEFAULT_BITS, int(wanted / DIGITS_PER_BIT) + SPARE_BITS), limit)
        if bits > limit:
            hint = "give a larger --max-bits (`max_bits=`), or --bits alone"
            raise fail("E6014", f"{bits} bits to begin with are more than {limit}, the most to be taken", hint=hint)
        return Precision(bits, wanted, limit)


@dataclass(frozen=True, slots=True)
class Proof:
    """Certified values, the bits they took, and what finding these bits cost.

    `factor` is the time of all evaluations over the first one's. `short`: what was asked for isn't proven at the most
    bits there may be; the radii say what is.
    """

    values: ExactTree
    bits: int
    first: int
    evaluations: int
    factor: float
    short: bool


Enough: TypeAlias = Callable[[ExactTree, int], int]
"""From certified values and their bits to the bits that are wanted: no more than these where they suffice."""


def prove(
    program: Program,
    arguments: Sequence[Any],
    precision: Precision,
    *,
    enough: Enough | None = None,
    **draws: Any,
) -> Proof:
    """The entry's value on `arguments` with the digits proven that `precision` asks for, or what `enough` does.

    `draws`: seed, step, row_offset and training, as for `evaluate`. Errors are `evaluate`'s: E6005 and E6008 only where
    even the most bits leave a result without a value.
    """

    def digits(values: ExactTree, bits: int) -> int:
        return wanted_bits(values, bits, precision.digits)

    judge = enough or digits
    bits, tracked, seconds = precision.bits, False, list[float]()
    known_roughly = any(not ball.is_exact() for leaf in reals(tuple(arguments)) for ball in leaf.balls())
    lack = LARGEST_BITS
    while True:
        begun = perf_counter()
        found = attempt(program, arguments, bits=bits, tracked=tracked, **draws)
        seconds.append(perf_counter() - begun)
        wanted = 2 * bits if found.short is not None else judge(found.values, bits)
        # radii that come with the arguments are there at any bits
        useless = known_roughly and found.short is None and wanted - bits >= lack
        if wanted <= bits or bits >= precision.most or useless:
            if found.short is not None:
                raise refusal(found.short, bits)
            factor = sum(seconds) / seconds[0]
            return Proof(found.values, bits, precision.bits, len(seconds), factor, wanted > bits)
        tracked, lack = found.tracked, wanted - bits
        bits = min(_doubled(bits, wanted), precision.most)


def wanted_bits(values: ExactTree, bits: int, digits: int | None) -> int:
    """The bits that so many digits of every number are likely to take; `bits` where they are proven.

    A number's are where its radius is at most 10⁻ᴺ of it, or 10⁻ᴺ · 2⁻⁶⁴ of the largest number of its tensor.
    """
    if digits is None:
        return bits
    with working(SPARE_BITS + digits * 4):
        unit = arb(10) ** -digits
        return max(
            (bits + missing(leaf.balls(), unit, unit * arb(2) ** -NEGLIGIBLE_BITS, bits) for leaf in reals(values)),
            default=bits,
        )


def missing(balls: Sequence[arb], relative: arb, of_largest: arb, bits: int) -> int:
    """How many bits the radii lack to be below these parts of their numbers or of the largest; `bits` if unknown."""
    easily = int(-log2(relative)) + 2
    if all(ball.rel_accuracy_bits() >= easily for ball in balls):
        return 0
    floor = of_largest * largest_magnitude(balls)
    lack = 0
    for ball in balls:
        radius = ball.rad()
        allowed = max(relative * ball.abs_lower(), floor)
        if not radius <= allowed:
            lack = max(lack, lacking(radius, allowed, bits))
    return lack


def lacking(radius: arb, allowed: arb, bits: int) -> int:
    """How many bits take a radius below what is allowed; `bits`, which double them, where nothing is."""
    bound = allowed.abs_lower()
    return bits if bound == 0 else max(1, int(log2(radius) - log2(bound)) + 2)


def largest_magnitude(balls: Sequence[arb]) -> arb:
    """A lower bound of the largest magnitude of some numbers: 0 where none of them can be told from 0."""
    return max((ball.abs_lower() for ball in balls), default=arb(0))


def log2(number: arb) -> int:
    """The exponent of two of a positive number, rounded down or a little below."""
    mantissa, exponent = number.mid().man_exp()
    return int(mantissa).bit_length() + int(exponent) - 1


def reals(values: ExactTree) -> list[ExactArray]:
    """The tensors of real numbers of a result."""
    if isinstance(values, dict):
        return [leaf for each in cast(dict[str, ExactTree], values).values() for leaf in reals(each)]
    if isinstance(values, tuple):
        return [leaf for each in cast(tuple[ExactTree, ...], values) for leaf in reals(each)]
    return [values] if isinstance(values, ExactArray) else []


def _doubled(bits: int, wanted: int) -> int:
    """`bits` doubled, once at least and until they are what is wanted: each evaluation costs no more than the next."""
    following = 2 * bits
    while following < wanted:
        following *= 2
    return min(following, LARGEST_BITS)
