"""The backends by name."""

from __future__ import annotations

import pytest

from presk.run import registry
from presk.text.diagnostics import PreskError


def test_every_backend_of_the_design_is_built_or_says_that_it_is_not() -> None:
    for name in registry.BY_SPEED:
        if name in registry.MAKERS:
            assert registry.make(name).name == name
            continue
        with pytest.raises(PreskError) as caught:
            registry.make(name)
        assert caught.value.code == "E9001"
    assert registry.MAKERS.keys() <= set(registry.BY_SPEED)


def test_an_unknown_backend_gets_a_hint() -> None:
    with pytest.raises(PreskError) as caught:
        registry.make("natve")
    assert caught.value.code == "E9002"
    assert caught.value.hint == "did you mean `native`?"


def test_the_fastest_is_the_first_that_is_built() -> None:
    built = [name for name in registry.BY_SPEED if name in registry.MAKERS]
    assert registry.fastest() == built[0]
    assert (registry.default_note() is None) == (registry.fastest() == registry.BY_SPEED[0])
