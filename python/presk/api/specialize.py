"""Specializing an entry: bound to the sizes of a call's arguments, prepared by a backend, and kept.

A call is first looked up by the shapes and element types of its arrays alone; only where these are new are sizes
solved and types matched, and only where the types are new is the entry bound and prepared. Called by `Compiled` and
`Bound`.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import numpy as np

from presk.api.arrays import Give, incoming
from presk.api.matching import Matched, match
from presk.api.program import Entry
from presk.api.signature import DataParameter, EntrySignature
from presk.choose.contributions import Call
from presk.core.bind import bind
from presk.core.nodes import Program as Core
from presk.exact.constants import ball_of_constant
from presk.exact.proving import Precision
from presk.exact.values import ExactArray
from presk.realization.mixed import expanded
from presk.realization.model import Plan, Realization
from presk.realization.swamping import long_sums
from presk.run import registry, trees
from presk.run.backend import Backend, Executable
from presk.run.backend import Entry as BoundEntry
from presk.run.values import accept
from presk.shapes.constants import Rational
from presk.shapes.types import Tensor, Type
from presk.text.diagnostics import fail

KEPT = 128
"""Specializations kept for one Compiled, the least recently used going first."""

SHAPES_KEPT = 1024
"""Combinations of shapes remembered with the specialization they led to."""

TRIED = 4
"""Executables that a call tries before it looks at its arguments."""

DEFAULT_GUARD = 256
"""An irrational default is held at so many bits more than the reference may take."""

Kept = TypeVar("Kept")


class CacheInfo(NamedTuple):
    """How many calls found what they needed prepared, how many didn't, and how many specializations are kept."""

    hits: int
    misses: int
    currsize: int
    maxsize: int


@dataclass(frozen=True)
class Asked:
    """The reference's precision as a user has asked for it. E6012 and E6014 where that can't be."""

    bits: int | None = None
    digits: int | None = None
    most: int | None = None

    def of_a_call(self) -> Precision:
        """What a call begins at, proves, and ends at."""
        return Precision.chosen(self.bits, self.digits, self.most)

    def of_a_gap(self) -> Precision:
        """The same for a gap, which needs no more digits than it has itself, unless some are asked for."""
        return replace(self.of_a_call(), digits=self.digits)

    def or_else(self, other: Asked) -> Asked:
        """This, or what was asked for before where it asks for nothing."""
        return other if self == Asked() else self


@dataclass(frozen=True)
class Settings:
    """How an entry is to be computed: what `compile` was given, read.

    `precision` and `certify` are the reference's.
    """

    realization: Realization
    plan: Plan
    backend: str
    precision: Asked
    certify: bool
    dims: tuple[tuple[str, int], ...]
    threads: int | None
    training: bool

    @property
    def proven(self) -> Precision | None:
        """What the reference is to prove; None where it works on midpoints."""
        return self.precision.of_a_call() if self.certify else None

    @property
    def most_bits(self) -> int:
        """The most bits that the reference may take."""
        return self.precision.of_a_call().most


@dataclass(frozen=True, eq=False)
class Specialization:
    """An entry bound to sizes and prepared: its Core, and what runs it."""

    core: Core
    executable: Executable

    @property
    def result(self) -> Type:
        """The type of what a call gives."""
        return self.core.entry.result


class Recent:
    """The executables run last, which a call tries before it looks at its arguments one by one.

    Arguments that are exactly what an executable takes are those it was made for: a type's sizes and kinds are all that
    decides a specialization, where no size is given beside the arrays. Used from several threads.
    """

    def __init__(self, takes: int | None) -> None:
        self._takes = takes
        self._executables: tuple[Executable, ...] = ()

    def run(self, args: Sequence[Any], seed: int, step: int, row_offset: int) -> Any | None:
        """The result of whichever takes these arguments as they are; None where none does."""
        if len(args) != self._takes:
            return None
        for each in self._executables:
            result = each.immediate(args, seed, step, row_offset)
            if result is not None:
                if each is not self._executables[0]:
                    self.note(each)
                return result
        return None

    @property
    def first(self) -> Executable | None:
        """The one that ran last."""
        return self._executables[0] if self._executables else None

    def note(self, executable: Executable) -> None:
        """Puts an executable first."""
        others = (each for each in self._executables if each is not executable)
        self._executables = (executable, *others)[:TRIED]


class Specializer:
    """The specializations of one entry under one set of settings. Used from several threads."""

    def __init__(self, entry: Entry, settings: Settings) -> None:
        self.entry = entry
        self.settings = settings
        self.signature = EntrySignature(entry)
        self.backend = registry.make(settings.backend, bits=settings.precision.of_a_call().bits, proven=settings.proven)
        self._by_shape: OrderedDict[Hashable, Hashable] = OrderedDict()
        self._by_type: OrderedDict[Hashable, Specialization] = OrderedDict()
        self._lock = Lock()
        self._hits = self._misses = 0
        self._recent = Recent(self.plain_count(self.signature.names))
        self.tell: Callable[[str], None] = _warn
        """What is told a note about a specialization, each once."""
        self._told: set[str] = set()
        self.latest: Specialization | None = None
        """What the last call ran."""

    def plain_count(self, names: Sequence[str]) -> int | None:
        """How many parameters these are; None where one is a size, which is no array."""
        return len(names) if set(names) <= {each.name for each in self.signature.data} else None

    def immediate(self, args: Sequence[Any], seed: int, step: int, row_offset: int) -> Any | None:
        """The result where an executable run lately takes all parameters' arguments as they are, else None."""
        before = self._recent.first
        result = self._recent.run(args, seed, step, row_offset)
        if result is None:
            return None
        with self._lock:
            self._hits += 1
            ran = self._recent.first
            if ran is not before:
                known = next((each for each in self._by_type.items() if each[1].executable is ran), None)
                if known is not None:
                    self._by_type.move_to_end(known[0])
                    self.latest = known[1]
        return result

    def enter(
        self, names: Sequence[str], args: Sequence[Any], named: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, int], Give | None]:
        """Arguments and sizes by name, every leaf an array; and what gives results back in the caller's library.

        `names` are the parameters to be given. That library is the first array's that isn't a module's parameter. E6034
        for arguments that aren't these parameters', E6031 and E6032 for values that can't be taken.
        """
        given, sizes = self.signature.arrange(names, args, named)
        values: dict[str, Any] = {}
        give: Give | None = None
        decided = False
        for each in self.signature.data:
            if each.name in given:
                taken = incoming(each.name, given[each.name])
                values[each.name] = taken.tree
                if taken.has_arrays and not decided and each.module is None:
                    give, decided = taken.give, True
        return values, sizes, give

    def require(self, values: Mapping[str, Any]) -> None:
        """E6034 where a parameter without a default isn't given."""
        missing = [each.name for each in self.signature.data if each.name not in values and each.default is None]
        if missing:
            raise fail("E6034", f"`{self.entry.name}` lacks {', '.join(f'`{name}`' for name in missing)}")

    def complete(self, values: Mapping[str, Any], bound: int = 0) -> list[Any]:
        """The values of the data parameters behind the first `bound`, in order: given ones, defaults for others."""
        return [
            values[each.name] if each.name in values else default_value(each, self.settings.most_bits)
            for each in self.signature.data[bound:]
        ]

    def specialize(self, values: Mapping[str, Any], sizes: Mapping[str, int]) -> tuple[Specialization, dict[str, Any]]:
        """What runs these values, and the values. Raises PreskError.

        Values whose paths, shapes and element types are those of earlier ones fit as these did.
        """
        key = shapes_of(values, sizes)
        made, fitted = self._look_up(key), values
        if made is None:
            matched = self.match(values, sizes)
            types = _Hashed((matched.types, tuple(sorted(matched.dims.items()))))
            with self._lock:
                _keep(self._by_shape, key, types, SHAPES_KEPT)
            made, fitted = self._look_up(key) or self._prepare(types, self.bind(matched)), matched.values
        self._recent.note(made.executable)
        return made, dict(fitted)

    def match(self, values: Mapping[str, Any], sizes: Mapping[str, int]) -> Matched:
        """The values held against the entry's types, with the sizes given beside them."""
        return match(self.signature, values, {**dict(self.settings.dims), **sizes})

    def bind(self, matched: Matched) -> Core:
        """The entry's simplified Core at the matched sizes."""
        return bind(
            self.entry.program.checked,
            self.entry.name,
            dims=matched.dims,
            arguments=matched.types,
            training=self.settings.training,
        )

    def call(self, made: Specialization, values: Mapping[str, Any], draws: Mapping[str, int]) -> Call:
        """One call of a specialization on these values, as something to be measured."""
        parameters = made.core.entry.parameters
        given = zip(parameters, self.complete(values), strict=True)
        settings = self.settings
        return Call(
            BoundEntry(self.entry.name, made.core),
            expanded(settings.realization, made.core),
            settings.plan,
            [accept(each.name or "", each.type, value) for each, value in given],
            training=settings.training,
            threads=settings.threads,
            **draws,
        )

    def tracing(self) -> Backend:
        """The backend for values that nobody has asked digits of: the reference proves what it proves of them."""
        settings = self.settings
        if settings.proven is None:
            return self.backend
        return registry.make(settings.backend, proven=replace(settings.proven, digits=None))

    def cache_info(self) -> CacheInfo:
        """Hits, misses and number of the specializations kept."""
        with self._lock:
            return CacheInfo(self._hits, self._misses, len(self._by_type), KEPT)

    def _look_up(self, shapes: Hashable) -> Specialization | None:
        """The specialization these shapes led to, where it is still kept."""
        with self._lock:
            types = self._by_shape.get(shapes)
            found = None if types is None else self._by_type.get(types)
            if found is not None:
                self._hits += 1
                self._by_shape.move_to_end(shapes)
                self._by_type.move_to_end(types)
                self.latest = found
            return found

    def _prepare(self, types: Hashable, core: Core) -> Specialization:
        settings = self.settings
        executable = self.backend.prepare(
            BoundEntry(self.entry.name, core),
            expanded(settings.realization, core),
            settings.plan,
            threads=settings.threads,
            training=settings.training,
        )
        if settings.backend != "interp":
            self._note(str(each) for each in long_sums(settings.realization, core))
        with self._lock:
            self._misses += 1
            self.latest = _keep(self._by_type, types, Specialization(core, executable), KEPT)
            return self.latest

    def _note(self, notes: Iterable[str]) -> None:
        """Tells what hasn't been told yet."""
        for each in notes:
            if each not in self._told:
                self._told.add(each)
                self.tell(each)


def _warn(note: str) -> None:
    warnings.warn(f"presk: {note}", stacklevel=CALLER)


CALLER = 7
"""Frames from a warning up to the user's call."""


def default_value(parameter: DataParameter, bits: int) -> Any:
    """A parameter's default as a leaf of a call: exact where it is rational, else a narrow ball around it."""
    default, of = parameter.default, parameter.type
    assert default is not None and isinstance(of, Tensor), "a parameter that isn't given is a scalar with a default"
    if isinstance(default, Rational) and of.kind != "real":
        return np.array(int(default.value), dtype=np.int64 if of.kind == "nat" else np.bool_)
    if isinstance(default, Rational):
        return ExactArray.from_numbers([default.value], ())
    return ExactArray([ball_of_constant(default, bits + DEFAULT_GUARD)], (), bits=bits + DEFAULT_GUARD, certified=True)


class _Hashed:
    """A value whose hash is taken once: types are deep, and looked up at each call."""

    __slots__ = ("_hash", "value")

    def __init__(self, value: Hashable) -> None:
        self.value = value
        self._hash = hash(value)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, _Hashed) and self.value == other.value)


def shapes_of(values: Mapping[str, Any], sizes: Mapping[str, int]) -> Hashable:
    """What decides the specialization: names, paths, shapes and element types (None for exact numbers)."""
    leaves = tuple(
        (path, leaf.shape, getattr(leaf, "dtype", None))
        for name, value in values.items()
        for path, leaf in trees.leaves(value, (name,))
    )
    return leaves, tuple(sorted(sizes.items()))


def _keep(table: OrderedDict[Hashable, Kept], key: Hashable, value: Kept, most: int) -> Kept:
    """The value kept under the key: the one that is there already, if another thread was first."""
    kept = table.setdefault(key, value)
    while len(table) > most:
        table.popitem(last=False)
    return kept
