"""What a recording is told and where it stands:

the realization's and plan's choices, and one function being followed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from presk.core.groups import BodyGroups
from presk.core.nodes import Function, Let
from presk.kernel.lowered import Layout, Machine, SiteChoice
from presk.kernel.nodes import Element
from presk.run.record.handles import Handle
from presk.shapes.types import Tensor


@dataclass(frozen=True)
class Choices:
    """What a realization and a plan say, as functions of the place.

    `site` and `layout` take a function's name and a let. `parameter` takes a leaf's path and gives its element at
    rest and, where it is quantised, how many of its leading axes are layers: the element's scales count the axes
    behind them. `machine` is what the plan `auto` lays nests out for; under another plan there is none. `fuses` says
    whether sweeps over the same elements become one launch.
    """

    name: str
    default: str
    site: Callable[[str, Let], SiteChoice]
    layout: Callable[[str, Let], Layout]
    parameter: Callable[[str, Tensor], tuple[Element, int]]
    machine: Machine | None = None
    fuses: bool = False


@dataclass
class Frame:
    """One function being followed: its values, and where a draw in it stands."""

    function: Function
    bodies: dict[int | None, BodyGroups]
    path: tuple[str, ...]
    values: dict[int, Handle] = field(default_factory=dict[int, Handle])
