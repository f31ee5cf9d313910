"""Realizations and plans held against entries: what each key means, and what doesn't fit one."""

from __future__ import annotations

from typing import Any

import pytest

from presk.check.program import loads
from presk.core.bind import bind
from presk.core.hash import core_hash
from presk.core.nodes import Program
from presk.core.sites import sites
from presk.realization.model import Plan, Realization
from presk.realization.parameters import leaves_of
from presk.realization.resolve import SiteNumbers, require_workers, resolve
from presk.text.diagnostics import PreskError

TEXT = """\
module Lin{I, O} { w: real[I, O] = normal(std = 1); b: real[O] = zeros
  fn apply(self, x: real[.., I]) -> real[.., O] { let y = dot(x, self.w); y + self.b } }
module Net { blocks: Lin{4, 4} * 3; head: Lin{4, 3}; scale: real = ones
  fn apply(self, x: real[batch, 4]) -> real[batch, 3] {
    let h = fold x = x over b in self.blocks { relu(b(x)) }
    self.head(h) * self.scale } }
fn step(p: Net, g: Net, s: {m: Net, n: nat[k: 2] < 5}, lr: real[1]) -> real {
  total(p) + total(g) + total(s.m) + sum(lr) + sum(s.n) }
fn norms(x: real[n, k: 5]) -> real[n, k: 5] { let p = softmax(x, axis = k); exp(p) }
"""


def entry(name: str, **dims: int) -> Program:
    return bind(loads(TEXT), name, dims=dims)


NET = entry("Net.apply", batch=2)
NUMBERS = {site.key: (site.function, site.number) for site in sites(NET)}


def refused(realization: Realization, plan: Plan | None = None, program: Program = NET) -> str:
    with pytest.raises(PreskError) as caught:
        resolve(realization, plan or Plan(), program)
    return f"{caught.value.code}: {caught.value.diagnostics[0].message} / {caught.value.hint}"


def test_what_is_not_said_is_the_default() -> None:
    found = resolve(Realization("bf16"), Plan(), NET)
    assert not found.sites
    assert not found.layouts
    assert not found.parameters
    assert found.others == SiteNumbers("bf16", None, None)


def test_a_key_is_a_number_or_a_name() -> None:
    by_name = resolve(Realization(storage={"Lin{4, 3}.apply/y": "f64"}), Plan(), NET)
    number = next(at for function, at in NUMBERS.values() if function == "Lin{4, 3}.apply")
    by_number = resolve(Realization(storage={f"Lin{{4, 3}}.apply/%{number}": "f64"}), Plan(), NET)
    assert by_name == by_number
    assert by_name.sites == {("Lin{4, 3}.apply", number): SiteNumbers("f64", None, None)}


def test_a_bare_function_means_every_instantiation_and_one_of_them_goes_before_it() -> None:
    for storage in (
        {"Lin.apply/y": "f64", "Lin{4, 3}.apply/y": "bf16"},
        {"Lin{4, 3}.apply/y": "bf16", "Lin.apply/y": "f64"},
    ):
        found = resolve(Realization(storage=storage), Plan(), NET).sites
        assert {function: said.storage for (function, _), said in found.items()} == {
            "Lin{4, 4}.apply": "f64",
            "Lin{4, 3}.apply": "bf16",
        }


def test_two_things_said_of_one_site_are_refused_unless_they_agree() -> None:
    number = next(at for function, at in NUMBERS.values() if function == "Lin{4, 3}.apply")
    twice = {"Lin.apply/y": "f64", f"Lin.apply/%{number}": "bf16"}
    assert "E7001" in refused(Realization(storage=twice))
    agreeing = dict.fromkeys(twice, "f64")
    assert len(resolve(Realization(storage=agreeing), Plan(), NET).sites) == 2


def test_storage_accumulation_and_order_meet_at_a_site() -> None:
    made = Realization(
        storage={"Lin{4, 4}.apply/y": "f64"},
        accum={"Lin{4, 3}.apply/y": "f64"},
        order={"Lin.apply/y": {"kind": "interleaved", "partials": 4}},
    )
    found = {function: said for (function, _), said in resolve(made, Plan(), NET).sites.items()}
    assert found == {
        "Lin{4, 4}.apply": SiteNumbers("f64", 4, None),
        "Lin{4, 3}.apply": SiteNumbers("f32", 4, "f64"),
    }


@pytest.mark.parametrize(
    ("order", "partials"),
    [
        ({"kind": "sequential"}, None),
        ({"kind": "blocked", "width": 8}, None),
        ({"kind": "interleaved", "partials": 1}, None),
        ({"kind": "interleaved", "partials": 8}, 8),
    ],
)
def test_one_order_for_all(order: dict[str, Any], partials: int | None) -> None:
    assert resolve(Realization(order=order), Plan(), NET).others.partials == partials


def test_a_row_group_with_a_softmax_has_an_order() -> None:
    program = entry("norms", n=2)
    (site,) = sites(program)
    made = Realization(order={site.key: {"kind": "interleaved", "partials": 2}})
    assert resolve(made, Plan(), program).sites[site.function, site.number].partials == 2


def test_layouts_by_site() -> None:
    plan = Plan(layout={"Lin.apply/y": {"lanes": 1}})
    found = resolve(Realization(), plan, NET).layouts
    assert {function for function, _ in found} == {"Lin{4, 4}.apply", "Lin{4, 3}.apply"}


# Parameters


def test_paths_leave_out_arguments_and_layers() -> None:
    leaves = leaves_of(entry("step"))
    assert [leaf.full for leaf in leaves[:5]] == ["p.blocks.w", "p.blocks.b", "p.head.w", "p.head.b", "p.scale"]
    assert leaves[0].name == "blocks.w"
    assert (leaves[0].layers, leaves[0].tensor.sizes) == (1, (4, 4))
    assert [leaf.name for leaf in leaves[-3:]] == ["m.scale", "n", "lr"]
    found = resolve(Realization(params={"blocks.w": "bf16", "m.head.b": "f64", "lr": "bf16"}), Plan(), entry("step"))
    assert {path: said.type for path, said in found.parameters.items()} == {
        "p.blocks.w": "bf16",
        "g.blocks.w": "bf16",
        "s.m.head.b": "f64",
        "lr": "bf16",
    }


def test_axes_are_those_of_one_layer() -> None:
    found = resolve(Realization(quant={"blocks.w": {"type": "int8", "axis": 1}}), Plan(), NET).parameters
    (said,) = found.values()
    assert (said.type, said.axis, said.leaf.layers) == ("int8", 1, 1)


# E7002


def test_condition_1_sites_and_parameters_that_are_not_there() -> None:
    for made in (
        Realization(storage={"Lin.apply/%99": "f64"}),
        Realization(accum={"Lin{5, 5}.apply/y": "f64"}),
        Realization(order={"nothing": {"kind": "sequential"}}),
        Realization(params={"head.v": "bf16"}),
        Realization(params={"self.head.w": "bf16"}),
        Realization(quant={"head.w": {"type": "int8", "axis": 2}}),
        Realization(quant={"scale": {"type": "int8", "axis": 0}}),
        Realization(quant={"blocks": {"type": "int8", "axis": 0}}),
    ):
        assert "E7002" in refused(made)
        assert "(condition 1)" in refused(made)
    assert "(condition 1)" in refused(Realization(), Plan(layout={"Lin.apply/z": {}}))
    assert "(condition 1)" in refused(Realization(params={"n": "f32"}), program=entry("step"))
    assert "did you mean `head.w`" in refused(Realization(params={"head.v": "bf16"}))
    assert "its sites: " in refused(Realization(storage={"Lin{4, 3}.apply/%99": "f64"}))


def test_a_member_of_a_group_is_no_site() -> None:
    program = entry("norms", n=2)
    assert "(condition 1)" in refused(Realization(storage={"norms/p": "f64"}), program=program)


def test_condition_5_workers() -> None:
    plan = Plan(layout={"f/%1": {"split": {"depth": 0, "workers": 3}}, "f/%2": {"split": "none"}, "f/%3": {"lanes": 1}})
    require_workers(plan, 3)
    require_workers(plan, 6)
    require_workers(plan, 7)
    for machine in (1, 2, 5, 8):
        with pytest.raises(PreskError) as caught:
            require_workers(plan, machine)
        assert caught.value.code == "E7002"
        assert "f/%1" in str(caught.value)
        assert "(condition 5)" in str(caught.value)
    require_workers(Plan(layout={"f/%1": {"split": {"depth": 0}}}), 8)


def test_condition_9_an_order_without_a_sum_and_a_number_in_bf16() -> None:
    relu = next(key for key, (function, _) in NUMBERS.items() if function == "Net.apply")
    assert "(condition 9)" in refused(Realization(order={relu: {"kind": "interleaved", "partials": 2}}))
    assert "(condition 9)" in refused(Realization(params={"scale": "bf16"}))
    assert resolve(Realization(params={"scale": "f64"}), Plan(), NET).parameters["self.scale"].type == "f64"


def test_condition_10_files_of_other_entries_cores_and_realizations() -> None:
    resolve(
        Realization(entry="Net.apply", core=core_hash(NET)), Plan("", {}, "f32", "Net . apply", core_hash(NET)), NET
    )
    other = core_hash(entry("Net.apply", batch=3))
    for made, plan in (
        (Realization(entry="Net.step"), Plan()),
        (Realization(core=other), Plan()),
        (Realization(), Plan(entry="step")),
        (Realization(), Plan(core=other)),
        (Realization(), Plan(realization="f64")),
        (Realization(fma=True), Plan(realization="f32")),
    ):
        assert "E7002" in refused(made, plan)
        assert "(condition 10)" in refused(made, plan)
    mixed = Realization(storage={"Lin.apply/y": "f64"})
    resolve(mixed, Plan(realization=mixed.name), NET)
