"""Generation: the step, its window and its draws; the same text whatever computes it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import presk
from presk import draw
from presk.core.bind import bind
from presk.core.hash import core_hash
from presk.core.printer import print_program
from presk.core.reader import read_program
from presk.core.verify import verify
from presk.realization.model import Plan, Realization, read_realization
from presk.run import registry
from presk.text.diagnostics import PreskError
from presk.text.spans import Source
from presk.train.generate import Generator, LanguageModel, Sampling, language_model, step_program, window_begin

MODELS = {
    "minigpt/minigpt.psk": "MiniGPT",
    "llama/llama.psk": "Llama",
    "tutorial/07_generation.psk": "GPT",
    "demo/demo.psk": "Writer",
}
SEED = 11
PROMPT = [3, 1, 4, 1, 5]


def refused(code: str) -> pytest.RaisesExc[PreskError]:
    return pytest.RaisesExc(PreskError, check=lambda error: error.code == code)


@pytest.fixture(scope="module", params=MODELS)
def program(request: pytest.FixtureRequest, examples: Path) -> presk.Program:
    """Each of the example language models with a cache of eight places."""
    return presk.load(examples / request.param, consts={"T": 8, "V": 64})


@pytest.fixture(scope="module")
def minigpt(examples: Path) -> presk.Program:
    return presk.load(examples / "minigpt/minigpt.psk")


def name_of(program: presk.Program) -> str:
    return next(name for name in MODELS.values() if name in program.modules)


def drawn(program: presk.Program) -> Any:
    """Parameters without zeros, so that symbols differ in likelihood."""
    parameters = presk.compile(program[f"{name_of(program)}.next_token"], dims={"batch": 1}).init(seed=5)
    parameters["head"]["w"] = np.random.default_rng(7).normal(size=parameters["head"]["w"].shape) / 4
    return parameters


def model_of(program: presk.Program) -> LanguageModel:
    return language_model(bind(program.checked, f"{name_of(program)}.next_token", dims={"batch": 1}))


def generator(
    program: presk.Program,
    *,
    backend: str = "native",
    realize: str | Realization = "f32",
    sampling: Sampling | None = None,
    symbols: int = 64,
    threads: int | None = None,
    plan: Plan | None = None,
) -> Generator:
    return Generator(
        registry.make(backend, bits=64),
        model_of(program),
        drawn(program),
        symbols=symbols,
        sampling=sampling or Sampling(),
        realization=read_realization(realize) if isinstance(realize, str) else realize,
        plan=plan or Plan(),
        threads=threads,
    )


def text(made: Generator, count: int, before: Sequence[int] = PROMPT, seed: int = SEED) -> list[int]:
    return list(islice(made.symbols(before, seed), count))


@cache
def compiled(program: presk.Program, realize: str) -> presk.Compiled:
    return presk.compile(program[f"{name_of(program)}.apply"], realize=realize)


def whole_pass(program: presk.Program, window: list[int], realize: str) -> np.ndarray:
    """The logits behind a window, by the model's own forward pass over all of it."""
    places = model_of(program).places
    apply = compiled(program, realize)
    padded = np.array([window + [0] * (places - len(window))])
    return np.asarray(apply(drawn(program), padded))[0, len(window) - 1].astype(np.float64)


REALIZATIONS = {
    **{name: Realization(name) for name in ("f64", "f32", "bf16")},
    "f32+fma": Realization("f32", fma=True),
    "interleaved": Realization("f32", order={"kind": "interleaved", "partials": 3}),
    "parameters in bf16": Realization("f32", params={"head.w": "bf16"}),
}


@pytest.mark.parametrize("realize", REALIZATIONS)
@pytest.mark.parametrize("backend", ["native", "kernel"])
def test_the_logits_are_those_of_the_whole_pass_bit_for_bit(program: presk.Program, backend: str, realize: str) -> None:
    """Sums begin at +0, so the exact zeros of masked places change nothing, not even the sign of a zero."""
    name, parameters = name_of(program), drawn(program)
    settings = {"realize": REALIZATIONS[realize], "backend": backend}
    whole = presk.compile(program[f"{name}.apply"], **settings)
    step = presk.compile(program[f"{name}.next_token"], **settings)
    t = np.random.default_rng(1).integers(0, 64, (2, 8))
    logits = whole(parameters, t)
    held = over_zeros(step.synthesize(parameters, t=t[:, 0], pos=0)["cache"])
    for at in range(8):
        found, held = step(parameters, held, t[:, at], at)
        assert found.tobytes() == np.ascontiguousarray(logits[:, at]).tobytes(), at


@pytest.mark.parametrize("length", [1, 3, 7])
def test_the_logits_do_not_depend_on_what_comes_behind(program: presk.Program, length: int) -> None:
    """A prefix by itself, where the model takes one, and before other symbols."""
    name, parameters = name_of(program), drawn(program)
    whole = presk.compile(program[f"{name}.apply"], realize="f32")
    t = np.random.default_rng(1).integers(0, 64, (1, 8))
    other = t.copy()
    other[:, length:] = 63 - other[:, length:]
    logits = [whole(parameters, each)[:, :length] for each in (t, other)]
    if name == "Llama":
        logits.append(whole(parameters, t[:, :length]))
    assert len({np.ascontiguousarray(each).tobytes() for each in logits}) == 1


def over_zeros(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {name: over_zeros(each) for name, each in tree.items()}
    return np.zeros_like(tree)


def test_the_step_is_core(program: presk.Program) -> None:
    made = step_program(model_of(program), 50, Sampling(Fraction(4, 5), 5, Fraction(9, 10)))
    verify(made)
    printed = print_program(made)
    assert print_program(read_program(Source("step", printed))) == printed
    assert "sample(%5, 0.8, 0.9, top_k = 5, axis = 1, draw = 0)" in printed


def test_the_cache_is_written_in_place(program: presk.Program) -> None:
    schedule = generator(program).executable.schedule  # type: ignore[attr-defined]
    caches = {at: each.path for at, each in enumerate(schedule.inputs) if each.donated}
    layers = {at: path for at, path in caches.items() if path.endswith((".k", ".v"))}
    assert len(layers) == 2
    shared = {at: output for output, each in enumerate(schedule.outputs) if (at := each.shares) is not None}
    assert [shared[at] for at in layers] == [1, 2]
    if name_of(program) != "Writer":
        assert list(caches.values()) == ["cache.k", "cache.v"] and len(shared) == 2


def test_the_text_is_the_same_whatever_computes_it(program: presk.Program) -> None:
    texts = {
        (backend, threads): text(generator(program, backend=backend, threads=threads), 24)
        for backend, threads in [("native", 1), ("native", 2), ("native", 3), ("kernel", 1)]
    }
    assert len({tuple(each) for each in texts.values()}) == 1
    assert len(set(texts["native", 1])) > 4


def test_the_reference_writes_the_text_of_f64(program: presk.Program) -> None:
    """Decided on exact values, a draw differs only where a running sum meets the uniform within a rounding error."""
    assert text(generator(program, backend="interp"), 12) == text(generator(program, realize="f64"), 12)


@pytest.mark.parametrize("cut", [1, 4, 11, 19])
def test_a_text_taken_up_again_goes_on_as_it_would_have(program: presk.Program, cut: int) -> None:
    made = generator(program)
    whole = text(made, 24)
    assert text(made, 24 - cut, [*PROMPT, *whole[:cut]]) == whole[cut:]


def test_the_seed_decides(minigpt: presk.Program) -> None:
    made = generator(minigpt)
    assert text(made, 24) == text(made, 24)
    assert text(made, 24) != text(made, 24, seed=SEED + 1)


def test_every_symbol_is_the_draw_of_its_position(program: presk.Program) -> None:
    """Against weights and uniforms taken apart: the whole pass's logits, and the stream's number at that step."""
    symbols = [*PROMPT, *text(generator(program, realize="f64"), 20)]
    places = model_of(program).places
    for at in range(len(PROMPT), len(symbols)):
        window = symbols[window_begin(at, places) : at]
        logits = whole_pass(program, window, "f64")
        weights = np.exp(logits - logits.max())
        uniform = float(draw.uniform(draw.key(SEED, "sample", "#0"), at, (1,))[0])
        assert symbols[at] == np.searchsorted(weights.cumsum() / weights.sum(), uniform, side="right"), at


def test_temperature_zero_takes_the_likeliest(program: presk.Program) -> None:
    greedy = Sampling(Fraction(0))
    found = text(generator(program, sampling=greedy), 12)
    assert found == text(generator(program, sampling=greedy), 12, seed=SEED + 1)
    first = whole_pass(program, PROMPT, "f32")
    assert found[0] == first.argmax()
    assert text(generator(program, sampling=Sampling(top_k=1)), 12) == found


def test_unlikely_symbols_are_left_out(program: presk.Program) -> None:
    order = np.argsort(whole_pass(program, PROMPT, "f32"))[::-1]
    few = generator(program, sampling=Sampling(Fraction(5), top_k=3))
    assert {text(few, 1, seed=seed)[0] for seed in range(40)} == set(order[:3].tolist())
    nucleus = generator(program, sampling=Sampling(top_p=Fraction(1, 1000)))
    assert {text(nucleus, 1, seed=seed)[0] for seed in range(10)} == {order[0]}


def test_symbols_without_a_text_are_never_drawn(program: presk.Program) -> None:
    hot = Sampling(Fraction(100))
    assert max(text(generator(program, sampling=hot), 60)) >= 20
    assert max(text(generator(program, sampling=hot, symbols=20), 60)) < 20


@given(st.integers(1, 10_000), st.integers(1, 300))
def test_the_window_is_never_empty_and_never_too_long(count: int, places: int) -> None:
    begin = window_begin(count, places)
    assert 0 <= begin < count <= begin + places
    assert begin <= window_begin(count + 1, places) <= begin + (places + 1) // 2
    assert begin == 0 or count - begin > places // 2 - 1


@pytest.mark.parametrize(("count", "begin"), [(1, 0), (8, 0), (9, 4), (12, 4), (13, 8)])
def test_the_window_moves_by_half(count: int, begin: int) -> None:
    assert window_begin(count, 8) == begin


def test_a_prompt_may_be_longer_than_the_window(minigpt: presk.Program) -> None:
    long = (PROMPT * 7)[:33]
    found = text(generator(minigpt, sampling=Sampling(Fraction(0))), 1, long)
    assert found == [whole_pass(minigpt, long[window_begin(33, 8) :], "f32").argmax()]


def test_a_file_written_for_next_token_is_accepted(minigpt: presk.Program) -> None:
    core = core_hash(model_of(minigpt).program)
    made = Realization("bf16", storage={"MiniGPT.next_token/%6": "f32"}, entry="MiniGPT.next_token", core=core)
    assert text(generator(minigpt, realize=made), 6)
    plan = Plan(entry="MiniGPT.next_token", core=core, realization=made.name)
    assert text(generator(minigpt, realize=made, plan=plan), 6) == text(generator(minigpt, realize=made), 6)
    with refused("E7002"):
        generator(minigpt, realize=Realization("bf16", entry="MiniGPT.apply"))
    with refused("E7002"):
        generator(minigpt, realize=Realization("bf16", storage={"MiniGPT.next_token/%99": "f32"}))


def test_settings_out_of_range_are_told(minigpt: presk.Program) -> None:
    for wrong in (Sampling(Fraction(-1)), Sampling(top_k=-1), Sampling(top_p=Fraction(0)), Sampling(top_p=Fraction(2))):
        with refused("E8053"):
            generator(minigpt, sampling=wrong)


def test_a_prompt_has_symbols(minigpt: presk.Program) -> None:
    with refused("E8052"):
        generator(minigpt).symbols([])
    with refused("E6002"):
        next(generator(minigpt).symbols([64]))


STATED = "m: real, cache: real[batch], t: nat[batch] < 8, pos: nat < 4"


@pytest.mark.parametrize(
    ("parameters", "result", "body"),
    [
        ("m: real, cache: real[batch], t: nat[batch] < 8", "(real[batch, 8], real[batch])", "(zeros[batch, 8], cache)"),
        (STATED, "(real[batch, 7], real[batch])", "(zeros[batch, 7], cache)"),
        (STATED, "(real[batch, 8], real[3])", "(zeros[batch, 8], zeros[3])"),
        (STATED, "(real[batch, 8], {c: real[batch]})", "(zeros[batch, 8], {c = cache})"),
        (STATED, "real[batch, 8]", "zeros[batch, 8]"),
        (STATED.replace("nat < 4", "real"), "(real[batch, 8], real[batch])", "(zeros[batch, 8], cache)"),
    ],
)
def test_other_functions_are_no_language_models(parameters: str, result: str, body: str) -> None:
    program = presk.loads(f"fn next_token({parameters}) -> {result} {{ {body} }}")
    with refused("E8050") as error:
        language_model(bind(program.checked, "next_token", dims={"batch": 1}))
    assert error.value.hint is not None and "next_token" in error.value.hint


def test_a_language_model_needs_no_module() -> None:
    program = presk.loads(f"fn next_token({STATED}) -> (real[batch, 8], real[batch]) {{ (zeros[batch, 8], cache) }}")
    found = language_model(bind(program.checked, "next_token", dims={"batch": 1}))
    assert (found.symbols, found.places) == (8, 4)
