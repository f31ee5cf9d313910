"""The plan `auto`: what it chooses by shape and machine, and that whatever it chooses can be run and divided."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from presk.core.nodes import Program
from presk.core.reader import read_program
from presk.kernel.lowered import Chosen, Layout, Machine, Split
from presk.realization.model import Plan, Realization
from presk.run.record.choices import choices
from presk.run.record.recorder import record
from presk.run.record.schedule import Divided, Launch, Schedule
from presk.text.spans import Source

ONE = Machine(1, (1 << 15, 1 << 19, 1 << 25))
TWO = Machine(2, ONE.caches)
LONG = Machine(1, ONE.caches, vector=64)


def dot(i: int, k: int, j: int) -> Program:
    return nest(f"%0 : real[i: {i}, k: {k}], %1 : real[k: {k}, j: {j}]", f"i: {i}, j: {j}", "dot(%0, %1)")


def turned(i: int, k: int, j: int) -> Program:
    """A dot's derivative by its first operand: operand 1 lies across its columns."""
    value = f"dot_vjp_l[i: {i}, j: {j}](%0, %1)"
    return nest(f"%0 : real[i: {i}, k: {k}], %1 : real[j: {j}, k: {k}]", f"i: {i}, j: {j}", value)


def twice(b: int, s: int, i: int, j: int) -> Program:
    """A dot's derivative by its second operand: two summed axes."""
    parameters = f"%0 : real[b: {b}, s: {s}, i: {i}], %1 : real[b: {b}, s: {s}, j: {j}]"
    return nest(parameters, f"i: {i}, j: {j}", f"dot_vjp_r[i: {i}, j: {j}](%0, %1)")


def nest(parameters: str, result: str, value: str) -> Program:
    number = parameters.count("%")
    return read_program(
        Source("<nest>", f"fn f({parameters}) -> real[{result}] {{\n  %{number} = {value}\n  %{number}\n}}\n")
    )


def recorded(program: Program, machine: Machine, kind: str = "f32", fma: bool = False) -> tuple[Schedule, Chosen]:
    found: dict[str, list[Chosen]] = {}
    said = choices(Realization(kind, fma), Plan("auto"), program, machine)
    schedule = record(program, said, chosen=found)
    return schedule, list(found.values())[-1][-1]


def layout(program: Program, machine: Machine = ONE, kind: str = "f32", fma: bool = False) -> Layout:
    """What is chosen for the loops; on one worker a long nest says that it isn't divided."""
    found = recorded(program, machine, kind, fma)[1].layout
    assert found.split in (None, "none") or machine.threads > 1
    return replace(found, split=None) if found.split == "none" else found


def tiled(tile: tuple[int, int], lanes: int, pack: bool | str = False, **more: object) -> Layout:
    return Layout(form="tiled", tile=tile, lanes=lanes, pack=pack, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("program", "wanted"),
    [
        (dot(1024, 1024, 1024), tiled((12, 32), 8, "panel", order="JI")),
        (dot(1025, 1024, 1024), tiled((12, 32), 8, "panel", order="JI", rows=256)),
        (dot(256, 4096, 1024), tiled((12, 32), 8, "panel", order="JKI", kblock=1024)),
        (dot(1024, 4096, 1024), tiled((12, 32), 8, "panel", order="KJI", kblock=1024, rows=256)),
        (twice(16, 64, 256, 1024), tiled((12, 32), 8, "panel", order="JKI", kblock=1024)),
        (dot(768, 128, 512), tiled((12, 32), 8, "panel", order="JI")),
        (dot(8, 512, 512), tiled((12, 32), 8, order="JI")),
        (dot(64, 64, 64), tiled((12, 32), 8, order="JI")),
        (dot(64, 64, 16), tiled((12, 16), 8, order="JI")),
        (dot(64, 16, 64), tiled((4, 8), 4)),
        (dot(64, 64, 17), tiled((4, 8), 4)),
        (dot(2, 16, 8), tiled((2, 8), 4)),
        (dot(1, 16, 64), tiled((1, 16), 4)),
        (dot(1, 64, 128), Layout(form="row-wise")),
        (dot(1, 512, 4096), Layout(form="row-wise")),
        (dot(64, 64, 3), Layout(form="tiled", tile=(1, 1))),
        (turned(64, 512, 512), tiled((12, 32), 8, "panel", order="JI")),
        (turned(64, 16, 16), tiled((4, 8), 4, True)),
    ],
)
def test_contractions_in_f32(program: Program, wanted: Layout) -> None:
    assert layout(program) == wanted


def test_types_and_vectors() -> None:
    assert layout(dot(1024, 1024, 1024), kind="f64") == tiled((12, 16), 4, "panel", order="JI", rows=256)
    assert layout(dot(64, 16, 64), kind="bf16") == Layout(form="tiled", tile=(4, 4), lanes=1)
    assert layout(dot(64, 64, 64), kind="bf16") == tiled((12, 64), 8, False, order="JI")
    assert layout(dot(1024, 1024, 1024), kind="bf16") == tiled((12, 64), 8, "panel", order="JI")
    assert layout(dot(1024, 1024, 1024), LONG, "bf16") == tiled((12, 64), 16, "panel", order="JI")
    assert layout(dot(1, 512, 4096), kind="bf16") == tiled((1, 4096), 8, False, order="JI")
    assert layout(dot(1, 512, 1000), LONG, "bf16") == tiled((1, 256), 16, False, order="JI")
    assert layout(dot(1, 512, 128), kind="bf16") == tiled((12, 64), 8, False, order="JI")
    assert layout(dot(1024, 1024, 1024), LONG).tile == (12, 64)
    assert layout(dot(1024, 1024, 1024), LONG, kind="f64").tile == (12, 32)
    assert layout(dot(1024, 1024, 32), LONG) == tiled((12, 32), 16, order="JI")
    assert layout(dot(1024, 1024, 1024), LONG, fma=True).tile == (12, 64)
    assert layout(dot(1024, 1024, 24), LONG).lanes == 4


def test_blocks_of_k_go_by_the_second_cache() -> None:
    """The panel of a tile takes a quarter of it at most; where the system says nothing it is taken to be small."""
    caches = (1 << 15, 1 << 20)
    assert layout(dot(64, 2048, 1024), Machine(1, caches)).kblock is None
    assert layout(dot(64, 2049, 1024), Machine(1, caches)).kblock == 1024
    assert layout(dot(64, 2049, 1024), Machine(1, (1 << 15, 1 << 17))).kblock == 256
    assert layout(dot(64, 2049, 1024), Machine(1, (1 << 12, 1 << 12))).kblock == 32
    assert layout(dot(64, 2049, 1024), Machine()).kblock == 512


def test_integers_with_scales_stay_where_they_lie() -> None:
    """One row, and a few, in tiles of one; more with their widened factors kept over a block of K: never packed."""
    for kind, axis in (("int8", 1), ("int4", 1), ("int8", 0)):
        quantised = Realization("f32", quant={"w": {"type": kind, "axis": axis}})
        for i, wanted in (
            (1, tiled((1, 1024), 16, False, order="JI")),
            (4, tiled((1, 1024), 16, False, order="JI")),
            (5, tiled((12, 64), 16, False, order="KJI", kblock=256)),
            (64, tiled((12, 64), 16, False, order="KJI", kblock=256)),
        ):
            found: dict[str, list[Chosen]] = {}
            program = nest(
                f"%0 x : real[i: {i}, k: 512], %1 w : real[k: 512, j: 2048]", f"i: {i}, j: 2048", "dot(%0, %1)"
            )
            record(program, choices(quantised, Plan("auto"), program, LONG), chosen=found)
            made = next(iter(found.values()))[-1].layout
            assert replace(made, split=None) == wanted


def test_workers_divide_a_row_of_columns() -> None:
    schedule, chosen = recorded(dot(1, 1024, 4096), TWO)
    assert chosen.layout.tile == (1, 1024) and chosen.layout.split == Split(0, None)
    schedule, chosen = recorded(dot(1, 4096, 1024), TWO)
    assert chosen.layout.tile == (1, 256)
    assert [step.split for step in schedule.steps if isinstance(step, Launch)] == [Divided(0, None)]


@pytest.mark.parametrize(
    ("sizes", "threads", "rows", "divided"),
    [
        ((1024, 1024, 1024), 2, None, True),
        ((1001, 1001, 1001), 2, None, True),
        ((768, 128, 128), 3, 256, True),
        ((768, 128, 512), 2, None, True),
        ((768, 128, 32), 2, 128, True),
        ((1001, 128, 32), 2, 256, True),
        ((1001, 128, 17), 2, None, True),
        ((7, 1024, 16), 2, None, False),
        ((60, 64, 64), 2, None, False),
    ],
)
def test_loops_that_workers_divide(sizes: tuple[int, int, int], threads: int, rows: int | None, divided: bool) -> None:
    """Columns where these divide evenly, else blocks of rows; what is left over of either hinders nothing."""
    schedule, chosen = recorded(dot(*sizes), Machine(threads, ONE.caches))
    assert chosen.layout.rows == rows
    assert chosen.layout.split == (Split(0, None) if divided else None)
    launches = [step for step in schedule.steps if isinstance(step, Launch)]
    assert isinstance(launches[-1].split, Divided) == divided


def test_rows_softmax_and_reasons() -> None:
    for rows, wanted in ((16, 16), (1021, 16), (15, 8), (12, 8), (8, 8), (7, 4), (6, 4), (3, 2), (1, None)):
        assert layout(nest(f"%0 : real[n: {rows}, d: 64]", f"n: {rows}", "sum(%0, axis = d)")).rows == wanted
    longest = ONE.caches[1] // 4 // 16 // 4
    for axes, names, wanted in (
        (f"d: {longest}", "d", 16),
        (f"d: {longest + 1}", "d", 8),
        (f"d: {longest}, e: 2", "(d, e)", 8),
    ):
        assert layout(nest(f"%0 : real[n: 64, {axes}]", "n: 64", f"sum(%0, axis = {names})")).rows == wanted
    long = nest("%0 : real[n: 8, d: 1000000]", "n: 8", "logsumexp(%0, axis = d)")
    assert layout(long).rows != 8
    assert layout(nest("%0 : real[n: 8, d: 64]", "d: 64", "sum(%0, axis = n)")) == Layout()
    soft = nest("%0 : real[n: 8, d: 64]", "n: 8, d: 64", "softmax(%0, axis = d)")
    assert layout(soft).passes == 2
    assert layout(soft, kind="bf16").passes is None
    assert all(reason for reason in recorded(dot(1024, 1024, 1024), TWO)[1].why)


@pytest.mark.parametrize(("terms", "together"), [(2, 16), (120, 8), (300, 4), (1000, None)])
def test_rows_are_taken_together_where_their_code_stays_small(terms: int, together: int | None) -> None:
    """What is too large isn't compiled, and rows left over have code of their own."""
    lines = [f"  %{number + 1} = add(%{number}, %0)" for number in range(terms)]
    lines += [f"  %{terms + 1} = mul(%{terms}, %{terms})", f"  %{terms + 2} = sum(%{terms + 1}, axis = d)"]
    text = "fn f(%0 : real[n: 31, d: 64]) -> real[n: 31] {\n" + "\n".join(lines) + f"\n  %{terms + 2}\n}}\n"
    assert layout(read_program(Source("<long>", text))).rows == together


@pytest.mark.parametrize(
    ("rows", "threads", "together"),
    [(1021, 2, 8), (24, 2, 8), (12, 2, 8), (8, 2, 4), (8, 4, 2), (8, 8, None), (5, 2, 4), (3, 2, 2), (3, 3, None)],
)
def test_rows_taken_together_leave_workers_pieces(rows: int, threads: int, together: int | None) -> None:
    """More at once are faster, and one after the other divide evenly: what is the faster by both."""
    workers = Machine(threads, ONE.caches)
    program = nest(f"%0 : real[n: {rows}, d: 600000]", f"n: {rows}", "sum(%0, axis = d)")
    schedule, chosen = recorded(program, workers)
    assert chosen.layout.rows == together
    assert [step.split for step in schedule.steps if isinstance(step, Launch)] == [Divided(0, None)]
    beside = nest(f"%0 : real[m: 8, n: {rows}, d: 60000]", f"m: 8, n: {rows}", "sum(%0, axis = d)")
    if threads != 3:
        assert recorded(beside, workers)[1].layout.rows == recorded(beside, ONE)[1].layout.rows


@pytest.mark.parametrize("size", [1 << 20, (1 << 20) - 3, 999983])
@pytest.mark.parametrize("value", ["gelu(%0)", "exp(%0)", "add(%0, %0)", "silu(%0)", "softplus(%0)"])
def test_sweeps_of_any_length_are_divided(value: str, size: int) -> None:
    """In place too."""
    program = nest(f"%0 : real[n: {size}]", f"n: {size}", value)
    schedule, chosen = recorded(program, TWO)
    assert chosen.layout.split == Split(0, None)
    assert [step.split for step in schedule.steps if isinstance(step, Launch)] == [Divided(0, None)]
    said = choices(Realization("f32"), Plan("auto"), program, TWO)
    over = record(program, said, donate=[0])
    assert [step.split for step in over.steps if isinstance(step, Launch)] == [Divided(0, None)]
    assert any(output.shares is not None for kernel in over.kernels for output in kernel.outputs)


@pytest.mark.parametrize(
    ("rows", "columns", "depth"), [(1, 1000003, 1), (3, 333667, 1), (7, 142871, 1), (1021, 1021, 0)]
)
def test_sweeps_of_few_rows_are_divided_along_these(rows: int, columns: int, depth: int) -> None:
    schedule, _ = recorded(nest(f"%0 : real[b: {rows}, n: {columns}]", f"b: {rows}, n: {columns}", "gelu(%0)"), TWO)
    assert [step.split for step in schedule.steps if isinstance(step, Launch)] == [Divided(depth, None)]


def test_whatever_is_chosen_can_be_run() -> None:
    """Lowering refuses what it can't; the rule never asks for that, at any size and type."""
    sizes = random.Random(3)
    for _ in range(120):
        i, k, j = (sizes.choice((0, 1, 2, 3, 4, 7, 16, 33, 64, 130, 520)) for _ in range(3))
        program = sizes.choice((dot, turned))(i, k, j)
        for kind in ("f64", "f32", "bf16"):
            recorded(program, sizes.choice((ONE, TWO, LONG)), kind)
