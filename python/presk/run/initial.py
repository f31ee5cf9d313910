"""Initial parameters: what a module's tree is before anything is learnt.

A parameter is drawn from the stream `init` under its own path with the indices of the layers around it, so it doesn't
change when another parameter is added, and a stack of layers is drawn layer by layer. An initializer with several
draws numbers those after the first (`w`, `w#1` …). Everything here is f64 with the libm port's functions; a
realization narrows it. Called by the Python API, and by whoever starts a training.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from presk import draw
from presk.check.initial import Combine, Draw, Fill, Initial, Leaf
from presk.draw import libm
from presk.exact.bounds import drawn_within, no_number
from presk.exact.constants import round_constant
from presk.run import trees
from presk.shapes.types import ModuleOf, Stacked, TupleOf, Type, fields_of

F64 = NDArray[np.float64]

STREAM = "init"


def in_f64(leaf: Leaf) -> str:
    """Every parameter as it is drawn."""
    return "f64"


def draw_parameters(
    module: ModuleOf, leaves: Sequence[Leaf], seed: int, prefix: trees.Path = (), rest: Callable[[Leaf], str] = in_f64
) -> Any:
    """The tree of a bound module's parameters in f64, given the leaves of `check.initial.initializers`.

    `prefix` stands before every path: it tells the parameters of an entry's second module from those of its first.
    `rest` is the type a parameter is stored in, whose numbers decide which a uniform may take: E7004 where none lies in
    its bounds.
    E6020 for a seed out of range, E6021 for a parameter too large for memory.
    """
    drawn = {leaf.path: draw_leaf(leaf, seed, prefix, rest(leaf)) for leaf in leaves}
    return _tree(module, (), drawn)


def draw_leaf(leaf: Leaf, seed: int, prefix: trees.Path = (), rest: str = "f64") -> F64:
    """One parameter of shape layers + its own, in f64. Errors as for `draw_parameters`."""
    path = ".".join((*prefix, *leaf.path))
    sizes = leaf.type.sizes
    layers = [_value(leaf.initial, path, seed, sizes, index, rest) for index in np.ndindex(*leaf.layers)]
    whole = np.stack(layers) if layers else np.empty((0, *sizes))
    return whole.reshape((*leaf.layers, *sizes))


def _tree(of: Type, path: trees.Path, drawn: dict[trees.Path, F64]) -> Any:
    """The leaves in the type's own shape; a module without parameters is an empty record."""
    if path in drawn:
        return drawn[path]
    made = {name: _tree(each, (*path, name), drawn) for name, each in fields_of(of) or ()}
    element = of
    while isinstance(element, Stacked):
        element = element.element
    return tuple(made.values()) if isinstance(element, TupleOf) else made


def _value(
    initial: Initial, path: str, seed: int, sizes: tuple[int, ...], layers: tuple[int, ...], rest: str = "f64"
) -> F64:
    """One layer of a parameter; `rest` is what decides a uniform's outermost numbers, of a part of a value f64."""
    match initial:
        case Fill(constant):
            return np.full(sizes, round_constant(constant, "f64"))
        case Draw(kind, first, second, number):
            key = draw.key(seed, STREAM, f"{path}#{number}" if number else path, layers)
            one, other = float(round_constant(first, "f64")), float(round_constant(second, "f64"))
            if kind == "normal":
                return draw.normal(key, 0, sizes, std=one, mean=other)
            within = drawn_within(first, second, rest)
            if within is None:
                raise no_number(f"the parameter `{path}`", first, second, rest)
            return draw.uniform(key, 0, sizes, lo=one, hi=other, within=within)
        case Combine(primitive, operands):
            values = [_value(operand, path, seed, sizes, layers) for operand in operands]
            with np.errstate(all="ignore"):  # a value that isn't finite is refused where it is used
                return COMBINED[primitive](*values)


def _sigmoid(x: F64) -> F64:
    """1 / (1 + e⁻ˣ), without overflow."""
    small = libm.exp(-np.abs(x))
    return np.where(x < 0, small, 1.0) / (1.0 + small)


def _softplus(x: F64) -> F64:
    """log(1 + eˣ), without overflow."""
    return np.maximum(x, 0.0) + libm.log1p(libm.exp(-np.abs(x)))


def _relu(x: F64) -> F64:
    return np.maximum(x, 0.0)


def _rsqrt(x: F64) -> F64:
    return 1.0 / libm.sqrt(x)


COMBINED: dict[str, Callable[..., Any]] = {
    "neg": np.negative,
    "abs": np.abs,
    "square": np.square,
    "sqrt": libm.sqrt,
    "rsqrt": _rsqrt,
    "recip": np.reciprocal,
    "exp": libm.exp,
    "expm1": libm.expm1,
    "log": libm.log,
    "log1p": libm.log1p,
    "tanh": libm.tanh,
    "sin": libm.sin,
    "cos": libm.cos,
    "erf": libm.erf,
    "erfc": libm.erfc,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "relu": _relu,
    "gelu": libm.gelu,
    "gelu_tanh": libm.gelu_tanh,
    "silu": libm.silu,
    "sign": np.sign,
    "floor": np.floor,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": libm.pow,
    "maximum": np.maximum,
    "minimum": np.minimum,
}
"""What an initializer may be made of, in f64; the same primitives as in the exact constants of a program."""
