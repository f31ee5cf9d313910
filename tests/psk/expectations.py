"""The claims a test program makes about itself: reading its `#:` lines, and holding values against them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np


@dataclass
class Case:
    """One call of one entry."""

    entry: str
    dims: dict[str, int] = field(default_factory=dict)
    inputs: dict[str, object] = field(default_factory=dict)
    seed: int | None = None
    training: bool = False
    backends: tuple[str, ...] | None = None
    output: object | None = None
    tolerance: float | None = None
    fails: str | None = None


@dataclass
class Claims:
    """All a program claims."""

    errors: list[tuple[str, int, int]] = field(default_factory=list)
    consts: dict[str, str] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)
    formatted: bool = False


def read_claims(path: Path) -> Claims:
    """The claims in the comment lines that open a program. Raises ValueError for one it doesn't understand."""
    claims = Claims()
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not line.startswith("#"):
            break
        if not line.startswith("#:"):
            continue
        word, _, rest = line[2:].strip().partition(" ")
        try:
            _read(claims, word, rest.strip())
        except (ValueError, IndexError) as error:
            raise ValueError(f"{path.name}:{number}: {line}: {error}") from None
    for case in claims.cases:
        if (case.output is None) == (case.fails is None):
            raise ValueError(f"{path.name}: the entry {case.entry} needs an output or a failure")
    return claims


def _read(claims: Claims, word: str, rest: str) -> None:
    if word == "error":
        match = re.fullmatch(r"(E\d{4}) (\d+):(\d+)", rest)
        if match is None:
            raise ValueError("an error is a code and line:column")
        claims.errors.append((match[1], int(match[2]), int(match[3])))
    elif word == "const":
        name, value = rest.split("=")
        claims.consts[name.strip()] = value.strip()
    elif word == "formatted" and not rest:
        claims.formatted = True
    elif word == "entry" and rest:
        claims.cases.append(Case(rest))
    else:
        _read_case(claims.cases[-1] if claims.cases else Case(""), word, rest)


def _read_case(case: Case, word: str, rest: str) -> None:
    if not case.entry:
        raise ValueError("no `entry` line stands before this one, or the claim is unknown")
    if word == "dim":
        name, value = rest.split("=")
        case.dims[name.strip()] = int(value)
    elif word == "init":
        case.seed = int(rest)
    elif word == "training" and not rest:
        case.training = True
    elif word == "input":
        name, _, value = rest.partition("=")
        case.inputs[name.strip()] = value_of(json.loads(value))
    elif word == "output":
        value, _, tolerance = rest.partition("~")
        case.output = value_of(json.loads(value))
        case.tolerance = float(tolerance) if tolerance else None
    elif word == "fails" and re.fullmatch(r"E\d{4}", rest):
        case.fails = rest
    elif word == "on" and rest:
        case.backends = tuple(rest.split())
    else:
        raise ValueError("an unknown claim")


def value_of(data: object) -> object:
    """A JSON value as an argument or result: lists are arrays, `{"tuple": …}` a tuple, other objects trees."""
    if isinstance(data, dict):
        if set(data) == {"tuple"}:
            return tuple(value_of(each) for each in data["tuple"])
        return {key: value_of(each) for key, each in data.items()}
    return np.asarray(data)


def differences(expected: object, actual: object, tolerance: float, where: str = "value") -> list[str]:
    """What is different, a line each; empty where nothing is."""
    if isinstance(expected, tuple):
        if not isinstance(actual, tuple) or len(actual) != len(expected):
            return [f"{where}: expected a tuple of {len(expected)}, got {actual!r}"]
        pairs = [(f"{where}.{index}", *pair) for index, pair in enumerate(zip(expected, actual, strict=True))]
        return [line for name, one, other in pairs for line in differences(one, other, tolerance, name)]
    if isinstance(expected, dict):
        if not isinstance(actual, dict) or set(actual) != set(expected):
            return [f"{where}: expected the fields {sorted(expected)}, got {actual!r}"]
        return [
            line for key in expected for line in differences(expected[key], actual[key], tolerance, f"{where}.{key}")
        ]
    want, got = np.asarray(expected), np.asarray(actual)
    if want.shape != got.shape:
        return [f"{where}: expected the shape {want.shape}, got {got.shape}"]
    if (want.dtype == bool) != (got.dtype == bool):
        return [f"{where}: expected {want.dtype}, got {got.dtype}"]
    if got.dtype.kind in "biu":
        return [] if np.array_equal(want, got) else [f"{where}: expected {want.tolist()}, got {got.tolist()}"]
    error = np.abs(got.astype(np.float64) - want.astype(np.float64)) / np.maximum(1, np.abs(want))
    if np.all(error <= tolerance):
        return []
    return [f"{where}: expected {want.tolist()}, got {got.tolist()}, off by up to {np.max(error)}"]
