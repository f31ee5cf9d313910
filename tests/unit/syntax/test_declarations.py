"""Every declaration: what the tree holds, doc comments, entries."""

from __future__ import annotations

import pytest
from tests.unit.syntax.trees import PROGRAMS, shape

from presk.syntax import tree
from presk.syntax.parser import parse, parse_entry, parse_or_raise
from presk.text.diagnostics import PreskError
from presk.text.spans import Source


def one(text: str) -> tree.Declaration:
    file = parse_or_raise(Source("x", text))
    assert len(file.declarations) == 1
    return file.declarations[0]


def type_of(text: str) -> tree.TypeExpr:
    function = one(f"fn f(x: {text}) {{ x }}")
    assert isinstance(function, tree.Function)
    return function.parameters[0].type


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_library_and_the_examples_parse(path) -> None:
    file, found = parse(Source(path.name, path.read_text("utf-8")))
    assert [each.render() for each in found] == []
    assert file.declarations


@pytest.mark.parametrize(
    ("text", "target", "is_path", "alias", "names"),
    [
        ("import nn", "nn", False, None, None),
        ("import nn as n", "nn", False, "n", None),
        ("from nn import Linear,\n  LayerNorm", "nn", False, None, ["Linear", "LayerNorm"]),
        ('import "models/bert.psk" as bert', "models/bert.psk", True, "bert", None),
        ('from "a.psk" import B', "a.psk", True, None, ["B"]),
    ],
)
def test_imports(text: str, target: str, is_path: bool, alias: str | None, names: list[str] | None) -> None:
    found = one(text)
    assert isinstance(found, tree.Import)
    assert (found.target, found.is_path, found.alias) == (target, is_path, alias)
    assert names == (None if found.names is None else [name for name, _ in found.names])


def test_a_module() -> None:
    module = one(
        "module M{I, O: nat, eps: real = 1e-5} {\n"
        "  w: real[I, O] = normal(std = 1 / sqrt(I)); b: real[O]\n"
        "  head: Linear{I, O} with { w = zeros, inner.b = ones, }\n"
        "  blocks: Block * L\n"
        "  fn apply(self, x: real[.., I], p: real = 0.1) -> real[.., O] { x }\n"
        "  fn size() { I }\n"
        "}"
    )
    assert isinstance(module, tree.Module)
    assert [(each.name, each.kind, each.default is None) for each in module.parameters] == [
        ("I", "nat", True),
        ("O", "nat", True),
        ("eps", "real", False),
    ]
    assert [each.name for each in module.members] == ["w", "b", "head", "blocks"]
    assert [change.path for change in module.members[2].overrides] == [("w",), ("inner", "b")]
    assert isinstance(module.members[3].type, tree.StackedType)
    apply, size = module.functions
    assert (apply.takes_self, size.takes_self) == (True, False)
    assert [each.name for each in apply.parameters] == ["x", "p"]
    assert size.result is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("real", tree.TensorType),
        ("nat < N + 1", tree.TensorType),
        ("nat[batch, seq: T] < V", tree.TensorType),
        ("bool[.., n]", tree.TensorType),
        ("(real, nat < 3)", tree.TupleType),
        ("()", tree.TupleType),
        ("(real,)", tree.TupleType),
        ("{x: real[n],\n y: nat}", tree.RecordType),
        ("nn.Linear{3, eps = 2}", tree.NamedType),
        ("Cache * L", tree.StackedType),
        ("(nat < 3) * L * 2", tree.StackedType),
        ("fn(real[s], real) -> real[s]", tree.FunctionType),
    ],
)
def test_types(text: str, kind: type) -> None:
    assert isinstance(type_of(text), kind)


def test_a_bound_takes_the_whole_product() -> None:
    bound = type_of("nat[k] < V * L")
    assert isinstance(bound, tree.TensorType)
    assert isinstance(bound.bound, tree.Operation)
    assert shape(type_of("(real)")) == shape(type_of("real"))


def test_a_result_with_a_bound_before_the_body() -> None:
    function = one("fn f(x: real[n]) -> nat[n] < k { argmin(x) }")
    assert isinstance(function, tree.Function)
    assert isinstance(function.result, tree.TensorType)
    assert shape(function.result.bound) == ("Name", None, "k")


def test_tree_variables() -> None:
    function = one("fn step[P, Q](p: P, g: Q) -> (P, Q) { (p, g) }")
    assert isinstance(function, tree.Function)
    assert function.tree_variables == ("P", "Q")


def test_a_train_block() -> None:
    train = one('train t {\n  x = [1, "a", [drop]]; last = drop\n  lr = cosine(peak = 3e-4)\n}')
    assert isinstance(train, tree.Train)
    assert [item.key for item in train.items] == ["x", "last", "lr"]
    assert isinstance(train.items[0].value, tree.ListLiteral)


def test_doc_comments_belong_to_the_next_declaration() -> None:
    file = parse_or_raise(
        Source(
            "x",
            "# plain\n## One.\n##\n##  Two.\n# between\nconst A = 1 ## trailing\nconst B = 2\n### banner\n"
            "module M {\n  ## Weight.\n  w: real; b: real\n  ## Function.\n  fn f() { 1 }\n  ## nothing follows\n}\n"
            "## Last.\n;train t { }",
        )
    )
    const_a, const_b, module, train = file.declarations
    assert isinstance(const_a, tree.Const)
    assert isinstance(const_b, tree.Const)
    assert isinstance(module, tree.Module)
    assert isinstance(train, tree.Train)
    assert (const_a.doc, const_b.doc, module.doc, train.doc) == ("One.\n\n Two.", "", "", "Last.")
    assert [member.doc for member in module.members] == ["Weight.", ""]
    assert module.functions[0].doc == "Function."


@pytest.mark.parametrize(
    ("text", "names", "arguments", "trees"),
    [
        ("mse", ["mse"], [None], 0),
        ("Linear{3, 2}.apply", ["Linear", "apply"], [2, None], 0),
        ("nn.Linear{I, O}.apply", ["nn", "Linear", "apply"], [None, 2, None], 0),
        ("adamw.step[MiniGPT]", ["adamw", "step"], [None, None], 1),
        ("step[{m: Linear{1, 2}, v: real[3]}, P]", ["step"], [None], 2),
        ("  Linear{ 3 , eps = 1e-5 } . apply ", ["Linear", "apply"], [2, None], 0),
    ],
)
def test_entries(text: str, names: list[str], arguments: list[int | None], trees: int) -> None:
    entry = parse_entry(text)
    assert [part.name for part in entry.parts] == names
    assert [None if part.arguments is None else len(part.arguments) for part in entry.parts] == arguments
    assert len(entry.trees) == trees


@pytest.mark.parametrize(
    "text", ["", "a.", "a b", "Linear{3", "f(x)", "1", "a[", "a.b{", "a\0", "fn", "a..b", "a[x y]"]
)
def test_entries_that_are_none(text: str) -> None:
    with pytest.raises(PreskError) as error:
        parse_entry(text)
    assert error.value.code.startswith("E1")
    assert error.value.render()
