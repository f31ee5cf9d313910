"""A realization and a plan as the recorder asks them: what each site, nest and parameter is.

Keys are resolved once against the entry's Core (`realization.resolve`); what the recorder then asks are look-ups.
Called by whoever records a schedule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from presk.core.nodes import Apply, Let, Program
from presk.kernel.lower.contraction import LABELS
from presk.kernel.lowered import Layout, Machine, SiteChoice, Split
from presk.kernel.nodes import Element, ElementKind
from presk.realization.mixed import expanded
from presk.realization.model import Plan, Realization
from presk.realization.parameters import leaves_of
from presk.realization.resolve import LeafNumbers, SiteNumbers, resolve
from presk.realization.rest import sites_at_rest
from presk.run.record.frame import Choices
from presk.shapes.types import Tensor

ARITHMETIC = {"f64": "f64", "f32": "f32", "bf16": "f32"}
"""The type that values of a storage type are computed in; scalars are stored in it."""

FLOATS = {"f64": Element("f64"), "f32": Element("f32"), "bf16": Element("bf16")}

IN_ONE_LANE = Layout(lanes=1)
"""How the plan `scalar` lays out a contraction; nests of other kinds have no lanes of their own."""

INTEGERS: Mapping[str, ElementKind] = {"int8": "int8", "int4": "int4"}
"""The types of quantised parameters."""


def choices(
    realization: Realization,
    plan: Plan,
    program: Program,
    machine: Machine | None = None,
    donate: Sequence[int] = (),
) -> Choices:
    """What a realization and a plan say of an entry's simplified Core. `machine` is what the plan `auto` looks at.

    `donate` are the arguments whose types at rest the results keep (`realization.rest`). What an adjoint computes again
    and can't in the nests that read it is stored in the arithmetic type. Raises PreskError E7002 where they name what
    the entry hasn't, or were written for another one.
    """
    realization = expanded(realization, program)
    resolved = resolve(realization, plan, program)
    sites = {place: _site(said, realization.fma) for place, said in resolved.sites.items()}
    layouts = {place: _layout(said) for place, said in resolved.layouts.items()}
    elements = {path: _resting(said) for path, said in resolved.parameters.items()}
    rest = {path: element.kind for path, (element, _) in elements.items()}
    for leaf in leaves_of(program) if donate else ():
        if leaf.tensor.axes or leaf.layers:  # single numbers rest in the arithmetic type, as they are computed
            rest.setdefault(leaf.full, realization.default)
    for place, kind in sites_at_rest(realization, program, donate, rest).items():
        said = resolved.sites.get(place, resolved.others)
        sites[place] = _site(replace(said, storage=kind), realization.fma)
    other_sites, one_lane = _site(resolved.others, realization.fma), plan.rule == "scalar"
    again = replace(other_sites, storage=ARITHMETIC[other_sites.storage])

    def site(function: str, let: Let) -> SiteChoice:
        return sites.get((function, let.number), again if let.again else other_sites)

    def nest(function: str, let: Let) -> Layout:
        return layouts.get((function, let.number)) or (IN_ONE_LANE if one_lane and is_product(let) else Layout())

    def parameter(path: str, tensor: Tensor) -> tuple[Element, int]:
        return elements.get(path) or (resting(realization.default, tensor), 0)

    rule = (machine or Machine()) if plan.rule == "auto" else None
    return Choices(realization.name, realization.default, site, nest, parameter, rule, rule is not None or plan.fuse)


def stated_bound(tensor: Tensor) -> int | None:
    """The bound of nats as an element states it: of those below 0, which are none, at least 1."""
    bound = None if tensor.bound is None else tensor.bound.whole
    return None if bound is None else max(bound, 1)


def resting(default: str, tensor: Tensor) -> Element:
    """How an argument's tensor is stored: reals in the default type, scalars in its arithmetic type."""
    match tensor.kind:
        case "bool":
            return Element("bool")
        case "nat":
            return Element("i64", stated_bound(tensor))
        case _:
            return FLOATS[default if tensor.axes else ARITHMETIC[default]]


def is_product(let: Let) -> bool:
    """Whether the let is a contraction, the kind of nest that has lanes."""
    return isinstance(let.value, Apply) and let.value.primitive in LABELS


def _site(said: SiteNumbers, fma: bool) -> SiteChoice:
    if said.is_rounded:
        return SiteChoice("bf16", said.partials, fma, said.accumulate, ARITHMETIC[said.storage])
    return SiteChoice(said.storage, said.partials, fma, said.accumulate)


def _layout(said: Mapping[str, Any]) -> Layout:
    """A nest's choices, as its plan's JSON states them."""
    stated = dict(said)
    split = stated.get("split", "none")
    if not isinstance(split, str):
        stated["split"] = Split(split["depth"], split.get("workers"))
    return Layout(**stated)


def _resting(said: LeafNumbers) -> tuple[Element, int]:
    """A parameter's element at rest, and how many of its leading axes are layers where it is quantised."""
    if said.axis is None:
        return FLOATS[said.type], 0
    return Element(INTEGERS[said.type], scales=(said.axis, said.axis + 1)), said.leaf.layers
