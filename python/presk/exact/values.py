"""ExactArray: the reals a caller gets from the reference, and gives to it.

A tensor of numbers known exactly or as balls, with a shape and axis names. It converts to NumPy by correct rounding, to
mpmath exactly, and crosses the seam between backends untouched. Elements are flint balls, or flint rationals where a
caller gave fractions: those become balls at the precision of the evaluation that reads them. Immutable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import prod
from typing import Any, SupportsIndex, TypeAlias, Union, cast

import ml_dtypes
import mpmath
import numpy as np
from flint import arb, fmpq
from mpmath import libmp
from numpy.typing import NDArray

from presk.exact.context import Run
from presk.exact.digits import Shown, digits_of, show, show_element, show_midpoint
from presk.exact.layouts import position_text
from presk.exact.precision import working
from presk.exact.reals import Reals
from presk.exact.rounding import FORMATS, round_ball, round_points
from presk.text.diagnostics import fail

Number: TypeAlias = Union[arb, fmpq]
Names: TypeAlias = tuple[str | None, ...]

SHOWN_DIGITS = 17
"""Decimal digits of an element of an array that is shown; a scalar has all that are proven."""

UNPROVEN = "≈"
"""Before numbers that nothing is proven of."""

SHOWN_ELEMENTS = 200
"""Elements of the largest array that `repr` shows whole."""

MAKE_MPF, FROM_MAN_EXP = cast(Any, mpmath.mp).make_mpf, cast(Any, libmp).from_man_exp
"""mpmath's way to a number that is not rounded."""

ROUNDING_GUARD = 64
"""Bits beyond a machine type's at which a fraction is held while it is rounded."""


class ExactArray:
    """A tensor of exact reals. `shape`, `names` (None for an unnamed axis), `bits` they were computed at.

    `certified`: every element carries a proven radius (0 where it is exact). What is shown of it are then proven digits
    alone (`presk.exact.digits`); without it `≈` stands before them. `f"{y:.30}"` shows 30 digits of each.
    """

    __slots__ = ("_elements", "_exact", "_plain", "_taken", "bits", "certified", "names", "shape")

    def __init__(
        self,
        elements: Sequence[Number],
        shape: tuple[int, ...],
        names: Names | None = None,
        bits: int = 256,
        *,
        certified: bool = False,
    ) -> None:
        self._elements = tuple(elements)
        self._taken: Reals | None = None
        self._plain = self._exact = False
        self.shape = shape
        self.names: Names = (None,) * len(shape) if names is None else names
        self.bits = bits
        self.certified = certified

    @classmethod
    def from_floats(cls, array: NDArray[Any], names: Names | None = None) -> ExactArray:
        """The exact values of an array of f64, f32 or bf16. All must be finite."""
        flat = np.asarray(array).astype(np.float64).reshape(-1).tolist()
        return cls([arb(value) for value in flat], array.shape, names, certified=True)

    @classmethod
    def from_numbers(cls, numbers: Sequence[object], shape: tuple[int, ...], names: Names | None = None) -> ExactArray:
        """Exact values of Python's and mpmath's numbers: int, float, Fraction, mpf, flint's arb and fmpq.

        TypeError for anything else, ValueError for what isn't finite; the position is the second argument of either.
        """
        elements: list[Number] = []
        for at, number in enumerate(numbers):
            elements.append(exact_number(number, at))
        return cls(elements, shape, names, certified=True)

    # What it holds

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return len(self._elements)

    @property
    def mid(self) -> NDArray[np.object_]:
        """The midpoints, exactly, as an object array of mpmath's mpf."""
        return self._objects([to_mpf(ball.mid()) for ball in self.balls()])

    @property
    def radius(self) -> NDArray[np.object_]:
        """The proven radii as an object array of mpmath's mpf. E6013 where the array isn't certified."""
        if not self.certified:
            raise fail(
                "E6013",
                "these values carry no proven radius",
                hint="evaluate with certify=True, which compile and run do by themselves",
            )
        return self._objects([to_mpf(ball.rad()) for ball in self.balls()])

    def balls(self) -> list[arb]:
        """The elements in row-major order, fractions as balls at `bits`."""
        return rational_balls(self._elements, self.bits)

    def numbers(self) -> tuple[Number, ...]:
        """The elements in row-major order, as they are held."""
        return self._elements

    def _objects(self, flat: list[Any]) -> NDArray[np.object_]:
        out = np.empty(len(flat), dtype=np.object_)
        out[:] = flat
        return out.reshape(self.shape)

    # As machine numbers

    def to_float(self, dtype: str = "f64", *, proven: bool = False) -> NDArray[Any]:
        """The midpoints rounded to nearest even: `f64`, `f32`, or `bf16` (through f32). Too large ones become infinite.

        `proven`: E6005 where a ball doesn't lie within what one machine number is nearest to, with the position.
        """
        balls = rational_balls(self._elements, self.bits + ROUNDING_GUARD)
        if proven:
            flat = np.array(
                [self._proven(at, ball, dtype) for at, ball in enumerate(balls)], dtype=FORMATS[dtype].scalar
            )
            return flat.reshape(self.shape)
        return round_points([ball.mid() for ball in balls], dtype).reshape(self.shape)

    def _proven(self, at: int, ball: arb, dtype: str) -> Any:
        rounded = round_ball(ball, dtype)
        if rounded is None:
            where = position_text(self.names, self.shape, at)
            raise fail("E6005", f"element {where} can't be rounded to {dtype} for certain", hint="take more bits")
        return rounded

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("exact values can't be given as machine numbers without a copy")
        wanted = np.dtype(np.float64 if dtype is None else dtype)
        if wanted == np.dtype(np.object_):
            return self.mid
        if wanted == np.dtype(np.float32):
            return self.to_float("f32")
        if wanted == np.dtype(ml_dtypes.bfloat16):
            return self.to_float("bf16")
        return self.to_float("f64").astype(wanted, copy=False)

    def __float__(self) -> float:
        if self.size != 1:
            raise TypeError(f"only an array of one element is a number, not one of shape {list(self.shape)}")
        return float(self.to_float("f64").reshape(-1)[0])

    def tolist(self) -> Any:
        """Nested lists of floats, correctly rounded."""
        return self.to_float("f64").tolist()

    # As a sequence

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a scalar has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[ExactArray]:
        return (self[at] for at in range(len(self)))

    def __getitem__(self, index: Any) -> ExactArray:
        """The elements at a NumPy index; axes keep their names under numbers, slices and `...`."""
        places = np.asarray(np.arange(self.size).reshape(self.shape)[index])
        flat = [self._elements[at] for at in places.reshape(-1).tolist()]
        names = self._names_at(index, places.ndim)
        return ExactArray(flat, places.shape, names, self.bits, certified=self.certified)

    def _names_at(self, index: Any, rank: int) -> Names:
        steps: list[Any] = list(cast(tuple[Any, ...], index)) if isinstance(index, tuple) else [index]
        if Ellipsis in [step if step is Ellipsis else None for step in steps]:
            at = next(at for at, step in enumerate(steps) if step is Ellipsis)
            steps[at : at + 1] = [slice(None)] * (self.ndim - len(steps) + 1)
        steps += [slice(None)] * (self.ndim - len(steps))
        if not all(isinstance(step, (slice, SupportsIndex)) and not isinstance(step, bool) for step in steps):
            return (None,) * rank
        return tuple(name for name, step in zip(self.names, steps, strict=True) if isinstance(step, slice))

    def reshape(self, *shape: int) -> ExactArray:
        """The same elements in another shape, without names."""
        sizes = np.arange(self.size).reshape(shape).shape
        return ExactArray(self._elements, sizes, None, self.bits, certified=self.certified)

    # Shown, stored, taken

    def __repr__(self) -> str:
        axes = ", ".join(
            str(n) if name is None else f"{name}: {n}" for name, n in zip(self.names, self.shape, strict=True)
        )
        kind = f"certified, {self.bits} bits" if self.certified else f"{self.bits} bits, not proven"
        return f"ExactArray[{axes}] ({kind})\n{self.text(separator=', ')}"

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        digits = spec[1:]
        if spec[0] != "." or not digits.isascii() or not digits.isdecimal() or int(digits) == 0:
            raise ValueError(f'exact numbers are shown to a number of digits, as "{{:.30}}", not as "{{:{spec}}}"')
        return self.text(int(digits))

    def text(
        self, digits: int | None = None, *, shown: int = SHOWN_ELEMENTS, width: int | None = None, separator: str = " "
    ) -> str:
        """The numbers in decimals: the proven digits, at most `digits` (17 in an array, all of a scalar).

        An array of more than so many elements has its corners `shown`; lines are `width` wide.
        """
        if self.ndim == 0:
            return self._scalar_text(digits)
        most = digits or SHOWN_DIGITS
        mark = "" if self.certified else f"{UNPROVEN} "

        def element(ball: Any) -> str:
            return show_element(ball, most) if self.certified else show_midpoint(ball, most)

        return mark + np.array2string(
            self._objects(self.balls()),
            formatter={"object": element},
            threshold=shown,
            separator=separator,
            max_line_width=width,
            prefix=mark,
        )

    def _scalar_text(self, digits: int | None) -> str:
        ball = self.balls()[0]
        most = digits or digits_of(self.bits)
        return str(show(ball, most)) if self.certified else f"{UNPROVEN} {show_midpoint(ball, most)}"

    def decimals(self) -> NDArray[np.object_]:
        """Every element with all its proven digits, as `digits.Shown`; without certificates those of the midpoint."""
        most = digits_of(self.bits)
        if self.certified:
            return self._objects([show(ball, most) for ball in self.balls()])
        return self._objects([Shown(show_midpoint(ball, most), None, most) for ball in self.balls()])

    def nearest(self) -> NDArray[np.object_]:
        """The nearest double of every element, None where its ball doesn't decide which it is."""
        if not self.certified:
            return self.to_float().astype(np.object_)
        return self._objects(
            [round_ball(ball, "f64") for ball in rational_balls(self._elements, self.bits + ROUNDING_GUARD)]
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, ([_pack(each) for each in self._elements], self.shape, self.names, self.bits, self.certified)

    def taken(self, run: Run) -> Reals:
        """The elements as an evaluation's input.

        What is exact is shared between evaluations, with the layouts made of it.
        """
        if run.terms is None and self._as_held(run.certify):
            if self._taken is None:
                self._taken = Reals(cast(list[Any], list(self._elements)), settled=True, age=0)
            return self._taken
        balls = rational_balls(self._elements, run.bits)
        return run.given(balls if run.certify else [ball.mid() for ball in balls])

    def _as_held(self, certify: bool) -> bool:
        """Whether an evaluation takes the elements as they are: balls, or points where it keeps no radii."""
        if self._taken is None:
            self._plain = all(isinstance(each, arb) for each in self._elements)
            self._exact = self._plain and all(cast(arb, each).is_exact() for each in self._elements)
        return self._plain if certify else self._exact


def rational_balls(elements: Sequence[Number], bits: int) -> list[arb]:
    """The elements as balls, fractions at `bits`."""
    if all(isinstance(each, arb) for each in elements):
        return cast(list[arb], list(elements))
    with working(bits):
        return [each if isinstance(each, arb) else arb(each) for each in elements]


def exact_number(number: object, at: int = 0) -> Number:
    """A number of Python's, NumPy's, mpmath's or flint's, exactly.

    TypeError or ValueError, with `at`, where it isn't one.
    """
    found: Number
    if isinstance(number, (arb, fmpq)):
        found = number
    elif isinstance(number, bool):
        raise TypeError("a truth value", at)
    elif isinstance(number, (int, np.integer)):
        found = arb(int(cast(int, number)))
    elif isinstance(number, (float, np.floating, ml_dtypes.bfloat16)):
        found = arb(float(cast(float, number)))
    elif isinstance(number, Fraction):
        found = fmpq(number.numerator, number.denominator)
    elif isinstance(number, mpmath.mpf):
        found = arb(number)
    else:
        raise TypeError(f"a {type(number).__name__}", at)
    if isinstance(found, arb) and not found.is_finite():
        raise ValueError(str(found), at)
    return found


def to_mpf(point: arb) -> Any:
    """An exact ball as mpmath's mpf, exactly, whatever mpmath's precision."""
    mantissa, exponent = point.man_exp()
    return MAKE_MPF(FROM_MAN_EXP(int(mantissa), int(exponent)))


def _pack(each: Number) -> tuple[int, ...]:
    if isinstance(each, fmpq):
        return int(each.p), int(each.q)
    mantissa, exponent = each.mid().man_exp()
    radius, scale = each.rad().man_exp()
    return int(mantissa), int(exponent), int(radius), int(scale)


def _unpack(packed: tuple[int, ...]) -> Number:
    if len(packed) == 2:
        return fmpq(*packed)
    mantissa, exponent, radius, scale = packed
    return arb((mantissa, exponent), (radius, scale)) if radius else arb((mantissa, exponent))


def _restore(
    packed: list[tuple[int, ...]], shape: tuple[int, ...], names: Names, bits: int, certified: bool
) -> ExactArray:
    if prod(shape) != len(packed):
        raise ValueError("an ExactArray was stored with another shape")
    return ExactArray([_unpack(each) for each in packed], shape, names, bits, certified=certified)
