"""Compiled entries: what `presk.compile` gives and users call.

A `Compiled` is an entry with the settings it is computed under; it is specialized per shapes of its arguments.
`Bound` is one with its leading arguments fixed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from html import escape
from typing import Any, TypeVar

from presk.api import listings
from presk.api.arguments import table, text
from presk.api.arrays import copied
from presk.api.listings import Memory
from presk.api.program import Entry, find_entry
from presk.api.signature import DataParameter, whole_number
from presk.api.specialize import (
    KEPT,
    Asked,
    CacheInfo,
    Recent,
    Settings,
    Specialization,
    Specializer,
    default_value,
    shapes_of,
)
from presk.check.initial import Leaf
from presk.choose.contributions import Progress, observe
from presk.choose.gap import Gap, measure_gap
from presk.core.nodes import Program as Core
from presk.exact.proving import Proof
from presk.realization.model import Plan, Realization, read_plan, read_realization
from presk.realization.parameters import type_at_rest
from presk.run import registry, trees
from presk.run.backend import Executable
from presk.run.initial import draw_parameters
from presk.run.machine import require_threads
from presk.run.memory import within_memory
from presk.run.mode import in_standard_mode
from presk.run.synthesis import synthesize
from presk.shapes.types import ModuleOf, Type
from presk.text.diagnostics import fail


class Compiled:
    """An entry ready to be called: `f(params, x)`. Made by `presk.compile`; pickles with its program.

    Arguments are given by place or by name: NumPy arrays, numbers, trees of them, or arrays of other libraries
    through DLPack. A module's parameters are nested dicts. What comes back is of the library of the first array that
    isn't a module's parameter; the exact reference gives ExactArray. Calls may be made from several threads.
    """

    def __init__(self, entry: Entry, settings: Settings) -> None:
        self.entry = entry
        self.settings = settings
        self._specializer = Specializer(entry, settings)
        self._signature = self._specializer.signature
        self._signature.require_dims(dict(settings.dims))

    def __reduce__(self) -> tuple[type[Compiled], tuple[Entry, Settings]]:
        return type(self), (self.entry, self.settings)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the entry's parameters, in order."""
        return self._signature.names

    @property
    def modules(self) -> tuple[str, ...]:
        """The names of the parameters that are modules' trees: what `init` draws."""
        return tuple(each.name for each in self._signature.modules())

    def __call__(self, /, *args: Any, seed: int = 0, step: int = 0, row_offset: int = 0, **named: Any) -> Any:
        """The entry's value.

        `seed` and `step` decide every draw, `row_offset` is the number of the batch's first row. Raises PreskError:
        E6034 for arguments that aren't the parameters', E6030 for trees, E6001 for shapes and types, E6002 for
        indices, E6003 where the result isn't defined; E4001 where a size is in no argument and not in `dims`.
        """
        if not named:
            result = self._specializer.immediate(args, seed, step, row_offset)
            if result is not None:
                return result
        return self._converted(args, named, seed, step, row_offset)

    @within_memory
    @in_standard_mode
    def _converted(self, args: tuple[Any, ...], named: dict[str, Any], seed: int, step: int, row_offset: int) -> Any:
        """A call whose arguments are to be converted, or that meets its shapes for the first time."""
        values, sizes, give = self._specializer.enter(self.parameters, args, named)
        self._specializer.require(values)
        made, fitted = self._specializer.specialize(values, sizes)
        result = made.executable(*self._specializer.complete(fitted), seed=seed, step=step, row_offset=row_offset)
        return result if give is None else trees.map_leaves(result, give)

    @in_standard_mode
    def specialize(self, /, *args: Any, **named: Any) -> Specialization:
        """What a call with these arguments would run, made now. Those that aren't needed for sizes may be left out."""
        values, sizes, _ = self._specializer.enter(self.parameters, args, named)
        return self._specializer.specialize(values, sizes)[0]

    @in_standard_mode
    def core(self, /, *args: Any, **named: Any) -> Core:
        """The entry's simplified Core at the sizes of these arguments and of `dims`; nothing is prepared to run."""
        values, sizes, _ = self._specializer.enter(self.parameters, args, named)
        return self._specializer.bind(self._specializer.match(values, sizes))

    @in_standard_mode
    def bind(self, /, *args: Any, **named: Any) -> Bound:
        """The entry with its first parameters fixed: their trees are held against the types now, and copied.

        What is done to them afterwards changes no result. They are converted and packed once for each way the entry is
        specialized. Errors as for a call, as far as these arguments decide them; E6034 where they aren't the first.
        """
        values, sizes, _ = self._specializer.enter(self.parameters, args, named)
        first = [each.name for each in self._signature.data][: len(values)]
        if set(values) != set(first):
            expected = ", ".join(f"`{name}`" for name in first)
            raise fail("E6034", f"`{self.entry.name}` binds its first parameters, {expected}; others were given")
        return Bound(self._specializer, trees.map_leaves(self._specializer.match(values, sizes).values, copied), sizes)

    @within_memory
    @in_standard_mode
    def init(self, seed: int = 0) -> Any:
        """Initial parameters of the entry's module: a tree of f64 arrays, drawn from the module's initializers.

        A `uniform` keeps its bounds in the type that the realization stores the parameter in (E7004 where it can't).

        Where the entry takes several modules, {argument: tree}. E4022 where it takes none, E4001 where a module's sizes
        are free: give them as `dims`.
        """
        modules = self._signature.modules()
        if not modules:
            hint = f"it takes {', '.join(self.parameters)}" if self.parameters else None
            raise fail("E4022", f"`{self.entry.name}` takes no module, so there is nothing to draw", hint=hint)
        dims = {**self._signature.default_sizes, **dict(self.settings.dims)}
        drawn = {each.name: self._draw(each, self._signature.bound_module(each, dims), seed) for each in modules}
        return drawn if len(drawn) > 1 else drawn[modules[0].name]

    @within_memory
    @in_standard_mode
    def synthesize(self, /, *args: Any, seed: int = 0, **named: Any) -> dict[str, Any]:
        """A value for every data parameter: those given, defaults, modules as `init` draws them, the rest made up.

        Nats that are known when the entry is bound are among them where they are given.

        The rule is in docs/cli.md. E4001 where sizes are missing.
        """
        values, sizes, _ = self._specializer.enter(self.parameters, args, named)
        bound = self._specializer.bind(self._specializer.match(values, sizes))
        kinds = {each.name: each.type for each in bound.entry.parameters}
        made = {
            each.name: values[each.name] if each.name in values else self._made_up(each, kinds[each.name], seed)
            for each in self._signature.data
        } | sizes
        return {name: made[name] for name in self.parameters if name in made}

    @in_standard_mode
    def gap(
        self,
        /,
        *args: Any,
        bits: int | None = None,
        certify: bool = True,
        digits: int | None = None,
        max_bits: int | None = None,
        from_rounded: bool = False,
        sites: bool = False,
        seed: int = 0,
        step: int = 0,
        row_offset: int = 0,
        progress: Progress | None = None,
        **named: Any,
    ) -> Gap:
        """How far a call with these arguments is from the exact result: a `presk.Gap`.

        The reference works with proof radii, at as many bits as the gap needs: from 256 on, until its radius is at most
        a hundredth of the gap or a 2⁻⁸⁰th of the largest number, and `max_bits` (4096) at most. `bits` alone fixes
        them, `digits` asks for so many of the exact value besides (those of `compile` where nothing is given). Without
        `certify` it works on midpoints. It reads the numbers given, so rounding inputs counts; `from_rounded` reads
        them as the realization stores them. `sites` also measures what each site contributes, in one evaluation of the
        reference a site; `progress` is told how many are done. Errors as for a call; E6003 to E6008 where the exact
        result isn't defined or can't be certified, E9010 on the reference itself.
        """
        specializer = self._specializer
        values, sizes, _ = specializer.enter(self.parameters, args, named)
        specializer.require(values)
        made, fitted = specializer.specialize(values, sizes)
        draws = {"seed": seed, "step": step, "row_offset": row_offset}
        return measure_gap(
            specializer.backend,
            specializer.call(made, fitted, draws),
            precision=precision_asked(bits, digits, max_bits).or_else(self.settings.precision).of_a_gap(),
            certify=certify,
            from_rounded=from_rounded,
            sites=sites,
            program_hash=self.entry.program.hash,
            progress=progress,
        )

    @in_standard_mode
    def trace(
        self, /, *args: Any, seed: int = 0, step: int = 0, row_offset: int = 0, **named: Any
    ) -> dict[str, list[Any]]:
        """What every site holds in a call with these arguments, on this backend: `{"f/%3": [array, …]}`.

        A site is evaluated once for each call of its function and each round of the loops around it; its values stand
        in that order, a tuple's as tuples. Sites are in the order of their first evaluation. The bits are those of the
        call itself. Errors as for a call; the reference also refuses a site that isn't defined (E6003).
        """
        specializer = self._specializer
        values, sizes, _ = specializer.enter(self.parameters, args, named)
        specializer.require(values)
        made, fitted = specializer.specialize(values, sizes)
        draws = {"seed": seed, "step": step, "row_offset": row_offset}
        found: dict[str, list[Any]] = {}
        for site, value in observe(specializer.tracing(), specializer.call(made, fitted, draws))[1]:
            found.setdefault(site.key, []).append(value)
        return found

    def tell(self, listener: Callable[[str], None]) -> None:
        """Has notes on what is compiled, such as sums that may swamp, given to `listener` in place of a warning."""
        self._specializer.tell = listener

    @property
    def schedule(self) -> str:
        """What runs, as `presk dump --stage schedule` prints it: of the last specialization, or of the one at `dims`.

        As for `kernels` and `memory`: E4001 before a first call where `dims` leave sizes open, E9012 on the reference.
        """
        return listings.schedule_text(listings.schedule_of(self._latest().executable, "schedule"))

    @property
    def kernels(self) -> tuple[str, ...]:
        """The text of each kernel that runs, in the order of their first launches."""
        return listings.kernel_texts(listings.schedule_of(self._latest().executable, "kernels"))

    @property
    def memory(self) -> Memory:
        """Bytes of a call: known before it runs. Its `peak` is all of them."""
        return listings.memory_of(listings.executable_of(self._latest().executable, "arena"))

    @property
    def plan(self) -> Plan:
        """The plan that runs, every layout stated, to be kept and given back: of the last specialization, or at `dims`.

        `compile(…, plan=f.plan)` and a file that `f.plan.write` wrote run the same kernels. As for `schedule`: E4001
        before a first call where `dims` leave sizes open, E9012 on the reference.
        """
        return listings.plan_of(listings.executable_of(self._latest().executable, "plan"), self.settings.plan)

    def _latest(self) -> Specialization:
        return self._specializer.latest or self.specialize()

    def cache_info(self) -> CacheInfo:
        """Hits, misses and number of the specializations kept."""
        return self._specializer.cache_info()

    def __repr__(self) -> str:
        backend = self.settings.backend
        how = f"{backend}, {self._precision}" if backend == "interp" else f"{backend}, {self._realization}"
        return f"<presk.Compiled {self.entry.name} ({how})>"

    def _repr_html_(self) -> str:
        info = self.cache_info()
        return f"<code>{escape(repr(self))}</code> {info.currsize} specializations, {info.hits} hits"

    @property
    def _precision(self) -> str:
        precision = self.settings.precision.of_a_call()
        if not self.settings.certify:
            return f"{precision.bits} bits, not proven"
        return f"{precision.bits} bits" if precision.digits is None else f"{precision.digits} digits proven"

    @property
    def proof(self) -> Proof | None:
        """What the last call took on the reference: `bits`, `evaluations` and the `factor` of cost they had.

        None on a machine backend, before a first call, and without `certify`.
        """
        return getattr(self._specializer.backend, "proof", None)

    @property
    def _realization(self) -> str:
        return self.settings.realization.name

    def _made_up(self, parameter: DataParameter, of: Type, seed: int) -> Any:
        if parameter.default is not None:
            return default_value(parameter, self.settings.most_bits)
        if parameter.module is not None and isinstance(of, ModuleOf):
            return self._draw(parameter, of, seed)
        return synthesize(parameter.name, of, seed)

    def _draw(self, parameter: DataParameter, of: ModuleOf, seed: int) -> Any:
        """Initial parameters of one of the entry's modules; paths begin with its name unless it is the first."""
        first = self._signature.modules()[0].name == parameter.name
        prefix = () if first else (parameter.name,)
        return draw_parameters(of, self._signature.initializers(of), seed, prefix, self._at_rest)

    def _at_rest(self, leaf: Leaf) -> str:
        """What a parameter is stored in here: the reference reads the f64 that are drawn."""
        if self.settings.backend == "interp":
            return "f64"
        return type_at_rest(self.settings.realization, leaf.path, bool(leaf.type.axes or leaf.layers))


class Bound:
    """A Compiled with its first arguments fixed. Made by `Compiled.bind`; called with the others."""

    def __init__(self, specializer: Specializer, leading: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
        self._specializer = specializer
        self._leading = dict(leading)
        self._sizes = dict(sizes)
        self._rest = [name for name in specializer.signature.names if name not in self._leading | self._sizes]
        self._executables: OrderedDict[Specialization, Executable] = OrderedDict()
        self._by_shape: OrderedDict[Hashable, Executable] = OrderedDict()
        self._recent = Recent(specializer.plain_count(self._rest))
        self._latest: Executable | None = None

    def __call__(self, /, *args: Any, seed: int = 0, step: int = 0, row_offset: int = 0, **named: Any) -> Any:
        """The entry's value on the remaining arguments; errors as for a call of the Compiled."""
        if not named:
            result = self._recent.run(args, seed, step, row_offset)
            if result is not None:
                return result
        return self._converted(args, named, seed, step, row_offset)

    @within_memory
    @in_standard_mode
    def _converted(self, args: tuple[Any, ...], named: dict[str, Any], seed: int, step: int, row_offset: int) -> Any:
        """A call whose arguments are to be converted, or that meets its shapes for the first time."""
        specializer = self._specializer
        values, sizes, give = specializer.enter(self._rest, args, named)
        key = shapes_of(values, sizes)
        executable = self._by_shape.get(key)
        if executable is None:
            specializer.require({**self._leading, **values})
            executable = _keep(self._by_shape, key, self._executable(values, sizes))
        self._latest = executable
        self._recent.note(executable)
        others = specializer.complete(values, bound=len(self._leading))
        result = executable(*others, seed=seed, step=step, row_offset=row_offset)
        return result if give is None else trees.map_leaves(result, give)

    @property
    def schedule(self) -> str:
        """What a call runs, as `Compiled.schedule` prints it: of the last call, or at `dims` before the first.

        What only packs bound parameters was run when these were bound, and isn't in it. As for `kernels` and `memory`:
        E4001 before a first call where `dims` leave sizes open, E9012 on the reference.
        """
        return listings.schedule_text(listings.schedule_of(self._ran(), "schedule"))

    @property
    def kernels(self) -> tuple[str, ...]:
        """The text of each kernel that a call runs, in the order of their first launches."""
        return listings.kernel_texts(listings.schedule_of(self._ran(), "kernels"))

    @property
    def memory(self) -> Memory:
        """Bytes of a call, those that are held for the bound parameters included. Its `peak` is all of them."""
        return listings.memory_of(listings.executable_of(self._ran(), "arena"))

    def _ran(self) -> Executable:
        return self._recent.first or self._latest or self._executable({}, {})

    def _executable(self, values: Mapping[str, Any], sizes: Mapping[str, int]) -> Executable:
        """What runs these values behind the bound ones, which it holds converted."""
        together = {**self._leading, **values}
        made, _ = self._specializer.specialize(together, {**self._sizes, **sizes})
        known = self._executables.get(made)
        return known or _keep(self._executables, made, made.executable.bind(**self._leading))

    def __repr__(self) -> str:
        return f"<presk.Bound {self._specializer.entry.name} with {', '.join(self._leading)}>"


Key = TypeVar("Key", bound=Hashable)


def _keep(table: OrderedDict[Key, Executable], key: Key, executable: Executable) -> Executable:
    """The executable kept under the key, the oldest going first."""
    table[key] = executable
    while len(table) > KEPT:
        table.popitem(last=False)
    return executable


def compile(
    entry: Entry | str,
    *,
    realize: str | Realization = "f32",
    backend: str | None = None,
    plan: str | Plan = "auto",
    bits: int | None = None,
    certify: bool = True,
    digits: int | None = None,
    max_bits: int | None = None,
    dims: Mapping[str, int] | None = None,
    threads: int | None = None,
    training: bool = False,
) -> Compiled:
    """An entry ready to be called.

    `entry` is `program["f"]` or `"path.psk:f"`. `realize` is the machine numbers: a Realization, `f64`, `f32`, `bf16`,
    `f64+fma`, `f32+fma`, or `@FILE`; `plan` the loops: a Plan, `auto`, `default` or `@FILE`. The exact reference reads
    neither: it computes with real numbers and proves `digits` decimal digits of each (15), taking the bits that these
    need, from 256 on and `max_bits` (4096) at most; `bits` alone fixes them, beside `digits` it is where they begin.
    Without `certify` it works on midpoints and proves nothing. `backend` is `interp`, `kernel` or `native`; without one
    it is `native`, the fastest. `dims` gives sizes that can't be read off the arguments. `threads` is the number of
    workers (the reference has one); `training` turns dropout on. Raises PreskError.
    """
    settings = Settings(
        realize if isinstance(realize, Realization) else read_realization(realize),
        plan if isinstance(plan, Plan) else read_plan(plan),
        registry.fastest() if backend is None else text("backend", backend),
        precision_asked(bits, digits, max_bits),
        certify,
        tuple(sorted((name, whole_number(name, size)) for name, size in table("dims", dims).items())),
        None if threads is None else workers(threads),
        training,
    )
    return Compiled(find_entry(entry), settings)


def precision_asked(bits: int | None, digits: int | None, max_bits: int | None) -> Asked:
    """The reference's precision as it is asked for. E6012 and E6014 where that can't be."""
    given = (("bits", bits), ("digits", digits), ("max_bits", max_bits))
    asked = Asked(*(None if value is None else whole_number(name, value) for name, value in given))
    asked.of_a_call()
    return asked


def workers(threads: int) -> int:
    """A number of threads. E9007 for one that no pool has."""
    count = whole_number("threads", threads)
    return require_threads(count, f"{count} threads were asked for")
