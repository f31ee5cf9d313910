"""Sites whose results are rounded, in machine code as in the interpreter: primitives, examples, gradients."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import pytest
from tests.native.comparing import assert_same_bits, cases_of

import presk
from presk.choose.conformance.cases import Case, prepare
from presk.core.sites import sites

PICKED = list(chain(cases_of("primitive")[::4], cases_of("example")[::23], cases_of("gradient")[1::27]))


def realizations(keys: Sequence[str]) -> list[presk.Realization]:
    """All sites rounded, over f32 and f64; every second one, among sites of other types."""
    every, some = dict.fromkeys(keys, "bf16"), dict.fromkeys(keys[::2], "bf16")
    mixed = presk.Realization("f32", round=some, storage=dict.fromkeys(keys[1::3], "bf16"))
    return [presk.Realization("f32", round=every), presk.Realization("f64", round=every), mixed]


@pytest.mark.parametrize("case", PICKED, ids=lambda case: f"{case.group} {case.name}")
def test_rounded_sites_have_the_interpreters_bits(case: Case) -> None:
    made = prepare(case)
    for realization in realizations([site.key for site in sites(made.program)]):
        assert_same_bits(made.program, made.values, realization, seed=5)
