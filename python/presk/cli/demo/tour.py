"""The parts of the tour, in order: check, train, write, train again elsewhere, measure, and where to go from there.

The model is examples/demo/demo.psk, the text another file: what the tour does, a user can do with the commands it names
at its end.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from shlex import quote
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from rich.markup import escape

from presk.api.compiled import Compiled, compile
from presk.api.generate import generate
from presk.api.program import Program, load
from presk.api.training import Run, train
from presk.choose.measure import OutputGap
from presk.choose.report import figure
from presk.cli.demo.screen import Screen, seconds, since
from presk.run import machine, trees
from presk.text.diagnostics import fail
from presk.text.files import make_folder, shown, write_bytes
from presk.train import checkpoints
from presk.train.events import Event, Remark, Step
from presk.train.loop import parameter_hash
from presk.train.tokenizers import Chars

PROGRAM = "examples/demo/demo.psk"
BLOCK = "demo"
ENTRY = "Writer.apply"

TRIED = 12
"""Steps that tell how fast the machine is; the first ones aren't counted."""

SECONDS = 50.0
FEWEST, MOST = 300, 1000
"""How long the training may take where its steps aren't given, and how many there are at least and at most."""

REPEATED = 20
"""Steps that are trained again. The training stops behind them, and goes on."""

SHARE = 0.95
"""Of the text, that trains; on the rest the loss is measured."""

CALLS = 5
"""Timed calls of a machine backend; the median is shown."""

REALIZATIONS = ("f64", "f32", "bf16")

PROMPT = "def "
TEMPERATURE = "0.6"

NEXT = (
    (f"presk train {PROGRAM} --steps 20 --out runs/short", "a training of your own: docs/training.md"),
    (
        "presk gap examples/norms/norms.psk -e 'LayerNorm{8}.apply' --dim batch=2 --realize f32",
        "a certificate of how far a result is from exact",
    ),
    (f"presk dump {PROGRAM} -e {ENTRY} --dim batch=2 --stage kernel", "the loops that run"),
    (f"presk check {PROGRAM} --docs", "what the program declares"),
    ("presk check --primitives", "what the language has"),
)
"""Commands that work anywhere, and what they show."""

SHOWN_HASH = 23
"""Characters of a hash: `sha256:` and 64 bits."""


@dataclass(frozen=True)
class Size:
    """A model's constants beside the vocabulary, and what a step reads."""

    constants: dict[str, int]
    batch: int

    @property
    def characters(self) -> int:
        """Characters a step reads."""
        return self.batch * self.constants["T"]


@dataclass(frozen=True)
class Settings:
    """What the tour is made of. `small` is a model the kernels' interpreter trains in seconds.

    `steps` None: as many as the machine takes in SECONDS. `characters` of the text are taken, the rest is left.
    """

    steps: int | None
    seed: int = 1
    size: Size = Size({"D": 128, "H": 4, "L": 4, "T": 64}, 12)
    small: Size = Size({"D": 16, "H": 2, "L": 1, "T": 16}, 4)
    written: int = 400
    bits: int = 256
    characters: int = 500_000

    def require_text(self, text: str, source: str) -> None:
        """E8075 where a text is too short for a batch of the training's."""
        most = max(self.size, self.small, key=lambda size: size.characters)
        least = -(-(most.characters + 1) * 20 // 19)
        if len(text) < least:
            message = f"{source} has {len(text)} characters, and the tour takes {least} at least"
            raise fail("E8075", message, hint="--corpus FILE takes another text")


@dataclass(frozen=True)
class Tour:
    """One tour: `text` is what it trains on, `source` whose that is, `folder` where it writes."""

    screen: Screen
    settings: Settings
    text: str
    source: str
    folder: Path

    @property
    def steps(self) -> int:
        """The training's, once they are settled."""
        assert self.settings.steps is not None, "settled"
        return self.settings.steps

    @property
    def corpus(self) -> Path:
        """The text's file."""
        return self.folder / "corpus.txt"

    @property
    def run(self) -> Path:
        """The run's folder."""
        return self.folder / "run"

    @property
    def repeated(self) -> int:
        """The steps that are trained again."""
        return min(REPEATED, self.steps)

    def take(self) -> None:
        """All of it. E8075 for a text that is too short, E8080 and E8002 for a folder that won't do."""
        self.settings.require_text(self.text, self.source)
        self.begin()
        program = self.check()
        tour = self if self.settings.steps is not None else self.settled(program)
        first, run = tour.train(program)
        tour.write(program)
        tour.repeat(program, first)
        tour.measure(program, run)
        tour.end()

    def begin(self) -> None:
        """The folder, with the text in it."""
        if checkpoints.steps(self.run):
            message = f"the folder `{shown(self.folder)}` holds a tour already"
            raise fail("E8080", message, hint="--out NAME makes another, no --out a new one")
        make_folder(self.folder)
        write_bytes(self.corpus, self.text.encode())

    def settled(self, program: Program) -> Tour:
        """The tour with as many steps as this machine takes in the time there is."""
        times: list[float] = []

        def listen(_event: Event) -> None:
            times.append(perf_counter())

        tried = replace(self, settings=replace(self.settings, steps=TRIED))
        with self.screen.waiting("how fast is this machine?"):
            tried.again(program, self.settings.size, TRIED, callbacks=[listen])
        a_step = median(later - earlier for earlier, later in pairwise(times[-TRIED // 2 :]))
        steps = max(FEWEST, min(MOST, int(SECONDS / a_step) // 100 * 100))
        return replace(self, settings=replace(self.settings, steps=steps))

    def load(self, size: Size) -> Program:
        """The example program at a size."""
        path = str(files("presk") / PROGRAM)
        return load(path, consts={"V": Chars.of(self.text).size, **size.constants})

    def check(self) -> Program:
        """The program read, and checked for every size."""
        began = perf_counter()
        program = self.load(self.settings.size)
        count = len(program.entries())
        self.screen.step("Check", f"a small GPT in PSK, {count} functions for all sizes at once, in {since(began)}")
        sizes = ", ".join(f"{name} = {value}" for name, value in program.consts.items())
        self.screen.aside(f"{PROGRAM} at {sizes}. It says nothing of floats, loops or threads.")
        return program

    def again(self, program: Program, size: Size, steps: int, **how: Any) -> Run:
        """The first steps of a training, or all of them: of as many epochs as steps, so that epochs don't end it."""
        return train(program[BLOCK], settings=self.block(size), epochs=self.steps, steps=steps, **how)

    def block(self, size: Size) -> dict[str, str]:
        """What the tour sets in the train block."""
        path = json.dumps(str(self.corpus.resolve()), ensure_ascii=False)
        return {
            "data": f"tokens({path}, tokenizer = chars, context = T, split = {SHARE})",
            "batch": str(size.batch),
            "lr.steps": str(self.steps),
            "eval": "100",
            "seed": str(self.settings.seed),
        }

    def train(self, program: Program) -> tuple[str, Run]:
        """The training, and the hash of its parameters behind the steps that are repeated later."""
        settings, screen = self.settings, self.screen
        taken = self.steps * settings.size.characters / len(self.text)
        what = f"{self.steps} steps of {settings.size.characters} characters, in f32"
        screen.step("Train", what)
        screen.aside(f"{len(self.text):,} characters of {escape(self.source)}, {taken:.1f} times over")
        remarks: list[str] = []
        began = perf_counter()
        with screen.counting("preparing", self.steps) as tell:

            def listen(event: Event) -> None:
                if isinstance(event, Step):
                    tell(event.step, f"loss {event.loss:.3f}")
                elif isinstance(event, Remark):
                    remarks.append(event.line())

            how = {"out": self.run, "callbacks": [listen]}
            first = parameter_hash(self.again(program, settings.size, self.repeated, **how).params)
            run = self.again(program, settings.size, self.steps, resume=True, **how)
        for line in dict.fromkeys(remarks):
            screen.aside(escape(line))
        losses = run.losses
        speed = f"{since(began)}, {seconds((perf_counter() - began) / len(losses))} a step"
        count = sum(np.asarray(leaf).size for _, leaf in trees.leaves(run.params))
        screen.aside(f"{count:,} parameters, {counted_threads(machine.threads())}, {speed}")
        screen.aside(f"the loss fell from {losses[0]:.3f} to {average(losses):.3f} nats a character")
        screen.aside(f"--steps {self.steps} --seed {settings.seed} gives the same bits on any machine")
        return first, run

    def write(self, program: Program) -> None:
        """A text."""
        self.screen.step("Write", f"{self.settings.written} characters at temperature {TEMPERATURE}, seed 0")
        prompt = PROMPT if set(PROMPT) <= set(self.text) else self.text[:1]
        found = generate(program, self.run, prompt, tokens=self.settings.written, temperature=TEMPERATURE)
        with self.screen.waiting("writing"):
            text = found.text()
        self.screen.text(prompt + text)

    def repeat(self, program: Program, first: str) -> None:
        """The first steps again, elsewhere."""
        screen, settings = self.screen, self.settings
        screen.step("Again", f"the first {self.repeated} steps: the bits of all parameters behind them, hashed")
        table = screen.table("trained by", "parameters", "time")
        table.add_row(f"machine code, {counted_threads(machine.threads())}", first[:SHOWN_HASH] + "…", "")
        small = self.load(settings.small)
        rows: list[tuple[Program, Size, str, dict[str, Any]]] = [
            (program, settings.size, "machine code, 1 thread", {"threads": 1}),
            (small, settings.small, "a smaller model, machine code", {}),
            (small, settings.small, "a smaller model, kernels interpreted", {"backend": "kernel"}),
        ]
        hashes = [first]
        for which, size, what, how in rows:
            began = perf_counter()
            with screen.waiting(what):
                run = self.again(which, size, self.repeated, **how)
            hashes.append(parameter_hash(run.params))
            table.add_row(what, hashes[-1][:SHOWN_HASH] + "…", since(began))
        screen.show(table)
        same = hashes[0] == hashes[1] and hashes[2] == hashes[3]
        screen.aside("equal, bit for bit" if same else "NOT EQUAL: that is a fault of presk, please report it")

    def measure(self, program: Program, run: Run) -> None:
        """How far the trained model's logits are from exact."""
        screen, settings = self.screen, self.settings
        screen.step("Measure", f"the trained model's logits against the exact ones: {settings.bits} bits, proven")
        window = Chars.of(self.text).encode(self.text[: settings.size.constants["T"]])[None]
        table = screen.table(
            "numbers", "farthest from exact", "proven within", "compiled", "interpreted", "the same bits"
        )
        given = (run.params, window)
        exact = 0.0
        for realization in REALIZATIONS:
            native, kernel = (
                compile(program[ENTRY], realize=realization, backend=name) for name in ("native", "kernel")
            )
            began = perf_counter()
            with screen.waiting(f"{realization} against exact"):
                output = native.gap(*given, bits=settings.bits).outputs[0]
            exact = perf_counter() - began
            assert isinstance(output, OutputGap), "logits are real"
            same = native(*given).tobytes() == kernel(*given).tobytes()
            table.add_row(
                realization,
                figure(output.absolute.worst),
                figure(output.radius),
                seconds(median_time(native, given, CALLS)),
                seconds(median_time(kernel, given, 1)),
                "yes" if same else "NO",
            )
        table.add_row("reals", "0", "", "", f"{seconds(exact)}", "")
        screen.show(table)

    def end(self) -> None:
        """What was written, and what to try next."""
        print_line = self.screen.console.print
        kept = ", ".join(sorted(each.name for each in self.run.iterdir()))
        print_line(f"\n[bold]In {escape(str(self.folder))}[/bold]", soft_wrap=True)
        self.screen.aside(escape(f"corpus.txt; run: {kept}"))
        print_line("\n[bold]Next[/bold]")
        again = f"presk generate {PROGRAM} --weights {quote(str(self.run))} --prompt 'class ' --seed 7"
        for line, why in [(again, "another text: its seed decides it, on any machine"), *NEXT]:
            print_line(f"  {line}\n      [dim]{why}[/dim]", soft_wrap=True)
        print_line("  In Python: presk.load, compile, train, generate: see docs/python.md")


def counted_threads(count: int) -> str:
    """`1 thread`, `2 threads`."""
    return "1 thread" if count == 1 else f"{count} threads"


def average(losses: list[float]) -> float:
    """The mean of the last losses: one batch's alone says little."""
    last = losses[-REPEATED:]
    return sum(last) / len(last)


def median_time(compiled: Compiled, given: tuple[Any, ...], calls: int) -> float:
    """Seconds of a call."""
    times: list[float] = []
    for _ in range(calls):
        began = perf_counter()
        compiled(*given)
        times.append(perf_counter() - began)
    return median(times)
