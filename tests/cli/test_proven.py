"""What `run` and `gap` show of the reference is proven, and takes the bits that it needs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Run

PROGRAM = """
fn logistic(x: real) -> real { fold x = x over i in 0..400 { 4 * x * (1 - x) } }
fn quotient(x: real[n]) -> real[n] { (exp(x) - 1) / x }
fn zero(x: real) -> real { exp(2 * x) - exp(x) * exp(x) }
fn clock() -> real { fold t = 0 over i in 0..360 { t + 0.1 } - 36 }
fn near(x: real[n]) -> real[n] { (1 + exp(x)) - 1 }
fn one_site(x: real, y: real) -> real { sqrt((x + y) - x - y / 2) }
fn two_sites(x: real[n], y: real[n]) -> real[n] { sqrt(cumsum((x + y) - x - y / 2, axis = 0)) }
fn log_sites(x: real[n], y: real[n]) -> real[n] { log(cumsum((x + y) - x, axis = 0)) }
fn reciprocal(x: real[n], y: real[n]) -> real[n] { 1 / cumsum((x + y) - x, axis = 0) }
fn decided(x: real[n: 2], y: real[n: 2]) -> nat < 2 { argmax(cumsum(two_sites(x, y), axis = 0)) }
fn hidden(x: real[n]) -> real[n] { exp(-cumsum(exp(x), axis = 0)) }
fn twice(x: real[n]) -> real[n] { 2 * x }
"""
LOGISTIC = "0.77075927163972751927684409821108304300587196014279"
"""After 400 rounds from 0.3: mpmath at 2000 bits, and python-flint at 8192."""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "proven.psk"
    path.write_text(PROGRAM)
    return str(path)


def run(presk: Run, file: str, entry: str, *options: str) -> tuple[str, str]:
    answer = presk("run", file, "--backend", "interp", "-e", entry, *options)
    assert answer.code == 0, answer.err
    return answer.out.splitlines()[1], answer.err


def test_bits_are_raised_until_the_digits_are_proven(presk: Run, file: str) -> None:
    shown, notes = run(presk, file, "logistic", "-i", "x=0.3")
    assert shown.startswith(LOGISTIC)
    assert re.fullmatch(r"\S+ ± \de-7\d", shown)
    assert re.match(r"note: proven at 1024 bits, 256 weren't enough \(3 evaluations, [\d.]+ times the cost", notes)
    assert run(presk, file, "logistic", "-i", "x=0.3", "-q") == (shown, "")
    more, _ = run(presk, file, "logistic", "-i", "x=0.3", "--digits", "100")
    assert more.startswith(LOGISTIC)
    assert len(more.partition(" ")[0]) > 100


def test_bits_alone_are_fixed_and_show_what_they_prove(presk: Run, file: str) -> None:
    assert run(presk, file, "quotient", "-i", "x=[1e-75, 0.5]", "--bits", "256")[0] == (
        "[1 ± 0.04 1.2974425414002563]"
    ), "a radius of 0.018 around 0.985"
    assert run(presk, file, "quotient", "-i", "x=[1e-75, 0.5]")[0] == "[1.0000000000000000 1.2974425414002563]"
    assert run(presk, file, "zero", "-i", "x=0.3", "--bits", "256")[0] == "0 ± 9e-77"


def test_what_is_zero_takes_all_bits_and_says_so(presk: Run, file: str) -> None:
    shown, notes = run(presk, file, "zero", "-i", "x=0.3", "--max-bits", "1000", "--bits", "100", "--digits", "9")
    assert re.fullmatch(r"0 ± \de-\d+", shown)
    assert "1000 bits, the most (--max-bits), don't prove 9 digits of every number" in notes


def test_midpoints_are_marked(presk: Run, file: str) -> None:
    shown, notes = run(presk, file, "logistic", "-i", "x=0.3", "--no-certify", "--bits", "128")
    assert shown == "≈ 0.4011485893631847324495691611631153424626"
    assert not notes
    data = json.loads(
        presk("run", file, "--backend", "interp", "-e", "zero", "-i", "x=0.3", "--no-certify", "--json").out
    )
    assert data["proven"] is False
    assert "radius" not in data


def test_data_has_proven_digits_alone(presk: Run, file: str) -> None:
    options = ("-e", "quotient", "-i", "x=[1e-75, 0.5]", "--json", "--bits", "256")
    data = json.loads(presk("run", file, "--backend", "interp", *options).out)
    assert data["values"][0] == "1"
    assert data["radius"][0] == "0.04"
    assert data["values"][1].startswith("1.297442541400256293697301575628327143307")
    assert data["hex"][0] is None, "its ball doesn't decide which double is nearest"
    assert data["hex"][1] == (1.2974425414002564).hex()


def gap(presk: Run, file: str, entry: str, *options: str) -> str:
    answer = presk("gap", file, "-e", entry, "--realize", "f64", *options)
    assert answer.code == 0, answer.err
    return answer.out


def test_a_gap_takes_the_bits_it_needs(presk: Run, file: str) -> None:
    text = gap(presk, file, "logistic", "-i", "x=0.3")
    assert "against the reference at 1024 bits (proven; 256 weren't enough)" in text
    assert "result: worst, 0.77075927163972751928 over ℝ" in text
    fixed = presk("gap", file, "-e", "quotient", "-i", "x=[1e-75]", "--bits", "256", "--max-gap", "0.5")
    assert "at 256 bits (proven)" in fixed.out
    assert fixed.code == 1


def test_what_can_not_be_told_from_zero_has_no_shares(presk: Run, file: str) -> None:
    for options in ((), ("--no-certify",)):
        text = gap(presk, file, "clock", *options)
        assert "result: can't be told from 0 over ℝ: relative figures, and shares of it, are left out" in text
        assert "no result can be told from 0 over ℝ: shares of it are left out" in text
        assert not re.search(r"e\+\d", text)
    assert "over ℝ and" in text
    assert presk("gap", file, "-e", "clock", "--max-gap", "1e-3").code == 1
    assert presk("gap", file, "-e", "clock", "--max-gap", "1e-3", "--norm", "abs").code == 0


def test_a_radius_is_not_an_error(presk: Run, file: str) -> None:
    text = gap(presk, file, "near", "-i", "x=[-200, 0]")
    assert "result: 1 of 2 elements is exact within " in text
    assert "1 of 2 elements is too close to 0 over ℝ to be told from it: no relative figure" in text
    assert gap(presk, file, "near", "-i", "x=[-200, 0]", "--max-gap", "1e-60")
    assert "–" not in text


@pytest.mark.parametrize(
    ("entry", "inputs", "first"),
    [
        (
            "one_site",
            ("x=1", "y=1e-20"),
            "`sqrt`, line 7, is nan on the machine; on the machine's own inputs the exact",
        ),
        ("two_sites", ("x=[1]", "y=[1e-20]"), "two_sites/%7 at [0], `sqrt`, line 8, is nan on the machine; "),
        ("log_sites", ("x=[1]", "y=[1e-20]"), "log_sites/%5 at [0], `log`, line 9, is -inf on the machine; "),
        ("reciprocal", ("x=[2, 1]", "y=[1, 1e-20]"), None),
        ("reciprocal", ("x=[1]", "y=[1e-20]"), "isn't defined: `div` divides by zero"),
        ("decided", ("x=[1, 1]", "y=[1e-20, 1e-20]"), "two_sites/%7 at [0], `sqrt`, line 8, is nan on the machine; "),
        ("hidden", ("x=[800, 1]",), "at [0], `exp`, line 12, is inf on the machine; on the machine's own inputs"),
    ],
)
def test_what_the_machine_lost_is_reported(
    presk: Run, file: str, entry: str, inputs: tuple[str, ...], first: str | None
) -> None:
    text = gap(presk, file, entry, *(part for each in inputs for part in ("-i", each)))
    assert ("first lost: " in text) == (first is not None)
    assert first is None or first in text


def test_inputs_that_a_type_can_not_hold_are_named(presk: Run, file: str) -> None:
    answer = presk("gap", file, "-e", "twice", "-i", "x=[1, 1e300]")
    assert answer.code == 0, answer.err
    assert "first lost: `x` at [1] is inf as it is stored" in answer.out
