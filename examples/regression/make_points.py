"""Writes points.csv beside this file: 256 points (x, y) with y = sin(2x) + x/2 and normal noise of deviation 0.1."""

import csv
import io
import math
import random
from pathlib import Path

POINTS = 256
NOISE = 0.1


def table() -> str:
    """The file's text: the same every time."""
    source = random.Random(1)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["x", "y"])
    for _ in range(POINTS):
        x = source.uniform(-2, 2)
        y = math.sin(2 * x) + x / 2 + source.gauss(0, NOISE)
        writer.writerow([f"{x:.4f}", f"{y:.4f}"])
    return out.getvalue()


if __name__ == "__main__":
    (Path(__file__).parent / "points.csv").write_text(table(), encoding="utf-8", newline="")
