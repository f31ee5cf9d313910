"""Arrays of other libraries: read in place through DLPack, given back in kind, refused where presk would harm them."""

from __future__ import annotations

import sys
from decimal import Decimal
from fractions import Fraction
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from presk.api.arrays import incoming
from presk.exact.values import ExactArray
from presk.text.diagnostics import PreskError


class Foreign:
    """An array of a library that is not NumPy: nothing but DLPack, as PyTorch's tensors have it."""

    def __init__(
        self, held: np.ndarray, device: int = 1, requires_grad: bool = False, dtype: str | None = None
    ) -> None:
        self.held = held
        self.kind = device
        self.requires_grad = requires_grad
        self.device = {1: "cpu", 2: "cuda:0"}[device]
        self.dtype = dtype or f"library.{held.dtype.name}"

    def __dlpack__(self, **options: Any) -> Any:
        return self.held.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, 0

    def view(self, dtype: Any) -> Foreign:
        if dtype == "bfloat16":
            return Foreign(self.held.view(np.int16), dtype="library.bfloat16")
        return Foreign(self.held.view(dtype))


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module Foreign seems to come from."""
    made = ModuleType("library")
    made.from_dlpack = lambda array: Foreign(np.from_dlpack(array))
    made.int16, made.bfloat16 = np.int16, "bfloat16"
    monkeypatch.setitem(sys.modules, "library", made)
    monkeypatch.setattr(Foreign, "__module__", "library.tensors")
    return made


def test_a_foreign_array_is_a_view_of_the_same_memory() -> None:
    held = np.arange(6.0).reshape(2, 3)
    taken = incoming("x", {"a": (Foreign(held.T),)})
    view = taken.tree["a"][0]
    assert np.shares_memory(view, held)
    np.testing.assert_array_equal(view, held.T)


def test_results_are_given_back_in_the_first_arrays_library() -> None:
    taken = incoming("x", (1.0, Foreign(np.ones(2)), np.ones(3)))
    assert taken.has_arrays
    assert taken.give is not None
    back = taken.give(np.array([1.5, 2.5]))
    assert isinstance(back, Foreign)
    np.testing.assert_array_equal(back.held, [1.5, 2.5])
    assert isinstance(taken.give(np.broadcast_to(1.0, (3,))), Foreign), "an array that can't be written is copied"
    assert incoming("x", (np.ones(3), Foreign(np.ones(2)))).give is None
    assert not incoming("x", (1.0, [2.0])).has_arrays


def test_bfloat16_passes_both_ways_as_its_bits() -> None:
    halves = np.array([1.5, -0.25], ml_dtypes.bfloat16)
    taken = incoming("x", Foreign(halves.view(np.int16), dtype="library.bfloat16"))
    assert taken.tree.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(taken.tree, halves)
    assert taken.give is not None
    assert taken.give(halves).dtype == "library.bfloat16"


def test_exact_results_stay_exact() -> None:
    taken = incoming("x", Foreign(np.ones(2)))
    exact = ExactArray.from_floats(np.ones(2))
    assert taken.give is not None
    assert taken.give(exact) is exact


def test_numbers_and_lists_become_arrays() -> None:
    taken = incoming("x", {"a": 1, "b": [[1, 2]], "c": Fraction(1, 3), "d": Decimal("0.1"), "e": np.float32(2)}).tree
    assert taken["a"].shape == ()
    assert taken["b"].dtype == np.int64
    assert taken["c"].dtype == object
    assert taken["d"].item() == Fraction(1, 10)
    assert taken["e"].dtype == np.float32


@pytest.mark.parametrize(
    ("array", "hint"),
    [
        (Foreign(np.ones(2), device=2), "cpu()"),
        (Foreign(np.ones(2), requires_grad=True), "detach()"),
        (np.ma.masked_array([1.0, 2.0], [True, False]), "filled"),
    ],
)
def test_what_would_be_moved_or_lost_is_refused_with_a_way_out(array: Any, hint: str) -> None:
    with pytest.raises(PreskError) as caught:
        incoming("x", {"a": array})
    assert caught.value.code == "E6032"
    assert "`x.a`" in str(caught.value)
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("failure", [TypeError, ValueError, RuntimeError, BufferError])
def test_a_library_that_fails_is_a_diagnostic(failure: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Foreign, **options: Any) -> Any:
        raise failure("no")

    monkeypatch.setattr(Foreign, "__dlpack__", refuse)
    with pytest.raises(PreskError) as caught:
        incoming("x", Foreign(np.ones(2)))
    assert caught.value.code == "E6032"
    monkeypatch.setattr(Foreign, "__dlpack_device__", refuse)
    with pytest.raises(PreskError) as caught:
        incoming("x", Foreign(np.ones(2)))
    assert caught.value.code == "E6032"


@pytest.mark.parametrize("module", ["torch", "jax.numpy"])
def test_real_libraries_where_they_are_installed(module: str) -> None:
    library = pytest.importorskip(module, reason=f"{module} is optional")
    given = library.ones((2, 3))
    taken = incoming("x", given)
    np.testing.assert_array_equal(taken.tree, np.ones((2, 3)))
    assert taken.give is not None
    assert type(taken.give(np.zeros(2, np.float32))) is type(given)
