"""What a realization and a plan are, and their short names.

A realization says in which machine numbers an entry is computed: it changes bits. A plan says in which loops, lanes and
threads: it changes none. Pure data. Here are the uniform realizations and the plans that are rules; files of either are
refused by name until a backend reads them, never passed over. Called by the seam, the Python API and the command line.
"""

from __future__ import annotations

from dataclasses import dataclass

from presk.text.diagnostics import did_you_mean, fail

FLOAT_TYPES = ("f64", "f32", "bf16")

NAMES = (*FLOAT_TYPES, "f64+fma", "f32+fma")
"""The realizations that have a short name."""

RULES = ("auto", "default")
"""The plans that have a name."""


@dataclass(frozen=True, slots=True)
class Realization:
    """One type for every site: `f64`, `f32` or `bf16`.

    `fma` makes every multiply-add of a contraction one operation.
    """

    default: str = "f32"
    fma: bool = False

    @property
    def name(self) -> str:
        """Its short name, such as `f32+fma`."""
        return f"{self.default}+fma" if self.fma else self.default


@dataclass(frozen=True, slots=True)
class Plan:
    """How nests are laid out: `auto`, a rule over shapes and caches, or `default`, the plain loops."""

    rule: str = "auto"


def read_realization(text: str) -> Realization:
    """The realization of this short name. E7001 for an unknown one, E9003 for a file."""
    if text.startswith("@"):
        raise fail("E9003", f"no backend reads a realization from a file yet, as `{text}` asks", hint=_choices(NAMES))
    if text not in NAMES:
        raise fail("E7001", f"`{text}` is no realization", hint=did_you_mean(text, NAMES) or _choices(NAMES))
    return Realization(text.removesuffix("+fma"), text.endswith("+fma"))


def read_plan(text: str) -> Plan:
    """The plan of this name. E7001 for an unknown one, E9003 for a file."""
    if text.startswith("@"):
        raise fail("E9003", f"no backend reads a plan from a file yet, as `{text}` asks", hint=_choices(RULES))
    if text not in RULES:
        raise fail("E7001", f"`{text}` is no plan", hint=did_you_mean(text, RULES) or _choices(RULES))
    return Plan(text)


def _choices(names: tuple[str, ...]) -> str:
    return f"there are {', '.join(f'`{name}`' for name in names[:-1])} and `{names[-1]}`"
