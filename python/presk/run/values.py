"""What a call is given, held against its parameters' types: the Values of the seam.

`accept` makes of arrays, nested lists and numbers a tree of exactly the type's fields whose leaves are C-contiguous
arrays of the parameter's shape: f64, f32 or bf16 as they were given, int64 and bool, or ExactArray and Quantized where
these were given. Nothing is rounded here. Every backend takes its inputs through this; the reference also refuses what
isn't a real number (`finite`). What is refused says which axis, which position and which value.

Floats are read in place where they can be; nats are copied and then checked, so that a caller who writes into an array
during the call gets unspecified numbers and never an index out of range.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from presk.exact.layouts import position_text
from presk.exact.values import ExactArray
from presk.realization.quantized import Quantized
from presk.shapes.types import Axis, Stacked, Tensor, TupleOf, Type, fields_of, show
from presk.text.diagnostics import PreskError, did_you_mean, fail

LARGEST_INTEGER = 1 << 53
"""Integers up to here are f64s exactly; larger ones are refused as reals."""

LARGEST_NAT = 1 << 63
"""Nats are held as int64."""

KEPT_FLOATS = (np.dtype(np.float64), np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16))
"""Float types that cross the seam as they are."""

LARGEST_LISTED = 6
"""Fields of a tree that a message lists."""


def accept(name: str, of: Type, value: object, *, finite: bool = False) -> Any:
    """The Value of the bound type `of` that `value` stands for; `name` is the parameter's.

    A quantised array stays one; with `finite` it is the f32 numbers it stands for. A field without leaves may be left
    out, as it is where a tree was a file of arrays.

    E6030 for a tree with other fields, E6001 for a leaf of another shape or kind, E6002 for a nat that isn't below its
    bound, and with `finite` E6007 for NaN or an infinity.
    """
    if isinstance(of, Tensor):
        return _Leaf(name, of, finite).accept(value)
    fields = fields_of(of) or ()
    given = _fields_given(value)
    if given is None:
        raise fail("E6030", f"`{name}` is {show(of)}, a tree, and was given as one array")
    leafless: dict[str, Any] = {field: {} for field, inner in fields if not inner.extent[0]}
    given = leafless | given
    names = [field for field, _ in fields]
    missing, extra = [each for each in names if each not in given], [each for each in given if each not in names]
    if missing or extra:
        raise _other_fields(name, of, missing, extra)
    made = {field: accept(f"{name}.{field}", inner, given[field], finite=finite) for field, inner in fields}
    return tuple(made.values()) if _is_tuple(of) else made


def _fields_given(value: object) -> dict[str, Any] | None:
    if isinstance(value, Mapping):
        return {str(field): each for field, each in cast(Mapping[object, Any], value).items()}
    if isinstance(value, tuple):
        return {str(at): each for at, each in enumerate(cast(tuple[Any, ...], value))}
    return None


def _is_tuple(of: Type) -> bool:
    while isinstance(of, Stacked):
        of = of.element
    return isinstance(of, TupleOf)


def _other_fields(name: str, of: Type, missing: list[str], extra: list[str]) -> PreskError:
    parts = [
        f"{what} {', '.join(f'`{each}`' for each in fields[:LARGEST_LISTED])}"
        for what, fields in (("it lacks", missing), ("it has no business with", extra))
        if fields
    ]
    hint = did_you_mean(extra[0], missing) if extra and missing else None
    return fail("E6030", f"`{name}` isn't {show(of)}: {'; '.join(parts)}", hint=hint)


class _Leaf:
    """One tensor of a parameter: its path, its type, and whether it must be finite."""

    def __init__(self, name: str, of: Tensor, finite: bool) -> None:
        self.name = name
        self.of = of
        self.finite = finite
        self.shape = of.sizes
        self.axes = tuple(axis.name for axis in of.axes if isinstance(axis, Axis))

    def accept(self, value: object) -> Any:
        """The leaf as it crosses the seam."""
        if isinstance(value, ExactArray):
            return self.exact(value)
        if isinstance(value, Quantized):
            return self.quantized(value)
        if isinstance(value, (Mapping, tuple)):
            raise fail("E6030", f"`{self.name}` is {show(self.of)}, and was given as a tree")
        array = self.array(value)
        self.require_shape(array.shape)
        if array.dtype.kind == "c":
            raise self.refused("complex numbers")
        match self.of.kind:
            case "nat":
                return self.nats(array)
            case "bool":
                return self.booleans(array)
            case _:
                return self.reals(array)

    def array(self, value: object) -> NDArray[Any]:
        """Anything NumPy makes an array of."""
        try:
            return np.asarray(value)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            reason = " ".join(str(error).split())
            raise fail("E6001", f"`{self.name}` is no array of numbers: {reason}") from None

    def exact(self, value: ExactArray) -> ExactArray:
        """Exact numbers, untouched."""
        if self.of.kind != "real":
            raise self.refused("exact reals")
        self.require_shape(value.shape)
        return value

    def quantized(self, value: Quantized) -> Any:
        """Integers with scales, as they are."""
        if self.of.kind != "real":
            raise self.refused("quantised reals")
        self.require_shape(value.shape)
        return self.reals(value.values()) if self.finite else value

    def require_shape(self, shape: tuple[int, ...]) -> None:
        """E6001 where the shape isn't the type's, naming the first axis that differs."""
        if shape == self.shape:
            return
        if len(shape) != len(self.shape):
            raise fail(
                "E6001", f"`{self.name}` has the shape {list(shape)}, and {show(self.of)} has {len(self.shape)} axes"
            )
        at = next(at for at, size in enumerate(shape) if size != self.shape[at])
        axis = f"axis `{self.axes[at]}`" if self.axes[at] else f"axis {at}"
        raise fail(
            "E6001", f"`{self.name}` has the shape {list(shape)}, and {axis} of {show(self.of)} is {self.shape[at]}"
        )

    def reals(self, array: NDArray[Any]) -> Any:
        """Floats as they are, integers as f64, Python's and mpmath's exact numbers as an ExactArray."""
        if array.dtype.kind == "O":
            return self.objects(array)
        if array.dtype.newbyteorder("=") in KEPT_FLOATS:
            kept = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("=")).reshape(self.shape)
        elif array.dtype.kind in "iu":
            kept = self.integers(array)
        elif array.dtype == np.dtype(np.float16):
            kept = array.astype(np.float32)
        elif array.size == 0 and array.dtype.kind != "b":
            kept = np.zeros(self.shape)
        else:
            hint = "`np.where(m, 1.0, 0.0)` makes numbers of truth values" if array.dtype.kind == "b" else None
            raise self.refused(f"elements of type {array.dtype}", hint)
        if self.finite:
            self.require_finite(kept)
        return kept

    def integers(self, array: NDArray[Any]) -> NDArray[np.float64]:
        """Integers as f64, exactly."""
        beyond = np.flatnonzero((array > LARGEST_INTEGER) | (array < -LARGEST_INTEGER))
        if beyond.size:
            raise self.refused(f"the integer {self.at(array, beyond[0])}, which is beyond 2⁵³", "pass a Fraction")
        return array.astype(np.float64)

    def objects(self, array: NDArray[np.object_]) -> ExactArray:
        """Exact numbers in an object array."""
        try:
            return ExactArray.from_numbers(array.reshape(-1).tolist(), self.shape, self.axes)
        except ValueError as error:
            what, at = error.args
            raise self.not_finite(str(what), int(at)) from None
        except TypeError as error:
            what, at = error.args
            raise self.refused(
                f"{what}{self.where(int(at))}", "exact numbers are int, Fraction, mpmath's mpf, flint's arb"
            ) from None

    def require_finite(self, array: NDArray[Any]) -> None:
        """E6007 where an element is NaN or infinite."""
        strange = np.flatnonzero(~np.isfinite(array))
        if strange.size:
            raise self.not_finite(str(array.reshape(-1)[strange[0]]), int(strange[0]))

    def not_finite(self, shown: str, at: int) -> PreskError:
        """The error of an element that is no real number."""
        return fail(
            "E6007",
            f"`{self.name}` is {shown}{self.where(at)}, and the exact reference takes real numbers alone",
            hint="machine backends accept NaN and infinities",
        )

    def nats(self, array: NDArray[Any]) -> NDArray[np.int64]:
        """A checked copy of indices."""
        if array.size == 0 and array.dtype.kind in "fO":
            array = array.astype(np.int64)
        if array.dtype.kind == "O" and all(type(each) is int for each in array.reshape(-1)):
            return self.below(array)
        if array.dtype.kind not in "iu":
            hint = "`x.astype(np.int64)`" if array.dtype.kind == "f" else None
            raise self.refused(f"elements of type {array.dtype}", hint)
        return self.below(array)

    def below(self, array: NDArray[Any]) -> NDArray[np.int64]:
        """E6002 where a nat isn't from 0 up to its bound."""
        stated = None if self.of.bound is None else self.of.bound.whole
        bound = LARGEST_NAT if stated is None else stated
        copy = np.array(array, order="C")
        wrong = np.flatnonzero((copy < 0) | (copy >= bound))
        if wrong.size:
            found = self.at(copy, int(wrong[0]))
            rule = "and nats begin at 0" if found < 0 else f"and must be below {bound}"
            raise fail("E6002", f"`{self.name}`{self.where(int(wrong[0]))} is {found}, {rule}")
        return copy.astype(np.int64)

    def booleans(self, array: NDArray[Any]) -> NDArray[np.bool_]:
        """Truth values as they are."""
        if array.dtype.kind != "b" and array.size:
            raise self.refused(f"elements of type {array.dtype}", "`x != 0` makes truth values of numbers")
        return np.ascontiguousarray(array, dtype=np.bool_).reshape(self.shape)

    def refused(self, what: str, hint: str | None = None) -> PreskError:
        """The error of a leaf of another kind."""
        return fail("E6001", f"`{self.name}` is {show(self.of)}, and was given {what}", hint=hint)

    def where(self, at: int) -> str:
        """A position for a message; nothing for a scalar."""
        text = position_text(self.axes, self.shape, at)
        return text and f" at {text}"

    @staticmethod
    def at(array: NDArray[Any], at: int) -> int:
        """An element of an array of integers."""
        return int(array.reshape(-1)[at])
