"""Numbers of a train block that aren't rational, such as `clip = -sqrt(2)`: in their range, as `check.recipes` has it.

Checking knows where rational ones lie; where others do is known once they are computed. Called by `prepare`.
"""

from __future__ import annotations

from collections.abc import Callable

from presk.check.recipes import DATA, RATES, WANTED
from presk.check.training import TrainBlock
from presk.exact.constants import round_constant
from presk.shapes import constants
from presk.shapes.constants import Constant, Rational
from presk.text.diagnostics import fail

RANGES: dict[str, Callable[[float], bool]] = {
    "positive": lambda value: value >= 0,  # what isn't rational isn't 0, but may be rounded to it
    "amount": lambda value: value >= 0,
    "share": lambda value: 0 <= value <= 1,
}


def require_ranges(block: TrainBlock) -> None:
    """Raises E8026, E8027 or E8028 where a number of the block isn't in its range."""
    if block.clip is not None:
        _require("clip", block.clip, "positive", "E8028")
    for name, value in block.rate.numbers.items():
        _require(name, value, RATES[block.rate.name].keywords[name], "E8026")
    peak, floor = block.rate.numbers["peak"], block.rate.numbers.get("floor")
    if floor is not None and float(round_constant(floor, "f64")) > float(round_constant(peak, "f64")):
        raise fail("E8026", f"the floor {constants.show(floor)} is above the peak {constants.show(peak)}")
    if block.data is not None:
        for name, value in block.data.numbers.items():
            _require(name, value, DATA[block.data.name].keywords[name], "E8027")


def _require(name: str, value: Constant, kind: str, code: str) -> None:
    if isinstance(value, Rational) or kind not in RANGES:
        return
    if not RANGES[kind](float(round_constant(value, "f64"))):
        raise fail(code, f"`{name}` is {WANTED[kind]}, not {constants.show(value)}")
