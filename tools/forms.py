"""The coefficients of the forms that keep their digits: prints rust/presk-kernel/src/forms/single.rs and double.rs.

Each polynomial interpolates its function at Chebyshev's points, in 400 bits, with so many terms that its relative error
is below a quarter of the type's last place. Run as `python tools/forms.py`; a test holds the files to what it prints.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

library: Any = mpmath
"""mpmath has no types."""

mp, mpf, pi = library.mp, library.mpf, library.pi
cos, erfc, exp, findroot, log, sqrt = (
    library.cos,
    library.erfc,
    library.exp,
    library.findroot,
    library.log,
    library.sqrt,
)

Number = Any
Function = Callable[[Number], Number]

FOLDER = Path(__file__).parent.parent / "rust" / "presk-kernel" / "src" / "forms"

TURN = 4
"""Where Mills' ratio has its variable 0: t = (a - 4) / (a + 4)."""


def polynomial(f: Function, low: Number, high: Number, terms: int) -> list[Number]:
    """The coefficients of the polynomial through a function's values at Chebyshev's points (Newton's form)."""
    places = [(low + high) / 2 + (high - low) / 2 * cos(pi * (2 * k + 1) / (2 * terms)) for k in range(terms)]
    divided = [f(place) for place in places]
    for order in range(1, terms):
        for at in range(terms - 1, order - 1, -1):
            divided[at] = (divided[at] - divided[at - 1]) / (places[at] - places[at - order])
    found = [divided[-1]]
    for at in range(terms - 2, -1, -1):
        shifted = [mpf(0), *found]
        for power, value in enumerate(found):
            shifted[power] -= places[at] * value
        shifted[0] += divided[at]
        found = shifted
    return found


def error(coefficients: list[Number], f: Function, low: Number, high: Number) -> float:
    """The largest relative error over 300 places."""
    worst = mpf(0)
    for part in range(301):
        # Never quite at 0, where a quotient may have no value.
        at = low + (high - low) * (mpf(part) + mpf("0.001")) / 301
        value = f(at)
        worst = max(worst, abs(sum(c * at**k for k, c in enumerate(coefficients)) / value - 1))
    return float(worst)


def fitted(f: Function, low: Number, high: Number, tolerance: float) -> list[Number]:
    """As many terms as the tolerance wants."""
    for terms in range(3, 40):
        found = polynomial(f, low, high, terms)
        if error(found, f, low, high) < tolerance:
            return found
    raise AssertionError("no polynomial of forty terms")


# The functions


def mills(a: Number) -> Number:
    """Φ(−a)·exp(a²/2)"""
    return exp(a * a / 2) * erfc(a / sqrt(mpf(2))) / 2


def rest_of_exp(r: Number) -> Number:
    """p of eʳ = 1 + r + r²·p(r)"""
    return (exp(r) - 1 - r) / (r * r)


def bent(a: Number) -> Number:
    """The argument of gelu_tanh's sigmoid."""
    return 2 * sqrt(2 / pi) * (a + CUBIC * a**3)


def slope_of_bent(a: Number) -> Number:
    """Its derivative."""
    return 2 * sqrt(2 / pi) * (1 + 3 * CUBIC * a * a)


mp.prec = 400
CUBIC = mpf(44715) / 1000000

FACTORS: dict[str, Function] = {
    "gelu": lambda a: mills(a) - a / sqrt(2 * pi),
    "silu": lambda a: 1 + exp(-a) - a,
    "gelu_tanh": lambda a: 1 + exp(-bent(a)) - a * slope_of_bent(a),
}
"""What changes its sign in the slope at −a."""

ROOTS = {name: findroot(factor, {"silu": 1.27}.get(name, 0.75)) for name, factor in FACTORS.items()}


def around_root(name: str) -> Function:
    """P of factor(root + w) = −w·P(w)"""
    return lambda w: -FACTORS[name](ROOTS[name] + w) / w


# The types


@dataclass(frozen=True)
class Kind:
    """A machine type: its name, significant bits, a quarter of its last place, how far its programs reach."""

    name: str
    bits: int
    tolerance: float
    widest: float
    reach: dict[str, float]

    def round(self, value: Number) -> Number:
        """The nearest number of the type."""
        return mpf(float(value)) if self.name == "f64" else mpf(float(np.float32(float(value))))

    def text(self, value: Number) -> str:
        """The shortest literal that reads back."""
        number = np.float64(float(value)) if self.name == "f64" else np.float32(float(value))
        return str(number).replace("e+", "e").replace("e-0", "e-")

    def cut(self, value: Number, bits: int) -> Number:
        """A value's first bits."""
        scale = mpf(2) ** (bits - 1 - int(mp.floor(log(abs(value)) / log(mpf(2)))))
        return mp.floor(value * scale) / scale


SINGLE = Kind("f32", 24, 2.0**-27, 0.45, {"gaussian": 11, "gelu": 15, "silu": 110, "gelu_tanh": 11})
DOUBLE = Kind("f64", 53, 2.0**-56, 0.3466, {"gaussian": 28, "gelu": 40, "silu": 756, "gelu_tanh": 23})

NEAR = {"gelu": mpf("0.4"), "silu": mpf("0.45"), "gelu_tanh": mpf("0.4")}
"""How far from the root the slope is computed from it."""


def method(kind: Kind, name: str, doc: str, argument: str, coefficients: list[Number]) -> list[str]:
    """A polynomial as a method: even powers and odd ones side by side, which wait for each other half as long."""
    even, odd = ([kind.text(c) for c in coefficients[start::2]] for start in (0, 1))
    return [
        f"    /// {doc}",
        "    #[inline(always)]",
        f"    fn {name}({argument}: Self) -> Self {{",
        f"        let square = {argument} * {argument};",
        f"        let even = horner!(square; {', '.join(even)});",
        f"        even + {argument} * horner!(square; {', '.join(odd)})",
        "    }",
        "",
    ]


def constants(kind: Kind) -> list[str]:
    """The constants of a type."""
    half = kind.bits // 2
    lines: list[str] = []

    def add(name: str, doc: str, value: Number) -> None:
        lines.extend([f"    /// {doc}", f"    const {name}: Self = {kind.text(value)};"])

    add("SHIFT", "What makes a number whole, where added and subtracted again.", mpf(3) * mpf(2) ** (kind.bits - 2))
    for name, doc, value in (("ONE", "1", mpf(1)), ("HALF", "½", mpf("0.5")), ("FOUR", "4", mpf(4))):
        add(name, doc, value)
    add("INV_LN2", "1 / ln 2", 1 / log(mpf(2)))
    ln2 = kind.cut(log(mpf(2)), kind.bits - 12)
    add("LN2_HI", "ln 2, of which a multiple up to 2¹¹ is exact.", ln2)
    add("LN2_LO", "What that lacks.", log(mpf(2)) - ln2)
    add("DENSITY", "φ(0) = 1 / √(2π)", 1 / sqrt(2 * pi))
    line = 2 * sqrt(2 / pi)
    add("LINE_HI", "2·√(2/π), the factor of gelu_tanh's argument.", kind.round(line))
    add("LINE_LO", "What that lacks.", line - kind.round(line))
    cube = kind.cut(line * CUBIC, half)
    add("CUBE_HI", "0.044715 times it, in half as many digits.", cube)
    add("CUBE_LO", "What that lacks.", line * CUBIC - cube)
    add("THRICE_CUBE", "Three times it.", 3 * line * CUBIC)
    for name, reach in kind.reach.items():
        add(f"{name.upper()}_END", f"From here on {name} at −a is 0.", mpf(reach))
    for name, root in ROOTS.items():
        add(f"{name.upper()}_ROOT_HI", f"Where the slope of {name} at −a is 0.", kind.round(root))
        add(f"{name.upper()}_ROOT_LO", "What that lacks.", root - kind.round(root))
        add(f"{name.upper()}_NEAR", "How far from there it is computed from there.", NEAR[name])
    return [*lines, ""]


def written(kind: Kind) -> str:
    """The file of a type."""
    lines = [
        f"//! Constants and polynomials of the forms in {kind.name}. tools/forms.py writes this file.",
        "",
        "use super::{Number, horner};",
        "",
        f"impl Number for {kind.name} {{",
        *constants(kind),
    ]
    widest = mpf(kind.widest)
    # p(0) of an interval around 0 is asked for beside it.
    found = fitted(rest_of_exp, -widest, widest + mpf(2) ** -40, kind.tolerance * 8)
    lines += method(kind, "rest_of_exp", "p of eʳ = 1 + r + r²·p(r)", "r", found)
    top = mpf(kind.reach["gelu"])

    def scaled(t: Number) -> Number:
        a = TURN * (1 + t) / (1 - t)
        return mills(a) * (a + TURN)

    found = fitted(scaled, mpf(-1), (top - TURN) / (top + TURN), kind.tolerance)
    lines += method(kind, "mills", "Φ(−a)·exp(a²/2)·(a + 4) of t = (a − 4) / (a + 4)", "t", found)
    for name in FACTORS:
        near = NEAR[name] * mpf("1.001")
        found = fitted(around_root(name), -near, near + mpf(2) ** -40, kind.tolerance)
        lines += method(kind, f"{name}_root", f"P of the slope of {name} about its root", "w", found)
    unsigned, mask, digits = ("u64", "0xffff_ffff_f800_0000", 52) if kind.bits == 53 else ("u32", "0xffff_f000", 23)
    lines += [
        "    #[inline(always)]",
        "    fn size(self) -> Self {",
        "        self.abs()",
        "    }",
        "",
        "    #[inline(always)]",
        "    fn cut(self) -> Self {",
        f"        Self::from_bits(self.to_bits() & {mask})",
        "    }",
        "",
        "    #[inline(always)]",
        "    fn power_of_two(k: Self) -> Self {",
        f"        const ONE: {unsigned} = 1{kind.name}.to_bits();",
        f"        Self::from_bits(ONE.wrapping_add((k + Self::SHIFT).to_bits() << {digits}))",
        "    }",
        "}",
        "",
    ]
    return "\n".join(lines)


def main(is_check: bool) -> int:
    """Writes the files, or says whether they are current."""
    found = {FOLDER / "single.rs": written(SINGLE), FOLDER / "double.rs": written(DOUBLE)}
    if not is_check:
        for path, text in found.items():
            path.write_text(text, encoding="utf-8")
    # What rustfmt breaks into lines is the same.
    stale = [path for path, text in found.items() if "".join(path.read_text("utf-8").split()) != "".join(text.split())]
    for path in stale:
        print(f"{path} is out of date: run tools/forms.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))
