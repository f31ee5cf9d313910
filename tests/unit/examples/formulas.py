"""What the library's layers and the examples' models compute, written in NumPy without regard to presk's own rules.

Parameters are the trees presk draws: nested dicts of float64 arrays. Written for plainness, with loops where a loop
says it best; nothing here is shared with the package.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Tree = Mapping[str, Any]

erf = np.vectorize(math.erf, otypes=[float])


def layer(tree: Any, at: int) -> Any:
    """One layer of a stacked tree."""
    return {key: layer(each, at) for key, each in tree.items()} if isinstance(tree, dict) else tree[at]


def layers(tree: Tree) -> list[Any]:
    leaf: Any = tree
    while isinstance(leaf, dict):
        leaf = next(iter(leaf.values()))
    return [layer(tree, at) for at in range(len(leaf))]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def gelu(x: Array) -> Array:
    return x * (1 + erf(x / math.sqrt(2))) / 2


def silu(x: Array) -> Array:
    return x * sigmoid(x)


def softmax(x: Array, mask: Array | None = None) -> Array:
    """Over the last axis; 0 where the mask refuses."""
    allowed = np.ones(x.shape, bool) if mask is None else np.broadcast_to(mask, x.shape)
    e = np.where(
        allowed, np.exp(np.where(allowed, x, -np.inf) - np.where(allowed, x, -np.inf).max(-1, keepdims=True)), 0
    )
    return e / e.sum(-1, keepdims=True)


def cross_entropy(logits: Array, targets: Array) -> Array:
    p = softmax(logits)
    return -np.log(np.take_along_axis(p, targets[..., None], -1)[..., 0])


def linear(p: Tree, x: Array) -> Array:
    return x @ p["w"] + p.get("b", 0.0)


def layer_norm(p: Tree, x: Array, eps: float = 1e-5) -> Array:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) * p["g"] + p["b"]


def rms_norm(p: Tree, x: Array, eps: float = 1e-5) -> Array:
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) * p["g"]


def feed_forward(p: Tree, x: Array) -> Array:
    return linear(p["down"], gelu(linear(p["up"], x)))


def swiglu(p: Tree, x: Array) -> Array:
    return linear(p["down"], silu(linear(p["gate"], x)) * linear(p["up"], x))


def rotary(x: Array, base: float = 10000, first: int = 0) -> Array:
    """x: (batch, seq, heads, hd). Pairs of places i and i + hd/2 as complex numbers, turned."""
    half = x.shape[-1] // 2
    z = x[..., :half] + 1j * x[..., half:]
    angle = np.arange(first, first + x.shape[1])[:, None] * base ** (-np.arange(half) / half)
    z = z * np.exp(1j * angle)[None, :, None, :]
    return np.concatenate([z.real, z.imag], -1)


def attention(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    """q: (batch, seq, heads, hd), k and v: (batch, keys, heads, hd); one sequence and head at a time."""
    out = np.empty(q.shape)
    for b, h in itertools.product(range(q.shape[0]), range(q.shape[2])):
        s = q[b, :, h] @ k[b, :, h].T / math.sqrt(q.shape[-1])
        out[b, :, h] = softmax(s, None if mask is None else mask[b]) @ v[b, :, h]
    return out


def causal(batch: int, length: int) -> Array:
    return np.broadcast_to(np.tril(np.ones((length, length), bool)), (batch, length, length))


def multi_head_attention(p: Tree, x: Array, heads: int, mask: Array | None = None) -> Array:
    """`mask`: (batch, seq, keys), true where allowed."""
    parts = np.split(linear(p["qkv"], x), 3, axis=-1)
    q, k, v = (part.reshape(*x.shape[:2], heads, -1) for part in parts)
    return linear(p["out"], attention(q, k, v, mask).reshape(x.shape))


def grouped_query_attention(p: Tree, x: Array, heads: int, groups: int, base: float = 10000) -> Array:
    """Query head h reads the keys and values of group h // (heads // groups)."""
    q = rotary(linear(p["q"], x).reshape(*x.shape[:2], heads, -1), base)
    k = rotary(linear(p["k"], x).reshape(*x.shape[:2], groups, -1), base)
    v = linear(p["v"], x).reshape(*x.shape[:2], groups, -1)
    k, v = (np.repeat(each, heads // groups, axis=2) for each in (k, v))
    return linear(p["o"], attention(q, k, v, causal(*x.shape[:2])).reshape(x.shape))


def lstm_cell(p: Tree, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
    i, f, g, o = np.split(linear(p["x"], x) + linear(p["h"], h), 4, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def lstm(p: Tree, x: Array) -> Array:
    """x: (batch, seq, features)."""
    size = p["cell"]["h"]["w"].shape[0]
    h = c = np.zeros((x.shape[0], size))
    out = []
    for t in range(x.shape[1]):
        h, c = lstm_cell(p["cell"], x[:, t], h, c)
        out.append(h)
    return np.stack(out, 1)


def gru_cell(p: Tree, x: Array, h: Array) -> Array:
    xr, xz, xn = np.split(linear(p["x"], x), 3, axis=-1)
    hr, hz, hn = np.split(linear(p["h"], h), 3, axis=-1)
    z = sigmoid(xz + hz)
    return (1 - z) * np.tanh(xn + sigmoid(xr + hr) * hn) + z * h


def gru(p: Tree, x: Array) -> Array:
    h = np.zeros((x.shape[0], p["cell"]["h"]["w"].shape[0]))
    out = []
    for t in range(x.shape[1]):
        h = gru_cell(p["cell"], x[:, t], h)
        out.append(h)
    return np.stack(out, 1)


def conv1d(p: Tree, x: Array, stride: int = 1, padding: int = 0, dilation: int = 1) -> Array:
    """x: (batch, seq, in), w: (in, k, out). One output at a time."""
    w, b = p["w"], p["b"]
    x = np.pad(x, ((0, 0), (padding, padding), (0, 0)))
    length = (x.shape[1] - dilation * (w.shape[1] - 1) - 1) // stride + 1
    out = np.zeros((x.shape[0], length, w.shape[2]))
    for n, t, o in np.ndindex(out.shape):
        out[n, t, o] = b[o] + sum(
            x[n, t * stride + k * dilation, i] * w[i, k, o] for i in range(w.shape[0]) for k in range(w.shape[1])
        )
    return out


def conv2d(p: Tree, x: Array, stride: int = 1, padding: int = 0) -> Array:
    """x: (batch, y, x, in), w: (in, ky, kx, out). One output at a time."""
    w, b = p["w"], p["b"]
    k = w.shape[1]
    x = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    height, width = ((n - k) // stride + 1 for n in x.shape[1:3])
    out = np.zeros((x.shape[0], height, width, w.shape[3]))
    for n, r, c, o in np.ndindex(out.shape):
        patch = x[n, r * stride : r * stride + k, c * stride : c * stride + k]
        out[n, r, c, o] = b[o] + sum(patch[u, v, i] * w[i, u, v, o] for i, u, v in np.ndindex(w.shape[:3]))
    return out


def pool2d(reduce: Callable[[Array], float], x: Array, size: int, stride: int) -> Array:
    """x: (batch, y, x, channels)."""
    height, width = ((n - size) // stride + 1 for n in x.shape[1:3])
    out = np.zeros((x.shape[0], height, width, x.shape[3]))
    for n, r, c, ch in np.ndindex(out.shape):
        out[n, r, c, ch] = reduce(x[n, r * stride : r * stride + size, c * stride : c * stride + size, ch])
    return out


def pool1d(reduce: Callable[[Array], float], x: Array, size: int, stride: int) -> Array:
    """x: (batch, seq, channels)."""
    out = np.zeros((x.shape[0], (x.shape[1] - size) // stride + 1, x.shape[2]))
    for n, t, ch in np.ndindex(out.shape):
        out[n, t, ch] = reduce(x[n, t * stride : t * stride + size, ch])
    return out


def gpt(p: Tree, t: Array, heads: int, block: Callable[[Any, Array], Array]) -> Array:
    """Embeddings of symbols and positions, blocks, norm, head."""
    x = p["tok"]["w"][t] + p["pos"]["w"]
    for each in layers(p["blocks"]):
        x = block(each, x)
    return linear(p["head"], layer_norm(p["norm"], x))


def minigpt_block(heads: int) -> Callable[[Any, Array], Array]:
    def block(p: Any, x: Array) -> Array:
        x = x + multi_head_attention(p["att"], layer_norm(p["n1"], x), heads, causal(*x.shape[:2]))
        return x + feed_forward(p.get("ff", p), layer_norm(p["n2"], x))

    return block


def bert(p: Tree, t: Array, segment: Array, keep: Array, heads: int) -> Array:
    eps = 1e-12
    x = p["tok"]["w"][t] + p["kind"]["w"][segment] + p["pos"]["w"][: t.shape[1]]
    x = layer_norm(p["norm"], x, eps)
    mask = np.broadcast_to(keep[:, None, :], (t.shape[0], t.shape[1], t.shape[1]))
    for each in layers(p["layers"]):
        x = layer_norm(each["n1"], x + multi_head_attention(each["att"], x, heads, mask), eps)
        x = layer_norm(each["n2"], x + feed_forward(each["ff"], x), eps)
    return x


def llama(p: Tree, t: Array, heads: int, groups: int) -> Array:
    x = p["tok"]["w"][t]
    for each in layers(p["blocks"]):
        x = x + grouped_query_attention(each["att"], rms_norm(each["n1"], x), heads, groups)
        x = x + swiglu(each["ff"], rms_norm(each["n2"], x))
    return linear(p["head"], rms_norm(p["norm"], x))


def adamw(
    p: Array,
    gradients: list[Array],
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.01,
) -> tuple[Array, Array, Array]:
    """All steps on one array; the parameters and both moments behind them."""
    m, v = np.zeros_like(p), np.zeros_like(p)
    for t, g in enumerate(gradients, start=1):
        p = p - lr * weight_decay * p
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        p = p - lr * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + eps)
    return p, m, v
