"""States that are made in their stacks: no copy is left, and every bit is what it is with two buffers that swap."""

from __future__ import annotations

import re
from typing import Any, cast

import numpy as np
import pytest

import presk
from presk.kernel.nodes import Element
from presk.run.record import recorder
from presk.run.record.schedule import Copy, Launch, Name, Repeat, Step, Swap, View
from presk.run.record.stacks import stacked_in_place

PROGRAM = """
fn following(x: real[n: 5], ys: real[t: 7, n: 5]) -> real[n: 5] { x + sum(cumsum(ys, axis = t) * ys, axis = t) }
fn before(x: real[n: 5]) -> real[n: 5] {
  let (a, ys) = scan x = x over t in 0..7 { (exp(x) * 0.1, x) }
  following(a, ys)
}
fn after(x: real[n: 5]) -> real[n: 5] {
  let (a, ys) = scan x = x over t in 0..7 { let y = exp(x) * 0.1; (y, y) }
  following(a, ys)
}
fn both(x: real[n: 5]) -> real[n: 5] {
  let (a, ys) = scan x = x over t in 0..7 { let y = exp(x) * 0.1; (y, (x, y)) }
  following(a, ys.0) + following(a, ys.1)
}
fn loss(x: real[n: 5]) -> real { sum(square(fold x = x over t in 0..7 { exp(x) * 0.1 })) }
fn slope(x: real[n: 5]) -> real { sum(square(grad(loss)(x))) }
fn two(x: real[n: 5]) -> real {
  let (a, b) = fold (x, y) = (x, 0.5) over t in 0..7 { (sin(x) * y, y + sum(x) * 0.01) }
  sum(a) * b
}
fn nested(x: real[n: 5]) -> real {
  sum(fold x = x over t in 0..3 { let z = fold z = x over u in 0..4 { sin(z) * 1.5 }; z * x })
}
fn once(x: real[n: 5]) -> real { sum(fold x = x over t in 0..1 { exp(x) * x }) }
fn never(x: real[n: 5]) -> real { sum(fold x = x over t in 0..0 { exp(x) * x }) }
fn given(x: real[n: 5]) -> (real[n: 5], real[t: 7, n: 5]) { scan x = x over t in 0..7 { (exp(x) * 0.1, x) } }
"""

ENTRIES = ["before", "after", "both", "grad(loss)", "grad(slope)", "grad(two)", "grad(nested)", "grad(once)"]
IN_PLACE = ["before", "after", "both", "grad(loss)", "grad(slope)", "grad(two)", "grad(once)"]
X = np.array([0.1, -0.2, 0.3, 0.4, -0.5])


@pytest.fixture(scope="module")
def program() -> presk.Program:
    return presk.loads(PROGRAM)


def as_recorded(recorded: Any, regions: Any) -> Any:
    """The steps with their copies."""
    return recorded


def leaves(value: Any) -> list[bytes]:
    return [
        np.asarray(each).tobytes() for each in (cast("tuple[Any, ...]", value) if isinstance(value, tuple) else [value])
    ]


@pytest.mark.parametrize("realization", ["f64", "f32", "bf16"])
@pytest.mark.parametrize("entry", [*ENTRIES, "grad(never)", "given"])
def test_no_bit_differs(program: presk.Program, entry: str, realization: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        leaves(presk.compile(program[entry], backend=each, realize=realization)(X)) for each in ("kernel", "native")
    ]
    monkeypatch.setattr(recorder, "stacked_in_place", as_recorded)
    assert found == [leaves(presk.compile(program[entry], backend="native", realize=realization)(X))] * 2


@pytest.mark.parametrize("entry", IN_PLACE)
def test_no_state_is_copied_to_its_stack(program: presk.Program, entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = presk.compile(program[entry]).schedule
    assert not re.findall(r"^    copy", schedule, re.M)
    monkeypatch.setattr(recorder, "stacked_in_place", as_recorded)
    before = presk.compile(program[entry]).schedule
    assert re.findall(r"^    copy", before, re.M)
    assert schedule.count("launch") == before.count("launch")


def test_a_stack_that_is_a_result_has_no_place_for_one_more(program: presk.Program) -> None:
    assert re.findall(r"^    copy 5 f32 \(a0\) -> \(o1 \+ 5\*l0\)", presk.compile(program["given"]).schedule, re.M)


A, B, STACK, OTHER = (Name("a", number) for number in range(4))
FLOAT = Element("f32")
PLACE = View(STACK, 0, ((0, 4),))
NEXT = Launch(0, (View(A),), (View(B),), None, "f/%1")
KEEP = Copy(FLOAT, 4, View(A), PLACE)
LAST = Launch(1, (View(STACK),), (View(OTHER),), None, "f/%2")


def steps(*inside: Step, before: tuple[Step, ...] = (), after: tuple[Step, ...] = (LAST,), back: bool = False) -> Any:
    start = Copy(FLOAT, 4, View(Name("h", 0)), View(A))
    end = Copy(FLOAT, 4, View(A), View(Name("o", 0)))
    return (*before, start, Repeat(0, 3, back, inside), *after, end)


def made(recorded: tuple[Step, ...]) -> tuple[tuple[Step, ...], int]:
    """The steps in place, and the length of the stack."""
    regions = [(FLOAT, 4), (FLOAT, 4), (FLOAT, 12), (FLOAT, 12)]
    return stacked_in_place(recorded, regions), regions[STACK.number][1]


@pytest.mark.parametrize(
    ("is_next", "back", "own", "other", "shift"),
    [(False, False, 0, 4, 0), (True, False, 0, 4, 4), (False, True, 4, 0, 4), (True, True, 4, 0, 0)],
)
def test_a_round_reads_its_place_and_writes_the_next(
    is_next: bool, back: bool, own: int, other: int, shift: int
) -> None:
    keep = Copy(FLOAT, 4, View(B), PLACE) if is_next else KEEP
    found, length = made(steps(NEXT, keep, Swap(A, B), back=back))
    first, last = (12, 0) if back else (0, 12)
    places = View(STACK, own, ((0, 4),)), View(STACK, other, ((0, 4),))
    assert length == 16
    assert found == (
        Copy(FLOAT, 4, View(Name("h", 0)), View(STACK, first)),
        Repeat(0, 3, back, (Launch(0, (places[0],), (places[1],), None, "f/%1"),)),
        Launch(1, (View(STACK, shift),), (View(OTHER),), None, "f/%2"),
        Copy(FLOAT, 4, View(STACK, last), View(Name("o", 0))),
    )


WRITES_STATE = Launch(2, (View(OTHER),), (View(A),), None, "f/%3")
READS_STACK = Launch(2, (View(STACK),), (View(OTHER),), None, "f/%3")
WRITES_STACK = Launch(2, (View(OTHER),), (View(STACK),), None, "f/%3")
WRITES_NEXT = Launch(2, (View(A),), (View(B),), None, "f/%3")
READS_NEXT = Launch(2, (View(B),), (View(OTHER),), None, "f/%3")


@pytest.mark.parametrize(
    ("what", "recorded"),
    [
        ("the state is written in a round", steps(NEXT, KEEP, WRITES_STATE, Swap(A, B))),
        ("the stack is read in a round", steps(NEXT, KEEP, READS_STACK, Swap(A, B))),
        ("the stack is read before", steps(NEXT, KEEP, Swap(A, B), before=(READS_STACK,))),
        ("the stack is written afterwards", steps(NEXT, KEEP, Swap(A, B), after=(LAST, WRITES_STACK))),
        ("the state is written afterwards", steps(NEXT, KEEP, Swap(A, B), after=(LAST, WRITES_STATE))),
        ("the next state is read afterwards", steps(NEXT, KEEP, Swap(A, B), after=(LAST, READS_NEXT))),
        ("it is stacked too soon", steps(NEXT, Copy(FLOAT, 4, View(B), PLACE), WRITES_NEXT, Swap(A, B))),
        ("the swap isn't last", steps(NEXT, KEEP, Swap(A, B), READS_NEXT)),
        ("two swaps", steps(NEXT, KEEP, Swap(A, B), Swap(A, B))),
        ("another place", steps(NEXT, Copy(FLOAT, 4, View(A), View(STACK, 4, ((0, 4),))), Swap(A, B))),
        ("a part of it", steps(NEXT, Copy(FLOAT, 2, View(A), View(STACK, 0, ((0, 2),))), Swap(A, B))),
    ],
)
def test_what_looks_at_the_buffers_otherwise_keeps_its_copy(what: str, recorded: tuple[Step, ...]) -> None:
    assert made(recorded) == (recorded, 12), what


def test_a_second_stack_of_a_state_is_the_first() -> None:
    keep = Copy(FLOAT, 4, View(B), View(OTHER, 0, ((0, 4),)))
    both = Launch(1, (View(STACK), View(OTHER)), (View(Name("o", 1)),), None, "f/%2")
    found, length = made(steps(NEXT, KEEP, keep, Swap(A, B), after=(both,)))
    assert length == 16
    assert found[2] == Launch(1, (View(STACK), View(STACK, 4)), (View(Name("o", 1)),), None, "f/%2")
