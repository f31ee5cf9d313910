"""Arrays of other libraries at the edge: in without a copy, and out as the library the caller uses.

Whatever speaks DLPack comes in as a NumPy view of the same memory. Arrays on other devices, and those a gradient is
being recorded for, are refused with a hint: presk would silently move the one, and silently lose the other. Called by
`Compiled`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from presk.run import trees
from presk.text.diagnostics import PreskError, fail

HOST_DEVICES = frozenset({1, 3, 13})
"""DLPack's device types whose memory the processor reads: kDLCPU, kDLCUDAHost, kDLCUDAManaged."""

BFLOAT16 = "bfloat16"

Give = Callable[[Any], Any]
"""Turns a NumPy array into an array of a library."""


def incoming(path: str, tree: object) -> tuple[Any, Give | None]:
    """The tree with every foreign array as a NumPy view; and what gives arrays back in the first one's library.

    None where no leaf is an array of a library, or the first is NumPy's. `path` is the argument's name. E6032 for an
    array that can't be read where it is, E6031 for a tree that is none.
    """
    give: list[Give | None] = []

    def enter(names: trees.Path, leaf: Any) -> Any:
        kind: type = type(leaf)
        if issubclass(kind, np.ndarray):
            give.append(None)
            return leaf
        if issubclass(kind, np.generic) or not hasattr(leaf, "__dlpack__"):
            return leaf
        give.append(_giver(leaf))
        return _view(".".join((path, *names)), leaf)

    entered = [(names, enter(names, leaf)) for names, leaf in trees.leaves(tree)]
    replaced = iter([leaf for _, leaf in entered])
    return trees.map_leaves(tree, lambda _: next(replaced)), (give[0] if give else None)


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
    library = _library(array)
    make = getattr(library, "from_dlpack", None)
    if make is None:
        return None

    def give(result: Any) -> Any:
        if not issubclass(type(result), np.ndarray):
            return result
        if result.dtype.name != BFLOAT16:
            return make(result)
        if hasattr(library, "bfloat16") and hasattr(library, "int16"):
            return make(result.view(np.int16)).view(library.bfloat16)
        return result

    return give
