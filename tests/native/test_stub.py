"""The stub of the extension says what the module holds: the same names, the same parameters."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

from presk import _native

STUB = Path(__file__).resolve().parents[2] / "python" / "presk" / "_native.pyi"


def parameters(function: ast.FunctionDef) -> list[str]:
    """The names of a stub function's parameters, `*` standing for the keyword-only mark, without self or cls."""
    given = function.args
    names = [each.arg for each in given.posonlyargs + given.args]
    if given.kwonlyargs:
        names += ["*", *(each.arg for each in given.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def stubbed(body: list[ast.stmt]) -> dict[str, object]:
    """The stub's members: a function's parameters, a class's members, None for a value."""
    members: dict[str, object] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            if node.name in ("__enter__", "__exit__"):
                continue
            is_property = any(isinstance(each, ast.Name) and each.id == "property" for each in node.decorator_list)
            members[node.name] = None if is_property else parameters(node)
        elif isinstance(node, ast.ClassDef):
            members[node.name] = stubbed(node.body)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            members[node.target.id] = None
    return members


def compiled_parameters(function: object) -> list[str]:
    signature = inspect.signature(function)  # type: ignore[arg-type]
    names: list[str] = []
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in names:
            names.append("*")
        names.append(parameter.name)
    return [name for name in names if name not in ("self", "cls")]


def compiled(owner: object) -> dict[str, object]:
    """The members of the module or of one of its classes, as `stubbed` gives the stub's."""
    members: dict[str, object] = {}
    for name, value in vars(owner).items():
        if inspect.isclass(owner) and name == "__new__":
            members["__init__"] = compiled_parameters(owner)
        elif name.startswith("__") and name != "__version__":
            continue
        elif inspect.isclass(value):
            members[name] = compiled(value)
        elif callable(value):
            members[name] = compiled_parameters(value)
        else:
            members[name] = None
    return members


def test_the_stub_is_the_module() -> None:
    assert stubbed(ast.parse(STUB.read_text("utf-8")).body) == compiled(_native)


def test_everything_compiled_has_a_docstring() -> None:
    bare = [name for name, value in vars(_native).items() if callable(value) and not value.__doc__]
    assert not bare


def test_the_versions_agree() -> None:
    import presk

    assert _native.__version__ == presk.__version__
