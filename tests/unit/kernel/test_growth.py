"""Programs that only a machine would write: what a kernel can't hold is refused, by name, before it is planned."""

from __future__ import annotations

import pytest

import presk


def wide(count: int) -> str:
    functions = "\n".join(f"fn f{at}(x: real[k]) -> real[k] {{ tanh(x) * {at} + 1 }}" for at in range(count))
    return (
        f"{functions}\nfn main(x: real[k]) -> real[k] {{ x + " + " + ".join(f"f{at}(x)" for at in range(count)) + " }"
    )


def softmaxes(count: int) -> str:
    lets = "\n".join(f" let v{at} = softmax(v{at - 1}, axis = k) + x" for at in range(1, count))
    return f"fn main(x: real[b, k]) -> real[b, k] {{\n let v0 = x\n{lets}\n v{count - 1} }}"


def schedule(text: str) -> str:
    return presk.compile(presk.loads(text)["main"], dims={"k": 4} | ({"b": 2} if "[b, k]" in text else {})).schedule


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (wide(1100), "reads 1101 tensors, and a kernel reads at most 1024"),
        (softmaxes(400), "takes 799 passes, and a kernel has at most 256"),
    ],
    ids=["inputs", "passes"],
)
def test_what_a_kernel_can_not_hold_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(presk.PreskError) as caught:
        schedule(text)
    assert caught.value.code == "E9206"
    assert sentence in str(caught.value) and "<schedule>" not in str(caught.value)
    assert caught.value.hint


def test_what_it_can_hold_is_planned() -> None:
    assert "launch k100 " in schedule(wide(100))
    assert "softmax" in schedule(softmaxes(60)) or "kernel" in schedule(softmaxes(60))


def test_a_buffer_is_placed_at_the_lowest_room_there_is() -> None:
    """Chains of two lets alive at once need three places, however long they are."""
    lets = "\n".join(f" let v{at} = dot(v{at - 1}, w) * 0.1" for at in range(1, 300))
    text = f"fn main(x: real[4, k: 4], w: real[k: 4, 4]) -> real[4, 4] {{\n let v0 = x\n{lets}\n v299 }}"
    assert presk.compile(presk.loads(text)["main"]).memory.scratch <= 3 * 64
