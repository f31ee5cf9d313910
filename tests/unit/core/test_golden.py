"""What binding makes of the language's main constructs, held as text: `golden/NAME.psk` and `golden/NAME.core`.

The first line of a program names its entry, sizes, and whether it is prepared for training. `--bless` writes the Core
texts anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from presk.check.program import load
from presk.core.bind import bind
from presk.core.printer import print_program
from presk.core.reader import read_program
from presk.core.verify import verify

FOLDER = Path(__file__).resolve().parent / "golden"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.psk")), ids=lambda path: path.stem)
def test_core(path: Path, bless: bool) -> None:
    words = path.read_text("utf-8").splitlines()[0].removeprefix("# entry: ").split()
    dims = {name: int(size) for name, size in (word.split("=") for word in words[1:] if "=" in word)}
    checked = load(path)
    for simplified in (False, True):
        program = bind(checked, words[0], dims=dims, training="training" in words, simplified=simplified)
        verify(program)
        text = print_program(program)
        assert print_program(read_program(text)) == text
    expected = path.with_suffix(".core")
    if bless:
        expected.write_text(text, "utf-8")
    assert text == expected.read_text("utf-8")
