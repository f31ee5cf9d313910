"""presk: programs over the exact real numbers, and their machine realizations with measured gaps.

A program is loaded (`presk.load`), an entry of it compiled (`presk.compile`) and called on NumPy arrays. Each public
name is loaded on its first use, so that `import presk` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from presk.text.diagnostics import Diagnostic as Diagnostic
    from presk.text.diagnostics import InternalError as InternalError
    from presk.text.diagnostics import PreskError as PreskError

__version__ = "0.1.0"

_HOMES = {
    "Diagnostic": "presk.text.diagnostics",
    "InternalError": "presk.text.diagnostics",
    "PreskError": "presk.text.diagnostics",
}
"""The module each public name comes from. The imports above tell type checkers the same; a test compares the two."""

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
