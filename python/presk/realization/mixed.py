"""The realization `bf16/f32`: what is usually meant by training in bf16, decided by dataflow on Core and by no name.

In f32 are

- parameters and moments at rest: the leaves of modules' trees, wherever they stand in an argument, and the sites that
  make such leaves of the entry's result;
- what depends on no parameter and no real input: positions, angles, frequencies;
- row reductions that feed a quotient, a root or a logarithm;
- what reaches a single real result through sums, means and single numbers alone: losses;
- adjoints of what a derivative is taken by, and what maps over whole trees compute: norms, clipping, updates;
- single numbers, and sites of nats and booleans, whose operands are left as they are.

Every other site is rounded to bf16, its operands left as they are (`round`). `expanded` writes that out site by site.
Called wherever a realization meets an entry's Core.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from presk.core.flow import Flow, Node, flow_of
from presk.core.names import bare
from presk.core.nodes import Call, Function, Program
from presk.core.roles import Role
from presk.core.sites import NoSite, Site, find_sites, known_as, sites
from presk.realization.frozen import FrozenMap
from presk.realization.model import MIXED, Realization
from presk.realization.parameters import Leaf, leaves_of
from presk.shapes.types import ModuleOf, Stacked, Tensor, Type, fields_of

SUMS = frozenset(("sum", "mean", "total"))
"""What a loss may come to its one number by."""

SENSITIVE = frozenset("div recip sqrt rsqrt log log1p".split())
"""Quotients, roots and logarithms."""

PASSED = (Role.ELEMENTWISE, Role.MAP)
"""What a row reduction's number is followed through."""

GATHERED = frozenset("add concat stack unstack pad".split())
"""What puts the parts of a parameter's adjoint together; maps do too."""


def expanded(realization: Realization, program: Program) -> Realization:
    """The realization written out for an entry's simplified Core; itself where it isn't `bf16/f32`.

    What it states of sites and parameters goes before what is decided here.
    """
    if realization.default != MIXED:
        return realization
    known = sites(program)
    wide = _joined(known, _wide(program))
    stated = stated_places(realization, known)
    others = [site for site in known if (site.function, site.number) not in stated]
    storage = {site.key: "f32" for site in others if (site.function, site.number) in wide}
    rounded = {site.key: "bf16" for site in others if site.key not in storage}
    parameters = {leaf.name: "f32" for leaf in _module_leaves(program) if leaf.name not in realization.quant}
    return replace(
        realization,
        default="bf16",
        storage=FrozenMap(storage | dict(realization.storage)),
        round=FrozenMap(rounded | dict(realization.round)),
        params=FrozenMap(parameters | dict(realization.params)),
    )


def stated_places(realization: Realization, known: Sequence[Site]) -> set[tuple[str, int]]:
    """The sites whose type or rounding is stated; keys that mean none are refused elsewhere."""
    found: set[tuple[str, int]] = set()
    for key in (*realization.storage, *realization.round):
        with suppress(NoSite):
            found.update((site.function, site.number) for site in find_sites(known, key))
    return found


def _joined(known: tuple[Site, ...], wide: set[tuple[str, int]]) -> set[tuple[str, int]]:
    """The wide sites, and those that a wide one's key means too: of halves of one function, of its instantiations."""
    keys = {site.key for site in known if (site.function, site.number) in wide}
    names = {site.named for site in known}

    def is_meant(site: Site) -> bool:
        plain = bare(site.named)
        return site.key in keys or (plain in names and f"{plain}/%{site.number}" in keys)

    return {(site.function, site.number) for site in known if is_meant(site)}


def _wide(program: Program) -> set[tuple[str, int]]:
    """The lets whose values are in f32, as a function's name and a number each."""
    flow = flow_of(program)
    varying = flow.ahead(_real_inputs(program))
    ends = [*_adjoints(program, flow), *_kept(program, flow)]
    chosen = _feeding(flow, varying) | _losses(program, flow) | flow.back(ends, lambda node: _gathered(flow, node))
    wide = {node[:2] for node in chosen} | flow.mapped
    changing = {node[:2] for node in varying}
    for place, let in flow.applied.items():
        is_single = isinstance(let.type, Tensor) and (not let.type.axes or let.type.kind != "real")
        if is_single or let.again or place not in changing:
            wide.add(place)
    return wide


def _real_inputs(program: Program) -> Iterator[Node]:
    entry = program.entry
    for parameter, leaf in _arguments(program):
        if leaf.tensor.kind == "real":
            yield entry.name, parameter, leaf.path[1:]


def _arguments(program: Program) -> Iterator[tuple[int, Leaf]]:
    """The leaves of an entry's arguments, each with its argument's number."""
    numbers = {each.name or f"%{each.number}": each.number for each in program.entry.parameters}
    for leaf in leaves_of(program):
        yield numbers[leaf.path[0]], leaf


def _feeding(flow: Flow, varying: set[Node]) -> set[Node]:
    """Row reductions, and numbers made of these alone, that feed a quotient, a root or a logarithm."""
    ends = [part for node in flow.made_of if _primitive(flow, node) in SENSITIVE for part in flow.made_of[node]]
    fed = flow.back(ends, lambda node: flow.made_of[node] if flow.role(node) in PASSED else ())
    reduced = [node for node in flow.made_of if flow.role(node) is Role.REDUCTION and flow.tensors[node].kind == "real"]
    rows, before = set(reduced), 0
    while len(rows) > before:
        before = len(rows)
        rows.update(node for node, parts in flow.made_of.items() if _is_of_rows(flow, node, parts, rows, varying))
    return fed & rows & varying


def _is_of_rows(flow: Flow, node: Node, parts: Iterable[Node], rows: set[Node], varying: set[Node]) -> bool:
    """Whether a value is made of row reductions' numbers, at least one, of constants and of single numbers alone."""
    if flow.role(node) not in (None, *PASSED):
        return False
    tensors = [part for part in parts if part in rows or (part in varying and flow.tensors[part].axes)]
    return bool(tensors) and all(part in rows for part in tensors)


def _losses(program: Program, flow: Flow) -> set[Node]:
    """What reaches a single real result through sums, means and single numbers alone."""
    results = flow.results[program.entry.name].values()
    ends = [node for node in results if flow.tensors[node].kind == "real" and not flow.tensors[node].axes]

    def through(node: Node) -> Iterable[Node]:
        if _primitive(flow, node) in SUMS:
            return flow.made_of[node]
        is_single = not flow.tensors[node].axes and flow.role(node) in PASSED
        return [part for part in flow.made_of[node] if not flow.tensors[part].axes] if is_single else ()

    return flow.back(ends, through)


def _gathered(flow: Flow, node: Node) -> Iterable[Node]:
    """The parts that an adjoint or a kept leaf is put together of."""
    is_passed = flow.role(node) is Role.MAP or _primitive(flow, node) in GATHERED
    return flow.made_of[node] if is_passed else ()


def _adjoints(program: Program, flow: Flow) -> Iterator[Node]:
    """The results of derivatives but for the value: what the function itself, or its forward half, gives."""
    for function in program.functions:
        if function.primal is None or function.primal.core is None:
            continue
        values = set(_values_of(program, function))
        for node in flow.results[function.name].values():
            met = flow.back((node,), lambda _: ())
            if not any(each[0] == function.name and each[1] in values for each in met):
                yield node


def _values_of(program: Program, derivative: Function) -> Iterator[int]:
    """The lets of a derivative that call the function it is of, or its forward half."""
    primal = derivative.primal
    assert primal is not None, "a derivative has a primal"
    names = {each.name for each in program.functions if known_as(each) == primal.name} - {derivative.name}
    for let in derivative.body.lets:
        if isinstance(let.value, Call) and let.value.function in names:
            yield let.number


def _kept(program: Program, flow: Flow) -> Iterator[Node]:
    """The leaves of modules' trees in the entry's result: what rests until the next call."""
    inside = set(_paths_of_modules(program.entry.result, ()))
    for path, node in flow.results[program.entry.name].items():
        if any(path[: len(each)] == each for each in inside):
            yield node


def _module_leaves(program: Program) -> Iterator[Leaf]:
    """The real leaves of modules' trees in an entry's arguments."""
    for parameter, (_, leaves) in zip(program.entry.parameters, _by_argument(program), strict=True):
        inside = set(_paths_of_modules(parameter.type, ()))
        for leaf in leaves:
            is_inside = any(leaf.path[1 : 1 + len(each)] == each for each in inside)
            if is_inside and leaf.tensor.kind == "real":
                yield leaf


def _by_argument(program: Program) -> list[tuple[int, list[Leaf]]]:
    found: dict[int, list[Leaf]] = {each.number: [] for each in program.entry.parameters}
    for number, leaf in _arguments(program):
        found[number].append(leaf)
    return list(found.items())


def _paths_of_modules(of: Type, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The paths of the outermost modules' trees in a type, stacked ones included."""
    element = of
    while isinstance(element, Stacked):
        element = element.element
    if isinstance(element, ModuleOf):
        yield path
        return
    for name, each in fields_of(of) or ():
        yield from _paths_of_modules(each, (*path, name))


def _primitive(flow: Flow, node: Node) -> str | None:
    apply = flow.apply(node)
    return None if apply is None else apply.primitive
