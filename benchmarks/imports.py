"""How long `import presk` and `presk --help` take, beside `import numpy` and a bare interpreter.

Medians over processes of their own, in milliseconds. Wanted: `import presk` within 1.3 × `import numpy`, `presk --help`
under 200 ms. Run: .venv/bin/python benchmarks/imports.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

RUNS = 15

COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import numpy": [sys.executable, "-c", "import numpy"],
    "import presk": [sys.executable, "-c", "import presk"],
    "import presk; presk.compile": [sys.executable, "-c", "import presk; presk.compile"],
    "presk --help": [str(Path(sys.executable).parent / "presk"), "--help"],
}


def milliseconds(command: list[str]) -> float:
    """The wall time of one run of a command."""
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - begin) * 1e3


def main() -> None:
    """Prints the median of each command; the runs alternate, so that a busy moment hits all of them."""
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(RUNS):
        for name, command in COMMANDS.items():
            taken[name].append(milliseconds(command))
    for name, times in taken.items():
        print(f"{name:30} {statistics.median(times):7.1f} ms")
    ratio = statistics.median(taken["import presk"]) / statistics.median(taken["import numpy"])
    print(f"import presk / import numpy: {ratio:.2f}")


if __name__ == "__main__":
    main()
