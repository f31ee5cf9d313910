"""The body of a leafwise map at one leaf."""

from __future__ import annotations

from typing import cast

import pytest

from presk.core.leafwise import at_leaf
from presk.core.nodes import Apply, MapTrees, Program
from presk.core.reader import read_program
from presk.shapes.poly import number
from presk.shapes.types import Axis, Shape, show

TEXT = """
fn main(%0 : {w: real[n: 3, 2]}, %1 : real[n: 3, m: 4]) -> {w: real[n: 3, 2]} {
  %2 = map %3 p : real[..] in %0 {
    %4 = broadcast_to[.., n: 3](%3)
    %5 = ein[.., m](%4[.., n], %1[n, m])
    %6 = sum(%5, axis = m)
    %7 = sum(%3)
    %8 = add(%6, %7)
    %8
  }
  %2
}
"""


def map_of(program: Program) -> MapTrees:
    return next(let.value for let in program.entry.body.lets if isinstance(let.value, MapTrees))


def applied(axes: Shape) -> dict[int, tuple[Apply, str]]:
    program = read_program(TEXT)
    types = {each.number: each.type for each in program.entry.parameters}
    made = at_leaf(map_of(program), axes, types)
    return {let.number: (cast(Apply, let.value), show(let.type)) for let in made.body.lets}


@pytest.mark.parametrize(
    ("axes", "wide", "given", "axis"),
    [
        ((), "real[n: 3]", "real", (0,)),
        ((Axis(None, number(6)),), "real[_1: 6, n: 3]", "real[_1: 6]", (1,)),
        ((Axis("n", number(3)), Axis(None, number(2))), "real[_1: 3, _2: 2, n: 3]", "real[_1: 3, _2: 2]", (2,)),
    ],
)
def test_axes_beside_the_leafs_stay_behind_them(axes: Shape, wide: str, given: str, axis: tuple[int, ...]) -> None:
    found = applied(axes)
    assert found[4][1] == wide
    assert found[6][1] == found[8][1] == given
    assert dict(found[6][0].attributes)["axis"] == axis
    labels = dict(found[5][0].attributes)["labels"]
    names = tuple(f"_{at + 1}" for at in range(len(axes)))
    assert labels == ((*names, "n"), ("n", "m"))


def test_a_reduction_of_the_whole_leaf_stays_one() -> None:
    found = applied((Axis(None, number(6)),))
    assert dict(found[7][0].attributes)["axis"] is None
    assert found[7][1] == "real"
