"""The path of a call, which a draw's key holds: fields and functions, numbered by the text alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from presk.check.program import loads
from presk.core.bind import bind
from presk.core.nodes import Apply, Body, Call, Loop, Program
from presk.shapes.constants import rational

PROGRAM = """\
const WAY = 0
module Noise { fn apply(self, x: real[n]) -> real[n] { x + normal[n]() } }
module Net {
  a: Noise
  b: Noise * 2
  fn apply(self, x: real[n]) -> real[n] {
    let x = if WAY == 0 { self.a(self.a(x)) } else if WAY == 1 { normal[n]() * self.a(x) } else { x }
    let x = self.a(x) + normal[n]()
    let x = fold x = x over b in self.b { b(x) }
    let noise = self.a
    fold x = noise(x) over b in self.b { b(x) }
  }
}
fn twice(f: fn(real[n]) -> real[n], x: real[n]) -> real[n] { f(f(x)) + direct(x) }
fn direct(x: real[n]) -> real[n] { x * normal[n]() }
fn by_another_name(x: real[n]) -> real[n] { twice(direct, x) }
"""


def bodies(body: Body) -> Iterator[Body]:
    yield body
    for let in body.lets:
        if isinstance(let.value, Loop):
            yield from bodies(let.value.body)


def paths(program: Program, function: str) -> list[str]:
    body = next(each.body for each in program.functions if each.name == function)
    lets = [let for inner in bodies(body) for let in inner.lets]
    return [let.value.path for let in lets if isinstance(let.value, Call)]


def draws(program: Program, function: str) -> list[object]:
    body = next(each.body for each in program.functions if each.name == function)
    found = [let.value for let in body.lets if isinstance(let.value, Apply)]
    return [dict(each.attributes)["draw"] for each in found if each.primitive == "normal"]


@pytest.mark.parametrize(
    ("way", "in_the_choice", "number"),
    [(0, ["a.apply~1", "a.apply"], 1), (1, ["a.apply~2"], 1), (2, [], 1)],
)
def test_a_choice_changes_no_other_path(way: int, in_the_choice: list[str], number: int) -> None:
    program = bind(loads(PROGRAM, consts={"WAY": rational(way)}), "Net.apply", dims={"n": 2}, simplified=False)
    found = paths(program, "Net.apply")
    assert found == [*in_the_choice, "a.apply~3", "a.apply~4", "b.apply", "b.apply~1"]
    assert draws(program, "Net.apply")[-1] == number


def test_no_two_calls_have_one_path() -> None:
    program = bind(loads(PROGRAM), "by_another_name", dims={"n": 2}, simplified=False)
    found = paths(program, "twice[direct]")
    assert sorted(found) == ["direct", "direct~1", "direct~2"]
