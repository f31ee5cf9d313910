"""Sites and the hash: what realizations and plans go by."""

from __future__ import annotations

from pathlib import Path

import pytest

from presk.check.program import load, loads
from presk.core.bind import bind
from presk.core.hash import core_hash
from presk.core.names import bare
from presk.core.reader import read_program
from presk.core.sites import NoSite, Site, find_sites, sites

TEXT = """
fn Linear{3, 2}.apply(%0 : real[3, 2], %1 : real[b: 4, 3]) -> real[b: 4, 2] {
  %2 = dot(%1, %0)
  %3 out = exp(%2)
  %3
}
fn Linear{2, 5}.apply(%0 : real[2, 5], %1 : real[b: 4, 2]) -> real[b: 4, 5] {
  %2 = dot(%1, %0)
  %3 out = exp(%2)
  %3
}
fn Linear{2, 5}.apply@b=1(%0 : real[2, 5], %1 : real[b: 1, 2]) -> real[b: 1, 5] {
  %2 = dot(%1, %0)
  %3 out = exp(%2)
  %3
}
fn main(%0 : real[3, 2], %1 : real[2, 5], %2 : real[b: 4, 3], %3 : real[b: 1, 2]) -> (real[b: 4, 5], real[5, b: 1]) {
  %4 = call Linear{3, 2}.apply(%0, %2)
  %5 = call Linear{2, 5}.apply(%1, %4)
  %6 = call Linear{2, 5}.apply@b=1(%1, %3)
  %7 h = transpose(%6, order = (1, b))
  %8 = exp(%7)
  %9 h = exp(%8)
  %10 = rename(%5, b = c)
  %11 = rename(%10, c = b)
  %12 = sort(%9, axis = 0)
  %13 h = neg(%12)
  %14 = (%11, %13)
  %14
}
"""
SITES = sites(read_program(TEXT))


def test_sites_are_the_roots_that_run() -> None:
    assert [site.key for site in SITES if site.function == "main"] == ["main/%9", "main/%12", "main/%13"]


def test_the_tutorials_site(examples: Path) -> None:
    program = bind(load(examples / "tutorial" / "03_attention.psk"), "scores", dims={"B": 1, "T": 4})
    assert "scores/%2" in [site.key for site in sites(program)]


@pytest.mark.parametrize(
    ("key", "keys"),
    [
        ("main/%9", ["main/%9"]),
        ("Linear{3, 2}.apply/%3", ["Linear{3, 2}.apply/%3"]),
        ("Linear{3, 2}.apply/out", ["Linear{3, 2}.apply/%3"]),
        ("Linear{2, 5}.apply/out", ["Linear{2, 5}.apply/%3"]),
        ("Linear{2, 5}.apply@b=1/out", ["Linear{2, 5}.apply@b=1/%3"]),
        ("Linear.apply/%2", ["Linear{3, 2}.apply/%2", "Linear{2, 5}.apply/%2", "Linear{2, 5}.apply@b=1/%2"]),
        ("Linear.apply/out", ["Linear{3, 2}.apply/%3", "Linear{2, 5}.apply/%3", "Linear{2, 5}.apply@b=1/%3"]),
    ],
)
def test_keys_find_their_sites(key: str, keys: list[str]) -> None:
    assert [site.key for site in find_sites(SITES, key)] == keys


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("main", "is no site"),
        ("main/", "is no site"),
        ("/%3", "is no site"),
        ("mian/%9", "no function `mian`"),
        ("main/%8", "no site `%8`"),
        ("main/%99", "no site `%99`"),
        ("main/logits", "no site `logits`"),
        ("main/h", "names several sites"),
        ("Linear.apply/%9", "no site `%9`"),
    ],
)
def test_keys_that_mean_nothing_say_so(key: str, words: str) -> None:
    with pytest.raises(NoSite) as caught:
        find_sites(SITES, key)
    assert words in caught.value.message
    assert caught.value.hint


def test_a_function_without_groups_in_its_name_means_further_bindings_too() -> None:
    known = [Site("g", 1, None), Site("g@T=1", 1, None)]
    assert [site.key for site in find_sites(known, "g/%1")] == ["g/%1", "g@T=1/%1"]


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("scores", "scores"),
        ("Linear{16, 48}.apply", "Linear.apply"),
        ("nn.Linear{16, (1 / 3)}.apply@T=1", "nn.Linear.apply"),
        ("adamw.step[{m: Net{3}}]", "adamw.step"),
    ],
)
def test_bare_names(name: str, short: str) -> None:
    assert bare(name) == short


def hashed(text: str) -> str:
    return core_hash(bind(loads(text), "f", dims={"n": 3}))


def test_formatting_comments_and_local_names_do_not_count() -> None:
    plain = hashed("fn f(x: real[n]) -> real[n] { let y = exp(x); y * 2 }")
    assert plain == hashed("# a comment\nfn f(x: real[n]) -> real[n] {\n\n  let z = exp(x)\n  z * 2\n}\n")
    assert plain.startswith("sha256:")
    assert len(plain) == 71


@pytest.mark.parametrize(
    "other",
    [
        "fn f(x: real[n]) -> real[n] { let y = exp(x); y * 3 }",
        "fn f(x: real[n]) -> real[n] { let y = expm1(x); y * 2 }",
        "fn f(x: real[m: n]) -> real[m: n] { let y = exp(x); y * 2 }",
    ],
)
def test_what_is_computed_counts(other: str) -> None:
    assert hashed(other) != hashed("fn f(x: real[n]) -> real[n] { let y = exp(x); y * 2 }")


def test_the_hash_is_fixed() -> None:
    """Realizations and certificates in files hold it: it changes only with the form of Core's text."""
    program = read_program("fn f(%0 : real[a: 2]) -> real {\n  %1 y = exp(%0)\n  %2 = sum(%1)\n  %2\n}\n")
    assert core_hash(program) == "sha256:64cf22b3776ca7e8b3a29f590b16e4770554e90c8a403865cd053c074a90bf0d"
