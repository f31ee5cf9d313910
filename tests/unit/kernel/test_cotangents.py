"""Terms whose cotangent is 0, on machines: every variant that was published, in every type, the same bits on each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.psk.expectations import Case, read_claims
from tests.unit.core.vjp.witness import leaves

import presk
from presk.realization.model import Realization

PROGRAMS = Path(__file__).resolve().parents[2] / "psk" / "derivatives"
CASES = [
    (path, case) for path in sorted(PROGRAMS.glob("where_the_cotangent_is_0*.psk")) for case in read_claims(path).cases
]


def run(path: Path, case: Case, backend: str, realization: str | Realization) -> list[np.ndarray[Any, Any]]:
    """The leaves of a case's value."""
    compiled = presk.compile(presk.load(path)[case.entry], realize=realization, backend=backend)
    arguments: dict[str, Any] = dict(case.inputs)
    return [np.asarray(each, dtype=np.float64) for each in leaves(compiled(**arguments))]


@pytest.mark.parametrize(
    "real",
    ["f64", "f32", "bf16", Realization("f32", order={"kind": "interleaved", "partials": 2})],
    ids=["f64", "f32", "bf16", "interleaved"],
)
@pytest.mark.parametrize(("path", "case"), CASES, ids=[f"{case.entry}" for _, case in CASES])
def test_no_variant_gives_nan(path: Path, case: Case, real: str | Realization) -> None:
    found, other = (run(path, case, backend, real) for backend in ("native", "kernel"))
    for mine, theirs in zip(found, other, strict=True):
        assert np.isfinite(mine).all()
        assert mine.tobytes() == theirs.tobytes()
