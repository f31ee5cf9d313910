"""Tokenizers: what goes in comes out, at once or symbol by symbol, and what can't is told with its place."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from presk.text.diagnostics import PreskError
from presk.train import tokenizers as presk_tokenizers
from presk.train.tokenizers import Bytes, Chars, FromFile, Tokenizer, from_metadata, named, require_fits

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
SAMPLE = "the theme of the song: naïve café, 東京 🙂 (the end)"


def refused(code: str) -> pytest.RaisesExc[PreskError]:
    return pytest.RaisesExc(PreskError, check=lambda error: error.code == code)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A byte-level BPE trained on the sample, so that characters fall into several tokens."""
    package = pytest.importorskip("tokenizers", reason="the package `tokenizers` isn't installed")
    made = package.Tokenizer(package.models.BPE())
    made.pre_tokenizer = package.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = package.decoders.ByteLevel()
    alphabet = package.pre_tokenizers.ByteLevel.alphabet()
    trainer = package.trainers.BpeTrainer(
        vocab_size=280, show_progress=False, initial_alphabet=alphabet, special_tokens=["<end>"]
    )
    made.train_from_iterator([SAMPLE], trainer)
    path = tmp_path_factory.mktemp("tokenizers") / "bpe.json"
    made.save(str(path))
    return path


@pytest.fixture(params=["chars", "bytes", "file"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    if request.param == "file":
        return named("bpe.json", b"", "corpus.txt", request.getfixturevalue("file").parent)
    return named(request.param, SAMPLE.encode(), "corpus.txt", Path("/nowhere"))


def streamed(tokenizer: Tokenizer, symbols: list[int], behind: list[int]) -> list[str]:
    stream = tokenizer.stream(behind)
    return [*(stream.push(each) for each in symbols), stream.finish()]


def test_a_text_comes_back(tokenizer: Tokenizer) -> None:
    symbols = tokenizer.encode(SAMPLE)
    assert symbols.dtype == np.int64 and symbols.max() < tokenizer.size
    assert tokenizer.decode(symbols) == SAMPLE
    assert (tokenizer.encode_bytes(SAMPLE.encode()) == symbols).all()


@pytest.mark.parametrize("cut", [0, 1, 9, 20])
def test_a_text_comes_back_symbol_by_symbol(tokenizer: Tokenizer, cut: int) -> None:
    front, back = tokenizer.encode(SAMPLE[:cut]).tolist(), tokenizer.encode(SAMPLE[cut:]).tolist()
    parts = streamed(tokenizer, back, front)
    assert "".join(parts) == SAMPLE[cut:]
    assert "\ufffd" not in "".join(parts)


def test_the_metadata_give_the_tokenizer(tokenizer: Tokenizer) -> None:
    again = from_metadata(tokenizer.to_metadata())
    assert again == tokenizer and hash(again) == hash(tokenizer)
    assert (again.encode(SAMPLE) == tokenizer.encode(SAMPLE)).all()
    assert again != Chars("ab")


@given(TEXTS, TEXTS)
def test_any_text_has_characters_and_bytes(text: str, other: str) -> None:
    for each in (Chars.of(text + other), Bytes()):
        assert each.decode(each.encode(text)) == text
        assert "".join(streamed(each, each.encode(text).tolist(), [])) == text


@given(st.lists(st.integers(0, 255)))
def test_any_bytes_have_a_text(symbols: list[int]) -> None:
    assert "".join(streamed(Bytes(), symbols, [])) == Bytes().decode(symbols)


def test_characters_are_sorted_and_counted() -> None:
    tokenizer = Chars.of("banana!")
    assert tokenizer.characters == "!abn"
    assert tokenizer.encode("nab").tolist() == [3, 1, 2]
    assert Chars.of("").size == 0
    assert not Chars.of("").encode("").size


def test_a_character_is_held_back_until_it_is_whole() -> None:
    assert streamed(Bytes(), list("é!".encode()), []) == ["", "é", "!", ""]
    assert streamed(Bytes(), [0xF0, 0x9F], []) == ["", "", "\ufffd"]


def test_tokens_that_never_become_a_character_are_not_held_for_ever(file: Path) -> None:
    tokenizer = named(file.name, b"", "corpus.txt", file.parent)
    byte = tokenizer.encode("é").tolist()[0]
    parts = streamed(tokenizer, [byte] * 40, [])
    assert any(parts[:8])


def test_a_character_outside_of_the_vocabulary_is_told_with_its_place() -> None:
    with refused("E8040") as error:
        Chars.of("abc\n").encode("ab\nxa", "prompt")
    assert "`x` (U+0078) isn't among the 4 characters" in str(error.value)
    assert error.value.span is not None and error.value.span.place == "prompt:2:1"
    assert error.value.hint == "it has abc"
    with refused("E8040"):
        Chars("").encode("a")
    with refused("E8040"):
        Chars.of("b").encode("z")


def test_half_a_surrogate_pair_is_no_character(tokenizer: Tokenizer) -> None:
    with refused("E8040") as error:
        tokenizer.encode("a\ud800")
    assert error.value.span is not None


def test_a_number_that_is_no_symbol_is_told(tokenizer: Tokenizer) -> None:
    for wrong in (tokenizer.size, -1, 1 << 70):
        with refused("E8044"):
            tokenizer.decode([0, wrong])
        with refused("E8044"):
            tokenizer.stream().push(wrong)


def test_bytes_take_any_file_and_characters_take_utf8() -> None:
    assert named("bytes", b"", "f", Path()).encode_bytes(b"\xff\x00").tolist() == [255, 0]
    with refused("E8043") as error:
        named("chars", b"ab\xff", "f.txt", Path())
    assert "0xff at offset 2 of `f.txt`" in str(error.value)
    with refused("E8043"):
        Chars("a").encode_bytes(b"\xff")


def test_a_model_must_know_as_many_symbols() -> None:
    require_fits(Chars("ab"), 2, "M")
    with refused("E8045"):
        require_fits(Chars("abc"), 2, "M")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[" * 100_000,
        "[]",
        "{}",
        '{"kind": "words"}',
        '{"kind": "chars"}',
        '{"kind": "chars", "characters": "ba"}',
        '{"kind": "chars", "characters": "aa"}',
        '{"kind": "chars", "characters": "\\ud800"}',
        '{"kind": "chars", "characters": 3}',
        '{"kind": "tokenizers", "file": "{}"}',
        '{"kind": "tokenizers", "file": {}}',
    ],
)
def test_metadata_that_describe_no_tokenizer_are_refused(text: str) -> None:
    if "file" in text:
        pytest.importorskip("tokenizers", reason="the package `tokenizers` isn't installed")
    with refused("E8041"):
        from_metadata(text)


def test_a_file_that_is_missing_or_no_tokenizer_is_told(tmp_path: Path) -> None:
    with refused("E8001"):
        named("missing.json", b"", "f", tmp_path)
    (tmp_path / "latin.json").write_bytes(b"\xe9")
    with refused("E8043"):
        named("latin.json", b"", "f", tmp_path)
    pytest.importorskip("tokenizers", reason="the package `tokenizers` isn't installed")
    (tmp_path / "notes.json").write_text("{}", "utf-8")
    with refused("E8041"):
        named("notes.json", b"", "f", tmp_path)


def test_without_the_package_a_file_is_refused_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with refused("E8042") as error:
        FromFile.of("{}", "tokenizer.json")
    assert error.value.hint == "pip install 'presk[text]'"


def test_a_file_is_read_without_truncation_padding_or_special_tokens(file: Path) -> None:
    described = json.loads(file.read_text("utf-8"))
    described["truncation"] = {"max_length": 2, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
    tokenizer = FromFile.of(json.dumps(described), "f.json")
    assert tokenizer.decode(tokenizer.encode(SAMPLE)) == SAMPLE
    end = tokenizer.encode("<end>").tolist()
    assert len(end) == 1 and tokenizer.decode(end) == "<end>"


def test_the_kinds_are_told_apart() -> None:
    kinds = {Chars.kind, Bytes.kind, FromFile.kind}
    assert kinds == {presk_tokenizers.CHARS, presk_tokenizers.BYTES, presk_tokenizers.FILE}
