"""What each primitive's rule gives: names, order, bounds, runs and symbolic sizes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.primitives.building import axes_of, tensor, typed

from presk.shapes.constants import rational
from presk.shapes.types import RecordOf, TreeVariable, TupleOf


def new(text: str) -> dict[str, Any]:
    return {"new": axes_of(text)}


ELEMENTWISE: list[tuple[str, list[str], str]] = [
    ("exp", ["real[.., a: 2]"], "real[.., a: 2]"),
    ("abs", ["nat[a: 2] < 5"], "real[a: 2]"),
    ("add", ["real[batch: B, 3]", "real[3]"], "real[batch: B, 3]"),
    ("add", ["nat < A", "nat[s: 2] < B"], "nat[s: 2] < A + B - 1"),
    ("add", ["nat < A", "real"], "real"),
    ("mul", ["nat < 4", "nat < 6"], "nat < 16"),
    ("mul", ["nat < A", "nat < 2"], "nat < A"),
    ("sub", ["nat < 4", "nat < 6"], "real"),
    ("maximum", ["nat < 4", "nat < 6"], "real"),
    ("lt", ["nat < 4", "nat[a: 2] < 6"], "bool[a: 2]"),
    ("ge", ["real[a: 2]", "nat[a: 2] < 6"], "bool[a: 2]"),
    ("and", ["bool[q: T, k: T]", "bool[k: T]"], "bool[q: T, k: T]"),
    ("not", ["bool[2]"], "bool[2]"),
    ("where", ["bool[a: 2]", "real", "real[b: 3, a: 2]"], "real[b: 3, a: 2]"),
    ("where", ["bool", "nat < 3", "nat < 5"], "nat < 5"),
    ("where", ["bool", "nat < A", "nat < B"], "nat < A + B - 1"),
    ("where", ["bool", "nat < 3", "real"], "real"),
    ("where", ["bool", "bool", "bool[2]"], "bool[2]"),
]

REDUCTIONS: list[tuple[str, list[str], dict[str, Any], str]] = [
    ("sum", ["real[a: 2, b: 3]"], {}, "real"),
    ("sum", ["real[..]"], {}, "real"),
    ("sum", ["real[.., a: 2, b: 3]"], {"axis": "b"}, "real[.., a: 2]"),
    ("mean", ["nat[a: 2, b: 3] < 7"], {"axis": ("a", "b")}, "real"),
    ("max", ["real[a: N, b: 3]"], {"axis": -1}, "real[a: N]"),
    ("sum", ["real[a: 0]"], {}, "real"),
    ("all", ["bool[a: 2, b: 3]"], {"axis": 0}, "bool[b: 3]"),
    ("argmax", ["real[a: 2, b: 3]"], {"axis": "b", "ties": "first"}, "nat[a: 2] < 3"),
    ("argmax", ["real[a: 2, b: N]"], {}, "nat < 2 * N"),
    ("argmin", ["real[.., b: N]"], {"axis": -1}, "nat[..] < N"),
    ("cumsum", ["real[a: 2, b: 3]"], {"axis": "a"}, "real[a: 2, b: 3]"),
    ("softmax", ["real[q: 3, 4]", "bool[k: 4]"], {}, "real[q: 3, k: 4]"),
    ("softmax", ["real[.., q: T, k: T]", "bool[q: T, k: T]"], {"axis": "k"}, "real[.., q: T, k: T]"),
    ("log_softmax", ["real[a: 2, b: 3]"], {"axis": ("a", "b")}, "real[a: 2, b: 3]"),
    ("cross_entropy", ["real[.., v: V]", "nat[..] < V"], {}, "real[..]"),
    ("cross_entropy", ["real[batch: B, 5]", "nat[batch: B] < 4"], {}, "real[batch: B]"),
    ("cross_entropy", ["real[v: 5, 2, 3]", "nat[a: 2, b: 3] < 5", "bool[v: 5]"], {"axis": 0}, "real[a: 2, b: 3]"),
]

CONTRACTIONS: list[tuple[str, list[str], dict[str, Any], str]] = [
    ("dot", ["real[.., I]", "real[I, O]"], {}, "real[.., O]"),
    ("dot", ["real[a: 2, k: 3]", "real[3]"], {}, "real[a: 2]"),
    ("dot", ["real[k: 3]", "real[k: 3]"], {}, "real"),
    ("matmul", ["real[b: B, i: 2, k: 3]", "real[3, j: 4]"], {}, "real[b: B, i: 2, j: 4]"),
    ("matmul", ["real[.., i: 2, k: 3]", "real[.., k: 3, j: 4]"], {}, "real[.., i: 2, j: 4]"),
    ("matmul", ["real[h: 2, b: 5, 2, 3]", "real[b: 5, h: 2, 3, 4]"], {}, "real[h: 2, b: 5, 2, 4]"),
    (
        "ein",
        ["real[b: B, q: T, d: 4]", "real[b: B, k: T, d: 4]"],
        {"out": (("b", "q", "k"),)},
        "real[b: B, q: T, k: T]",
    ),
    ("ein", ["real[i: 2, j: 3]", "real[k: 4]"], {"out": ((),)}, "real"),
    (
        "ein",
        ["real[2, 3]", "real[4, 3]"],
        {"out": (("j", "i"),), "labels": (("i", "k"), ("j", "k"))},
        "real[j: 4, i: 2]",
    ),
    (
        "ein",
        ["real[b: B, s: T, h: 4]", "real[b: B, s: T, h: 4]"],
        {"out": (("b", "s", "s2"),), "labels": (None, ("b", "s2", "h"))},
        "real[b: B, s: T, s2: T]",
    ),
    ("ein", ["real[.., i: 2]", "real[i: 2, j: 3]"], {"out": (("..", "j"),)}, "real[.., j: 3]"),
]

GATHERS: list[tuple[str, list[str], dict[str, Any], str]] = [
    ("embed", ["real[V, D]", "nat[batch: B, seq: T] < V"], {}, "real[batch: B, seq: T, D]"),
    ("embed", ["real[8, D]", "nat < 5"], {}, "real[D]"),
    ("embed", ["real[V, D]", "nat[..] < V"], {}, "real[.., D]"),
    ("embed", ["real[V, D]", "nat[..] < 3"], {}, "real[.., D]"),
    ("take", ["real[a: 2, b: 3, c: 4]", "nat[i: 5, j: 6] < 3"], {"axis": "b"}, "real[a: 2, i: 5, j: 6, c: 4]"),
    ("take", ["nat[a: 2, b: 3] < 9", "nat < 2"], {"axis": "a"}, "nat[b: 3] < 9"),
    ("take", ["bool[a: 2]", "nat[..] < 2"], {"axis": 0}, "bool[..]"),
    ("one_hot", ["nat[..] < K"], new("k: K"), "real[.., k: K]"),
    ("gather", ["real[a: 2, b: 3]", "nat[a: 2, 5] < 3"], {"axis": "b"}, "real[a: 2, b: 5]"),
    ("gather", ["real[2, b: 3]", "nat[b: 7, 2] < 3"], {"axis": "b"}, "real[2, b: 7]"),
    ("scatter_add", ["real[a: 9, b: 3]", "nat[i: 5] < 9", "real[i: 5, b: 3]"], {"axis": "a"}, "real[a: 9, b: 3]"),
    ("scatter_add", ["real[9]", "nat[i: 5] < 9", "nat < 2"], {"axis": 0}, "real[9]"),
    ("sort", ["real[.., a: 2]"], {}, "real[.., a: 2]"),
    ("top_k", ["real[b: 2, v: V]"], {"k": 3}, "(real[b: 2, v: 3], nat[b: 2, v: 3] < V)"),
    ("top_k", ["real[b: 2, v: V]"], {"k": 0, "axis": "b"}, "(real[b: 0, v: V], nat[b: 0, v: V] < 2)"),
]

LAYOUT: list[tuple[str, list[str], dict[str, Any], str]] = [
    ("split", ["real[a: 12, b: 2]"], {"axis": "a", **new("h: 3, d: ?")}, "real[h: 3, d: 4, b: 2]"),
    ("split", ["real[.., D]"], new("h: H, d: ?"), "real[.., h: H, d: D / H]"),
    ("split", ["real[.., D]"], new("h: H, d: D / H"), "real[.., h: H, d: D / H]"),
    ("split", ["nat[12] < 7"], new("3, 2, 2"), "nat[3, 2, 2] < 7"),
    ("split", ["real[a: 4, 0]"], new("3, d: ?"), "real[a: 4, 3, d: 0]"),
    ("merge", ["real[a: 2, b: 3, c: 4]"], {"axes": ("a", "b"), **new("f: ?")}, "real[f: 6, c: 4]"),
    ("merge", ["real[.., a: N, b: 3]"], {"axes": (-2, -1)}, "real[.., 3 * N]"),
    ("merge", ["real[a: 2, b: 3]"], {"axes": "a", **new("x: ?")}, "real[x: 2, b: 3]"),
    ("transpose", ["real[a: 2, 3, c: 4]"], {"order": ("c", "a", 1)}, "real[c: 4, a: 2, 3]"),
    ("transpose", ["real[.., a: 2, b: 3]"], {"order": ("b", "a")}, "real[.., b: 3, a: 2]"),
    ("transpose", ["real"], {"order": ()}, "real"),
    ("rename", ["real[.., a: 2, b: 3]"], {"names": (("a", "b"), ("b", "a"))}, "real[.., b: 2, a: 3]"),
    ("slice", ["real[a: 5, 2]"], {"axis": "a", "start": 1, "stop": 4}, "real[a: 3, 2]"),
    ("slice", ["real[a: T]"], {"axis": "a", "start": 1, "stop": 4}, "real[a: 3]"),
    ("slice", ["real[a: 5]"], {"axis": 0, "start": 5, "stop": 5}, "real[a: 0]"),
    ("pad", ["real[a: T]"], {"axis": "a", "before": 2, "value": rational(-1)}, "real[a: T + 2]"),
    ("pad", ["nat[a: 2] < 3"], {"axis": "a", "after": 1, "value": rational(7)}, "nat[a: 3] < 8"),
    ("pad", ["bool[a: 2]"], {"axis": "a", "after": 1, "value": rational(1)}, "bool[a: 3]"),
    ("flip", ["nat[a: 2, b: 3] < 5"], {"axis": "b"}, "nat[a: 2, b: 3] < 5"),
    ("split_heads", ["real[.., seq: T, D]"], {"heads": 4}, "real[.., seq: T, heads: 4, hd: D / 4]"),
    ("merge_heads", ["real[batch: B, heads: 4, hd: 8]"], {}, "real[batch: B, 32]"),
    ("merge_heads", ["real[.., 4, 8]"], {}, "real[.., 32]"),
    ("broadcast_to", ["real[n: N, d: 2]"], new("n: N, k: 3, d: 2"), "real[n: N, k: 3, d: 2]"),
    ("broadcast_to", ["real[d: 2]"], new("4, 2"), "real[4, d: 2]"),
    ("broadcast_to", ["real[.., d: 2]"], new(".., k: 3, d: 2"), "real[.., k: 3, d: 2]"),
    ("broadcast_to", ["bool"], new("3"), "bool[3]"),
    ("windows", ["real[y: 10, c: 2]"], {"axis": "y", "stride": 2, **new("k: 3")}, "real[y: 4, c: 2, k: 3]"),
    ("windows", ["real[y: 10]"], {"axis": 0, "dilation": 4, **new("3")}, "real[y: 2, 3]"),
    ("windows", ["real[.., y: N]"], {"axis": "y", **new("k: 3")}, "real[.., y: N - 2, k: 3]"),
    ("concat", ["real[a: 2, b: 3]", "real[b: 4, a: 2]"], {"axis": "b"}, "real[a: 2, b: 7]"),
    ("concat", ["real[.., 3]", "real[.., x: N]"], {"axis": -1}, "real[.., x: N + 3]"),
    ("concat", ["nat[2] < 3", "nat[2] < 5"], {"axis": 0}, "nat[4] < 5"),
    ("concat", ["nat[2] < 3", "real[2]"], {"axis": 0}, "real[4]"),
    ("stack", ["real", "nat < 2", "real"], new("s: ?"), "real[s: 3]"),
    ("stack", ["real[a: 2, b: 3]", "real[b: 3, 2]"], new("s: ?"), "real[s: 2, a: 2, b: 3]"),
    ("stack", ["bool[2]"], {}, "bool[1, 2]"),
    ("unstack", ["real[s: 3, a: N]"], {"axis": "s"}, "(real[a: N], real[a: N], real[a: N])"),
    ("unstack", ["real[s: 0]"], {"axis": "s"}, "()"),
]

CONSTANTS: list[tuple[str, list[str], dict[str, Any], str]] = [
    ("positions", [], new("seq: T"), "nat[seq: T] < T"),
    ("causal_mask", [], new("q: T, k: S"), "bool[q: T, k: S]"),
    ("zeros", [], new("a: 2, 3"), "real[a: 2, 3]"),
    ("zeros", [], new(""), "real"),
    ("ones", [], new("..,  3"), "real[.., 3]"),
    ("full", ["nat < 3"], new("a: 2"), "real[a: 2]"),
    ("eye", [], new("3, 4"), "real[3, 4]"),
    ("normal", [], {**new("a: 2"), "std": rational(3)}, "real[a: 2]"),
    ("uniform", [], {**new("a: 2"), "lo": rational(-1)}, "real[a: 2]"),
    ("dropout", ["real[.., 3]", "real"], {}, "real[.., 3]"),
    ("dropout_mask", ["real"], new("batch: 2, 3"), "real[batch: 2, 3]"),
    ("sample", ["real[batch: B, V]"], {}, "nat[batch: B] < V"),
    ("sample", ["real[batch: 2, v: 9]", "real", "real"], {"top_k": 3, "axis": "batch"}, "nat[v: 9] < 2"),
    ("stop_gradient", ["nat[a: 2] < 3"], {}, "nat[a: 2] < 3"),
    ("index", ["real[.., seq: T, 3]", "nat < T"], {"axis": "seq"}, "real[.., 3]"),
    ("index", ["real[seq: T]", "nat < 3"], {"axis": "seq"}, "real"),
    (
        "update_index",
        ["real[b: 2, s: T, d: 3]", "real[d: 3, b: 2]", "nat < T"],
        {"axis": "s"},
        "real[b: 2, s: T, d: 3]",
    ),
    ("update_index", ["real[s: T, d: 3]", "nat < 2", "nat < T"], {"axis": "s"}, "real[s: T, d: 3]"),
    ("update_index", ["nat[s: T] < 5", "nat < 7", "nat < T"], {"axis": "s"}, "nat[s: T] < 7"),
    ("update_slice", ["real[s: 9, d: 3]", "real[d: 3, s: 4]"], {"axis": "s", "start": 5}, "real[s: 9, d: 3]"),
]


@pytest.mark.parametrize(("name", "operands", "result"), ELEMENTWISE)
def test_elementwise(name: str, operands: list[str], result: str) -> None:
    assert typed(name, *operands) == result


@pytest.mark.parametrize(
    ("name", "operands", "given", "result"), [*REDUCTIONS, *CONTRACTIONS, *GATHERS, *LAYOUT, *CONSTANTS]
)
def test_rule(name: str, operands: list[str], given: dict[str, Any], result: str) -> None:
    assert typed(name, *operands, **given) == result


def test_total_takes_any_tree_of_reals() -> None:
    assert typed("total", "real[a: 2]") == "real"
    assert typed("total", TreeVariable("P")) == "real"
    assert typed("total", RecordOf((("x", tensor("real[2]")), ("y", TupleOf(()))))) == "real"
