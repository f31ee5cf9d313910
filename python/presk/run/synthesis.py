"""Inputs made up for a call that was given none: one rule for every backend.

The rule, which docs/cli.md states for users. Every leaf is a draw of the stream `input` at step 0 under its dotted path
(`batch.x`), so it depends on the seed and on its place alone, and row b of a batch is the same at any batch size:

- a real tensor is standard normal; a real scalar is uniform in [1/16, 1);
- a nat is uniform below its bound;
- a bool is true with probability 3/4, and always in the first place of the last axis, so that no mask's row is empty;
- a real leaf of a module's tree inside a record or tuple (an optimizer's moments) is uniform in [1/16, 1): such trees
  hold magnitudes. A parameter that is a module's tree itself is drawn by its initializers (`presk.run.initial`).

Called by the Python API and the command line; never by a backend.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from presk import draw
from presk.run import trees
from presk.shapes.types import Axis, ModuleOf, Stacked, Tensor, TupleOf, Type, fields_of
from presk.text.diagnostics import InternalError, PreskError, fail

STREAM = "input"
SMALLEST_SCALAR = 0.0625
TRUE_SHARE = 0.75


def synthesize(name: str, of: Type, seed: int) -> Any:
    """A value of the bound type `of` for the parameter `name`: float64, int64 or bool arrays in a tree.

    E6002 where a nat has no value because its bound is 0.
    """
    return _value((name,), of, seed, moments=False)


def _value(path: trees.Path, of: Type, seed: int, moments: bool) -> Any:
    if isinstance(of, Tensor):
        return _tensor(path, of, seed, moments)
    fields = fields_of(of)
    if fields is None:
        raise InternalError(f"the parameter `{'.'.join(path)}` isn't bound")
    element = of
    while isinstance(element, Stacked):
        element = element.element
    inside = moments or isinstance(element, ModuleOf)
    made = {name: _value((*path, name), each, seed, inside) for name, each in fields}
    return tuple(made.values()) if isinstance(element, TupleOf) else made


def _tensor(path: trees.Path, of: Tensor, seed: int, moments: bool) -> NDArray[Any]:
    key = draw.key(seed, STREAM, ".".join(path))
    batch = next((at for at, axis in enumerate(of.axes) if isinstance(axis, Axis) and axis.name == "batch"), None)
    if of.kind == "real" and of.axes and not moments:
        return draw.normal(key, 0, of.sizes, batch_axis=batch)
    lo = SMALLEST_SCALAR if of.kind == "real" else 0.0
    uniform = draw.uniform(key, 0, of.sizes, lo=lo, batch_axis=batch)
    if of.kind == "bool":
        return _mask(uniform < TRUE_SHARE)
    return uniform if of.kind == "real" else _nats(path, of, uniform)


def _mask(drawn: NDArray[np.bool_]) -> NDArray[np.bool_]:
    mask = np.array(drawn)
    if mask.ndim:
        mask[..., :1] = True
    return mask


def no_nat(path: trees.Path) -> PreskError:
    """E6002 for a nat that would have to be below 0."""
    return fail("E6002", f"`{'.'.join(path)}` is a nat below 0: it has no value", hint="a bound of 1 leaves 0 alone")


def _nats(path: trees.Path, of: Tensor, uniform: NDArray[np.float64]) -> NDArray[np.int64]:
    bound = None if of.bound is None else of.bound.whole
    if bound is None:
        raise InternalError(f"a nat `{'.'.join(path)}` whose bound isn't a number")
    if bound == 0 and uniform.size:
        raise no_nat(path)
    return np.minimum(np.floor(uniform * bound), max(bound - 1, 0)).astype(np.int64)
