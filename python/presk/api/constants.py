"""Exact constants from what Python users write: `consts={"D": 64, "eps": 1e-5, "third": "1/3"}`.

A float means its shortest decimal, the number its text says: 0.1 is one tenth here. `int`, `Fraction` and `Decimal` are
exact, and a `str` is an integer, a decimal or a fraction. NumPy's scalars are known by their module, so that checking a
program doesn't load NumPy. Called by `load` and by `--const`.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import TypeAlias

from presk.shapes import constants
from presk.shapes.constants import Constant
from presk.text.diagnostics import fail

Number: TypeAlias = int | float | str | Fraction | Decimal

NUMBER = re.compile(r"([+-]?)(\d+(?:_\d+)*)(?:\.(\d+(?:_\d+)*))?(?:[eE]([+-]?\d{1,7}))?", re.ASCII)

DIGITS_LIMIT = 4300
"""Digits of a constant, its exponent written out; Python reads no longer integers."""


def exact_constants(consts: Mapping[str, Number]) -> dict[str, Constant]:
    """The constants by name. E4020 for a value that is no finite number, or too long a one."""
    return {name: constants.rational(exact_number(name, value)) for name, value in consts.items()}


def exact_number(name: str, value: object) -> Fraction:
    """The rational number that `value`, given for `name`, means. E4020 where it is none."""
    match value:
        case bool():
            raise _refused(name, value)
        case int() | Fraction():
            number = Fraction(value)
        case float():
            number = _read(name, repr(float(value)))
        case Decimal() | str():
            number = _read(name, str(value).strip())
        case Integral() if type(value).__module__ == "numpy":
            number = Fraction(int(value))
        case Real() if type(value).__module__ == "numpy":
            number = _read(name, repr(float(value)))
        case _:
            raise _refused(name, value)
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > constants.BITS_LIMIT:
        raise _too_long(name)
    return number


def _read(name: str, text: str) -> Fraction:
    top, slash, bottom = text.partition("/")
    number = _decimal(name, top.strip(), text)
    if not slash:
        return number
    divisor = _decimal(name, bottom.strip(), text)
    if divisor == 0:
        raise _refused(name, text)
    return number / divisor


def _decimal(name: str, text: str, whole: str) -> Fraction:
    match = NUMBER.fullmatch(text)
    if match is None:
        raise _refused(name, whole)
    sign, digits, decimals, exponent = match[1], match[2], match[3] or "", int(match[4] or 0)
    if len(digits) + len(decimals) + abs(exponent) > DIGITS_LIMIT:
        raise _too_long(name)
    digits, decimals = digits.replace("_", ""), decimals.replace("_", "")
    number = Fraction(int(digits + decimals)) * Fraction(10) ** (exponent - len(decimals))
    return -number if sign == "-" else number


def _too_long(name: str) -> Exception:
    return fail("E4020", f"`{name}` can't be a number of so many digits", hint=f"at most {DIGITS_LIMIT} are kept")


def _refused(name: str, value: object) -> Exception:
    plain = value is None or isinstance(value, (str, float, bool, Decimal))
    shown = reprlib.repr(str(value)) if plain else f"a {type(value).__name__}"
    return fail(
        "E4020",
        f"`{name}` can't be {shown}",
        hint="a constant is an exact number: 128, 0.1, 3e-4 or 1/3",
    )
