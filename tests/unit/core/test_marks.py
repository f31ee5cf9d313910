"""Marks of cotangents: which a program keeps, and that taking the others away needs a proof."""

from __future__ import annotations

from pathlib import Path

import pytest

from presk.check.program import check_source, load
from presk.core.bind import bind
from presk.core.fact_rules import RULES
from presk.core.printer import print_program
from presk.core.reader import read_program
from presk.core.verify import verify
from presk.primitives.all import TABLE
from presk.text.spans import Source


def marks(text: str, entry: str = "grad(f)") -> list[str]:
    """The marked lets of an entry, which reads back as it prints."""
    checked, found = check_source(Source("test.psk", text))
    assert found == (), text
    program = bind(checked, entry)
    verify(program)
    printed = print_program(program)
    assert print_program(read_program(printed)) == printed
    return [line.split("= ", 1)[1].strip() for line in printed.splitlines() if "cotangent =" in line]


def test_every_primitive_has_a_rule() -> None:
    assert set(RULES) == set(TABLE)


@pytest.mark.parametrize(
    "body",
    [
        "sum(x * rsqrt(mean(square(x)) + 0.00001))",
        "log(sum(exp(minimum(x, 0))))",
        "logsumexp(x) + sum(softmax(x) * tanh(x))",
        "sum(silu(x) + gelu(x) + sigmoid(x) * x)",
        "sum(x / (1 + square(x)))",
        "sum(sqrt(1 + abs(x)))",
        "sum(x / maximum(x, 0.5))",
        "sum(where(x > 0, sin(x), cos(x)))",
    ],
)
def test_a_factor_that_is_a_number_needs_none(body: str) -> None:
    assert marks(f"fn f(x: real[3]) -> real {{ {body} }}") == []


@pytest.mark.parametrize(
    "body",
    [
        "sum(where(x > 0, sqrt(x), 0))",
        "sum(where(x > 0, log(x), 0))",
        "sum(where(x < 1, exp(x), 0))",
        "sum(where(x < 1, 1 / x, 0))",
        "sum(where(x < 1, x * x * x, 0))",
        "sum(where(x < 1, x ** 3, 0))",
        "sum(where(x > 0, rsqrt(x), 0))",
        "sum(where(x > 0, x ** 0.5, 0))",
        "sum(where(x > 0, log1p(x), 0))",
        "sum(where(x > 0, sqrt(square(x)), 0))",
        "sum(where(x < 0, expm1(x), 0))",
    ],
)
def test_a_factor_that_may_be_none_keeps_its_mark(body: str) -> None:
    assert marks(f"fn f(x: real[3]) -> real {{ {body} }}") != []


HALF = "fn half(x: real[3], v: real) -> real { sum(x * rsqrt(v)) }\n"


def test_arguments_are_known_from_calls() -> None:
    positive = HALF + "fn f(x: real[3]) -> real { half(x, mean(square(x)) + 0.001) }"
    assert marks(positive) == []
    any_sign = HALF + "fn f(x: real[3]) -> real { half(x, mean(x)) }"
    assert marks(any_sign) != []
    both = HALF + "fn f(x: real[3]) -> real { half(x, mean(square(x)) + 0.001) + half(x, mean(x)) }"
    assert marks(both) != []


def test_a_loop_is_known_as_it_may_be_in_any_round() -> None:
    grows = "fn f(x: real[3]) -> real { sum(fold s = square(x) + 1 over i in 0..4 { sqrt(s - i) }) }"
    assert marks(grows) != []
    stays = "fn f(x: real[3]) -> real { sum(fold s = square(x) + 1 over i in 0..4 { sqrt(s + 1) }) }"
    assert marks(stays) == []


def test_a_product_of_an_adjoint_marks_both_in_its_own() -> None:
    found = marks("fn f(x: real) -> real { where(x > 0, sqrt(x), 0) }", "grad(grad(f))")
    assert any("cotangent = both" in each for each in found)
    assert marks("fn f(x: real) -> real { where(x > 0, sin(x), 0) }", "grad(grad(f))") == []


def test_a_contraction_keeps_its_mark_where_its_factor_may_be_no_number() -> None:
    entry = "grad(f, wrt = 1)"
    assert marks("fn f(x: real[2, k: 3], w: real[k: 3, 4]) -> real { sum(relu(dot(log(x), w))) }", entry) != []
    assert marks("fn f(x: real[2, k: 3], w: real[k: 3, 4]) -> real { sum(relu(dot(tanh(x), w))) }", entry) == []


@pytest.mark.parametrize(("name", "dims"), [("minigpt", {"batch": 2}), ("llama", {"batch": 2, "S": 8})])
def test_a_gpt_keeps_none(name: str, dims: dict[str, int]) -> None:
    path = Path(__file__).resolve().parents[3] / "examples" / name / f"{name}.psk"
    checked = load(path)
    assert "cotangent =" not in print_program(bind(checked, "grad(loss)", dims=dims))
    assert "cotangent =" in print_program(bind(checked, "grad(loss)", dims=dims, simplified=False))
