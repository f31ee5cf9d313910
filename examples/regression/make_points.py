"""Writes points.csv beside this file: 256 points (x, y) with y = sin(2x) + x/2 and normal noise of deviation 0.1."""

import csv
import math
import random
from pathlib import Path

POINTS = 256
NOISE = 0.1


def main() -> None:
    source = random.Random(1)
    with (Path(__file__).parent / "points.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["x", "y"])
        for _ in range(POINTS):
            x = source.uniform(-2, 2)
            y = math.sin(2 * x) + x / 2 + source.gauss(0, NOISE)
            writer.writerow([f"{x:.4f}", f"{y:.4f}"])


if __name__ == "__main__":
    main()
