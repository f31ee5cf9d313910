"""Quantised parameters in schedules: whatever is made of them, the bits are those of the values f32(q)·s."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.run.record.host import run

from presk.check.program import loads
from presk.core.bind import bind
from presk.core.nodes import Program
from presk.kernel.nodes import Kernel
from presk.realization.model import Plan, Realization
from presk.realization.parameters import leaves_of
from presk.realization.quantized import quantize
from presk.run.record.choices import choices
from presk.run.record.recorder import record
from presk.run.record.schedule import Launch, Repeat, Schedule, Step

TEXT = """\
module Lin { w: real[p: 3, q: 5] = normal(std = 1) }
module Net { top: Lin; blocks: Lin * 2; deep: Stack * 2 }
module Stack { inner: Lin * 2 }

fn product(m: Net, x: real[batch, 3]) -> real[batch, 5] { dot(x, m.top.w) }
fn looped(m: Net, x: real[batch, 3]) -> real[batch, 5] {
  fold y = zeros[batch, q: 5] over b in m.blocks { y + dot(x, b.w) } }
fn nested(m: Net, x: real[batch, 3]) -> real[batch, 5] {
  fold y = zeros[batch, q: 5] over s in m.deep { fold y = y over b in s.inner { y + dot(x, b.w) } } }
fn named(m: Net, x: real[batch, 3]) -> real[batch, k: 5] { dot(x, rename(m.top.w, q = k)) }
fn turned(m: Net, x: real[batch, 5]) -> real[batch, 3] { dot(x, transpose(m.top.w, (1, 0))) }
fn looked_up(m: Net, t: nat[batch] < 3) -> real[batch, 5] { take(m.top.w, t, axis = 0) }
fn merged(m: Net, x: real[batch, 15]) -> real[batch] { dot(x, merge[k](m.top.w, axes = (0, 1))) }
fn merged_layers(m: Net, x: real[batch, 6]) -> real[batch, 5] { dot(x, merge[k](m.blocks.w, axes = (0, 1))) }
fn merged_all(m: Net, x: real[batch, 30]) -> real[batch] { dot(x, merge[k](m.blocks.w, axes = (0, 1, 2))) }
fn first_rows(m: Net, x: real[batch, 2]) -> real[batch, 5] { dot(x, m.top.w[p = 1..3]) }
fn one_row(m: Net, x: real[batch, 5]) -> real[batch] { dot(x, m.top.w[p = 1]) }
fn part_of_a_row(m: Net, x: real[batch, 3]) -> real[batch] {
  dot(x, m.top.w[p = 2][q = 1..4]) }
fn rows(m: Net, x: real[batch, 5]) -> real[batch] {
  let (a, b, c) = unstack(m.top.w, axis = 0)
  dot(x, a) * dot(x, c) + dot(x, b) }
fn over_rows(m: Net, x: real[batch, 5]) -> real[batch] {
  fold y = zeros[batch] over r in m.top.w along p { y + dot(x, r) } }
fn over_numbers(m: Net, x: real[batch]) -> real[batch] {
  fold y = x over r in m.top.w[p = 1] along q { y * 2 + r } }
fn over_columns(m: Net, x: real[batch, 3]) -> real[batch] {
  fold y = zeros[batch] over r in m.top.w along q { y + dot(x, r) } }
fn third(m: Net, x: real[batch, 5]) -> real[batch] {
  fold y = zeros[batch] over i in 0..3 { y + dot(x, m.top.w[p = i]) } }
fn whole(m: Net) -> real { total(m) }
fn given_back(m: Net) -> Net { m }
fn scaled(m: Net) -> Net { map(p = m) { p * 3 } }
fn started(m: Net, x: real[batch, 3]) -> real[3, 5] { fold w = m.top.w over i in 0..2 { w * 2 + 1 } }
fn kept(m: Net) -> real[i: 2, 3, 5] {
  let (last, all) = scan s = m.top.w over i in 0..2 { (s, s) }
  all }
"""
ENTRIES = [line.split("(")[0].removeprefix("fn ") for line in TEXT.splitlines() if line.startswith("fn ")]
"""Every way a parameter is read."""

SPLIT = """\
module Lin { w: real[4, 6] = normal(std = 1) }
module Net { top: Lin; blocks: Lin * 2 }
fn columns(m: Net, x: real[batch, i: 4]) -> real[batch, a: 2, b: 3] {
  ein[batch, a, b](x, split[a: 2, b: 3](m.top.w, axis = 1)[i, a, b]) }
fn rows(m: Net, x: real[batch, j: 6]) -> real[batch, a: 2, b: 2] {
  ein[batch, a, b](x, split[a: 2, b: 2](m.top.w, axis = 0)[a, b, j]) }
fn layers(m: Net, x: real[batch, i: 4]) -> real[batch, a: 3, b: 2] {
  fold y = zeros[batch, a: 3, b: 2] over l in m.blocks {
    y + ein[batch, a, b](x, split[a: 3, b: 2](l.w, axis = 1)[i, a, b]) } }
"""


def entry(text: str, name: str) -> Program:
    dims = {"batch": 2} if "batch" in next(line for line in text.splitlines() if line.startswith(f"fn {name}(")) else {}
    return bind(loads(text), name, dims=dims)


def recorded(program: Program, realization: Realization) -> Schedule:
    return record(program, choices(realization, Plan("default"), program))


def outputs(program: Program, kind: str | None, axis: int, default: str) -> tuple[Schedule, list[Any]]:
    """The schedule and its outputs with all parameters quantised, or with the values these stand for."""
    random = np.random.default_rng(7)
    inputs: dict[str, Any] = {}
    names: set[str] = set()
    for leaf, parameter in ((leaf, program.entry.parameters[0].name) for leaf in leaves_of(program)):
        layers = (2,) * leaf.layers
        if leaf.path[0] != parameter:
            bound = leaf.tensor.bound
            numbers = random.normal(size=leaf.tensor.sizes).astype(np.float64 if default == "f64" else np.float32)
            inputs[leaf.full] = numbers if bound is None else random.integers(0, bound.whole, leaf.tensor.sizes)
            continue
        array = random.normal(size=(*layers, *leaf.tensor.sizes))
        made = quantize(leaf.name, array, kind or "int8", axis, leaf.layers)
        names.add(leaf.name)
        inputs |= {leaf.full: made.stored(), f"{leaf.full}.scale": made.scale}
        inputs[f"{leaf.full} as values"] = made.values()
    said = {name: {"type": kind, "axis": axis} for name in names}
    quantised = recorded(program, Realization(default, quant=said))
    values = recorded(program, Realization(default, params=dict.fromkeys(names, "f32")))
    plain = {path.removesuffix(" as values"): each for path, each in inputs.items() if not path.endswith(".scale")}
    return quantised, [run(quantised, inputs), run(values, plain)]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(("kind", "default"), [("int8", "f32"), ("int4", "f64")])
@pytest.mark.parametrize("name", ENTRIES)
def test_the_bits_are_those_of_the_values(name: str, kind: str, axis: int, default: str) -> None:
    _, (found, expected) = outputs(entry(TEXT, name), kind, axis, default)
    assert [each.tobytes() for each in found] == [each.tobytes() for each in expected]
    assert any(each.any() for each in found)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("kind", ["int8", "int4"])
@pytest.mark.parametrize("name", ["columns", "rows", "layers"])
def test_the_bits_of_split_views_too(name: str, kind: str, axis: int) -> None:
    _, (found, expected) = outputs(entry(SPLIT, name), kind, axis, "f32")
    assert [each.tobytes() for each in found] == [each.tobytes() for each in expected]


def kernels(name: str, kind: str, axis: int, text: str = TEXT) -> list[Kernel]:
    return list(outputs(entry(text, name), kind, axis, "f32")[0].kernels)


def test_a_split_axis_keeps_its_scales() -> None:
    (kernel,) = kernels("columns", "int4", 1, SPLIT)
    assert kernel.inputs[1].element.scales == (1, 3)
    (kernel,) = kernels("rows", "int4", 0, SPLIT)
    assert kernel.inputs[1].element.scales == (0, 2)


def test_what_no_kernel_reads_is_read_through_values() -> None:
    assert [kernel.name for kernel in kernels("merged", "int8", 0)] == ["values", "dot"]
    assert [kernel.name for kernel in kernels("merged_layers", "int8", 0)] == ["dot"]
    assert [kernel.name for kernel in kernels("merged_layers", "int8", 1)] == ["values", "dot"]


def steps(found: tuple[Step, ...]) -> list[Step]:
    return [each for step in found for each in ((step, *steps(step.steps)) if isinstance(step, Repeat) else (step,))]


def test_layers_are_views_of_integers_and_scales() -> None:
    schedule, _ = outputs(entry(TEXT, "looped"), "int4", 1, "f32")
    launch = next(
        each
        for each in steps(schedule.steps)
        if isinstance(each, Launch) and schedule.kernels[each.kernel].name == "dot"
    )
    integers, scales = launch.inputs[1:]
    assert (integers.strides, scales.strides) == (((0, 15),), ((0, 5),))


def test_values_are_made_once_in_a_body() -> None:
    text = TEXT + (
        "fn twice(m: Net, x: real[batch, 15]) -> real[batch] {\n"
        "  let w = merge[k](m.top.w, axes = (0, 1))\n  dot(x, w) + dot(x * 2, w) }\n"
    )
    schedule, _ = outputs(entry(text, "twice"), "int8", 0, "f32")
    names = [schedule.kernels[each.kernel].name for each in steps(schedule.steps) if isinstance(each, Launch)]
    assert names.count("values") == 1
