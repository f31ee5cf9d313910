"""Realizations and plans by their short names."""

from __future__ import annotations

import pytest

from presk.realization.model import NAMES, RULES, Realization, read_plan, read_realization
from presk.text.diagnostics import PreskError


@pytest.mark.parametrize("name", NAMES)
def test_a_short_name_reads_back(name: str) -> None:
    assert read_realization(name).name == name


def test_names_mean_types_and_fma() -> None:
    assert read_realization("bf16") == Realization("bf16", fma=False)
    assert read_realization("f32+fma") == Realization("f32", fma=True)
    assert [read_plan(rule).rule for rule in RULES] == list(RULES)


@pytest.mark.parametrize("text", ["", "f16", "f32 ", "bf16+fma", "F32", "@", "f32+fma+fma"])
def test_other_texts_are_refused(text: str) -> None:
    for read in (read_realization, read_plan):
        with pytest.raises(PreskError) as caught:
            read(text)
        assert caught.value.code == ("E9003" if text.startswith("@") else "E7001")
        assert caught.value.hint
