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
"""Residual sums, logits, centred rows, parameters moved against their gradient: some lie near zero."""

ARGUMENT = Reason("the sine's argument is as far off as its rounded speed times the time", eased=False)

SUMMED = Reason("a gradient sums contributions that cancel, some to exactly 0", eased=False)
"""A key's bias moves no softmax: its gradient is 0, whatever the sums that give it round to."""

_CANCELLING: Mapping[str, Mapping[str, str]] = {
    "example": {
        "04_minigpt: Attention.apply": "f32 bf16",
        "04_minigpt: Block.apply": "f32 bf16",
        "07_generation: Attention.apply": "f32 bf16",
        "07_generation: Block.apply": "f32 bf16",
        "07_generation: Block.step": "bf16",
        "07_generation: GPT.next_token": "f32 bf16",
        "norms: layer_norm": "f32",
        "norms: moments": "f64 f32",
        "minigpt: Block.apply": "f32 bf16",
        "minigpt: Block.step": "f32 bf16",
        "minigpt: MiniGPT.next_token": "bf16",
        "demo: Writer.apply": "bf16",
        "demo: Writer.next_token": "bf16",
        "vae: draw_ring": "bf16",
        "bert: Layer.apply": "bf16",
        "bert: Bert.apply": "bf16",
        "bert: MaskedLM.apply": "f32 bf16",
        "llama: Block.apply": "bf16",
        "llama: Block.step": "bf16",
        "llama: Llama.apply": "f32 bf16",
        "llama: Llama.next_token": "bf16",
        "library: adamw.step[gpt.MiniGPT]": "f32",
    },
    "drawn": {
        "02_mlp: Layer.apply": "f32",
        "04_minigpt: Attention.apply": "bf16",
        "04_minigpt: Block.apply": "f32 bf16",
        "04_minigpt: GPT.apply": "f32 bf16",
        "07_generation: Attention.apply": "bf16",
        "07_generation: Attention.step": "bf16",
        "07_generation: Block.apply": "f32 bf16",
        "07_generation: Block.step": "bf16",
        "07_generation: GPT.apply": "f32 bf16",
        "07_generation: GPT.next_token": "f32 bf16",
        "minigpt: Block.apply": "f32 bf16",
        "minigpt: Block.step": "bf16",
        "minigpt: MiniGPT.apply": "f32 bf16",
        "minigpt: MiniGPT.next_token": "f32 bf16",
        "demo: Block.step": "bf16",
        "demo: Writer.apply": "f32 bf16",
        "demo: Writer.next_token": "bf16",
        "bert: Layer.apply": "f32 bf16",
        "bert: Bert.apply": "bf16",
        "library: adamw.step[gpt.MiniGPT]": "f64 f32",
    },
}
"""By group and name, the realizations in which a case's last sums cancel."""

_GRADIENTS: Mapping[str, str] = {
    "02_mlp: grad(loss)": "f32",
    "04_minigpt: grad(loss)": "f64 f32",
    "07_generation: grad(loss)": "f32 bf16",
    "minigpt: grad(loss)": "f32",
    "demo: grad(loss)": "f32 bf16",
    "lstm: grad(loss)": "f32",
    "vae: grad(loss)": "f32 bf16",
    "bert: grad(loss)": "f64 f32 bf16",
    "llama: grad(loss)": "f64 f32 bf16",
    "kmeans: grad(inertia)": "bf16",
}
"""The same of gradients."""

LISTED: Mapping[tuple[str, str], Mapping[str, Reason]] = {
    ("gradient", "vjp(softmax, wrt = (0,))"): {"f64": CANCELS, "f32": CANCELS},
    **{("gradient", name): dict.fromkeys(kinds.split(), SUMMED) for name, kinds in _GRADIENTS.items()},
    ("example", "lstm: draw_waves"): {"bf16": ARGUMENT},
    **{
        (group, name): dict.fromkeys(kinds.split(), CANCELS)
        for group, cases in _CANCELLING.items()
        for name, kinds in cases.items()
    },
}
"""By group and name, then by realization. A test holds that whatever is listed is beyond its band."""
