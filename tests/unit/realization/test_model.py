"""Realizations and plans as data: short names, files, round trips, and everything their schemas refuse."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presk.realization.frozen import DEPTH_LIMIT
from presk.realization.model import MIXED, NAMES, RULES, Plan, Realization, read_plan, read_realization
from presk.realization.schema import KINDS, schema
from presk.text.diagnostics import PreskError
from presk.text.spans import Source

FULL = {
    "entry": "loss",
    "core": "sha256:" + "0a" * 32,
    "default": "f32",
    "storage": {"loss/%17": "bf16", "loss/logits": "f64"},
    "accum": {"loss/%17": "f32"},
    "order": {"kind": "interleaved", "partials": 8},
    "params": {"blocks.ff.up.w": "bf16"},
    "quant": {"head.w": {"type": "int8", "axis": 1}},
    "fma": True,
}
"""A realization that uses every key."""

NEST = {
    "form": "tiled",
    "tile": [2, 4],
    "kblock": 32,
    "rows": "none",
    "order": "KIJ",
    "lanes": 4,
    "pack": True,
    "epilogue": False,
    "passes": 2,
    "split": {"depth": 1, "workers": 2},
}
PLAN = {
    "entry": "loss",
    "core": FULL["core"],
    "realization": "f32",
    "layout": {"loss/%2": NEST, "f/y": {"split": "none"}},
}


def realization(text: str) -> Realization:
    return Realization.parse(Source("r.json", text))


def plan(text: str) -> Plan:
    return Plan.parse(Source("p.json", text))


# Short names


@pytest.mark.parametrize("name", NAMES)
def test_a_short_name_reads_back(name: str) -> None:
    assert read_realization(name).name == name
    assert read_realization(name).is_uniform == (name != MIXED)


def test_names_mean_types_and_fma() -> None:
    assert read_realization("bf16") == Realization("bf16", fma=False) == realization('{"default": "bf16"}')
    assert read_realization("f32+fma") == Realization("f32", fma=True)
    assert [read_plan(rule).rule for rule in RULES] == list(RULES)


@pytest.mark.parametrize("text", ["", "f16", "f32 ", "bf16+fma", "F32", "f32+fma+fma", "\ud800", None, 3, ["f32"]])
def test_other_names_are_refused(text: str) -> None:
    for read in (read_realization, read_plan):
        with pytest.raises(PreskError) as caught:
            read(text)
        assert caught.value.code == "E7001"
        assert caught.value.hint


# Files


def test_every_key_goes_to_a_file_and_back(tmp_path: Path) -> None:
    made = Realization(**FULL)  # type: ignore[arg-type]
    assert made.json() == FULL
    made.write(tmp_path / "r.json")
    assert Realization.read(tmp_path / "r.json") == made == read_realization(f"@{tmp_path / 'r.json'}")
    assert json.loads((tmp_path / "r.json").read_text()) == FULL

    laid = Plan(**PLAN)  # type: ignore[arg-type]
    assert (laid.rule, laid.json()) == ("default", PLAN)
    laid.write(tmp_path / "p.json")
    assert Plan.read(tmp_path / "p.json") == laid == read_plan(f"@{tmp_path / 'p.json'}")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for read in (read_realization, read_plan):
        for name in ("@", f"@{tmp_path}", f"@{tmp_path / 'missing.json'}", "@\0"):
            with pytest.raises(PreskError) as caught:
                read(name)
            assert caught.value.code == "E8001"
    with pytest.raises(PreskError) as caught:
        Realization().write(tmp_path / "no" / "r.json")
    assert caught.value.code == "E8002"


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    for data, code in (
        (b'{"default": "\xff"}', "E1001"),
        (b'{\x00"default": "f32"}', "E1002"),
        (b"\xff\xfe{\0}\0", "E1001"),
    ):
        (tmp_path / "r.json").write_bytes(data)
        with pytest.raises(PreskError) as caught:
            Realization.read(tmp_path / "r.json")
        assert caught.value.code == code
    (tmp_path / "r.json").write_bytes(b"\xef\xbb\xbf{}")
    assert Realization.read(tmp_path / "r.json") == Realization()


def test_the_rule_auto_has_no_file(tmp_path: Path) -> None:
    with pytest.raises(PreskError) as caught:
        Plan("auto").write(tmp_path / "p.json")
    assert caught.value.code == "E7001"
    Plan("default").write(tmp_path / "p.json")
    assert Plan.read(tmp_path / "p.json") == Plan("default")


# As data


def test_what_is_said_decides_equality_and_hash() -> None:
    one, other = (
        Realization(storage={"f/%1": "f64", "f/%2": "bf16"}),
        Realization(storage={"f/%2": "bf16", "f/%1": "f64"}),
    )
    assert one == other
    assert hash(one) == hash(other)
    assert one.hash == other.hash
    assert one != Realization(storage={"f/%1": "f64"})
    assert Realization(entry="f").hash == Realization().hash != one.hash
    assert Realization(storage={}) == Realization()
    assert Plan(layout={"f/%1": {"tile": (2, 4)}}) == Plan(layout={"f/%1": {"tile": [2, 4]}})


def test_a_name_tells_mixed_realizations_apart() -> None:
    one, other = Realization("bf16", storage={"f/%1": "f64"}), Realization("bf16", storage={"f/%2": "f64"})
    assert one.name.startswith("bf16~")
    assert one.name != other.name
    assert not one.is_uniform


@pytest.mark.parametrize("made", [Realization(), Realization(**FULL), Plan(), Plan(**PLAN)])  # type: ignore[arg-type]
def test_pickling_keeps_everything(made: Realization | Plan) -> None:
    copy = pickle.loads(pickle.dumps(made))
    assert copy == made
    assert hash(copy) == hash(made)
    assert getattr(copy, "name", None) == getattr(made, "name", None)


def test_what_was_given_may_change_afterwards() -> None:
    given = {"f/%1": "f64"}
    made = Realization(storage=given)
    given["f/%1"] = "bf16"
    assert made.storage["f/%1"] == "f64"
    with pytest.raises(AttributeError):
        made.default = "f64"  # type: ignore[misc]


# What schemas refuse


@pytest.mark.parametrize(
    ("text", "says", "points_at"),
    [
        ('{"defalt": "f32"}', "has no key `defalt`", '"defalt"'),
        ('{"default": "f16"}', "`default` can't be `f16`", '"f16"'),
        ('{"default": null}', "`default` can't be null", "null"),
        ('{"storage": {"f/%1": "int8"}}', '`storage["f/%1"]` can\'t be `int8`', '"int8"'),
        ('{"storage": ["f/%1"]}', "`storage` is an object, not a list", '["f/%1"]'),
        ('{"accum": {"f/%1": "f16"}}', "can't be `f16`", '"f16"'),
        ('{"order": {"kind": "pairwise"}}', "`order.kind` can't be `pairwise`", '"pairwise"'),
        ('{"order": {"kind": "interleaved"}}', "`order` lacks `partials`", '{"kind": "interleaved"}'),
        ('{"order": {"kind": "sequential", "width": 2}}', "`order` has no key `width`", '"width"'),
        ('{"order": {"kind": "blocked", "width": 0}}', "`order.width` is 0, below 1", "0"),
        ('{"order": {"f/%1": {"kind": "interleaved", "partials": 1e9}}}', "above 4096", "1e9"),
        ('{"order": "sequential"}', "`order` is an object, not `sequential`", '"sequential"'),
        ('{"order": {"f/%1": {}}}', '`order["f/%1"]` lacks `kind`', "{}"),
        ('{"params": {"w": "int8"}}', "`params.w` can't be `int8`", '"int8"'),
        ('{"quant": {"w": {"type": "int2", "axis": 0}}}', "can't be `int2`", '"int2"'),
        ('{"quant": {"w": {"type": "int8"}}}', "`quant.w` lacks `axis`", '{"type": "int8"}'),
        ('{"quant": {"w": {"type": "int8", "axis": -1}}}', "is -1, below 0", "-1"),
        ('{"quant": {"w": {"type": "int8", "axis": 1.5}}}', "is a whole number, not 1.5", "1.5"),
        ('{"quant": {"w": {"type": "int8", "axis": true}}}', "is a whole number, not true", "true"),
        ('{"fma": 1}', "`fma` is a bool, not 1", "1"),
        ('{"core": "sha256:12"}', "`core` can't be `sha256:12`", '"sha256:12"'),
        ('{"entry": ""}', "`entry` is empty", '""'),
        ("[]", "a realization is an object, not a list", "[]"),
        ('"f32"', "a realization is an object, not `f32`", '"f32"'),
        # no JSON
        ("", "a value is missing", ""),
        ('{"default": "f32"', "`}` is missing", ""),
        ('{"default": "f32",}', "a key is missing", "}"),
        ('{"default" "f32"}', "`:` is missing", '"'),
        ('{"default": "f32"} {}', "more behind the end", "{"),
        ('{"default": "f32", "default": "f64"}', "the key `default` stands here twice", '"default"'),
        ('{"fma": NaN}', "`NaN` is no JSON value", "NaN"),
        ('{"fma": -Infinity}', "a value is missing", "-"),
        ('{"fma": 1e999}', "beyond what a double holds", "1e999"),
        ('{"fma": ' + "9" * 5000 + "}", "a number of 5000 characters", "9" * 5000),
        ('{"default": "f32\\ud800"}', "half of a surrogate pair", '"f32\\ud800"'),
        ('{"default": "f32\n"}', "has no end on its line", '"'),
        ("{'default': 'f32'}", "a key is missing", "'"),
        ('{"a": ' + "[" * 100_000, f"more than {DEPTH_LIMIT} levels", "["),
    ],
)
def test_a_breach_of_a_realization_is_named_and_pointed_at(text: str, says: str, points_at: str) -> None:
    with pytest.raises(PreskError) as caught:
        realization(text)
    assert caught.value.code == "E7001"
    assert says in caught.value.diagnostics[0].message
    assert caught.value.span is not None
    assert caught.value.span.text == points_at


@pytest.mark.parametrize(
    ("layout", "says"),
    [
        ('{"tiles": [1, 1]}', "has no key `tiles`"),
        ('{"form": "columns"}', "can't be `columns`"),
        ('{"tile": [2]}', "has 1 elements, not 2"),
        ('{"tile": [2, 4, 4]}', "has 3 elements, not 2"),
        ('{"tile": [2, 0]}', "is 0, below 1"),
        ('{"tile": 4}', "is a list, not 4"),
        ('{"kblock": "all"}', "can't be `all`"),
        ('{"kblock": 0}', "below 1"),
        ('{"rows": false}', "is a whole number, not false"),
        ('{"order": "JJ"}', "can't be `JJ`"),
        ('{"lanes": "wide"}', "is a whole number, not `wide`"),
        ('{"pack": 1}', "can't be 1"),
        ('{"epilogue": "bias"}', "is a bool, not `bias`"),
        ('{"split": "all"}', "can't be `all`"),
        ('{"split": {"workers": 2}}', "lacks `depth`"),
        ('{"split": {"depth": 0, "workers": 0}}', "below 1"),
        ('{"split": {"depth": 0, "threads": 2}}', "has no key `threads`"),
        ("[]", "is an object, not a list"),
    ],
)
def test_a_breach_of_a_plan_is_named(layout: str, says: str) -> None:
    with pytest.raises(PreskError) as caught:
        plan(f'{{"layout": {{"f/%1": {layout}}}}}')
    assert caught.value.code == "E7001"
    assert says in caught.value.diagnostics[0].message


def test_all_breaches_are_told_in_the_order_of_the_text() -> None:
    with pytest.raises(PreskError) as caught:
        realization('{"fma": 2, "storage": {"f/%1": "f8"}, "default": "f16", "extra": 1}')
    assert [each.span.text for each in caught.value.diagnostics if each.span] == ["2", '"f8"', '"f16"', '"extra"']


def test_a_parameter_has_one_type() -> None:
    with pytest.raises(PreskError) as caught:
        realization('{"params": {"w": "f32"}, "quant": {"w": {"type": "int4", "axis": 0}}}')
    assert caught.value.code == "E7001"


CIRCLE: dict[str, object] = {}
CIRCLE["f/%1"] = CIRCLE


@pytest.mark.parametrize(
    "wrong",
    [
        {"default": "f16"},
        {"default": ["f32"]},
        {"fma": 1},
        {"storage": {3: "f32"}},
        {"storage": {"f/%1": 10**5000}},
        {"storage": [("f/%1", "f32")]},
        {"storage": CIRCLE},
        {"storage": {"\ud800": "f32"}},
        {"quant": {"w": {"type": "int8", "axis": float("nan")}}},
        {"params": {"w": object()}},
        {"entry": 3},
        {"order": None},
    ],
)
def test_python_is_held_to_the_same_schema(wrong: dict[str, object]) -> None:
    with pytest.raises(PreskError) as caught:
        Realization(**wrong)  # type: ignore[arg-type]
    assert caught.value.code == "E7001"


def test_a_plan_of_layouts_is_not_auto() -> None:
    for wrong in (
        {"rule": "fast"},
        {"rule": "auto", "layout": {"f/%1": {}}},
        {"layout": 3},
        {"layout": None},
        {"realization": ""},
    ):
        with pytest.raises(PreskError) as caught:
            Plan(**wrong)  # type: ignore[arg-type]
        assert caught.value.code == "E7001"


def keywords(part: object) -> set[str]:
    """The keywords that a schema checks data with."""
    if isinstance(part, list):
        return set().union(*(keywords(each) for each in part)) if part else set()
    if not isinstance(part, dict):
        return set()
    found: set[str] = set()
    for key, each in part.items():
        if key in ("properties", "$defs"):
            found |= set().union(*(keywords(inner) for inner in each.values()))
        else:
            found |= {key} | (keywords(each) if key not in ("enum", "const") else set())
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_a_sentence_for_every_keyword_of_the_schemas(kind: str) -> None:
    from presk.realization import schema as module

    silent = {"$schema", "$ref", "title", "description", "if", "then", "else", "allOf", "items", "const"}
    used = keywords(schema(kind)) - silent - {"additionalProperties"}
    assert used <= set(module._SENTENCES)  # pyright: ignore[reportPrivateUsage]


FLOATS = st.sampled_from(["f64", "f32", "bf16"])
SITES = st.dictionaries(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1), FLOATS, max_size=3)
ORDERS = st.one_of(
    st.just({"kind": "sequential"}),
    st.builds(lambda width: {"kind": "blocked", "width": width}, st.integers(1, 4096)),
    st.builds(lambda partials: {"kind": "interleaved", "partials": partials}, st.integers(1, 4096)),
)
QUANT = st.fixed_dictionaries({"type": st.sampled_from(["int8", "int4"]), "axis": st.integers(0, 31)})
REALIZATIONS = st.builds(
    Realization,
    default=FLOATS,
    fma=st.booleans(),
    storage=SITES,
    accum=SITES,
    order=st.one_of(ORDERS, st.dictionaries(st.sampled_from(["f/%1", "g/y"]), ORDERS)),
    params=st.dictionaries(st.sampled_from(["a.w", "b"]), FLOATS),
    quant=st.dictionaries(st.sampled_from(["c.w", "d"]), QUANT),
    entry=st.none() | st.just("f"),
)


@given(REALIZATIONS)
def test_any_realization_reads_back(made: Realization) -> None:
    for indent in (None, 2):
        again = realization(json.dumps(made.json(), indent=indent))
        assert again == made
        assert again.hash == made.hash
