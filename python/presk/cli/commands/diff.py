"""`presk diff`: where two results differ."""

from __future__ import annotations

import click

from presk.cli.options import JSON


@click.command("diff")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@JSON
def command(first: str, second: str, as_json: bool) -> None:
    """Compare two results bit by bit.

    A and B are npy, npz or safetensors files or folders of such files. Prints the first array and index that differ, in
    ulps, and gives exit code 1; prints nothing but a line where every bit is equal.
    """
    import json
    from pathlib import Path

    from presk.cli.guard import CheckFailedError
    from presk.cli.output import content, number
    from presk.run.bits import first_difference

    found = first_difference(content(Path(first)), content(Path(second)))
    if as_json:
        where = (
            None
            if found is None
            else {
                "name": found.name,
                "what": found.what,
                "index": found.index,
                "first": None if found.index is None else number(found.left),
                "second": None if found.index is None else number(found.right),
                "ulps": found.ulps,
            }
        )
        click.echo(json.dumps({"equal": found is None, "difference": where}))
    elif found is None:
        click.echo("equal, bit for bit")
    else:
        click.echo(f"`{found.name}` {found.what}" if found.name else f"the array {found.what}")
        if found.index is not None:
            apart = "" if found.ulps is None else f", {found.ulps} ulp{'' if found.ulps == 1 else 's'} apart"
            click.echo(f"first at [{', '.join(map(str, found.index))}]: {found.left} and {found.right}{apart}")
    if found is not None:
        raise CheckFailedError
