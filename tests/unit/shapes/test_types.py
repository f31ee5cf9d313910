"""Types: trees and their leaves, stacking, substitution and their text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presk.shapes.constants import from_size, rational
from presk.shapes.poly import number, variable
from presk.shapes.types import (
    BOOL,
    REAL,
    Axis,
    ModuleOf,
    RecordOf,
    Run,
    Stacked,
    Tensor,
    TreeVariable,
    TupleOf,
    Type,
    fields_of,
    leaves,
    show,
    stack,
    substitute,
    transform,
)

I, O = variable("I"), variable("O")  # noqa: E741 - the names of a Linear's parameters
LINEAR = ModuleOf(
    "Linear",
    (from_size(I), from_size(O)),
    (("w", Tensor("real", (Axis(None, I), Axis(None, O)))), ("b", Tensor("real", (Axis(None, O),)))),
)
CACHE = RecordOf((("k", Tensor("real", (Axis("seq", variable("T")),))), ("n", Tensor("nat", (), variable("T")))))

TENSORS = st.builds(
    lambda kind, sizes: Tensor(kind, tuple(Axis(None, number(size)) for size in sizes)),
    st.sampled_from(["real", "bool"]),
    st.lists(st.integers(0, 4), max_size=3),
)
TREES: st.SearchStrategy[Type] = st.recursive(
    TENSORS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: TupleOf(tuple(items))),
        st.lists(inner, max_size=3).map(lambda each: RecordOf(tuple((f"f{at}", one) for at, one in enumerate(each)))),
    ),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (REAL, "real"),
        (Tensor("nat", (), number(4)), "nat < 4"),
        (Tensor("bool", (Run(".."), Axis("a", number(2)), Axis(None, I))), "bool[.., a: 2, I]"),
        (TupleOf((REAL,)), "(real,)"),
        (TupleOf((REAL, BOOL)), "(real, bool)"),
        (CACHE, "{k: real[seq: T], n: nat < T}"),
        (LINEAR, "Linear{I, O}"),
        (ModuleOf("Norm", (rational(3), rational(1)), ()), "Norm{3, 1}"),
        (ModuleOf("Net", (), ()), "Net"),
        (Stacked(LINEAR, I + number(1)), "Linear{I, O} * (I + 1)"),
        (TreeVariable("P"), "P"),
    ],
)
def test_text(tree: Type, text: str) -> None:
    assert show(tree) == text


def test_sizes_of_bound_types_only() -> None:
    assert Tensor("real", (Axis(None, number(2)), Axis("a", number(0)))).sizes == (2, 0)
    with pytest.raises(ValueError, match="not bound"):
        _ = Tensor("real", (Axis(None, I),)).sizes
    with pytest.raises(ValueError, match="not bound"):
        _ = Tensor("real", (Run(".."),)).sizes


def test_run_and_explicit_axes() -> None:
    tensor = Tensor("real", (Run(".."), Axis("a", I)))
    assert tensor.run == Run("..")
    assert tensor.explicit == (Axis("a", I),)
    assert REAL.run is None


def test_stacking_a_tensor_adds_an_axis() -> None:
    assert show(stack(Tensor("nat", (Axis("a", I),), O), number(3), "t")) == "nat[t: 3, a: I] < O"
    assert show(stack(LINEAR, number(3))) == "Linear{I, O} * 3"
    assert show(stack(CACHE, number(3), "t")) == "{k: real[t: 3, seq: T], n: nat[t: 3] < T}"
    assert stack(CACHE, number(3)) == Stacked(CACHE, number(3))


@given(TREES, st.integers(0, 4))
def test_fields_of_a_stack_are_the_fields_stacked(tree: Type, count: int) -> None:
    stacked = stack(tree, number(count))
    fields = fields_of(tree)
    if fields is None:
        assert isinstance(stacked, Tensor)
    else:
        assert fields_of(stacked) == tuple((name, stack(each, number(count))) for name, each in fields)


@given(TREES, st.integers(0, 4))
def test_leaves_of_a_stack_have_one_more_axis(tree: Type, count: int) -> None:
    alone, stacked = list(leaves(tree)), list(leaves(stack(tree, number(count))))
    assert [path for path, _ in alone] == [path for path, _ in stacked]
    for (_, leaf), (_, more) in zip(alone, stacked, strict=True):
        assert more.axes == (Axis(None, number(count)), *leaf.axes)


@given(TREES)
def test_transforming_by_nothing_changes_nothing(tree: Type) -> None:
    assert transform(tree, lambda tensor: tensor, lambda size: size) == tree
    assert substitute(tree, {}) == tree


def test_substitution_reaches_every_size() -> None:
    bound = substitute(Stacked(LINEAR, I), {"I": number(3), "O": number(2)})
    assert show(bound) == "Linear{3, 2} * 3"
    assert [show(leaf) for _, leaf in leaves(bound)] == ["real[3, 3, 2]", "real[3, 2]"]
    assert show(substitute(CACHE, {"T": number(8)})) == "{k: real[seq: 8], n: nat < 8}"


def test_substitution_of_runs_and_trees() -> None:
    tensor = Tensor("real", (Run(".."), Axis("d", I)))
    assert show(substitute(tensor, {}, {"..": (Axis("batch", O),)})) == "real[batch: O, d: I]"
    assert show(substitute(tensor, {}, {"..": ()})) == "real[d: I]"
    nested = TupleOf((RecordOf((("m", TreeVariable("P")),)), Stacked(TreeVariable("P"), I), TreeVariable("Q")))
    assert show(substitute(nested, {"I": number(2)}, trees={"P": LINEAR})) == (
        "({m: Linear{I, O}}, Linear{I, O} * 2, Q)"
    )
    assert show(substitute(Stacked(TreeVariable("P"), I), {"I": number(2)}, trees={"P": REAL})) == "real[2]"
