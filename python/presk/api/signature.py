"""An entry's parameters as a caller meets them: names, places, defaults, and which are modules.

A parameter is data of the call, or a nat that is known when the entry is bound; both may be given as arguments.
Called by `Compiled`, which has one for its entry.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from presk.api.program import Entry
from presk.check.calls import default_of, session_signature
from presk.check.entries import find_entry
from presk.check.initial import Leaf, initializers
from presk.check.operators import COTANGENT, split_operators
from presk.check.session import Session
from presk.check.signature import Parameter, Signature
from presk.check.typing import DIMENSION
from presk.check.values import FunctionType, Number, Truth, Value
from presk.core.bind import BindSession, require_dims
from presk.shapes import types
from presk.shapes.constants import Constant, as_size, rational
from presk.shapes.poly import Poly
from presk.shapes.poly import number as size
from presk.shapes.types import ModuleOf, Type
from presk.text.diagnostics import did_you_mean, fail

SIZE_LIMIT = 1 << 63
"""No size of an array reaches this."""


@dataclass(frozen=True, slots=True)
class DataParameter:
    """A parameter of the run: its type with the entry's trees in place, and its default as an exact number, or None.

    Sizes that the entry's name leaves free are variables, with the prefix DIMENSION.
    """

    name: str
    type: Type
    default: Constant | None

    @property
    def module(self) -> ModuleOf | None:
        """The parameter's type where it is a module's tree: such a parameter holds parameters, and can be drawn."""
        return self.type if isinstance(self.type, ModuleOf) else None


class EntrySignature:
    """The parameters of an entry. Raises PreskError where the program has no such entry."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self._session = BindSession(entry.program.checked, training=False)
        operators, within = split_operators(entry.name)
        function = find_entry(self._session, entry.program.checked, within)
        found = session_signature(self._session, function)
        trees = dict(zip(found.tree_variables, function.trees, strict=True))
        self._found = found
        self.dims = found.dims
        self.has_run = found.has_run
        self.statics = frozenset(each.name for each in found.parameters if each.kind == "static")
        self.default_sizes = _default_sizes(self._session, found)
        self.names = tuple(each.name for each in found.parameters)
        self.data = tuple(_data(self._session, found, each, trees) for each in found.parameters if each.kind == "data")
        for each in operators:
            if each.kind == "vjp":
                self.data += (_cotangent(found, trees, self.names),)
                self.names += (self.data[-1].name,)

    def require_dims(self, names: Iterable[str]) -> None:
        """E4008 where one of these isn't a free dimension of the entry."""
        require_dims(self._found, self.entry.name, names)

    def arrange(
        self, names: Sequence[str], args: Sequence[Any], named: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, int]]:
        """The values given for data parameters, and the sizes given for the others, by name; `names` are those to give.

        E6034 for too many, an unknown or a twice given one, or a size that is no whole number.
        """
        if len(args) > len(names):
            takes = ", ".join(f"`{name}`" for name in names) or "nothing"
            raise fail("E6034", f"`{self.entry.name}` takes {takes} here; {len(args)} arguments were given")
        given = dict(zip(names, args, strict=False))
        for name, value in named.items():
            if name not in names:
                hint = did_you_mean(name, names) or f"it takes {', '.join(names)}"
                raise fail("E6034", f"`{self.entry.name}` has no parameter `{name}` here", hint=hint)
            if name in given:
                raise fail("E6034", f"`{name}` of `{self.entry.name}` is given twice")
            given[name] = value
        sizes = {name: whole_number(name, given.pop(name)) for name in self.statics if name in given}
        return given, sizes

    def initializers(self, module: ModuleOf) -> tuple[Leaf, ...]:
        """The leaves of a bound module of this program with what they begin as."""
        return initializers(self._session, module)

    def modules(self) -> list[DataParameter]:
        """The parameters that are modules' trees, in order."""
        return [each for each in self.data if each.module is not None]

    def bound_module(self, parameter: DataParameter, dims: Mapping[str, int]) -> ModuleOf:
        """A module's type at these sizes. E4001 lists those that are still free."""
        found = types.substitute(parameter.type, sizes_of(dims, self.dims))
        assert isinstance(found, ModuleOf), "the parameter is a module"
        free = sorted({name.removeprefix(DIMENSION) for name in _variables(found)})
        if free:
            hint = f"presk.compile(…, dims={{{', '.join(f'{name!r}: …' for name in free)}}})"
            raise fail("E4001", f"the sizes {', '.join(free)} of `{parameter.name}` are free", hint=hint)
        return found


def dimension(name: str) -> str:
    """A dimension's name as the checker's types write it."""
    return DIMENSION + name


def sizes_of(dims: Mapping[str, int], known: Sequence[str]) -> dict[str, Poly]:
    """The dimensions given, as a substitution in types."""
    return {dimension(name): size(value) for name, value in dims.items() if name in known}


def _data(session: Session, found: Signature, parameter: Parameter, trees: Mapping[str, Type]) -> DataParameter:
    of = parameter.type
    assert of is not None and not isinstance(of, FunctionType), "data has a type"
    default = None if parameter.default is None else _constant(default_of(session, found, parameter))
    return DataParameter(parameter.name, types.substitute(of, {}, None, trees), default)


def _constant(value: Value) -> Constant:
    """A default as an exact number, 1 for true."""
    if isinstance(value, Truth):
        return rational(bool(value.value))
    assert isinstance(value, Number), "a default is a number or a truth value"
    return value.value


def _default_sizes(session: Session, found: Signature) -> dict[str, int]:
    """The defaults of the parameters that are known when the entry is bound."""
    sizes: dict[str, int] = {}
    for each in found.parameters:
        if each.kind == "static" and each.default is not None:
            known = as_size(_constant(default_of(session, found, each)))
            assert known is not None and known.whole is not None, "checked: the default of a nat is one"
            sizes[each.name] = known.whole
    return sizes


def _cotangent(found: Signature, trees: Mapping[str, Type], names: Sequence[str]) -> DataParameter:
    """The last parameter of a vjp, of the type of the function's result."""
    if found.result is None:
        name = found.declaration.node.name
        hint = f"`fn {name}(…) -> …` tells what the cotangent is"
        raise fail("E5002", f"the result of `{name}` isn't stated", found.declaration.node.name_span, hint)
    name = COTANGENT
    while name in names:
        name += "_"
    return DataParameter(name, types.substitute(found.result, {}, None, trees), None)


def _variables(module: ModuleOf) -> Iterator[str]:
    for argument in module.arguments:
        known = as_size(argument)
        yield from () if known is None else known.variables()
    for _, tensor in types.leaves(module):
        for axis in tensor.explicit:
            yield from axis.size.variables()


def whole_number(name: str, value: Any) -> int:
    """A size, or another whole number a caller gives, perhaps as an array of one. E6034 for anything else."""
    sole = value.item() if getattr(value, "shape", None) == () else value  # an array or a number of NumPy's
    if isinstance(sole, Fraction):
        sole = sole.numerator if sole.denominator == 1 else float(sole)
    try:
        whole = operator.index(sole)  # pyright: ignore[reportArgumentType]: whatever isn't a whole number raises
    except TypeError:
        given = str(sole) if isinstance(sole, float) else f"a {type(sole).__name__}"
        raise fail("E6034", f"`{name}` is a whole number, not {given}") from None
    if abs(whole) >= SIZE_LIMIT:
        raise fail("E6034", f"`{name}` doesn't fit 63 bits")
    return whole
