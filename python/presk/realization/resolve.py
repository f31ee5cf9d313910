"""A realization and a plan held against an entry: every key becomes sites and parameters of its Core, or E7002.

A key is a site by number or name, a function's bare name meaning every instantiation; a key that names one of these
goes before one that means all. What is decided here are the conditions that need no kernels: 1, a site or parameter the
entry hasn't; 5, workers that aren't the machine's; 9, an order for a site without sums; 10, a file written for another
entry, Core or realization. The rest is lowering's. Called by `run.record.choices`, and by what runs natively.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from presk.core.groups import Group, partition
from presk.core.hash import core_hash
from presk.core.names import bare
from presk.core.nodes import Apply, Let, Program
from presk.core.printer import bodies
from presk.core.sites import NoSite, Site, find_sites, sites
from presk.realization.mixed import expanded
from presk.realization.model import Plan, Realization
from presk.realization.parameters import Leaf, leaves_of
from presk.text.cursor import shown
from presk.text.diagnostics import PreskError, did_you_mean, fail

SUMMED = frozenset(
    "dot matmul ein dot_vjp_l dot_vjp_r sum mean total softmax log_softmax logsumexp cross_entropy".split()
)
"""Primitives whose sums have an order to be chosen; a scatter's, cumsum's and product's is fixed."""

Place = tuple[str, int]
"""A function's name and the number of a let."""

Said = TypeVar("Said")


@dataclass(frozen=True, slots=True)
class SiteNumbers:
    """What is said of one site. `partials` None: in sequence; `accumulate` None: in the storage's arithmetic type.

    `is_rounded`: its result alone is rounded to bf16, whatever the storage is otherwise.
    """

    storage: str
    partials: int | None
    accumulate: str | None
    is_rounded: bool = False


@dataclass(frozen=True, slots=True)
class LeafNumbers:
    """What is said of one parameter: `type` is a float type, or an integer type whose scales go along `axis`."""

    leaf: Leaf
    type: str
    axis: int | None = None


@dataclass(frozen=True, slots=True)
class Resolved:
    """A realization's and a plan's choices by place and by the parameter's full path; what isn't there isn't said."""

    sites: Mapping[Place, SiteNumbers]
    layouts: Mapping[Place, Mapping[str, Any]]
    parameters: Mapping[str, LeafNumbers]
    others: SiteNumbers


def resolve(realization: Realization, plan: Plan, program: Program) -> Resolved:
    """The choices for an entry's simplified Core. Raises PreskError E7002, naming the key and the condition."""
    realization = expanded(realization, program)
    for_primal = _require_written_for(realization, program, "the realization")
    plan_for_primal = _require_written_for(plan, program, "the plan")
    if plan.realization is not None and plan.realization != realization.name:
        made = f"the plan was made for the realization `{shown(plan.realization)}`"
        raise _refused(10, f"{made}, and this one is `{realization.name}`", "a plan's kernels depend on their types")
    order = realization.order
    all_partials = _partials(order) if "kind" in order else None
    others = SiteNumbers(realization.default, all_partials, None)
    known = sites(program) if _speaks_of_sites(realization, plan) else ()
    storage = _by_site(known, realization.storage, "storage", for_primal)
    rounded = _by_site(known, realization.round, "round", for_primal)
    accumulate = _by_site(known, realization.accum, "accum", for_primal)
    orders = {} if "kind" in order else _by_site(known, order, "order", for_primal)
    _require_sums(program, orders)
    said = {
        place: SiteNumbers(
            storage.get(place, realization.default),
            _partials(orders[place]) if place in orders else all_partials,
            accumulate.get(place),
            place in rounded,
        )
        for place in (*storage, *rounded, *accumulate, *orders)
    }
    layouts = _by_site(known, plan.layout, "layout", plan_for_primal)
    return Resolved(said, layouts, _parameters(realization, program), others)


def within(realization: Realization, plan: Plan, program: Program) -> tuple[Realization, Plan]:
    """What of a realization and a plan speaks of a part of the program they were made for, which runs by itself.

    A step's are no mistake about the optimizer's `init` or the objective where they speak of sites neither has. It is
    for whoever resolves them against the whole as well: what no part has is an error there.
    """
    known = sites(program) if _speaks_of_sites(realization, plan) else ()
    names = {leaf.name for leaf in leaves_of(program)}

    def of_sites(stated: Mapping[str, Said]) -> dict[str, Said]:
        return {key: value for key, value in stated.items() if _is_there(known, key)}

    def of_parameters(stated: Mapping[str, Said]) -> dict[str, Said]:
        return {name: value for name, value in stated.items() if name in names}

    order = realization.order
    part = replace(
        realization,
        storage=of_sites(realization.storage),
        round=of_sites(realization.round),
        accum=of_sites(realization.accum),
        order=order if "kind" in order else of_sites(order),
        params=of_parameters(realization.params),
        quant=of_parameters(realization.quant),
        entry=None,
        core=None,
    )
    if plan.rule != "default":
        return part, plan
    return part, replace(plan, layout=of_sites(plan.layout), realization=None, entry=None, core=None)


def _speaks_of_sites(realization: Realization, plan: Plan) -> bool:
    has_orders = bool(realization.order) and "kind" not in realization.order
    return bool(realization.storage or realization.round or realization.accum or plan.layout) or has_orders


def _is_there(known: tuple[Site, ...], key: str) -> bool:
    try:
        find_sites(known, key)
    except NoSite:
        return False
    return True


def require_workers(plan: Plan, machine: int) -> None:
    """E7002 (condition 5) where a split states other workers than the machine's count or half of it, rounded down."""
    for key, layout in plan.layout.items():
        split = layout.get("split", "none")
        workers = None if isinstance(split, str) else split.get("workers")
        if workers is not None and workers not in (machine, machine // 2):
            half = f" or {machine // 2}" if machine > 1 else ""
            sentence = f"`{shown(key)}`: the split is over {workers} workers, and this machine runs {machine}"
            raise _refused(5, sentence, f"state {machine}{half}, leave `workers` out, or run with --threads {workers}")


def _refused(condition: int, sentence: str, hint: str | None = None) -> PreskError:
    return fail("E7002", f"{sentence} (condition {condition})", hint=hint)


def _require_written_for(made: Realization | Plan, program: Program, what: str) -> bool:
    """Condition 10: the entry and the Core it states are these, or of a function whose derivative is taken here.

    Gives whether it is the latter: then it may speak of sites that the derivative doesn't need.
    """
    name = program.entry.name
    primals = [each.primal for each in program.functions if each.primal is not None and each.primal.core is not None]
    of = {"".join(each.name.split()): each.core for each in primals}
    entry = None if made.entry is None else "".join(made.entry.split())
    for_primal = entry in of if entry is not None else made.core in of.values() and made.core is not None
    if entry is not None and not for_primal and entry != "".join(name.split()):
        raise _refused(10, f"{what} was written for the entry `{shown(made.entry or '')}`, and this is `{name}`")
    if made.core is not None and made.core not in of.values() and made.core != core_hash(program):
        hint = "the program or its sizes have changed since: choose again, or remove `core` to vouch for its sites"
        raise _refused(10, f"{what} was written for another Core of `{name}`", hint)
    return for_primal


def _by_site(known: tuple[Site, ...], stated: Mapping[str, Said], what: str, for_primal: bool) -> dict[Place, Said]:
    """What is stated of each site, keys of one instantiation before those of all.

    `for_primal`: the file was written for a function whose derivative is taken; what isn't computed then is left out.
    """
    found: dict[Place, tuple[int, str, Said]] = {}
    for key, value in stated.items():
        try:
            meant = find_sites(known, key)
        except NoSite as error:
            if for_primal:
                continue
            raise _refused(1, f"`{what}`: {error.message}", error.hint) from None
        function = key.rpartition("/")[0]
        is_one = bare(function) != function
        for site in meant:
            # A forward half's own name is narrower than its function's, which means both.
            rank = is_one + 2 * (site.function == function != site.named)
            before = found.get((site.function, site.number))
            if before is not None and before[0] == rank and before[2] != value:
                sentence = f"`{what}` says two things of one site, as `{shown(before[1])}` and as `{shown(key)}`"
                raise fail("E7001", sentence)
            if before is None or rank >= before[0]:
                found[site.function, site.number] = (rank, key, value)
    return {place: value for place, (_, _, value) in found.items()}


def _partials(order: Mapping[str, Any]) -> int | None:
    """The number of partial sums; None where terms are added in sequence, blocked or not."""
    partials = order.get("partials")
    return partials if isinstance(partials, int) and partials > 1 else None


def _require_sums(program: Program, orders: Mapping[Place, object]) -> None:
    """Condition 9: an order is stated where there is something to be added in it."""
    for function in program.functions:
        if not any(name == function.name for name, _ in orders):
            continue
        lets = {let.number: let for body in bodies(function.body) for let in body.lets}
        for group in partition(function).groups:
            if (function.name, group.root) in orders and not _has_sums(group, lets):
                sentence = f"`order`: `{function.name}/%{group.root}` has no sum whose order could be chosen"
                raise _refused(9, sentence, "contractions, sums and means have one")


def _has_sums(group: Group, lets: Mapping[int, Let]) -> bool:
    values = (lets[member.number].value for member in group.members)
    return any(isinstance(value, Apply) and value.primitive in SUMMED for value in values)


def _parameters(realization: Realization, program: Program) -> dict[str, LeafNumbers]:
    """What is said of parameters, by full path."""
    found: dict[str, LeafNumbers] = {}
    if not realization.params and not realization.quant:
        return found
    leaves = leaves_of(program)
    for name, kind in realization.params.items():
        for leaf in _named(leaves, name, "params"):
            if kind == "bf16" and not leaf.tensor.axes and not leaf.layers:
                sentence = f"`params`: `{shown(name)}` is a single number, which is held in its arithmetic type"
                raise _refused(9, sentence, "tensors are stored in bf16")
            found[leaf.full] = LeafNumbers(leaf, kind)
    for name, quant in realization.quant.items():
        for leaf in _named(leaves, name, "quant"):
            rank = len(leaf.tensor.axes)
            if quant["axis"] >= rank:
                axes = f"{rank} {'axis' if rank == 1 else 'axes'}" if rank else "no axes"
                layer = " in a layer" if leaf.layers else ""
                sentence = f"`quant`: `{shown(name)}` has {axes}{layer}, and no axis {quant['axis']}"
                raise _refused(1, sentence, "axes count from 0, layers aside")
            found[leaf.full] = LeafNumbers(leaf, quant["type"], quant["axis"])
    return found


def _named(leaves: tuple[Leaf, ...], name: str, what: str) -> list[Leaf]:
    """The real tensors of this name, at least one."""
    found = [leaf for leaf in leaves if leaf.name == name]
    if not found:
        hint = did_you_mean(name, [leaf.name for leaf in leaves]) or "a path leaves out the argument and layer indices"
        raise _refused(1, f"`{what}`: the entry has no parameter `{shown(name)}`", hint)
    strange = next((leaf for leaf in found if leaf.tensor.kind != "real"), None)
    if strange is not None:
        raise _refused(1, f"`{what}`: `{shown(name)}` is {strange.tensor.kind}, not real")
    return found
