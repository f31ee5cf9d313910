"""The plot of a run's losses, drawn by matplotlib where it is installed. Called when a run ends."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from presk.text.files import replacing
from presk.train.events import Measurement, Step

SIZE = (7.0, 4.0)
"""Inches."""

ABSENT = "no plot: matplotlib isn't installed (pip install 'presk[plot]')"


def draw_losses(path: Path, title: str, events: Sequence[Step | Measurement]) -> str | None:
    """Writes the PNG; gives what to tell the user where it can't be drawn. E8002 where it can't be written."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return ABSENT
    figure = cast(Any, Figure)(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    steps = [each for each in events if isinstance(each, Step)]
    measured = [each for each in events if isinstance(each, Measurement)]
    axes.plot([each.step for each in steps], [each.loss for each in steps], linewidth=0.8, label="batches")
    if measured:
        axes.plot([each.step for each in measured], [each.loss for each in measured], marker=".", label="measured")
        axes.legend()
    axes.set(xlabel="step", ylabel="loss", title=title)
    axes.grid(visible=True, alpha=0.3)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)
    return None
