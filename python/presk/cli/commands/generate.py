"""`presk generate`: text from a language model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from presk.cli.options import CONSTS, DIMS, FILE, JSON, QUIET, entry_option, running

if TYPE_CHECKING:
    from presk.api.generate import Generation


@click.command("generate")
@FILE
@entry_option("The language model's `next_token`. The sole one if there is one.")
@click.option(
    "--weights",
    metavar="PATH",
    required=True,
    help="The model's parameters: a run's folder, a checkpoint, or a safetensors file.",
)
@click.option("--prompt", metavar="TEXT", help="What the text begins with.  [default: a line break]")
@click.option("--tokens", metavar="N", type=click.IntRange(0), default=200, show_default=True, help="Symbols to draw.")
@click.option(
    "--temperature", metavar="X", default="1", show_default=True, help="Below 1 likelier, 0 the likeliest symbol."
)
@click.option(
    "--top-k", metavar="N", type=click.IntRange(0), default=0, help="Only of the N likeliest.  [default: all]"
)
@click.option(
    "--top-p", metavar="X", default="1", show_default=True, help="Only of the likeliest that reach this probability."
)
@click.option("--tokenizer", metavar="T", help="bytes, chars:FILE or a JSON file.  [default: the weights' own]")
@DIMS
@CONSTS
@running
@JSON
@QUIET
def command(
    file: str,
    entry: str | None,
    weights: str,
    prompt: str | None,
    tokens: int,
    dims: dict[str, int],
    consts: dict[str, str],
    as_json: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Write text with a trained language model.

    The prompt is read through the model's cache, then symbol after symbol is drawn, and text printed as it comes. The
    same seed gives the same text on every machine backend and any number of threads.
    """
    from time import perf_counter

    from presk.api.generate import DEFAULT_PROMPT, generate, recorded_consts
    from presk.cli.choose import choose_language_model

    model = choose_language_model(file, entry, {**recorded_consts(weights), **consts}, quiet)
    begin = DEFAULT_PROMPT if prompt is None else prompt
    text = generate(model, weights, begin, tokens=tokens, dims=dims, **settings)
    began = perf_counter()
    if as_json:
        _print_data(text, begin, settings)
    else:
        _print_text(text, prompt or "")
    if not quiet and text.symbols:
        rate = len(text.symbols) / (perf_counter() - began)
        click.echo(f"{len(text.symbols)} symbols, {rate:.0f} a second", err=True)


def _print_text(text: Generation, prompt: str) -> None:
    """The prompt and the pieces as they come, and a line break where the last piece has none."""
    last = prompt
    click.echo(prompt, nl=False)
    for piece in text:
        click.echo(piece, nl=False)
        last = piece
    if not last.endswith("\n"):
        click.echo()


def _print_data(text: Generation, prompt: str, settings: dict[str, Any]) -> None:
    from presk.cli.output import print_json

    shown = {name: settings[name] for name in ("seed", "temperature", "top_k", "top_p", "realize")}
    print_json({"prompt": prompt, "text": text.text(), "symbols": text.symbols, **shown})
