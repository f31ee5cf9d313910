"""The verifier: each invariant has programs that break it, and is what refuses them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from presk.core.nodes import (
    Apply,
    Body,
    Call,
    Count,
    Function,
    Injected,
    Let,
    Literal,
    Loop,
    MakeRecord,
    MakeTuple,
    MapTrees,
    Parameter,
    Program,
    Ref,
)
from presk.core.reader import read_program
from presk.core.verify import CoreInvalid, verify
from presk.shapes import constants
from presk.shapes.poly import number, variable
from presk.shapes.types import REAL, Axis, ModuleOf, RecordOf, Run, Stacked, Tensor, TreeVariable, TupleOf, Type

PLAIN = read_program("fn f(%0 : real[a: 2, 3]) -> real[a: 2, 3] { %1 = exp(%0) %2 = neg(%1) %2 }")
LOOP = read_program(
    "fn f(%0 : real[a: 2], %1 : real[t: 4]) -> (real[a: 2], real[u: 4, a: 2]) {"
    " %2 = scan %3 s : real[a: 2] = %0 over %4 : real in %1[t], %5 : nat < 4 in 0..4 along u {"
    " %6 = mul(%3, %4) %7 = (%6, %3) %7 } %2 }"
)
MAP = read_program(
    "fn f(%0 : {w: real[3], b: real}) -> {w: real[3], b: real} {"
    " %1 = map %2 p : real[..] in %0 { %3 = exp(%2) %3 } %1 }"
)
CALL = read_program(
    "fn g(%0 : real[n: 2]) -> real[n: 2] { %1 = exp(%0) %1 }"
    " fn f(%0 : real[2]) -> real[n: 2] { %1 = call g(%0) @x.g %1 }"
)
DRAWS = read_program(
    "fn f() -> (real[2], real[2]) { %0 = normal[2](draw = 0) %1 = normal[2](draw = 1) %2 = (%0, %1) %2 }"
)
NATS = read_program("fn f(%0 : nat[2] < 5) -> (real[2],) { %1 = inject(%0) %2 = (%1,) %2 }")


FIRST = Ref(0)


def with_let(program: Program, at: int, **changed: Any) -> Program:
    """The program with one let of its entry changed."""
    entry = program.entry
    lets = list(entry.body.lets)
    lets[at] = replace(lets[at], **changed)
    return with_entry(program, body=replace(entry.body, lets=tuple(lets)))


def with_entry(program: Program, **changed: Any) -> Program:
    return Program((*program.functions[:-1], replace(program.entry, **changed)))


def with_loop(**changed: Any) -> Program:
    loop = LOOP.entry.body.lets[0].value
    assert isinstance(loop, Loop)
    return with_let(LOOP, 0, value=replace(loop, **changed))


def with_map(**changed: Any) -> Program:
    leafwise = MAP.entry.body.lets[0].value
    assert isinstance(leafwise, MapTrees)
    return with_let(MAP, 0, value=replace(leafwise, **changed))


def of_type(each: Type) -> Program:
    """A function of one parameter of this type."""
    return Program((Function("f", (Parameter(0, "x", each),), REAL, Body((), Literal(constants.rational(0)))),))


def literal(value: constants.Constant, kind: str) -> Program:
    let = Let(0, None, MakeTuple((Literal(value, kind),)), TupleOf((REAL,)))
    return Program((Function("f", (), TupleOf((REAL,)), Body((let,), Ref(0))),))


def exp(*attributes: tuple[str, Any], operand: Ref = FIRST, name: str = "exp") -> Apply:
    return Apply(name, (operand,), attributes)


def next_state_named() -> Program:
    """A fold whose state has no name and whose next state has one."""
    program = read_program(
        "fn f(%0 : real[2], %1 : real[a: 2]) -> real[2] {"
        " %2 = fold %3 : real[2] = %0 over %4 : nat < 1 in 0..1 { %3 } %2 }"
    )
    fold = program.entry.body.lets[0].value
    assert isinstance(fold, Loop)
    return with_let(program, 0, value=replace(fold, body=Body((), Ref(1))))


loop_value = LOOP.entry.body.lets[0].value
assert isinstance(loop_value, Loop)
map_value = MAP.entry.body.lets[0].value
assert isinstance(map_value, MapTrees)
HALF = constants.apply("div", constants.rational(1), constants.rational(2))
MATRIX = Tensor("real", (Axis("a", number(2)), Axis(None, number(3))))
ONE = ModuleOf("M", (), (("w", REAL),))
OTHER = ModuleOf("M", (), (("w", MATRIX),))

BROKEN: list[tuple[str, Program, str]] = [
    ("no function", Program(()), "a program has an entry"),
    ("a name with a parenthesis", with_entry(PLAIN, name="f(x)"), "no function's name"),
    ("a name with an open brace", with_entry(PLAIN, name="f{3"), "no function's name"),
    ("a name twice", Program((PLAIN.entry, PLAIN.entry)), "two functions"),
    ("a callee behind its caller", Program((CALL.functions[1], CALL.functions[0])), "no function `g`"),
    ("a parameter not from 0", with_entry(PLAIN, parameters=(Parameter(5, None, MATRIX),)), "numbered from 0"),
    ("a number twice", with_let(PLAIN, 1, number=1), "occurs twice"),
    ("a number below 0", with_let(PLAIN, 1, number=-1), "count from 0"),
    ("an operand that is not yet there", with_let(PLAIN, 0, value=exp(operand=Ref(2))), "not in scope"),
    (
        "an operand of a body that is closed",
        with_entry(LOOP, body=replace(LOOP.entry.body, result=Ref(6))),
        "not in scope",
    ),
    ("a component that isn't there", with_let(PLAIN, 1, value=exp(operand=Ref(0, ("w",)))), "no component"),
    ("nats as reals in a tuple", with_let(NATS, 1, value=MakeTuple((Injected(FIRST),))), "only a primitive"),
    ("nats as reals given", with_entry(NATS, body=replace(NATS.entry.body, result=Injected(FIRST))), "a result isn't"),
    ("a size with a variable", of_type(Tensor("real", (Axis(None, variable("n")),))), "whole number"),
    ("a size below 0", of_type(Tensor("real", (Axis(None, number(-1)),))), "whole number"),
    ("an axis name twice", of_type(Tensor("real", (Axis("a", number(1)), Axis("a", number(1))))), "different words"),
    ("an axis name that is no word", of_type(Tensor("real", (Axis("a b", number(1)),))), "different words"),
    ("a run outside a map", of_type(Tensor("real", (Run("leaf"),))), "a run stands only"),
    ("a nat without a bound", of_type(Tensor("nat")), "no tensor's type"),
    ("a real with a bound", of_type(Tensor("real", (), number(3))), "no tensor's type"),
    ("a bound with a variable", of_type(Tensor("nat", (), variable("n"))), "bound"),
    ("an unknown kind", of_type(Tensor("complex")), "no tensor's type"),
    ("a tree variable", of_type(TreeVariable("P")), "not bound"),
    ("a stacked tensor", of_type(Stacked(REAL, number(2))), "no stacked tree"),
    ("a stack of unknown size", of_type(Stacked(RecordOf(()), variable("n"))), "no stacked tree"),
    ("a type that isn't the rule's", with_let(PLAIN, 0, type=REAL), "by rule"),
    ("an unknown primitive", with_let(PLAIN, 0, value=exp(name="expo")), "no primitive"),
    ("an attribute too many", with_let(PLAIN, 0, value=exp(("axis", 0))), "attributes"),
    ("an attribute that is missing", with_let(PLAIN, 0, value=exp(name="sum")), "attributes"),
    ("an axis out of range", with_let(PLAIN, 0, value=exp(("axis", 7), name="flip")), "no axis"),
    ("an axis below 0", with_let(PLAIN, 0, value=exp(("axis", -1), name="flip")), "whole number from 0"),
    ("axes out of order", with_let(PLAIN, 0, value=exp(("axis", (1, 0)), name="sum")), "increasing"),
    ("a draw's number twice", with_let(DRAWS, 1, value=replace(DRAWS.entry.body.lets[0].value)), "the number 0"),
    ("a draw without its number", with_let(DRAWS, 1, value=Apply("normal", (), ())), "attributes"),
    ("a literal with a symbol", literal(constants.Symbolic(variable("n")), "real"), "symbols"),
    ("a nat that is a half", literal(HALF, "nat"), "no constant of kind"),
    ("a bool that is two", literal(constants.rational(2), "bool"), "no constant of kind"),
    ("a call with too few operands", with_let(CALL, 0, value=Call("g", (), "")), "takes 1 operands"),
    ("a call with another size", with_let(CALL, 0, value=Call("g", (Literal(HALF),), "")), "doesn't fit"),
    ("a call's path that is none", with_let(CALL, 0, value=Call("g", (Ref(0),), "a b")), "no draw's path"),
    ("a loop that is neither", with_loop(kind="while"), "fold or a scan"),
    ("a loop without sources", with_loop(elements=(), sources=()), "at least one source"),
    ("a loop of fewer rounds", with_loop(trips=3), "source has 4 elements"),
    ("a loop of rounds below 0", with_loop(trips=-1), "counts upward"),
    ("a counter from below 0", with_loop(sources=(loop_value.sources[0], Count(-2))), "counts upward"),
    (
        "an element of another type",
        with_loop(elements=(Parameter(4, None, MATRIX), loop_value.elements[1])),
        "element %4",
    ),
    ("a start that doesn't fit", with_loop(start=Ref(1)), "starts as"),
    ("a fold with an axis's name", with_loop(kind="fold"), "only a scan"),
    ("an axis's name that is none", with_loop(along="a b"), "only a scan"),
    ("a scan without a pair", with_loop(body=replace(loop_value.body, result=Ref(6))), "(state, element)"),
    ("a next state of another name", next_state_named(), "next state"),
    ("an axis that stands twice", with_loop(along="a"), "stand there twice"),
    ("a map without trees", with_map(parameters=(), operands=()), "at least one tree"),
    ("a map's parameter that is no leaf", with_map(parameters=(Parameter(2, "p", REAL),)), "one leaf"),
    ("a map of another arity", with_map(arity=2), "arity"),
    ("a let's name that is no word", with_let(PLAIN, 0, name="a b"), "no name"),
    ("a field's name that is no word", of_type(RecordOf((("a b", REAL),))), "different words"),
    ("a field twice", of_type(RecordOf((("a", REAL), ("a", REAL)))), "different words"),
    ("one label of two modules", of_type(TupleOf((ONE, OTHER))), "two modules"),
    ("a result that doesn't fit", with_entry(PLAIN, result=REAL), "doesn't fit"),
]


def injected_nowhere() -> Program:
    nats = Tensor("nat", (), number(3))
    let = Let(1, None, Apply("exp", (Ref(0),), ()), REAL)
    return Program((Function("f", (Parameter(0, None, nats),), REAL, Body((let,), Ref(1))),))


def different_trees() -> Program:
    trees = (RecordOf((("w", REAL),)), RecordOf((("v", REAL),)))
    leaf = Tensor("real", (Run("leaf"),))
    parameters = (Parameter(3, None, leaf), Parameter(4, None, leaf))
    value = MapTrees(parameters, (Ref(0), Ref(1)), Body((), Ref(3)))
    let = Let(2, None, value, trees[0])
    own = (Parameter(0, None, trees[0]), Parameter(1, None, trees[1]))
    return Program((Function("f", own, trees[0], Body((let,), Ref(2))),))


def inside_a_map(let: Let) -> Program:
    body = Body((let,), Ref(2))
    return with_map(body=body)


BROKEN += [
    ("a nat where a real is taken", injected_nowhere(), "takes reals"),
    ("a map of trees that differ", different_trees(), "trees of a map differ"),
    ("a record in a map", inside_a_map(Let(7, None, MakeRecord(()), RecordOf(()))), "primitives and tuples alone"),
    (
        "a draw in a map",
        inside_a_map(Let(7, None, DRAWS.entry.body.lets[0].value, DRAWS.entry.body.lets[0].type)),
        "no draw stands",
    ),
]


@pytest.mark.parametrize(("what", "program", "words"), BROKEN, ids=[case[0] for case in BROKEN])
def test_what_breaks_an_invariant_is_refused(what: str, program: Program, words: str) -> None:
    with pytest.raises(CoreInvalid) as caught:
        verify(program)
    assert words in caught.value.message, what


@pytest.mark.parametrize("program", [PLAIN, LOOP, MAP, CALL, DRAWS, NATS])
def test_what_keeps_them_passes(program: Program) -> None:
    verify(program)


def test_the_fault_names_its_place() -> None:
    with pytest.raises(CoreInvalid) as caught:
        verify(with_let(PLAIN, 1, value=exp(operand=Ref(9))))
    assert (caught.value.function, caught.value.number) == ("f", 2)


def test_a_call_sees_its_own_names_again() -> None:
    """Hidden names, which a run's unnamed axes have inside, are dropped; stated ones stay."""
    program = read_program(
        "fn g(%0 : real[_1: 2, c: 3]) -> real[_1: 2, c: 3] { %0 }"
        " fn f(%0 : real[2, 3]) -> real[2, 3] { %1 = call g(%0) %1 }"
    )
    assert program.entry.body.lets[0].type == Tensor("real", (Axis(None, number(2)), Axis("c", number(3))))
