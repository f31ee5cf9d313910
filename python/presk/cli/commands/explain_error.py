"""`presk explain-error`: what a diagnostic's code means."""

from __future__ import annotations

import click

from presk.cli.options import JSON


@click.command("explain-error")
@click.argument("code", metavar="CODE", required=False)
@JSON
def command(code: str | None, as_json: bool) -> None:
    """Explain a diagnostic's code.

    Prints a paragraph and an example; without a code, the list of all codes.
    """
    import json

    from presk.text.codes import FAMILIES, all_codes
    from presk.text.diagnostics import did_you_mean, fail

    codes = all_codes()
    if code is None:
        if as_json:
            click.echo(json.dumps({each: entry.title for each, entry in codes.items()}, indent=2))
            return
        for family, about in FAMILIES.items():
            click.echo(f"{family}xxx  {about}")
            for each, entry in codes.items():
                if each.startswith(family):
                    click.echo(f"  {each}  {entry.title}")
        return
    wanted = code.strip().strip("[]").upper()
    if wanted not in codes:
        raise fail(
            "E9005", f"there is no code `{code}`", hint=did_you_mean(wanted, codes) or "`presk explain-error` lists all"
        )
    entry = codes[wanted]
    if as_json:
        found = {"code": wanted, "title": entry.title, "paragraph": entry.paragraph, "example": entry.example}
        click.echo(json.dumps(found, indent=2))
        return
    click.echo(f"{wanted}: {entry.title} ({FAMILIES[wanted[:2]]})\n")
    click.echo(click.wrap_text(entry.paragraph, width=100))
    click.echo("\nExample:\n")
    click.echo("\n".join(f"  {line}" if line else "" for line in entry.example.strip("\n").split("\n")))
