"""Sizes that no memory holds are E9004 from Python too, on every backend and at every call."""

from __future__ import annotations

import numpy as np
import pytest

import presk
from presk.run.memory import refused_memory, within_memory

HUGE = "m: 4000000000, 65536"
RESULTS = {
    "a constant": f"fn f() -> real[{HUGE}] {{ ones[{HUGE}] }}",
    "a product": f"fn f(x: real) -> real[{HUGE}] {{ ones[{HUGE}] * x }}",
    "a broadcast": f"fn f(x: real) -> real[{HUGE}] {{ broadcast_to[{HUGE}](x) }}",
    "nats": f"fn f(k: nat < 4) -> nat[{HUGE}] < 4 {{ broadcast_to[{HUGE}](k) }}",
    "truths": f"fn f(x: real) -> bool[{HUGE}] {{ broadcast_to[{HUGE}](x > 0) }}",
    "between": f"fn f(x: real) -> real {{ sum(exp(cumsum(ones[{HUGE}] * x, axis = m))) }}",
}


@pytest.mark.parametrize("backend", ["interp", "kernel", "native"])
@pytest.mark.parametrize("name", RESULTS)
def test_results_that_no_memory_holds(name: str, backend: str) -> None:
    f = presk.compile(presk.loads(RESULTS[name])["f"], backend=backend)
    with pytest.raises(presk.PreskError) as caught:
        f(**{parameter: 1 if parameter == "k" else np.float64(1) for parameter in f.parameters})
    assert caught.value.code == "E9004"
    assert caught.value.hint


def test_parameters_and_arguments_that_no_memory_holds() -> None:
    text = f"module M {{ w: real[{HUGE}] = ones\n fn apply(self, x: real[{HUGE}]) -> real {{ sum(x) }} }}"
    f = presk.compile(presk.loads(text)["M.apply"])
    for call in (f.init, f.synthesize):
        with pytest.raises(presk.PreskError) as caught:
            call()
        assert caught.value.code in ("E9004", "E6021")


def test_a_memory_error_is_told_with_its_reason() -> None:
    @within_memory
    def call(text: str) -> None:
        raise MemoryError(*([text] if text else []))

    for text, sentence in (("Unable to allocate 3 GiB", "suffice: unable to allocate 3 GiB"), ("", "suffice")):
        with pytest.raises(presk.PreskError, match=sentence):
            call(text)
    assert refused_memory(MemoryError()).code == "E9004"
