"""`presk demo`: the tour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from presk.cli.options import QUIET

if TYPE_CHECKING:
    from rich.console import Console

    from presk.api.compiled import Compiled
    from presk.api.program import Program
    from presk.exact.values import ExactArray

BITS = 256
BATCH = 2
SHOWN_TOKENS = 6
"""Logits shown of one position."""

REALIZATIONS = ("f64", "f32", "bf16")
MACHINES = ("native", "kernel")
REPEATS = 5
"""Timed calls of a machine backend; the median is shown."""

NEXT = (
    ("presk check examples/minigpt/minigpt.psk --docs", "what the program declares"),
    ("presk run examples/tutorial/01_linear.psk -e 'Linear{3, 2}.apply' --dim batch=4", "a call of your own"),
    (
        "presk gap examples/norms/norms.psk -e 'LayerNorm{8}.apply' --dim batch=2 --realize f32",
        "a certificate of a gap",
    ),
    ("presk dump examples/minigpt/minigpt.psk -e MiniGPT.apply --dim batch=2 --stage kernel", "the loops that run"),
    ("presk check --primitives", "what the language has"),
)


@click.command("demo")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, metavar="N", help="Of all draws.")
@QUIET
def command(seed: int, quiet: bool) -> None:
    """Take the tour.

    Checks the MiniGPT example, draws its parameters, runs it on the exact reference and prints logits with the radius
    within which each is proven; then runs it on the machine in f64, f32 and bf16, compiled and interpreted, and shows
    that both give the same bits and how far these are from exact.
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
    exact_time = perf_counter() - began
    _step(console, 3, "Run", f"over the real numbers, {BITS} bits, every bound proven, in {_since(began)}")
    _show_logits(console, logits)
    _step(console, 4, "Realize", "in machine numbers: the same program, compiled and interpreted")
    _show_machines(console, program, values, seed, exact_time)
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


def _show_machines(console: Console, program: Program, values: dict[str, Any], seed: int, exact_time: float) -> None:
    """Each realization's gap to exact, the time of a call, and whether both machine backends agree bit for bit."""
    from rich.table import Table

    from presk.api.compiled import compile
    from presk.choose.measure import OutputGap

    table = Table(title_justify="left")
    table.add_column("numbers")
    table.add_column("farthest from exact", justify="right")
    table.add_column("proven within", justify="right")
    table.add_column("compiled", justify="right")
    table.add_column("interpreted", justify="right")
    table.add_column("the same bits")
    for realization in REALIZATIONS:
        made = {
            name: compile(program["MiniGPT.apply"], realize=realization, backend=name, dims={"batch": BATCH})
            for name in MACHINES
        }
        results = {name: each(**values, seed=seed) for name, each in made.items()}
        output = made["native"].gap(**values, seed=seed, bits=BITS).outputs[0]
        same = results["native"].tobytes() == results["kernel"].tobytes()
        assert isinstance(output, OutputGap), "logits are real"
        table.add_row(
            realization,
            f"{output.absolute.worst:.1e}",
            f"{output.radius:.1e}",
            *(f"{_median_time(each, values, seed) * 1e3:.2f} ms" for each in made.values()),
            "yes" if same else "NO",
        )
    table.add_row("reals", "0", "", "", f"{exact_time * 1e3:.0f} ms", "")
    console.print(table)


def _median_time(compiled: Compiled, values: dict[str, Any], seed: int) -> float:
    from statistics import median
    from time import perf_counter

    times: list[float] = []
    for _ in range(REPEATS):
        began = perf_counter()
        compiled(**values, seed=seed)
        times.append(perf_counter() - began)
    return median(times)


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
