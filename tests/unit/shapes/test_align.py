"""Alignment against an independently written rule, its laws, and its messages."""

from __future__ import annotations

import re
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presk.shapes.align import Misaligned, align, check_distinct, match_axes
from presk.shapes.poly import number, variable
from presk.shapes.types import Axis, Run, Shape

RUN = Run("..")


def shape(text: str) -> Shape:
    """`.. a:2 3 b:b` as axes: the run, a named axis, an unnamed one, a symbolic size."""
    axes: list[Axis | Run] = []
    for word in text.split():
        if word == "..":
            axes.append(RUN)
            continue
        name, _, size = word.rpartition(":")
        axes.append(Axis(name or None, number(int(size)) if size.isdigit() else variable(size)))
    return tuple(axes)


def oracle(leading: Shape, other: Shape) -> tuple[int, ...] | None:
    """The rule as language.md 3 says it, by search: the places of `other`'s axes, or None where they don't align."""
    mine = [axis for axis in leading if isinstance(axis, Axis)]
    theirs = [axis for axis in other if isinstance(axis, Axis)]
    names = {axis.name for axis in mine}
    if all(axis.name in names for axis in theirs if axis.name is not None):
        named = {at: [m.name for m in mine].index(axis.name) for at, axis in enumerate(theirs) if axis.name is not None}
        free = [place for place in range(len(mine)) if place not in named.values()]
        unnamed = [at for at, axis in enumerate(theirs) if axis.name is None]
        if len(unnamed) > len(free):
            return None
        named.update(zip(reversed(unnamed), reversed(free), strict=False))
        places = tuple(named[at] for at in range(len(theirs)))
    else:
        if len(theirs) > len(mine):
            return None
        places = tuple(range(len(mine) - len(theirs), len(mine)))
        for place, axis in zip(places, theirs, strict=True):
            if mine[place].name is not None and axis.name is not None and mine[place].name != axis.name:
                return None
    fits = all(mine[place].size == axis.size for place, axis in zip(places, theirs, strict=True))
    return places if fits else None


def shapes_of(max_rank: int) -> st.SearchStrategy[Shape]:
    axis = st.tuples(st.sampled_from(["a", "b", "c", None]), st.integers(1, 3))
    distinct = st.lists(axis, max_size=max_rank).filter(
        lambda axes: len({name for name, _ in axes if name}) == sum(name is not None for name, _ in axes)
    )
    return distinct.map(lambda axes: tuple(Axis(name, number(size)) for name, size in axes))


@given(shapes_of(4), shapes_of(3))
def test_matching_is_the_rule(leading: Shape, other: Shape) -> None:
    if len(other) > len(leading):
        leading, other = other, leading
    wanted = oracle(leading, other)
    if wanted is None:
        with pytest.raises(Misaligned):
            match_axes(leading, other)
    else:
        assert match_axes(leading, other) == wanted


@given(shapes_of(4), st.randoms())
def test_a_permutation_of_named_axes_aligns(leading: Shape, random: object) -> None:
    named = [axis for axis in leading if isinstance(axis, Axis) and axis.name is not None]
    for order in permutations(named):
        aligned = align([leading, tuple(order)])
        assert [axis for axis in aligned.axes if isinstance(axis, Axis) and axis.name] == named
        assert [leading[place] for place in aligned.places[1]] == list(order)


@given(shapes_of(3), shapes_of(3))
def test_sizes_do_not_depend_on_the_order_of_operands(left: Shape, right: Shape) -> None:
    try:
        forth = align([left, right])
    except Misaligned:
        with pytest.raises(Misaligned):
            align([right, left])
        return
    back = align([right, left])
    sizes = [sorted(str(axis.size) for axis in each.axes if isinstance(axis, Axis)) for each in (forth, back)]
    assert sizes[0] == sizes[1]
    for aligned, operands in ((forth, (left, right)), (back, (right, left))):
        for places, operand in zip(aligned.places, operands, strict=True):
            assert len(set(places)) == len(places) == len(operand)


@pytest.mark.parametrize(
    ("operands", "result"),
    [
        (["batch:b 3", "3"], "batch:b 3"),
        (["3", "batch:b 3"], "batch:b 3"),
        (["a:2 b:3", "b:3 a:2"], "a:2 b:3"),
        (["b:3 a:2", "a:2 b:3"], "b:3 a:2"),
        (["2 3", "a:2 b:3"], "a:2 b:3"),
        (["a:2 3", "a:2"], "a:2 3"),
        (["a:3 b:2 c:2", "b:2 c:2 3"], "a:3 b:2 c:2"),
        (["b:2 c:2 3", "a:3 b:2 c:2"], "b:2 c:2 a:3"),
        (["a:2 3 4", "3 a:2"], None),
        (["a:2 3 4", "4 a:2"], "a:2 3 4"),
        (["2 3", ""], "2 3"),
        (["", "", ""], ""),
        (["a:2", "b:3 a:2", ""], "b:3 a:2"),
        ([".. d:4", "d:4"], ".. d:4"),
        ([".. d:4", ".. d:4"], ".. d:4"),
        (["4", ".. d:4"], ".. d:4"),
        (["..", ""], ".."),
        ([".. 3", ".."], ".. 3"),
        (["t:5 .. 3", "5 .. d:3"], "t:5 .. d:3"),
        (["t:5 .. d:3", "d:3 .."], "t:5 .. d:3"),
        (["d:3 t:5", "t:5 .. d:3"], "t:5 .. d:3"),
        (["t:5 .. 3", ""], "t:5 .. 3"),
        (["a:2 2", "2 b:2 a:2"], "2 b:2 a:2"),
        (["a:2 2", "b:2 2 a:2"], "b:2 2 a:2"),
    ],
)
def test_results(operands: list[str], result: str | None) -> None:
    if result is None:
        with pytest.raises(Misaligned):
            align([shape(each) for each in operands])
    else:
        assert align([shape(each) for each in operands]).axes == shape(result)


@pytest.mark.parametrize(
    ("operands", "message"),
    [
        (["a:2 3", "a:4"], r"axis `a` has size 4 in \[a: 4\] and 2 in \[a: 2, 3\]"),
        (["a:2 b:3", "c:3"], r"axis `c` of \[c: 3\] is not in \[a: 2, b: 3\], and axis `c` can't meet `b`"),
        (["1 3", "2 3"], r"axis 0 of \[2, 3\], of size 2, meets axis 0 of \[1, 3\], of size 1"),
        ([".. 3", "2 3"], r"would depend on how many axes `\.\.` stands for"),
        (["t:5 .. 3", "3"], r"would depend on how many axes `\.\.` stands for"),
        (["t:5 .. d:3", ".. t:5 d:3"], r"would depend on how many axes `\.\.` stands for"),
        (["t:5 .. d:3", "t:4 .. d:3"], r"axis `t` has size 4"),
        (["a:2 b:3", ".."], r"would depend on how many axes `\.\.` stands for"),
        (["2 a:2 c:3", "a:2 b:3"], r"axis `b` of \[a: 2, b: 3\] is not in"),
    ],
)
def test_messages(operands: list[str], message: str) -> None:
    with pytest.raises(Misaligned) as caught:
        align([shape(each) for each in operands])
    assert re.search(message, caught.value.message)
    assert caught.value.hint


def test_two_runs_that_differ_do_not_align() -> None:
    with pytest.raises(Misaligned):
        align([(Run("one"), Axis("d", number(2))), (Run("two"), Axis("d", number(2)))])


def test_a_name_may_come_once() -> None:
    check_distinct(shape(".. a:2 3 3 b:2"))
    with pytest.raises(Misaligned, match="two axes"):
        check_distinct(shape("a:2 3 a:2"))
