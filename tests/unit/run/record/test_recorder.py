"""What a recording holds: launches and few copies, loops that stay loops, layers that are views."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from presk.check.program import load, loads
from presk.core.bind import bind
from presk.kernel.lowered import Layout, SiteChoice
from presk.kernel.nodes import Element
from presk.run.record.frame import Choices
from presk.run.record.recorder import record
from presk.run.record.schedule import Convert, Copy, Draw, Launch, Mask, Repeat, Schedule, SetCount, Step, Swap
from presk.run.record.text import print_schedule
from presk.shapes.types import Tensor

EXAMPLES = Path(__file__).parents[4] / "examples"
SCALARS = {"f64": "f64", "f32": "f32", "bf16": "f32"}


def uniform(realization: str, sites: dict[str, str] | None = None) -> Choices:
    """One type for every site, but those named `function/%let`."""

    def rest(path: str, tensor: Tensor) -> tuple[Element, int]:
        if tensor.kind != "real":
            bound = None if tensor.bound is None else tensor.bound.whole
            return Element("bool" if tensor.kind == "bool" else "i64", bound), 0
        kind = realization if tensor.axes else SCALARS[realization]
        return Element("f64" if kind == "f64" else "f32" if kind == "f32" else "bf16"), 0

    return Choices(
        realization,
        realization,
        lambda function, let: SiteChoice((sites or {}).get(f"{function}/%{let.number}", realization)),
        lambda function, let: Layout(),
        rest,
    )


def recorded(
    text: str,
    entry: str,
    realization: str = "f32",
    *,
    training: bool = False,
    sites: dict[str, str] | None = None,
    **dims: int,
) -> Schedule:
    program = bind(loads(text), entry, dims=dims, training=training)
    return record(program, uniform(realization, sites))


def every(steps: tuple[Step, ...]) -> Iterator[Step]:
    """All steps, those in loops too."""
    for step in steps:
        yield step
        if isinstance(step, Repeat):
            yield from every(step.steps)


def of(schedule: Schedule, kind: type) -> list[Step]:
    return [step for step in every(schedule.steps) if isinstance(step, kind)]


STACK = """
module Cell { w: real[4, 4] = zeros; b: real[4] = zeros
  fn apply(self, x: real[batch, 4]) -> real[batch, 4] { tanh(dot(x, self.w) + self.b) } }
module Net { cells: Cell * 3
  fn apply(self, x: real[batch, 4]) -> real[batch, 4] { fold x = x over cell in self.cells { cell(x) } }
  fn all(self, x: real[batch, 4]) -> (real[batch, 4], real[3, batch, 4]) {
    scan x = x over cell in self.cells { let y = cell(x); (y, y * 2) }
  } }
"""


def test_a_layer_is_a_view_with_a_stride() -> None:
    schedule = recorded(STACK, "Net.apply", batch=2)
    (loop,) = of(schedule, Repeat)
    assert isinstance(loop, Repeat) and loop.trips == 3
    weights = [view for launch in of(schedule, Launch) for view in launch.inputs if view.buffer.space == "h"]  # type: ignore[attr-defined]
    assert {view.strides for view in weights} == {((0, 16),), ((0, 4),)}


def test_a_folds_state_swaps_with_its_next_one() -> None:
    schedule = recorded(STACK, "Net.apply", batch=2)
    assert len(of(schedule, Swap)) == 1
    assert len(of(schedule, Copy)) == 2  # the start, and the result


def test_a_scans_results_are_made_where_they_are_stacked() -> None:
    schedule = recorded(STACK, "Net.all", batch=2)
    stacked = [step for step in of(schedule, Launch) if step.outputs[0].buffer.space == "o"]  # type: ignore[attr-defined]
    assert [step.outputs[0].strides for step in stacked] == [((0, 8),)]  # type: ignore[attr-defined]


def test_scalars_are_never_bf16() -> None:
    text = "fn f(x: real[n], a: real) -> (real, real[n]) { (mean(x) * a, x * a) }"
    schedule = recorded(text, "f", "bf16", n=3)
    assert [each.element.kind for each in schedule.inputs] == ["bf16", "f32"]
    assert [each.element.kind for each in schedule.outputs] == ["f32", "bf16"]


def test_a_wider_value_is_converted_at_the_edge_once() -> None:
    text = "fn f(x: real[n, n]) -> real[n, n] { let y = dot(x, x); dot(y, y) }"
    schedule = recorded(text, "f", sites={"f/%1": "f64"}, n=3)
    assert [(step.source_element.kind, step.element.kind) for step in of(schedule, Convert)] == [("f64", "f32")]  # type: ignore[attr-defined]


def test_a_narrower_value_is_read_as_it_is() -> None:
    text = "fn f(x: real[n, n]) -> real[n, n] { let y = dot(x, x); dot(y, y) }"
    schedule = recorded(text, "f", "bf16", sites={"f/%2": "f32"}, n=3)
    assert not of(schedule, Convert)
    assert [each.inputs[0].element.kind for each in schedule.kernels] == ["bf16", "bf16"]
    assert [each.element.kind for each in schedule.outputs] == ["f32"]


def test_a_constant_argument_is_a_buffer_of_its_readers_type() -> None:
    text = "fn scaled(x: real[n], a: real) -> real[n] { x * a }\nfn f(x: real[n]) -> real[n] { scaled(x, 0.1) }"
    (constant,) = recorded(text, "f", "f64", n=2).constants
    assert (constant.element.kind, constant.value) == ("f64", 0.1)


def test_a_counter_read_as_a_number_is_set_each_round() -> None:
    text = "fn f(x: real[n]) -> real[n] { fold x = x over i in 0..5 { x * i } }"
    schedule = recorded(text, "f", n=2)
    assert [step.start for step in of(schedule, SetCount)] == [0]  # type: ignore[attr-defined]


def test_a_counter_that_indexes_the_first_axis_is_a_view() -> None:
    text = "fn f(x: real[t: 5, n]) -> real[n] { fold s = x[t = 0] over i in 0..5 { cumsum(x[t = i], axis = 0) } }"
    assert not of(recorded(text, "f", n=2), SetCount)


def test_an_inner_axis_is_laid_out_once_before_the_loop() -> None:
    text = "fn f(x: real[n, seq: T]) -> real[n] { fold s = zeros[n] over e in x along seq { s + e } }"
    schedule = recorded(text, "f", n=2, T=3)
    names = [schedule.kernels[step.kernel].name for step in schedule.steps if isinstance(step, Launch)]
    assert "transpose" in names


def test_a_map_launches_for_every_leaf() -> None:
    text = f"{STACK}\nfn halve(p: Net) -> Net {{ map(p = p) {{ p / 2 }} }}"
    schedule = recorded(text, "halve")
    assert [view.strides for step in of(schedule, Launch) for view in step.outputs] == [(), ()]  # type: ignore[attr-defined]
    assert not of(schedule, Repeat)


def test_dropout_draws_in_training_alone() -> None:
    text = "fn f(x: real[batch, 3]) -> real[batch, 3] { dropout(x, 0.5) }"
    assert not of(recorded(text, "f", batch=2), Mask)
    (mask,) = of(recorded(text, "f", training=True, batch=2), Mask)
    assert isinstance(mask, Mask) and (mask.batch, mask.key.stream, mask.key.path) == (0, "dropout", "#0")


def test_a_draws_key_holds_its_path_and_counters() -> None:
    text = """
module Cell { w: real[2] = zeros
  fn apply(self, x: real[2]) -> real[2] { x * self.w + normal[2]() } }
module Net { cells: Cell * 3
  fn apply(self, x: real[2]) -> real[2] { fold x = x over cell in self.cells { cell(x) } } }
"""
    (draw,) = of(recorded(text, "Net.apply"), Draw)
    assert isinstance(draw, Draw)
    assert (draw.key.stream, draw.key.path, draw.key.counters) == ("normal", "cells.apply#0", (0,))


@pytest.mark.parametrize("realization", ["f64", "f32", "bf16"])
@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/*.psk")), ids=lambda path: path.stem)
def test_every_entry_of_the_examples_is_recorded(path: Path, realization: str) -> None:
    consts = {"bert": {"L": 2, "D": 16, "H": 2}, "llama": {"L": 2}}.get(path.stem, {})
    from presk.shapes.constants import rational

    checked = load(path, {name: rational(value) for name, value in consts.items()})
    for entry in checked.entries():
        if "{" in entry.name or "fn(" in entry.signature:
            continue
        dims = {"batch" if dim == ".." else dim: 2 for dim in entry.free_dimensions}
        schedule = record(bind(checked, entry.name, dims=dims), uniform(realization))
        assert print_schedule(schedule).startswith(f'schedule "{schedule.name}"')
        assert len(schedule.outputs) >= 1


def test_a_scalar_leaf_of_a_map_stays_a_scalar() -> None:
    text = "fn f(p: {w: real[3], a: real}) -> {w: real[3], a: real} { map(p = p) { p * 2 } }"
    schedule = recorded(text, "f", "bf16")
    assert [each.element.kind for each in schedule.outputs] == ["bf16", "f32"]
