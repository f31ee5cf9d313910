"""From the arrays of a call to the types and sizes an entry is bound at.

A parameter's value is held against its type leaf by leaf: its tree must have exactly the type's fields (E6030 lists
all that differ), its arrays the type's axes. The sizes that the type leaves free are then solved from the arrays'
shapes (E6001 where they contradict each other). Elements are not looked at here; whoever executes checks them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from presk.api.signature import EntrySignature, dimension, sizes_of
from presk.check.signature import RUN
from presk.check.solver import Mismatch, Solver
from presk.check.typing import DIMENSION
from presk.core.bind import ENTRY_RUN
from presk.run import trees
from presk.shapes import types
from presk.shapes.poly import number
from presk.shapes.types import Axis, Stacked, Tensor, TupleOf, Type, fields_of
from presk.text.diagnostics import PreskError, did_you_mean, fail

LISTED = 8
"""Fields named in one message; the rest are counted."""

SHOWN_TYPE = 80
"""Characters of a type in a message."""

REAL_KINDS, NAT_KINDS, BOOL_KINDS = "f", "iu", "b"
"""NumPy's kinds of element types that may stand for each kind of tensor; bfloat16's is told by its name."""


@dataclass(frozen=True, slots=True)
class Matched:
    """Values as trees of exactly their types' fields, and what binding needs: argument types, and sizes by name."""

    values: Mapping[str, Any]
    types: tuple[Type | None, ...]
    dims: Mapping[str, int]


def match(signature: EntrySignature, values: Mapping[str, Any], dims: Mapping[str, int]) -> Matched:
    """Holds the values of a call, some of an entry's data parameters, against their types.

    E6030 and E6001 as this module's text says.
    """
    solver = Solver()
    solver.sizes.update(sizes_of(dims, signature.dims))
    if signature.has_run and ENTRY_RUN in dims:
        solver.run = (Axis(ENTRY_RUN, number(dims[ENTRY_RUN])),)
    fitted: dict[str, Any] = {}
    try:
        for parameter in signature.data:
            if parameter.name in values:
                known = types.substitute(parameter.type, solver.sizes)
                fitted[parameter.name] = fit(parameter.name, known, values[parameter.name])
                _note_shapes(solver, (parameter.name,), known, fitted[parameter.name])
        solver.solve()
    except Mismatch as error:
        raise fail("E6001", error.message, hint=error.hint) from None
    runs = {} if solver.run is None else {RUN: solver.run}
    found = [
        _settled(types.substitute(each.type, solver.sizes, runs)) if each.name in values else None
        for each in signature.data
    ]
    solved = {name: whole for name in signature.dims if (whole := _whole(solver, name)) is not None}
    return Matched(fitted, tuple(found), {**dims, **solved})


def fit(name: str, of: Type, value: Any) -> Any:
    """The value as a tree of exactly the type's fields, in its order.

    E6030 lists what is missing, extra or misshaped; E6001 is for a parameter that is one array.
    """
    problems = _Problems()
    fitted = _fit((name,), of, value, problems)
    if problems.any():
        raise problems.error(name, of)
    return fitted


class _Problems:
    """What is wrong with one tree, collected."""

    def __init__(self) -> None:
        self.missing: list[str] = []
        self.extra: list[str] = []
        self.misshaped: list[str] = []

    def any(self) -> bool:
        """Whether there is something."""
        return bool(self.missing or self.extra or self.misshaped)

    def error(self, name: str, of: Type) -> PreskError:
        """One diagnostic that lists it."""
        parts = [
            f"{what} {_listed(names)}"
            for what, names in (
                ("it lacks", self.missing),
                ("it has no business with", self.extra),
                ("of another shape:", self.misshaped),
            )
            if names
        ]
        hint = (
            did_you_mean(self.extra[0].strip("`"), [each.strip("`") for each in self.missing]) if self.extra else None
        )
        return fail("E6030", f"`{name}` isn't {_plain(of)}: {'; '.join(parts)}", hint=hint)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more


def _fit(path: trees.Path, of: Type, value: Any, problems: _Problems) -> Any:
    if isinstance(of, Tensor):
        return _fit_leaf(path, of, value, problems)
    fields = dict(fields_of(of) or ())
    given = _fields_given(value)
    if given is None:
        problems.misshaped.append(f"`{'.'.join(path)}` is one array, not a tree")
        return value
    leafless: dict[str, Any] = {name: {} for name, each in fields.items() if not each.extent[0]}
    given = leafless | given  # a file of arrays has nothing of these
    problems.missing.extend(f"`{'.'.join((*path[1:], name))}`" for name in fields if name not in given)
    problems.extra.extend(f"`{'.'.join((*path[1:], name))}`" for name in given if name not in fields)
    made = {name: _fit((*path, name), each, given[name], problems) for name, each in fields.items() if name in given}
    return tuple(made.values()) if _is_tuple(of) else made


def _fields_given(value: Any) -> dict[str, Any] | None:
    if isinstance(value, Mapping):
        return {str(name): each for name, each in cast(Mapping[object, Any], value).items()}
    if isinstance(value, tuple):
        return {str(at): each for at, each in enumerate(cast(tuple[Any, ...], value))}
    return None


def _is_tuple(of: Type) -> bool:
    while isinstance(of, Stacked):
        of = of.element
    return isinstance(of, TupleOf)


def _fit_leaf(path: trees.Path, of: Tensor, value: Any, problems: _Problems) -> Any:
    if _fields_given(value) is not None:
        problems.misshaped.append(f"`{'.'.join(path)}` is a tree, not {_plain(of)}")
        return value
    wrong = _misshaped(of, tuple(value.shape))
    if wrong is not None and len(path) == 1:
        raise fail("E6001", f"`{path[0]}` has the shape {_shown(value.shape)}, and {wrong}")
    if wrong is not None:
        problems.misshaped.append(f"`{'.'.join(path[1:])}` is {_shown(value.shape)}, and {wrong}")
    return value


def _misshaped(of: Tensor, shape: tuple[int, ...]) -> str | None:
    """What the type says against a shape, as far as its sizes are numbers; None where nothing."""
    axes, beyond = of.explicit, len(shape) - len(of.explicit)
    if beyond < 0 or (beyond and of.run is None):
        known = f"has {len(axes)} {'axis' if len(axes) == 1 else 'axes'}" if axes else "is a scalar"
        return f"{_plain(of)} {known}"
    for at, (axis, extent) in enumerate(zip(axes, shape[beyond:], strict=True)):
        size = axis.size.whole
        if size is not None and size != extent:
            name = f"axis `{axis.name}`" if axis.name else f"axis {at + beyond}"
            return f"{name} of {_plain(of)} is {size}"
    return None


def _plain(of: Type) -> str:
    """A type as a user writes it, without the prefix of its variables; cut where it is long."""
    shown = types.show(of).replace(DIMENSION, "")
    return shown if len(shown) <= SHOWN_TYPE else shown[: SHOWN_TYPE - 3] + "..."


def _note_shapes(solver: Solver, path: trees.Path, of: Type, value: Any) -> None:
    """Tells the solver the shape of every leaf."""
    for (inner, tensor), (_, leaf) in zip(types.leaves(of, path), trees.leaves(value, path), strict=True):
        name = ".".join(inner)
        actual = Tensor(_kind(name, tensor, leaf), tuple(Axis(None, number(int(extent))) for extent in leaf.shape))
        solver.match(tensor, actual, f"`{name}`")


def _kind(name: str, of: Tensor, leaf: Any) -> str:
    """What kind of tensor the leaf can be. E6001 for element types that stand for none."""
    dtype = getattr(leaf, "dtype", None)
    if dtype is not None and (not leaf.size or dtype.kind == "O") and dtype.kind in "fO":
        return of.kind  # an empty list says nothing, and objects are looked at one by one where they are taken
    if dtype is None or dtype.kind in REAL_KINDS or dtype.name == "bfloat16":
        return "real"
    if dtype.kind in NAT_KINDS:
        return "nat"
    if dtype.kind in BOOL_KINDS:
        return "bool"
    hint = "real and whole numbers and booleans are taken"
    raise fail("E6001", f"`{name}` is an array of {dtype}, not {_plain(of)}", hint=hint)


def _settled(of: Type) -> Type | None:
    """The type where every size in it is a number, else None: what is unknown is for binding to list."""
    tensors = [tensor for _, tensor in types.leaves(of)]
    bound = all(tensor.run is None and not any(_variables(tensor)) for tensor in tensors)
    return of if bound else None


def _variables(tensor: Tensor) -> Iterator[str]:
    for axis in tensor.explicit:
        yield from axis.size.variables()
    if tensor.bound is not None:
        yield from tensor.bound.variables()


def _whole(solver: Solver, name: str) -> int | None:
    size = solver.sizes.get(dimension(name))
    return None if size is None else size.whole


def _shown(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"
