"""Trees of arrays: walking and growing are inverse, and what is no tree is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presk.run import trees
from presk.text.diagnostics import PreskError

FIELDS = st.text("abcxyz", min_size=1, max_size=3)
TREES = st.recursive(
    st.integers(),
    lambda inner: (
        st.dictionaries(FIELDS, inner, min_size=1, max_size=3) | st.lists(inner, min_size=1, max_size=12).map(tuple)
    ),
    max_leaves=40,
)


@given(TREES)
def test_growing_undoes_walking_in_any_order(tree: Any) -> None:
    leaves = list(trees.leaves(tree))
    assert trees.grow(leaves) == tree
    assert trees.grow(reversed(leaves)) == tree


@given(TREES)
def test_mapping_keeps_the_shape(tree: Any) -> None:
    mapped = trees.map_leaves(tree, lambda leaf: leaf + 1)
    assert [(path, leaf + 1) for path, leaf in trees.leaves(tree)] == list(trees.leaves(mapped))


def test_a_dict_that_is_a_leaf_stays_one() -> None:
    assert trees.grow([(("a",), {"1": 2})]) == {"a": {"1": 2}}


@pytest.mark.parametrize(
    "items",
    [[((), 1), (("a",), 2)], [(("a",), 1), (("a", "b"), 2)], [(("a", "b"), 1), (("a",), 2)], [((), 1), ((), 1)]],
)
def test_leaves_in_each_others_place_are_refused(items: list[tuple[trees.Path, int]]) -> None:
    with pytest.raises(PreskError) as caught:
        trees.grow(items)
    assert caught.value.code == "E6031"


def test_a_tree_that_contains_itself_is_refused() -> None:
    tree: dict[str, Any] = {}
    tree["a"] = tree
    with pytest.raises(PreskError) as caught:
        list(trees.leaves(tree))
    assert caught.value.code == "E6031"


def test_a_field_that_is_no_text_is_refused() -> None:
    with pytest.raises(PreskError) as caught:
        list(trees.leaves({1: 2}))
    assert caught.value.code == "E6031"
