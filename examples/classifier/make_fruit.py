"""Writes fruit.csv beside this file: an invented table of 180 fruits, the three kinds in turn."""

import csv
import io
import random
from pathlib import Path

ROWS = 180
KINDS = {
    # mean and deviation of: mass in g, width in cm, height in cm, yellowness of the skin (clipped to 0 … 1)
    "apple": ((170, 25), (7.4, 0.5), (6.8, 0.5), (0.35, 0.2)),
    "lemon": ((115, 20), (5.8, 0.4), (8.0, 0.7), (0.9, 0.08)),
    "orange": ((190, 30), (7.6, 0.5), (7.5, 0.5), (0.6, 0.1)),
}


def table() -> str:
    """The file's text: the same every time."""
    source = random.Random(1)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["mass", "width", "height", "yellow", "kind"])
    for row in range(ROWS):
        kind = list(KINDS)[row % len(KINDS)]
        mass, width, height, yellow = (source.gauss(*each) for each in KINDS[kind])
        writer.writerow([f"{mass:.0f}", f"{width:.1f}", f"{height:.1f}", f"{min(max(yellow, 0), 1):.2f}", kind])
    return out.getvalue()


if __name__ == "__main__":
    (Path(__file__).parent / "fruit.csv").write_text(table(), encoding="utf-8", newline="")
