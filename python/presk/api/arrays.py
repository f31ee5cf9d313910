"""Arrays of other libraries at the edge: in without a copy, and out as the library the caller uses.

Whatever speaks DLPack comes in as a NumPy view of the same memory. Arrays on other devices, and those a gradient is
being recorded for, are refused with a hint: presk would silently move the one, and silently lose the other. Called by
`Compiled`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import ModuleType
from typing import Any, cast

import numpy as np

from presk.exact.values import ExactArray
from presk.realization.quantized import Quantized
from presk.run import trees
from presk.text.diagnostics import PreskError, fail

HOST_DEVICES = frozenset({1, 3, 13})
"""DLPack's device types whose memory the processor reads: kDLCPU, kDLCUDAHost, kDLCUDAManaged."""

BFLOAT16 = "bfloat16"

Give = Callable[[Any], Any]
"""Turns a NumPy array into an array of a library."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """An argument as presk takes it, and what gives arrays back in the library of its first array.

    `has_arrays`: there is an array of some library. `give` is None where the first is NumPy's.
    """

    tree: Any
    has_arrays: bool
    give: Give | None


def incoming(path: str, tree: object) -> Incoming:
    """The tree with every leaf as a NumPy array or an ExactArray; foreign arrays become views of the same memory.

    `path` is the argument's name. E6032 for an array that can't be read where it is, E6031 for a tree that is none,
    E6001 for a leaf that is no array.
    """
    given = list(trees.leaves(tree))
    if given and all(type(leaf) is np.ndarray for _, leaf in given):
        return Incoming(tree, True, None)
    arrays: list[Any] = [leaf for _, leaf in given if hasattr(leaf, "__dlpack__")]
    entered = iter([_leaf(".".join((path, *names)), leaf) for names, leaf in given])
    taken = trees.map_leaves(tree, lambda _: next(entered))
    return Incoming(taken, bool(arrays), _giver(arrays[0]) if arrays else None)


def copied(leaf: Any) -> Any:
    """A leaf that a tree's owner can't change: of an array a copy, read-only, which nobody need copy again."""
    if isinstance(leaf, Quantized):
        return Quantized(copied(leaf.q), copied(leaf.scale), leaf.axis)
    if not isinstance(leaf, np.ndarray):
        return leaf
    own: np.ndarray[Any, Any] = np.array(cast("np.ndarray[Any, Any]", leaf), copy=True, order="C")
    own.flags.writeable = False
    return own


def _leaf(name: str, leaf: Any) -> Any:
    kind = cast(type[Any], type(leaf))
    if issubclass(kind, np.ma.MaskedArray):
        raise fail("E6032", f"`{name}` is a masked array, whose mask presk would lose", hint="pass `array.filled(…)`")
    if issubclass(kind, (np.ndarray, ExactArray, Quantized)):
        return leaf
    if hasattr(leaf, "__dlpack__") and not issubclass(kind, np.generic):
        return _view(name, leaf)
    if isinstance(leaf, Decimal):
        return np.asarray(Fraction(leaf) if leaf.is_finite() else float(leaf))
    try:
        return np.asarray(leaf)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise fail("E6001", f"`{name}` is no array: {' '.join(str(error).split())}") from None


def _view(name: str, array: Any) -> Any:
    if getattr(array, "requires_grad", False) is True:
        raise fail("E6032", f"`{name}` records a gradient, which presk would lose", hint="pass `array.detach()`")
    try:
        device, _ = array.__dlpack_device__()
    except (AttributeError, TypeError, ValueError, RuntimeError, BufferError) as error:
        raise _unreadable(name, error) from error
    if int(device) not in HOST_DEVICES:
        shown = getattr(array, "device", "another device")
        raise fail("E6032", f"`{name}` is on {shown}, which presk doesn't read", hint="pass `array.cpu()`, or its like")
    try:
        if str(getattr(array, "dtype", "")).rpartition(".")[2] == BFLOAT16:
            return _bfloat16(array)
        return np.from_dlpack(array)
    except (TypeError, ValueError, RuntimeError, BufferError, AttributeError) as error:
        raise _unreadable(name, error) from error


def _bfloat16(array: Any) -> Any:
    """DLPack's NumPy side has no bfloat16: sixteen bits pass as integers where the library can view them so."""
    import ml_dtypes

    if hasattr(array, "view") and hasattr(_library(array), "int16"):
        return np.from_dlpack(array.view(_library(array).int16)).view(ml_dtypes.bfloat16)
    return np.asarray(array)


def _unreadable(name: str, error: Exception) -> PreskError:
    return fail("E6032", f"`{name}` can't be read: {' '.join(str(error).split())}", hint="pass a NumPy array")


def _library(array: Any) -> ModuleType:
    """The namespace that makes arrays like this one: what it names by the array API's standard, else its package."""
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    return sys.modules[type(array).__module__.partition(".")[0]]


def _giver(array: Any) -> Give | None:
    if isinstance(array, np.ndarray):
        return None
    library = _library(array)
    make = getattr(library, "from_dlpack", None)
    if make is None:
        return None

    def give(result: Any) -> Any:
        if not issubclass(type(result), np.ndarray):
            return result
        if not result.flags.writeable:  # DLPack has no way to say so
            result = result.copy()
        if result.dtype.name != BFLOAT16:
            return make(result)
        if hasattr(library, "bfloat16") and hasattr(library, "int16"):
            return make(result.view(np.int16)).view(library.bfloat16)
        return result

    return give
