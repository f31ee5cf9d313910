"""Radii that swamp their values: an evaluation ends at that round, unless no result depends on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.exact.building import bound, run

from presk.exact.evaluate import attempt, refusal
from presk.text.diagnostics import PreskError

CHAOS = "fold x = x over i in 0..N { 4 * x * (1 - x) }"


def tried(text: str, *arguments: Any, bits: int = 64, entry: str = "f") -> Any:
    return attempt(bound(text, entry), [np.asarray(each) for each in arguments], bits=bits)


@pytest.mark.parametrize("bits", [64, 128, 256])
def test_a_chaotic_orbit_ends_where_nothing_is_left(bits: int) -> None:
    found = tried(f"const N = 100000\nfn f(x: real) -> real {{ {CHAOS} }}", 0.3, bits=bits)
    assert found.values is None
    error = refusal(found.short, found.bits)
    assert error.code == "E6008"
    (said,) = error.diagnostics
    assert said.span is not None
    assert "`fold` at f/%" in said.message
    lost = int(said.message.split("in round ")[1].split(" of 100000")[0])
    assert bits / 2 - 10 < lost < bits / 2 + 30


def test_the_element_is_named_and_more_bits_reach_further() -> None:
    text = "const N = 150\nfn f(x: real[n: 3]) -> real[n: 3] { " + CHAOS + " }"
    short = tried(text, [0.0, 0.3, 0.75]).short
    assert (short.code, short.position) == ("E6008", 1)
    found = tried(text, [0.0, 0.3, 0.75], bits=512)
    assert found.short is None
    assert max(found.values.radius.tolist()) < 1e-30


@pytest.mark.parametrize(
    "body",
    [
        "let y = BODY; where(x > 5, y, 2 * x)",
        "let (y, z) = fold (a, b) = (x, x) over i in 0..N { (4 * a * (1 - a), b / 2 + 0.3) }; z + 0.0",
        "let y = fold y = x over i in 0..N { where(i < 990, 4 * y * (1 - y), 2 * x) }; y / 1",
    ],
)
def test_what_no_result_depends_on_may_be_lost(body: str) -> None:
    text = f"const N = 1000\nfn f(x: real) -> real {{ {body.replace('BODY', CHAOS)} }}"
    found = tried(text, 0.3)
    assert found.short is None
    assert float(found.values) == pytest.approx(0.6)


def test_a_scan_keeps_what_came_before() -> None:
    scan = "let (last, xs) = scan x = x over i in 0..N { (4 * x * (1 - x), x) }"
    text = "const N = 5000\nfn f(x: real) -> real { " + scan + "; xs[i = 0] + xs[i = 1] }"
    assert float(tried(text, 0.5).values) == 1.5
    lost = "const N = 5000\nfn f(x: real) -> real { " + scan + "; xs[i = 4999] }"
    assert tried(lost, 0.3).short.code == "E6008"


def test_nested_loops_name_both_rounds() -> None:
    text = "fn f(x: real) -> real { fold x = x over j in 0..1000 { fold x = x over i in 0..20 { 4 * x * (1 - x) } } }"
    short = tried(text, 0.3).short
    assert "within rounds [" in short.reason
    assert "of 20" in short.reason


def test_large_exact_numbers_are_not_lost() -> None:
    text = "fn f(x: real) -> real { log(fold x = x over i in 0..40 { x * x }) }"
    assert float(run(text, 2.0, certify=True)) == pytest.approx(np.log(2) * 2.0**40)


def test_wide_radii_that_do_not_run_away_stay() -> None:
    text = "fn f(x: real) -> real { fold x = sin(x) - 1 / 3 over i in 0..1000 { 3 * x - x } }"
    found = tried(text, 0.3)
    assert found.short is None
    assert found.values.radius[()] > 1e200
    bounded = "fn f(x: real) -> real { let y = fold y = sin(x) over i in 0..9000 { 3 * y - y }; 3 + sin(y) / 1e30 }"
    found = tried(bounded, 0.3)
    assert float(found.values) == 3
    assert found.values.radius[()] < 1e-29


def test_exponentials_in_a_row_are_refused() -> None:
    with pytest.raises(PreskError) as caught:
        run(
            "fn f(x: real) -> real { fold x = sin(x) - sin(x + 1 - 1) over i in 0..N { exp(x * 1e30) } }\nconst N = 60",
            0.3,
            certify=True,
        )
    assert caught.value.code in ("E6008", "E6006")


@pytest.mark.parametrize("certify", [True, False])
@pytest.mark.parametrize("x", [2.0, -0.7])
def test_exponents_that_run_away_are_refused_soon(certify: bool, x: float) -> None:
    square = "fn f(x: real) -> real { fold x = x over i in 0..N { x * x } }\nconst N = 10000000"
    power = "fn f(x: real) -> real { fold x = x over i in 0..N { (x ** 1000) ** 1000 } }\nconst N = 1000000"
    nested = (
        "fn f(x: real) -> real { fold x = x over i in 0..N { fold x = x over j in 0..9 { x * x } } }\nconst N = 90000"
    )
    for text in (square, power, nested):
        with pytest.raises(PreskError) as caught:
            run(text, x, certify=certify)
        assert caught.value.code in ("E6006", "E6008")
        assert "round" in caught.value.diagnostics[0].message
    unread = "fn f(x: real) -> real { let y = fold z = x over i in 0..N { z * z }; where(x > 5, y, 2 * x) }"
    assert float(run(f"const N = 9999999\n{unread}", x, certify=certify)) == 2 * x
