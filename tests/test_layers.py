"""The layers of the package: imports run one way, and the extension is imported in three places alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "python" / "presk"

LAYERS = ["text", "shapes", "primitives", "syntax", "check", "core", "draw", "exact", "realization", "kernel"]
LAYERS += ["run", "choose", "train", "api", "cli"]
"""A layer imports from those before it, and from itself."""

DATA = {"std", "examples"}
"""Folders of the package that hold programs, no modules."""

NATIVE_USERS = {"draw", "run", "kernel"}
"""Layers that may import the extension."""

OPTIONAL = {"tokenizers", "matplotlib", "torch", "jax"}
"""Dependencies of the extras, and libraries whose arrays are taken where they are installed: imported when wanted."""

AT_THE_EDGE = {"mpmath", "flint", "ml_dtypes", "safetensors", "jsonschema"}
"""Dependencies that take long to load, imported in a function where the API hands values over."""

EDGE_LAYERS = {"realization", "run", "api"}

LAZY_LAYERS = {"cli"}
"""Layers whose functions may import whatever they use: `presk --help` loads none of it."""

LAZY_FILES = {"run/registry.py"}
"""Files like that: a backend is loaded when it is first asked for, so that none pays for another's libraries."""

BY_NAME = {"__init__.py", "text/codes/__init__.py"}
"""Files that import by name, as the command line does: they load on first use what their callers may never need."""


ABOVE_ALL = {"__init__.py", "__main__.py"}
"""Files of the package itself, from which any layer may be reached."""


def layer_of(file: str) -> str:
    """The layer of a file, given by its path in the package."""
    return Path(file).parts[0].removesuffix(".py")


def imports(tree: ast.Module) -> Iterator[tuple[str, bool, int]]:
    """Every imported module's dotted name, whether the import is inside of a function, and its line."""

    def walk(node: ast.AST, local: bool) -> Iterator[tuple[str, bool, int]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield alias.name, local, child.lineno
            elif isinstance(child, ast.ImportFrom):
                base = "." * child.level + (child.module or "")
                names = [f"{base}.{alias.name}" for alias in child.names] if base == "presk" else [base]
                for name in names:
                    yield name, local, child.lineno
            else:
                inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                yield from walk(child, local or inside)

    yield from walk(tree, False)


def breach(file: str, name: str, local: bool) -> str | None:
    """What is wrong with one import in a file of the package, if anything."""
    layer, parts = layer_of(file), name.split(".")
    if name.startswith("."):
        return "relative import"
    if parts[0] == "importlib" and file not in BY_NAME and layer not in LAZY_LAYERS:
        return "import by name"
    if parts[0] == "presk" and len(parts) > 1 and file not in ABOVE_ALL:
        if parts[1] == "_native":
            if layer not in NATIVE_USERS:
                return f"the extension, from {layer}"
        elif parts[1] not in LAYERS:
            return f"{name} is in no layer" if parts[1] != "__version__" else None
        elif LAYERS.index(parts[1]) > LAYERS.index(layer):
            return f"{layer} imports from {parts[1]}, which stands below it"
    if local and layer not in LAZY_LAYERS and file not in LAZY_FILES:
        allowed = OPTIONAL | (AT_THE_EDGE if layer in EDGE_LAYERS else set())
        if parts[0] not in allowed:
            return f"{name} imported in a function"
    if not local and parts[0] in OPTIONAL:
        return f"{name} is optional, so it is imported where it is used"
    return None


def breaches(file: str, source: str) -> list[str]:
    """Every import of a file that the layers forbid."""
    found = []
    for name, local, line in imports(ast.parse(source)):
        wrong = breach(file, name, local)
        if wrong:
            found.append(f"{file}:{line}: {wrong}")
    return found


def modules() -> list[str]:
    files = (path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in DATA)
    return sorted(path.relative_to(PACKAGE).as_posix() for path in files)


def test_every_folder_is_a_layer() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders - DATA <= set(LAYERS)


def test_imports_run_one_way() -> None:
    assert len(modules()) > 10
    found = [each for file in modules() for each in breaches(file, (PACKAGE / file).read_text("utf-8"))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("exact/ball.py", "from presk.kernel.nodes import Kernel"),
        ("exact/ball.py", "import presk.run.values"),
        ("exact/ball.py", "from presk import run"),
        ("check/scope.py", "from presk._native import derive_key"),
        ("check/scope.py", "from presk import _native"),
        ("check/scope.py", "def f():\n    import json"),
        ("check/scope.py", "def f():\n    from presk.text import spans"),
        ("check/scope.py", "from ..text import spans"),
        ("check/scope.py", "import importlib"),
        ("check/scope.py", "from presk.utils import tidy"),
        ("exact/ball.py", "def f():\n    import mpmath"),
        ("train/data.py", "import tokenizers"),
        ("api/program.py", "if TYPE_CHECKING:\n    from presk.cli import main"),
    ],
)
def test_a_breach_is_found(file: str, source: str) -> None:
    assert breaches(file, source)


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("exact/ball.py", "import flint\nfrom presk.draw import key\nfrom presk.exact.rules import RULES"),
        ("run/native.py", "from presk import _native\nfrom presk.kernel import nodes"),
        ("api/value.py", "def f():\n    import mpmath"),
        ("train/data.py", "def f():\n    import tokenizers"),
        ("cli/check.py", "def f():\n    from presk.api.program import load"),
        ("__init__.py", "from importlib import import_module"),
    ],
)
def test_what_is_allowed_passes(file: str, source: str) -> None:
    assert not breaches(file, source)
