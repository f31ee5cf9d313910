"""E7002, and how a nest refuses a choice: the site, the condition's number, and what would do.

The conditions are realization.md's; raised here are 2, 3, 4, 6, 7, 8 and 9. Called by the modules of this folder.
"""

from __future__ import annotations

from presk.text.diagnostics import PreskError, fail


def refusal(site: str, condition: int, sentence: str, hint: str | None = None) -> PreskError:
    """The error of a realization or plan that can't be run as stated, to be raised by the caller."""
    return fail("E7002", f"`{site}`: {sentence} (condition {condition})", hint=hint)
