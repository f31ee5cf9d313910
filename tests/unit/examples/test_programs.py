"""Every program that ships: it is in canonical form, says what it is, and its entries run on made-up inputs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.examples.running import PROGRAMS, compiled, load, name_of, over

from presk.syntax import tree
from presk.syntax.formatter import format_source
from presk.syntax.parser import parse_or_raise
from presk.text.spans import Source

SMALL = {
    "examples/bert/bert.psk": {"V": 11, "D": 8, "H": 2, "L": 2, "F": 12, "T": 5},
    "examples/numerics/lorenz.psk": {"N": 20},
    "examples/cnn/cnn.psk": {"S": 4, "C": 2},
}
"""Constants that are reduced here."""

SIZES = {"batch": 2, "G": 1, "H": 2, "D": 4, "E": 4, "F": 6, "Y": 4, "X": 5, "T": 5}
"""Sizes that are no free choice, or that tell axes apart; the others are 3."""

GIVEN = {
    ("examples/numerics/cholesky.psk", "a"): np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 1.0], [0.5, 1.0, 2.0]]),
    ("examples/numerics/cholesky.psk", "l"): np.array([[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [1.0, 1.0, 1.0]]),
    ("examples/numerics/newton.psk", "x"): 1.5,
    ("examples/numerics/lorenz.psk", "h"): 0.01,
}
"""Inputs where not every number will do, by program and parameter."""


def parsed(path: Path) -> tree.File:
    return parse_or_raise(Source(str(path), path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", PROGRAMS, ids=name_of)
def test_it_is_in_canonical_form(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert format_source(Source(str(path), text)) == text


@pytest.mark.parametrize("path", PROGRAMS, ids=name_of)
def test_its_declarations_say_what_they_are(path: Path) -> None:
    lesson = "tutorial" in path.parts
    silent: list[str] = []
    for each in parsed(path).declarations:
        if isinstance(each, tree.Import) or (lesson and isinstance(each, tree.Const)):
            continue
        silent.extend([each.name] if not each.doc else [])
        if isinstance(each, tree.Module) and not lesson:
            silent.extend(f"{each.name}.{function.name}" for function in each.functions if not function.doc)
    assert not silent


def instance(name: str) -> str:
    """An entry's name as `entries()` lists it, at small module parameters; real ones keep their defaults."""
    head, brace, rest = name.partition("{")
    if not brace:
        return name
    inside, _, tail = rest.partition("}")
    nats = [each.strip() for each in inside.split(",") if re.fullmatch(r"[A-Z]\w*", each.strip())]
    sizes = ", ".join(str(SIZES.get(each, 3)) for each in nats)
    return f"{head}{{{sizes}}}{tail}" if nats else f"{head}{tail}"


def runnable() -> list[tuple[Path, str, tuple[str, ...]]]:
    """Every entry but those that take functions or parameter trees of any type: they have tests of their own."""
    found: list[tuple[Path, str, tuple[str, ...]]] = []
    for path in PROGRAMS:
        entries = [each for each in load(path).entries() if "[" not in each.name and "fn(" not in each.signature]
        found.extend((path, instance(each.name), each.free_dimensions) for each in entries)
    return found


@pytest.mark.parametrize(
    ("path", "entry", "free"), [pytest.param(*each, id=f"{name_of(each[0])}:{each[1]}") for each in runnable()]
)
def test_it_runs(path: Path, entry: str, free: tuple[str, ...]) -> None:
    program = load(path, **SMALL.get(name_of(path), {}))
    dims = {name: SIZES.get(name, 3) for name in free if name != ".."}
    function = compiled(program, entry, bits=64, dims=dims | ({"batch": 2} if ".." in free else {}))
    given = {
        name: value for (where, name), value in GIVEN.items() if where == name_of(path) and name in function.parameters
    }
    result = function(**function.synthesize(seed=1, **given))
    leaves: list[Any] = []
    over(result, lambda leaf: leaves.append(np.asarray(leaf)))
    assert leaves
    assert all(np.isfinite(leaf).all() for leaf in leaves)
