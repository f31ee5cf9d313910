"""The forward half of a derivative: it keeps its function's numbers, groups, sites and bits; what is computed again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.core.generate import random_program
from tests.unit.core.vjp.test_random_programs import PRIMITIVES
from tests.unit.core.vjp.witness import all_real, derivative

import presk
from presk.choose.conformance.cases import SIZES, cases, prepare
from presk.core.bind import bind
from presk.core.groups import partition
from presk.core.hash import core_hash
from presk.core.nodes import Apply, Program
from presk.core.printer import bodies, print_program
from presk.core.reader import read_program
from presk.core.simplify import simplify
from presk.core.sites import sites
from presk.core.verify import verify
from presk.realization.model import Plan, Realization
from presk.run import registry, trees
from presk.run.backend import Entry
from presk.run.record.choices import choices
from presk.run.record.recorder import record
from presk.run.record.text import print_schedule

EXAMPLES = Path(presk.__file__).parent / "examples"
OBJECTIVES = [case for case in cases(("gradient",)) if case.path.is_relative_to(EXAMPLES)]
SMALL = [case for case in OBJECTIVES if case.path.stem in ("regression", "minigpt", "lstm", "cnn", "vae", "kmeans")]


def check_groups(derived: Program, primal: Program) -> int:
    """Each forward half's groups are its function's, but for those it needs no more; how many halves there are."""
    of = {each.name: each for each in primal.functions}
    count = 0
    for half in derived.functions:
        if half.primal is None or half.primal.core is not None or half.primal.name not in of:
            continue
        theirs = {each.owner: each for each in partition(of[half.primal.name]).bodies}
        for body in partition(half).bodies:
            known = {group.root: group for group in theirs[body.owner].groups} if body.owner in theirs else {}
            for group in body.groups:
                assert group.members == known[group.root].members, (half.name, group.root)
                assert (group.outer, group.inner) == (known[group.root].outer, known[group.root].inner)
        count += 1
    return count


@pytest.mark.parametrize("case", OBJECTIVES, ids=lambda case: case.name)
def test_groups_are_the_primals(case: Any) -> None:
    derived = prepare(case).program
    verify(derived)
    text = print_program(derived)
    assert print_program(read_program(text)) == text
    within = case.entry.removeprefix("grad(").partition(",")[0].removesuffix(")")
    checked = presk.load(case.path, consts=dict(case.consts)).checked
    check_groups(derived, bind(checked, within, dims=case.dims))


def test_groups_of_random_programs_are_the_primals() -> None:
    halves = 0
    for seed in range(150):
        program = simplify(random_program(seed, PRIMITIVES))
        wrt = tuple(each.number for each in program.entry.parameters if all_real(each.type))
        if wrt:
            halves += check_groups(simplify(derivative(program, "vjp", wrt)), program)
    assert halves > 20


@pytest.mark.parametrize("realization", ["f64", "f32", "bf16"])
@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_the_value_has_the_primals_bits(case: Any, realization: str) -> None:
    program = presk.load(case.path, consts=dict(case.consts))
    within = case.entry.removeprefix("grad(").partition(",")[0].removesuffix(")")
    values = prepare(case).values
    pair = presk.compile(presk.value_and_grad(program[within]), realize=realization)
    value = presk.compile(program[within], realize=realization)(*values)
    found = [np.asarray(leaf).tobytes() for _, leaf in trees.leaves(pair(*values)[0])]
    assert found == [np.asarray(leaf).tobytes() for _, leaf in trees.leaves(value)]


@pytest.mark.parametrize("realization", ["f64", "bf16"])
@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_gradients_have_the_same_bits_everywhere(case: Any, realization: str) -> None:
    prepared = prepare(case)
    entry = Entry(case.entry, prepared.program)
    found: list[list[bytes]] = []
    for backend, threads in (("kernel", 1), ("native", 1), ("native", 2), ("native", 3)):
        executable = registry.make(backend).prepare(entry, Realization(realization), threads=threads)
        result = executable(*prepared.values)
        found.append([np.asarray(leaf).tobytes() for _, leaf in trees.leaves(result)])
    assert all(each == found[0] for each in found)


# What is computed again


MLP = "fn f(w: real[3], x: real[b: 4, 3]) -> real { mean(square(tanh(dot(x, w)) - 0.5)) }"


def test_interior_lets_are_computed_again_and_roots_kept() -> None:
    program = bind(presk.loads(MLP).checked, "grad(f)")
    adjoint = next(each for each in program.functions if each.name == "f_adjoint")
    lets = [let for body in bodies(adjoint.body) for let in body.lets]
    again = [let.value for let in lets if let.again]
    assert [each.primitive for each in again if isinstance(each, Apply)] == ["tanh", "sub"]
    assert [each.key for each in sites(program) if each.function == "f_kept"] == ["f/%2"]
    both = bind(presk.loads(MLP).checked, "value_and_grad(f)")
    assert [each.key for each in sites(both) if each.function == "f_forward"] == ["f/%2", "f/%6"]


def test_a_chain_of_any_length_is_computed_again() -> None:
    """What is inside of one group may be as many lets as a text holds."""
    count = 700
    lines = "\n".join("  let x = sin(x) * 1.5" for _ in range(count))
    program = bind(presk.loads(f"fn f(x: real[2]) -> real {{\n{lines}\n  sum(x)\n}}").checked, "grad(f)")
    verify(program)
    adjoint = next(each for each in program.functions if each.name == "f_adjoint")
    again = [let.value for let in adjoint.body.lets if let.again]
    assert sum(each.primitive == "sin" for each in again if isinstance(each, Apply)) == count - 1


def test_what_is_computed_again_belongs_to_every_group_that_reads_it() -> None:
    text = """
    fn f_adjoint(%0 : real[b: 4, n: 3], %1 : real[b: 4, n: 3]) -> (real[b: 4, n: 3], real[n: 3]) {
      %2 = again exp(%0)
      %3 = mul(%1, %2)
      %4 = sum(%3, axis = b)
      %5 = add(%2, %1)
      %6 = (%5, %4)
      %6
    }"""
    groups = list(partition(read_program(text).entry).groups)
    assert [[member.number for member in group.members] for group in groups] == [[2, 3, 4], [2, 5]]
    stored = list(partition(read_program(text.replace("again ", "")).entry).groups)
    assert [[member.number for member in group.members] for group in stored] == [[2], [3, 4], [5]]


def test_where_no_nest_can_hold_it_it_is_stored_in_the_arithmetic_type() -> None:
    text = """
    fn f(%0 : real[b: 4, n: 3], %1 : real[b: 4, n: 3]) -> real[n: 3] {
      %2 = again mean(%0, axis = n)
      %3 = mul(%1, %2)
      %4 = sum(%3, axis = b)
      %4
    }"""
    program = read_program(text)
    assert [group.root for group in partition(program.entry).groups] == [2, 4]
    schedule = print_schedule(record(program, choices(Realization("bf16"), Plan("default"), program)))
    assert "-> %1 : f32[b: 4]" in schedule


# Files written for the primal


def test_a_file_written_for_a_function_holds_for_its_derivatives() -> None:
    program = presk.loads(MLP)
    w, x = np.linspace(-1, 1, 3), np.linspace(0, 2, 12).reshape(4, 3)
    core = core_hash(bind(program.checked, "f"))
    for key in ("f/%2", "f/%6"):
        narrow = Realization("f64", storage={key: "f32"}, entry="f", core=core)
        alone = presk.compile(program["f"], realize=narrow)(w, x)
        value, gradient = presk.compile(presk.value_and_grad(program["f"]), realize=narrow)(w, x)
        assert float(value) == float(alone)
        assert gradient.dtype == np.float64
        presk.compile(presk.grad(program["f"]), realize=narrow)(w, x)
    plain = presk.compile(program["f"], realize="f64")(w, x)
    assert float(presk.compile(program["f"], realize=Realization("f64", storage={"f/%2": "f32"}))(w, x)) != float(plain)


def test_a_file_for_another_function_or_core_is_refused() -> None:
    program = presk.loads(MLP)
    for wrong in (Realization("f64", entry="g"), Realization("f64", entry="f", core="sha256:" + "0" * 64)):
        with pytest.raises(presk.PreskError, match="condition 10"):
            presk.compile(presk.grad(program["f"]), realize=wrong)(np.ones(3), np.ones((4, 3)))


def test_a_derivative_within_a_program_has_the_sites_too() -> None:
    text = MLP + "\nfn step(w: real[3], x: real[b: 4, 3]) -> real[3] { w - 0.5 * grad(f)(w, x) }"
    program = presk.loads(text)
    narrow = Realization("f64", storage={"f/%2": "f32"})
    w, x = np.linspace(-1, 1, 3), np.linspace(0, 2, 12).reshape(4, 3)
    assert (
        presk.compile(program["step"], realize=narrow)(w, x).tolist()
        != presk.compile(program["step"], realize="f64")(w, x).tolist()
    )


def test_every_example_with_an_objective_is_here() -> None:
    assert {case.path.stem for case in OBJECTIVES} >= {Path(path).stem for path in SIZES} - {
        "03_attention",
        "norms",
        "lorenz",
    }
