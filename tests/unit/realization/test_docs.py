"""The page on realizations and plans names every key and condition, and its examples are valid."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from presk.realization.model import NAMES, RULES, Plan, Realization
from presk.realization.schema import KINDS, schema
from presk.text.codes import all_codes
from presk.text.spans import Source


@pytest.fixture(scope="module")
def page() -> str:
    return (Path(__file__).parents[3] / "docs" / "realizations.md").read_text("utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_is_explained(page: str, kind: str) -> None:
    found = schema(kind)
    keys = set(found["properties"]) | set(found["$defs"].get("nest", {}).get("properties", {}))
    missing = {key for key in keys if f"`{key}`" not in page}
    assert not missing
    assert all(f"`{name}`" in page for name in (*NAMES, *RULES))


def test_every_condition_is_told(page: str) -> None:
    assert [int(number) for number in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)] == list(range(1, 11))
    paragraph = all_codes()["E7002"].paragraph
    assert all(f" {number}, " in paragraph for number in range(1, 11))


def test_the_examples_follow_the_schemas(page: str) -> None:
    texts = [
        each.replace("sha256:…", "sha256:" + "0" * 64) for each in re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    ]
    assert len(texts) == 2
    assert Realization.parse(Source("page", texts[0])).json().keys() >= {"quant", "params", "accum"}
    assert Plan.parse(Source("page", texts[1])).json() == json.loads(texts[1])
