"""A realization and a plan as the recorder asks them: what each site, nest and parameter is."""

from __future__ import annotations

from presk.core.nodes import Let
from presk.kernel.lowered import Layout, SiteChoice
from presk.kernel.nodes import Element
from presk.realization.model import Plan, Realization
from presk.run.record.frame import Choices
from presk.shapes.types import Tensor

ARITHMETIC = {"f64": "f64", "f32": "f32", "bf16": "f32"}
"""The type that values of a storage type are computed in; scalars are stored in it."""

FLOATS = {"f64": Element("f64"), "f32": Element("f32"), "bf16": Element("bf16")}


def choices(realization: Realization, plan: Plan) -> Choices:
    """What a realization and a plan say of an entry."""
    choice = SiteChoice(realization.default, fma=realization.fma)
    layout = Layout()

    def site(function: str, let: Let) -> SiteChoice:
        return choice

    def nest(function: str, let: Let) -> Layout:
        return layout

    def parameter(path: str, tensor: Tensor) -> tuple[Element, int]:
        return resting(realization.default, tensor), 0

    return Choices(realization.name, realization.default, site, nest, parameter)


def resting(default: str, tensor: Tensor) -> Element:
    """How an argument's tensor is stored: reals in the default type, scalars in its arithmetic type."""
    match tensor.kind:
        case "bool":
            return Element("bool")
        case "nat":
            return Element("i64", None if tensor.bound is None else tensor.bound.whole)
        case _:
            return FLOATS[default if tensor.axes else ARITHMETIC[default]]
