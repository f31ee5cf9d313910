"""The backends by name."""

from __future__ import annotations

import pytest

from presk.run import registry
from presk.text.diagnostics import PreskError


def test_every_backend_has_its_name() -> None:
    for name in registry.MAKERS:
        assert registry.make(name).name == name


def test_an_unknown_backend_gets_a_hint() -> None:
    with pytest.raises(PreskError) as caught:
        registry.make("natve")
    assert caught.value.code == "E9002"
    assert caught.value.hint == "did you mean `native`?"


def test_the_fastest_is_native() -> None:
    assert registry.fastest() == "native"
