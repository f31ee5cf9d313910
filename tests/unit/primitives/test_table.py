"""The table is whole, its rows make sense, and the page made from it is current."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from presk.primitives.all import TABLE
from presk.primitives.signature import positional, show_signature
from presk.primitives.table import Primitive
from presk.syntax.lexer import KEYWORDS

LANGUAGE = """
neg abs square sqrt rsqrt recip exp expm1 log log1p tanh sin cos erf erfc sigmoid softplus relu gelu gelu_tanh silu sign
floor add sub mul div pow maximum minimum eq ne lt le gt ge and or not where
sum mean max min prod any all argmax argmin logsumexp cumsum total
softmax log_softmax cross_entropy dot matmul ein embed take one_hot gather scatter_add sort top_k
split merge transpose rename slice concat stack unstack pad flip split_heads merge_heads broadcast_to windows
positions causal_mask zeros ones full eye normal uniform dropout sample constant stop_gradient
""".split()
"""Every primitive of the language, by family."""

INTERNAL = {"index", "update_index", "update_slice", "dropout_mask"}


def test_every_primitive_of_the_language_is_there() -> None:
    assert not [name for name in LANGUAGE if name not in TABLE]
    assert not [name for name in LANGUAGE if TABLE[name].internal]


def test_every_other_row_is_internal() -> None:
    others = {name for name in TABLE if name not in LANGUAGE}
    assert others >= INTERNAL
    assert all(TABLE[name].internal for name in others)


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
def test_a_row_makes_sense(row: Primitive) -> None:
    assert TABLE[row.name] is row
    assert re.fullmatch(r"[a-z][a-z0-9_]*", row.name)
    assert row.doc.endswith(".")
    assert row.family
    operands = [operand.name for operand in row.operands]
    keywords = [keyword.name for keyword in row.keywords]
    assert len({*operands, *keywords}) == len(operands) + len(keywords)
    assert set(positional(row)) <= {*operands, *keywords}
    for operand in row.operands[:-1]:
        assert not operand.variadic
        assert not operand.optional
    for keyword in row.keywords:
        if keyword.kind in ("axis", "axes", "order"):
            assert keyword.of < len(row.operands)
        if keyword.kind == "word":
            assert keyword.default in keyword.words
        if keyword.required:
            assert keyword.default is None
        elif keyword.default is None:
            assert keyword.kind == "axes"


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
def test_a_signature_names_every_argument(row: Primitive) -> None:
    text = show_signature(row)
    assert text.startswith(row.name)
    assert ("[" in text) == (row.new_axes != "none")
    for argument in (*row.operands, *row.keywords):
        assert argument.name in text or (row.name, argument.name) == ("rename", "names")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("softmax", "softmax(x: real, axis = -1, mask = none)"),
        ("top_k", "top_k(x: real, k: nat, axis = -1, ties = last | first)"),
        ("concat", "concat(x: alike, …, axis = name)"),
        ("positions", "positions[name: size]"),
        ("rename", "rename(x: any, old = new, …)"),
        ("full", "full[name: size, …](c: scalar real)"),
    ],
)
def test_signatures(name: str, text: str) -> None:
    assert show_signature(TABLE[name]) == text


def test_no_primitive_is_called_like_a_keyword_but_the_operators() -> None:
    assert {name for name in TABLE if name in KEYWORDS} <= {"and", "or", "not"}


def test_the_page_is_current(root: Path) -> None:
    command = [sys.executable, str(root / "tools" / "primitives.py"), "--check"]
    ran = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
