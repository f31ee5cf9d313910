"""The partition into groups: ir.md's properties, each on a case and all of them on random programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from tests.unit.core.generate import programs, random_program
from tests.unit.core.laws import check_partition

from presk.check.program import load, loads
from presk.core.bind import bind
from presk.core.group_text import print_groups
from presk.core.groups import Group, Groups, partition
from presk.core.nodes import Program
from presk.core.reader import read_program
from presk.core.roles import ROLES, Role
from presk.core.simplify import simplify
from presk.primitives.all import TABLE


def groups_of(head: str, body: str) -> dict[int, Group]:
    """The groups of `fn f(head { body }` by their roots."""
    text = f"fn f({head} {{\n{body}\n}}"
    function = read_program(text).entry
    groups = partition(function)
    check_partition(function, groups)
    return {group.root: group for group in groups.groups}


def members(group: Group) -> set[int]:
    return {member.number for member in group.members}


LAYER_NORM = """
  %3 = mean(%2, axis = d)
  %4 = sub(%2, %3)
  %5 = square(%4)
  %6 = mean(%5, axis = d)
  %7 = add(%6, 0.00001)
  %8 = rsqrt(%7)
  %9 = mul(%4, %8)
  %10 = mul(%9, %0)
  %11 = add(%10, %1)
  %11"""


def test_every_primitive_has_a_role() -> None:
    assert ROLES.keys() == TABLE.keys()


def test_the_page_names_every_primitive_with_its_role(root: Path) -> None:
    page = (root / "docs" / "core.md").read_text("utf-8")
    table = page[page.index("### What each primitive is") : page.index("### The algorithm")]
    described = {role for role in Role if role not in (Role.ELEMENTWISE, Role.NEVER)}
    missing = [name for name, role in ROLES.items() if role in described and name not in table]
    assert set(missing) <= UNDER_ONE_WORD


UNDER_ONE_WORD = {"update_index", "update_slice", "normal", "uniform", "sample", "dropout_mask"}
"""Slice updates and draws, which the page names together."""


def test_layer_norm_is_one_row_group() -> None:
    found = groups_of("%0 : real[8], %1 : real[8], %2 : real[b: 4, d: 8]) -> real[b: 4, d: 8]", LAYER_NORM)
    assert list(found) == [11]
    assert members(found[11]) == set(range(3, 12))
    assert found[11].kind == "row"
    assert [axis.name for axis in found[11].outer] == ["b"]
    assert [axis.name for axis in found[11].inner] == ["d"]


def test_layer_norm_over_a_middle_axis_is_one_row_group() -> None:
    body = LAYER_NORM.replace("  %10 = mul(%9, %0)\n  %11 = add(%10, %1)\n  %11", "  %9")
    found = groups_of("%0 : real, %1 : real, %2 : real[b: 4, d: 8, s: 3]) -> real[b: 4, d: 8, s: 3]", body)
    assert list(found) == [9]
    assert [axis.name for axis in found[9].outer] == ["b", "s"]


def test_softmax_written_out_is_the_group_that_softmax_is() -> None:
    body = "%1 = max(%0, axis = d)\n%2 = sub(%0, %1)\n%3 = exp(%2)\n%4 = sum(%3, axis = d)\n%5 = div(%3, %4)\n%5"
    found = groups_of("%0 : real[b: 4, d: 8]) -> real[b: 4, d: 8]", body)
    assert members(found[5]) == {1, 2, 3, 4, 5}
    primitive = groups_of("%0 : real[b: 4, d: 8]) -> real[b: 4, d: 8]", "%1 = softmax(%0, axis = d)\n%1")
    assert (primitive[1].outer, primitive[1].inner) == (found[5].outer, found[5].inner)


def test_the_derivative_of_softmax_is_one_row_group() -> None:
    body = "%2 = mul(%0, %1)\n%3 = sum(%2, axis = d)\n%4 = sub(%1, %3)\n%5 = mul(%0, %4)\n%5"
    found = groups_of("%0 : real[b: 4, d: 8], %1 : real[b: 4, d: 8]) -> real[b: 4, d: 8]", body)
    assert list(found) == [5]


def test_work_on_both_sides_of_a_row_primitive_joins_it() -> None:
    body = "%2 = div(%0, 3)\n%3 = softmax(%2, %1, axis = d)\n%4 = mul(%3, 2)\n%4"
    found = groups_of("%0 : real[b: 4, d: 8], %1 : bool[b: 4, d: 8]) -> real[b: 4, d: 8]", body)
    assert members(found[4]) == {2, 3, 4}


def test_a_loss_is_a_group_of_one_reduction() -> None:
    body = "%2 = sub(%0, %1)\n%3 = square(%2)\n%4 = mean(%3)\n%4"
    found = groups_of("%0 : real[b: 4, d: 8], %1 : real[b: 4, d: 8]) -> real", body)
    assert members(found[4]) == {2, 3, 4}
    assert found[4].outer == ()


def test_a_reduction_of_rows_is_not_reduced_again_in_the_same_nest() -> None:
    body = "%2 = cross_entropy(%0, %1, axis = d)\n%3 = mean(%2)\n%3"
    found = groups_of("%0 : real[b: 4, d: 8], %1 : nat[b: 4] < 8) -> real", body)
    assert members(found[2]) == {2}
    assert members(found[3]) == {3}


def test_reductions_over_rows_of_other_origin_do_not_share_a_nest() -> None:
    """The axes have one size here, which the partition must not see."""
    body = "%2 = square(%1)\n%3 = sum(%2, axis = e)\n%4 = mul(%0, %3)\n%4"
    same = groups_of("%0 : real[b: 4, d: 8], %1 : real[b: 4, e: 8]) -> real[b: 4, d: 8]", body)
    other = groups_of("%0 : real[b: 4, d: 8], %1 : real[b: 4, e: 5]) -> real[b: 4, d: 8]", body)
    assert [members(each) for each in same.values()] == [members(each) for each in other.values()] == [{2, 3}, {4}]


def test_an_interior_let_is_read_in_its_group_alone() -> None:
    body = "%1 = exp(%0)\n%2 = neg(%1)\n%3 = sum(%1)\n%4 = (%2, %3)\n%4"
    found = groups_of("%0 : real[d: 8]) -> (real[d: 8], real)", body)
    assert {root: members(each) for root, each in found.items()} == {1: {1}, 2: {2}, 3: {3}}


@pytest.mark.parametrize(
    "body",
    [
        "%2 = exp(%0)\n%3 = dot(%2, %1)\n%4 = neg(%3)\n%4",
        "%2 = exp(%0)\n%3 = sort(%2, axis = 1)\n%4 = neg(%3)\n%4",
        "%2 = exp(%0)\n%3 = cumsum(%2, axis = 1)\n%4 = neg(%3)\n%4",
        "%2 = exp(%0)\n%3 = concat(%2, axis = 0)\n%4 = neg(%3)\n%4",
        "%2 = exp(%0)\n%3 = pad(%2, axis = 0)\n%4 = neg(%3)\n%4",
        "%2 = exp(%0)\n%3 = update_index(%2, 1, nat(0), axis = 0)\n%4 = neg(%3)\n%4",
        "%2 = exp(%0)\n%3 = take(%2, nat(0), axis = 0)\n%4 = neg(%3)\n%4",
        "%2 = exp(%0)\n%3 = normal[4, 4](draw = 0)\n%4 = add(%2, %3)\n%4",
    ],
)
def test_what_is_alone_shares_with_none(body: str) -> None:
    size = "4" if "take" in body else "4, 4"
    found = groups_of(f"%0 : real[4, 4], %1 : real[4, 4]) -> real[{size}]", body)
    assert found[3].kind == "alone"
    assert members(found[4]) == ({2, 4} if "normal" in body else {4})


@pytest.mark.parametrize(
    ("lets", "interior"),
    [
        ("%2 = exp(%0)\n%3 = transpose(%2, order = (1, 0))\n%4 = neg(%3)", {2, 3, 4}),
        ("%2 = exp(%0)\n%3 = rename(%2, a = z)\n%4 = neg(%3)", {2, 3, 4}),
        ("%2 = exp(%0)\n%3 = split[2, 2](%2, axis = a)\n%4 = neg(%3)", {2, 3, 4}),
        ("%2 = exp(%0)\n%3 = merge[12](%2, axes = (a, b))\n%4 = neg(%3)", {2, 3, 4}),
        ("%2 = exp(%0)\n%3 = broadcast_to[a: 4, b: 3, c: 5](%2)\n%4 = neg(%3)", {2, 3, 4}),
        ("%2 = exp(%0)\n%3 = slice(%2, axis = b, start = 1, stop = 2)\n%4 = neg(%3)", {3, 4}),
        ("%2 = exp(%0)\n%3 = flip(%2, axis = b)\n%4 = neg(%3)", {3, 4}),
        ("%2 = exp(%0)\n%3 = windows[w: 2](%2, axis = b)\n%4 = neg(%3)", {3, 4}),
        ("%2 = exp(%0)\n%3 = index(%2, %1, axis = b)\n%4 = neg(%3)", {3, 4}),
    ],
)
def test_index_maps_are_members_and_those_that_move_read_what_is_stored(lets: str, interior: set[int]) -> None:
    result = {"split": "2, 2, b: 3", "merge": "12", "broadcast": "a: 4, b: 3, c: 5", "slice": "a: 4, b: 1"}
    result |= {"windows": "a: 4, b: 2, w: 2", "index": "a: 4", "transpose": "b: 3, a: 4", "rename": "z: 4, b: 3"}
    shape = next((shape for word, shape in result.items() if f"= {word}" in lets), "a: 4, b: 3")
    found = groups_of(f"%0 : real[a: 4, b: 3], %1 : nat < 3) -> real[{shape}]", f"{lets}\n%4")
    assert members(found[4]) == interior


def test_a_group_norm_goes_through_split_and_merge() -> None:
    body = """
      %2 = split[g: 2, c: 3](%0, axis = d)
      %3 = mean(%2, axis = c)
      %4 = sub(%2, %3)
      %5 = square(%4)
      %6 = mean(%5, axis = c)
      %7 = rsqrt(%6)
      %8 = mul(%4, %7)
      %9 = merge[d: 6](%8, axes = (g, c))
      %10 = mul(%9, %1)
      %10"""
    found = groups_of("%0 : real[b: 4, d: 6], %1 : real[d: 6]) -> real[b: 4, d: 6]", body)
    assert list(found) == [10]
    assert members(found[10]) == set(range(2, 11))
    assert [axis.name for axis in found[10].outer] == ["b", "g"]
    assert [axis.name for axis in found[10].inner] == ["c"]


def test_two_merges_of_other_sizes_share_no_loops() -> None:
    body = """
      %2 = exp(%0)
      %3 = merge[12](%2, axes = (0, 1))
      %4 = exp(%1)
      %5 = merge[12](%4, axes = (0, 1))
      %6 = add(%3, %5)
      %6"""
    found = groups_of("%0 : real[2, 6], %1 : real[3, 4]) -> real[12]", body)
    assert {root: members(each) for root, each in found.items()} == {2: {2}, 6: {3, 4, 5, 6}}


def test_a_value_read_at_two_places_is_stored() -> None:
    body = "%1 = exp(%0)\n%2 = transpose(%1, order = (1, 0))\n%3 = add(%1, %2)\n%3"
    found = groups_of("%0 : real[4, 4]) -> real[4, 4]", body)
    assert {root: members(each) for root, each in found.items()} == {1: {1}, 3: {2, 3}}


def test_positions_masks_and_their_logic_are_computed_by_each_reader() -> None:
    body = """
      %2 = positions[k: 8]()
      %3 = le(%2, %1)
      %4 = softmax(%0, %3, axis = k)
      %5 = where(%3, %0, 0)
      %6 = (%4, %5)
      %6"""
    found = groups_of("%0 : real[b: 2, k: 8], %1 : nat < 8) -> (real[b: 2, k: 8], real[b: 2, k: 8])", body)
    assert list(found) == [4, 5]
    assert found[4].free == found[5].free == (2, 3)


def test_a_mask_is_stored_only_as_a_result() -> None:
    body = "%1 = causal_mask[q: 4, k: 4]()\n%2 = softmax(%0, %1, axis = k)\n%3 = (%1, %2)\n%3"
    found = groups_of("%0 : real[q: 4, k: 4]) -> (bool[q: 4, k: 4], real[q: 4, k: 4])", body)
    assert found[1].kind == "free"
    assert found[2].free == (1,)


def test_what_a_stored_mask_is_made_of_is_not_stored() -> None:
    body = "%2 = positions[k: 8]()\n%3 = le(%2, %1)\n%4 = not(%3)\n%4"
    found = groups_of("%0 : real, %1 : nat < 8) -> bool[k: 8]", body)
    assert {root: (group.kind, group.free) for root, group in found.items()} == {4: ("free", (2, 3))}


def test_a_nat_that_a_stored_mask_reads_is_stored() -> None:
    body = "%1 = argmax(%0, axis = k)\n%2 = positions[k: 8]()\n%3 = le(%2, %1)\n%3"
    found = groups_of("%0 : real[k: 8]) -> bool[k: 8]", body)
    assert {root: group.kind for root, group in found.items()} == {1: "row", 3: "free"}


def test_a_comparison_of_reals_is_stored_for_two_readers() -> None:
    body = "%1 = gt(%0, 0)\n%2 = where(%1, %0, 0)\n%3 = where(%1, 1, %0)\n%4 = sort(%3, axis = 0)\n%5 = (%2, %4)\n%5"
    found = groups_of("%0 : real[k: 8]) -> (real[k: 8], real[k: 8])", body)
    assert list(found) == [1, 2, 3, 4]


def test_dropout_in_training_is_a_draw_and_a_product() -> None:
    body = "%1 = exp(%0)\n%2 = dropout_mask[k: 8](0.1, draw = 0)\n%3 = mul(%1, %2)\n%3"
    found = groups_of("%0 : real[k: 8]) -> real[k: 8]", body)
    assert {root: members(each) for root, each in found.items()} == {2: {2}, 3: {1, 3}}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("rename(%0, a = z)", "view"),
        ("split[2, 2](%0, axis = a)", "view"),
        ("merge[12](%0, axes = (a, b))", "view"),
        ("stop_gradient(%0)", "view"),
        ("slice(%0, axis = a, start = 1, stop = 3)", "view"),
        ("slice(%0, axis = b, start = 1, stop = 3)", "nest"),
        ("index(%0, nat(1), axis = a)", "view"),
        ("index(%0, nat(1), axis = b)", "nest"),
        ("index(%0, %1, axis = a)", "nest"),
        ("unstack(%0, axis = a)", "view"),
        ("unstack(%0, axis = b)", "alone"),
        ("transpose(%0, order = (1, 0))", "nest"),
        ("broadcast_to[a: 4, b: 3, c: 2](%0)", "nest"),
        ("rename(%2, k = z)", "view"),
        ("broadcast_to[k: 4](real(%2))", "nest"),
    ],
)
def test_maps_that_keep_the_order_are_views(value: str, kind: str) -> None:
    head = "fn f(%0 : real[a: 4, b: 3], %1 : nat < 3, %2 : nat[k: 4] < 3) -> real { %9 = "
    function = read_program(f"{head}{value} %10 = (%9, %9) %11 = sum(%0) %12 = (%10, %11) %12.1 }}").entry
    groups = partition(function)
    assert {group.root: group.kind for group in groups.groups}[9] == kind


def test_an_index_at_a_loops_counter_is_a_view() -> None:
    text = """
    fn f(%0 : real[a: 4, b: 3], %1 : nat < 4) -> real[b: 3] {
      %2 = fold %3 : real[b: 3] = 0 over %4 : nat < 4 in 0..4 {
        %5 = index(%0, %4, axis = a)
        %6 = index(%0, %1, axis = a)
        %7 = concat(%5, %6, axis = b)
        %8 = slice(%7, axis = b, start = 0, stop = 3)
        %8
      }
      %2
    }""".replace("= 0 over", "= %9 over").replace("%2 = fold", "%9 = zeros[b: 3]() %2 = fold")
    groups = partition(read_program(text).entry)
    assert {group.root: group.kind for group in groups.groups} == {
        9: "free",
        5: "view",
        6: "nest",
        7: "alone",
        8: "view",
    }
    assert groups.launches == 3


def test_groups_end_at_loops_and_calls() -> None:
    text = """
    fn g(%0 : real[4]) -> real[4] { %1 = exp(%0) %2 = neg(%1) %2 }
    fn f(%0 : real[4]) -> real[4] {
      %1 = square(%0)
      %2 = call g(%1)
      %3 = square(%2)
      %4 = fold %5 : real[4] = %3 over %6 : nat < 3 in 0..3 {
        %7 = mul(%3, %5)
        %8 = neg(%7)
        %8
      }
      %9 = abs(%4)
      %9
    }"""
    program = read_program(text)
    found = [group for function in program.functions for group in partition(function).groups]
    assert [members(group) for group in found] == [{1, 2}, {1}, {3}, {9}, {7, 8}]


def adamw() -> Program:
    text = (
        "import adamw\nfrom nn import Linear\nmodule Net { a: Linear{3, 2}; b: Linear{2, 2} * 3 }\n"
        "fn update(p: Net, g: Net, s: {m: Net, v: Net}, t: real) -> (Net, {m: Net, v: Net}) {\n"
        "  adamw.step(p, g, s, t, 0.1)\n}\n"
    )
    return bind(loads(text), "update")


def test_adamw_is_three_groups_for_every_leaf() -> None:
    """The moments are results, so each is a root; scalars are computed outside the leaf's loop."""
    step = next(function for function in adamw().functions if function.name.startswith("step"))
    groups = partition(step)
    check_partition(step, groups)
    sweep = next(body for body in groups.bodies if body.owner is not None)
    names = {let.number: let.name for let in step.body.lets}
    assert len(sweep.groups) == 3
    assert names[sweep.owner or 0] is None or sweep.groups
    moments, _, parameters = sweep.groups
    assert any(member.places == () for member in moments.members), "1 - beta1 is a scalar of the group"
    assert {moments.root, sweep.groups[1].root} <= {read.ref.number for read in parameters.reads}


@pytest.mark.parametrize(
    ("path", "entry"),
    [
        ("minigpt/minigpt.psk", "MiniGPT.apply"),
        ("minigpt/minigpt.psk", "loss"),
        ("norms/norms.psk", "layer_norm"),
        ("numerics/kmeans.psk", "kmeans"),
        ("tutorial/03_attention.psk", "scores"),
        ("vae/vae.psk", "loss"),
    ],
)
def test_no_size_is_read(path: str, entry: str, examples: object) -> None:
    checked = load(f"{examples}/{path}")
    info = next(each for each in checked.entries() if each.name == entry)

    def shape(size: int) -> list[object]:
        program = bind(checked, entry, dims=dict.fromkeys(info.free_dimensions, size))
        return [plain(partition(function)) for function in program.functions]

    assert shape(3) == shape(4) == shape(1)


def plain(groups: Groups) -> object:
    """A partition without its sizes."""
    return [
        (body.owner, [(group.kind, group.members, group.free, len(group.outer), group.reads) for group in body.groups])
        for body in groups.bodies
    ]


def test_the_listing_of_layer_norm() -> None:
    text = f"fn f(%0 : real[8], %1 : real[8], %2 : real[b: 4, d: 8]) -> real[b: 4, d: 8] {{{LAYER_NORM}\n}}"
    assert print_groups(read_program(text)) == (
        "fn f: 1 launch, 8 saved by fusion\n"
        "  row   %11 add : real[b: 4, d: 8]  over [b: 4] × [d: 8]\n"
        "        %3 mean, %4 sub, %5 square, %6 mean, %7 add, %8 rsqrt, %9 mul, %10 mul, %11 add\n"
        "        reads %0, %1, %2\n"
    )


@settings(max_examples=60)
@given(programs())
def test_partitions_of_drawn_programs_keep_every_property(program: Program) -> None:
    simplified = simplify(program)
    for function in simplified.functions:
        check_partition(function, partition(function))


@pytest.mark.parametrize("seed", range(300))
def test_partitions_of_random_programs_keep_every_property(seed: int) -> None:
    for function in simplify(random_program(seed, lets=14)).functions:
        groups = partition(function)
        check_partition(function, groups)
        assert partition(function) == groups, "the algorithm is fixed"
