"""What a training tells while it runs: its start, steps, measurements, remarks; and how they are shown and kept.

Called by the loop, by the run's folder, and by whoever listens: the command line, a callback in Python, the plot.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, Union


@dataclass(frozen=True, slots=True)
class Start:
    """What a training begins with: behind `step` (0 but for a run that goes on), up to the step `last`."""

    step: int
    last: int
    parameters: int
    rows: int

    def line(self) -> str:
        """`3632 parameters, 499 rows, 150 steps`, and where it goes on."""
        whole = f"{self.parameters} parameters, {self.rows} rows, {self.last} steps"
        return f"{whole}, going on from step {self.step}" if self.step else whole


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its loss and metrics are those of its batch before the parameters moved.

    `norm` is the gradient's norm before it was clipped. `parameters` is the hash of the parameters behind the step,
    where it was taken.
    """

    step: int
    epoch: int
    loss: float
    lr: float
    norm: float
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    parameters: str | None = None

    def line(self) -> str:
        """`step 100  epoch 7  loss 4.132775  lr 1.500e-5  |g| 1.4102e0`, and the metrics."""
        words = [f"step {self.step}", f"epoch {self.epoch}", f"loss {self.loss:.6f}"]
        words += [f"lr {scientific(self.lr, 3)}", f"|g| {scientific(self.norm, 4)}"]
        return "  ".join((*words, *_shown(self.metrics)))

    def data(self) -> dict[str, Any]:
        """The step as plain data: floats in decimal and, behind them, to the bit."""
        hashed = {} if self.parameters is None else {"parameters": self.parameters}
        numbers = {"loss": self.loss, "lr": self.lr, "norm": self.norm}
        return {"step": self.step, "epoch": self.epoch, **_both(numbers), "metrics": _both(self.metrics), **hashed}


@dataclass(frozen=True, slots=True)
class Measurement:
    """The objective behind a step, on the rows that measure; `is_best` where no loss before was as small."""

    step: int
    epoch: int
    loss: float
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    is_best: bool = False

    def line(self) -> str:
        """`step 100  epoch 7  measured  loss 4.132775`, and the metrics."""
        words = [f"step {self.step}", f"epoch {self.epoch}", "measured", f"loss {self.loss:.6f}"]
        return "  ".join((*words, *_shown(self.metrics), *(["best"] if self.is_best else [])))

    def data(self) -> dict[str, Any]:
        """The measurement as plain data."""
        named = {"step": self.step, "epoch": self.epoch, "measured": _both({"loss": self.loss, **self.metrics})}
        return {**named, "best": self.is_best}


@dataclass(frozen=True, slots=True)
class Remark:
    """Something a user should know: a damaged checkpoint that was passed over, a plot that can't be drawn."""

    text: str

    def line(self) -> str:
        """The remark, as notes are shown."""
        return f"note: {self.text}"


LINES = 10
"""Steps shown of a training, at least."""


def interval(last: int) -> int:
    """Steps between lines: 1, 2 or 5 times a power of ten, so that there are LINES of them or more."""
    candidates = (times * 10**power for power in range(19) for times in (1, 2, 5))
    return max((each for each in candidates if last // each >= LINES), default=1)


class Shown:
    """Which events a user who watches is shown: the steps an interval apart, best measurements, all remarks."""

    def __init__(self) -> None:
        self.every = 1

    def __call__(self, event: Event) -> bool:
        """Whether this one is shown."""
        match event:
            case Start(last=last):
                self.every = interval(last)
                return True
            case Step(step=step):
                return step == 1 or step % self.every == 0
            case Measurement(step=step, is_best=is_best):
                return step % self.every == 0 or is_best
            case Remark():
                return True


class Progress:
    """Writes the lines of what is shown to stderr: stdout is the program's own."""

    def __init__(self) -> None:
        self.shows = Shown()

    def __call__(self, event: Event) -> None:
        """Shows an event, or nothing of it."""
        if self.shows(event):
            sys.stderr.write(event.line() + "\n")


Event: TypeAlias = Union[Start, Step, Measurement, Remark]
Listener: TypeAlias = Callable[[Event], None]


def from_data(data: Mapping[str, Any]) -> Step | Measurement:
    """What `data` was made of. KeyError, TypeError or ValueError for anything else."""
    step, epoch = int(data["step"]), int(data["epoch"])
    if "measured" in data:
        numbers = _floats(data["measured"])
        return Measurement(step, epoch, numbers.pop("loss"), numbers, bool(data["best"]))
    numbers, metrics = _floats(data), _floats(data["metrics"])
    return Step(step, epoch, numbers["loss"], numbers["lr"], numbers["norm"], metrics, data.get("parameters"))


def scientific(value: float, digits: int) -> str:
    """`1.500e-5`: so many digits behind the point, and the exponent without a sign or zeros it doesn't need."""
    if not math.isfinite(value):
        return str(value)
    mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def _shown(metrics: Mapping[str, float]) -> list[str]:
    return [f"{name} {value:.6f}" for name, value in metrics.items()]


HEX = "_hex"
"""Behind the name of a number: the same to the bit."""


def _both(numbers: Mapping[str, float]) -> dict[str, Any]:
    """Each number in decimal, where JSON has it, and in hexadecimal."""
    found: dict[str, Any] = {}
    for name, value in numbers.items():
        found[name] = value if math.isfinite(value) else str(value)
        found[name + HEX] = value.hex()
    return found


def _floats(data: Mapping[str, Any]) -> dict[str, float]:
    return {name.removesuffix(HEX): float.fromhex(each) for name, each in data.items() if name.endswith(HEX)}
