"""The sweep of the elementwise forms and their first derivatives: how many units in the last place each is from exact.

Places are drawn over the whole range where a result is normal: every exponent as likely, the sizes at which programs
are busy, and dense about the places where they switch. A result is compared with the reference's ball at the machine's
own operands. `python tests/conformance/forms.py [places] [form …]` prints the table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import mul, sub
from typing import Any

import ml_dtypes
import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

import presk

BITS = 192
CHUNK = 10_000

DTYPES: dict[str, Any] = {"f64": np.float64, "f32": np.float32, "bf16": ml_dtypes.bfloat16}
DIGITS = {"f64": 53, "f32": 24, "bf16": 8}
LEAST = {"f64": -1022, "f32": -126, "bf16": -126}
MOST = {"f64": 1024, "f32": 128, "bf16": 128}

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Form:
    """An expression of x (and y), the bounds of its operands, and the places where its program or slope switches."""

    expression: str
    low: float = -np.inf
    high: float = np.inf
    span: float = 40.0
    switches: tuple[float, ...] = ()
    exponents: tuple[float, float] | None = None
    """The bounds of y, where there is one."""


HALF_LN2 = tuple(0.34657359027997264 * k for k in (1, 2, 3, 5, 7, 11, 101, 1001))

FORMS: dict[str, Form] = {
    "exp": Form("exp(x)", span=800, switches=(0.0, *HALF_LN2, -708.0, 709.0, -87.0, 88.0)),
    "expm1": Form("expm1(x)", span=800, switches=(0.0, *HALF_LN2, 38.8, 709.0, 27.0, 88.0)),
    "log": Form("log(x)", low=5e-324, switches=(1.0, 0.70710678, 1.41421356)),
    "log1p": Form("log1p(x)", low=-1.0, switches=(0.0, 0.41421356, -0.29289322, -1.0)),
    "tanh": Form("tanh(x)", span=30, switches=(0.0, 0.5493061443, 0.2554128118, 20.0, 10.0)),
    "sin": Form("sin(x)", span=100, switches=(0.0, 0.785398, 3.14159265358979, 6.28318530717958)),
    "cos": Form("cos(x)", span=100, switches=(0.0, 0.785398, 1.5707963267948966, 4.71238898038469)),
    "erf": Form("erf(x)", span=30, switches=(0.0, 0.84375, 1.25, 2.857142857, 6.0)),
    "erfc": Form("erfc(x)", span=30, switches=(0.0, 0.25, 0.84375, 1.25, 2.857142857, 6.0, 26.5, 9.3)),
    "sigmoid": Form("sigmoid(x)", span=800, switches=(0.0, 37.0, 708.0, 88.0, *HALF_LN2)),
    "softplus": Form("softplus(x)", span=800, switches=(0.0, 37.0, 708.0, 88.0, *HALF_LN2)),
    "log_sigmoid": Form("-softplus(-x)", span=800, switches=(0.0, 37.0, 708.0, 88.0)),
    "silu": Form("silu(x)", span=800, switches=(0.0, 1.2784645427610738, 0.8284645, 1.7284645, 708.0, 88.0)),
    "gelu": Form("gelu(x)", span=40, switches=(0.0, 0.7517915246935645, 0.35179, 1.15179, 4.0, 37.5, 12.9)),
    "gelu_tanh": Form("gelu_tanh(x)", span=24, switches=(0.0, 0.7524614220710163, 0.35246, 1.15246, 21.5, 10.0)),
    "sqrt": Form("sqrt(x)", low=5e-324, switches=(1.0,)),
    "rsqrt": Form("rsqrt(x)", low=5e-324, switches=(1.0,)),
    "recip": Form("recip(x)", switches=(1.0,)),
    "square": Form("square(x)", switches=(1.0,)),
    "cube": Form("x ** 3", switches=(1.0,)),
    "root": Form("x ** 0.5", low=5e-324, switches=(1.0,)),
    "sesqui": Form("x ** 1.5", low=5e-324, switches=(1.0,)),
    "inverse cube": Form("x ** (-3)", switches=(1.0,)),
    "pow": Form("x ** y", low=5e-324, switches=(1.0,), exponents=(-40.0, 40.0)),
    "pow near": Form("x ** y", low=5e-324, switches=(1.0,), exponents=(-2.0, 3.0)),
    "mul": Form("x * y", exponents=(-40.0, 40.0)),
    "div": Form("x / y", exponents=(-40.0, 40.0)),
    "add": Form("x + y", exponents=(-40.0, 40.0)),
    "sub": Form("x - y", exponents=(-40.0, 40.0)),
    "maximum": Form("maximum(x, y)", exponents=(-40.0, 40.0)),
    "abs": Form("abs(x)"),
    "relu": Form("relu(x)"),
    "neg": Form("neg(x)"),
}


def text_of(form: Form) -> str:
    """The program of a form: its values and its slopes, under a cotangent of 1."""
    operands = "x: real[n]" if form.exponents is None else "x: real[n], y: real[n]"
    names = "x" if form.exponents is None else "x, y"
    wrt = "fn by_x({o}) -> real[n] {{ grad(objective)({n}) }}\n"
    if form.exponents is not None:
        wrt += "fn by_y({o}) -> real[n] {{ grad(objective, wrt = 1)({n}) }}\n"
    return (
        f"fn value({operands}) -> real[n] {{ {form.expression} }}\n"
        f"fn objective({operands}) -> real {{ sum(value({names})) }}\n" + wrt.format(o=operands, n=names)
    )


def entries(form: Form) -> tuple[str, ...]:
    """What is swept of a form."""
    return ("value", "by_x") if form.exponents is None else ("value", "by_x", "by_y")


def places(form: Form, count: int, type: str, random: np.random.Generator) -> Reals:
    """Operands within a form's bounds, exactly numbers of the type."""
    third = count // 3
    signs = np.where(random.random(third) < 0.5, -1.0, 1.0)
    every = signs * np.exp2(random.uniform(LEAST[type] - 1, MOST[type], third))
    busy = random.uniform(-form.span, form.span, third)
    rest = count - 2 * third
    switches = np.array([s * v for v in form.switches or (1.0,) for s in (1.0, -1.0)])
    near = random.choice(switches, rest)
    distance = np.exp2(random.uniform(-DIGITS[type] - 2, 1, rest)) * np.where(random.random(rest) < 0.5, -1.0, 1.0)
    dense = np.where(near == 0, distance, near * (1 + distance))
    found = np.concatenate([every, busy, dense])
    found = found.astype(DTYPES[type]).astype(np.float64)
    # log1p has no value at the end of its domain, and no other form ends there.
    return found[(found >= form.low) & (found <= form.high) & np.isfinite(found) & ((found > -1.0) | (form.low < -1.0))]


def operands(form: Form, count: int, type: str, random: np.random.Generator) -> list[Reals]:
    """The operands of a form."""
    x = places(form, count, type, random)
    if form.exponents is None:
        return [x[x != 0] if "recip" in form.expression or "-3" in form.expression else x]
    y = random.uniform(*form.exponents, len(x))
    few = random.random(len(x)) < 0.2
    y = np.where(few, np.rint(y * 2) / 2, y).astype(DTYPES[type]).astype(np.float64)
    if "/" in form.expression:
        y[y == 0] = 1.0
    return [x, y]


def units(balls: list[arb], found: Reals, type: str) -> Reals:
    """The distance of results from exact ones in units in the last place of the exact; 0 where that isn't normal."""
    exact = np.array(list(map(float, balls)))
    with np.errstate(all="ignore"):
        _, exponents = np.frexp(exact)
    normal = (np.abs(exact) >= 2.0 ** LEAST[type]) & np.isfinite(exact) & (exponents <= MOST[type])
    if type == "f64":
        normal &= np.abs(exact) < np.finfo(np.float64).max
    else:
        normal &= np.abs(exact) < float(ml_dtypes.finfo(DTYPES[type]).max)
    scales = [arb((1, int(DIGITS[type] - e))) for e in exponents.tolist()]
    lost = ~np.isfinite(found)
    machine = list(map(arb, np.where(lost, 0.0, found).tolist()))
    distance = np.array(list(map(float, map(mul, map(sub, balls, machine), scales))))
    return np.where(normal, np.where(lost, np.inf, np.abs(distance)), 0.0)


@dataclass(frozen=True)
class Worst:
    """The worst place of a sweep."""

    units: float
    at: tuple[float, ...]
    machine: float
    exact: str


def sweep(form: Form, entry: str, type: str, count: int, seed: int = 0) -> Worst:
    """The worst of so many places."""
    program = presk.loads(text_of(form))
    machine = presk.compile(program[entry], realize=type)
    reference = presk.compile(program[entry], backend="interp", bits=BITS)
    worst = Worst(-1.0, (), 0.0, "")
    random = np.random.default_rng(seed)
    for _ in range(-(-count // CHUNK)):
        given = operands(form, min(count, CHUNK), type, random)
        if entry == "by_y" and "**" in form.expression:
            # The slope is x^y times a logarithm, and has the digits that x^y has.
            given = [each[np.abs(given[1] * np.log2(given[0])) < -LEAST[type]] for each in given]
        found = np.asarray(machine(*given)).astype(np.float64)
        balls = exact_of(reference, given)
        kept = [at for at, ball in enumerate(balls) if ball is not None]
        saved, ctx.prec = ctx.prec, BITS
        try:
            distances = units([balls[at] for at in kept], found[kept], type)  # type: ignore[misc]
        finally:
            ctx.prec = saved
        if len(kept) and distances.max() > worst.units:
            at = int(distances.argmax())
            place = kept[at]
            values = tuple(float(each[place]) for each in given)
            worst = Worst(float(distances[at]), values, float(found[place]), balls[place].str(20, radius=False))  # type: ignore[union-attr]
    return worst


def exact_of(reference: Callable[..., Any], given: list[Reals]) -> list[arb | None]:
    """The reference's balls, None where it refuses an element."""
    try:
        return list(reference(*given).balls())
    except presk.PreskError:
        if len(given[0]) == 1:
            return [None]
        half = len(given[0]) // 2
        return [
            *exact_of(reference, [each[:half] for each in given]),
            *exact_of(reference, [each[half:] for each in given]),
        ]


def table(count: int, names: list[str], types: tuple[str, ...] = ("f64", "f32", "bf16")) -> Iterator[str]:
    """A line for each form, entry and type."""
    for name in names:
        for entry in entries(FORMS[name]):
            for type in types:
                worst = sweep(FORMS[name], entry, type, count)
                gave = f"gave {worst.machine!r}, exact {worst.exact}"
                yield f"{name:14} {entry:6} {type:5} {worst.units:12.2f} at {worst.at} {gave}"


if __name__ == "__main__":
    how_many = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    for line in table(how_many, sys.argv[2:] or list(FORMS)):
        print(line, flush=True)
