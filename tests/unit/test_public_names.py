"""The public names: each loads, on first use, from where type checkers are told it comes."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import presk


def told_to_type_checkers() -> dict[str, str]:
    """Public name to module, as the imports under TYPE_CHECKING in the package's `__init__` say."""
    tree = ast.parse(Path(presk.__file__).read_text("utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in guarded.body if isinstance(node, ast.ImportFrom)]
    assert len(imports) == len(guarded.body)
    return {alias.asname or alias.name: node.module or "" for node in imports for alias in node.names}


def test_type_checkers_are_told_the_truth() -> None:
    assert told_to_type_checkers() == presk._HOMES


@pytest.mark.parametrize("name", presk.__all__)
def test_every_public_name_loads(name: str) -> None:
    assert getattr(presk, name) is not None
    assert name in dir(presk)


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        presk.lode  # noqa: B018


def test_importing_presk_loads_nothing_else() -> None:
    script = "import sys; before = set(sys.modules); import presk; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {"numpy", "flint", "mpmath", "click", "rich", "ml_dtypes", "safetensors", "jsonschema"}
    assert [name for name in done.stdout.split() if name.startswith("presk.")] == ["presk.train"]  # an empty file


@pytest.mark.parametrize("first", ["presk.train.rows", "presk.api.training", "presk"])
def test_train_is_the_function_whatever_is_imported_first(first: str) -> None:
    script = f"import {first}, presk; print(presk.train.__module__, presk.train.__name__)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["presk.api.training", "train"]
