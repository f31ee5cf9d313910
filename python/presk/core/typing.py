"""The type of everything in Core, from the types of what it refers to.

`operand_type` and `expression_type` give the types that binding states, the reader fills in and the verifier compares;
`fits` is the rule of calls and results. A primitive's own rule does its part. All raise `primitives.table.Misfit`,
never anything else, on trees that anyone may have written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import assert_never

from presk.core.nodes import (
    Apply,
    Call,
    Count,
    Each,
    Expression,
    Function,
    Injected,
    Literal,
    Loop,
    MakeRecord,
    MakeTuple,
    MapTrees,
    Operand,
    Ref,
    SetField,
    Source,
)
from presk.primitives.all import TABLE
from presk.primitives.call import injected, result_type
from presk.primitives.table import Misfit
from presk.shapes import constants
from presk.shapes.align import Misaligned
from presk.shapes.poly import number, provably_at_most
from presk.shapes.types import (
    BOOL,
    HIDDEN,
    REAL,
    Axis,
    AxisOrRun,
    ModuleOf,
    RecordOf,
    Run,
    Stacked,
    Tensor,
    TreeVariable,
    TupleOf,
    Type,
    field_of,
    fields_of,
    leaves,
    show,
    stack,
    transform,
)

Types = Mapping[int, Type]
"""The type of each number in scope."""

Functions = Mapping[str, Function]
"""The functions that may be called, by name."""

HIDDEN_NAME = re.compile(rf"{re.escape(HIDDEN)}\d+")
"""Names that binding gives to the unnamed axes of a run."""

LEAF = Run("leaf")
"""What stands for a leaf's axes in the body of a map."""


def operand_type(operand: Operand, types: Types) -> Type:
    """The type of an operand. Raises Misfit where it refers to nothing in scope or has no such component."""
    match operand:
        case Literal():
            return literal_type(operand)
        case Injected(inner):
            nats = operand_type(inner, types)
            if not isinstance(nats, Tensor) or nats.kind != "nat":
                raise Misfit("E3001", f"`real(…)` injects nats, not {show(nats)}")
            return Tensor("real", nats.axes)
        case Ref(at, path):
            if at not in types:
                raise Misfit("E2001", f"`%{at}` is not in scope here")
            return component(types[at], path)


def literal_type(literal: Literal) -> Tensor:
    """The type of an exact constant of its kind. Raises Misfit where the kind can't have that value."""
    if literal.kind == "real":
        return REAL
    value = literal.value.value if isinstance(literal.value, constants.Rational) else None
    if literal.kind == "nat" and value is not None and value.denominator == 1 and value >= 0:
        return Tensor("nat", (), number(value + 1))
    if literal.kind == "bool" and value in (0, 1):
        return BOOL
    raise Misfit("E3001", f"{constants.show(literal.value)} is no constant of kind `{literal.kind}`")


def component(tree: Type, path: tuple[str, ...]) -> Type:
    """The type of the component at `path`. Raises Misfit (E2001)."""
    for name in path:
        found = field_of(tree, name)
        if found is None:
            raise Misfit("E2001", f"{show(tree)} has no component `{name}`")
        tree = found
    return tree


def expression_type(expression: Expression, types: Types, functions: Functions) -> Type:
    """The type of what a let holds; the lets of a loop's or map's body have theirs already. Raises Misfit."""
    match expression:
        case Apply():
            return apply_type(expression, types)
        case Call(name, operands):
            if name not in functions:
                raise Misfit("E2001", f"no function `{name}` stands before this call")
            return call_type(functions[name], tuple(operand_type(operand, types) for operand in operands))
        case Loop():
            return loop_type(expression, types)
        case MapTrees():
            return map_type(expression, types)
        case MakeTuple(items):
            return TupleOf(tuple(operand_type(item, types) for item in items))
        case MakeRecord(fields, module):
            return record_type(tuple((name, operand_type(value, types)) for name, value in fields), module)
        case SetField(base, path, value):
            tree = operand_type(base, types)
            check_fit(operand_type(value, types), component(tree, path), f"the new `{'.'.join(path)}`")
            return tree
    assert_never(expression)


def apply_type(apply: Apply, types: Types) -> Type:
    """The result of a primitive by its own rule. Raises Misfit."""
    primitive = TABLE.get(apply.primitive)
    if primitive is None:
        raise Misfit("E2001", f"there is no primitive `{apply.primitive}`")
    operands = tuple(operand_type(operand, types) for operand in apply.operands)
    try:
        if injected(primitive, operands) != operands:
            raise Misfit("E3001", f"{apply.primitive} takes reals here", "nats become reals by `real(%n)`")
        return result_type(primitive, operands, dict(apply.attributes))
    except Misaligned as error:
        raise Misfit("E3003", error.message, error.hint) from None


def call_type(function: Function, operands: tuple[Type, ...]) -> Type:
    """The function's result as its caller sees it. Raises Misfit where the operands don't fit its parameters.

    Hidden names (`_1`), which a function's run gives to axes that have none at the caller, are dropped again.
    """
    check_call(function, operands)
    hidden: set[str] = set()
    for parameter, operand in zip(function.parameters, operands, strict=True):
        for (_, inner), (_, outer) in zip(leaves(parameter.type), leaves(operand), strict=True):
            for axis, given in zip(inner.axes, outer.axes, strict=True):
                if isinstance(axis, Axis) and isinstance(given, Axis) and given.name is None:
                    hidden |= {axis.name} if axis.name is not None and HIDDEN_NAME.fullmatch(axis.name) else set()

    def restore(tensor: Tensor) -> Tensor:
        axes = tuple(
            Axis(None, axis.size) if isinstance(axis, Axis) and axis.name in hidden else axis for axis in tensor.axes
        )
        return Tensor(tensor.kind, axes, tensor.bound)

    return transform(function.result, restore, lambda size: size) if hidden else function.result


def check_call(function: Function, operands: tuple[Type, ...]) -> None:
    """Raises Misfit where these operands can't be the function's parameters."""
    if len(operands) != len(function.parameters):
        expected, given = len(function.parameters), len(operands)
        raise Misfit("E3002", f"`{function.name}` takes {expected} operands, not {given}")
    for at, (parameter, operand) in enumerate(zip(function.parameters, operands, strict=True)):
        check_fit(operand, parameter.type, f"operand {at} of `{function.name}`")


def loop_type(loop: Loop, types: Types) -> Type:
    """A fold's last state, or a scan's last state with the second components stacked. Raises Misfit."""
    inner = dict(types) | {each.number: each.type for each in (loop.state, *loop.elements)}
    inner |= {let.number: let.type for let in loop.body.lets}
    result = operand_type(loop.body.result, inner)
    if loop.kind == "fold":
        check_fit(result, loop.state.type, "the next state")
        return loop.state.type
    if not isinstance(result, TupleOf) or len(result.items) != 2:
        raise Misfit("E3001", f"a scan's body gives (state, element), not {show(result)}")
    check_fit(result.items[0], loop.state.type, "the next state")
    for _, leaf in leaves(result.items[1]):
        if loop.along is not None and any(axis.name == loop.along for axis in leaf.explicit):
            raise Misfit("E3003", f"the axis `{loop.along}` of {show(leaf)} would stand there twice")
    return TupleOf((loop.state.type, stack(result.items[1], number(loop.trips), loop.along)))


def element_type(source: Source, types: Types, trips: int) -> Type:
    """The type of what a loop takes from a source each round. Raises Misfit."""
    match source:
        case Count(start):
            return Tensor("nat", (), number(start + trips))
        case Each(operand, axis):
            tree = operand_type(operand, types)
            if axis is None:
                if not isinstance(tree, Stacked):
                    raise Misfit("E3001", f"a loop goes over a stacked tree, not {show(tree)}")
                return tree.element
            if not isinstance(tree, Tensor) or not 0 <= axis < len(tree.axes):
                raise Misfit("E3004", f"{show(tree)} has no axis {axis}")
            return Tensor(tree.kind, tree.axes[:axis] + tree.axes[axis + 1 :], tree.bound)


def source_trips(source: Source, types: Types) -> int | None:
    """The number of elements a source has; None for a counter, which has as many as are wanted. Raises Misfit."""
    match source:
        case Count():
            return None
        case Each(operand, axis):
            tree = operand_type(operand, types)
            if axis is None and isinstance(tree, Stacked):
                return tree.count.whole
            if axis is not None and isinstance(tree, Tensor) and 0 <= axis < len(tree.axes):
                entry = tree.axes[axis]
                return entry.size.whole if isinstance(entry, Axis) else None
            raise Misfit("E3004", f"{show(tree)} has no elements to go over there")


def map_type(leafwise: MapTrees, types: Types) -> Type:
    """The tree, or tuple of trees, of the body's results leaf by leaf. Raises Misfit."""
    inner = dict(types) | {each.number: each.type for each in leafwise.parameters}
    inner |= {let.number: let.type for let in leafwise.body.lets}
    result = operand_type(leafwise.body.result, inner)
    trees = [operand_type(operand, types) for operand in leafwise.operands]
    if not trees:
        raise Misfit("E3002", "a map needs a tree")
    for tree in trees[1:]:
        _check_same_leaves(trees[0], tree)
    if leafwise.arity is None:
        return mapped(trees[0], result)
    if not isinstance(result, TupleOf) or len(result.items) != leafwise.arity:
        raise Misfit("E3001", f"the body of this map gives {leafwise.arity} results, not {show(result)}")
    return TupleOf(tuple(mapped(trees[0], item) for item in result.items))


def mapped(tree: Type, leaf: Type) -> Type:
    """`tree` with the result `leaf` for each tensor, its run being that tensor's axes. Raises Misfit.

    Where every leaf keeps its type the tree does, else what was a module is a record.
    """
    if isinstance(tree, Tensor):
        if not isinstance(leaf, Tensor):
            raise Misfit("E3001", f"the body of a map gives a tensor for each leaf, not {show(leaf)}")
        return Tensor(leaf.kind, expand_run(leaf.axes, tree.axes), leaf.bound)
    fields = fields_of(tree)
    if fields is None:
        raise Misfit("E3001", f"{show(tree)} has no leaves")
    results = tuple((name, mapped(each, leaf)) for name, each in fields)
    if results == fields:
        return tree
    tuples = isinstance(tree.element if isinstance(tree, Stacked) else tree, TupleOf)
    return TupleOf(tuple(each for _, each in results)) if tuples else RecordOf(results)


def expand_run(axes: tuple[AxisOrRun, ...], leaf: tuple[AxisOrRun, ...]) -> tuple[AxisOrRun, ...]:
    """The axes with a leading run replaced by a leaf's axes."""
    return (*leaf, *axes[1:]) if axes and isinstance(axes[0], Run) else axes


def record_type(fields: tuple[tuple[str, Type], ...], module: ModuleOf | None) -> Type:
    """The type of a record, or the module whose fields these fit. Raises Misfit."""
    if len({name for name, _ in fields}) != len(fields):
        raise Misfit("E3002", "a record's fields have different names")
    if module is None:
        return RecordOf(fields)
    if [name for name, _ in fields] != [name for name, _ in module.fields]:
        raise Misfit("E3002", f"{module.label} has the fields {', '.join(name for name, _ in module.fields) or 'none'}")
    for (name, given), (_, expected) in zip(fields, module.fields, strict=True):
        check_fit(given, expected, f"`{name}` of {module.label}")
    return module


def check_fit(given: Type, expected: Type, what: str) -> None:
    """Raises Misfit (E3003) where a value of one type can't stand for another."""
    if not fits(given, expected):
        raise Misfit("E3003", f"{what} is {show(given)}, which doesn't fit {show(expected)}")


def fits(given: Type, expected: Type) -> bool:
    """Whether a value may be passed on as another type: sizes are equal, names agree or are missing, bounds suffice."""
    if given == expected:
        return True
    match given, expected:
        case Tensor(), Tensor():
            return _tensor_fits(given, expected)
        case (ModuleOf(), _) | (_, ModuleOf()) | (TreeVariable(), _) | (_, TreeVariable()):
            return False
        case Stacked(element, count), Stacked(other, other_count):
            return count == other_count and fits(element, other)
        case TupleOf(), TupleOf():
            pass
        case RecordOf(), RecordOf():
            pass
        case _:
            return False
    mine, theirs = fields_of(given) or (), fields_of(expected) or ()
    if [name for name, _ in mine] != [name for name, _ in theirs]:
        return False
    return all(fits(each, other) for (_, each), (_, other) in zip(mine, theirs, strict=True))


def _tensor_fits(given: Tensor, expected: Tensor) -> bool:
    if given.kind != expected.kind or len(given.axes) != len(expected.axes):
        return False
    for axis, other in zip(given.axes, expected.axes, strict=True):
        if isinstance(axis, Run) or isinstance(other, Run):
            if axis != other:
                return False
        elif axis.size != other.size or (axis.name and other.name and axis.name != other.name):
            return False
    if given.bound is None or expected.bound is None:
        return given.bound == expected.bound
    return provably_at_most(given.bound, expected.bound)


def _check_same_leaves(tree: Type, other: Type) -> None:
    """Trees that are mapped together have one shape: the same components, and leaves of the same sizes."""
    if isinstance(tree, Tensor) or isinstance(other, Tensor):
        if isinstance(tree, Tensor) and isinstance(other, Tensor):
            if _leaf_sizes(tree) == _leaf_sizes(other):
                return
        raise Misfit("E3003", f"the trees of a map differ: {show(tree)} and {show(other)}")
    mine, theirs = fields_of(tree), fields_of(other)
    if mine is None or theirs is None or [name for name, _ in mine] != [name for name, _ in theirs]:
        raise Misfit("E3003", f"the trees of a map differ: {show(tree)} and {show(other)}")
    for (_, each), (_, another) in zip(mine, theirs, strict=True):
        _check_same_leaves(each, another)


def _leaf_sizes(tensor: Tensor) -> list[object]:
    return [axis.size if isinstance(axis, Axis) else axis for axis in tensor.axes]
