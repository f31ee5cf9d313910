"""Programs compiled onto the rounding machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.unit.choose.rounding import Rounding

import presk
from presk.run import registry
from presk.run.backend import Backend

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@contextmanager
def machine(backend: Backend | None = None) -> Iterator[str]:
    """Puts a backend into the registry for a while; gives its name."""
    made = Rounding() if backend is None else backend
    registry.MAKERS[made.name] = lambda bits, certify: made
    try:
        yield made.name
    finally:
        del registry.MAKERS[made.name]


def compiled(text: str, entry: str = "f", *, backend: Backend | None = None, **options: Any) -> Any:
    """An entry of a text or of an example on a machine for tests."""
    program = presk.load(EXAMPLES / text) if text.endswith(".psk") else presk.loads(text)
    with machine(backend) as name:
        return presk.compile(program[entry], backend=name, **options)
