"""The suite itself: it covers everything there is, and it finds what is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.unit.choose.rounding import Faulty, Rounding

from presk.check.program import load
from presk.choose.conformance import suite
from presk.choose.conformance.cases import EXAMPLES, PRIMITIVES, SIZES, WITHOUT_CASE, Case, cases, prepare
from presk.choose.conformance.listed import LISTED, Reason
from presk.choose.conformance.suite import BANDS, BEYOND, LISTED_BEYOND, WITHIN, run_case
from presk.core.nodes import Apply
from presk.core.printer import bodies
from presk.primitives.all import TABLE
from presk.run import trees

NOT_IN_CORE = {
    "constant": "an initializer: no let holds it",
    "dropout": "a mask and a product in training, nothing otherwise: `dropout_mask` is what draws",
}
"""Primitives that no Core has, and so no case."""


def named(name: str, group: str = "primitive") -> Case:
    return next(case for case in cases([group]) if case.name == name)


def test_every_primitive_is_measured() -> None:
    measured: set[str] = set()
    for case in (case for case in cases(["primitive", "gradient"]) if case.path == PRIMITIVES):
        for function in prepare(case).program.functions:
            lets = [let.value for body in bodies(function.body) for let in body.lets]
            measured |= {value.primitive for value in lets if isinstance(value, Apply)}
    assert measured | NOT_IN_CORE.keys() == TABLE.keys()
    assert not measured & NOT_IN_CORE.keys()


def test_every_entry_of_every_example_is_measured() -> None:
    files = {path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.rglob("*.psk")}
    assert files == SIZES.keys()
    for file, (_, entries) in SIZES.items():
        declared = {_bare(each.name) for each in load(EXAMPLES / file).entries()}
        measured = {_bare(name) for name in entries} - {"LayerNorm.apply", "RMSNorm.apply"}
        assert measured | WITHOUT_CASE.get(file, {}).keys() == declared, file


def _bare(name: str) -> str:
    return name.partition("{")[0] + name.partition("}")[2] if "{" in name else name


def test_names_are_different_and_what_is_listed_exists() -> None:
    every = [(case.group, case.name) for case in cases()]
    assert len(set(every)) == len(every)
    assert LISTED.keys() <= set(every)


def test_drawn_cases_have_no_zeros_left() -> None:
    before, after = (prepare(named("minigpt: MiniGPT.apply", group)).values[0] for group in ("example", "drawn"))
    assert not before["head"]["w"].any()
    assert all(leaf.any() for _, leaf in trees.leaves(after))
    np.testing.assert_array_equal(before["tok"]["w"], after["tok"]["w"])


def test_a_case_without_zeros_is_not_drawn_again() -> None:
    names = {case.name for case in cases(["drawn"])}
    assert "norms: RMSNorm{8}.apply" not in names
    assert "norms: LayerNorm{8}.apply" in names


@pytest.mark.parametrize("name", ["exp", "add", "sum", "softmax", "argmax_ties", "dropout", "scatter_add"])
def test_a_machine_that_rounds_once_is_within_its_band(name: str) -> None:
    rows = run_case(Rounding(), named(name))
    assert [row.realization for row in rows] == ["f64", "f32"]
    for row in rows:
        assert row.verdict == WITHIN
        assert row.gap <= 2.0**-7 * BANDS[row.realization].epsilon


@pytest.mark.parametrize("change", [lambda x: x * (1 + 2.0**-12), lambda x: x + np.nan, lambda x: -x])
def test_a_machine_that_is_wrong_is_beyond_its_band(change: Any) -> None:
    def leaf(array: Any) -> Any:
        return change(array).astype(array.dtype) if array.dtype.kind == "f" else array

    assert {row.verdict for row in run_case(Faulty(leaf), named("exp"))} == {BEYOND}


def test_a_wrong_decision_is_beyond_every_band() -> None:
    row, _ = run_case(Faulty(lambda x: (x + 1) % 16), named("argmax"))
    assert (row.verdict, row.different, row.elements) == (BEYOND, 8, 8)


@pytest.mark.parametrize(
    ("offset", "eased", "verdict"),
    [(2.0**-20, True, LISTED_BEYOND), (1.0, True, BEYOND), (1.0, False, LISTED_BEYOND), (np.nan, False, BEYOND)],
)
def test_a_listed_case_is_held_to_the_magnitude_of_its_terms(
    monkeypatch: pytest.MonkeyPatch, offset: float, eased: bool, verdict: str
) -> None:
    case = replace(named("norms: moments", "example"), realizations=("f32",))
    monkeypatch.setattr(suite, "LISTED", {})
    (before,) = run_case(Faulty(lambda x: (x + offset).astype(x.dtype)), case)
    assert before.verdict == BEYOND
    reasons = {("example", case.name): {"f32": Reason("centred rows have mean 0", eased)}}
    monkeypatch.setattr(suite, "LISTED", reasons)
    (row,) = run_case(Faulty(lambda x: (x + offset).astype(x.dtype)), case)
    assert row.verdict == verdict
    if eased:
        assert row.condition is not None and row.eased is not None
        assert row.condition > 1e3
        assert row.eased < row.gap
