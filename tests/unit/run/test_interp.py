"""The reference behind the seam, and what the seam asks of any backend."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import presk
from presk.core.bind import bind
from presk.exact.proving import Precision
from presk.realization.model import Plan, Realization
from presk.run import registry
from presk.run.backend import Backend, Entry, Executable
from presk.run.interp import Interp
from presk.text.diagnostics import PreskError

PROGRAM = presk.loads("fn f(m: {w: real[2]}, x: real[n: 2], t: nat[n: 2] < 3) -> real[n: 2] { x * m.w + t }")
ENTRY = Entry("f", bind(PROGRAM.checked, "f"))
ARGUMENTS = ({"w": np.array([2.0, 3.0])}, np.array([1.0, 1.0]), np.array([0, 2]))


def prepared(**options: Any) -> Executable:
    return Interp(**options).prepare(ENTRY, Realization())


def test_calls_and_bound_calls_agree() -> None:
    run = prepared()
    assert run(*ARGUMENTS).tolist() == [2.0, 5.0]
    assert run.bind(m=ARGUMENTS[0])(*ARGUMENTS[1:]).tolist() == [2.0, 5.0]
    assert run.bind(m=ARGUMENTS[0]).bind(x=ARGUMENTS[1])(ARGUMENTS[2]).tolist() == [2.0, 5.0]
    assert run(*ARGUMENTS).tolist() == [2.0, 5.0], "binding made another executable"


def test_what_is_bound_is_checked_then() -> None:
    with pytest.raises(PreskError) as caught:
        prepared().bind(m={"w": np.array([1.0, np.nan])})
    assert caught.value.code == "E6007"


def test_exact_values_cross_untouched() -> None:
    run = prepared(proven=Precision.fixed(300))
    once = run(*ARGUMENTS)
    twice = run(ARGUMENTS[0], once, ARGUMENTS[2])
    assert twice.tolist() == [4.0, 17.0]
    assert once.bits == 300
    assert once.certified


@pytest.mark.parametrize(
    ("realization", "plan"),
    [
        (Realization(storage={"f/%99": "f64"}), None),
        (Realization(storage={"g/%3": "f64"}), None),
        (Realization(accum={"f/nothing": "f64"}), None),
        (Realization(params={"v": "bf16"}), None),
        (Realization(quant={"w": {"type": "int8", "axis": 3}}), None),
        (Realization(entry="g"), None),
        (Realization(core="sha256:" + "0" * 64), None),
        (Realization(), Plan(layout={"f/%99": {"lanes": 1}})),
        (Realization("f64"), Plan(layout={}, realization="f32")),
    ],
)
def test_wrong_keys_are_refused_as_everywhere(realization: Realization, plan: Plan | None) -> None:
    for backend in (Interp(), registry.make("kernel")):
        with pytest.raises(PreskError) as caught:
            backend.prepare(ENTRY, realization, plan)
        assert caught.value.code == "E7002"


@pytest.mark.parametrize("bits", [0, 1, -5, 1 << 40])
def test_an_impossible_precision_is_refused(bits: int) -> None:
    with pytest.raises(PreskError) as caught:
        Interp(bits=bits)
    assert caught.value.code == "E6012"


def test_a_backend_must_have_every_method() -> None:
    class Half(Backend):
        name: ClassVar[str] = "half"

    class Silent(Executable):
        pass

    for incomplete in (Half, Silent):
        with pytest.raises(TypeError, match="abstract"):
            incomplete()


def test_a_double_that_counts_calls_is_a_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    """The API is written over the seam alone."""
    from presk.run import registry

    class Counting(Interp):
        calls = 0

        def prepare(self, entry: Entry, *args: Any, **named: Any) -> Executable:
            inner = super().prepare(entry, *args, **named)

            class Counted(Executable):
                def bind(self, /, **leading: Any) -> Executable:
                    return inner.bind(**leading)

                def __call__(self, *values: Any, **how: Any) -> Any:
                    Counting.calls += 1
                    return inner(*values, **how)

            return Counted()

    monkeypatch.setitem(registry.MAKERS, "kernel", lambda bits, proven: Counting(bits, proven))
    f = presk.compile(PROGRAM["f"], backend="kernel")
    assert f(*ARGUMENTS).tolist() == [2.0, 5.0]
    assert f(*ARGUMENTS).tolist() == [2.0, 5.0]
    assert Counting.calls == 2
