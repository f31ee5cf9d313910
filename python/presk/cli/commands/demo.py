"""`presk demo`: the tour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from presk.cli.options import QUIET

if TYPE_CHECKING:
    from rich.console import Console

    from presk.api.compiled import Compiled
    from presk.exact.values import ExactArray

BITS = 256
BATCH = 2
SHOWN_TOKENS = 6
"""Logits shown of one position."""

NEXT = (
    ("presk check examples/minigpt/minigpt.psk --docs", "what the program declares"),
    ("presk run examples/tutorial/01_linear.psk -e 'Linear{3, 2}.apply' --dim batch=4", "a call of your own"),
    ("presk dump examples/minigpt/minigpt.psk -e MiniGPT.apply --dim batch=2 --stage groups", "how it would be fused"),
    ("presk check --primitives", "what the language has"),
)


@click.command("demo")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, metavar="N", help="Of all draws.")
@QUIET
def command(seed: int, quiet: bool) -> None:
    """Take the tour.

    Checks the MiniGPT example, draws its parameters, runs it on the exact reference and prints logits with the radius
    within which each is proven.
    """
    from importlib.resources import files
    from time import perf_counter

    from rich.console import Console

    from presk.api.compiled import compile
    from presk.api.program import load

    console = Console(highlight=False)
    path = str(files("presk") / "examples" / "minigpt" / "minigpt.psk")
    began = perf_counter()
    program = load(path)
    sizes = ", ".join(f"{name} = {value}" for name, value in program.consts.items())
    _step(console, 1, "Check", f"{len(program.entries())} functions for all sizes at once, in {_since(began)}")
    _aside(console, f"examples/minigpt/minigpt.psk: a small GPT with {sizes}")

    compiled = compile(program["MiniGPT.apply"], backend="interp", bits=BITS, certify=True, dims={"batch": BATCH})
    values = compiled.synthesize(seed=seed)
    count = _number_of_parameters(values["self"])
    _step(console, 2, "Draw", f"{count:,} parameters and {BATCH} windows of symbols from seed {seed}")
    _aside(console, "each number is a function of the seed and of its own place alone")
    _draw_zeros(values["self"], seed)
    _aside(console, "the head, which a new model has at zero, is drawn here too: else all logits were 0")

    began = perf_counter()
    with console.status("computing") if console.is_terminal and not quiet else _nothing():
        logits = compiled(**values, seed=seed)
    _step(console, 3, "Run", f"over the real numbers, {BITS} bits, every bound proven, in {_since(began)}")
    _show_logits(console, logits)
    _show_where_to_go(console, compiled)


def _step(console: Console, number: int, title: str, what: str) -> None:
    console.print(f"\n[bold]{number}. {title}[/bold]  {what}")


def _aside(console: Console, what: str) -> None:
    from rich.padding import Padding

    console.print(Padding(what, (0, 0, 0, 4), style="dim"))


def _since(began: float) -> str:
    from time import perf_counter

    took = perf_counter() - began
    return f"{took:.2f} s" if took >= 1 else f"{took * 1000:.0f} ms"


def _number_of_parameters(tree: Any) -> int:
    from presk.run import trees

    return sum(leaf.size for _, leaf in trees.leaves(tree))


def _draw_zeros(tree: Any, seed: int) -> None:
    """Fills the head's zeros with normals."""
    from presk import draw

    weights = tree["head"]["w"]
    tree["head"]["w"] = draw.normal(draw.key(seed, "init", "head.w"), 0, weights.shape, std=0.25)


def _show_logits(console: Console, logits: ExactArray) -> None:
    """The greatest logits of the first window's last position, with their radii."""
    from rich.table import Table

    from presk.cli.output import in_digits, radius_text, worst_radius

    row = logits[0, -1]
    ranked = sorted(range(len(row)), key=lambda at: row.mid[at], reverse=True)[:SHOWN_TOKENS]
    table = Table(title="logits of the symbol after the first window", title_justify="left", title_style="")
    table.add_column("symbol", justify="right")
    table.add_column("logit, to 40 digits")
    table.add_column("proven within", justify="right")
    radius = row.radius
    for at in ranked:
        table.add_row(str(at), in_digits(row.mid[at], 40), radius_text(radius[at]))
    console.print(table)
    console.print(f"all {logits.size} logits are proven within [bold]{worst_radius(logits)}[/bold]")


def _show_where_to_go(console: Console, compiled: Compiled) -> None:
    console.print("\n[bold]Next[/bold]")
    for line, why in NEXT:
        console.print(f"  {line}\n      [dim]{why}[/dim]", soft_wrap=True)
    console.print(
        f"  In Python: [bold]presk.compile(presk.load(…)[{compiled.entry.name!r}])[/bold]; see docs/python.md"
    )


def _nothing() -> Any:
    from contextlib import nullcontext

    return nullcontext()
