"""Mutated texts of PSK-Core: each is read, or refused with a diagnostic; what is read simplifies and is partitioned.

`PRESK_FUZZ` is the number of cases in all, of which these are a tenth. The seeds are fixed.
"""

from __future__ import annotations

import os
import random

from tests.unit.core.generate import random_program
from tests.unit.core.laws import check_partition
from tests.unit.core.test_text import EVERYTHING, mutated, read_or_refuse

from presk.core.groups import partition
from presk.core.printer import print_program
from presk.core.reader import read_program
from presk.core.simplify import simplify

CASES = max(60, int(os.environ.get("PRESK_FUZZ", "1000")) // 10)
EACH = 6
"""Mutants of one program."""


def test_mutants_of_core_text() -> None:
    readable = 0
    for seed in range(CASES // EACH):
        rng = random.Random(seed)
        text = print_program(random_program(seed)) if seed % 3 else EVERYTHING
        for _ in range(EACH):
            mutant = mutated(text, rng)
            if not read_or_refuse(mutant):
                continue
            readable += 1
            for function in simplify(read_program(mutant)).functions:
                check_partition(function, partition(function))
    assert readable, "some mutants stay Core"
