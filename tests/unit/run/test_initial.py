"""Initial parameters: each leaf's draw, layers, several draws in one initializer, and the table of functions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from presk import draw
from presk.check import static
from presk.check.initial import Combine, Draw, Fill, Leaf
from presk.exact.constants import round_constant
from presk.primitives.all import TABLE
from presk.run.initial import COMBINED, draw_leaf
from presk.shapes.constants import apply, rational
from presk.shapes.poly import number
from presk.shapes.types import Axis, Tensor


def leaf(initial: object, *sizes: int, layers: tuple[int, ...] = ()) -> Leaf:
    return Leaf(("att", "w"), Tensor("real", tuple(Axis(None, number(each)) for each in sizes)), layers, initial)


def normal(of: int = 0) -> Draw:
    return Draw("normal", rational(1), rational(0), of)


def test_a_constant_is_rounded_once() -> None:
    third = draw_leaf(leaf(Fill(rational(Fraction(1, 3))), 2), 0)
    assert third.tolist() == [1 / 3, 1 / 3]
    root = draw_leaf(leaf(Fill(apply("sqrt", rational(2)))), 0)
    assert root.shape == ()
    assert root == np.sqrt(2.0)


def test_layers_are_drawn_one_by_one() -> None:
    drawn = draw_leaf(leaf(normal(), 4, layers=(2, 3)), 7)
    assert drawn.shape == (2, 3, 4)
    key = draw.key(7, "init", "att.w", [1, 2])
    np.testing.assert_array_equal(drawn[1, 2], draw.normal(key, 0, (4,)))
    assert draw_leaf(leaf(normal(), 4, layers=(0,)), 7).shape == (0, 4)


def test_further_draws_of_one_initializer_have_keys_of_their_own() -> None:
    uniform = Draw("uniform", rational(-1), rational(1), 1)
    drawn = draw_leaf(leaf(Combine("add", (normal(), uniform)), 5), 3, prefix=("student",))
    first = draw.normal(draw.key(3, "init", "student.att.w"), 0, (5,))
    second = draw.uniform(draw.key(3, "init", "student.att.w#1"), 0, (5,), lo=-1, hi=1)
    np.testing.assert_array_equal(drawn, first + second)


def test_every_function_a_constant_may_have_an_initializer_may_have() -> None:
    assert COMBINED.keys() == static.FOLDED


@pytest.mark.parametrize("name", sorted(COMBINED))
def test_functions_agree_with_the_exact_constants(name: str) -> None:
    arguments = [Fraction(7, 8), Fraction(3, 4)][: len(TABLE[name].operands)]
    found = COMBINED[name](*(np.array([float(each)]) for each in arguments))
    exact = apply(name, *(rational(each) for each in arguments))
    np.testing.assert_allclose(found, [round_constant(exact, "f64")], rtol=4e-16)


def test_large_arguments_do_not_overflow() -> None:
    x = np.array([-1000.0, 1000.0])
    assert COMBINED["sigmoid"](x).tolist() == [0.0, 1.0]
    assert COMBINED["softplus"](x).tolist() == [0.0, 1000.0]
