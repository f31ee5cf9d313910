"""Sizes: arithmetic against exact rationals, normal forms, printing, solving and the limits."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import floor

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from presk.shapes.poly import DEPTH_LIMIT, Poly, SizeTooLarge, maximum, minimum, number, provably_at_most, variable

NAMES = ("a", "b", "n_2")
A, B, N = (variable(name) for name in NAMES)

Values = dict[str, int]


@dataclass(frozen=True)
class Expression:
    """A size, and what it is at numbers, computed without Poly."""

    size: Poly
    value: Callable[[Values], Fraction]
    text: str


def leaf_number(value: int) -> Expression:
    return Expression(number(value), lambda _: Fraction(value), str(value))


def leaf_variable(name: str) -> Expression:
    return Expression(variable(name), lambda values: Fraction(values[name]), name)


def combine(operator: str, left: Expression, right: Expression) -> Expression:
    text = f"({left.text} {operator} {right.text})"
    match operator:
        case "+":
            return Expression(left.size + right.size, lambda v: left.value(v) + right.value(v), text)
        case "-":
            return Expression(left.size - right.size, lambda v: left.value(v) - right.value(v), text)
        case "*":
            return Expression(left.size * right.size, lambda v: left.value(v) * right.value(v), text)
        case "/":
            assume(right.size != number(0))
            return Expression(left.size / right.size, lambda v: left.value(v) / right.value(v), text)
        case "max":
            return Expression(maximum(left.size, right.size), lambda v: max(left.value(v), right.value(v)), text)
        case "min":
            return Expression(minimum(left.size, right.size), lambda v: min(left.value(v), right.value(v)), text)
        case _:
            assume(right.size != number(0))
            return Expression(left.size // right.size, lambda v: Fraction(floor(left.value(v) / right.value(v))), text)


LEAVES = st.one_of(st.integers(-3, 5).map(leaf_number), st.sampled_from(NAMES).map(leaf_variable))
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.builds(combine, st.sampled_from(["+", "-", "*", "/", "//", "max", "min"]), inner, inner),
    max_leaves=7,
)
POLYNOMIALS = st.recursive(
    LEAVES, lambda inner: st.builds(combine, st.sampled_from(["+", "-", "*"]), inner, inner), max_leaves=8
)
VALUES = st.fixed_dictionaries({name: st.integers(0, 9) for name in NAMES})


def at(size: Poly, values: Values) -> Fraction:
    found = size.substitute({name: number(value) for name, value in values.items()}).constant
    assert found is not None
    return found


def value_of(expression: Expression, values: Values) -> Fraction:
    try:
        return expression.value(values)
    except ZeroDivisionError:
        assume(False)
        raise


@given(EXPRESSIONS, VALUES)
def test_substitution_is_evaluation(expression: Expression, values: Values) -> None:
    wanted = value_of(expression, values)
    assert at(expression.size, values) == wanted


@given(EXPRESSIONS, VALUES)
def test_printed_size_reads_back(expression: Expression, values: Values) -> None:
    wanted = value_of(expression, values)
    exact = {name: Fraction(value) for name, value in values.items()}
    text = str(expression.size)
    # Integers alone would divide as floats; every number is made a Fraction.
    padded = "".join(f"Fraction({part})" if part.isdigit() else part for part in _tokens(text))
    assert eval(padded, {"Fraction": Fraction, "maximum": max, "minimum": min, **exact}) == wanted


def _tokens(text: str) -> list[str]:
    out: list[str] = []
    for char in text:
        if out and (char.isalnum() or char == "_") and (out[-1][-1].isalnum() or out[-1][-1] == "_"):
            out[-1] += char
        else:
            out.append(char)
    return out


@given(POLYNOMIALS, POLYNOMIALS)
def test_equal_polynomials_have_one_normal_form(left: Expression, right: Expression) -> None:
    grid = [{"a": a, "b": b, "n_2": n} for a in (0, 2, 11, 97) for b in (1, 5, 89) for n in (3, 101)]
    same = all(left.value(values) == right.value(values) for values in grid)
    if left.size == right.size:
        assert same
        assert hash(left.size) == hash(right.size)
    elif same:
        # Different polynomials of low degree agree at few points: they must differ somewhere on a larger grid.
        wide = [{"a": a, "b": b, "n_2": n} for a in range(9) for b in range(9) for n in range(9)]
        assert any(left.value(values) != right.value(values) for values in wide)


@given(POLYNOMIALS, POLYNOMIALS)
def test_a_product_divided_by_a_factor_is_the_other(left: Expression, right: Expression) -> None:
    assume(right.size != number(0))
    assert left.size * right.size / right.size == left.size
    assert left.size / right.size * right.size == left.size


@given(POLYNOMIALS, POLYNOMIALS, POLYNOMIALS)
def test_fractions_over_one_denominator_add(left: Expression, right: Expression, below: Expression) -> None:
    assume(below.size != number(0))
    assert left.size / below.size + right.size / below.size == (left.size + right.size) / below.size


@given(EXPRESSIONS)
def test_sizes_pickle(expression: Expression) -> None:
    assert pickle.loads(pickle.dumps(expression.size)) == expression.size


def test_quotients_cancel() -> None:
    assert A / B * B == A
    assert (A + number(1)) * B / (A + number(1)) == B
    assert number(1) - B / (A + B) == A / (A + B)
    assert (A * A - B * B) / (A + B) == A - B
    assert number(1) / (A / (A + B)) == number(1) + B / A


def test_floors_are_taken_apart() -> None:
    two = number(2)
    assert (A * two + number(3)) // two == A + number(1)
    assert (N - number(3)) // two + number(1) == (N - number(1)) // two
    assert (A * B) // B == A
    assert A // number(1) == A
    assert (N // two) // number(3) == N // number(6)
    assert A // B != A / B


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (A / B / number(2), "a / b / 2"),
        (A // (number(2) * B), "(a // (2 * b))"),
        (number(2) * A - B, "2 * a - b"),
        (-A, "-a"),
        (number(0), "0"),
        ((A + B) // N, "((a + b) // n_2)"),
    ],
)
def test_printing(size: Poly, text: str) -> None:
    assert str(size) == text


@pytest.mark.parametrize("divide", [lambda: A / number(0), lambda: A // number(0), lambda: A / (B - B)])
def test_division_by_zero(divide: Callable[[], Poly]) -> None:
    with pytest.raises(ZeroDivisionError):
        divide()


def test_substitution_that_divides_by_zero() -> None:
    with pytest.raises(ZeroDivisionError):
        (A / B).substitute({"b": number(0)})
    with pytest.raises(ZeroDivisionError):
        (N / (A - B)).substitute({"a": B})


@given(st.integers(1, 6), st.integers(-5, 5), st.integers(0, 40))
def test_linear_sizes_are_solved(slope: int, offset: int, value: int) -> None:
    size = number(slope) * A * B + number(offset)
    solution = size.solve("a", number(value))
    assert solution == (number(value) - number(offset)) / (number(slope) * B)


@pytest.mark.parametrize("size", [A * A, A // B, number(3), B, A + A // number(2), number(1) / A])
def test_other_sizes_are_not(size: Poly) -> None:
    assert size.solve("a", number(6)) is None


@given(POLYNOMIALS, POLYNOMIALS, st.fixed_dictionaries({name: st.integers(1, 9) for name in NAMES}))
def test_provably_at_most_is_certain(left: Expression, right: Expression, values: Values) -> None:
    if provably_at_most(left.size, right.size):
        assert left.value(values) <= right.value(values)


def test_provably_at_most_decides_what_it_should() -> None:
    assert provably_at_most(A, A)
    assert provably_at_most(A, A + B)
    assert provably_at_most(number(1), A)
    assert provably_at_most(number(2), A + B)
    assert not provably_at_most(number(2), A)
    assert not provably_at_most(A, B)


def test_sole_variable_and_whole() -> None:
    assert A.sole_variable == "a"
    assert (A + number(1)).sole_variable is None
    assert (number(2) * A).sole_variable is None
    assert number(4).whole == 4
    assert number(Fraction(1, 2)).whole is None
    assert A.whole is None


def repeated(step: Callable[[Poly], Poly], size: Poly, times: int) -> Poly:
    for _ in range(times):
        size = step(size)
    return size


def test_products_of_sums_end_in_a_diagnostic() -> None:
    base = A + B + N + number(1)
    with pytest.raises(SizeTooLarge) as caught:
        repeated(lambda size: size * base, base, 200)
    assert caught.value.code == "E4005"
    assert pickle.loads(pickle.dumps(caught.value)).code == "E4005"


def test_large_numbers_end_in_a_diagnostic() -> None:
    with pytest.raises(SizeTooLarge):
        repeated(lambda size: size * size, number(10), 64)


def test_nested_floors_end_in_a_diagnostic() -> None:
    with pytest.raises(SizeTooLarge):
        repeated(lambda size: (size + B) // N, A, 2 * DEPTH_LIMIT)
    flat = repeated(lambda size: size // number(2), A, 2 * DEPTH_LIMIT)
    assert flat == A // number(2 ** (2 * DEPTH_LIMIT))


def test_maxima_and_minima_are_decided_as_far_as_possible() -> None:
    assert maximum(A, A + number(1)) == A + number(1)
    assert minimum(A, number(0)) == number(0)
    assert maximum(A, B) == maximum(B, A)
    assert str(maximum(A, number(4))) == "maximum(4, a)"
    assert maximum(A, number(1)) != A, "a size may be 0"
    assert provably_at_most(minimum(A, B), A)
    assert provably_at_most(A, maximum(A, B))
    assert not provably_at_most(maximum(A, B), A)
    assert not provably_at_most(A, minimum(A, B))
    assert provably_at_most(minimum(A, B), maximum(A, N))


@pytest.mark.parametrize(
    "grow",
    [
        lambda size: maximum(minimum(size, B), N * size),
        lambda size: size // number(2) + size // number(3),
        lambda size: number(1) / (size + A) + number(1) / (size + B),
    ],
)
def test_sizes_that_double_are_refused_in_no_time(grow: Callable[[Poly], Poly]) -> None:
    def often() -> None:
        size = A
        for _ in range(10 * DEPTH_LIMIT):
            size = grow(size)

    with pytest.raises(SizeTooLarge):
        often()
