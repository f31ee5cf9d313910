"""Texts from language models: `presk.generate`.

Where a program's `next_token`, weights with the tokenizer they carry, and the settings of `compile` meet. The command
line calls it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, cast

from presk.api.arguments import path, require, text
from presk.api.constants import Number, exact_number
from presk.api.program import FILE_AND_ENTRY, Entry, Program, find_entry, load
from presk.api.signature import EntrySignature, whole_number
from presk.core.bind import bind
from presk.realization.model import Plan, Realization, read_plan, read_realization
from presk.run import registry
from presk.run.backend import Value
from presk.run.mode import in_standard_mode
from presk.text.diagnostics import fail
from presk.text.files import is_file, read_bytes, shown
from presk.train import checkpoints, tokenizers
from presk.train.checkpoints import run_folder
from presk.train.folder import CONFIG, read_config
from presk.train.generate import NEXT_TOKEN, Generator, Sampling, language_model
from presk.train.preparation import LABELS, SCALING
from presk.train.tokenizers import Tokenizer

DEFAULT_PROMPT = "\n"
"""What a text that is given no beginning begins behind."""

ROWS = "batch"
"""The axis of `next_token` whose indices are rows."""

CHARS_OF = "chars:"
"""Before the file whose characters are the vocabulary."""


class Generation(Iterator[str]):
    """A text as it comes: iterate for its pieces, each of whole characters; `text()` is all of it.

    `symbols` are those drawn so far. Made by `presk.generate`.
    """

    def __init__(self, tokenizer: Tokenizer, before: list[int], source: Iterator[int]) -> None:
        self.tokenizer = tokenizer
        self.symbols: list[int] = []
        self._source = source
        self._stream = tokenizer.stream(before)
        self._pieces: list[str] = []

    @in_standard_mode
    def __next__(self) -> str:
        """The next piece, never empty."""
        for symbol in self._source:
            self.symbols.append(symbol)
            piece = self._stream.push(symbol)
            if piece:
                return self._kept(piece)
        rest = self._stream.finish()
        if rest:
            return self._kept(rest)
        raise StopIteration

    def text(self) -> str:
        """The whole text behind the prompt, what is still to come drawn now."""
        for _ in self:
            pass
        return "".join(self._pieces)

    def _kept(self, piece: str) -> str:
        self._pieces.append(piece)
        return piece

    def __repr__(self) -> str:
        return f"<presk.Generation of {len(self.symbols)} symbols so far>"


def generate(
    model: Program | Entry | str,
    weights: Value | str | Path,
    prompt: str = DEFAULT_PROMPT,
    *,
    tokens: int = 200,
    temperature: Number = 1,
    top_k: int = 0,
    top_p: Number = 1,
    seed: int = 0,
    tokenizer: Tokenizer | str | None = None,
    realize: str | Realization = "f32",
    backend: str | None = None,
    plan: str | Plan = "auto",
    bits: int = 256,
    dims: Mapping[str, int] | None = None,
    threads: int | None = None,
) -> Generation:
    """What a language model writes behind `prompt`, as it comes: `tokens` symbols.

    `model` is a program, or an entry that is its `next_token` where it has several, or the path of either. `weights`
    are the model's parameters, a tree, or the path of a run's folder, a checkpoint or another safetensors file.
    `tokenizer` is `bytes`, `chars:FILE`, a JSON file's path or a Tokenizer: a run's weights carry their own.
    `temperature` 0 takes the likeliest symbol; `top_k` (0: all) and `top_p` leave out unlikely ones. Numbers mean
    their shortest decimal. The text depends on the seed, the prompt, these settings, the weights and the realization,
    and on nothing else. The other settings are those of `presk.compile`.

    Raises PreskError: E4021 where the program has no `next_token` or several, E8050 where it isn't one, E8040 to E8045
    for tokenizers, E8051 where there is none, E8052 for a prompt without symbols, E8053 for settings out of range.
    """
    entry = next_token(model)
    sampling = Sampling(
        exact_number("temperature", temperature), whole_number("top_k", top_k), exact_number("top_p", top_p)
    )
    sampling.require_in_range()
    count = whole_number("tokens", tokens)
    if count < 0:
        raise fail("E8053", f"`tokens` is {count}", hint="a whole number from 0")
    parameters, carried = _weights(weights)
    taken = _tokenizer(tokenizer, carried)
    found = language_model(bind(entry.program.checked, entry.name, dims=_one_row(entry, dims or {})))
    tokenizers.require_fits(taken, found.symbols, f"`{entry.name}`")
    before = taken.encode(text("prompt", prompt), "the prompt").tolist()
    made = Generator(
        registry.make(registry.fastest() if backend is None else backend, bits=whole_number("bits", bits)),
        found,
        parameters,
        symbols=taken.size,
        sampling=sampling,
        realization=realize if isinstance(realize, Realization) else read_realization(realize),
        plan=plan if isinstance(plan, Plan) else read_plan(plan),
        threads=None if threads is None else whole_number("threads", threads),
    )
    return Generation(taken, before, islice(made.symbols(before, seed), count))


def _weights(given: Any) -> tuple[Value, str | None]:
    """Parameters as they are given, or those at a path, and the tokenizer they carry."""
    if isinstance(given, str) or hasattr(given, "__fspath__"):
        return read_weights(path("weights", given))
    return given, None


def next_token(model: Program | Entry | str) -> Entry:
    """The entry meant: itself, or the sole `next_token` of a program. E4021 where there is none, or several."""
    if isinstance(model, str):
        path, cut, _ = model.partition(FILE_AND_ENTRY)
        model = find_entry(model) if cut and path else load(model)
    if isinstance(model, Entry):
        return model
    require("model", "a program, an entry or the path of one", model, Program)
    names = [each.name for each in model.entries() if each.name.rpartition(".")[2] == NEXT_TOKEN]
    if len(names) == 1:
        return model[names[0]]
    if not names:
        hint = "a language model has one; docs/generation.md says of what types"
        raise fail("E4021", f"`{model.name}` has no function `{NEXT_TOKEN}`", hint=hint)
    listed = ", ".join(f"`{name}`" for name in names)
    raise fail("E4021", f"`{model.name}` has several: {listed}", hint=f"name one: --entry '{names[0]}'")


def read_weights(path: str | Path) -> tuple[Value, str | None]:
    """The parameters a run's folder or a file holds, and the tokenizer they carry, as its description.

    Of a run the best weights, else the newest. E8001, E8003 and E8081 where they can't be read.
    """
    tree, metadata = checkpoints.read_weights(Path(path))
    return tree, metadata.get(tokenizers.METADATA)


def carried_notes(path: str | Path) -> dict[str, str]:
    """What weights made of these should carry too: their tokenizer, and what was done to the data they learned from."""
    _, metadata = checkpoints.read_weights(Path(path))
    return {name: text for name, text in metadata.items() if name in (tokenizers.METADATA, SCALING, LABELS)}


def recorded_consts(path: str | Path) -> dict[str, str]:
    """The constants that a run was begun with, given its folder or weights in it; none for other weights.

    E8081 where the folder's configuration is damaged.
    """
    folder = run_folder(Path(path))
    if folder is None or not is_file(folder / CONFIG):
        return {}
    found = read_config(folder).get("consts")
    consts = cast("dict[object, object]", found if isinstance(found, dict) else {})
    return {str(name): str(value) for name, value in consts.items()}


def named_tokenizer(choice: str) -> Tokenizer:
    """The tokenizer an option names: `bytes`, `chars:FILE` or a JSON file's path. E8001, E8041 to E8043."""
    if not choice.startswith(CHARS_OF):
        return tokenizers.named(choice, b"", choice, Path()) if choice != tokenizers.CHARS else _without_text()
    path = Path(choice.removeprefix(CHARS_OF))
    return tokenizers.named(tokenizers.CHARS, read_bytes(path, "the text"), shown(path), path.parent)


def _without_text() -> Tokenizer:
    raise fail("E8051", "`chars` needs the text whose characters they are", hint=f"{CHARS_OF}corpus.txt")


def _tokenizer(given: Tokenizer | str | None, carried: str | None) -> Tokenizer:
    if isinstance(given, Tokenizer):
        return given
    if given is not None:
        return named_tokenizer(text("tokenizer", given))
    if carried is not None:
        return tokenizers.from_metadata(carried)
    hint = f"--tokenizer bytes, {CHARS_OF}corpus.txt or tokenizer.json"
    raise fail("E8051", "the weights carry no tokenizer, and none was given", hint=hint)


def _one_row(entry: Entry, dims: Mapping[str, int]) -> dict[str, int]:
    """The sizes given, and one row where the entry's number of rows is free."""
    row = {ROWS: 1} if ROWS in EntrySignature(entry).dims else {}
    return {**row, **{name: whole_number(name, size) for name, size in dims.items()}}
