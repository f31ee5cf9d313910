"""Programs with a fault, by the thousand: checking and binding end in a diagnostic, or in Core that holds.

`PRESK_FUZZ` is the number of cases in all. The seeds are fixed, so that a failure names its case. Most changes keep
the text well-formed, so that it comes as far as the checker.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections import Counter
from itertools import pairwise

import pytest
from tests.unit.syntax.trees import PROGRAMS, ROOT

from presk.check.program import Checked, check_source
from presk.core.bind import bind
from presk.core.printer import print_program
from presk.core.reader import read_program
from presk.core.verify import verify
from presk.primitives.all import TABLE
from presk.syntax.lexer import tokenize
from presk.text.diagnostics import PreskError
from presk.text.spans import Source

CASES = int(os.environ.get("PRESK_FUZZ", "1000"))
SHARE = 0.12
"""What a case costs is a hundred times what one of the parser's does."""

SLOWEST = 10.0
"""Seconds of the processor no single case may take."""

PATHS = [*PROGRAMS, *sorted((ROOT / "tests" / "psk").rglob("*.psk"))]
TEXTS = [(path, path.read_text("utf-8")) for path in PATHS]

NUMBERS = ["0", "1", "2", "3", "7", "64", "1.5", "-1", "(0 - 3)", "1e-30", "10 ** 30", "(1 / 3)", "sqrt(2)", "true"]
OPERATORS = ["+", "-", "*", "/", "//", "**", "<", "<=", "==", "!=", "and", "or"]
WORDS = [*sorted(name for name, row in TABLE.items() if not row.internal), "grad", "vjp", "self", "x", "n", "nn"]
KINDS = ["real", "bool", "nat", "(real, real)", "{a: real}", "P", "nat < 5", "fn(real) -> real"]
SIZES = [0, 0, 1, 1, 2, 3, 4, 5, 7, 10**6, 10**30]


def pieces(text: str) -> list[str]:
    """The tokens of a text, each with what stands before it."""
    tokens = tokenize(Source("x", text))[0].tokens
    ends = [0, *(token.end for token in tokens)]
    return [text[start:stop] for start, stop in pairwise(ends)]


def mutated(rng: random.Random, text: str) -> str:
    """The text with a few of its words, numbers and operators replaced, and now and then something left out."""
    found = pieces(text)
    names = [piece.strip() for piece in found if re.fullmatch(r"\s*[A-Za-z_]\w*", piece)]
    for _ in range(rng.choice([1, 1, 1, 2, 3, 6])):
        at = rng.randrange(len(found))
        word = found[at].strip()
        lead = found[at][: len(found[at]) - len(found[at].lstrip())]
        if re.fullmatch(r"[\d._e]+", word):
            found[at] = lead + rng.choice([*NUMBERS, *names])
        elif word in ("real", "bool", "nat"):
            found[at] = lead + rng.choice(KINDS)
        elif word in OPERATORS:
            found[at] = lead + rng.choice(OPERATORS)
        elif word in ("fold", "scan"):
            found[at] = lead + rng.choice(["fold", "scan"])
        elif re.fullmatch(r"[A-Za-z_]\w*", word):
            found[at] = lead + rng.choice([*names, *WORDS, *NUMBERS])
        elif word == "," and rng.random() < 0.5:
            del found[at : at + rng.choice([1, 2])]
        elif rng.random() < 0.2:
            found.insert(at, found[rng.randrange(len(found))])
    return "".join(found)


def bound(rng: random.Random, checked: Checked, seen: Counter[str]) -> None:
    """Binds an entry or two at random sizes; Core that comes of it holds, and reads back as it prints."""
    entries = checked.entries()
    for entry in rng.sample(entries, min(2, len(entries))):
        name = re.sub(r"\{(.*?)\}", lambda found: "{" + ", ".join("3" for _ in found[1].split(",")) + "}", entry.name)
        name = re.sub(r"\[.*\]", "", name) if rng.random() < 0.5 else re.sub(r"\[.*\]", "[M]", name)
        dims = {dim if dim != ".." else "batch": rng.choice(SIZES) for dim in entry.free_dimensions}
        try:
            program = bind(checked, name, dims=dims, training=rng.random() < 0.5, simplified=rng.random() < 0.5)
        except PreskError as error:
            seen[error.code] += 1
            error.render().encode()
            continue
        seen["bound"] += 1
        verify(program)
        text = print_program(program)
        assert print_program(read_program(text)) == text


def test_mutated_programs_are_checked_or_refused() -> None:
    seen: Counter[str] = Counter()
    for case in range(max(40, int(CASES * SHARE))):
        rng = random.Random(f"check {case}")
        path, text = rng.choice(TEXTS)
        changed = mutated(rng, text)
        began = time.process_time()
        try:
            checked, found = check_source(Source("x", changed), path)
            assert len(found) <= 20
            for each in found:
                seen[each.code] += 1
                shown = each.render()
                shown.encode("utf-8", errors="surrogatepass")
                assert not re.search(r"\?[A-Za-z_]", each.message), shown
            if not found:
                bound(rng, checked, seen)
        except PreskError as error:
            pytest.fail(f"case {case} raises {error.code} instead of giving it: {error}")
        except Exception as error:
            raise AssertionError(f"case {case}, of {path.name}:\n{changed}") from error
        assert time.process_time() - began < SLOWEST, case
    assert seen["bound"] > 0
    assert len(seen) > 10, seen
