"""What a realization or plan can't have is E7002, with the site and the condition, before anything runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.kernel.comparing import program

from presk.core.groups import Group, partition
from presk.core.nodes import Program, Ref
from presk.kernel.lower import lower
from presk.kernel.lower.epilogue import following_group
from presk.kernel.lower.lower import types_of
from presk.kernel.lowered import Launch, Layout, Lowered, SiteChoice, Split
from presk.kernel.nodes import Element
from presk.kernel.printer import print_kernel
from presk.text.diagnostics import PreskError

PROGRAMS = """
fn linear(x: real[b, i], w: real[i, o]) -> real[b, o] { dot(x, w) }
fn biased(x: real[b, i], w: real[i, o], c: real[o]) -> real[b, o] { dot(x, w) + c }
fn doubled(x: real[b, i], w: real[i, o], c: real[o]) -> real[b, o] { let y = dot(x, w); y * 2 + c }
fn read_twice(x: real[b, i], w: real[i, o], c: real[o]) -> (real[b, o], real[b, o]) { let y = dot(x, w); (y + c, y) }
fn squared(x: real[b, i], w: real[i, o]) -> real[b, o] { let y = dot(x, w); y + y }
fn mirrored(x: real[b, i], w: real[i, o]) -> real[b, o] { let y = dot(x, w); y + flip(y, axis = o) }
fn shared(x: real[b, i], w: real[i, o]) -> real[b, o] { let y = dot(x, w); y * sum(y, axis = o) }
fn compared(x: real[b, i], w: real[i, o]) -> bool[b, o] { dot(x, w) > 0 }
fn scored(x: real[b, i], w: real[i, o]) -> real[b, o] { softmax(dot(x, w), axis = o) }
fn gelled(x: real[b, i], w: real[i, o], c: real[o]) -> real[b, o] { gelu(dot(x, w) + c) }
fn wider(x: real[i], w: real[i, o], c: real[b, o]) -> real[b, o] { dot(x, w) + c }
fn bent(x: real[b, i], w: real[i, o], c: real[o]) -> real[b, o] { relu(dot(x, w) + c) }
fn scores(q: real[n, s, e], k: real[n, t, e]) -> real[n, s, t] { ein[n, s, t](q, k) }
fn turned(a: real[i, k], b: real[k, j]) -> real[j, i] { ein[j, i](a, b) }
fn soft(x: real[n, d]) -> real[n, d] { softmax(x, axis = d) }
fn shifted(x: real[n, d]) -> real[n, d] { x + 1 }
fn average(x: real[n, d]) -> real[n] { mean(square(x), axis = d) }
fn grown(x: real[n, d]) -> real[n] { sum(exp(x), axis = d) }
fn whole(x: real[n, d]) -> real { sum(x) }
fn scattered(x: real[n, d], i: nat[m] < n, v: real[m, d]) -> real[n, d] { scatter_add(x, i, v, axis = n) }
fn running(x: real[n, d]) -> real[n, d] { cumsum(x, axis = d) }
fn taken(x: real[n, d], i: nat[m] < n) -> real[m, d] { take(x, i, axis = n) }
"""

DIMS = {
    "linear": {"b": 4, "i": 64, "o": 16},
    "biased": {"b": 4, "i": 64, "o": 16},
    "doubled": {"b": 4, "i": 64, "o": 16},
    "read_twice": {"b": 4, "i": 64, "o": 16},
    "squared": {"b": 4, "i": 64, "o": 16},
    "wider": {"b": 4, "i": 64, "o": 16},
    "bent": {"b": 4, "i": 64, "o": 16},
    "mirrored": {"b": 4, "i": 64, "o": 16},
    "shared": {"b": 4, "i": 64, "o": 16},
    "compared": {"b": 4, "i": 64, "o": 16},
    "scored": {"b": 4, "i": 64, "o": 16},
    "gelled": {"b": 4, "i": 64, "o": 16},
    "scores": {"n": 2, "s": 4, "t": 16, "e": 64},
    "turned": {"i": 8, "k": 64, "j": 8},
    "soft": {"n": 4, "d": 8},
    "shifted": {"n": 4, "d": 8},
    "average": {"n": 4, "d": 8},
    "grown": {"n": 4, "d": 8},
    "whole": {"n": 4, "d": 8},
    "scattered": {"n": 4, "d": 8, "m": 3},
    "running": {"n": 4, "d": 8},
    "taken": {"n": 4, "d": 8, "m": 3},
}


def first(entry: str) -> tuple[Program, list[Group], Group]:
    """The program, its groups, and the one that is looked at: the first that runs."""
    of = program(PROGRAMS, entry, **DIMS[entry])
    groups = [each for body in partition(of.entry).bodies for each in body.groups]
    return of, groups, next(each for each in groups if each.kind != "view")


def lowered(entry: str, choice: SiteChoice | str, layout: Layout, other: SiteChoice | None = None) -> Lowered:
    """The first group of an entry, lowered; `other` is the choice of an add that may join it."""
    of, groups, group = first(entry)
    made = SiteChoice(choice) if isinstance(choice, str) else choice
    elements = {Ref(each.number): Element("f32") for each in of.entry.parameters}
    following = following_group(of.entry.body, groups, group, types_of(of.entry))
    joined = None if following is None else (following, other or made)
    return lower(of.entry, of.entry.body, group, elements, made, layout, joined)


def refused(
    condition: int, entry: str, choice: SiteChoice | str, layout: Layout, other: SiteChoice | None = None
) -> str:
    """The message of a refusal, which has the site and the condition."""
    _, _, group = first(entry)
    with pytest.raises(PreskError) as error:
        lowered(entry, choice, layout, other)
    message = error.value.diagnostics[0].message
    assert error.value.code == "E7002"
    assert message.startswith(f"`{entry}/%{group.root}`: ")
    assert message.endswith(f"(condition {condition})")
    return message


@pytest.mark.parametrize(
    "layout",
    [
        Layout(form="diagonal"),
        Layout(tile=(3, 8)),
        Layout(tile=(1, 5)),
        Layout(tile=(2, 1)),
        Layout(tile=(3, 32)),
        Layout(kblock=64),
        Layout(kblock="all"),
        Layout(order="KIJ"),
        Layout(order="II"),
        Layout(kblock=32, order="IJ"),
        Layout(tile=(2, 8), lanes=16),
        Layout(tile=(6, 8), lanes=4),
        Layout(tile=(1, 32), lanes=1),
        Layout(tile=(2, 8), lanes=2),
        Layout(tile=(1, 1), lanes=4),
        Layout(form="row-wise", tile=(1, 8)),
        Layout(form="row-wise", lanes=4),
        Layout(form="row-wise", order="JI"),
        Layout(form="row-wise", kblock=32),
        Layout(pack="panel", lanes=4),
        Layout(pack="both", form="row-wise"),
        Layout(pack="crate"),
        Layout(epilogue="activation"),
        Layout(rows=64, lanes=1),
        Layout(rows=65),
        Layout(passes=2),
        Layout(split="all"),
    ],
)
def test_a_value_that_is_not_in_the_space(layout: Layout) -> None:
    refused(2, "linear", "f32", layout)


def test_a_tile_wider_than_the_result() -> None:
    of = program(PROGRAMS, "linear", b=4, i=64, o=6)
    (group,) = partition(of.entry).groups
    elements = {Ref(each.number): Element("f32") for each in of.entry.parameters}
    with pytest.raises(PreskError, match=r"wider than the 6 .*\(condition 2\)"):
        lower(of.entry, of.entry.body, group, elements, SiteChoice("f32"), Layout(tile=(1, 8)))


def test_lanes_of_bf16_and_of_a_result_whose_columns_lie_apart() -> None:
    assert "bf16" in refused(2, "linear", "bf16", Layout(tile=(1, 8), lanes=4))
    assert "not contiguous in the result" in refused(2, "turned", "f32", Layout(tile=(1, 8), lanes=4, pack=True))


@pytest.mark.parametrize(
    ("entry", "layout"),
    [
        ("shifted", Layout(tile=(1, 8))),
        ("shifted", Layout(passes=2)),
        ("soft", Layout(pack=True)),
        ("soft", Layout(passes=4)),
        ("scattered", Layout(form="tiled")),
        ("running", Layout(kblock=32)),
        ("taken", Layout(epilogue=True)),
    ],
)
def test_a_choice_of_another_kind_of_nest(entry: str, layout: Layout) -> None:
    refused(2, entry, "f32", layout)


def test_two_passes_of_a_softmax_in_bf16() -> None:
    refused(2, "soft", "bf16", Layout(passes=2))
    assert lowered("soft", "bf16", Layout(passes=3)).launches


@pytest.mark.parametrize("order", ["IKJ", "JKI", "KIJ", "KJI"])
def test_a_spill_of_bf16_sums(order: str) -> None:
    refused(3, "linear", "bf16", Layout(tile=(1, 8), kblock=32, order=order))
    assert lowered("linear", "f32", Layout(tile=(1, 8), kblock=32, order=order)).launches


def test_row_wise_bf16_sums() -> None:
    refused(3, "linear", "bf16", Layout(form="row-wise"))


def test_lanes_across_an_operand_that_is_not_packed() -> None:
    refused(4, "scores", "f32", Layout(tile=(2, 4), lanes=4))
    assert lowered("scores", "f32", Layout(tile=(2, 4), lanes=4, pack=True)).launches


@pytest.mark.parametrize("entry", ["linear", "read_twice", "mirrored", "shared", "compared", "scored", "wider"])
def test_an_epilogue_without_a_group_of_its_own(entry: str) -> None:
    refused(6, entry, "f32", Layout(epilogue=True))


@pytest.mark.parametrize("entry", ["doubled", "squared", "bent", "gelled"])
def test_an_epilogue_of_any_elementwise_group(entry: str) -> None:
    assert len(lowered(entry, "f32", Layout(epilogue=True)).launches) == 1


def test_an_epilogue_with_a_function_under_wider_sums() -> None:
    wider = SiteChoice("f32", accumulate="f64")
    assert "gelu" in refused(9, "gelled", wider, Layout(epilogue=True), SiteChoice("f32"))
    assert lowered("bent", wider, Layout(epilogue=True), SiteChoice("f32")).launches


def test_an_epilogue_that_is_realized_otherwise() -> None:
    refused(6, "biased", "f32", Layout(epilogue=True), SiteChoice("bf16"))
    assert lowered("biased", "f32", Layout(epilogue=True)).stored[0][0] == Ref(first("biased")[1][-1].root)


@pytest.mark.parametrize("choice", [SiteChoice("f32", partials=4), SiteChoice("f32", accumulate="f64")])
@pytest.mark.parametrize(
    "layout",
    [
        Layout(form="tiled"),
        Layout(form="row-wise"),
        Layout(tile=(1, 8)),
        Layout(kblock=32),
        Layout(order="JI"),
        Layout(lanes=4),
    ],
)
def test_a_layout_of_the_default_accumulation_under_another(choice: SiteChoice, layout: Layout) -> None:
    refused(7, "linear", choice, layout)
    assert lowered("linear", choice, Layout(pack=True)).launches


@pytest.mark.parametrize(
    ("entry", "layout"),
    [
        ("linear", Layout(split=Split(2, 2))),
        ("linear", Layout(tile=(1, 8), kblock=32, order="KIJ", split=Split(0, 2))),
        ("soft", Layout(split=Split(1, 2))),
        ("whole", Layout(split=Split(0, 2))),
        ("scattered", Layout(split=Split(0, None))),
        ("shifted", Layout(split=Split(2, 2))),
    ],
)
def test_a_split_of_a_loop_that_is_not_parallel(entry: str, layout: Layout) -> None:
    refused(8, entry, "f32", layout)


@pytest.mark.parametrize("entry", ["scattered", "soft", "shifted", "running", "taken", "whole", "average", "linear"])
@pytest.mark.parametrize("storage", ["f32", "bf16"])
def test_the_depths_a_hint_names_are_taken(entry: str, storage: str) -> None:
    for depth in range(4):
        try:
            lowered(entry, storage, Layout(split=Split(depth, None)))
        except PreskError as error:
            hint = error.diagnostics[0].hint or ""
            for named in (int(word) for word in hint.replace(",", " ").split() if word.isdecimal()):
                lowered(entry, storage, Layout(split=Split(named, None)))


def launch_of(entry: str, layout: Layout) -> Launch:
    return lowered(entry, "f32", layout).launches[-1]


@pytest.mark.parametrize(
    ("entry", "layout"),
    [
        ("linear", Layout(split=Split(0, 2))),
        ("linear", Layout(tile=(2, 8), split=Split(1, 2))),
        ("scores", Layout(tile=(2, 4), lanes=4, pack=True, order="JI", split=Split(2, None))),
        ("soft", Layout(split=Split(0, 2))),
        ("shifted", Layout(split=Split(1, 2))),
        ("running", Layout(split=Split(0, 2))),
    ],
)
def test_a_split_is_the_launch_s(entry: str, layout: Layout) -> None:
    launch = launch_of(entry, layout)
    assert launch.split == layout.split
    assert not launch.whole
    assert print_kernel(launch.kernel) == print_kernel(launch_of(entry, replace(layout, split=None)).kernel)


def test_a_split_may_be_forbidden() -> None:
    assert launch_of("linear", Layout(split="none")).whole
    assert not launch_of("linear", Layout()).whole


@pytest.mark.parametrize(
    ("entry", "choice"),
    [
        ("linear", SiteChoice("f64", accumulate="f32")),
        ("linear", SiteChoice("bf16", accumulate="f64")),
        ("linear", SiteChoice("bf16", accumulate="bf16")),
        ("linear", SiteChoice("f32", accumulate="bf16")),
        ("shifted", SiteChoice("f32", accumulate="f64")),
        ("running", SiteChoice("f32", accumulate="f64")),
        ("scattered", SiteChoice("f32", accumulate="f64")),
        ("grown", SiteChoice("f32", accumulate="f64")),
        ("soft", SiteChoice("f32", accumulate="f64")),
    ],
)
def test_an_accumulation_that_kernels_can_not_honour(entry: str, choice: SiteChoice) -> None:
    refused(9, entry, choice, Layout())


@pytest.mark.parametrize(
    ("entry", "choice"),
    [
        ("linear", SiteChoice("f32", accumulate="f64")),
        ("average", SiteChoice("f32", accumulate="f64")),
        ("whole", SiteChoice("f32", accumulate="f64")),
        ("linear", SiteChoice("bf16", accumulate="f32")),
        ("grown", SiteChoice("bf16", accumulate="f32")),
        ("linear", SiteChoice("f64", accumulate="f64")),
    ],
)
def test_accumulations_that_kernels_honour(entry: str, choice: SiteChoice) -> None:
    assert lowered(entry, choice, Layout()).launches


def test_the_last_loop_is_named_in_a_refusal() -> None:
    message: Any = refused(8, "linear", "f32", Layout(split=Split(7, 2)))
    assert "depth 7 of `dot`" in message
