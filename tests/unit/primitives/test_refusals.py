"""What each primitive's rule refuses: the code, and a message that names the axis and the shapes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.primitives.building import axes_of, tensor, typed

from presk.primitives.table import Misfit
from presk.shapes.constants import rational
from presk.shapes.types import RecordOf, Type


def new(text: str) -> dict[str, Any]:
    return {"new": axes_of(text)}


TREE = RecordOf((("n", tensor("nat < 3")),))

ARGUMENTS: list[tuple[str, list[str | Type], dict[str, Any], str, str]] = [
    ("sum", ["bool[3]"], {}, "E3001", "`x` of sum must be real, not bool[3]"),
    ("exp", ["bool"], {}, "E3001", "must be real, not bool"),
    ("eq", ["bool", "bool"], {}, "E3001", "must be real, not bool"),
    ("and", ["real", "bool"], {}, "E3001", "`x` of and must be bool, not real"),
    ("where", ["bool", "real", "bool"], {}, "E3001", "operands of one kind, not bool and real"),
    ("embed", ["real[3, 2]", "real[4]"], {}, "E3001", "`idx` of embed must be nat, not real[4]"),
    ("dropout", ["real[2]", "real[2]"], {}, "E3001", "`p` of dropout must be a scalar, not real[2]"),
    ("exp", [TREE], {}, "E3001", "a tensor is wanted here, not {n: nat < 3}"),
    ("total", [TREE], {}, "E3001", "total adds reals, and leaf `n` of the tree is nat < 3"),
    ("total", ["bool"], {}, "E3001", "the operand is bool"),
    ("exp", [], {}, "E3002", "exp takes 1 operand, not 0"),
    ("add", ["real"] * 3, {}, "E3002", "add takes 2 operands, not 3"),
    ("softmax", ["real[2]"] * 3, {}, "E3002", "softmax takes 1 to 2 operands, not 3"),
    ("concat", [], {"axis": 0}, "E3002", "concat takes at least 1 operand, not 0"),
    ("stack", [], {}, "E3002", "stack takes at least 1 operand, not 0"),
    ("sum", ["real[2]"], {"axes": 0}, "E3002", "sum has no keyword `axes`"),
    ("take", ["real[2]", "nat < 2"], {}, "E3002", "take needs `axis`"),
    ("zeros", [], {}, "E3002", "zeros needs new axes in brackets"),
    ("exp", ["real"], new("3"), "E3002", "exp takes no axes in brackets"),
    ("argmax", ["real[2]"], {"ties": "middle"}, "E3002", "`ties` must be one of last, first"),
    ("cumsum", ["real[2, 3]"], {"axis": (0, 1)}, "E3002", "`axis` takes one axis here, not 2"),
    ("top_k", ["real[2]"], {"k": "two"}, "E3002", "must be a whole number known"),
    ("top_k", ["real[2]"], {"k": -1}, "E3002", "`k` must be a whole number from 0"),
    ("pad", ["real[2]"], {"axis": 0, "value": 1}, "E3002", "`value` of pad must be a real constant"),
    ("positions", [], new("2, 3"), "E3002", "positions takes one new axis, not [2, 3]"),
    ("eye", [], new("2"), "E3002", "eye takes 2 new axes, not [2]"),
    ("one_hot", ["nat < 2"], new("2, 3"), "E3002", "one_hot takes one new axis, not [2, 3]"),
    ("windows", ["real[4]"], {"axis": 0, **new("2, 3")}, "E3002", "windows takes one new axis"),
    ("split", ["real[12]"], new("a: ?, b: ?"), "E3002", "at most one new axis of split may be a bare name"),
    ("split", ["real[12]"], new(""), "E3002", "split needs new axes in brackets"),
    ("constant", [], {"c": rational(1)}, "E3002", "constant(c) initializes a parameter and is no expression"),
    ("ein", ["real[a: 2]", "real[a: 2]"], {}, "E3002", "ein needs the axes that stay in brackets"),
    ("rename", ["real[a: 2]"], {"names": ()}, "E3002", "rename takes at least one pair"),
    ("rename", ["real[a: 2]"], {"names": (("a", "b"), ("a", "c"))}, "E3002", "axis `a` is renamed twice"),
]

ALIGNMENT: list[tuple[str, list[str | Type], dict[str, Any], str, str]] = [
    ("add", ["real[a: 2]", "real[a: 3]"], {}, "E3003", "axis `a` has size 3 in [a: 3] and 2 in [a: 2]"),
    ("softmax", ["real[a: 2]", "bool[b: 3, a: 2]"], {}, "E3003", "bool[b: 3, a: 2] has more axes than real[a: 2]"),
    ("cross_entropy", ["real[b: 3, 5]", "nat[c: 2, b: 3] < 5"], {}, "E3003", "has more axes than the rows of"),
    ("argmax", ["real[.., 3]"], {}, "E3003", "depend on the sizes `..` stands for"),
    (
        "dot",
        ["real[a: 2, k: 3]", "real[k: 4]"],
        {},
        "E3003",
        "axis `k` of real[a: 2, k: 3] with axis `k` of real[k: 4]",
    ),
    ("dot", ["real[k: 3]", "real[j: 3]"], {}, "E3003", "and the names differ"),
    ("dot", ["real[a: 2, 3]", "real[3, a: 2]"], {}, "E3003", "two axes of [a: 2, a: 2] would be named `a`"),
    ("dot", ["real", "real[3]"], {}, "E3003", "dot contracts an axis, and real has none"),
    ("dot", ["real[3]", "real[..]"], {}, "E3003", "which axis of real[..] dot contracts depends"),
    ("matmul", ["real[2, 3]", "real[3]"], {}, "E3003", "matmul wants two last axes of real[3]"),
    ("matmul", ["real[a: 2, i: 2, 3]", "real[a: 4, 3, 5]"], {}, "E3003", "axis `a` has size 4"),
    ("ein", ["real[2]", "real[a: 2]"], {"out": ((),)}, "E3003", "ein goes by names, and axis 0 of real[2] has none"),
    ("ein", ["real[a: 2]", "real[a: 3]"], {"out": ((),)}, "E3003", "axis `a` of ein has size 2 in one operand and 3"),
    ("ein", ["real[a: 2]", "real[b: 3]"], {"out": (("a", "a"),)}, "E3003", "`a` occurs twice in the output"),
    ("ein", ["real[a: 2]", "real[b: 3]"], {"out": ((),), "labels": (("x", "y"), None)}, "E3003", "ein has 2 labels"),
    ("ein", ["real[2, 2]", "real[b: 3]"], {"out": ((),), "labels": (("x", "x"), None)}, "E3003", "`x` occurs twice"),
    ("ein", ["real[.., a: 2]", "real[a: 2]"], {"out": ((),)}, "E3003", "`..` must stay the first axis"),
    ("ein", ["real[a: 2]", "real[b: 3]"], {"out": (("c",),)}, "E3004", "an axis `c` that is in neither operand"),
    ("embed", ["real[..]", "nat < 2"], {}, "E3003", "embed looks up along a table's first axis"),
    ("embed", ["real[5, a: 2]", "nat[a: 3] < 5"], {}, "E3003", "would be named `a`"),
    ("take", ["real[a: 2, b: 3]", "nat[..] < 3"], {"axis": "b"}, "E3003", "can't stand behind others"),
    ("gather", ["real[a: 2, b: 3]", "nat[b: 3] < 3"], {"axis": "b"}, "E3003", "has not as many axes"),
    ("gather", ["real[a: 2, b: 3]", "nat[a: 4, b: 3] < 3"], {"axis": "b"}, "E3003", "axis `a` has size 2"),
    ("scatter_add", ["real[9, b: 3]", "nat[5] < 9", "real[4, 3]"], {"axis": 0}, "E3003", "of size 4, meets"),
    (
        "split",
        ["real[a: 12]"],
        new("h: 3, d: 5"),
        "E3003",
        "axis `a` of real[a: 12] has size 12, and [h: 3, d: 5] has 15",
    ),
    ("split", ["real[a: 12, h: 2]"], {"axis": "a", **new("h: 3, d: 4")}, "E3003", "would be named `h`"),
    ("merge", ["real[a: 2, b: 3, c: 4]"], {"axes": ("a", "c")}, "E3003", "given: axis `a`, axis `c`"),
    ("merge", ["real[a: 2, b: 3]"], {"axes": ("b", "a")}, "E3003", "given: axis `b`, axis `a`"),
    ("merge", ["real[a: 2]"], {"axes": ()}, "E3003", "given: none"),
    ("merge", ["real[a: 2, b: 3]"], {"axes": ("a", "b"), **new("f: 5")}, "E3003", "one axis of size 6, not [f: 5]"),
    ("transpose", ["real[a: 2, b: 3]"], {"order": ("a",)}, "E3003", "transpose wants all axes of real[a: 2, b: 3]"),
    ("rename", ["real[a: 2, b: 3]"], {"names": (("a", "b"),)}, "E3003", "would be named `b`"),
    ("rename", ["real[seq: 2]"], {"names": (("sq", "b"),)}, "E3004", "real[seq: 2] has no axis `sq`"),
    ("merge_heads", ["real[heads: 2, seq: 3, hd: 4]"], {}, "E3003", "doesn't end in them"),
    ("merge_heads", ["real[hd: 4]"], {}, "E3003", "doesn't end in them"),
    ("split_heads", ["real[..]"], {"heads": 2}, "E3003", "real[..] has none that is known"),
    ("broadcast_to", ["real[a: 2, b: 3]"], new("a: 2"), "E3003", "broadcast_to can't place real[a: 2, b: 3] in [a: 2]"),
    ("broadcast_to", ["real[a: 1]"], new("a: 2"), "E3003", "axis `a` has size 1"),
    ("concat", ["real[a: 2, b: 3]", "real[a: 4, b: 3]"], {"axis": "b"}, "E3003", "axis `a` has size 2"),
    ("stack", ["real[a: 2]", "real"], new("s: ?"), "E3003", "real has not as many axes as [a: 2]"),
    ("stack", ["real[a: 2]"], new("a: ?"), "E3003", "would be named `a`"),
    ("stack", ["real[..]"], new("s: ?"), "E3003", "stack's axis comes first, and real[..] begins with `..`"),
    ("zeros", [], new("a: 2, a: 3"), "E3003", "would be named `a`"),
    ("update_index", ["real[s: 4]", "real[d: 2]", "nat < 4"], {"axis": "s"}, "E3003", "the slice at axis `s`"),
    ("update_slice", ["real[s: 4, d: 2]", "real[s: 2]"], {"axis": "s", "start": 0}, "E3003", "not as many axes"),
]

NUMBERS: list[tuple[str, list[str | Type], dict[str, Any], str, str]] = [
    ("unstack", ["real[s: N]"], {"axis": "s"}, "E3005", "the size N of axis `s` of real[s: N] is not a number here"),
    ("unstack", ["real[s: 5000]"], {"axis": "s"}, "E3020", "unstack makes at most 4096 pieces, not 5000"),
    ("embed", ["real[V, 2]", "nat < W"], {}, "E3007", "nat < W can't index axis 0 of real[V, 2]"),
    ("index", ["real[t: 8]", "nat < 9"], {"axis": "t"}, "E3007", "its values may reach 8, past the size 8"),
    ("take", ["real[t: T]", "nat[2] < T + 1"], {"axis": "t"}, "E3007", "its values may reach T, past the size T"),
    ("one_hot", ["nat < 5"], new("k: 4"), "E3007", "can't index the new axis [k: 4]"),
    ("cross_entropy", ["real[b: 2, v: 5]", "nat[b: 2] < 6"], {}, "E3007", "the row [v: 5] of real[b: 2, v: 5]"),
    ("max", ["real[a: 0, b: 2]"], {}, "E3020", "max has no value where axis `a` of real[a: 0, b: 2] is empty"),
    ("argmin", ["real[a: 2, 0]"], {"axis": -1}, "E3020", "argmin has no value where axis 1"),
    ("sample", ["real[0]"], {}, "E3020", "sample has no value where axis 0"),
    ("top_k", ["real[v: 3]"], {"k": 4}, "E3020", "top_k can't take 4 elements of axis `v` of real[v: 3], of size 3"),
    ("slice", ["real[a: 5]"], {"axis": "a", "start": 1, "stop": 6}, "E3020", "the slice 1..6 is not within axis `a`"),
    ("slice", ["real[a: 5]"], {"axis": "a", "start": 3, "stop": 2}, "E3020", "the slice 3..2 is not within axis `a`"),
    ("update_slice", ["real[a: 5]", "real[a: 3]"], {"axis": 0, "start": 3}, "E3020", "the slice 3..6 is not within"),
    ("windows", ["real[y: 4]"], {"axis": "y", **new("k: 5")}, "E3020", "and a window reaches over 5"),
    ("windows", ["real[y: 4]"], {"axis": "y", "dilation": 2, **new("k: 3")}, "E3020", "a window reaches over 5"),
    ("windows", ["real[y: 4]"], {"axis": "y", "stride": 0, **new("k: 2")}, "E3020", "stride must be at least 1"),
    ("windows", ["real[y: 4]"], {"axis": "y", **new("k: 0")}, "E3020", "a window must have at least one element"),
    ("normal", [], {**new("2"), "std": rational(-1)}, "E3020", "std of normal must not be negative"),
    ("uniform", [], {**new("2"), "hi": rational(-1)}, "E3020", "lo of uniform must be below hi"),
    ("uniform", [], {**new("2"), "lo": rational(1)}, "E3020", "lo of uniform must be below hi"),
    ("pad", ["nat[2] < 3"], {"axis": 0, "value": rational(-1)}, "E3001", "not a whole number from 0"),
    ("pad", ["bool[2]"], {"axis": 0, "value": rational(2)}, "E3001", "0 (false) or 1 (true), not 2"),
    (
        "split",
        ["real[a: 10]"],
        new("h: 4, d: ?"),
        "E4003",
        "axis `a` of real[a: 10] has size 10, which 4 does not divide",
    ),
    ("split", ["real[a: 10]"], new("h: 0, d: ?"), "E4006", "can't be divided by 0"),
    ("split_heads", ["real[10]"], {"heads": 4}, "E4003", "axis 0 of real[10] has size 10, which 4 does not divide"),
    ("zeros", [], new("a: 1 / 2"), "E4004", "the new axis `a` would have the size 1/2"),
]


@pytest.mark.parametrize(("name", "operands", "given", "code", "message"), [*ARGUMENTS, *ALIGNMENT, *NUMBERS])
def test_refused(name: str, operands: list[str | Type], given: dict[str, Any], code: str, message: str) -> None:
    with pytest.raises(Misfit) as caught:
        typed(name, *operands, **given)
    assert caught.value.code == code, caught.value.message
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("name", "operands", "hint"),
    [
        ("sum", ["bool[3]"], "`where(m, 1, 0)`"),
        ("add", ["real[1, 3]", "real[2, 3]"], "`broadcast_to[…](x)`"),
        ("dot", ["real[k: 3]", "real[j: 3]"], "`rename(x, k = j)`"),
        ("add", ["real"], "add(x: number, y: number)"),
    ],
)
def test_hints(name: str, operands: list[str], hint: str) -> None:
    with pytest.raises(Misfit) as caught:
        typed(name, *operands)
    assert hint in (caught.value.hint or "")
