"""`presk hash`: the bits of something, in one line."""

from __future__ import annotations

import click

from presk.cli.options import JSON


@click.command("hash")
@click.argument("path", metavar="PATH")
@JSON
def command(path: str, as_json: bool) -> None:
    """Print the hash of a result's, checkpoint's or program's content.

    PATH is an npy, npz or safetensors file, a folder of such files, or a program. Names, types, shapes and elements
    count; NaN payloads, and a program's layout and comments, don't.
    """
    import json
    from pathlib import Path

    from presk.cli.output import content
    from presk.run.bits import hash_arrays

    if path.endswith(".psk"):
        from presk.api.program import load

        digest = load(path).hash
    else:
        digest = hash_arrays(content(Path(path)))
    click.echo(json.dumps({"path": path, "hash": digest}) if as_json else f"{digest}  {path}")
