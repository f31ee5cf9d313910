"""Compiled entries: calls, specialization, binding, initial parameters, errors."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import presk
from presk import ExactArray, PreskError, draw
from presk.run import registry

TEXT = """
module Linear{I, O} {
  w: real[I, O] = normal(std = 1 / sqrt(I))
  b: real[O] = zeros
  fn apply(self, x: real[batch, I]) -> real[batch, O] { dot(x, self.w) + self.b }
}
module Net { a: Linear{3, 3} * 2; none: Nothing; out: Linear{3, 1} with { b = ones } }
module Nothing { fn apply(self, x: real) -> real { x } }
fn mse(m: Linear{I, O}, x: real[batch, I], y: real[batch, O]) -> real { mean(square(m(x) - y)) }
fn deep(m: Net, x: real[batch, 3]) -> real[batch, 1] {
  let x = fold x = x over l in m.a { l(x) }
  m.out(x)
}
fn distill(teacher: Linear{3, 2}, student: Linear{3, 2}, x: real[batch, 3]) -> real {
  mean(square(teacher(x) - student(x)))
}
fn pick(t: nat[n] < V, table: real[V, d]) -> {rows: real[n, d], pair: (nat[n] < V, bool[n])} {
  {rows = embed(table, t), pair = (t, t < 1)}
}
fn affine(x: real[n], k: nat, p: real = 1 / 3, q: real = sqrt(2)) -> real[n] { x * p + q + k }
fn noise(x: real[batch, n]) -> real[batch, n] { dropout(x, 0.5) + normal[batch, n](std = 1) }
"""


@pytest.fixture(scope="module")
def program() -> presk.Program:
    return presk.loads(TEXT)


def compiled(program: presk.Program, entry: str, **options: Any) -> presk.Compiled:
    return presk.compile(program[entry], backend="interp", **options)


def refused(call: Any) -> PreskError:
    with pytest.raises(PreskError) as caught:
        call()
    return caught.value


PARAMETERS = {"w": np.arange(6.0).reshape(3, 2), "b": np.array([0.5, -0.5])}
X = np.arange(12.0).reshape(4, 3)


# Calls


def test_a_call_is_exact(program: presk.Program) -> None:
    y = compiled(program, "Linear{3, 2}.apply", certify=True)(PARAMETERS, X)
    assert isinstance(y, ExactArray)
    assert y.names == ("batch", None)
    np.testing.assert_array_equal(np.asarray(y), X @ PARAMETERS["w"] + PARAMETERS["b"])
    assert all(radius == 0 for radius in y.radius.ravel())


def test_arguments_are_given_by_place_or_name_and_fields_in_any_order(program: presk.Program) -> None:
    f = compiled(program, "Linear{3, 2}.apply")
    expected = np.asarray(f(PARAMETERS, X))
    swapped = dict(reversed(PARAMETERS.items()))
    for result in (f(PARAMETERS, x=X), f(self=swapped, x=X), f(x=X.tolist(), self=swapped)):
        np.testing.assert_array_equal(np.asarray(result), expected)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16, np.int64, np.uint8, ">f8"])
def test_every_element_type_means_its_values(program: presk.Program, kind: Any) -> None:
    f = compiled(program, "Linear{3, 2}.apply")
    np.testing.assert_array_equal(np.asarray(f(PARAMETERS, X.astype(kind))), np.asarray(f(PARAMETERS, X)))


def test_layouts_do_not_matter(program: presk.Program) -> None:
    f = compiled(program, "Linear{3, 2}.apply")
    expected = np.asarray(f(PARAMETERS, X))
    wide = np.zeros((8, 7))
    wide[::2, 1:7:2] = X
    for other in (np.asfortranarray(X), wide[::2, 1:7:2], X[::-1, ::-1][::-1, ::-1]):
        np.testing.assert_array_equal(np.asarray(f(PARAMETERS, other)), expected)


def test_exact_numbers_stay_exact(program: presk.Program) -> None:
    f = compiled(program, "affine")
    third = f(np.array([Fraction(1, 3)], dtype=object), 0, q=0)
    assert abs(third.mid[0] - mpmath.mpf(1) / 9) < mpmath.mpf(2) ** -50
    again = f(f([1], 0), 0, p=1, q=0)
    assert again.mid[0] == f([1], 0).mid[0]


def test_defaults_are_exact_and_sizes_may_be_given_as_arguments(program: presk.Program) -> None:
    f = compiled(program, "affine", bits=512)
    with mpmath.workprec(600):
        expected = mpmath.mpf(2) / 3 + mpmath.sqrt(2) + 7
        assert abs(f([2], 7).mid[0] - expected) < mpmath.mpf(2) ** -500
        assert abs(f([2], k=7).mid[0] - expected) < mpmath.mpf(2) ** -500
    assert float(f([2], k=7, p=0, q=1)[0]) == 8
    assert float(compiled(program, "affine", dims={"k": 7})([2], p=0, q=1)[0]) == 8


def test_a_default_may_name_what_its_module_and_its_file_know(tmp_path: Path) -> None:
    (tmp_path / "lib.psk").write_text(
        "const C = 5\nmodule M{I, s: real = 2} { w: real[I] = ones\n"
        "  fn f(self, p: real = s * I + C) -> real { sum(self.w) * p } }\n"
    )
    (tmp_path / "main.psk").write_text("from lib import M\nconst C = 100\n")
    f = presk.compile(presk.load(tmp_path / "main.psk")["M{3}.f"], backend="interp")
    assert float(f(f.init())) == 3 * (2 * 3 + 5)
    assert float(f(f.init(), p=1)) == 3


def test_trees_go_in_and_come_out(program: presk.Program) -> None:
    result = compiled(program, "pick")([2, 0], np.eye(3))
    np.testing.assert_array_equal(np.asarray(result["rows"]), np.eye(3)[[2, 0]])
    assert isinstance(result["pair"], tuple)
    assert result["pair"][0].tolist() == [2, 0]
    assert result["pair"][1].tolist() == [False, True]


def test_draws_are_decided_by_seed_step_and_row(program: presk.Program) -> None:
    f = compiled(program, "noise", training=True)
    x = np.ones((3, 4))
    assert np.array_equal(np.asarray(f(x, seed=1)), np.asarray(f(x, seed=1)))
    assert not np.array_equal(np.asarray(f(x, seed=1)), np.asarray(f(x, seed=2)))
    assert not np.array_equal(np.asarray(f(x, seed=1)), np.asarray(f(x, seed=1, step=1)))
    np.testing.assert_array_equal(np.asarray(f(x, seed=1))[2:], np.asarray(f(x[2:], seed=1, row_offset=2)))
    still = compiled(program, "noise")
    assert not np.array_equal(np.asarray(f(x, seed=1)), np.asarray(still(x, seed=1)))


# Initial and made-up values


def test_initial_parameters_are_the_draws_of_their_paths(program: presk.Program) -> None:
    tree = compiled(program, "deep").init(seed=9)
    assert list(tree) == ["a", "none", "out"]
    assert tree["none"] == {}
    assert tree["a"]["w"].shape == (2, 3, 3)
    assert tree["out"]["b"].tolist() == [1.0]
    for layer in range(2):
        key = draw.key(9, "init", "a.w", [layer])
        np.testing.assert_array_equal(
            tree["a"]["w"][layer], draw.normal(key, 0, (3, 3), std=float(1 / Decimal(3).sqrt()))
        )


def test_two_modules_are_drawn_apart(program: presk.Program) -> None:
    drawn = compiled(program, "distill").init(seed=0)
    assert list(drawn) == ["teacher", "student"]
    assert not np.array_equal(drawn["teacher"]["w"], drawn["student"]["w"])
    alone = compiled(program, "Linear{3, 2}.apply").init(seed=0)
    np.testing.assert_array_equal(drawn["teacher"]["w"], alone["w"])


def test_free_sizes_of_a_module_come_of_dims(program: presk.Program) -> None:
    assert refused(compiled(program, "mse").init).code == "E4001"
    assert compiled(program, "mse", dims={"I": 3, "O": 5}).init()["w"].shape == (3, 5)
    assert refused(compiled(program, "affine").init).code == "E4022"


def test_made_up_values_make_a_call(program: presk.Program) -> None:
    f = compiled(program, "mse", dims={"I": 3, "O": 2, "batch": 4})
    values = f.synthesize(seed=3)
    np.testing.assert_array_equal(values["m"]["w"], f.init(seed=3)["w"])
    np.testing.assert_array_equal(values["x"], draw.normal(draw.key(3, "input", "x"), 0, (4, 3), batch_axis=0))
    assert float(f(**values)) > 0
    given = compiled(program, "mse").synthesize(x=np.zeros((2, 3)), y=np.zeros((2, 1)))
    assert given["m"]["w"].shape == (3, 1)
    assert refused(lambda: compiled(program, "mse").synthesize()).code == "E4001"


# Specialization and binding


def test_a_specialization_is_kept_per_types(program: presk.Program) -> None:
    f = compiled(program, "Linear{3, 2}.apply")
    for x in (X, X[:2], X, X.astype(np.float32), X.tolist()):
        f(PARAMETERS, x)
    info = f.cache_info()
    assert (info.misses, info.currsize) == (2, 2)
    assert info.hits == 3


def test_the_least_recently_used_specialization_goes(program: presk.Program, monkeypatch: pytest.MonkeyPatch) -> None:
    from presk.api import specialize

    monkeypatch.setattr(specialize, "KEPT", 2)
    monkeypatch.setattr(specialize, "SHAPES_KEPT", 2)
    f = compiled(program, "Linear{3, 2}.apply")
    for rows in (1, 2, 1, 3, 1):
        f(PARAMETERS, X[:rows])
    assert f.cache_info().misses == 3
    f(PARAMETERS, X[:2])
    assert f.cache_info().misses == 4
    assert f.cache_info().currsize == 2


def test_calls_in_turn_run_what_their_shapes_want(program: presk.Program) -> None:
    """Also where a call is tried on the executables run last before its arguments are looked at."""
    f = presk.compile(program["Linear{3, 2}.apply"], backend="kernel", realize="f64")
    g = f.bind(PARAMETERS)
    wanted = {rows: np.asarray(f(PARAMETERS, X[:rows].tolist())) for rows in (1, 2, 3)}
    for rows in (1, 2, 1, 3, 3, 2):
        for found in (f(PARAMETERS, X[:rows]), g(X[:rows]), f(PARAMETERS, x=X[:rows])):
            assert found.tobytes() == wanted[rows].tobytes()
    assert f.cache_info().misses == 3
    assert refused(lambda: f(PARAMETERS, X[:, :2])).code == "E6001"
    assert refused(lambda: g(X, X)).code == "E6034"


def test_bound_parameters_give_the_same_and_are_checked_at_once(program: presk.Program) -> None:
    f = compiled(program, "mse")
    y = np.ones((4, 2))
    g = f.bind(PARAMETERS)
    assert float(g(X, y)) == float(g(y=y, x=X)) == float(f(PARAMETERS, X, y))
    assert float(f.bind(PARAMETERS, X)(y)) == float(f(PARAMETERS, X, y))
    assert refused(lambda: f.bind({"w": np.ones((3, 2))})).code == "E6030"
    assert refused(lambda: f.bind(x=X)).code == "E6034"
    assert refused(lambda: g(X)).code == "E6034"
    assert refused(lambda: g(X, y, m=PARAMETERS)).code == "E6034"
    assert refused(lambda: g(X[:, :2], y)).code == "E6001"


def test_bound_sizes_stay(program: presk.Program) -> None:
    g = compiled(program, "affine").bind([1.0, 2.0], 3)
    np.testing.assert_allclose(np.asarray(g(p=0, q=0)), [3, 3])


def test_a_compiled_pickles_and_copies(program: presk.Program) -> None:
    f = compiled(program, "deep", bits=100, certify=True)
    x = np.ones((1, 3))
    for again in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f)):
        assert again.settings == f.settings
        assert again(f.init(), x).mid.tolist() == f(f.init(), x).mid.tolist()


def test_threads_may_call_one_compiled(program: presk.Program) -> None:
    f = compiled(program, "Linear{3, 2}.apply")
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda n: np.asarray(f(PARAMETERS, X[: 1 + n % 4])).tolist(), range(24)))
    expected = np.asarray(f(PARAMETERS, X)).tolist()
    assert all(found == expected[: 1 + n % 4] for n, found in enumerate(rows))
    assert f.cache_info().currsize == 4


def test_a_compiled_shows_itself(program: presk.Program) -> None:
    f = compiled(program, "mse")
    assert repr(f) == "<presk.Compiled mse (interp, 15 digits proven)>"
    assert repr(compiled(program, "mse", bits=64)) == "<presk.Compiled mse (interp, 64 bits)>"
    assert repr(compiled(program, "mse", certify=False)) == "<presk.Compiled mse (interp, 256 bits, not proven)>"
    assert "mse" in f._repr_html_()
    assert f.parameters == ("m", "x", "y")
    assert f.modules == ("m",)


# The backend that runs


def test_the_default_is_the_fastest(program: presk.Program) -> None:
    assert presk.compile(program["mse"]).settings.backend == registry.fastest()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"backend": "gpu"}, "E9002"),
        ({"realize": "f16"}, "E7001"),
        ({"realize": "@r.json"}, "E8001"),
        ({"plan": "fast"}, "E7001"),
        ({"plan": "@p.json"}, "E8001"),
        ({"bits": 1}, "E6012"),
        ({"bits": 10**9}, "E6012"),
        ({"bits": "many"}, "E6034"),
        ({"digits": 0}, "E6014"),
        ({"digits": 10**7}, "E6014"),
        ({"digits": 20, "bits": 8192}, "E6014"),
        ({"digits": 20, "max_bits": 1}, "E6012"),
        ({"digits": 1.5}, "E6034"),
        ({"dims": {"batch": 1.5}}, "E6034"),
        ({"threads": 0}, "E9007"),
        ({"threads": "all"}, "E6034"),
    ],
)
def test_impossible_settings_are_refused_before_anything_runs(
    program: presk.Program, options: dict[str, Any], code: str
) -> None:
    assert refused(lambda: presk.compile(program["mse"], **{"backend": "interp", **options})).code == code


# Errors of a call


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({"w": np.ones((3, 2))}, ["lacks `b`"]),
        ({"w": np.ones((3, 2)), "bias": np.ones(2)}, ["lacks `b`", "no business with `bias`"]),
        ({"w": np.ones((2, 3)), "b": np.ones(3)}, ["`w` is [2, 3], and axis 0 of real[3, 2] is 3", "`b` is [3]"]),
        ({"w": np.ones((3, 2)), "b": {"x": 1}}, ["is a tree"]),
        (np.ones(3), ["one array"]),
        ([1, 2], ["one array"]),
        ((1, 2), ["lacks `w`, `b`"]),
    ],
)
def test_a_tree_that_is_another_is_listed(program: presk.Program, tree: Any, said: list[str]) -> None:
    error = refused(lambda: compiled(program, "Linear{3, 2}.apply")(tree, X))
    assert error.code == "E6030"
    for part in said:
        assert part in str(error)


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        ((PARAMETERS, np.ones((4, 2))), "E6001", "axis 1 of real[batch, 3] is 3"),
        ((PARAMETERS, np.ones(3)), "E6001", "has 2 axes"),
        ((PARAMETERS, X > 1), "E6001", "bool[4, 3]"),
        ((PARAMETERS, X + 1j), "E6001", "complex128"),
        ((PARAMETERS, [["a", "b", "c"]]), "E6001", "<U1"),
        ((PARAMETERS, [[1, 2, 3], [1]]), "E6001", "is no array"),
        ((PARAMETERS, [[1, 2, None]]), "E6001", "NoneType"),
        ((PARAMETERS, [[1, 2, 2**60]]), "E6001", "beyond 2⁵³"),
        ((PARAMETERS, [[1, 2, np.nan]]), "E6007", "[batch = 0, 2]"),
        ((PARAMETERS, [[1, np.inf, 1]]), "E6007", "inf"),
        ((PARAMETERS, X, X), "E6034", "3 arguments"),
        ((PARAMETERS,), "E6034", "lacks `x`"),
        ((), "E6034", "lacks `self`, `x`"),
    ],
)
def test_an_argument_that_does_not_fit_is_a_diagnostic(
    program: presk.Program, args: tuple[Any, ...], code: str, said: str
) -> None:
    error = refused(lambda: compiled(program, "Linear{3, 2}.apply")(*args))
    assert error.code == code
    assert said in str(error)


def test_an_index_out_of_range_names_place_and_value(program: presk.Program) -> None:
    error = refused(lambda: compiled(program, "pick")([0, 5], np.eye(3)))
    assert error.code == "E6002"
    assert "`t` at [n = 1] is 5" in str(error)
    assert refused(lambda: compiled(program, "pick")([0.5], np.eye(3))).code == "E6001"
    assert refused(lambda: compiled(program, "pick")([-1], np.eye(3))).code == "E6002"


def test_sizes_that_contradict_each_other_are_refused(program: presk.Program) -> None:
    f = compiled(program, "mse")
    assert refused(lambda: f(PARAMETERS, X, np.ones((3, 2)))).code == "E6001"
    g = compiled(program, "Linear{3, 2}.apply", dims={"batch": 7})
    assert refused(lambda: g(PARAMETERS, X)).code == "E6001"
    assert refused(lambda: compiled(program, "affine")([1])).code == "E4001"
    assert refused(lambda: compiled(program, "affine")([1], k=-1)).code == "E4004"
    assert refused(lambda: compiled(program, "affine")([1], k="3")).code == "E6034"
    assert refused(lambda: compiled(program, "affine")([1], k=10**5000)).code == "E6034"
    assert refused(lambda: compiled(program, "affine", dims={"z": 1})([1], 2)).code == "E4008"


def test_a_name_that_is_none_gets_a_hint(program: presk.Program) -> None:
    error = refused(lambda: compiled(program, "affine")([1], 2, r=1))
    assert error.code == "E6034"
    error = refused(lambda: compiled(program, "mse")(PARAMETERS, X, Y=X))
    assert error.hint == "it takes m, x, y"


def test_a_value_past_the_memory_is_refused_before_it_is_made(program: presk.Program) -> None:
    f = compiled(program, "affine")
    vast = np.broadcast_to(np.float64(1), (1 << 40,))
    assert refused(lambda: f(vast, 1)).code == "E9004"


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["w", "b", "0", "x"]) | st.integers(0, 2), inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.lists(inner, max_size=4).map(lambda each: np.array(each, dtype=object))
    ),
    max_leaves=12,
)


@given(ANYTHING, ANYTHING)
def test_whatever_is_passed_is_taken_or_a_diagnostic(program: presk.Program, first: Any, second: Any) -> None:
    codes: set[str] = set()
    for entry in ("Linear{3, 2}.apply", "pick"):
        f = compiled(program, entry)
        for args in ((first, second), (PARAMETERS, second), (first, X)):
            try:
                f(*args)
            except PreskError as error:
                codes.add(error.code)
    assert {code[:2] for code in codes} <= {"E4", "E6"}
