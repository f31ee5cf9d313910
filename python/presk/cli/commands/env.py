"""`presk env`: what a bug report wants to know."""

from __future__ import annotations

from typing import cast

import click

from presk.cli.options import JSON

LIBRARIES = ("numpy", "ml_dtypes", "python-flint", "mpmath", "safetensors", "click", "rich")
OPTIONAL = ("tokenizers", "matplotlib", "torch", "jax")
COMPILERS = ("clang", "gcc", "cc")


@click.command("env")
@JSON
def command(as_json: bool) -> None:
    """Print versions, processor and caches, for bug reports."""
    import json

    found = _environment()
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    width = max(len(name) for name in found)
    for name, value in found.items():
        click.echo(f"{name:<{width}}  {_line(value)}")


def _environment() -> dict[str, object]:
    import os
    import platform
    import sys

    from presk import __version__
    from presk.run import machine, registry

    return {
        "presk": __version__,
        "python": f"{platform.python_version()} ({sys.executable})",
        "system": platform.platform(),
        "processor": machine.processor(),
        "instruction sets": list(machine.instruction_sets()),
        "threads": machine.threads(),
        "caches": [f"L{each.level} {each.bytes >> 10} KiB shared by {each.shared_by}" for each in machine.caches()],
        "backends": list(registry.MAKERS),
        "libraries": _versions(LIBRARIES),
        "optional": _versions(OPTIONAL),
        "compilers": _compilers(),
        "settings": {name: value for name, value in sorted(os.environ.items()) if name.startswith("PRESK_")},
    }


def _versions(names: tuple[str, ...]) -> dict[str, str]:
    """What is installed, by the packages' metadata: nothing is imported."""
    from importlib.metadata import PackageNotFoundError, version

    found: dict[str, str] = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _compilers() -> dict[str, str]:
    import os
    from shutil import which

    named = os.environ.get("PRESK_CLANG")
    found = {"PRESK_CLANG": named} if named else {}
    return found | {name: path for name in COMPILERS if (path := which(name))}


def _line(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {each}" for name, each in cast(dict[str, str], value).items()) or "none"
    if isinstance(value, list):
        return ", ".join(cast(list[str], value)) or "unknown"
    return str(value)
