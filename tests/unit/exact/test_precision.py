"""The working precision: restored, kept apart between threads, and what more of it gives."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from flint import arb, ctx
from mpmath import mp
from tests.unit.exact.building import bound, run

from presk.exact import normal_tables
from presk.exact.evaluate import evaluate
from presk.exact.precision import LARGEST_BITS, working
from presk.exact.values import to_mpf
from presk.text.diagnostics import PreskError

TEXT = "fn f(x: real[n: 20]) -> real[n: 20] { log(exp(sin(x)) + sqrt(x * x + 1)) * gelu(x) / 3 }"


def test_the_callers_precision_is_put_back() -> None:
    before = ctx.prec
    run("fn f(x: real) -> real { exp(x) }", 1.0, bits=700)
    assert ctx.prec == before
    with pytest.raises(PreskError):
        run("fn f(x: real) -> real { log(x) }", -1.0, bits=700)
    assert ctx.prec == before


def test_it_is_entered_again_by_the_same_thread() -> None:
    with working(100):
        with working(300):
            assert ctx.prec == 300
        assert ctx.prec == 100


@pytest.mark.parametrize("bits", [-1, 0, 1, LARGEST_BITS + 1])
def test_impossible_precisions_are_refused(bits: int) -> None:
    with pytest.raises(PreskError) as caught:
        run("fn f(x: real) -> real { exp(x) }", 1.0, bits=bits)
    assert caught.value.code == "E6012"


def test_threads_at_different_precisions_do_not_meet() -> None:
    program = bound(TEXT)
    x = np.linspace(-3, 3, 20)
    precisions = [40, 64, 128, 256, 500, 1000] * 6
    alone = {bits: evaluate(program, [x], bits=bits).mid.tolist() for bits in set(precisions)}
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda bits: evaluate(program, [x], bits=bits).mid.tolist(), precisions))
    for bits, values in zip(precisions, found, strict=True):
        assert values == alone[bits]


@pytest.mark.parametrize("bits", [24, 53, 64, 128, 256, 512, 513, 1000])
def test_results_are_as_good_as_the_precision(bits: int) -> None:
    program = bound(TEXT)
    x = np.linspace(-3, 3, 20)
    found, better = evaluate(program, [x], bits=bits), evaluate(program, [x], bits=2 * bits + 100)
    with mp.workprec(3000):
        for a, b in zip(found.mid, better.mid, strict=True):
            assert abs(a - b) <= abs(b) * mp.mpf(2) ** (8 - bits)


def test_mpmaths_precision_is_no_matter() -> None:
    with mp.workprec(20):
        few = run(TEXT, np.linspace(-3, 3, 20), bits=300).mid.tolist()
    assert few == run(TEXT, np.linspace(-3, 3, 20), bits=300).mid.tolist()


# The tables of Φ


@pytest.mark.parametrize("bits", [32, 64, 100, 256, 512])
def test_gelu_by_tables_is_gelu_by_erfc(bits: int) -> None:
    source = np.random.default_rng(bits)
    numbers = [
        *source.normal(size=300),
        *source.uniform(-9, 9, size=300),
        0.0,
        1e-30,
        -1e-30,
        2.0**-7,
        2.0**-8,
        7.9999,
        -8.0,
    ]
    with working(bits):
        points = [arb(x) for x in numbers]
        found = normal_tables.gelu(points, bits)
        assert found is not None
    with working(2 * bits + 64):
        for x, got in zip(points, found, strict=True):
            true = x * normal_tables.distributions([x])[0]
            error = abs(to_mpf(got.mid()) - to_mpf(true.mid()))
            with mp.workprec(100):
                assert error <= abs(to_mpf(true.mid())) * mp.mpf(2) ** (4 - bits), x


def test_the_tables_leave_what_they_do_not_cover() -> None:
    with working(64):
        assert normal_tables.gelu([arb(1)], normal_tables.LARGEST_BITS + 1) is None
        far = normal_tables.gelu([arb(-40), (arb(2) ** 3000).mid()], 64)
    assert far is not None
    with mp.workprec(64):
        assert abs(to_mpf(far[0].mid()) / (-40 * mp.ncdf(-40)) - 1) < 1e-15
    with mp.workprec(4000):
        assert abs(to_mpf(far[1].mid()) / mp.mpf(2) ** 3000 - 1) < 1e-15


def test_the_tail_bound_counts_enough_terms() -> None:
    """Four terms fewer are visibly too few, so the bound is no idle one; the full number is right (above)."""
    terms = normal_tables.terms_needed(1, 256)
    assert 20 < terms < 40
    assert normal_tables.terms_needed(8, 256) > terms
    assert normal_tables.terms_needed(1, 64) < terms / 2


@pytest.mark.parametrize("certify", [False, True])
def test_exact_inputs_are_not_rounded_to_the_precision_before_a_decision(certify: bool) -> None:
    text = "fn f(x: real[n: 3]) -> (real[n: 3], bool[n: 3]) { (floor(x), x == 1234567.75) }"
    floors, same = run(text, [1234567.75, -1234567.25, 2.0**52 + 1], bits=8, certify=certify)
    np.testing.assert_array_equal(np.asarray(floors), [1234567, -1234568, 2.0**52 + 1])
    assert same.tolist() == [True, False, False]
