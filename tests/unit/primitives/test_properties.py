"""Laws of all rules: symbolic and bound sizes agree, and whatever they are asked they answer or refuse."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presk.primitives.all import TABLE
from presk.primitives.call import injected, normalize, result_type
from presk.primitives.contractions import RUN_LABEL
from presk.primitives.new_axes import OPEN
from presk.primitives.table import Misfit
from presk.shapes.align import Misaligned
from presk.shapes.constants import Apply, Rational, Symbolic, apply, from_size, rational
from presk.shapes.constants import substitute as substitute_constant
from presk.shapes.poly import Poly, SizeTooLarge, number, variable
from presk.shapes.types import (
    Axis,
    AxisOrRun,
    RecordOf,
    Run,
    Stacked,
    Tensor,
    TreeVariable,
    TupleOf,
    Type,
    substitute,
)

VARIABLES = {"A": 2, "B": 3, "C": 6}
"""Free sizes and what they are bound to."""

REFUSALS = (Misfit, Misaligned, SizeTooLarge)

SIZES: st.SearchStrategy[Poly] = st.one_of(
    st.integers(0, 6).map(number),
    st.sampled_from(sorted(VARIABLES)).map(variable),
    st.just(variable("A") * variable("B")),
    st.just(variable("C") // variable("B")),
    st.just(variable("C") / variable("A")),
)
NAMES = st.sampled_from(["a", "b", "c", "heads", "hd", None])
AXES = st.builds(Axis, NAMES, SIZES)


def distinct(axes: list[Axis]) -> tuple[Axis, ...]:
    seen: set[str] = set()
    return tuple(
        axis
        for axis in axes
        if axis.name is None or not (axis.name in seen or seen.add(axis.name))  # type: ignore[func-returns-value]
    )


SHAPES = st.builds(
    lambda run, axes: (*run, *axes),
    st.sampled_from([(), (), (), (Run(".."),), (Run("leaf"),)]),
    st.lists(AXES, max_size=3).map(distinct),
) | st.lists(AXES, max_size=2).map(lambda axes: (*distinct(axes), Run("..")))
TENSORS = st.builds(
    lambda kind, axes, bound: Tensor(kind, axes, bound if kind == "nat" else None),
    st.sampled_from(["real", "real", "nat", "bool"]),
    SHAPES,
    SIZES,
)
TREES: st.SearchStrategy[Type] = st.one_of(
    TENSORS,
    TENSORS,
    TENSORS,
    st.builds(lambda item: TupleOf((item,)), TENSORS),
    st.builds(lambda item: RecordOf((("x", item),)), TENSORS),
    st.just(Stacked(TreeVariable("P"), variable("A"))),
)
ODD_CONSTANTS = st.sampled_from(
    [rational(-1), apply("sqrt", rational(2)), Apply("nonsense", ()), from_size(variable("A"))]
)
ATTRIBUTES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.sampled_from(["a", "b", "last", "first", "zz", ""]),
    st.integers(0, 3).map(rational),
    ODD_CONSTANTS,
    st.lists(st.integers(-2, 3), max_size=3).map(tuple),
    st.lists(st.sampled_from(["a", "b", "c"]), max_size=3).map(tuple),
    st.lists(st.one_of(AXES, st.just(Run(".."))), max_size=3).map(tuple),
    st.lists(st.lists(st.sampled_from(["a", "b", "c", ".."]), max_size=3).map(tuple), max_size=3).map(tuple),
)
CALLS = st.sampled_from(sorted(TABLE))


def free_given(data: st.DataObject, name: str) -> dict[str, Any]:
    """Values of any sort for some keywords and brackets."""
    row = TABLE[name]
    names = [keyword.name for keyword in row.keywords if keyword.required or data.draw(st.booleans())]
    names += ["out", "labels"] if name == "ein" else ["new"] if row.new_axes != "none" else []
    return {each: data.draw(ATTRIBUTES) for each in names}


def free_operands(data: st.DataObject, name: str) -> list[Type]:
    """Operands of any kind and shape."""
    row = TABLE[name]
    count = data.draw(st.integers(len(row.operands), len(row.operands) + 1)) if row.operands else 0
    return [data.draw(TREES) for _ in range(count)]


GOOD_SIZES = st.sampled_from([number(1), number(2), variable("A"), variable("B"), variable("A") * variable("B")])
GOOD_SHAPES = st.builds(
    lambda run, axes: (*run, *axes),
    st.sampled_from([(), (), (Run(".."),)]),
    st.lists(st.builds(Axis, st.sampled_from(["a", "b", "c", None]), GOOD_SIZES), min_size=1, max_size=3).map(distinct),
)


def good_operands(data: st.DataObject, name: str) -> list[Type]:
    """Operands of the kinds taken, with axes from one shape; contractions and gathers in shapes of their own."""
    row, base = TABLE[name], data.draw(GOOD_SHAPES)
    last = base[-1]
    first = Tensor("real", base)
    if name == "dot":
        return [first, Tensor("real", (last, Axis("o", number(2)))) if isinstance(last, Axis) else first]
    if name == "dot_vjp_l":
        return [first, Tensor("real", (Axis(None, number(3)), last))]
    if name == "dot_vjp_r":
        return [first, Tensor("real", (*base[:-1], Axis(None, number(3))))]
    if name == "matmul":
        inner = Axis(None, last.size) if isinstance(last, Axis) else Axis(None, number(1))
        return [
            Tensor("real", (*base[:-1], Axis("i", number(2)), last)),
            Tensor("real", (*base[:-1], inner, Axis("o", number(2)))),
        ]
    if name == "ein":
        named = tuple(Axis(f"n{at}", axis.size) if isinstance(axis, Axis) else axis for at, axis in enumerate(base))
        return [Tensor("real", named), Tensor("real", named[data.draw(st.integers(0, len(named))) :])]
    if name == "merge_heads":
        return [Tensor("real", (*base[:-1], Axis("heads", number(2)), Axis("hd", variable("A"))))]
    if name == "cross_entropy":
        return [first, Tensor("nat", base[:-1], number(1))]
    if name in ("embed", "take", "scatter_add", "index", "update_index"):
        index = Tensor("nat", () if TABLE[name].operands[-1].scalar else (Axis("n", number(2)),), number(1))
        slices = Tensor("real", (*base[:-1], *index.axes))
        return {"scatter_add": [first, index, slices], "update_index": [first, slices, index]}.get(name, [first, index])
    rows = [*row.operands, *(row.operands[-1:] if row.operands and row.operands[-1].variadic else ())]
    alike = data.draw(st.sampled_from(["real", "nat", "bool"]))
    out: list[Type] = []
    for operand in rows:
        if operand.optional and data.draw(st.booleans()):
            continue
        kinds = {"number": ["real", "nat"], "alike": [alike], "any": [alike], "tree": ["real"]}
        kind = data.draw(st.sampled_from(kinds.get(operand.kind, [operand.kind])))
        start = data.draw(st.integers(0, len(base)))
        whole = name in ("concat", "stack", "gather", "update_slice") or operand is rows[0]
        axes = base if whole else data.draw(st.sampled_from([base, base[start:], base[:start], tuple(reversed(base))]))
        out.append(Tensor(kind, () if operand.scalar else axes, number(1) if kind == "nat" else None))
    return out


def good_given(data: st.DataObject, name: str, operands: list[Type]) -> dict[str, Any]:
    """Keywords and brackets of the sorts taken; axes that the first operand has."""
    row = TABLE[name]
    axes = operands[0].axes if operands and isinstance(operands[0], Tensor) else ()
    names = [axis.name for axis in axes if isinstance(axis, Axis) and axis.name]
    explicit = [axis for axis in axes if isinstance(axis, Axis)]
    axis = (
        st.just(-1)
        if name in ("take", "scatter_add", "update_index")
        else st.sampled_from([-1, -len(explicit), *names])
    )
    positions = list(range(-len(explicit), 0))
    sorts: dict[str, st.SearchStrategy[Any]] = {
        "axis": axis,
        "axes": st.one_of(st.none(), axis) if name in ("argmax", "sum") else axis,
        "order": st.permutations(positions).map(tuple) if name == "transpose" else st.just(tuple(positions[-2:])),
        "nat": st.integers(0, 2),
        "real": st.integers(0, 1).map(rational),
        "word": st.sampled_from(["last", "first"]),
        "names": st.just(((names[0], "z"),)) if names else st.just((("a", "b"),)),
    }
    given: dict[str, Any] = {}
    for keyword in row.keywords:
        if keyword.required or data.draw(st.booleans()):
            given[keyword.name] = data.draw(sorts[keyword.kind])
    size = data.draw(GOOD_SIZES)
    label, sized = Axis("z", OPEN), Axis("y", size)
    if name == "ein":
        run = (RUN_LABEL,) if len(explicit) < len(axes) else ()
        return {"out": ((*run, *data.draw(st.permutations(names))),)}
    if name in ("dot_vjp_l", "dot_vjp_r"):
        further = Axis(None, number(3))
        given["new"] = (*axes[:-1], further) if name == "dot_vjp_l" else (*axes[-1:], further)
        return given
    if row.new_axes == "labels":
        given["new"] = (label,)
    elif row.new_axes == "sizes_or_label":
        given["new"] = (sized, label)
    elif name in ("causal_mask", "eye"):
        given["new"] = (sized, Axis("x", number(3)))
    elif row.new_axes == "sizes":
        given["new"] = (*axes, sized) if name == "broadcast_to" else (sized,)
    return given


def typed(name: str, operands: list[Type], given: dict[str, Any]) -> Type:
    row = TABLE[name]
    targets = injected(row, operands)
    return result_type(row, targets, normalize(row, targets, given))


@settings(max_examples=400)
@given(CALLS, st.data())
def test_every_call_is_answered_or_refused(name: str, data: st.DataObject) -> None:
    operands = data.draw(st.sampled_from([free_operands, good_operands]))(data, name)
    given = free_given(data, name) if data.draw(st.booleans()) else good_given(data, name, operands)
    try:
        typed(name, operands, given)
    except REFUSALS:
        return


@settings(max_examples=400)
@given(CALLS, st.data())
def test_attributes_anyone_may_have_written_are_answered_or_refused(name: str, data: st.DataObject) -> None:
    names = [keyword.name for keyword in TABLE[name].keywords] + ["new", "out", "labels", "draw", "else"]
    attributes = {each: data.draw(ATTRIBUTES) for each in names if data.draw(st.integers(0, 9)) > 0}
    if data.draw(st.integers(0, 9)):
        attributes.pop("else", None)
    try:
        result_type(TABLE[name], free_operands(data, name), attributes)
    except REFUSALS:
        return


def bind(each: Type) -> Type:
    batch: tuple[AxisOrRun, ...] = (Axis("batch", number(4)),)
    return substitute(each, {name: number(value) for name, value in VARIABLES.items()}, {"..": batch, "leaf": batch})


def bind_given(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(bind_given(each) for each in value)
    if isinstance(value, Axis):
        bound = bind(Tensor("real", (value,)))
        assert isinstance(bound, Tensor)
        return bound.axes[0]
    return value


@pytest.mark.parametrize("name", sorted(TABLE.keys() - {"constant"}))
def test_binding_a_result_is_the_result_of_what_is_bound(name: str) -> None:
    answered = 0
    sizes = {key: number(value) for key, value in VARIABLES.items()}

    @settings(max_examples=25)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        nonlocal answered
        operands = good_operands(data, name)
        given = good_given(data, name, operands)
        try:
            symbolic = typed(name, operands, given)
            inner = {key: bind_value(each, sizes) for key, each in given.items()}
            bound = typed(name, [bind(each) for each in operands], inner)
        except REFUSALS:
            return
        answered += 1
        assert without_bounds(bind(symbolic)) == without_bounds(bound)

    check()
    assert answered


def bind_value(value: Any, sizes: dict[str, Poly]) -> Any:

    if isinstance(value, Symbolic):
        found = substitute_constant(value, sizes)
        return int(found.value) if isinstance(found, Rational) and found.value.denominator == 1 else found
    return bind_given(value)


def without_bounds(each: Type) -> Type:
    """Joined bounds may be tighter once they are numbers; everything else must agree."""
    match each:
        case Tensor(kind, axes):
            return Tensor(kind, axes)
        case TupleOf(items):
            return TupleOf(tuple(without_bounds(item) for item in items))
        case _:
            return each


@pytest.mark.parametrize("name", ["add", "mul", "where", "concat", "stack"])
@given(left=st.integers(1, 9), right=st.integers(1, 9))
def test_bounds_hold_the_largest_values(name: str, left: int, right: int) -> None:
    operands: list[Type] = [Tensor("nat", (), number(left)), Tensor("nat", (), number(right))]
    largest = {"add": left + right - 2, "mul": (left - 1) * (right - 1)}.get(name, max(left, right) - 1)
    given: dict[str, Any] = {}
    if name == "where":
        operands.insert(0, Tensor("bool"))
    if name in ("concat", "stack"):
        operands = [
            Tensor("nat", (Axis(None, number(1)),), each.bound) for each in operands if isinstance(each, Tensor)
        ]
        given = {"axis": 0} if name == "concat" else {"new": ()}
    result = typed(name, operands, given)
    assert isinstance(result, Tensor)
    assert result.bound == number(largest + 1)
