"""Keys, draws and the libm port: the numbers every backend shares bit for bit.

A draw's key is made of the seed and of the place where the draw stands; its step is the cipher's nonce; its element i
is then a function of key, step and i alone (language reference, "Randomness"). The exact reference and every machine
backend start from the f64 values given here, which a realization narrows. Nothing here holds state.

Called by the exact reference, the initializers, the recorder of schedules and the training loop. The arithmetic is the
extension's (`presk-rt`), done without the GIL and in the standard floating-point mode whatever the caller's is.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from presk import _native
from presk.text.diagnostics import InternalError, fail

F64: TypeAlias = NDArray[np.float64]
Reals = TypeVar("Reals", NDArray[np.float64], NDArray[np.float32])

SEED_BITS = 64
"""Bits of a seed and of a step: the key's layout and the cipher's nonce hold no more."""

INDEX_BITS = 32
"""Bits of a layer's or loop's index in the key's layout."""

PIECE = 1 << 22
"""Elements filled in one call of the extension, so that an interrupt is answered within a fraction of a second."""


def key(seed: int, stream: str, path: str, indices: Sequence[int] = ()) -> bytes:
    """The 32 bytes that decide a draw.

    `stream` is the drawing primitive's name (`init` for parameters, `shuffle` for a training order), `path` the
    fields and functions from the entry down, then `#n`; `indices` are those of the enclosing layers and loops, the
    outermost first.
    E6020 where the seed is not in 0 … 2⁶⁴ − 1.
    """
    rounds = [_in_range("the index of a layer or loop", index, INDEX_BITS) for index in indices]
    return _native.derive_key(require_seed(seed), stream.encode(), path.encode(), rounds)


def require_seed(seed: int) -> int:
    """The seed itself. E6020 where it is not in 0 … 2⁶⁴ − 1."""
    return _in_range("the seed", seed, SEED_BITS)


def bits(key: bytes, step: int, count: int, start: int = 0) -> NDArray[np.uint64]:
    """The u64 of elements `start` … `start + count − 1`, of shape [count]."""
    nonce = _in_range("the step", step, SEED_BITS)
    start = _in_range("the first element's number", start, SEED_BITS)
    return _filled(np.uint64, count, start, lambda at, out: _native.fill_bits(key, nonce, at, out))


def uniform(
    key: bytes,
    step: int,
    shape: Sequence[int],
    *,
    lo: float = 0.0,
    hi: float = 1.0,
    within: tuple[float, float] | None = None,
    batch_axis: int | None = None,
    row_offset: int = 0,
) -> F64:
    """Uniforms lo + (hi − lo)·u of the given shape, each operation rounded in f64, kept in [lo, hi).

    u is a multiple of 2⁻⁵³ in [0, 1). `within` are the smallest and the largest value, where they aren't lo and the
    number before hi: the outermost ones in the bounds that a type has (`exact.bounds`). A draw with a batch axis
    numbers its elements with that axis outermost, wherever it stands, from `row_offset` rows on; any other draw ignores
    the offset. E6020 where step or offset is out of range, E6021 where the array can't be held.
    """
    nonce = _in_range("the step", step, SEED_BITS)
    least, most = within or (lo, math.nextafter(hi, -math.inf))
    of = (float(lo), float(hi), float(least), float(most))
    return _shaped(shape, batch_axis, row_offset, lambda at, out: _native.fill_uniform(key, nonce, at, of, out))


def normal(
    key: bytes,
    step: int,
    shape: Sequence[int],
    *,
    std: float = 1.0,
    mean: float = 0.0,
    batch_axis: int | None = None,
    row_offset: int = 0,
) -> F64:
    """Normals mean + std·z of the given shape, each operation rounded in f64.

    Element i is made of the stream's uniforms 2i and 2i + 1 by Box and Muller's formula. Batch axis, row offset and
    errors as for `uniform`.
    """
    nonce = _in_range("the step", step, SEED_BITS)
    return _shaped(
        shape, batch_axis, row_offset, lambda at, out: _native.fill_normal(key, nonce, at, float(std), float(mean), out)
    )


def shuffle(key: bytes, epoch: int, n: int) -> NDArray[np.int64]:
    """A permutation of 0 … n − 1, of shape [n]: the order of a training epoch, a function of key and epoch alone."""
    order = np.empty(n, dtype=np.int64)
    _native.shuffle(key, _in_range("the epoch", epoch, SEED_BITS), order)
    return order


class libm:
    """The elementary functions whose bits the language fixes, over arrays of f64 or f32 of any shape.

    Each returns a new array of its argument's shape and type; `sqrt` is correctly rounded, the others are the libm
    port's. For single numbers in f64 pass and take zero-dimensional arrays, or use `at`.
    """

    @staticmethod
    def exp(x: Reals) -> Reals:
        """eˣ"""
        return _applied("exp", x)

    @staticmethod
    def expm1(x: Reals) -> Reals:
        """eˣ − 1"""
        return _applied("expm1", x)

    @staticmethod
    def log(x: Reals) -> Reals:
        """The natural logarithm."""
        return _applied("log", x)

    @staticmethod
    def log1p(x: Reals) -> Reals:
        """log(1 + x)"""
        return _applied("log1p", x)

    @staticmethod
    def tanh(x: Reals) -> Reals:
        """The hyperbolic tangent."""
        return _applied("tanh", x)

    @staticmethod
    def sin(x: Reals) -> Reals:
        """The sine of x radians."""
        return _applied("sin", x)

    @staticmethod
    def cos(x: Reals) -> Reals:
        """The cosine of x radians."""
        return _applied("cos", x)

    @staticmethod
    def erf(x: Reals) -> Reals:
        """The error function."""
        return _applied("erf", x)

    @staticmethod
    def erfc(x: Reals) -> Reals:
        """1 less the error function."""
        return _applied("erfc", x)

    @staticmethod
    def gelu(x: Reals) -> Reals:
        """x·Φ(x)"""
        return _applied("gelu", x)

    @staticmethod
    def silu(x: Reals) -> Reals:
        """x·sigmoid(x)"""
        return _applied("silu", x)

    @staticmethod
    def gelu_tanh(x: Reals) -> Reals:
        """The approximation of gelu by tanh."""
        return _applied("gelu_tanh", x)

    @staticmethod
    def sqrt(x: Reals) -> Reals:
        """The square root."""
        return _applied("sqrt", x)

    @staticmethod
    def pow(x: Reals, y: Reals) -> Reals:
        """xʸ, elementwise over arrays of one shape and type."""
        if x.shape != y.shape or x.dtype != y.dtype:
            raise InternalError(f"powers of {x.dtype}{list(x.shape)} by {y.dtype}{list(y.shape)}")
        out = cast(Reals, np.array(x, order="C"))
        power: Callable[[Any, Any], None] = _by_type(x, _native.power_f64, _native.power_f32)
        power(out.reshape(-1), np.ascontiguousarray(y).reshape(-1))
        return out

    @staticmethod
    def at(function: str, x: float) -> float:
        """One named function of one f64: what a schedule of learning rates is computed with."""
        return float(_applied(function, np.array(x, dtype=np.float64)))


def _applied(function: str, x: Reals) -> Reals:
    out = cast(Reals, np.array(x, order="C"))
    apply: Callable[[str, Any], None] = _by_type(x, _native.apply_f64, _native.apply_f32)
    apply(function, out.reshape(-1))
    return out


def _by_type(x: NDArray[Any], for_f64: Any, for_f32: Any) -> Any:
    if x.dtype == np.float64:
        return for_f64
    if x.dtype == np.float32:
        return for_f32
    raise InternalError(f"elementary functions of {x.dtype}")


def _shaped(
    shape: Sequence[int], batch_axis: int | None, row_offset: int, fill: Callable[[int, NDArray[Any]], None]
) -> F64:
    """The draw of a shape: the batch axis is outermost in the numbering, and put where it stands."""
    if batch_axis is None:
        return _filled(np.float64, math.prod(shape), 0, fill).reshape(shape)
    others = [size for axis, size in enumerate(shape) if axis != batch_axis]
    first_row = _in_range("the row offset", row_offset, SEED_BITS)
    flat = _filled(np.float64, math.prod(shape), first_row * math.prod(others), fill)
    return np.ascontiguousarray(np.moveaxis(flat.reshape([shape[batch_axis], *others]), 0, batch_axis))


def _filled(dtype: Any, count: int, start: int, fill: Callable[[int, NDArray[Any]], None]) -> NDArray[Any]:
    """A flat array of a stream's elements from `start` on, drawn piece by piece."""
    _in_range("the last element's number", start + count, SEED_BITS)
    try:
        out = np.empty(count, dtype=dtype)
    except (MemoryError, ValueError):
        message = f"a draw of {count} elements is too large for this machine's memory"
        raise fail("E6021", message, hint="draw a smaller tensor") from None
    for at in range(0, count, PIECE):
        fill(start + at, out[at : at + PIECE])
    return out


def _in_range(what: str, value: int, bit_count: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise fail("E6020", f"{what} is {value!r}, not a whole number") from None
    if not 0 <= number < 1 << bit_count:
        raise fail("E6020", f"{what} is {number}, outside of 0 … 2**{bit_count} − 1")
    return number
