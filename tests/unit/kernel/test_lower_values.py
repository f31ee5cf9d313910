"""Values at the edges: NaN, infinities, signed zeros, no elements; integers with scales; mixed types; in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.unit.kernel.comparing import STORAGES, bits, eighths, machine, normals, program, run
from tests.unit.kernel.machine import Held, Machine, hold, quantised, rounded
from tests.unit.kernel.machine import given as held_arguments

from presk.core.groups import partition
from presk.core.nodes import Ref
from presk.exact.constants import round_constant
from presk.kernel import limits
from presk.kernel.lower import lower
from presk.kernel.lowered import InPlace, Layout, Lowered, SiteChoice
from presk.kernel.nodes import Element
from presk.kernel.printer import print_kernel
from presk.shapes import constants, types
from presk.text.diagnostics import PreskError

NAN, INF = np.nan, np.inf


def value(body: str, *arguments: Any, kind: str = "f32", types: str = "x: real[n]", **dims: int) -> Any:
    """`fn f(types) { body }` of arguments."""
    of = program(f"fn f({types}) {{ {body} }}", "f", **dims)
    return run(of, arguments, kind)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(
    ("body", "x", "wanted"),
    [
        ("max(x)", [1, NAN, 2], NAN),
        ("min(x)", [1, NAN, 2], NAN),
        ("max(x)", [-INF, -INF], -INF),
        ("max(x)", [-0.0, 0.0], 0.0),
        ("min(x)", [0.0, -0.0], -0.0),
        ("maximum(x, 0)", [-0.0, NAN, -INF], [0.0, NAN, 0.0]),
        ("minimum(x, 0)", [-0.0, NAN, INF], [-0.0, NAN, 0.0]),
        ("relu(x)", [-0.0, NAN, -INF, INF], [0.0, NAN, 0.0, INF]),
        ("sign(x)", [-0.0, NAN, -INF, 3], [-0.0, NAN, -1, 1]),
        ("abs(x)", [-0.0, NAN, -INF], [0.0, NAN, INF]),
        ("sigmoid(x)", [-INF, INF, NAN, 1000, -1000], [0, 1, NAN, 1, 0]),
        ("softplus(x)", [-INF, INF, NAN, 1000, -1000], [0, INF, NAN, 1000, 0]),
        ("sum(x)", [-0.0, -0.0], 0.0),
        ("sum(x)", [INF, -INF], NAN),
        ("sum(x)", [], 0.0),
        ("prod(x)", [], 1.0),
        ("mean(x)", [], NAN),
        ("logsumexp(x)", [-INF, -INF], -INF),
        ("logsumexp(x)", [INF, 1], INF),
        ("logsumexp(x)", [NAN, 1], NAN),
        ("logsumexp(x)", [], -INF),
        ("softmax(x)", [-INF, 0, -INF], [0, 1, 0]),
        ("softmax(x)", [NAN, 0], [NAN, NAN]),
        ("softmax(x)", [1000, 1000], [0.5, 0.5]),
        ("log_softmax(x)", [-INF, 0], [-INF, 0]),
        ("sort(x)", [NAN, 1, -INF, INF, -1, NAN], [-INF, -1, 1, INF, NAN, NAN]),
        ("sort(x)", [0.0, -0.0, -1], [-1, 0.0, -0.0]),
        ("cumsum(x, axis = 0)", [1, NAN, 1], [1, NAN, NAN]),
        ("log(x)", [-1, 0, INF], [NAN, -INF, INF]),
        ("sqrt(x)", [-1, -0.0, INF], [NAN, -0.0, INF]),
        ("x / 0", [1, -1, 0], [INF, -INF, NAN]),
        ("where(x > 0, log(x), 0)", [-1, 1], [0, 0]),
    ],
)
def test_reals_at_the_edges(body: str, x: list[float], wanted: Any, storage: str) -> None:
    axis = "" if x else ", axis = n" if body.startswith("soft") else ""
    found = value(body.replace(")", f"{axis})", 1) if axis else body, np.array(x), kind=storage, n=len(x))
    assert bits(found.astype(np.float64)) == bits(np.asarray(wanted, dtype=np.float64))


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(
    ("body", "x", "wanted"),
    [
        ("argmax(x)", [1, 3, 3, 2], 2),
        ("argmax(x, ties = first)", [1, 3, 3, 2], 1),
        ("argmin(x)", [1, 0, 0, 2], 2),
        ("argmin(x, ties = first)", [1, 0, 0, 2], 1),
        ("argmax(x)", [INF, NAN, 1], 1),
        ("argmax(x)", [NAN, NAN, 1], 1),
        ("argmax(x, ties = first)", [NAN, NAN, 1], 0),
        ("argmin(x)", [NAN, INF], 1),
        ("argmin(x)", [NAN, NAN], 1),
        ("argmin(x, ties = first)", [NAN, NAN], 0),
        ("argmax(x)", [-INF, -INF], 1),
        ("argmax(x, ties = first)", [-INF, -INF], 0),
        ("argmin(x)", [INF, INF], 1),
        ("argmax(x)", [-0.0, 0.0, -0.0], 2),
        ("argmax(x, ties = first)", [-0.0, 0.0], 0),
        ("top_k(x, 3).1", [1, 3, 3, NAN, 2], [3, 2, 1]),
        ("top_k(x, 3, ties = first).1", [1, 3, 3, NAN, 2], [3, 1, 2]),
        ("top_k(x, 2).1", [-INF, -INF, -INF], [2, 1]),
        ("top_k(x, 3, ties = first).1", [-INF, -INF, -INF], [0, 1, 2]),
        ("top_k(x, 5).1", [5, 1, 4, 2, 3], [0, 2, 4, 3, 1]),
        ("top_k(x, 0).1", [5, 1], []),
    ],
)
def test_decisions_at_the_edges(body: str, x: list[float], wanted: Any, storage: str) -> None:
    np.testing.assert_array_equal(value(body, np.array(x, dtype=float), kind=storage, n=len(x)), wanted)


@pytest.mark.parametrize("storage", STORAGES)
def test_a_row_that_its_mask_empties_is_zero(storage: str) -> None:
    x = np.array([[1.0, NAN, 2.0], [1.0, 2.0, INF]])
    mask = np.array([[True, False, True], [False, False, False]])
    types = "x: real[n, d], m: bool[n, d]"
    found = value("softmax(x, axis = d, mask = m)", x, mask, kind=storage, types=types, n=2, d=3)
    refused = np.where(mask, x, -INF)[:1]
    plain = value("softmax(x, axis = d)", refused, kind=storage, types="x: real[n, d]", n=1, d=3)
    assert bits(found[0]) == bits(plain[0])
    assert bits(found[1]) == bits(np.zeros(3, found.dtype))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
@pytest.mark.parametrize(
    "body",
    [
        "x + 1",
        "sum(x, axis = d)",
        "softmax(x, axis = d)",
        "softmax(x, axis = n) * 2",
        "transpose(x, (d, n))",
        "concat(x, x, axis = d)",
        "stack[s](x, x * 2)",
        "pad(x, axis = d, before = 1, after = 2)",
        "pad(x, axis = n, after = 2)",
        "flip(x, axis = n)",
        "cumsum(x, axis = d)",
        "sort(x, axis = d)",
        "top_k(x, 0, axis = n)",
        "logsumexp(x, axis = n)",
        "mean(x)",
        "x[d = 0..0] * 2",
    ],
)
def test_shapes_without_elements(body: str, shape: tuple[int, int]) -> None:
    run(program(f"fn f(x: real[n, d]) {{ {body} }}", "f", n=shape[0], d=shape[1]), [np.zeros(shape)], "f32")


def test_a_look_up_in_an_empty_axis_verifies_where_it_never_runs() -> None:
    of = program("fn f(x: real[n, d], i: nat[m] < n) -> real[m, d] { take(x, i, axis = n) * 2 }", "f", n=0, d=2, m=0)
    assert run(of, [np.zeros((0, 2)), np.zeros(0, np.int64)], "f32").shape == (0, 2)
    never = program("fn f(x: real[n, d], i: nat < n) -> real[d] { x[n = i] * 2 }", "f", n=0, d=2)
    (group,) = [each for each in partition(never.entry).groups if each.kind != "view"]
    kernel = (
        lower(never.entry, never.entry.body, group, {Ref(0): Element("f32")}, SiteChoice("f32"), Layout())
        .launches[0]
        .kernel
    )
    assert "%0[" not in print_kernel(kernel).split("{", 1)[1]


# Integers with scales

QUANTISED = """
fn dot_rows(x: real[b, i], w: real[i, o]) -> real[b, o] { dot(x, w) }
fn looked_up(w: real[v, d], t: nat[b] < v) -> real[b, d] { embed(w, t) }
fn added(x: real[v, d], w: real[v, d]) -> real[v, d] { x * 2 + w }
fn rows(w: real[v, d]) -> real[v] { logsumexp(w, axis = d) + sum(w, axis = d) }
fn scattered(w: real[v, d], i: nat[m] < v, y: real[m, d]) -> real[v, d] { scatter_add(w, i, y, axis = v) }
fn turned(w: real[v, d]) -> real[d, v] { transpose(w, (d, v)) }
fn sorted(w: real[v, d]) -> real[v, d] { sort(w, axis = d) }
fn updated(w: real[v, d], y: real[d], i: nat < v) -> real[v, d] { {w with [v = i] = y} }
"""


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("type_", ["int8", "int4"])
@pytest.mark.parametrize(
    ("entry", "layout"),
    [
        ("dot_rows", Layout()),
        ("dot_rows", Layout(pack=True)),
        ("dot_rows", Layout(tile=(2, 4))),
        *((entry, Layout()) for entry in ("looked_up", "added", "rows", "scattered", "turned", "sorted", "updated")),
    ],
)
def test_integers_with_scales_are_the_values_they_stand_for(
    entry: str, type_: str, axis: int, storage: str, layout: Layout
) -> None:
    of = program(QUANTISED, entry, **{"dot_rows": {"b": 3, "i": 5, "o": 8}}.get(entry, sizes_of(entry)))
    rng = np.random.default_rng(4)
    held: list[Any] = []
    plain: list[Any] = []
    for parameter in of.entry.parameters:
        tensor: Any = parameter.type
        if parameter.name == "w":
            integers, values = quantised(tensor.sizes, type_, axis, seed=4)
            held.append(integers)
            plain.append(hold(values, tensor, "bf16"))
            continue
        drawn = eighths(rng, *tensor.sizes) if tensor.kind == "real" else rng.integers(0, 3, tensor.sizes)
        held.append(hold(drawn, tensor, storage))
        plain.append(held[-1])
    assert bits(machine(of, storage, layout).run(held)) == bits(machine(of, storage, layout).run(plain))


def sizes_of(entry: str) -> dict[str, int]:
    return {"v": 3, "d": 5} | {"looked_up": {"b": 4}, "scattered": {"m": 4}}.get(entry, {})


# Element types


def test_a_scale_rounds_once_in_f32_whatever_the_kernel_is() -> None:
    of = program("fn f(w: real[n]) -> real[n] { w * 1 + 0 }", "f", n=3)
    scales = np.array([0.1, 0.3, 1e-3], np.float32)
    held = Held(np.array([127, -3, 5], np.int8), Element("int8", scales=(0, 1)), scales)
    found = machine(of, "f64").run([held])
    assert bits(found) == bits((np.array([127, -3, 5], np.float32) * scales).astype(np.float64))


def test_unstacking_an_empty_axis_makes_nothing() -> None:
    of = program("fn f(x: real[n, d: 0]) { unstack(x * 2, axis = d) }", "f", n=2)
    assert run(of, [np.zeros((2, 0))], "f32") == ()


def test_what_is_narrower_is_read_as_it_is_and_what_is_wider_is_narrowed_at_the_edge() -> None:
    of = program("fn f(x: real[n], y: real[n], c: real) -> real[n] { x * y + c }", "f", n=2)
    (group,) = partition(of.entry).groups
    kinds = ("f64", "f32", "bf16")
    for storage in kinds:
        for mine in kinds:
            elements = {Ref(0): Element(mine), Ref(1): Element("f32"), Ref(2): Element("f64")}  # type: ignore[arg-type]
            low = lower(of.entry, of.entry.body, group, elements, SiteChoice(storage), Layout())
            inputs = [each.element.kind for each in low.launches[0].kernel.inputs]
            order = ("bf16", "f32", "f64")
            assert inputs[0] == min(mine, storage, key=order.index)
            assert inputs[1] == min("f32", storage, key=order.index)
            assert inputs[2] == {"bf16": "f32"}.get(storage, storage)


@pytest.mark.parametrize("storage", STORAGES)
def test_mixed_elements_meet_in_the_kernel_s_arithmetic(storage: str) -> None:
    of = program("fn f(x: real[n], y: real[n], z: real[n]) -> real[n] { x * y + z }", "f", n=40)
    rng = np.random.default_rng(5)
    tensors: list[Any] = [each.type for each in of.entry.parameters]
    kinds = ("bf16", "f32", "f64")
    held = [hold(normals(rng, 40), tensor, kind) for tensor, kind in zip(tensors, kinds, strict=True)]
    arithmetic = np.float64 if storage == "f64" else np.float32
    order = ("bf16", "f32", "f64")
    x, y, z = (
        rounded(each.array, min(kind, storage, key=order.index)).astype(arithmetic)
        for each, kind in zip(held, kinds, strict=True)
    )
    assert bits(machine(of, storage).run(held)) == bits(rounded(x * y + z, storage))


def test_a_single_number_is_never_bf16() -> None:
    of = program("fn f(x: real[n]) -> real { mean(x) }", "f", n=3)
    host = machine(of, "bf16")
    found = host.run(held_arguments(of.entry, [np.ones(3)], "bf16"))
    assert found.dtype == np.float32
    assert host.kernels[0].startswith("kernel mean (%0 : bf16[n: 3]) -> %1 : f32 {")


def test_interior_values_are_not_rounded_to_bf16() -> None:
    of = program("fn f(x: real[n]) -> real[n] { x * x * x - x }", "f", n=50)
    x = rounded(normals(np.random.default_rng(6), 50), "bf16").astype(np.float32)
    assert bits(run(of, [x], "bf16")) == bits(rounded(x * x * x - x, "bf16"))


@pytest.mark.parametrize("body", ["scatter_add(x, i, v, axis = n)", "cumsum(v, axis = m)", "broadcast_to[n](sum(v))"])
def test_running_sums_of_bf16_are_held_in_f32(body: str) -> None:
    types = "x: real[n], i: nat[m] < n, v: real[m]"
    v = np.full(1000, 2.0**-7)
    found = value(body, np.zeros(1), np.zeros(1000, np.int64), v, kind="bf16", types=types, n=1, m=1000)
    assert float(found[-1]) == 7.8125, "bf16 sums of 2⁻⁷ get no further than 2"


def test_a_constant_is_rounded_once_to_the_arithmetic_type() -> None:
    third = constants.apply("div", constants.rational(1), constants.apply("sqrt", constants.rational(7)))
    for storage, kind in (("f64", "f64"), ("f32", "f32"), ("bf16", "f32")):
        of = program("fn f(x: real[n]) -> real[n] { x + 1 / sqrt(7) }", "f", n=1)
        host = machine(of, storage)
        host.run(held_arguments(of.entry, [np.zeros(1)], storage))
        assert f"(%0[i0] + {float(round_constant(third, kind))!r}"[:18] in host.kernels[0]


def test_nats_are_converted_where_reals_are_wanted() -> None:
    found = value("x / 3", np.array([5, 16777217]), types="x: nat[n] < 100000000", n=2)
    assert bits(found) == bits(np.array([5, 16777217], np.int64).astype(np.float32) / np.float32(3))


def test_nats_beyond_what_kernels_hold_are_refused_where_they_are_bound() -> None:
    """Sizes and bounds stay below what `i64<V` holds, so no kernel is ever asked for more."""
    big = " * ".join(["x"] * 5)
    with pytest.raises(PreskError) as error:
        program(f"fn f(x: nat[n] < 100000) {{ {big} }}", "f", n=2)
    assert error.value.code == "E4005"
    assert types.SIZE_LIMIT <= limits.BOUND


def test_an_accumulation_in_f64_rounds_each_interior_value_to_f32() -> None:
    of = program("fn f(x: real[n, d]) -> real[n] { mean(square(x - 1) / 3, axis = d) }", "f", n=3, d=50)
    x = normals(np.random.default_rng(7), 3, 50).astype(np.float32)
    terms = ((x - np.float32(1)) * (x - np.float32(1)) / np.float32(3)).astype(np.float64)
    total = np.zeros(3)
    for each in terms.T:
        total = total + each
    wanted = total.astype(np.float32) / np.float32(50)
    assert bits(run(of, [x], SiteChoice("f32", accumulate="f64"))) == bits(wanted)


def test_an_interleaved_mean_and_a_softmax_s_sum() -> None:
    x = normals(np.random.default_rng(8), 2, 11).astype(np.float32)
    sums = np.zeros((3, 2), np.float32)
    for at, each in enumerate(x.T):
        sums[at % 3] += each
    wanted = ((sums[0] + sums[1]) + sums[2]) / np.float32(11)
    of = program("fn f(x: real[n, d]) -> real[n] { mean(x, axis = d) }", "f", n=2, d=11)
    assert bits(run(of, [x], SiteChoice("f32", partials=3))) == bits(wanted)
    soft = program("fn f(x: real[n, d]) -> real[n, d] { softmax(x, axis = d) }", "f", n=2, d=11)
    assert bits(run(soft, [x], SiteChoice("f32", partials=3))) != bits(run(soft, [x], "f32"))
    for partials in (1, 3, 40):
        many = SiteChoice("f32", partials=partials)
        assert bits(run(soft, [x], many)) == bits(run(soft, [x], many, Layout(passes=2)))


# In place


def ways(body: str, types: str, elements: tuple[str, ...], storage: str = "f32", **dims: int) -> tuple[InPlace, ...]:
    """The ways in which the last group of a function may overwrite an operand."""
    of = program(f"fn f({types}) {{ {body} }}", "f", **dims)
    group = list(partition(of.entry).groups)[-1]
    held = {read.ref: Element("f32") for read in group.reads}
    held |= {Ref(at): Element(kind) for at, kind in enumerate(elements)}  # type: ignore[arg-type]
    low: Lowered = lower(of.entry, of.entry.body, group, held, SiteChoice(storage), Layout())
    return low.in_place


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("x * 2 + y", [0, 1]),
        ("x - flip(y, axis = n)", [0]),
        ("flip(x, axis = n)", []),
        ("x + z[m = 0]", [0]),
        ("softmax(x)", []),
        ("cumsum(x, axis = n)", []),
        ("{x with [n = 1..2] = y[n = 0..1]}", [0]),
        ("{x with [n = 0..3] = x}", []),
    ],
)
def test_what_may_be_overwritten(body: str, wanted: list[int]) -> None:
    found = ways(body, "x: real[n: 3], y: real[n: 3], z: real[m: 2, n: 3]", ("f32",) * 3)
    assert [way.overwritten for way in found] == [Ref(at) for at in wanted]


def test_only_what_is_held_as_the_result_is_overwritten() -> None:
    types = "x: real[n: 3], y: real[n: 3]"
    assert [way.overwritten.number for way in ways("x * 2 + y", types, ("bf16", "f32"))] == [1]
    assert [way.overwritten.number for way in ways("x * 2 + y", types, ("f64", "bf16"), "bf16")] == [1]
    assert not ways("{x with [n = 1..2] = y[n = 0..1]}", types, ("f64", "f32"))


def test_an_update_writes_its_slice_alone_in_place() -> None:
    (way,) = ways("{x with [n = i] = y}", "x: real[n: 4, d: 3], y: real[d: 3], i: nat < 4", ("f32", "f32"))
    text = print_kernel(way.launches[0].kernel)
    assert "-> %3 in %0 : f32[n: 4, d: 3]" in text
    assert text.count("for ") == 1


def test_a_scatter_in_place_copies_nothing_and_in_bf16_is_not_offered() -> None:
    types = "x: real[n: 4], i: nat[m: 2] < 4, v: real[m: 2]"
    (way,) = ways("scatter_add(x, i, v, axis = 0)", types, ("f32", "i64", "f32"))
    assert print_kernel(way.launches[0].kernel).count("for ") == 1
    assert not ways("scatter_add(x, i, v, axis = 0)", types, ("bf16", "i64", "bf16"), "bf16")


def machine_of(choice: Callable[[Any], SiteChoice], of: Any) -> Machine:
    return Machine(of.entry, choice)


def test_sites_of_different_storage_meet_at_their_edges() -> None:
    of = program("fn f(x: real[n, k], w: real[k, m: 8]) -> real[n, m: 8] { tanh(dot(x, w)) * 2 }", "f", n=3, k=4)
    rng = np.random.default_rng(9)
    values = [normals(rng, 3, 4), normals(rng, 4, 8)]
    host = machine_of(lambda let: SiteChoice("bf16" if let.value.primitive == "dot" else "f64"), of)
    found = host.run(held_arguments(of.entry, values, "bf16"))
    assert found.dtype == np.float64
    assert "%0 : bf16[n: 3, m: 8]" in host.kernels[-1]
