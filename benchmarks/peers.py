"""The GPT of examples/minigpt as people write it in PyTorch and in JAX: fused layer norms, attention and losses.

Parameters are presk's own tree of NumPy arrays, the blocks stacked along a leading axis, so that all compute the same
function; and the sizes that are measured. Used by `benchmarks/models.py` and `benchmarks/training.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Tree = dict[str, Any]

MINIGPT = Path(__file__).parents[1] / "examples" / "minigpt" / "minigpt.psk"


@dataclass(frozen=True)
class Model:
    """Constants of the GPT and a batch, and how many calls are timed."""

    name: str
    consts: dict[str, int]
    batch: int
    rounds: int


MODELS = [
    Model("tiny", {"V": 64, "D": 16, "H": 2, "L": 2, "T": 8}, 2, 400),
    Model("chars", {"V": 65, "D": 128, "H": 4, "L": 4, "T": 64}, 12, 40),
    Model("384 wide", {"V": 65, "D": 384, "H": 6, "L": 6, "T": 256}, 16, 5),
]


def map_tree(tree: Any, function: Callable[[Any], Any]) -> Any:
    """A tree of dicts with a function applied to each leaf."""
    return {key: map_tree(each, function) for key, each in tree.items()} if isinstance(tree, dict) else function(tree)


def torch_forward(heads: int) -> Callable[[Any, Any], Any]:
    """The forward pass on tensors; `p` is the tree of parameters."""
    import torch
    from torch.nn import functional

    def norm(p: Any, x: Any) -> Any:
        return functional.layer_norm(x, (x.shape[-1],), p["g"], p["b"], 1e-5)

    def linear(p: Any, x: Any) -> Any:
        return functional.linear(x, p["w"].T, p["b"])

    def attention(p: Any, x: Any) -> Any:
        batch, seq, width = x.shape
        parts = linear(p["qkv"], x).view(batch, seq, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        return linear(p["out"], y.transpose(1, 2).reshape(batch, seq, width))

    def forward(p: Any, t: Any) -> Any:
        x = p["tok"]["w"][t] + p["pos"]["w"]
        for layer in range(p["blocks"]["n1"]["g"].shape[0]):
            block = map_tree(p["blocks"], lambda leaf, layer=layer: leaf[layer])
            x = x + attention(block["att"], norm(block["n1"], x))
            x = x + linear(block["ff"]["down"], functional.gelu(linear(block["ff"]["up"], norm(block["n2"], x))))
        return linear(p["head"], norm(p["norm"], x))

    assert torch.get_num_threads() > 0
    return forward


def torch_loss(heads: int) -> Callable[[Any, Any, Any], Any]:
    """The mean cross-entropy of the next symbol."""
    from torch.nn import functional

    forward = torch_forward(heads)

    def loss(p: Any, x: Any, y: Any) -> Any:
        logits = forward(p, x)
        return functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))

    return loss


def jax_forward(heads: int) -> Callable[[Any, Any], Any]:
    """The forward pass, to be compiled; the layers are a `lax.scan`, as large models are written."""
    import jax
    import jax.numpy as jnp

    def norm(p: Any, x: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * p["g"] + p["b"]

    def linear(p: Any, x: Any) -> Any:
        return x @ p["w"] + p["b"]

    def attention(p: Any, x: Any) -> Any:
        batch, seq, width = x.shape
        q, k, v = jnp.moveaxis(linear(p["qkv"], x).reshape(batch, seq, 3, heads, width // heads), 2, 0)
        y = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        return linear(p["out"], y.reshape(batch, seq, width))

    def layer(x: Any, p: Any) -> Any:
        x = x + attention(p["att"], norm(p["n1"], x))
        up = jax.nn.gelu(linear(p["ff"]["up"], norm(p["n2"], x)), approximate=False)
        return x + linear(p["ff"]["down"], up), None

    def forward(p: Any, t: Any) -> Any:
        x = p["tok"]["w"][t] + p["pos"]["w"]
        x, _ = jax.lax.scan(layer, x, p["blocks"])
        return linear(p["head"], norm(p["norm"], x))

    return forward


def jax_loss(heads: int) -> Callable[[Any, Any, Any], Any]:
    """The mean cross-entropy of the next symbol."""
    import jax
    import jax.numpy as jnp

    forward = jax_forward(heads)

    def loss(p: Any, x: Any, y: Any) -> Any:
        logs = jax.nn.log_softmax(forward(p, x), axis=-1)
        return -jnp.take_along_axis(logs, y[..., None], -1).mean()

    return loss
