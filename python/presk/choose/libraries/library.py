"""The array libraries that an entry can be stated in: what of each its statement calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

Array: TypeAlias = Any

LIBRARIES = ("numpy", "torch", "jax")
"""What `presk bench --against` knows."""


@dataclass(frozen=True)
class Library:
    """An array library: its functions, and how arrays come into it and a call is waited for."""

    name: str
    version: str
    functions: Any
    erf: Callable[[Array], Array] | None
    softmax: Callable[[Array, int], Array]
    enter: Callable[[np.ndarray[Any, Any]], Array]
    compile: Callable[[Callable[..., Any]], Callable[..., Any]]
    wait: Callable[[Any], Any]


def find(name: str, threads: int | None) -> Library | None:
    """The library, set to that many threads where it lets itself be; None where it isn't installed."""
    try:
        return MAKERS[name](threads)
    except ModuleNotFoundError:
        return None


def _numpy(threads: int | None) -> Library:
    def softmax(x: Array, axis: int) -> Array:
        shifted = np.exp(x - x.max(axis=axis, keepdims=True))
        return shifted / shifted.sum(axis=axis, keepdims=True)

    return Library("numpy", np.__version__, np, None, softmax, np.asarray, lambda f: f, lambda x: x)


def _torch(threads: int | None) -> Library:
    import torch  # pyright: ignore[reportMissingImports]

    torch_: Any = torch
    if threads is not None:
        torch_.set_num_threads(threads)

    def enter(array: np.ndarray[Any, Any]) -> Array:
        if array.dtype == ml_dtypes.bfloat16:
            return torch_.from_numpy(np.array(array, order="C").view(np.int16)).view(torch_.bfloat16)
        return torch_.from_numpy(np.array(array))

    def without_gradients(function: Callable[..., Any]) -> Callable[..., Any]:
        return torch_.inference_mode()(function)

    def softmax(x: Array, axis: int) -> Array:
        return torch_.softmax(x, dim=axis)

    return Library("torch", torch_.__version__, torch_, torch_.erf, softmax, enter, without_gradients, lambda x: x)


def _jax(threads: int | None) -> Library:
    import jax  # pyright: ignore[reportMissingImports]

    jax_: Any = jax
    jax_.config.update("jax_enable_x64", True)
    jax_.config.update("jax_platforms", "cpu")
    special, network = jax_.scipy.special, jax_.nn

    def softmax(x: Array, axis: int) -> Array:
        return network.softmax(x, axis=axis)

    return Library(
        "jax", jax_.__version__, jax_.numpy, special.erf, softmax, jax_.numpy.asarray, jax_.jit, jax_.block_until_ready
    )


MAKERS: Mapping[str, Callable[[int | None], Library]] = {"numpy": _numpy, "torch": _torch, "jax": _jax}

DTYPES: Mapping[str, Any] = {"f64": np.float64, "f32": np.float32, "bf16": ml_dtypes.bfloat16}
"""NumPy's types of presk's storage types."""
