"""presk: programs over the exact real numbers, and their machine realizations with measured gaps.

A program is loaded (`presk.load`), an entry of it compiled (`presk.compile`) and called on NumPy arrays. Each public
name is loaded on its first use, so that `import presk` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from presk.api.compiled import Bound as Bound
    from presk.api.compiled import Compiled as Compiled
    from presk.api.compiled import compile as compile
    from presk.api.derivatives import grad as grad
    from presk.api.derivatives import value_and_grad as value_and_grad
    from presk.api.derivatives import vjp as vjp
    from presk.api.files import load_file as load_file
    from presk.api.files import save_file as save_file
    from presk.api.generate import Generation as Generation
    from presk.api.generate import generate as generate
    from presk.api.program import Entry as Entry
    from presk.api.program import Program as Program
    from presk.api.program import load as load
    from presk.api.program import loads as loads
    from presk.api.training import Run as Run
    from presk.api.training import train as train
    from presk.choose.gap import Gap as Gap
    from presk.exact.values import ExactArray as ExactArray
    from presk.realization.model import Plan as Plan
    from presk.realization.model import Realization as Realization
    from presk.realization.quantized import Quantized as Quantized
    from presk.text.diagnostics import Diagnostic as Diagnostic
    from presk.text.diagnostics import InternalError as InternalError
    from presk.text.diagnostics import PreskError as PreskError
    from presk.train.events import Measurement as Measurement
    from presk.train.events import Remark as Remark
    from presk.train.events import Step as Step
    from presk.train.preparation import Preparation as Preparation

__version__ = "0.1.0"

_HOMES = {
    "Bound": "presk.api.compiled",
    "Compiled": "presk.api.compiled",
    "Diagnostic": "presk.text.diagnostics",
    "Entry": "presk.api.program",
    "ExactArray": "presk.exact.values",
    "Gap": "presk.choose.gap",
    "Generation": "presk.api.generate",
    "InternalError": "presk.text.diagnostics",
    "Measurement": "presk.train.events",
    "Plan": "presk.realization.model",
    "Preparation": "presk.train.preparation",
    "PreskError": "presk.text.diagnostics",
    "Program": "presk.api.program",
    "Quantized": "presk.realization.quantized",
    "Realization": "presk.realization.model",
    "Remark": "presk.train.events",
    "Run": "presk.api.training",
    "Step": "presk.train.events",
    "compile": "presk.api.compiled",
    "generate": "presk.api.generate",
    "grad": "presk.api.derivatives",
    "load": "presk.api.program",
    "load_file": "presk.api.files",
    "loads": "presk.api.program",
    "save_file": "presk.api.files",
    "train": "presk.api.training",
    "value_and_grad": "presk.api.derivatives",
    "vjp": "presk.api.derivatives",
}
"""The module each public name comes from. The imports above tell type checkers the same; a test compares the two."""

import_module("presk.train")
del globals()["train"]
"""`presk.train` is a function, and a folder too: its first import binds the folder, and no later one does so again."""

__all__ = sorted([*_HOMES, "__version__"])  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    """The public name, loaded on first use and kept."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'presk' has no attribute '{name}'")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
