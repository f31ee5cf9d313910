"""Programs that use each primitive, for the tests of its derivative.

A case is the text of a function `f` whose real parameters are differentiated. Types in the text say what its arguments
are; `low` and `high` bound the random reals where the primitive's domain asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass

UNARY = "neg abs square exp expm1 tanh sin cos erf erfc sigmoid softplus relu gelu gelu_tanh silu".split()


@dataclass(frozen=True)
class Case:
    """A function's text, and the range of its real arguments."""

    text: str
    low: float = -2
    high: float = 2


def one(expression: str, low: float = -2, high: float = 2) -> Case:
    """f(x) of a matrix with named axes."""
    return Case(f"fn f(x: real[a: 3, b: 4]) {{ {expression} }}", low, high)


def two(expression: str, low: float = -2, high: float = 2) -> Case:
    """f(x, y) of a matrix and a vector."""
    return Case(f"fn f(x: real[a: 3, b: 4], y: real[a: 3]) {{ {expression} }}", low, high)


CASES: dict[str, tuple[Case, ...]] = {
    **{name: (one(f"{name}(x)"),) for name in UNARY},
    **{name: (one(f"{name}(x)", 0.1, 3),) for name in ("sqrt", "rsqrt", "recip", "log", "log1p")},
    **{
        name: (Case(f"fn f(x: real[a: 3]) {{ grad(g)(x) }}\nfn g(x: real[a: 3]) -> real {{ sum({of}(x)) }}"),)
        for name, of in (
            ("gaussian", "erfc"),
            ("gelu_slope", "gelu"),
            ("silu_slope", "silu"),
            ("gelu_tanh_slope", "gelu_tanh"),
        )
    },
    "add": (two("x + y"), two("y + x"), two("x + 3"), Case("fn f(x: real[a: 3, b: 4], y: real[b: 4, a: 3]) { x + y }")),
    "sub": (two("x - y"), two("y - x"), Case("fn f(x: real, y: real[3]) { x - y }")),
    "mul": (two("x * y"), two("y * x"), one("x * x"), Case("fn f(x: real[2, 3], y: real[3], z: real) { x * y * z }")),
    "div": (two("x / y", 0.5, 3), two("y / x", 0.5, 3), one("x / 7")),
    "pow": (
        two("x ** y", 0.2, 3),
        two("pow(y, x)", 0.2, 3),
        one("x ** 7"),
        one("x ** 0.5", 0.1, 2),
        one("pow(x, 2)"),
        one("pow(x, 0)"),
        one("2 ** x"),
    ),
    "maximum": (two("maximum(x, y)"), two("maximum(y, 0.125)")),
    "minimum": (two("minimum(x, y)"), two("minimum(0.125, x)")),
    "where": (two("where(x > 0, x * y, y)"), two("where(y > 0, x, 3)"), one("where(x > 0, 1, x)")),
    "sum": (one("sum(x)"), one("sum(x, axis = a)"), one("sum(x, axis = b)"), one("sum(x, axis = (a, b))")),
    "mean": (one("mean(x)"), one("mean(x, axis = a)"), one("mean(x, axis = b)")),
    "max": (one("max(x)"), one("max(x, axis = a)"), Case("fn f(x: real[2, k: 3, 4]) { max(x, axis = (0, 2)) }")),
    "min": (one("min(x)"), one("min(x, axis = b)")),
    "prod": (
        one("prod(x)"),
        one("prod(x, axis = a)"),
        Case("fn f(x: real[2, k: 3, 4]) { prod(x, axis = (0, 2)) }"),
        Case("fn f(x: real[n: 1]) { prod(x) }"),
    ),
    "logsumexp": (one("logsumexp(x)"), one("logsumexp(x, axis = a)")),
    "cumsum": (one("cumsum(x, axis = a)"), one("cumsum(x, axis = b)")),
    "total": (Case("fn f(x: {a: real[2], b: (real, real[3, 2])}) { total(x) }"),),
    "softmax": (
        one("softmax(x)"),
        one("softmax(x, axis = a)"),
        one("softmax(x, axis = (a, b))"),
        one("softmax(x, mask = positions[b: 4] < 3)"),
    ),
    "log_softmax": (
        one("log_softmax(x)"),
        one("log_softmax(x, axis = a)"),
        one("where(causal_mask[a: 3, b: 4], log_softmax(x, mask = causal_mask[a: 3, b: 4]), 0)"),
    ),
    "cross_entropy": (
        Case("fn f(x: real[a: 3, b: 4], t: nat[a: 3] < 4) { cross_entropy(x, t) }"),
        Case("fn f(x: real[a: 3, b: 4], t: nat[b: 4] < 3) { cross_entropy(x, t, axis = a) }"),
        Case("fn f(x: real[a: 3, b: 4], t: nat < 12) { cross_entropy(x, t, axis = (a, b)) }"),
        Case("fn f(x: real[2, 3, 4], t: nat[3] < 4) { cross_entropy(x, t) }"),
        Case("fn f(x: real[a: 3, b: 4], t: nat[a: 3] < 3) { cross_entropy(x, t, mask = positions[b: 4] < 3) }"),
    ),
    "dot": (
        Case("fn f(x: real[a: 3, 4], w: real[4, o: 2]) { dot(x, w) }"),
        Case("fn f(x: real[2, a: 3, k: 4], w: real[k: 4, 5, 2]) { dot(x, w) }"),
        Case("fn f(x: real[4], w: real[4]) { dot(x, w) }"),
        Case("fn f(x: real[4], w: real[4, 3]) { dot(x, w) }"),
        Case("fn f(x: real[3, 4], w: real[4]) { dot(x, w) }"),
        Case("fn f(x: real[a: 4, 4], w: real[a: 4, b: 2]) { dot(x, w) }"),
        Case("fn f(x: real[3, 3]) { dot(x, x) }"),
    ),
    "matmul": (
        Case("fn f(a: real[n: 2, 3, 4], b: real[n: 2, 4, 5]) { matmul(a, b) }"),
        Case("fn f(a: real[2, n: 2, i: 3, 4], b: real[n: 2, 4, j: 2]) { matmul(a, b) }"),
        Case("fn f(a: real[3, 4], b: real[2, 4, 5]) { matmul(a, b) }"),
    ),
    "ein": (
        Case("fn f(a: real[i: 2, k: 3], b: real[k: 3, j: 4]) { ein[j, i](a, b) }"),
        Case("fn f(a: real[2, 3], b: real[4, 3, 2]) { ein[i, j](a[i, k], b[j, k, l]) }"),
        Case("fn f(a: real[i: 2], b: real[j: 4]) { ein[i, j](a, b) }"),
        Case("fn f(a: real[i: 2, s: 3], b: real[i: 2]) { ein[i](a, b) }"),
        Case("fn f(a: real[b: 2, h: 2, q: 3, d: 2], c: real[b: 2, k: 3, h: 2, d: 2]) { ein[b, h, q, k](a, c) }"),
    ),
    "dot_vjp_l": (
        Case(
            "fn f(x: real[a: 3, 4], w: real[4, o: 2], c: real[a: 3, o: 2]) -> real[a: 3, 4] { vjp(g)(x, w)(c) }\n"
            "fn g(x: real[a: 3, 4], w: real[4, o: 2]) -> real[a: 3, o: 2] { dot(x, w) }"
        ),
    ),
    "dot_vjp_r": (
        Case(
            "fn f(x: real[2, a: 3, 4], w: real[4, o: 2], c: real[2, a: 3, o: 2]) { vjp(g, wrt = 1)(x, w)(c) }\n"
            "fn g(x: real[2, a: 3, 4], w: real[4, o: 2]) { dot(x, w) }"
        ),
    ),
    "embed": (
        Case("fn f(w: real[5, d: 2], t: nat[a: 3, 4] < 5) { embed(w, t) }"),
        Case("fn f(w: real[5], t: nat < 5) { embed(w, t) }"),
    ),
    "take": (
        Case("fn f(x: real[a: 3, b: 4], t: nat[k: 5] < 4) { take(x, t, axis = b) }"),
        Case("fn f(x: real[a: 3, b: 4], t: nat[j: 2, k: 5] < 3) { take(x, t, axis = a) }"),
        Case("fn f(x: real[a: 3, b: 4], t: nat < 4) { take(x, t, axis = b) }"),
    ),
    "gather": (
        Case("fn f(x: real[a: 3, b: 4], t: nat[a: 3, b: 2] < 4) { gather(x, t, axis = b) }"),
        Case("fn f(x: real[3, 4], t: nat[5, 4] < 3) { gather(x, t, axis = 0) }"),
    ),
    "scatter_add": (
        Case("fn f(x: real[a: 3, b: 4], t: nat[k: 5] < 4, v: real[a: 3, k: 5]) { scatter_add(x, t, v, axis = b) }"),
        Case("fn f(x: real[a: 3, b: 4], t: nat[k: 5] < 3, v: real[b: 4]) { scatter_add(x, t, v, axis = a) }"),
        Case("fn f(x: real[6], t: nat[2, 4] < 6, v: real) { scatter_add(x, t, v, axis = 0) }"),
    ),
    "sort": (one("sort(x)"), one("sort(x, axis = a)")),
    "top_k": (
        one("top_k(x, 2).0"),
        one("let (v, i) = top_k(x, 3, axis = a); v * i"),
    ),
    "split": (
        Case("fn f(x: real[a: 6, b: 2]) { split[h: 2, hd](x, axis = a) }"),
        Case("fn f(x: real[2, 12]) { split[2, 3, 2](x) }"),
    ),
    "merge": (
        Case("fn f(x: real[2, a: 3, b: 4]) { merge[m](x, axes = (a, b)) }"),
        Case("fn f(x: real[a: 2, 3, b: 4]) { merge(x, axes = (0, 1)) }"),
    ),
    "transpose": (Case("fn f(x: real[a: 2, 3, b: 4]) { transpose(x, (b, a, 1)) }"),),
    "rename": (one("rename(x, a = b, b = a)"), one("rename(x, a = c)")),
    "slice": (one("x[b = 1..3]"), one("x[a = 0..2] * 3")),
    "pad": (one("pad(x, axis = a, before = 1, after = 2, value = 5)"), one("pad(x, axis = b, after = 1)")),
    "flip": (one("flip(x, axis = a)"),),
    "split_heads": (Case("fn f(x: real[3, 6]) { split_heads(x, 2) }"),),
    "merge_heads": (Case("fn f(x: real[3, heads: 2, hd: 3]) { merge_heads(x) }"),),
    "broadcast_to": (
        Case("fn f(x: real[b: 2, a: 3]) { broadcast_to[a: 3, c: 4, b: 2](x) }"),
        Case("fn f(x: real[3]) { broadcast_to[2, 3](x) }"),
        Case("fn f(x: real) { broadcast_to[2, 3](x) }"),
    ),
    "windows": (
        Case("fn f(x: real[y: 7, c: 2]) { windows[k: 3](x, axis = y) }"),
        Case("fn f(x: real[n: 2, y: 9, c: 2]) { windows[k: 2](x, axis = y, stride = 3, dilation = 2) }"),
        Case("fn f(x: real[9]) { windows[3](x, axis = 0, stride = 2) }"),
    ),
    "concat": (
        Case("fn f(x: real[a: 3, b: 4], y: real[a: 3, b: 2]) { concat(x, y, x, axis = b) }"),
        Case("fn f(x: real[3, 4], y: real[2, 4]) { concat(x, y, axis = 0) }"),
        Case("fn f(x: real[a: 3, b: 4], y: real[b: 4, a: 1]) { concat(x, y, axis = a) }"),
    ),
    "stack": (
        Case("fn f(x: real[3], y: real[3]) { stack[n](x, y, x) }"),
        Case("fn f(x: real[a: 2, b: 3], y: real[b: 3, a: 2]) { stack(x, y) }"),
        Case("fn f(x: real, y: real) { stack[n](x, y) }"),
    ),
    "unstack": (
        one("let (p, q, r) = unstack(x, axis = a); p * r + p"),
        Case("fn f(x: real[a: 3, b: 2, c: 2]) { let (p, q) = unstack(x, axis = b); (q, p * q) }"),
    ),
    "full": (Case("fn f(x: real) { full[2, n: 3](x) }"),),
    "index": (
        one("x[b = 2]"),
        Case("fn f(x: real[a: 3, b: 4], i: nat < 4) { x[b = i] * x[b = 1] }"),
    ),
    "update_index": (
        Case("fn f(x: real[a: 3, b: 4], v: real[a: 3], i: nat < 4) { {x with [b = i] = v} * x }"),
        Case("fn f(x: real[a: 3, b: 4], v: real) { {x with [a = 1] = v} }"),
    ),
    "update_slice": (Case("fn f(x: real[a: 3, b: 4], v: real[a: 3, b: 2]) { {x with [b = 1..3] = v} }"),),
}
"""By the primitive's name: every one that has a derivative."""
