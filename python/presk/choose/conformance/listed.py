"""The cases that leave their band, each with its reason. Whatever isn't here is asserted.

A case whose terms *cancel* has a result that is a small difference of larger terms, so that no relative bound can hold
at any precision: it is held to the band with Σ|terms| in the place of |x|. Where what cancelled is not the last sum but
an earlier one, or a rounding moves a decision, the result is off by more than that sum tells: such a case is reported,
and kept in the table, but not asserted (`eased` is false).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a case may leave its band, and whether it is held to the band of its terms' magnitudes instead."""

    text: str
    eased: bool = True


CANCELS = Reason("its last sums cancel")
"""Residual sums, logits and gradients near zero."""

LISTED: Mapping[tuple[str, str], Mapping[str, Reason]] = {}
"""By group and name, then by realization."""
