"""Names of entries as shells split them are recognized, others left alone."""

from __future__ import annotations

import pytest

from presk.cli.shell import split_entry_hint


@pytest.mark.parametrize(
    ("words", "quoted"),
    [
        (["--entry", "Linear3.apply", "Linear2.apply"], "Linear{3, 2}.apply"),
        (["-e", "Linear3.apply", "Linear2.apply", "--dim", "batch=4"], "Linear{3, 2}.apply"),
        (["-e", "Conv3.apply", "Conv16.apply", "Conv8.apply"], "Conv{3, 16, 8}.apply"),
        (["-e", "AttentionD.causal", "AttentionH.causal"], "Attention{D, H}.causal"),
        (["-e", "LinearI", "LinearO"], "Linear{I, O}"),
        (["--entry", "Linear{3,", "2}.apply"], "Linear{3, 2}.apply"),
        (["--entry", "N{3,", "2,", "eps", "}.apply", "p.psk"], "N{3, 2, eps }.apply"),
    ],
)
def test_a_split_name_is_put_together(words: list[str], quoted: str) -> None:
    assert split_entry_hint(["run", "p.psk", *words]) == (
        f"The shell has split the entry's name; quote it: --entry '{quoted}'"
    )


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--entry"],
        ["--entry", "mse"],
        ["--entry", "mse", "p.psk"],
        ["--entry", "mse", "mse"],
        ["--entry", "Linear{3"],
        ["--entry", "--dim", "batch=4"],
        ["Linear3.apply", "Linear2.apply"],
        ["--entry", "a/b.psk", "a/c.psk.gz"],
    ],
)
def test_other_arguments_are_left_alone(words: list[str]) -> None:
    assert split_entry_hint(words) is None
